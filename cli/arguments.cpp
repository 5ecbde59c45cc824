#include "cli/arguments.hpp"

#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

namespace cdc::cli {

namespace {

constexpr auto levels = "trace|debug|info|warn|error|off";
constexpr auto shells = "bash|zsh";

// The alternatives are written once, as the type's name, for the help, the check and completions.
std::vector<std::string> alternatives(const std::string& type) {
  std::vector<std::string> out;
  if (type.find('|') != std::string::npos)
    out = CLI::detail::split(type, '|');
  return out;
}

CLI::Option* only_of(CLI::Option* option, const std::string& type) {
  return option->type_name(type)->check(CLI::Validator(
      [type](const std::string& value) {
        const auto allowed = alternatives(type);
        const auto found = std::find(allowed.begin(), allowed.end(), value);
        return found == allowed.end() ? "expected " + type : std::string{};
      },
      ""));
}

/// The program's arguments, and what they were parsed into.
class parser {
public:
  parser() {
    app_.set_version_flag("--version", "cdc-actors " CDC_VERSION);
    app_.require_subcommand(1);
    app_.footer(
        "Exit status: 0 done, 1 something is wrong, 2 the arguments or a configuration are.");
    add_run();
    add_validate();
    add_bootstrap();
    add_status();
    add_rejects();
    add_switch_alias();
    add_init();
    add_setup_sql();
    add_actors();
    add_completions();
  }

  [[nodiscard]] parsed_command parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& mistake) {
      std::ostringstream out;
      std::ostringstream err;
      const auto status = app_.exit(mistake, out, err);
      return leave{status == 0 ? 0 : 2, out.str(), err.str()};
    }
    return parsed_;
  }

  [[nodiscard]] std::vector<described_command> describe() const;

private:
  template <class Options>
  struct adding {
    CLI::App* to;
    std::shared_ptr<Options> options;
  };

  template <class Options>
  adding<Options> add(const std::string& name, const std::string& help) {
    auto options = std::make_shared<Options>();
    auto* to = app_.add_subcommand(name, help);
    to->callback([this, options] { parsed_ = *options; });
    return {to, options};
  }

  template <class Options>
  void add_selection(const adding<Options>& command) {
    auto& from = command.options->from;
    auto* files =
        command.to->add_option("config,-c,--config", from.files, "TOML files, one pipeline each")
            ->type_name("FILE");
    auto* folder =
        command.to->add_option("--config-dir", from.folder, "Every *.toml in this folder")
            ->type_name("DIR");
    files->excludes(folder);
    command.to->parse_complete_callback([options = command.options] {
      if (options->from.files.empty() && !options->from.folder)
        throw CLI::RequiredError("a configuration file, or --config-dir,");
    });
  }

  void add_run() {
    const auto command = add<run_options>(
        "run", "Load the tables, then keep the targets equal until a signal comes");
    add_selection(command);
    auto& to = *command.options;
    command.to->add_flag("--once", to.once, "Load, catch up to the position of the start, and end");
    command.to->add_flag("--fresh-start-and-load,--fresh-slot-and-load", to.fresh,
                         "Drop the slot and what is stored of the stream, and load anew");
    only_of(command.to->add_option("--log-level", to.log_level, "Instead of [log] level"), levels);
  }

  void add_validate() {
    const auto command = add<validate_options>(
        "validate", "Check files, source and targets; say every mistake; touch nothing");
    add_selection(command);
  }

  void add_bootstrap() {
    const auto command = add<bootstrap_options>(
        "bootstrap",
        "Make publication, slot (PostgreSQL) and target tables or indices; write no row");
    add_selection(command);
  }

  void add_switch_alias() {
    const auto command = add<switch_alias_options>(
        "switch-alias", "Give an alias to the index of the configuration, at one stroke");
    add_selection(command);
    command.to->add_option("--alias", command.options->alias, "The alias")
        ->type_name("NAME")
        ->required();
  }

