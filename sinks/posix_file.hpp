#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "messages/error.hpp"

namespace cdc::sinks {

/// An open file descriptor. Errors name the file and say what failed: errc::target_unavailable
/// where it may pass (no space, I/O), errc::target_misconfigured where a person has to act.
class posix_file {
public:
  posix_file() = default;
  ~posix_file() { close(); }
  posix_file(posix_file&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}
  posix_file& operator=(posix_file&& other) noexcept;

  /// `flags` as of open(2); O_CLOEXEC is added.
  [[nodiscard]] static result<posix_file> open(const std::filesystem::path& file, int flags);

  [[nodiscard]] result<void> write(std::string_view bytes); ///< At the file's own offset.
  [[nodiscard]] result<void> cut(std::uint64_t size);       ///< And goes on writing there.
  [[nodiscard]] result<void> sync();
  [[nodiscard]] result<std::uint64_t> size() const;
  /// True when `file` is still the file that is open here.
  [[nodiscard]] bool is(const std::filesystem::path& file) const noexcept;
  void close() noexcept;

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }

private:
  int descriptor_ = -1;
  std::string name_;
};

/// The whole of a file; nothing when there is none.
[[nodiscard]] result<std::optional<std::string>> read_file(const std::filesystem::path& file);

/// Puts `bytes` in the place of a file in one step: whoever reads it sees the old or the new. With
/// `is_durable` it also survives a power loss; without, a loss may leave it empty.
[[nodiscard]] result<posix_file> replace_file(const std::filesystem::path& file,
                                              std::string_view bytes, bool is_durable);

/// Makes the names in a folder durable.
[[nodiscard]] result<void> sync_folder(const std::filesystem::path& folder);

} // namespace cdc::sinks
