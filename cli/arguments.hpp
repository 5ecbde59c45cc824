#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cdc::cli {

/// Which configuration a command is about: files, or a folder of them. Exactly one of the two.
struct selection {
  std::vector<std::filesystem::path> files;
  std::optional<std::filesystem::path> folder;

  bool operator==(const selection&) const = default;
};

struct run_options {
  selection from;
  bool once = false;                    ///< Load, catch up to the position of the start, end.
  bool fresh = false;                   ///< Drop what there is of the stream and begin anew.
  std::optional<std::string> log_level; ///< In place of [log] level.

  bool operator==(const run_options&) const = default;
};

struct validate_options {
  selection from;

  bool operator==(const validate_options&) const = default;
};

struct bootstrap_options {
  selection from;

  bool operator==(const bootstrap_options&) const = default;
};

struct switch_alias_options {
  selection from;
  std::string alias;

  bool operator==(const switch_alias_options&) const = default;
};

struct status_options {
  selection from;
  bool json = false;
  bool caught_up = false;          ///< Exit status 1 unless every target has caught up.
  std::chrono::seconds timeout{0}; ///< How long caught_up may take.
  std::optional<std::uint64_t> max_retained_mb; ///< Exit status 1 when more log is retained.

  bool operator==(const status_options&) const = default;
};

struct rejects_options {
  selection from;
  bool replay = false; ///< Write each once more.
  bool json = false;
  std::size_t limit = 20; ///< How many are shown.

  bool operator==(const rejects_options&) const = default;
};

struct init_options {
  std::string source; ///< URL; empty: from the variable `url_env`, if it is set.
  std::string url_env = "CDC_SOURCE_URL";
  std::string target = "sqlite:cdc.db";        ///< As parse_target() takes it.
  std::vector<std::string> tables;             ///< Empty: every one there is.
  std::optional<std::filesystem::path> output; ///< None: standard output.
  bool force = false;                          ///< Overwrite `output`.

  bool operator==(const init_options&) const = default;
};

struct setup_sql_options {
  selection from;

  bool operator==(const setup_sql_options&) const = default;
};

struct actors_options {
  std::string url; ///< Of the metrics port, if it was given …
  std::optional<std::filesystem::path>
      config; ///< … or the file that names it. Neither: the default.
  bool json = false;

  bool operator==(const actors_options&) const = default;
};

struct completions_options {
  std::string shell; ///< bash or zsh.

  bool operator==(const completions_options&) const = default;
};

/// Nothing to run: text to print, and the exit status (0 for --help and --version, 2 for a
/// mistake).
struct leave {
  int status = 0;
  std::string out;
  std::string err;
};

using parsed_command =
    std::variant<leave, run_options, validate_options, status_options, init_options,
                 setup_sql_options, rejects_options, bootstrap_options, switch_alias_options,
                 actors_options, completions_options>;

[[nodiscard]] parsed_command parse_arguments(int argc, const char* const* argv);

// -- the commands as data, for completions
// ----------------------------------------------------------

struct described_option {
  std::vector<std::string> names; ///< `-o`, `--output`.
  std::string help;
  bool is_positional = false; ///< It may stand without a name (too).
  bool takes_value = false;
  bool takes_file = false;
  bool takes_folder = false;
  std::vector<std::string> choices; ///< What the value may be, where that is a fixed list.
};

struct described_command {
  std::string name; ///< Empty: the program itself.
  std::string help;
  std::vector<described_option> options;
};

/// What parse_arguments() understands, in its order, the program first.
[[nodiscard]] std::vector<described_command> describe_commands();

} // namespace cdc::cli
