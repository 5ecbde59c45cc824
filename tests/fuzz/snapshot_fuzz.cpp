// What is accepted reads the same after it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messages/snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = cdc::parse_snapshot({reinterpret_cast<const char*>(data), size});
  if (!read)
    return 0;
  static_cast<void>(read->is_sure_of(0));
  static_cast<void>(read->is_sure_of(0xffff'ffff));
  if (cdc::parse_snapshot(cdc::to_string(*read)) != *read)
    std::abort();
  return 0;
}
