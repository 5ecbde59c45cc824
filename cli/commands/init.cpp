#include "cli/commands/init.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "actors/figures.hpp"
#include "cli/commands/init_names.hpp"
#include "cli/terminal.hpp"
#include "config/fold.hpp"
#include "config/mysql_url.hpp"
#include "config/table_pattern.hpp"
#include "sources/mysql/proposal.hpp"
#include "sources/postgres/proposal.hpp"

namespace cdc::cli {

namespace {

using flavor = config::target_config::flavor;
using origin = config::source_config::flavor;
using sources::proposal;
using sources::proposed_table;

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

std::string of_source(const init_options& options, origin what, const std::string& database) {
  const auto variable = toml(options.url_env);
  if (what == origin::mysql)
    return fmt::format("[source]\nflavor = \"mysql\"\nurl_env = {}\n"
                       "server_id = {} # no server and no other replica may have it\n",
                       variable, server_id_for(database, options.target));
  const auto base = slot_base(database);
  return fmt::format("[source]\nurl_env = {}\nslot_name = {}\npublication = {}\n", variable,
                     toml(base), toml(base + "_pub"));
}

std::string of_target(const config::target_config& target) {
  auto out = fmt::format("[target]\nflavor = \"{}\"\n", config::to_string(target.what));
  if (!target.path.empty())
    out += fmt::format("path = {}\n", toml(target.path));
  if (config::is_document_target(target))
    out += fmt::format("url = {}\n# username = \"…\"\n# password_env = \"CDC_SEARCH_PASSWORD\"\n",
                       toml(config::to_string(target.servers.front())));
  return out;
}

std::string head(const init_options& options, origin what, const config::target_config& target,
                 const std::string& database) {
  return of_source(options, what, database) + "\n" + of_target(target) +
         "\n[metrics]\nbind = \"127.0.0.1:9100\"\n";
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

std::string refusal_of(const proposed_table& table, flavor target) {
  return table.refusal.empty() && target == flavor::sqlite ? clashing_columns(*table.shape)
                                                           : table.refusal;
}

/// Every reason, when there is not one table that a section could take.
std::string nothing_to_take(const proposal& found, flavor target) {
  std::string out;
  for (const auto& table : found.tables) {
    const auto why = refusal_of(table, target);
    if (why.empty())
      return {};
    out += "\n" + why;
  }
  return found.tables.empty() ? ": there is none that this user may see" : ":" + out;
}

// Documents that have no key cannot be found again.
bool is_for_inserts(const proposed_table& table, const config::target_config& target) {
  return table.append_only || (config::is_document_target(target) && table.shape->key.empty());
}

std::string remark_on(const proposed_table& table, const config::target_config& target) {
  if (table.append_only)
    return comment("Without a key only inserts and truncates can be followed. To follow updates "
                   "and deletes too,\ngive the table a primary key or REPLICA IDENTITY FULL, and "
                   "take append_only away.");
  if (is_for_inserts(table, target))
    return comment("Without a key only inserts and truncates can be followed: an update or a "
                   "delete halts.\nGive the table a primary key, and take append_only away.");
  return table.remark.empty() ? std::string{} : comment(table.remark);
}

std::string section_head(const table_id& table, init_names& names) {
  auto out = fmt::format("[sync.{}]\ntable = {}\n", names.key_of(table),
                         toml(config::write_table_name(table)));
  if (const auto into = names.into_of(table); !into.empty())
    out += fmt::format("into = {}\n", toml(into));
  return out;
}

std::string section(const proposed_table& table, const config::target_config& target,
                    init_names& names) {
  if (const auto refusal = refusal_of(table, target.what); !refusal.empty())
    return "\n" + comment("Left out: " + refusal);
  return "\n" + remark_on(table, target) + section_head(table.shape->table, names) +
         (is_for_inserts(table, target) ? "append_only = true\n" : "");
}

std::string next_steps(const init_options& options, origin what, const std::string& of) {
  const auto file = options.output ? options.output->string() : "cdc.toml";
  return comment(fmt::format("Written by cdc-actors init for {}. Next:\n"
                             "  export {}={}://…\n"
                             "  cdc-actors validate {}\n"
                             "  cdc-actors run {}",
                             of, options.url_env, what == origin::mysql ? "mysql" : "postgresql",
                             file, file)) +
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

/// [source] of a configuration that says nothing but the URL, which `called` names.
result<config::source_config> source_at(const std::string& url, const std::string& called) {
  const auto is_mysql = config::is_mysql_url(url);
  if (!is_mysql && !url.starts_with("postgres"))
    return fail(errc::invalid_config,
                "init reads PostgreSQL, MySQL and MariaDB: expected postgresql://… or mysql://… "
                "({} has another)",
                called);
  const auto text =
      fmt::format("[source]\nname = \"init\"\nflavor = \"{}\"\nurl = {}\n"
                  "[target]\nflavor = \"null\"\n[sync.all]\ntables = [\"*.*\"]\n",
                  config::to_string(is_mysql ? origin::mysql : origin::postgres), toml(url));
  auto read = config::parse(text, called, [](const char* name) {
    const auto* value = std::getenv(name);
    return value ? std::optional<std::string>{value} : std::nullopt;
  });
  if (!read) {
    // Where it stands in a file that nobody has says nothing.
    const auto& wrong = read.error().detail;
    const auto at = wrong.find("source.url: ");
    return fail(errc::invalid_config, "{}: {}", called,
                at == std::string::npos ? wrong : wrong.substr(at + 12));
  }
  read->source.url_from = called;
  return read->source;
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
  const auto called = options.source.empty() ? "$" + options.url_env : "--source";
  const auto source = source_at(url, called);
  if (!source)
    return tl::unexpected(source.error());
  const auto is_mysql = source->what == origin::mysql;
  const auto found = is_mysql ? sources::mysql::propose_tables(*source, options.tables)
                              : sources::postgres::propose_tables(*source, options.tables);
  if (!found)
    return tl::unexpected(found.error());
  if (const auto why = nothing_to_take(*found, target->what); !why.empty())
    return fail(errc::source_misconfigured, "{}: no table can be taken{}", found->server, why);
  return write_configuration(options, source->what, *target, *found);
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
  const auto rest = colon == std::string::npos ? std::string{} : text.substr(colon + 1);
  const auto known = std::array{flavor::sqlite, flavor::ndjson, flavor::null, flavor::opensearch,
                                flavor::elasticsearch};
  const auto found =
      std::ranges::find(known, scheme, [](flavor each) { return config::to_string(each); });
  if (found == known.end() || (*found == flavor::null && colon != std::string::npos))
    return fail(errc::invalid_config,
                "--target: expected sqlite:PATH, ndjson:PATH, opensearch:URL, "
                "elasticsearch:URL or null");
  out.what = *found;
  if (config::is_document_target(out)) {
    const auto server = config::parse_server_url(rest);
    if (!server)
      return fail(errc::invalid_config, "--target: {}", server.error().detail);
    out.servers.push_back(*server);
    return out;
  }
  out.path = rest;
  if (out.what != flavor::null && out.path.empty())
    return fail(errc::invalid_config, "--target: expected a path behind {}:", scheme);
  if (out.what == flavor::sqlite && out.path == "-")
    return fail(errc::invalid_config, "--target: a database cannot be written to standard output");
  return out;
}

std::string write_configuration(const init_options& options, config::source_config::flavor what,
                                const config::target_config& target, const proposal& found) {
  const auto of = found.database.empty() ? "the databases of " + found.server
                                         : "the database " + found.database;
  auto out = next_steps(options, what, of) + head(options, what, target, found.database);
  init_names names{target};
  for (const auto& table : found.tables)
    out += section(table, target, names);
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
  auto out = next_steps(options, origin::postgres, "a database it did not see") +
             comment(fmt::format("Neither --source nor {} was given, so nothing was looked up.",
                                 options.url_env)) +
             "\n" + head(options, origin::postgres, target, {});
  init_names names{target};
  for (const auto& table : tables)
    out += "\n" + section_head(table, names);
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
