// A frame that is accepted was read to its last byte.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "sources/postgres/pgoutput.hpp"
#include "sources/postgres/walsender.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cdc::sources::postgres;
  const auto message = std::as_bytes(std::span{data, size});
  if (const auto got = decode_frame(message)) {
    const auto is_data = got->what == frame::type::data;
    if (size != (is_data ? 25 + got->payload.size() : 18))
      std::abort();
  }
  static_cast<void>(decode_begin(message));
  static_cast<void>(decode_commit(message));
  static_cast<void>(decode_origin(message));
  static_cast<void>(decode_relation(message));
  static_cast<void>(decode_type(message));
  static_cast<void>(decode_truncate(message));
  static_cast<void>(decode_message(message));
  return 0;
}
