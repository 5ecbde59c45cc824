#include "sources/mysql/setup.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "sources/mysql/gtid_set.hpp"

namespace cdc::sources::mysql {

namespace {

using settings = std::map<std::string, std::string, std::less<>>;

constexpr auto looked_at =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('binlog_format', 'binlog_row_image', "
    "'binlog_row_metadata', 'log_bin', 'gtid_mode', 'server_uuid', 'server_id', "
    "'gtid_domain_id', 'binlog_expire_logs_seconds', 'expire_logs_days', 'binlog_checksum', "
    "'log_bin_compress', 'binlog_transaction_compression')";

class survey {
public:
  explicit survey(inspection& into) : into_(into) {}

  void good(std::string text) {
    into_.findings.push_back({.severity = finding::level::good, .text = std::move(text)});
  }
  void warn(std::string text) {
    into_.findings.push_back({.severity = finding::level::warning, .text = std::move(text)});
  }
  void bad(errc code, std::string text) {
    into_.findings.push_back(
        {.severity = finding::level::bad, .code = code, .text = std::move(text)});
  }

private:
  inspection& into_;
};

result<settings> read_settings(connection& on) {
  const auto found = on.query(looked_at, "read the server's settings");
  if (!found)
    return tl::unexpected(found.error());
  settings out;
  for (std::size_t row = 0; row < found->size(); ++row)
    out.emplace(found->text(row, 0), found->text(row, 1));
  return out;
}

std::string of(const settings& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string{} : found->second;
}

stream_identity make_identity(const settings& all, const connection& on,
                              const config::source_config& source) {
  return {.source = "mysql",
          .server = on.version().is_mariadb
                        ? fmt::format("server_id {}, domain {}", of(all, "server_id"),
                                      of(all, "gtid_domain_id"))
                        : of(all, "server_uuid"),
          .stream = std::to_string(source.server_id),
          .database = on.database(),
          .publication = {}};
}

void judge_settings(const settings& all, const connection& on, survey& into) {
  into.good(fmt::format("{}: {} {}, {}", on.describe(),
                        on.version().is_mariadb ? "MariaDB" : "MySQL", on.version().text,
                        on.is_encrypted() ? "with TLS" : "without TLS"));
  const auto oldest = on.version().is_mariadb ? 100'500U : 80'000U;
  if (on.version().number < oldest)
    into.bad(errc::source_misconfigured,
             fmt::format("the server is {}: MySQL 8.0 and MariaDB 10.5 are the oldest that can be "
                         "followed",
                         on.version().text));
  if (of(all, "log_bin") != "ON") {
    into.bad(errc::source_misconfigured,
             "the server writes no binary log: set log_bin in my.cnf and restart it");
    return;
  }
  if (const auto format = of(all, "binlog_format"); !format.empty() && format != "ROW")
    into.bad(errc::source_misconfigured,
             fmt::format("binlog_format is {}: SET GLOBAL binlog_format = ROW, put it into my.cnf "
                         "and end the sessions that have another",
                         format));
  const auto metadata = of(all, "binlog_row_metadata");
  if (metadata != "FULL")
    into.warn(fmt::format("binlog_row_metadata is {}: rows that were written before a table's "
                          "change cannot always be read after it; SET GLOBAL binlog_row_metadata = "
                          "FULL, and put it into my.cnf",
                          metadata));
  into.good(fmt::format("binlog_row_image {}, binlog_row_metadata {}, binlog_checksum {}",
                        of(all, "binlog_row_image"), metadata, of(all, "binlog_checksum")));
  if (!on.version().is_mariadb)
    into.good("gtid_mode " + of(all, "gtid_mode"));
  const auto seconds = of(all, "binlog_expire_logs_seconds");
  const auto kept =
      seconds.empty() || seconds == "0" ? of(all, "expire_logs_days") + " days" : seconds + " s";
  if (kept == "0 days" || kept == " days")
    into.good("the log is kept until it is purged by hand");
  else
    into.good("the log is kept for " + kept);
}

result<void> judge_rights(connection& on, survey& into) {
  const auto grants = on.query("SHOW GRANTS", "read the user's rights");
  if (!grants)
    return tl::unexpected(grants.error());
  std::string all;
  for (std::size_t row = 0; row < grants->size(); ++row)
    all.append(grants->text(row, 0)).append("\n");
  const auto has = [&](std::string_view right) { return all.find(right) != std::string::npos; };
  if (has("ALL PRIVILEGES ON *.*"))
    return {};
  if (!has("REPLICATION SLAVE"))
    into.bad(errc::permission_denied,
             fmt::format("{} may not read the log: GRANT REPLICATION SLAVE ON *.* TO this user",
                         on.describe()));
  return {};
}

result<void> choose(connection& on, std::span<const config::sync_config> sections, inspection& out,
                    survey& into) {
  catalogue from{on};
  const auto all = from.tables();
  if (!all)
    return tl::unexpected(all.error());
  std::set<std::size_t> used;
  std::map<std::uint32_t, table_id> numbers;
  for (const auto& each : *all) {
    const auto section = section_of(sections, each.table);
    if (!section || (sections[*section].is_pattern && !each.is_streamed()))
      continue;
    used.insert(*section);
    const auto name = to_string(each.table);
    if (!each.is_streamed()) {
      into.bad(errc::source_misconfigured,
               fmt::format("sync.{}: {} is a {}: the log does not carry its rows",
                           sections[*section].key, name, each.kind));
      continue;
    }
    const auto [same, is_new] = numbers.emplace(oid_of(each.table), each.table);
    if (!is_new) {
      into.bad(errc::source_misconfigured,
               fmt::format("{} and {} cannot both be followed by one pipeline: give one of them a "
                           "file of its own",
                           to_string(same->second), name));
      continue;
    }
    const auto shape = from.describe(each.table);
    if (!shape && on.broken())
      return tl::unexpected(shape.error());
    if (!shape)
      into.bad(shape.error().code, shape.error().detail);
    else if (*shape)
      out.tables.push_back({*shape, *section, each.engine});
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (used.contains(i))
      continue;
    if (sections[i].is_pattern)
      into.warn(fmt::format("sync.{}: no table matches, or other sections take them all",
                            sections[i].key));
    else
      into.bad(errc::source_misconfigured,
               fmt::format("sync.{}: there is no table {}, or {} may not SELECT from it",
                           sections[i].key, to_string(sections[i].table), on.describe()));
  }
  if (out.tables.empty())
    into.bad(errc::source_misconfigured, "no section takes any table");
  return {};
}

result<void> inspect_on(connection& on, const config::source_config& source,
                        std::span<const config::sync_config> sections, inspection& out) {
  survey into{out};
  out.version = on.version();
  const auto all = read_settings(on);
  if (!all)
    return tl::unexpected(all.error());
  out.identity = make_identity(*all, on, source);
  judge_settings(*all, on, into);
  if (of(*all, "server_id") == std::to_string(source.server_id))
    into.bad(errc::invalid_config,
             fmt::format("source.server_id {} is the server's own: choose a number that no server "
                         "and no other replica has",
                         source.server_id));
  if (auto judged = judge_rights(on, into); !judged)
    return judged;
  if (of(*all, "log_bin") == "ON") {
    auto log = read_log(on);
    if (!log && on.broken())
      return tl::unexpected(log.error());
    if (!log)
      into.bad(log.error().code, log.error().detail);
    else
      out.log = *std::move(log);
  }
  return choose(on, sections, out, into);
}

std::optional<error> refusal(const inspection& from) {
  std::optional<error> out;
  for (const auto& each : from.findings) {
    if (each.severity != finding::level::bad)
      continue;
    if (!out)
      out = error{each.code, each.text};
    else
      out->detail += "\n" + each.text;
  }
  return out;
}

/// The GTIDs that transactions hold which are about to commit: `uuid:23#7:24#9`.
std::vector<transaction_id> parse_owned(std::string_view text) {
  std::vector<transaction_id> out;
  gtid_source source;
  while (!text.empty()) {
    const auto end = text.find_first_of(":,");
    auto piece = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    while (!piece.empty() && (piece.front() == ' ' || piece.front() == '\n'))
      piece.remove_prefix(1);
    piece = piece.substr(0, piece.find('#'));
    std::uint64_t number = 0;
    const auto [at, mistake] = std::from_chars(piece.data(), piece.data() + piece.size(), number);
    if (auto found = parse_gtid_source(piece))
      source = *std::move(found);
    else if (mistake == std::errc{} && at == piece.data() + piece.size())
      out.push_back(id_of(source, number));
    else
      source.tag = piece;
  }
  return out;
}

/// What a table can be loaded beside: nothing whose rows are in the log already and come to be seen
/// later, and GTIDs to tell what a read has seen.
result<void> check_first_start(connection& on) {
  // MySQL shows them only to who has XA_RECOVER_ADMIN.
  const auto prepared = on.query("XA RECOVER", "look for prepared XA transactions");
  if (!prepared && on.broken())
    return tl::unexpected(prepared.error());
  if (prepared && !prepared->empty())
    return fail(
        errc::source_unavailable,
        "{}: {} XA transactions are prepared and not committed: what they changed is in the "
        "log before the start and cannot be followed; XA COMMIT them or XA ROLLBACK them "
        "(XA RECOVER lists them)",
        on.describe(), prepared->size());
  if (on.version().is_mariadb)
    return {};
  const auto mode = on.query("SELECT @@GLOBAL.gtid_mode", "ask for gtid_mode");
  if (!mode)
    return tl::unexpected(mode.error());
  if (mode->text(0, 0) != "ON")
    return fail(
        errc::source_misconfigured,
        "gtid_mode is {}: without GTIDs nobody can tell what a read of the tables has seen, "
        "so they cannot be loaded; turn it on (OFF_PERMISSIVE, ON_PERMISSIVE, ON)",
        mode->text(0, 0));
  return {};
}

// What is in the log up to `start` and not visible yet holds its GTID until it is.
result<void> read_unproved(connection& on, prepared_source& out) {
  if (on.version().is_mariadb) {
    out.unproved = {out.start.token};
    return {};
  }
  const auto owned = on.query("SELECT @@GLOBAL.gtid_owned", "ask for what is committing");
  if (!owned)
    return tl::unexpected(owned.error());
  out.unproved = parse_owned(owned->text(0, 0));
  return {};
}

} // namespace

std::optional<std::size_t> section_of(std::span<const config::sync_config> sections,
                                      const table_id& table) {
  const auto is_servers =
      table.schema == "mysql" || table.schema == "sys" || table.schema == "performance_schema";
  for (const auto by_pattern : {false, true})
    for (std::size_t i = 0; i < sections.size(); ++i)
      if (sections[i].is_pattern == by_pattern && !(by_pattern && is_servers) &&
          config::selects(sections[i], table.schema, table.name))
        return i;
  return std::nullopt;
}

result<stream_identity> identify(const config::source_config& source,
                                 std::shared_ptr<stop_signal> stop) {
  auto on = connection::open(source, "setup", std::move(stop));
  return on ? identify(*on, source) : tl::unexpected(on.error());
}

result<stream_identity> identify(connection& on, const config::source_config& source) {
  return read_settings(on).map([&](const settings& all) { return make_identity(all, on, source); });
}

result<log_place> read_log_end(connection& on) {
  auto end = on.query(binlog_status_statement(on.version()), "ask for the log's end");
  if (!end && end.error().code == errc::permission_denied)
    end.error().detail += on.version().is_mariadb
                              ? "; GRANT BINLOG MONITOR ON *.* TO this user"
                              : "; GRANT REPLICATION CLIENT ON *.* TO this user";
  if (!end)
    return tl::unexpected(end.error());
  if (end->empty())
    return fail(errc::source_misconfigured, "{}: the server writes no binary log", on.describe());
  return log_place{std::string{end->text(0, 0)}, end->number<std::uint64_t>(0, 1)};
}

result<log_standing> read_log(connection& on) {
  auto end = read_log_end(on);
  if (!end)
    return tl::unexpected(end.error());
  const auto files = on.query("SHOW BINARY LOGS", "list the log's files");
  if (!files)
    return tl::unexpected(files.error());
  const auto gtids = on.query(on.version().is_mariadb ? "SELECT @@GLOBAL.gtid_binlog_pos"
                                                      : "SELECT @@GLOBAL.gtid_executed",
                              "ask for the log's GTIDs");
  if (!gtids)
    return tl::unexpected(gtids.error());
  log_standing out;
  out.end = *std::move(end);
  for (std::size_t row = 0; row < files->size(); ++row)
    out.files.emplace_back(files->text(row, 0));
  out.gtids = gtids->text(0, 0);
  std::erase(out.gtids, '\n');
  return out;
}

result<void> check_resume(position resume, const coordinates& at, const log_standing& log) {
  constexpr auto ways_on =
      "load the targets anew (run --fresh-start-and-load), or point the URL at a server that "
      "still has it";
  const auto place = at.place(resume);
  if (std::ranges::find(log.files, place.file) == log.files.end())
    return fail(errc::position_lost,
                "{} is needed from {} on, and the server has purged it (its oldest is {}): {}",
                place.file, to_string(place), log.files.empty() ? "none" : log.files.front(),
                ways_on);
  const auto end = at.token(log.end.file, log.end.offset);
  if (!end)
    return tl::unexpected(end.error());
  if (resume > *end)
    return fail(errc::position_lost,
                "the targets stand at {}, behind the end of the server's log at {}: it was reset, "
                "or this is another server: {}",
                to_string(place), to_string(log.end), ways_on);
  return {};
}

inspection inspect(const config::source_config& source,
                   std::span<const config::sync_config> sections,
                   std::shared_ptr<stop_signal> stop) {
  inspection out;
  survey into{out};
  auto on = connection::open(source, "inspect", std::move(stop));
  if (!on) {
    into.bad(on.error().code, on.error().detail);
    return out;
  }
  if (auto looked = inspect_on(*on, source, sections, out); !looked)
    into.bad(looked.error().code, looked.error().detail);
  return out;
}

result<prepared_source> prepare_source(const setup_request& request) {
  auto on = connection::open(request.source, "setup", request.stop);
  if (!on)
    return tl::unexpected(on.error());
  inspection found;
  if (auto looked = inspect_on(*on, request.source, request.sections, found); !looked)
    return tl::unexpected(looked.error());
  if (const auto refused = refusal(found))
    return tl::unexpected(*refused);
  prepared_source out;
  out.identity = *found.identity;
  out.version = found.version;
  out.tables = std::move(found.tables);
  for (const auto& each : found.findings)
    if (each.severity == finding::level::warning)
      out.notes.push_back(each.text);
  auto at = coordinates::starting_in(found.log->end.file);
  if (!at)
    return tl::unexpected(at.error());
  out.at = *std::move(at);
  const auto end = out.at.token(found.log->end.file, found.log->end.offset);
  if (!end)
    return tl::unexpected(end.error());
  out.start = *end;
  for (const auto& resume : request.resumes)
    if (resume)
      if (auto good = check_resume(*resume, out.at, *found.log); !good)
        return tl::unexpected(good.error());
  if (std::ranges::any_of(request.resumes, [](const auto& each) { return !each; }))
    if (auto good = check_first_start(*on); !good)
      return tl::unexpected(good.error());
  if (auto read = read_unproved(*on, out); !read)
    return tl::unexpected(read.error());
  return out;
}

} // namespace cdc::sources::mysql
