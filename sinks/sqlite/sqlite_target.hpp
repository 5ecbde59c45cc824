#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sinks/blocking_target.hpp"
#include "sinks/file_lock.hpp"
#include "sinks/sqlite/batch_writer.hpp"
#include "sinks/sqlite/database.hpp"
#include "sinks/sqlite/refetch_list.hpp"
#include "sinks/sqlite/schema.hpp"
#include "sinks/sqlite/state_tables.hpp"
#include "sinks/sqlite/table_writer.hpp"

namespace cdc::sinks::sqlite {

struct sqlite_options {
  std::string path;
  schema_options schema;
  database_options database;
};

/// A SQLite database as a target: rows, checkpoint, records and refetch list of a batch in one
/// transaction, which stays open while the source's goes on in the next batch.
class sqlite_target final : public blocking_target {
public:
  explicit sqlite_target(sqlite_options options);

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<std::vector<std::string>>
  prepare(const std::vector<target_table_ptr>& tables) override;
  [[nodiscard]] result<write_report> write(const batch& work) override;
  void interrupt() noexcept override { db_.interrupt(); }

private:
  [[nodiscard]] result<void> prepare_table(const target_table_ptr& table,
                                           std::vector<std::string>& notices);
  [[nodiscard]] result<void> check_name(const target_table& table) const;
  [[nodiscard]] result<void> note_rows(const target_table& table,
                                       std::vector<std::string>& notices);
  [[nodiscard]] result<void> close_gap(const target_table& table, const existing_table& have,
                                       std::vector<std::string>& notices);
  [[nodiscard]] result<void> alter(const target_table& table, const shape_gap& gap,
                                   std::vector<std::string>& notices);
  [[nodiscard]] result<table_writer*> writer_for(const target_table_ptr& table);
  [[nodiscard]] result<std::vector<table_writer*>> writers_for(const batch& work);

  [[nodiscard]] result<void> begin();
  [[nodiscard]] result<write_report> write_inside(const batch& work);
  [[nodiscard]] result<void> write_state(const batch& work);
  [[nodiscard]] result<void> finish(const batch& work, write_report& report);
  void roll_back() noexcept;

  sqlite_options options_;
  file_lock lock_;
  database db_; ///< Before everything that has statements of it.
  state_tables state_{db_};
  refetch_list listed_{state_};
  std::unordered_map<const target_table*, std::unique_ptr<table_writer>> writers_;
  std::map<std::string, std::string> names_; ///< Folded name → the name it was prepared as.
};

} // namespace cdc::sinks::sqlite
