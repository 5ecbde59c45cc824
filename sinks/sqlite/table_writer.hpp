#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "messages/block.hpp"
#include "messages/target_table.hpp"
#include "sinks/sqlite/binding.hpp"
#include "sinks/sqlite/refetch_list.hpp"
#include "sinks/sqlite/schema.hpp"
#include "sinks/sqlite/statement.hpp"

namespace cdc::sinks::sqlite {

/// The statements that write rows of one shape to one table, bound straight from cells.
///
/// Operations give SQLite's code: SQLITE_DONE, or why not. After SQLITE_DONE, changed() is how many
/// rows it was. `before` and `after` are first cells of images of the shape. SQLITE_INTERNAL: a
/// cell that the operation needs is absent.
class table_writer {
public:
  /// Columns that the table lacks are left out.
  [[nodiscard]] static result<std::unique_ptr<table_writer>>
  make(database& db, target_table_ptr table, const existing_table& have,
       const schema_options& options, refetch_list::keys& listed);

  [[nodiscard]] int insert(const block& from, std::uint32_t after);
  [[nodiscard]] int upsert(const block& from, std::uint32_t after);
  [[nodiscard]] int remove(const block& from, std::uint32_t before);
  /// Updates the columns that are present in `after`.
  [[nodiscard]] int update(const block& from, std::uint32_t after);
  /// Gives the row of `before`'s key the present columns of `after`, its key included.
  [[nodiscard]] int move(const block& from, std::uint32_t before, std::uint32_t after);
  /// Deletes one of the rows that equal `before`.
  [[nodiscard]] int erase(const block& from, std::uint32_t before);
  [[nodiscard]] int truncate();

  [[nodiscard]] std::int64_t changed() const noexcept;
  /// True when the two images have one key to SQLite.
  [[nodiscard]] bool same_key(const block& from, std::uint32_t one, std::uint32_t other) const;
  void encode_key(const block& from, std::uint32_t image, std::string& out) const;

  [[nodiscard]] const target_table_ptr& table() const noexcept { return table_; }
  [[nodiscard]] refetch_list::keys& listed() noexcept { return listed_; }

private:
  /// A column that is written: where its cell is, and how it is bound. Its parameter is its index
  /// + 1.
  struct slot {
    std::uint16_t column; ///< Index into target_table::columns.
    std::uint16_t source; ///< Index into an image.
    binding how;
    bool is_key;
  };
  using mask = std::vector<bool>; ///< By slot: present.
  static constexpr std::uint32_t no_image = 0xffff'ffff;

  table_writer(database& db, target_table_ptr table, refetch_list::keys& listed);
  [[nodiscard]] result<void> choose_columns(const existing_table& have,
                                            const schema_options& options);
  [[nodiscard]] result<void> prepare_fixed();
  [[nodiscard]] std::string insert_sql() const;
  [[nodiscard]] std::string upsert_sql() const;
  [[nodiscard]] result<std::string> erase_sql(const existing_table& have) const;
  [[nodiscard]] std::string key_condition(std::size_t first_parameter) const;
  [[nodiscard]] std::size_t cell_parameters() const noexcept {
    return slots_.size() + constants_.size();
  }
  [[nodiscard]] std::string update_sql(bool is_move) const;
  /// The statement for present_, from the cache; null when SQLite refuses it.
  [[nodiscard]] sqlite3_stmt* update_for(bool is_move);

  void bind_constants(sqlite3_stmt* to) const;
  [[nodiscard]] int bind_row(sqlite3_stmt* to, const block& from, std::uint32_t image);
  [[nodiscard]] int bind_key(sqlite3_stmt* to, const block& from, std::uint32_t image,
                             std::size_t first_parameter);
  [[nodiscard]] int bind_at(sqlite3_stmt* to, std::size_t at, const slot& how, const block& from,
                            cell value);
  void make_room(const block& from, std::uint32_t image, std::uint32_t other = no_image);
  [[nodiscard]] int run(sqlite3_stmt* it) noexcept;
  [[nodiscard]] int rewrite(const block& from, std::uint32_t before, std::uint32_t after,
                            bool is_move);

  database& db_;
  target_table_ptr table_;
  refetch_list::keys& listed_;
  std::vector<slot> slots_;
  std::vector<std::uint16_t> constants_;   ///< Columns that are written and have no cell.
  std::vector<std::uint16_t> key_slots_;   ///< In key order.
  std::vector<std::uint16_t> key_sources_; ///< In key order, for encode_key().
  bool has_blobs_ = false;
  blob_space space_;
  statement insert_, upsert_, remove_, erase_, truncate_;
  std::unordered_map<mask, statement> updates_, moves_;
  mask present_; ///< Of the row at hand.
};

} // namespace cdc::sinks::sqlite
