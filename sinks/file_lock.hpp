#pragma once

#include <filesystem>
#include <string>

#include "messages/error.hpp"

namespace cdc::sinks {

/// Keeps every other process, and every other sink of this one, off a file while it lives: an
/// exclusive flock on `<file>.lock`, which holds our process id and stays behind, unlocked and
/// harmless. The kernel lets go of it when the process ends, however it ends.
class file_lock {
public:
  /// Held by another: errc::target_unavailable, which names its process. Not to be made:
  /// errc::target_misconfigured.
  [[nodiscard]] static result<file_lock> take(const std::filesystem::path& file);

  file_lock() = default;
  ~file_lock();
  file_lock(file_lock&& other) noexcept;
  file_lock& operator=(file_lock&& other) noexcept;

private:
  explicit file_lock(int descriptor) noexcept : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

/// The file a path means, through links: two paths to one file take one lock.
[[nodiscard]] result<std::filesystem::path> real_path(const std::string& path);

} // namespace cdc::sinks
