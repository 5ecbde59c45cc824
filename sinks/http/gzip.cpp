#include "sinks/http/gzip.hpp"

#include <limits>

#include <zlib.h>

namespace cdc::sinks::http {

struct gzip_packer::stream {
  z_stream of{};
  bool is_good = false;

  stream() {
    constexpr int window_of_gzip = 15 + 16;
    constexpr int memory_level = 8;
    is_good = deflateInit2(&of, Z_BEST_SPEED, Z_DEFLATED, window_of_gzip, memory_level,
                           Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~stream() { deflateEnd(&of); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
};

gzip_packer::gzip_packer() = default;
gzip_packer::~gzip_packer() = default;

bool gzip_packer::pack(std::string_view body, std::string& out) {
  if (!stream_)
    stream_ = std::make_unique<stream>();
  auto& of = stream_->of;
  if (!stream_->is_good || body.size() > std::numeric_limits<uInt>::max() ||
      deflateReset(&of) != Z_OK)
    return false;
  out.resize(deflateBound(&of, static_cast<uLong>(body.size())));
  of.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data())); // zlib only reads it
  of.avail_in = static_cast<uInt>(body.size());
  of.next_out = reinterpret_cast<Bytef*>(out.data());
  of.avail_out = static_cast<uInt>(out.size());
  if (deflate(&of, Z_FINISH) != Z_STREAM_END)
    return false;
  out.resize(of.total_out);
  return true;
}

} // namespace cdc::sinks::http
