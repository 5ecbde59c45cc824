#include "cli/commands/completions.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace cdc::cli {

namespace {

/// What `bash` offers for the words of a command line, the last of them begun.
std::string offered(const std::string& words) {
  const auto script = std::filesystem::path{testing::TempDir()} /
                      ("completions_" + std::to_string(::getpid()) + ".bash");
  std::ofstream{script} << bash_completions(describe_commands()) << "COMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_cdc_actors\n"
                        << "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  auto* shell = ::popen(("bash " + script.string() + " 2>&1").c_str(), "r");
  std::string out;
  std::array<char, 256> piece{};
  while (std::fgets(piece.data(), static_cast<int>(piece.size()), shell))
    out += piece.data();
  ::pclose(shell);
  std::filesystem::remove(script);
  return out;
}

} // namespace

TEST(completions, offer_commands_and_options_in_bash) {
  EXPECT_EQ(offered("cdc-actors val"), "validate\n");
  EXPECT_EQ(offered("cdc-actors --v"), "--version\n");
  EXPECT_EQ(offered("cdc-actors run --on"), "--once\n");
  EXPECT_EQ(offered("cdc-actors status --max"), "--max-retained-mb\n");
}

TEST(completions, offer_values_in_bash) {
  EXPECT_EQ(offered("cdc-actors run --log-level e"), "error\n");
  EXPECT_EQ(offered("cdc-actors run --log-level = e"), "error\n");
  EXPECT_EQ(offered("cdc-actors run --log-level ="), "trace\ndebug\ninfo\nwarn\nerror\noff\n");
  EXPECT_EQ(offered("cdc-actors completions z"), "zsh\n");
  EXPECT_EQ(offered("cdc-actors run /etc/host").substr(0, 9), "/etc/host");
  EXPECT_EQ(offered("cdc-actors run --config-dir /usr/bi"), "/usr/bin\n");
  EXPECT_EQ(offered("cdc-actors run --config-dir /etc/host"), "\n");
}

TEST(completions, offer_names_with_spaces_as_one) {
  const auto folder =
      std::filesystem::path{testing::TempDir()} / ("spaces_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream{folder / "my shop.toml"};
  EXPECT_EQ(offered("cdc-actors run " + (folder / "my").string()),
            (folder / "my shop.toml").string() + "\n");
  std::filesystem::remove_all(folder);
}

TEST(completions, name_every_command_and_option_in_both_shells) {
  const auto commands = describe_commands();
  const auto bash = bash_completions(commands);
  const auto zsh = zsh_completions(commands);

  for (const auto& command : commands) {
    EXPECT_NE(bash.find(command.name), std::string::npos) << command.name;
    EXPECT_NE(zsh.find(command.name), std::string::npos) << command.name;
    if (command.name.empty())
      continue;
    for (const auto& option : command.options)
      for (const auto& name : option.names) {
        EXPECT_NE(bash.find(name), std::string::npos) << name;
        const auto in_zsh = "'" + name;
        EXPECT_TRUE(zsh.find(in_zsh + "[") != std::string::npos ||
                    zsh.find(in_zsh + "=[") != std::string::npos)
            << name;
      }
  }
}

} // namespace cdc::cli
