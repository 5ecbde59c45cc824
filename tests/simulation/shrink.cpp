#include <algorithm>
#include <array>

#include "tests/simulation/history.hpp"

namespace cdc::simulation {

namespace {

class shrinker {
public:
  shrinker(history failing, const engine::rule_switches& rule)
      : best_(std::move(failing)), rule_(rule) {}

  history run() {
    while (drop_steps() | simplify_world() | simplify_steps()) {
    }
    return std::move(best_);
  }

private:
  /// Keeps `simpler` if it still fails. Every attempt costs a life: there is a bound.
  bool try_instead(const history& simpler) {
    if (attempts_ >= 20'000)
      return false;
    ++attempts_;
    story untold;
    if (live_again(simpler, rule_, untold).wrong.empty())
      return false;
    best_ = simpler;
    return true;
  }

  bool drop_steps() {
    auto shrunk = false;
    for (auto length = std::max<std::size_t>(best_.steps.size() / 2, 1); length > 0; length /= 2) {
      for (std::size_t at = 0; at + length <= best_.steps.size();) {
        auto simpler = best_;
        const auto first = simpler.steps.begin() + static_cast<std::ptrdiff_t>(at);
        simpler.steps.erase(first, first + static_cast<std::ptrdiff_t>(length));
        if (try_instead(simpler))
          shrunk = true;
        else
          ++at;
      }
    }
    return shrunk;
  }

  template <class T>
  bool simplify(T options::*what, T to) {
    if (best_.world.*what == to)
      return false;
    auto simpler = best_;
    simpler.world.*what = to;
    return try_instead(simpler);
  }

  bool simplify_world() {
    const options simplest;
    auto shrunk = false;
    for (std::uint8_t fewer = 1; fewer < best_.world.tables; ++fewer)
      shrunk |= simplify(&options::tables, fewer);
    for (std::uint8_t fewer = 1; fewer < best_.world.ranges; ++fewer)
      shrunk |= simplify(&options::ranges, fewer);
    for (std::uint8_t fewer = std::max<std::uint8_t>(2, best_.world.ranges);
         fewer < best_.world.keys; ++fewer)
      shrunk |= simplify(&options::keys, fewer);
    shrunk |= simplify(&options::wave, simplest.wave);
    shrunk |= simplify(&options::any_column_absent, false);
    shrunk |= simplify(&options::full_identity, false);
    shrunk |= simplify(&options::modest, false);
    shrunk |= simplify(&options::wraps, false);
    shrunk |= simplify(&options::plans_late, false);
    shrunk |= simplify(&options::hears_late, false);
    shrunk |= simplify<std::uint8_t>(&options::late_table, 0);
    shrunk |= simplify(&options::starts_early, false);
    shrunk |= simplify(&options::is_relaxed, false);
    shrunk |= simplify(&options::batch_changes, simplest.batch_changes);
    shrunk |= simplify(&options::map_bytes, simplest.map_bytes);
    shrunk |= simplify(&options::blocks, simplest.blocks);
    for (std::size_t table = 0; table < tables_max; ++table) {
      auto simpler = best_;
      simpler.world.first_rows[table] = 0;
      if (best_.world.first_rows[table] != 0)
        shrunk |= try_instead(simpler);
    }
    return shrunk;
  }

  bool simplify_steps() {
    auto shrunk = false;
    for (std::size_t at = 0; at < best_.steps.size(); ++at) {
      for (std::size_t byte = 0; byte < best_.steps[at].how.size(); ++byte) {
        for (const auto value : std::array<std::uint8_t, 4>{0, 1, 2, 4}) {
          if (best_.steps[at].how[byte] <= value)
            continue;
          auto simpler = best_;
          simpler.steps[at].how[byte] = value;
          if (try_instead(simpler)) {
            shrunk = true;
            break;
          }
        }
      }
    }
    return shrunk;
  }

  history best_;
  const engine::rule_switches& rule_;
  int attempts_ = 0;
};

} // namespace

history shrink(history failing, const engine::rule_switches& rule) {
  return shrinker{std::move(failing), rule}.run();
}

} // namespace cdc::simulation
