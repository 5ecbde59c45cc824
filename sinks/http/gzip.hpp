#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace cdc::sinks::http {

/// Below this, compressing saves nothing that matters.
inline constexpr std::size_t gzip_bytes_min = 1024;

/// Compresses one body after another, fast rather than small. Belongs to one thread.
class gzip_packer {
public:
  gzip_packer();
  ~gzip_packer();
  gzip_packer(const gzip_packer&) = delete;
  gzip_packer& operator=(const gzip_packer&) = delete;

  /// Replaces `out`, whose memory is reused. False when there is no memory for it.
  [[nodiscard]] bool pack(std::string_view body, std::string& out);

private:
  struct stream;
  std::unique_ptr<stream> stream_; ///< Made by the first call.
};

} // namespace cdc::sinks::http
