#pragma once

#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "sinks/sqlite/database.hpp"
#include "sinks/sqlite/refetch_list.hpp"
#include "sinks/sqlite/table_writer.hpp"

namespace cdc::sinks::sqlite {

/// Carries out the operations of one batch, in order, in the transaction that is open. The rules of
/// found, missing and the refetch list are here and nowhere else.
class batch_writer {
public:
  /// `writers`: one per table of the batch.
  batch_writer(database& db, refetch_list& listed, const std::vector<table_writer*>& writers,
               const batch& work, write_report& report) noexcept
      : db_(db), listed_(listed), writers_(writers), work_(work), report_(report) {}

  /// Fails at the first operation that fails, except for rows that SQLite can never hold: those are
  /// in the report, and the batch goes on.
  [[nodiscard]] result<void> write();

private:
  [[nodiscard]] int write(const change& it, table_writer& into);
  [[nodiscard]] int move(const change& it, table_writer& into);
  [[nodiscard]] int partial(const change& it, table_writer& into);
  [[nodiscard]] int erase(const change& it, table_writer& into);
  [[nodiscard]] int answer_row(const change& it, table_writer& into, bool found);
  [[nodiscard]] int unlist(const change& it, table_writer& into, std::uint32_t image);
  [[nodiscard]] int stored(const result<void>& done);
  [[nodiscard]] const block& from(const change& it) const noexcept {
    return *work_.blocks[it.block];
  }
  [[nodiscard]] result<void> refuse(const change& it, const table_writer& into, int code);

  database& db_;
  refetch_list& listed_;
  const std::vector<table_writer*>& writers_;
  const batch& work_;
  write_report& report_;
  std::string key_;
  std::optional<error> list_error_;
};

} // namespace cdc::sinks::sqlite
