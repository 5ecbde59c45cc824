// Whatever arrives, a refused message leaves the block as it was and an accepted one makes events
// whose cells all lie in it. The input is a row of messages, each behind its length in one byte.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "sources/postgres/stream_core.hpp"

namespace {

using namespace cdc;
using namespace cdc::sources::postgres;

void must(bool holds) {
  if (!holds)
    std::abort();
}

std::size_t images_of(const event& at) {
  switch (at.what) {
    case operation::update:
      return at.before == before_image::none ? 1 : 2;
    case operation::insert:
    case operation::remove:
    case operation::row:
      return 1;
    default:
      return 0;
  }
}

void check(const block& made) {
  for (const auto& at : made.events) {
    const auto images = images_of(at);
    if (images == 0)
      continue;
    must(at.relation < made.relations.size());
    const auto cells = images * made.relations[at.relation]->columns.size();
    must(at.first + cells <= made.cells.size());
    for (auto i = at.first; i < at.first + cells; ++i) {
      const auto cell = made.cells[i];
      must(!cell.has_value() || std::size_t{cell.offset} + cell.size <= made.arena_used);
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stream_core core{position{}, {}};
  sources::clock::time_point now;
  for (std::size_t at = 0; at < size;) {
    const auto length = std::min<std::size_t>(data[at], size - at - 1);
    const auto message = std::as_bytes(std::span{data + at + 1, length});
    at += 1 + length;
    auto got = core.feed(message, now);
    if (got && *got == stream_core::fed::held) {
      core.provide(nullptr);
      got = core.feed(message, now);
      must(!got || *got == stream_core::fed::taken);
    }
    if (!got)
      break;
    now += std::chrono::milliseconds{100};
  }
  if (const auto made = core.take_block())
    check(*made);
  return 0;
}