  void add_status() {
    const auto command =
        add<status_options>("status", "Show checkpoints, slots, and the log that is retained");
    add_selection(command);
    auto& to = *command.options;
    command.to->add_flag("--json", to.json, "One JSON document");
    auto* caught_up = command.to->add_flag("--caught-up", to.caught_up,
                                           "Exit status 1 unless every target has the position "
                                           "the source has now");
    command.to
        ->add_option_function<std::uint32_t>(
            "--timeout",
            [options = command.options](const std::uint32_t& seconds) {
              options->timeout = std::chrono::seconds{seconds};
            },
            "How long --caught-up waits (default 0)")
        ->type_name("SECONDS")
        ->needs(caught_up);
    command.to
        ->add_option("--max-retained-mb", to.max_retained_mb,
                     "Exit status 1 when a slot of the server retains more, or (MySQL) a target "
                     "still needs more of the log")
        ->type_name("MB");
  }

  void add_rejects() {
    const auto command = add<rejects_options>(
        "rejects", "Show the documents that a target refused and put aside, or write them again");
    add_selection(command);
    auto& to = *command.options;
    command.to->add_flag("--replay", to.replay,
                         "Write each once more; exit status 1 while any is still refused");
    command.to->add_option("--limit", to.limit, "Show at most so many")
        ->type_name("N")
        ->capture_default_str();
    command.to->add_flag("--json", to.json, "One JSON document");
  }

  void add_init() {
    const auto command =
        add<init_options>("init", "Write a first configuration for the tables of a database");
    auto& to = *command.options;
    command.to->add_option("--source", to.source, "URL of the database; it is not written anywhere")
        ->type_name("URL");
    command.to
        ->add_option("--url-env", to.url_env,
                     "Variable that will hold the URL; read when --source is left out")
        ->type_name("NAME")
        ->capture_default_str();
    command.to
        ->add_option("--target", to.target,
                     "sqlite:PATH, ndjson:PATH, opensearch:URL, elasticsearch:URL or null")
        ->type_name("TARGET")
        ->capture_default_str();
    command.to->add_option("--table", to.tables, "Only this one; may be repeated")
        ->type_name("TABLE");
    command.to->add_option("-o,--output", to.output, "Instead of standard output")
        ->type_name("FILE");
    command.to->add_flag("--force", to.force, "Overwrite the file");
  }

  void add_setup_sql() {
    const auto command = add<setup_sql_options>(
        "setup-sql", "Print what a database administrator runs once; connects to nothing");
    add_selection(command);
  }

  void add_actors() {
    const auto command =
        add<actors_options>("actors", "Show the actors of a running process, as they are now");
    auto& to = *command.options;
    auto* config = command.to
                       ->add_option("config,-c,--config", to.config,
                                    "The file whose [metrics] says where the process listens")
                       ->type_name("FILE");
    command.to->add_option("--url", to.url, "Where it listens (default http://127.0.0.1:9100)")
        ->type_name("URL")
        ->excludes(config);
    command.to->add_flag("--json", to.json, "As the process gives them");
  }

  void add_completions() {
    const auto command =
        add<completions_options>("completions", "Print completions for a shell to source");
    only_of(command.to->add_option("shell", command.options->shell, "The shell")->required(),
            shells);
  }

  CLI::App app_{
      "Keeps databases and search indexes equal to PostgreSQL, MySQL or MariaDB by reading "
      "their logs.",
      "cdc-actors"};
  parsed_command parsed_ = leave{};
};

described_option describe(const CLI::Option& option) {
  described_option out;
  out.help = option.get_description();
  for (const auto& name : option.get_snames())
    out.names.push_back("-" + name);
  for (const auto& name : option.get_lnames())
    out.names.push_back("--" + name);
  const auto type = option.get_type_name();
  out.is_positional = option.get_positional();
  out.takes_value = option.get_items_expected_max() > 0;
  out.takes_file = type == "FILE";
  out.takes_folder = type == "DIR";
  out.choices = alternatives(type);
  return out;
}

described_command describe(const CLI::App& app) {
  described_command out{app.get_name(), app.get_description(), {}};
  for (const auto* option : app.get_options())
    out.options.push_back(describe(*option));
  return out;
}

std::vector<described_command> parser::describe() const {
  std::vector<described_command> out{cli::describe(app_)};
  out.front().name.clear();
  for (const auto* each : app_.get_subcommands({}))
    out.push_back(cli::describe(*each));
  return out;
}

} // namespace

parsed_command parse_arguments(int argc, const char* const* argv) {
  return parser{}.parse(argc, argv);
}

std::vector<described_command> describe_commands() {
  return parser{}.describe();
}

} // namespace cdc::cli
