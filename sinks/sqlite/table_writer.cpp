#include "sinks/sqlite/table_writer.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "messages/row_key.hpp"

namespace cdc::sinks::sqlite {

namespace {

/// Every mask has its statement; a table whose masks are many begins anew rather than grow.
constexpr std::size_t masks_max = 128;

std::string parameter(std::size_t at) {
  return fmt::format("?{}", at);
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string out;
  for (const auto& part : parts) {
    if (!out.empty())
      out += between;
    out += part;
  }
  return out;
}

bool equal_numbers(std::string_view one, std::string_view other) noexcept {
  double a = 0;
  double b = 1;
  std::from_chars(one.data(), one.data() + one.size(), a);
  std::from_chars(other.data(), other.data() + other.size(), b);
  return a == b;
}

} // namespace

table_writer::table_writer(database& db, target_table_ptr table, refetch_list::keys& listed)
    : db_(db), table_(std::move(table)), listed_(listed) {}

result<std::unique_ptr<table_writer>> table_writer::make(database& db, target_table_ptr table,
                                                         const existing_table& have,
                                                         const schema_options& options,
                                                         refetch_list::keys& listed) {
  std::unique_ptr<table_writer> out(new table_writer(db, std::move(table), listed));
  const auto made =
      out->choose_columns(have, options).and_then([&] { return out->prepare_fixed(); });
  if (!made)
    return tl::unexpected(made.error());
  if (out->table_->key.empty()) {
    auto erase =
        out->erase_sql(have).and_then([&](const auto& sql) { return statement::prepare(db, sql); });
    if (!erase)
      return tl::unexpected(std::move(erase).error());
    out->erase_ = std::move(*erase);
  }
  return out;
}

// -- which columns, and the SQL
// ---------------------------------------------------------------------

result<void> table_writer::choose_columns(const existing_table& have,
                                          const schema_options& options) {
  for (std::uint16_t i = 0; i < table_->columns.size(); ++i) {
    const auto& column = table_->columns[i];
    if (have.find(column.name) == nullptr)
      continue;
    if (!column.source) {
      constants_.push_back(i);
      continue;
    }
    slots_.push_back(
        {i, *column.source, binding_of(column, options.numeric_as_number), column.is_key});
    has_blobs_ = has_blobs_ || slots_.back().how == binding::blob;
  }
  for (const auto key : table_->key) {
    const auto at =
        std::find_if(slots_.begin(), slots_.end(), [&](auto& it) { return it.column == key; });
    if (at == slots_.end())
      return fail(errc::target_misconfigured, "table {} lacks the key column {}",
                  sql_name(table_->name), sql_name(table_->columns[key].name));
    key_slots_.push_back(static_cast<std::uint16_t>(at - slots_.begin()));
    key_sources_.push_back(at->source);
  }
  present_.resize(slots_.size());
  return {};
}

result<void> table_writer::prepare_fixed() {
  const auto name = sql_name(table_->name);
  std::vector<std::pair<statement*, std::string>> all{{&insert_, insert_sql()},
                                                      {&truncate_, "DELETE FROM " + name}};
  if (!table_->key.empty()) {
    all.emplace_back(&upsert_, upsert_sql());
    all.emplace_back(&remove_, "DELETE FROM " + name + key_condition(1));
  }
  for (auto& [into, sql] : all) {
    auto made = statement::prepare(db_, sql);
    if (!made)
      return tl::unexpected(std::move(made).error());
    *into = std::move(*made);
  }
  bind_constants(insert_.get());
  if (upsert_.get() != nullptr)
    bind_constants(upsert_.get());
  return {};
}

std::string table_writer::insert_sql() const {
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& it : slots_)
    names.push_back(sql_name(table_->columns[it.column].name));
  for (const auto at : constants_)
    names.push_back(sql_name(table_->columns[at].name));
  for (std::size_t i = 1; i <= names.size(); ++i)
    values.push_back(parameter(i));
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", sql_name(table_->name), joined(names, ", "),
                     joined(values, ", "));
}

