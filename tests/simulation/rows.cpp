#include "tests/simulation/rows.hpp"

#include <fmt/core.h>

namespace cdc::simulation {

std::string describe(const std::array<int, values>& value, unsigned present) {
  std::string out = "(";
  for (std::size_t i = 0; i < values; ++i) {
    out += i == 0 ? "" : " ";
    out += "abc"[i];
    out += present >> i & 1 ? std::to_string(value[i]) : "-";
  }
  return out + ")";
}

std::string describe(const row& what) {
  return what.is_there ? describe(what.value) : "none";
}

std::string describe(const bag& what) {
  std::string out;
  for (std::size_t v = 0; v < bag_values; ++v) {
    for (std::size_t w = 0; w < bag_tails; ++w) {
      if (what[v][w] != 0)
        out += fmt::format("{}{}×(v{} w{})", out.empty() ? "" : " ", what[v][w], v, w);
    }
  }
  return out.empty() ? "none" : out;
}

} // namespace cdc::simulation
