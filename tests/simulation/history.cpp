#include "tests/simulation/history.hpp"

#include <numeric>
#include <utility>

namespace cdc::simulation {

namespace {

happening choose(dice& from, const weights& often, std::uint32_t all) {
  auto left = from.below(all);
  std::size_t at = 0;
  while (left >= often[at])
    left -= often[at++];
  return static_cast<happening>(at);
}

step draw_step(dice& from, const tilt& wanted, happening what) {
  step out;
  out.what = what;
  const auto first = from.next();
  const auto second = from.next();
  for (std::size_t i = 0; i < out.how.size(); ++i)
    out.how[i] = static_cast<std::uint8_t>(i < 8 ? first >> 8 * i : second >> 8 * (i - 8));
  if (what != happening::begin)
    return out;
  for (std::size_t i = 1; i < 10; i += 3) {
    if (!wanted.truncates && out.how[i] >= 248)
      out.how[i] = 1;
    if (wanted.truncates_often && from.one_in(3))
      out.how[i] = 255;
    if (wanted.moves_often && from.one_in(3))
      out.how[i] = static_cast<std::uint8_t>(6 + from.below(5));
  }
  return out;
}

} // namespace

outcome live(std::uint64_t seed, const tilt& wanted, const engine::rule_switches& rule,
             history& lived) {
  dice from{seed};
  const auto drawn = draw(from, wanted);
  lived.world = drawn.world;
  lived.steps.clear();
  story untold;
  world made{lived.world, rule, untold};
  const auto all = std::accumulate(drawn.often.begin(), drawn.often.end(), 0u);
  std::uint32_t crashes = 0;
  for (int i = 0; i < drawn.world.steps && made.wrong().empty(); ++i) {
    for (int tries = 0; tries < 12; ++tries) {
      const auto next = draw_step(from, wanted, choose(from, drawn.often, all));
      const auto is_crash = next.what == happening::crash || next.what == happening::power;
      if (is_crash && crashes >= 3)
        continue;
      if (!made.take(next))
        continue;
      crashes += is_crash;
      lived.steps.push_back(next);
      break;
    }
  }
  made.finish();
  return {made.wrong(), made.counts()};
}

outcome live_again(const history& lived, const engine::rule_switches& rule, story& told) {
  world made{lived.world, rule, told};
  for (const auto& next : lived.steps) {
    if (!made.wrong().empty())
      break;
    static_cast<void>(made.take(next));
  }
  made.finish();
  return {made.wrong(), made.counts()};
}

std::optional<finding> find_failure(std::uint64_t seed, std::uint64_t count, const tilt& wanted,
                                    const engine::rule_switches& rule,
                                    std::vector<outcome>* lived) {
  history now;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto ended = live(seed + i, wanted, rule, now);
    const auto failed = !ended.wrong.empty();
    if (lived != nullptr)
      lived->push_back(std::move(ended));
    if (failed)
      return finding{seed + i, std::move(now)};
  }
  return std::nullopt;
}

std::string tell(const history& failing, const engine::rule_switches& rule) {
  story told;
  told.tell();
  static_cast<void>(live_again(shrink(failing, rule), rule, told));
  std::string out;
  for (const auto& line : told.lines())
    out += "  " + line + "\n";
  return out;
}

} // namespace cdc::simulation
