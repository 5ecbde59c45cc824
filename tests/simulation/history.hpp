#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "tests/simulation/world.hpp"

namespace cdc::simulation {

/// A world and what happens in it, in order: enough to live it again.
struct history {
  options world;
  std::vector<step> steps;
};

/// What came of living one.
struct outcome {
  std::string wrong; ///< Empty: nothing.
  world::tally counts;
};

/// Draws a history from a seed, living it on the way (what can happen depends on what has).
[[nodiscard]] outcome live(std::uint64_t seed, const tilt& wanted,
                           const engine::rule_switches& rule, history& lived);
[[nodiscard]] outcome live_again(const history& lived, const engine::rule_switches& rule,
                                 story& told);

/// A history that fails too, with as little in it as could be found.
[[nodiscard]] history shrink(history failing, const engine::rule_switches& rule);

/// The first history of `count` from `seed` on that fails.
struct finding {
  std::uint64_t seed = 0;
  history failing;
};
[[nodiscard]] std::optional<finding> find_failure(std::uint64_t seed, std::uint64_t count,
                                                  const tilt& wanted,
                                                  const engine::rule_switches& rule = {},
                                                  std::vector<outcome>* lived = nullptr);

/// A failing history, shrunk, line by line.
[[nodiscard]] std::string tell(const history& failing, const engine::rule_switches& rule = {});

} // namespace cdc::simulation
