// What is accepted encodes to the same bytes again: a key has one form.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "messages/row_key.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view form{reinterpret_cast<const char*>(data), size};
  const auto read = cdc::decode_key(form);
  if (read && cdc::encode_key(std::vector<std::string>(read->begin(), read->end())) != form)
    std::abort();
  return 0;
}
