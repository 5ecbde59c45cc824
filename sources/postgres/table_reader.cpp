#include "sources/postgres/table_reader.hpp"

#include <map>
#include <optional>
#include <utility>

#include "messages/row_key.hpp"
#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/copy_text.hpp"
#include "sources/postgres/lsn.hpp"
#include "sources/postgres/plan.hpp"
#include "sources/postgres/slots.hpp"

namespace cdc::sources::postgres {

namespace {

constexpr auto begin_snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;";
// L is read by a statement of its own, after the one that took the snapshot.
constexpr auto read_view = "SELECT pg_catalog.pg_current_snapshot();"
                           "SELECT pg_catalog.pg_current_wal_insert_lsn()";

// A range's rows page by page, found by a bitmap of the key's index, cost the server an eighth more
// than a scan of the whole table; row by row through the index they cost a fifth more (measured,
// table in memory). Prefetching would cost what the bitmap gains, and the system reads ahead
// anyway. The memory keeps the bitmap of a range exact.
constexpr auto read_by_pages = "SET LOCAL enable_indexscan = off;"
                               "SET LOCAL effective_io_concurrency = 0;"
                               "SET LOCAL work_mem = '32MB';";

// No TRUNCATE may come between a keyless table's snapshot and its rows, so the lock comes first.
std::string before_snapshot(const relation& table, const stored_table& stored, range_scheme scheme,
                            bool is_part) {
  if (scheme == range_scheme::keyless)
    return std::string{"LOCK TABLE "} + (stored.is_partitioned ? "" : "ONLY ") +
           quote_table(table.table) + " IN ACCESS SHARE MODE;";
  return is_part ? read_by_pages : "";
}

class reader final : public table_reader {
public:
  reader(config::source_config source, reader_options options)
      : source_(std::move(source)), options_(std::move(options)),
        stop_(std::make_shared<stop_signal>()), pool_(options_.blocks_kept),
        rows_(pool_, options_.limits) {
    // nop
  }

  result<load_plan> plan(const relation& table, std::uint32_t chunk_rows) override;
  result<view> open(const relation_ptr& table, const load_plan& plan, std::uint32_t range) override;
  result<block_ptr> next() override;
  result<void> close() override;
  result<found_row> read_key(const relation_ptr& table, std::string_view key) override;
  result<snapshot> look() override;
  result<log_pressure> pressure() override;
  result<void> nudge() override;
  result<relation_ptr> describe(std::uint32_t relation_oid) override;
  void cancel() noexcept override { stop_->raise(); }

private:
  struct known_table {
    std::uint32_t generation = 0;
    stored_table stored;
  };

  /// The connection, idle: it connects where there is none.
  [[nodiscard]] result<connection*> ready();
  [[nodiscard]] result<const stored_table*> stored(const relation& table);
  [[nodiscard]] result<view> begin_view(std::string_view first);
  [[nodiscard]] result<void> end_view();
  [[nodiscard]] result<block_ptr> end_of_range();

  /// Hands an error on; the connection is in a state that is not worth mending.
  template <class T>
  [[nodiscard]] auto give_up(const result<T>& failed) {
    reset();
    return tl::unexpected(failed.error());
  }
  void reset() {
    on_.reset();
    table_.reset();
    // Rows of a range that failed are not part of the next one.
    if (!rows_.empty())
      (void)rows_.take();
  }

  config::source_config source_;
  reader_options options_;
  std::shared_ptr<stop_signal> stop_;
  block_pool pool_;
  block_builder rows_;

  std::optional<connection> on_;
  std::map<std::uint32_t, known_table> known_;

