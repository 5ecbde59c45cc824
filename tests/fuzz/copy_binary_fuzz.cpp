// The input is several messages of one COPY, each behind a byte with its length. A row that is
// accepted lies within its message.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "sources/postgres/copy_binary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cdc::sources::postgres::copy_binary copied;
  auto rest = std::as_bytes(std::span{data, size});
  while (!rest.empty()) {
    const auto length = std::to_integer<std::size_t>(rest.front());
    if (length >= rest.size())
      break;
    const auto message = rest.subspan(1, length);
    rest = rest.subspan(1 + length);
    const auto row = copied.take(message);
    if (!row || !*row || (*row)->empty())
      continue;
    if ((*row)->data() < message.data() ||
        (*row)->data() + (*row)->size() != message.data() + message.size())
      std::abort();
  }
  return 0;
}
