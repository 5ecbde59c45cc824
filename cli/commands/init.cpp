#include "cli/commands/init.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "actors/figures.hpp"
#include "cli/terminal.hpp"
#include "config/fold.hpp"
#include "config/table_pattern.hpp"

namespace cdc::cli {

namespace {

using flavor = config::target_config::flavor;

// A TOML basic string: quotes, backslashes and control characters escaped.
std::string toml(std::string_view text) {
  std::string out = "\"";
  for (const auto letter : text) {
    if (letter == '"' || letter == '\\')
      out += std::string{'\\', letter};
    else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(letter));
    else
      out += letter;
  }
  return out + '"';
}

std::string comment(std::string_view text) {
  std::string out = "# ";
  for (const auto letter : actors::printable(text))
    out += letter == '\n' ? std::string{"\n# "} : std::string{letter};
  return out + '\n';
}

// What a slot's name may be made of; the publication's name is made of it too.
std::string slot_base(std::string_view database) {
  auto out = "cdc_" + config::fold(database).substr(0, 40);
  std::ranges::replace_if(
      out,
      [](char letter) {
        return !((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9'));
      },
      '_');
  return out;
}

/// Gives each table a section's key and a name at the target that no other has.
class namer {
public:
  std::string key_of(const table_id& table) {
    auto base = table.name;
    std::ranges::replace_if(
        base, [](char letter) { return !is_label_letter(letter); }, '_');
    return unique(keys_, base, table);
  }

  /// Empty: the table's own name will do.
  std::string into_of(const table_id& table) {
    const auto name = unique(targets_, table.name, table);
    return name == table.name ? std::string{} : name;
  }

private:
  static bool is_label_letter(char letter) noexcept {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  }

  // SQLite does not tell T from t, so no two names differ in nothing else.
  static std::string unique(std::set<std::string>& taken, const std::string& base,
                            const table_id& table) {
    auto name = base;
    for (auto i = 1; !taken.insert(config::fold(name)).second; ++i)
      name = i == 1 ? fmt::format("{}_{}", slot_free(table.schema), base)
                    : fmt::format("{}_{}", base, i);
    return name;
  }

  static std::string slot_free(std::string text) {
    std::ranges::replace_if(
        text, [](char letter) { return !is_label_letter(letter); }, '_');
    return text;
  }

  std::set<std::string> keys_;
  std::set<std::string> targets_;
};

std::string head(const init_options& options, const config::target_config& target,
                 const std::string& base) {
  auto out = fmt::format("[source]\nurl_env = {}\nslot_name = {}\npublication = {}\n\n",
                         toml(options.url_env), toml(base), toml(base + "_pub"));
  static constexpr std::array<std::string_view, 3> flavors{"sqlite", "ndjson", "null"};
  out += fmt::format("[target]\nflavor = \"{}\"\n", flavors[static_cast<std::size_t>(target.what)]);
  if (!target.path.empty())
    out += fmt::format("path = {}\n", toml(target.path));
  return out + "\n[metrics]\nbind = \"127.0.0.1:9100\"\n";
}

// A column whose name another has but for its letters' case: SQLite has no place for it.
std::string clashing_columns(const relation& shape) {
  std::set<std::string> taken;
  for (const auto& column : shape.columns)
    if (!taken.insert(config::fold(column.name)).second)
      return fmt::format("SQLite does not tell two columns of {} apart, one of them {}: rename it "
                         "with fields = {{ … }}",
                         to_string(shape.table), column.name);
  return {};
}

std::string refusal_of(const sources::postgres::proposed_table& table, flavor target) {
  return table.refusal.empty() && target == flavor::sqlite ? clashing_columns(*table.shape)
                                                           : table.refusal;
}

/// Every reason, when there is not one table that a section could take.
std::string nothing_to_take(const sources::postgres::proposal& found, flavor target) {
  std::string out;
  for (const auto& table : found.tables) {
    const auto why = refusal_of(table, target);
    if (why.empty())
      return {};
    out += "\n" + why;
  }
  return found.tables.empty() ? ": there is none" : ":" + out;
}

std::string section(const sources::postgres::proposed_table& table, flavor target, namer& names) {
  const auto& id = table.shape->table;
  if (const auto refusal = refusal_of(table, target); !refusal.empty())
    return "\n" + comment("Left out: " + refusal);
  std::string out = "\n";
  if (table.append_only)
    out +=
        comment("Without a key only inserts and truncates can be followed. To follow updates and "
                "deletes too,\ngive the table a primary key or REPLICA IDENTITY FULL, and take "
                "append_only away.");
  out +=
      fmt::format("[sync.{}]\ntable = {}\n", names.key_of(id), toml(config::write_table_name(id)));
  if (const auto into = names.into_of(id); !into.empty())
    out += fmt::format("into = {}\n", toml(into));
  return out + (table.append_only ? "append_only = true\n" : "");
}

std::string next_steps(const init_options& options, const std::string& of) {
  const auto file = options.output ? options.output->string() : "cdc.toml";
  return comment(fmt::format("Written by cdc-actors init for {}. Next:\n"
                             "  export {}=postgresql://…\n"
                             "  cdc-actors validate {}\n"
                             "  cdc-actors run {}",
                             of, options.url_env, file, file)) +
         "\n";
}

bool is_variable_name(const std::string& text) noexcept {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::ranges::all_of(text, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '_';
         });
}

std::string url_of(const init_options& options) {
  if (!options.source.empty())
    return options.source;
  const auto* value = std::getenv(options.url_env.c_str());
  return value ? value : "";
}

result<std::string> make_configuration(const init_options& options) {
  if (!is_variable_name(options.url_env))
    return fail(errc::invalid_config, "--url-env: expected the name of an environment variable");
  const auto target = parse_target(options.target);
  if (!target)
    return tl::unexpected(target.error());
  const auto url = url_of(options);
  if (url.empty())
    return write_configuration(options, *target);
  if (!url.starts_with("postgres"))
    return fail(
        errc::invalid_config,
        "init reads PostgreSQL only: expected postgresql://… ({} has another). A mysql source "
        "is written by hand: docs/configuration.md",
        options.source.empty() ? "$" + options.url_env : "--source");
  config::source_config source;
  source.name = "init";
  source.url = config::secret{url};
  source.url_from = options.source.empty() ? "$" + options.url_env : "--source";
  const auto found = sources::postgres::propose_tables(source, options.tables);
  if (!found)
    return tl::unexpected(found.error());
  if (const auto why = nothing_to_take(*found, target->what); !why.empty())
    return fail(errc::source_misconfigured, "{}: no table can be taken{}", found->server, why);
  return write_configuration(options, *target, *found);
}

result<void> write_file(const std::filesystem::path& file, const std::string& text, bool force) {
  if (!force && std::filesystem::exists(file))
    return fail(errc::invalid_config, "{} is there already: --force overwrites it", file.string());
  errno = 0;
  std::ofstream out{file, std::ios::binary | std::ios::trunc};
  out << text << std::flush;
  if (!out)
    return fail(errc::invalid_config, "{} cannot be written: {}", file.string(),
                std::strerror(errno));
  return {};
}

} // namespace

result<config::target_config> parse_target(const std::string& text) {
  config::target_config out;
  const auto colon = text.find(':');
  const auto scheme = text.substr(0, colon);
  if (colon != std::string::npos)
    out.path = text.substr(colon + 1);
  if (scheme == "sqlite")
    out.what = flavor::sqlite;
  else if (scheme == "ndjson")
    out.what = flavor::ndjson;
  else if (text == "null")
    out.what = flavor::null;
  else
    return fail(errc::invalid_config, "--target: expected sqlite:PATH, ndjson:PATH or null");
  if (out.what != flavor::null && out.path.empty())
    return fail(errc::invalid_config, "--target: expected a path behind {}:", scheme);
  if (out.what == flavor::sqlite && out.path == "-")
    return fail(errc::invalid_config, "--target: a database cannot be written to standard output");
  return out;
}

std::string write_configuration(const init_options& options, const config::target_config& target,
                                const sources::postgres::proposal& found) {
  auto out = next_steps(options, "the database " + found.database) +
             head(options, target, slot_base(found.database));
  namer names;
  for (const auto& table : found.tables)
    out += section(table, target.what, names);
  return out;
}

result<std::string> write_configuration(const init_options& options,
                                        const config::target_config& target) {
  std::string wrong;
  std::vector<table_id> tables;
  for (const auto& name : options.tables) {
    const auto table = config::parse_table_name(name);
    if (table)
      tables.push_back(*table);
    else
      wrong += fmt::format("{}--table {}: without a database the schema must be said: schema.table",
                           wrong.empty() ? "" : "\n", name);
  }
  if (!wrong.empty())
    return fail(errc::invalid_config, "{}", wrong);
  auto out = next_steps(options, "a database it did not see") +
             comment(fmt::format("Neither --source nor {} was given, so nothing was looked up.",
                                 options.url_env)) +
             "\n" + head(options, target, "cdc");
  namer names;
  for (const auto& table : tables) {
    out += fmt::format("\n[sync.{}]\ntable = {}\n", names.key_of(table),
                       toml(config::write_table_name(table)));
    if (const auto into = names.into_of(table); !into.empty())
      out += fmt::format("into = {}\n", toml(into));
  }
  if (tables.empty())
    out += "\n[sync.all]\ntables = [\"public.*\"]\n";
  return out;
}

int run_init(const init_options& options) {
  const auto text = make_configuration(options);
  if (!text) {
    say(stderr, fmt::format("cdc-actors: {}\n", text.error().detail));
    return text.error().code == errc::invalid_config ? 2 : 1;
  }
  if (!options.output) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  if (const auto written = write_file(*options.output, *text, options.force); !written) {
    say(stderr, fmt::format("cdc-actors: {}\n", written.error().detail));
    return 1;
  }
  const auto file = options.output->string();
  say(stdout, fmt::format("{} is written. Next: export {}, then cdc-actors validate {}\n", file,
                          options.url_env, file));
  return 0;
}

} // namespace cdc::cli
