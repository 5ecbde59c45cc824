#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/error.hpp"

namespace cdc::sinks {

/// A document that a target refused for good and that was put aside there.
struct reject {
  std::string index{};
  std::string document{}; ///< Its id.
  std::string reason{};   ///< Never its values.
  std::string position{}; ///< Of the change, as the source spells it.
  std::string action{};   ///< `index` or `delete`.
  std::int64_t at = 0;    ///< Seconds since 1970-01-01 UTC.
};

struct rejects {
  std::size_t total = 0;
  std::vector<reject> some; ///< The first of them.
};

struct replayed {
  std::size_t taken = 0;
  std::vector<reject> refused; ///< With the reason of now.
};

/// Whether the target can put documents aside.
[[nodiscard]] bool keeps_rejects(const config::target_config& target) noexcept;

/// What is put aside at a target, at most `limit` of it.
[[nodiscard]] result<rejects> list_rejects(const config::target_config& target, std::size_t limit);

/// Writes each once more with its own version, so that what became newer since stays; what the
/// target takes is put aside no longer.
[[nodiscard]] result<replayed> replay_rejects(const config::target_config& target);

} // namespace cdc::sinks
