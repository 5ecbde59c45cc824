#include "cli/arguments.hpp"

#include <algorithm>
#include <initializer_list>

#include <gtest/gtest.h>

namespace cdc::cli {

namespace {

parsed_command parsed(std::initializer_list<const char*> words) {
  std::vector<const char*> argv{"cdc-actors"};
  argv.insert(argv.end(), words);
  return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

template <class Options>
Options expect(const parsed_command& from) {
  const auto* options = std::get_if<Options>(&from);
  if (const auto* left = std::get_if<leave>(&from); left && !options)
    ADD_FAILURE() << left->out << left->err;
  return options ? *options : Options{};
}

leave expect_mistake(std::initializer_list<const char*> words) {
  const auto out = parsed(words);
  const auto* left = std::get_if<leave>(&out);
  EXPECT_TRUE(left);
  if (!left)
    return {};
  EXPECT_EQ(left->status, 2);
  EXPECT_TRUE(left->out.empty());
  EXPECT_FALSE(left->err.empty());
  return *left;
}

} // namespace

TEST(arguments, read_a_run_of_several_files) {
  const auto out = expect<run_options>(parsed({"run", "a.toml", "b.toml"}));

  EXPECT_EQ(out.from.files, (std::vector<std::filesystem::path>{"a.toml", "b.toml"}));
  EXPECT_FALSE(out.from.folder);
  EXPECT_FALSE(out.once || out.fresh || out.log_level);
}

TEST(arguments, read_every_option_of_run) {
  const auto out = expect<run_options>(parsed(
      {"run", "--once", "--fresh-slot-and-load", "--log-level", "debug", "--config-dir", "d"}));

  EXPECT_EQ(out.from.folder, "d");
  EXPECT_TRUE(out.once);
  EXPECT_TRUE(out.fresh);
  EXPECT_EQ(out.log_level, "debug");
}

TEST(arguments, take_the_file_by_name_too) {
  EXPECT_EQ(expect<run_options>(parsed({"run", "-c", "a.toml"})).from.files.size(), 1u);
  EXPECT_EQ(expect<validate_options>(parsed({"validate", "--config", "a.toml"})).from.files.size(),
            1u);
}

TEST(arguments, want_files_or_a_folder_and_not_both) {
  for (const auto* name : {"run", "validate", "status"}) {
    expect_mistake({name});
    expect_mistake({name, "a.toml", "--config-dir", "d"});
  }
}

TEST(arguments, refuse_what_nobody_knows) {
  expect_mistake({});
  expect_mistake({"runn", "a.toml"});
  expect_mistake({"run", "a.toml", "--onse"});
  expect_mistake({"run", "a.toml", "--log-level", "loud"});
  expect_mistake({"completions", "fish"});
  expect_mistake({"completions"});
}

TEST(arguments, read_status) {
  const auto out = expect<status_options>(parsed(
      {"status", "a.toml", "--json", "--caught-up", "--timeout", "60", "--max-retained-mb", "0"}));

  EXPECT_TRUE(out.json);
  EXPECT_TRUE(out.caught_up);
  EXPECT_EQ(out.timeout, std::chrono::seconds{60});
  EXPECT_EQ(out.max_retained_mb, 0u);
}

TEST(arguments, refuse_a_timeout_that_nothing_waits_for) {
  expect_mistake({"status", "a.toml", "--timeout", "60"});
  expect_mistake({"status", "a.toml", "--caught-up", "--timeout", "-1"});
}

TEST(arguments, read_init) {
  const auto out = expect<init_options>(
      parsed({"init", "--source", "postgresql://h/d", "--target", "null", "--table", "a.b",
              "--table", "c.d", "--force", "-o", "x.toml", "--url-env", "U"}));

  EXPECT_EQ(out.source, "postgresql://h/d");
  EXPECT_EQ(out.target, "null");
  EXPECT_EQ(out.tables, (std::vector<std::string>{"a.b", "c.d"}));
  EXPECT_TRUE(out.force);
  EXPECT_EQ(out.output, "x.toml");
  EXPECT_EQ(out.url_env, "U");
  EXPECT_EQ(expect<init_options>(parsed({"init"})), init_options{});
}

TEST(arguments, read_actors) {
  EXPECT_EQ(expect<actors_options>(parsed({"actors"})), actors_options{});
  EXPECT_EQ(expect<actors_options>(parsed({"actors", "a.toml"})).config, "a.toml");
  EXPECT_TRUE(expect<actors_options>(parsed({"actors", "--url", "http://h:1", "--json"})).json);
  expect_mistake({"actors", "a.toml", "--url", "http://h:1"});
}

TEST(arguments, print_help_and_version_with_status_zero) {
  const auto help = expect<leave>(parsed({"--help"}));
  EXPECT_EQ(help.status, 0);
  for (const auto& each : describe_commands())
    EXPECT_NE(help.out.find(each.name), std::string::npos) << each.name;
  const auto version = expect<leave>(parsed({"--version"}));
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.substr(0, 11), "cdc-actors ");
  EXPECT_EQ(expect<leave>(parsed({"run", "--help"})).status, 0);
}

TEST(arguments, describe_themselves) {
  const auto commands = describe_commands();
  const auto run = std::ranges::find(commands, "run", &described_command::name);
  ASSERT_NE(run, commands.end());
  const auto named = [&](const std::string& name) {
    return *std::ranges::find_if(run->options, [&](const auto& option) {
      return std::ranges::find(option.names, name) != option.names.end();
    });
  };

  EXPECT_EQ(named("--log-level").choices,
            (std::vector<std::string>{"trace", "debug", "info", "warn", "error", "off"}));
  EXPECT_TRUE(named("--config-dir").takes_folder);
  EXPECT_FALSE(named("--once").takes_value);
  EXPECT_TRUE(named("--config").is_positional);
  EXPECT_FALSE(run->help.empty());
}

} // namespace cdc::cli