  relation_ptr table_; ///< Of the open range.
  std::string copy_;   ///< Its statement, until it has begun.
  bool at_end_ = false;
};

// -- ranges ---------------------------------------------------------------------------------------

result<load_plan> reader::plan(const relation& table, std::uint32_t chunk_rows) {
  known_.erase(table.oid); // Its size is asked anew.
  const auto facts = stored(table);
  if (!facts)
    return tl::unexpected(facts.error());
  auto made = make_plan(*on_, table, **facts, chunk_rows);
  if (!made)
    return give_up(made);
  return made;
}

result<view> reader::open(const relation_ptr& table, const load_plan& plan, std::uint32_t range) {
  const auto facts = stored(*table);
  if (!facts)
    return tl::unexpected(facts.error());
  if (range >= plan.ranges.size())
    return fail(errc::invariant_broken, "{} has no range {}", to_string(table->table), range);
  const auto where = where_clause(*table, **facts, plan.by_page, plan.ranges[range]);
  auto seen = begin_view(before_snapshot(*table, **facts, plan.scheme, !where.empty()));
  if (!seen)
    return give_up(seen);
  copy_ =
      "COPY (SELECT " + column_list(*table) + from_clause(*table, **facts) + where + ") TO STDOUT";
  table_ = table;
  at_end_ = false;
  return seen;
}

result<block_ptr> reader::next() {
  if (!table_)
    return fail(errc::invariant_broken, "no range is open");
  if (at_end_)
    return block_ptr{};
  if (!on_->copying()) {
    if (auto begun = on_->begin_copy(copy_, "copy " + to_string(table_->table)); !begun)
      return give_up(begun);
  }
  for (std::string_view line;;) {
    const auto more = on_->copy_row(line);
    if (!more)
      return give_up(more);
    if (!*more)
      return end_of_range();
    if (auto added = append_copy_row(rows_, table_, line); !added)
      return give_up(added);
    if (rows_.full())
      return rows_.take();
  }
}

result<block_ptr> reader::end_of_range() {
  at_end_ = true;
  return rows_.empty() ? block_ptr{} : rows_.take();
}

result<void> reader::close() {
  if (!table_)
    return {};
  // Rows that nobody wants are left where they are: the server ends what it cannot send.
  if (on_->copying()) {
    reset();
    return {};
  }
  if (!rows_.empty())
    (void)rows_.take();
  table_.reset();
  return end_view();
}

// -- single rows and looks ------------------------------------------------------------------------

result<table_reader::found_row> reader::read_key(const relation_ptr& table, std::string_view key) {
  const auto values = decode_key(key);
  if (!values)
    return tl::unexpected(values.error());
  if (values->empty() || values->size() != table->key.size())
    return fail(errc::invariant_broken, "a key of {} values for {}, which has {}", values->size(),
                to_string(table->table), table->key.size());
  const auto facts = stored(*table);
  if (!facts)
    return tl::unexpected(facts.error());
  auto seen = begin_view({});
  if (!seen)
    return give_up(seen);
  const std::vector<std::string> parameters(values->begin(), values->end());
  const auto found = on_->query("SELECT " + column_list(*table) + from_clause(*table, **facts) +
                                    where_key(*table, **facts),
                                parameters, "read a row of " + to_string(table->table));
  if (!found)
    return give_up(found);
  if (auto ended = end_view(); !ended)
    return tl::unexpected(ended.error());
  found_row out{.from = *std::move(seen), .row = nullptr};
  if (found->empty())
    return out;
  rows_.row(operation::row, table);
  for (int column = 0; column < found->columns(); ++column) {
    if (found->is_null(0, column))
      rows_.null();
    else
      rows_.value(found->text(0, column));
  }
  out.row = rows_.take();
  return out;
}

result<snapshot> reader::look() {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  auto seen = look_past_own_transaction(**on);
  if (!seen)
    return give_up(seen);
  return seen;
}

result<log_pressure> reader::pressure() {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  const auto found = find_slot(**on, options_.slot);
  if (!found)
    return give_up(found);
  if (!*found)
    return fail(errc::position_lost,
                "{}: slot {} does not exist any more: run --fresh-slot-and-load", (*on)->describe(),
                options_.slot);
  return (*found)->pressure;
}

// A transactional message commits, and is flushed before the call returns; any other waits for the
// WAL writer, up to wal_writer_delay.
result<void> reader::nudge() {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  const auto sent =
      (*on)->run("SELECT pg_catalog.pg_logical_emit_message(true, 'cdc', '')", "move the log on");
  if (!sent)
    return give_up(sent);
  return {};
}

result<relation_ptr> reader::describe(std::uint32_t relation_oid) {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  auto shape = catalogue{**on, options_.publications}.describe(relation_oid);
  if (!shape)
    return give_up(shape);
  return shape;
}

// -- the connection -------------------------------------------------------------------------------

result<connection*> reader::ready() {
  if (table_)
    return fail(errc::invariant_broken, "a range of {} is still open", to_string(table_->table));
  if (on_ && !on_->broken())
    return &*on_;
  reset();
  const auto to = conninfo::make(source_, purpose::query, options_.role);
  if (!to)
    return tl::unexpected(to.error());
  auto opened = connection::open(*to, stop_);
  if (!opened)
    return tl::unexpected(opened.error());
  return &on_.emplace(*std::move(opened));
}

result<const stored_table*> reader::stored(const relation& table) {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  const auto known = known_.find(table.oid);
  if (known != known_.end() && known->second.generation == table.generation)
    return &known->second.stored;
  auto read = read_stored_table(**on, table);
  if (!read)
    return give_up(read);
  auto& kept = known_[table.oid];
  kept = {.generation = table.generation, .stored = *std::move(read)};
  return &kept.stored;
}

result<view> reader::begin_view(std::string_view first) {
  const auto all =
      on_->run_all(std::string{begin_snapshot} + std::string{first} + read_view, "take a snapshot");
  if (!all)
    return tl::unexpected(all.error());
  auto seen = parse_snapshot((*all)[all->size() - 2].text(0, 0));
  if (!seen)
    return tl::unexpected(seen.error());
  const auto log_end = parse_lsn(all->back().text(0, 0));
  if (!log_end)
    return tl::unexpected(log_end.error());
  return view{*std::move(seen), *log_end};
}

result<void> reader::end_view() {
  const auto ended = on_->run("ROLLBACK", "end a snapshot");
  if (!ended)
    return give_up(ended);
  return {};
}

} // namespace

std::unique_ptr<table_reader> make_table_reader(const config::source_config& source,
                                                reader_options options) {
  return std::make_unique<reader>(source, std::move(options));
}

} // namespace cdc::sources::postgres
