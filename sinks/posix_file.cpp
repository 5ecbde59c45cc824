#include "sinks/posix_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cdc::sinks {

namespace {

auto failed(std::string_view doing, std::string_view name) {
  const int code = errno;
  const bool may_pass = code == ENOSPC || code == EDQUOT || code == EIO || code == EFBIG ||
                        code == EAGAIN || code == ENOMEM || code == EMFILE || code == ENFILE;
  return fail(may_pass ? errc::target_unavailable : errc::target_misconfigured, "{}: {} failed: {}",
              name, doing, std::strerror(code));
}

} // namespace

posix_file& posix_file::operator=(posix_file&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  return *this;
}

result<posix_file> posix_file::open(const std::filesystem::path& file, int flags) {
  posix_file out;
  out.name_ = file.string();
  out.descriptor_ = ::open(out.name_.c_str(), flags | O_CLOEXEC, 0644);
  if (out.descriptor_ < 0)
    return failed("opening it", out.name_);
  return out;
}

result<void> posix_file::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return failed("writing", name_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

result<void> posix_file::cut(std::uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
    return failed("cutting it", name_);
  if (::lseek(descriptor_, static_cast<off_t>(size), SEEK_SET) < 0)
    return failed("seeking", name_);
  return {};
}

result<void> posix_file::sync() {
  if (::fdatasync(descriptor_) != 0)
    return failed("syncing", name_);
  return {};
}

result<std::uint64_t> posix_file::size() const {
  struct stat seen {};
  if (::fstat(descriptor_, &seen) != 0)
    return failed("reading its size", name_);
  return static_cast<std::uint64_t>(seen.st_size);
}

// While it is open here its inode cannot be given to another file.
bool posix_file::is(const std::filesystem::path& file) const noexcept {
  struct stat ours {};
  struct stat there {};
  return ::fstat(descriptor_, &ours) == 0 && ::stat(file.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

void posix_file::close() noexcept {
  if (descriptor_ >= 0)
    ::close(descriptor_);
  descriptor_ = -1;
}

result<std::optional<std::string>> read_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT)
    return std::nullopt;
  if (descriptor < 0)
    return failed("opening it", file.string());
  std::string out;
  std::array<char, 64 * 1024> part{};
  for (;;) {
    const auto size = ::read(descriptor, part.data(), part.size());
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0) {
      auto why = failed("reading", file.string());
      ::close(descriptor);
      return why;
    }
    if (size == 0)
      break;
    out.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(descriptor);
  return out;
}

result<posix_file> replace_file(const std::filesystem::path& file, std::string_view bytes,
                                bool is_durable) {
  const auto next = file.string() + ".next";
  auto made = posix_file::open(next, O_RDWR | O_CREAT | O_TRUNC);
  if (!made)
    return made;
  if (auto written = made->write(bytes); !written)
    return tl::unexpected(std::move(written).error());
  if (is_durable)
    if (auto synced = made->sync(); !synced)
      return tl::unexpected(std::move(synced).error());
  if (::rename(next.c_str(), file.c_str()) != 0)
    return failed("replacing it", file.string());
  if (is_durable)
    if (auto synced = sync_folder(file.parent_path()); !synced)
      return tl::unexpected(std::move(synced).error());
  return made;
}

result<void> sync_folder(const std::filesystem::path& folder) {
  auto opened = posix_file::open(folder, O_RDONLY | O_DIRECTORY);
  return opened.and_then([](auto& it) { return it.sync(); });
}

} // namespace cdc::sinks
