#pragma once

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "config/config.hpp"

namespace cdc::config {

/// The environment of these tests: DATABASE_URL and what a test adds.
inline std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> all{
      {"DATABASE_URL", "postgresql://reader:hunter2@db.example:6543/shop"},
      {"EMPTY", ""},
      {"TOKEN", "hunter2"}};
  return all;
}

inline std::optional<std::string> look_up(const char* name) {
  const auto found = variables().find(name);
  return found == variables().end() ? std::nullopt : std::optional{found->second};
}

inline constexpr auto source_lines = "[source]\nurl_env = \"DATABASE_URL\"\n";
inline constexpr auto target_lines = "[target]\nflavor = \"sqlite\"\npath = \"shop.db\"\n";
inline constexpr auto sync_lines = "[sync.orders]\ntable = \"public.orders\"\n";

/// A file that is right, with `lines` at its end.
inline std::string with(const std::string& lines) {
  return std::string{source_lines} + target_lines + sync_lines + lines;
}

inline pipeline_config accepted(const std::string& text) {
  auto out = parse(text, "cdc.toml", look_up);
  if (!out)
    ADD_FAILURE() << out.error().detail;
  return out.value_or(pipeline_config{});
}

/// All that is wrong with the text; no message ever repeats a password.
inline std::string refused(const std::string& text) {
  const auto out = parse(text, "cdc.toml", look_up);
  if (out) {
    ADD_FAILURE() << "accepted:\n" << text;
    return {};
  }
  EXPECT_EQ(out.error().code, errc::invalid_config);
  EXPECT_EQ(out.error().detail.find("hunter2"), std::string::npos) << out.error().detail;
  return out.error().detail;
}

} // namespace cdc::config
