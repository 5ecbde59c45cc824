#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

/// What the sink keeps in the database beside the rows, in tables of its own:
///
///   _cdc_checkpoint  one row: stream, epoch, where it resumes
///   _cdc_progress    records: name and value
///   _cdc_refetch     keys of rows to be read again: table and key (row_key.hpp)
///   _cdc_tables      the tables that held this stream's rows before
///
/// All of it changes inside the caller's transaction.
class state_tables {
public:
  explicit state_tables(database& db) noexcept : db_(db) {}

  /// Creates what is missing, refuses another stream's checkpoint, raises the epoch, and reads all.
  [[nodiscard]] result<sink_state> open(const stream_identity& stream);

  /// errc::fenced when the checkpoint is no longer where this life left it, or has another epoch.
  [[nodiscard]] result<void> check();
  /// Moves the checkpoint by compare-and-set; errc::fenced when it was not ours any more. The
  /// caller says committed() once its transaction is.
  [[nodiscard]] result<void> move_to(const checkpoint& next);
  void committed() noexcept { before_ = now_; }

  [[nodiscard]] result<void> put(const record& it);
  [[nodiscard]] result<void> add_listed(std::string_view table, std::string_view key);
  [[nodiscard]] result<void> remove_listed(std::string_view table, std::string_view key);
  [[nodiscard]] result<void> clear_listed(std::string_view table);

  [[nodiscard]] bool knows(const std::string& table) const { return tables_.contains(table); }
  [[nodiscard]] result<void> remember(const std::string& table);

  [[nodiscard]] const std::optional<checkpoint>& resume() const noexcept { return now_; }

private:
  [[nodiscard]] result<void> create();
  [[nodiscard]] result<void> claim(const stream_identity& stream);
  [[nodiscard]] result<void> read(sink_state& out);
  [[nodiscard]] result<void> prepare();

  database& db_;
  std::int64_t epoch_ = 0;
  std::optional<checkpoint> before_; ///< What the database holds as committed.
  std::optional<checkpoint> now_;    ///< What the open transaction has made of it.
  std::set<std::string> tables_;
  statement check_, move_, put_, drop_, list_, unlist_, clear_, remember_;
};

/// Reads the row of `_cdc_checkpoint`, if there is one, from any connection.
struct stored_checkpoint {
  stream_identity stream;
  std::uint64_t epoch = 0;
  std::optional<checkpoint> resume;
  std::int64_t written_at = 0; ///< Microseconds since 1970-01-01 UTC.
};
[[nodiscard]] result<std::optional<stored_checkpoint>> read_checkpoint_row(database& db);
[[nodiscard]] result<std::vector<std::pair<std::string, std::string>>> read_records(database& db);
[[nodiscard]] result<std::vector<listed_key>> read_listed(database& db);

} // namespace cdc::sinks::sqlite
