#include "sinks/ndjson/data_file.hpp"

#include <system_error>

#include <fcntl.h>

namespace cdc::sinks::ndjson {

result<void> data_file::begin(int flags) {
  auto opened = posix_file::open(path_, flags | O_RDWR);
  if (!opened)
    return tl::unexpected(std::move(opened).error());
  file_ = std::move(*opened);
  return file_.size().map([&](auto size) { size_ = size; });
}

result<void> data_file::create() {
  return begin(O_CREAT).and_then([&]() -> result<void> {
    if (size_ != 0)
      return fail(errc::target_misconfigured,
                  "{} has lines already and no checkpoint beside it: move it away, or name another",
                  path_.string());
    return {};
  });
}

result<void> data_file::open(std::uint64_t number, std::uint64_t bytes) {
  std::error_code code;
  if (std::filesystem::exists(aside(number), code)) {
    // Put aside, but the checkpoint does not say so: what took its place has no line yet.
    std::filesystem::rename(aside(number), path_, code);
    if (code)
      return fail(errc::target_misconfigured, "{}: {}", aside(number).string(), code.message());
  }
  if (auto begun = begin(O_CREAT); !begun)
    return begun;
  if (size_ < bytes)
    return fail(
        errc::target_misconfigured,
        "{} has {} bytes, its checkpoint says {}: lines that were acknowledged are gone; put "
        "the file back, or remove the .checkpoint files beside it to begin anew",
        path_.string(), size_, bytes);
  return cut(bytes);
}

result<void> data_file::append(std::string_view lines) {
  size_ += lines.size();
  return file_.write(lines);
}

result<void> data_file::cut(std::uint64_t bytes) {
  size_ = bytes;
  return file_.cut(bytes);
}

result<void> data_file::rotate(std::uint64_t number) {
  if (auto synced = file_.sync(); !synced)
    return synced;
  std::error_code code;
  std::filesystem::rename(path_, aside(number), code);
  if (code)
    return fail(errc::target_misconfigured, "{}: {}", path_.string(), code.message());
  return begin(O_CREAT | O_EXCL);
}

std::filesystem::path data_file::aside(std::uint64_t number) const {
  return fmt::format("{}.{:06}", path_.string(), number);
}

} // namespace cdc::sinks::ndjson
