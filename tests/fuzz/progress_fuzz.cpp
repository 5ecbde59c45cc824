// What is accepted reads the same after it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "messages/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = cdc::parse_progress({reinterpret_cast<const char*>(data), size});
  if (read && cdc::parse_progress(cdc::to_text(*read)) != *read)
    std::abort();
  return 0;
}
