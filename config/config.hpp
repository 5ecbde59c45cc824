#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/secret.hpp"
#include "config/server_url.hpp"
#include "messages/error.hpp"
#include "messages/relation.hpp"

namespace cdc::config {

/// How a connection is protected; libpq's meaning of each.
enum class ssl_mode : std::uint8_t { disable, prefer, require, verify_ca, verify_full };

/// `verify-full`: as libpq spells it.
[[nodiscard]] std::string_view spelling(ssl_mode mode) noexcept;

/// Where a thing stands: `file:line:column`. Line 0: nowhere, a default.
struct place {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const place&) const = default;
};

[[nodiscard]] std::string to_string(const place& at);

/// [source]
struct source_config {
  enum class flavor : std::uint8_t { postgres, mysql };

  flavor what = flavor::postgres;
  std::string name;     ///< Label in metrics, logs and the API; default: the file's stem.
  secret url;           ///< From url_env or url. PostgreSQL: says sslmode itself, if only `prefer`.
  std::string url_from; ///< `$VARIABLE` or `source.url`: how messages name it.
  std::optional<secret> admin_url; ///< For creating the publication and the slot only. As `url`.
  std::optional<ssl_mode> sslmode; ///< The key's: wins over what either URL says.
  ssl_mode sslmode_in_force =
      ssl_mode::prefer; ///< Of `url`: the key's, else the URL's, else prefer.
  /// The keys': win over what either URL says. MySQL: those of the URL where there is no key.
  std::string sslrootcert, sslcert, sslkey;
  std::uint32_t reconnect_max = 10;
  std::chrono::milliseconds reconnect_backoff{1000};
  std::uint32_t load_workers = 1;
  std::uint32_t load_chunk_rows = 50'000;
  /// Further behind than this many bytes of log, the source is read from a copy of the slot. 0:
  /// never.
  std::uint64_t catch_up_bytes = std::uint64_t{64} << 20;
  std::string slot_name = "pg2osync";
  std::string publication = "pg2osync_pub";
  std::uint32_t server_id = 424'242; ///< MySQL: as which replica the log is read.
  std::string server_public_key; ///< MySQL: file of the server's RSA key, for a login without TLS.
  bool allow_table_lock = false; ///< MySQL: a table without a key may be locked for a moment.
  place at;
};

/// `mysql`: as it is written in the file.
[[nodiscard]] std::string_view to_string(source_config::flavor what) noexcept;

/// [target], or one [[sink]].
struct target_config {
  enum class flavor : std::uint8_t { sqlite, ndjson, null, opensearch, elasticsearch };

  std::string name = "target";
  flavor what = flavor::sqlite;
  std::string path;               ///< sqlite, ndjson; `-` is standard output (ndjson).
  bool numeric_as_number = false; ///< sqlite: numeric = "number"
  bool add_columns = false;       ///< sqlite: schema_changes = "add"
  std::uint64_t rotate_bytes = 0; ///< ndjson: 0 = one file for ever.
  /// Document targets: each server of the one cluster, tried in turn.
  std::vector<server_url> servers;
  std::string username;
  secret password;
  secret api_key;
  bool tls_verify = true;
  std::string sslrootcert; ///< Empty: the system's.
  bool require_alias = false;
  bool gzip = false; ///< Request bodies.
  place at;
};

/// As it is written in the file.
[[nodiscard]] std::string_view to_string(target_config::flavor what) noexcept;
/// Whether rows become documents of an index.
[[nodiscard]] bool is_document_target(const target_config& target) noexcept;
/// The file or the first server, for messages; empty: neither.
[[nodiscard]] std::string location_of(const target_config& target);

/// [engine]
struct engine_config {
  std::uint32_t batch_size = 500;
  std::uint64_t batch_max_bytes = 10'485'760;
  std::uint32_t write_concurrency = 1;
  std::optional<std::uint32_t> load_max_rows_per_sec;
  std::uint32_t retry_max = 10;
  std::chrono::milliseconds retry_backoff{500};
  std::optional<std::chrono::milliseconds> retry_max_elapsed;
  std::chrono::milliseconds checkpoint_interval{500};
  bool quarantines = false; ///< on_permanent_rejection = "quarantine"
  std::uint32_t max_rejects = 100;
  std::optional<std::chrono::seconds> halted_retry;
};