std::string table_writer::upsert_sql() const {
  std::vector<std::string> key;
  std::vector<std::string> sets;
  for (const auto at : key_slots_)
    key.push_back(sql_name(table_->columns[slots_[at].column].name));
  const auto set = [&](std::uint16_t column) {
    const auto name = sql_name(table_->columns[column].name);
    sets.push_back(name + " = excluded." + name);
  };
  for (const auto& it : slots_)
    // 0 and -0 are one key and two values.
    if (!it.is_key || it.how == binding::floating)
      set(it.column);
  for (const auto at : constants_)
    set(at);
  const auto then = sets.empty() ? "NOTHING" : "UPDATE SET " + joined(sets, ", ");
  return fmt::format("{} ON CONFLICT ({}) DO {}", insert_sql(), joined(key, ", "), then);
}

result<std::string> table_writer::erase_sql(const existing_table& have) const {
  std::string rowid;
  for (const char* alias : {"rowid", "_rowid_", "oid"})
    if (rowid.empty() && have.find(alias) == nullptr)
      rowid = alias;
  if (rowid.empty() || have.is_without_rowid)
    return fail(errc::target_misconfigured,
                "table {} has no row number to delete one of several equal rows by",
                sql_name(table_->name));
  std::vector<std::string> equal;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    equal.push_back(sql_name(table_->columns[slots_[i].column].name) + " IS " + parameter(i + 1));
  const auto name = sql_name(table_->name);
  return fmt::format("DELETE FROM {0} WHERE {1} = (SELECT {1} FROM {0} WHERE {2} LIMIT 1)", name,
                     rowid, joined(equal, " AND "));
}

std::string table_writer::key_condition(std::size_t first_parameter) const {
  std::vector<std::string> parts;
  for (const auto at : key_slots_)
    parts.push_back(sql_name(table_->columns[slots_[at].column].name) + " = " +
                    parameter(first_parameter++));
  return " WHERE " + joined(parts, " AND ");
}

std::string table_writer::update_sql(bool is_move) const {
  std::vector<std::string> sets;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (present_[i] && (is_move || !slots_[i].is_key))
      sets.push_back(sql_name(table_->columns[slots_[i].column].name) + " = " + parameter(i + 1));
  if (sets.empty()) {
    // Nothing to set, yet the answer is asked for: found or missing.
    const auto name = sql_name(table_->columns[slots_[key_slots_[0]].column].name);
    sets.push_back(name + " = " + name);
  }
  return "UPDATE " + sql_name(table_->name) + " SET " + joined(sets, ", ") +
         key_condition(cell_parameters() + 1);
}

sqlite3_stmt* table_writer::update_for(bool is_move) {
  auto& cache = is_move ? moves_ : updates_;
  if (const auto found = cache.find(present_); found != cache.end())
    return found->second.get();
  if (cache.size() >= masks_max)
    cache.clear();
  auto made = statement::prepare(db_, update_sql(is_move));
  if (!made)
    return nullptr;
  return cache.emplace(present_, std::move(*made)).first->second.get();
}

// -- cells to parameters
// ----------------------------------------------------------------------------

void table_writer::bind_constants(sqlite3_stmt* to) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const auto& column = table_->columns[constants_[i]];
    blob_space none; // No constant is of bytes.
    bind_value(to, static_cast<int>(slots_.size() + i + 1), binding_of(column, false),
               column.constant, none);
  }
}

void table_writer::make_room(const block& from, std::uint32_t image, std::uint32_t other) {
  if (!has_blobs_)
    return;
  std::size_t size = 0;
  for (const auto& it : slots_) {
    if (it.how != binding::blob)
      continue;
    for (const auto first : {image, other})
      if (first != no_image && from.cells[first + it.source].has_value())
        size += from.cells[first + it.source].size;
  }
  space_.clear(size);
}

