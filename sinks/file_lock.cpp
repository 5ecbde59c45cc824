#include "sinks/file_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace cdc::sinks {

namespace {

/// What the holder wrote; empty when it has not yet.
std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const auto size = ::pread(descriptor, text.data(), text.size(), 0);
  std::string out(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

void write_holder(int descriptor) {
  const auto pid = fmt::format("{}\n", ::getpid());
  // Only a courtesy to who reads it: the lock is the kernel's.
  if (::ftruncate(descriptor, 0) == 0)
    static_cast<void>(::pwrite(descriptor, pid.data(), pid.size(), 0) + 0);
}

} // namespace

result<file_lock> file_lock::take(const std::filesystem::path& file) {
  const auto name = file.string() + ".lock";
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return fail(errc::target_misconfigured, "cannot create {}: {}", name, std::strerror(errno));
  file_lock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    write_holder(descriptor);
    return lock;
  }
  if (errno != EWOULDBLOCK)
    return fail(errc::target_misconfigured, "cannot lock {}: {}", name, std::strerror(errno));
  const auto pid = holder(descriptor);
  return fail(errc::target_unavailable, "{} is written by another cdc-actors process (pid {})",
              file.string(), pid.empty() ? "not known" : pid);
}

file_lock::~file_lock() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

file_lock::file_lock(file_lock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

file_lock& file_lock::operator=(file_lock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

result<std::filesystem::path> real_path(const std::string& path) {
  std::error_code code;
  auto absolute = std::filesystem::absolute(path, code);
  if (!code)
    absolute = std::filesystem::weakly_canonical(absolute, code);
  if (code)
    return fail(errc::target_misconfigured, "{}: {}", path, code.message());
  if (!std::filesystem::is_directory(absolute.parent_path(), code))
    return fail(errc::target_misconfigured, "{}: the folder {} does not exist", path,
                absolute.parent_path().string());
  if (std::filesystem::is_directory(absolute, code))
    return fail(errc::target_misconfigured, "{} is a folder, not a file", path);
  return absolute;
}

} // namespace cdc::sinks
