// What is accepted is written back byte for byte, and every index in it can be followed.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "messages/wire.hpp"

namespace {

std::size_t read_all(const cdc::block& made) {
  std::size_t sum = 0;
  for (const auto& at : made.events) {
    if (at.what != cdc::operation::insert && at.what != cdc::operation::row)
      continue;
    for (const auto& cell : made.image(at.first, *made.relations[at.relation])) {
      if (cell.has_value())
        for (const auto byte : made.text(cell))
          sum += static_cast<unsigned char>(byte);
    }
  }
  return sum;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = std::as_bytes(std::span{data, size});
  cdc::block_pool pool;
  cdc::wire::known_relations shapes;
  std::vector<std::byte> again;
  if (const auto read = cdc::wire::decode_block(message, pool, shapes)) {
    volatile auto sum = read_all(**read);
    static_cast<void>(sum);
    cdc::wire::encode(**read, again);
    if (!std::ranges::equal(again, message))
      std::abort();
  }
  static_cast<void>(cdc::wire::decode_checkpoint(message));
  static_cast<void>(cdc::wire::decode_credit(message));
  return 0;
}
