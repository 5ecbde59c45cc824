#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "config/config.hpp"
#include "config/connection_text.hpp"
#include "config/table_pattern.hpp"

// The text is a file, and a connection string, and a table name: all three are parsed by us.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  std::ignore = cdc::config::parse(text, "fuzz.toml", [](const char*) {
    return std::optional<std::string>{"postgresql://u:p@h/d"};
  });
  if (const auto parts = cdc::config::look_into(text)) {
    const auto more = cdc::config::with_parameter(std::string{text}, "sslmode", "verify-full");
    const auto again = cdc::config::look_into(more);
    if (!again || again->parameters.at("sslmode") != "verify-full")
      __builtin_trap();
  }
  if (const auto table = cdc::config::parse_table_name(text))
    if (cdc::config::parse_table_name(cdc::config::write_table_name(*table)) != table)
      __builtin_trap();
  return 0;
}
