#pragma once

#include <cstdint>
#include <string>

#include "messages/error.hpp"

namespace cdc::sources {

/// One line of what an inspection found.
struct finding {
  enum class level : std::uint8_t {
    good,
    warning, ///< It runs, but someone should know.
    bad,     ///< It does not run before this is changed.
  };
  level severity = level::good;
  errc code = errc::source_misconfigured; ///< Of a bad one.
  std::string text; ///< Names the object, and the SQL where SQL is the way on.
};

} // namespace cdc::sources
