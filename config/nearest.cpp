#include "config/nearest.hpp"

#include <algorithm>
#include <vector>

namespace cdc::config {

namespace {

// Optimal string alignment: Levenshtein's distance with a swap of neighbours counted as one step.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    steps[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j)
    steps[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

bool one_begins_the_other(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= 4 && (a.starts_with(b) || b.starts_with(a));
}

} // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  // A longer key is no misspelling of ours, and the table grows with the square of its length.
  if (word.size() > 64)
    return std::nullopt;
  std::optional<std::string> best;
  std::size_t fewest = 65;
  for (const auto& candidate : candidates) {
    const auto steps = one_begins_the_other(word, candidate) ? 1 : distance(word, candidate);
    if (steps < fewest && steps * 2 <= std::max(word.size(), candidate.size())) {
      fewest = steps;
      best = candidate;
    }
  }
  return best;
}

} // namespace cdc::config