/// [metrics], [api]
struct listener_config {
  bool enabled = true;
  std::string host = "127.0.0.1";
  std::uint16_t port = 9100;
  std::optional<secret> token{};

  bool operator==(const listener_config&) const = default;
};

/// [log]
struct log_config {
  enum class form : std::uint8_t { text, json };
  form format = form::text;
  std::string level = "info";               ///< trace, debug, info, warn, error, off.
  std::map<std::string, std::string> areas; ///< Level by area; see log_areas().

  bool operator==(const log_config&) const = default;
};

/// The areas that log lines belong to.
[[nodiscard]] std::span<const std::string_view> log_areas() noexcept;

/// A value every row of a table gets.
struct constant {
  std::string text;       ///< Canonical text of `what`; {schema} and {table} still to be filled in.
  kind what = kind::text; ///< text, integer, floating or boolean.

  bool operator==(const constant&) const = default;
};

/// [sync.<key>]: one table, or many by pattern.
struct sync_config {
  std::string key;
  table_id table; ///< Of `table = "s.t"`. Empty when is_pattern.
  /// As written: the one exact name, or patterns with `*` and `!`.
  std::vector<std::string> tables;
  bool is_pattern = false;
  std::string into; ///< Empty: the source table's name.
  std::vector<std::string> columns;
  std::vector<std::string> exclude_columns;
  std::map<std::string, std::string> fields; ///< Source column → target column.
  std::map<std::string, constant> constants; ///< By target column.
  std::vector<std::string> primary_key;      ///< Empty: the catalogue's.
  bool append_only = false;
  std::string mapping_file; ///< Document targets: the body an index is created with.
  std::string pipeline;     ///< Document targets: ingest pipeline.
  place at;
};

/// One file: one pipeline.
struct pipeline_config {
  std::string file;
  source_config source;
  std::vector<target_config> targets;
  engine_config engine;
  listener_config metrics;
  listener_config api{.enabled = false, .port = 9101};
  log_config log;
  place metrics_at, api_at, log_at; ///< Line 0: the file says nothing of it.
  std::vector<sync_config> syncs;
  /// Accepted, but worth saying: an inline secret, a key without effect here.
  std::vector<std::string> notes;
};

/// One option the reader knows.
struct known_option {
  std::string section; ///< `source`, `sink`, `sync`, `log.areas` …
  std::string key;
  bool is_supported = true; ///< False: refused as not supported yet.

  auto operator<=>(const known_option&) const = default;
};
/// Every option, sorted. The document is checked against it.
[[nodiscard]] std::vector<known_option> known_options();

/// Reads one file. Every mistake at once, one per line, each `file:line:column: section.key: what`.
/// The environment is asked through `lookup` so that tests need none.
using environment = std::optional<std::string> (*)(const char* name);
[[nodiscard]] result<pipeline_config> parse(std::string_view text, std::string_view file,
                                            environment lookup);
[[nodiscard]] result<pipeline_config> read(const std::filesystem::path& file);

/// Several files as one process: every mistake of every file, and the rules across them (unique
/// source names, slots on one server, target paths; equal [metrics] and [log] where they are said,
/// and then they hold for every file).
[[nodiscard]] result<std::vector<pipeline_config>>
read_all(const std::vector<std::filesystem::path>& files);
/// The *.toml files directly inside `folder`, in name order, without dot-files.
[[nodiscard]] result<std::vector<std::filesystem::path>>
files_in(const std::filesystem::path& folder);

/// True when the table `schema.name` is chosen by the section: exact, or by the last matching
/// pattern. No pattern chooses a table of the server's own schemas.
[[nodiscard]] bool selects(const sync_config& section, std::string_view schema,
                           std::string_view name);

} // namespace cdc::config
