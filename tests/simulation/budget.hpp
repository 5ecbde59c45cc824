#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace cdc::simulation {

/// A number from the environment: CDC_SEED, CDC_HISTORIES.
inline std::optional<std::uint64_t> number_from(const char* name) {
  const auto* text = std::getenv(name);
  if (text == nullptr)
    return std::nullopt;
  const std::string_view digits{text};
  std::uint64_t out = 0;
  const auto [end, mistake] = std::from_chars(digits.begin(), digits.end(), out);
  if (mistake != std::errc{} || end != digits.end())
    return std::nullopt;
  return out;
}

/// How many histories a test lives: of an optimised build what is asked for; under sanitizers or
/// without optimisation, where each takes 50 times as long, a fiftieth. CDC_HISTORIES overrides
/// both.
inline std::uint64_t histories(std::uint64_t optimised) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
  const auto usual = optimised / 50;
#else
  const auto usual = optimised;
#endif
  return number_from("CDC_HISTORIES").value_or(usual);
}

} // namespace cdc::simulation