inline int table_writer::bind_at(sqlite3_stmt* to, std::size_t at, const slot& how,
                                 const block& from, cell value) {
  const auto parameter_at = static_cast<int>(at);
  if (value.has_value()) [[likely]]
    return bind_value(to, parameter_at, how.how, from.text(value), space_);
  return value.is_null() ? sqlite3_bind_null(to, parameter_at) : SQLITE_INTERNAL;
}

int table_writer::bind_row(sqlite3_stmt* to, const block& from, std::uint32_t image) {
  make_room(from, image);
  const cell* cells = from.cells.data() + image;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (const int code = bind_at(to, i + 1, slots_[i], from, cells[slots_[i].source]);
        code != SQLITE_OK)
      return code;
  return SQLITE_OK;
}

int table_writer::bind_key(sqlite3_stmt* to, const block& from, std::uint32_t image,
                           std::size_t first_parameter) {
  const cell* cells = from.cells.data() + image;
  for (const auto at : key_slots_)
    if (const int code = bind_at(to, first_parameter++, slots_[at], from, cells[slots_[at].source]);
        code != SQLITE_OK)
      return code;
  return SQLITE_OK;
}

int table_writer::run(sqlite3_stmt* it) noexcept {
  const int code = sqlite3_step(it);
  if (code == SQLITE_DONE) [[likely]] {
    sqlite3_reset(it);
    return SQLITE_DONE;
  }
  return sqlite3_reset(it);
}

// -- operations
// -------------------------------------------------------------------------------------

int table_writer::insert(const block& from, std::uint32_t after) {
  const int code = bind_row(insert_.get(), from, after);
  return code == SQLITE_OK ? run(insert_.get()) : code;
}

int table_writer::upsert(const block& from, std::uint32_t after) {
  const int code = bind_row(upsert_.get(), from, after);
  return code == SQLITE_OK ? run(upsert_.get()) : code;
}

int table_writer::remove(const block& from, std::uint32_t before) {
  make_room(from, before);
  const int code = bind_key(remove_.get(), from, before, 1);
  return code == SQLITE_OK ? run(remove_.get()) : code;
}

int table_writer::erase(const block& from, std::uint32_t before) {
  const int code = bind_row(erase_.get(), from, before);
  return code == SQLITE_OK ? run(erase_.get()) : code;
}

int table_writer::truncate() {
  return run(truncate_.get());
}

int table_writer::update(const block& from, std::uint32_t after) {
  return rewrite(from, after, after, false);
}

int table_writer::move(const block& from, std::uint32_t before, std::uint32_t after) {
  return rewrite(from, before, after, true);
}

int table_writer::rewrite(const block& from, std::uint32_t before, std::uint32_t after,
                          bool is_move) {
  const cell* cells = from.cells.data() + after;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    present_[i] = !cells[slots_[i].source].is_absent();
  auto* to = update_for(is_move);
  if (to == nullptr)
    return sqlite3_errcode(db_.handle());
  make_room(from, after, before);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!present_[i] || (!is_move && slots_[i].is_key))
      continue;
    if (const int code = bind_at(to, i + 1, slots_[i], from, cells[slots_[i].source]);
        code != SQLITE_OK)
      return code;
  }
  const int code = bind_key(to, from, before, cell_parameters() + 1);
  return code == SQLITE_OK ? run(to) : code;
}

std::int64_t table_writer::changed() const noexcept {
  return sqlite3_changes64(db_.handle());
}

bool table_writer::same_key(const block& from, std::uint32_t one, std::uint32_t other) const {
  for (const auto at : key_slots_) {
    const auto a = from.cells[one + slots_[at].source];
    const auto b = from.cells[other + slots_[at].source];
    if (!a.has_value() || !b.has_value())
      return false;
    if (from.text(a) == from.text(b))
      continue;
    if (slots_[at].how != binding::floating || !equal_numbers(from.text(a), from.text(b)))
      return false;
  }
  return true;
}

void table_writer::encode_key(const block& from, std::uint32_t image, std::string& out) const {
  const auto cells = std::span{from.cells}.subspan(image, table_->source->columns.size());
  cdc::encode_key(from, cells, key_sources_, out);
}

} // namespace cdc::sinks::sqlite
