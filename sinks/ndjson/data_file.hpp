#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "messages/error.hpp"
#include "sinks/posix_file.hpp"

namespace cdc::sinks::ndjson {

/// The lines: `<path>`, and what rotation has put aside as `<path>.000001`, `.000002` …
class data_file {
public:
  explicit data_file(std::filesystem::path path) : path_(std::move(path)) {}

  /// Without a checkpoint: the file must be new or empty, so that no one else's lines are cut.
  [[nodiscard]] result<void> create();
  /// Opens file number `number` and cuts it back to `bytes`; undoes a rotation that was not
  /// finished.
  [[nodiscard]] result<void> open(std::uint64_t number, std::uint64_t bytes);

  [[nodiscard]] result<void> append(std::string_view lines);
  /// Forgets what was appended behind `bytes`.
  [[nodiscard]] result<void> cut(std::uint64_t bytes);
  [[nodiscard]] result<void> sync() { return file_.sync(); }
  /// Puts the file aside under `number` and begins an empty one.
  [[nodiscard]] result<void> rotate(std::uint64_t number);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

private:
  [[nodiscard]] std::filesystem::path aside(std::uint64_t number) const;
  [[nodiscard]] result<void> begin(int flags);

  std::filesystem::path path_;
  posix_file file_;
  std::uint64_t size_ = 0;
};

} // namespace cdc::sinks::ndjson
