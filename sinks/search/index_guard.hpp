#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "sinks/search/exchange.hpp"

namespace cdc::sinks::search {

/// A server makes an index that is written to and not there, with whatever mapping it likes. So
/// each index gets an alias of ours, named so that no index can be: a write by it fails once the
/// index is gone, and the alias goes with the index that it was given to.

/// `orders.CDC`: capitals are for aliases alone.
[[nodiscard]] std::string guard_of(std::string_view index);
[[nodiscard]] bool is_guard(std::string_view name) noexcept;

/// What a name stands for at the target.
struct named {
  bool is_there = false;
  bool is_alias = false;
  bool is_guarded = false;
};

[[nodiscard]] result<named> look_up(exchange& with, const std::string& name);

/// The indices that have an alias.
[[nodiscard]] result<std::vector<std::string>> holders_of(exchange& with, const std::string& alias);

/// False: the user may not.
[[nodiscard]] result<bool> set_guard(exchange& with, const std::string& index);

/// Reads the answer to `GET /name/_alias`.
[[nodiscard]] result<named> read_named(std::string_view body, std::string_view name);

} // namespace cdc::sinks::search
