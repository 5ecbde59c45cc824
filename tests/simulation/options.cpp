#include "tests/simulation/options.hpp"

#include <algorithm>

namespace cdc::simulation {

namespace {

// How often each thing is tried, of 256 or so. What cannot happen is tried for nothing.
weights usual() {
  weights often{};
  const auto set = [&](happening what, std::uint8_t weight) {
    often[static_cast<std::size_t>(what)] = weight;
  };
  set(happening::begin, 34);
  set(happening::log, 26);
  set(happening::show, 18);
  set(happening::abort, 2);
  set(happening::noise, 3);
  set(happening::start, 12);
  set(happening::stream, 30);
  set(happening::advance, 3);
  set(happening::open, 14);
  set(happening::snapshot, 14);
  set(happening::hand, 12);
  set(happening::read, 22);
  set(happening::refetch, 6);
  set(happening::answer, 6);
  set(happening::look, 3);
  set(happening::prove, 4);
  set(happening::apply, 30);
  set(happening::report, 26);
  set(happening::hear, 20);
  set(happening::late, 3);
  set(happening::durable, 3);
  set(happening::confirm, 3);
  return often;
}

void draw_tables(dice& from, const tilt& wanted, options& to) {
  const auto with_key = [&] {
    if (!wanted.paged || !wanted.keyed)
      return wanted.keyed ? table_kind::keyed : table_kind::paged;
    return from.one_in(3) ? table_kind::paged : table_kind::keyed;
  };
  const auto keys = wanted.keyed || wanted.paged;
  to.tables = 1;
  to.kinds[0] = keys ? with_key() : table_kind::keyless;
  if (keys && wanted.keyless && from.one_in(4))
    to.kinds[to.tables++] = table_kind::keyless;
  else if (wanted.omits_start_view || from.one_in(4))
    to.kinds[to.tables++] = keys ? with_key() : table_kind::keyless;
  if (keys && wanted.keyless && from.one_in(8))
    to.kinds[0] = table_kind::keyless;
  if (from.one_in(12))
    to.kinds[to.tables++] = table_kind::ignored;
}

} // namespace

setting draw(dice& from, const tilt& wanted) {
  setting out;
  auto& world = out.world;
  draw_tables(from, wanted, world);
  world.keys = static_cast<std::uint8_t>(2 + from.below(3));
  world.ranges = static_cast<std::uint8_t>(1 + from.below(std::min<std::uint32_t>(world.keys, 3)));
  world.wave = static_cast<std::uint8_t>(1 + from.below(2));
  for (auto& rows : world.first_rows)
    rows = static_cast<std::uint8_t>(from.next() | (from.one_in(3) ? 0 : 3));
  world.any_column_absent = from.one_in(3);
  world.full_identity = from.one_in(6);
  world.modest = from.one_in(4);
  world.wraps = from.one_in(4);
  world.plans_late = from.one_in(3);
  world.hears_late = from.one_in(2);
  if (wanted.crashes && world.tables > 1 && (wanted.omits_start_view || from.one_in(4)))
    world.late_table = world.tables;
  world.starts_early = from.one_in(4);
  world.omits_start_view = wanted.omits_start_view;
  world.is_document = wanted.document;
  world.is_relaxed = from.one_in(3);
  world.batch_changes = static_cast<std::uint16_t>(from.one_in(2) ? 1 + from.below(4) : 1000);
  const auto is_small = wanted.overflow && (wanted.overflows_often || from.one_in(5));
  world.map_bytes = is_small ? 200 + from.below(1200) : 1 << 20;
  world.blocks = static_cast<std::uint8_t>(from.one_in(2) ? 2 + from.below(4) : 16);
  world.steps = static_cast<std::uint16_t>(8 + from.below(wanted.steps_max - 8u));

  out.often = usual();
  const auto often = [&](happening what) -> std::uint8_t& {
    return out.often[static_cast<std::size_t>(what)];
  };
  if (wanted.crashes && from.one_in(2))
    often(happening::crash) = 4;
  if (wanted.crashes && world.is_relaxed && from.one_in(2))
    often(happening::power) = 3;
  if (from.one_in(5))
    often(happening::lose) = 5;
  if (from.one_in(8) && wanted.by_hand)
    often(happening::hand_delete) = 4;
  if (from.one_in(10))
    often(happening::reshape) = 3;
  switch (from.below(5)) {
    case 0:
      often(happening::show) = 4;
      break;
    case 1:
      often(happening::stream) = 10;
      break;
    case 2:
      often(happening::apply) = 10;
      often(happening::report) = 8;
      break;
    case 3:
      often(happening::read) = 8;
      break;
    default:
      break;
  }
  if (wanted.lags_often)
    often(happening::stream) = 5;
  if (wanted.is_hidden_often)
    often(happening::show) = 3;
  return out;
}

} // namespace cdc::simulation
