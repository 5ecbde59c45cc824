#include "sources/mysql/table_reader.hpp"

#include <array>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "messages/row_key.hpp"
#include "sources/mysql/catalogue.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/key_condition.hpp"
#include "sources/mysql/load_view.hpp"
#include "sources/mysql/ranges.hpp"
#include "sources/mysql/retention.hpp"
#include "sources/mysql/stored_table.hpp"
#include "sources/mysql/values/value_codec.hpp"

namespace cdc::sources::mysql {

namespace {

// Rows come in their columns' own character sets, so that one conversion serves load and stream.
constexpr std::array session_of_a_reader{
    "SET SESSION character_set_results = NULL",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
};

constexpr auto moment = std::chrono::milliseconds{20};
constexpr auto lock_patience = std::chrono::seconds{5};

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
  result<void> nudge() override { return {}; }
  result<relation_ptr> describe(std::uint32_t relation_oid) override;
  void cancel() noexcept override { stop_->raise(); }

private:
  [[nodiscard]] result<connection> connect();
  /// The connection, idle: it connects where there is none.
  [[nodiscard]] result<connection*> ready();

  [[nodiscard]] result<view> begin(const relation& table, bool is_exact);
  [[nodiscard]] result<view> begin_exact(const relation& table);
  [[nodiscard]] result<std::optional<view>> begin_in_a_quiet_moment();
  [[nodiscard]] result<view> begin_locked(const relation& table);
  [[nodiscard]] result<void> read_facts(const relation& table);
  [[nodiscard]] result<void> end();
  void append(const relation_ptr& table, const row_view& row);

  /// Hands an error on; the connection is in a state that is not worth mending.
  template <class T>
  [[nodiscard]] auto give_up(const result<T>& failed) {
    reset();
    return tl::unexpected(failed.error());
  }
  void reset() {
    lock_.reset();
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
  std::optional<table_lock> lock_; ///< Of a table without snapshots, until its range is closed.
  stored_table facts_;             ///< Of the table read last.
  std::vector<value_codec> codecs_;
  retention_watch retention_;

  relation_ptr table_; ///< Of the open range.
  std::string select_; ///< Its statement.
  bool at_end_ = false;
};

// -- ranges ---------------------------------------------------------------------------------------

result<load_plan> reader::plan(const relation& table, std::uint32_t chunk_rows) {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  const auto facts = read_stored_table(**on, table);
  if (!facts)
    return give_up(facts);
  auto made = make_plan(**on, table, *facts, chunk_rows);
  if (!made)
    return give_up(made);
  return made;
}

result<view> reader::open(const relation_ptr& table, const load_plan& plan, std::uint32_t range) {
  if (range >= plan.ranges.size())
    return fail(errc::invariant_broken, "{} has no range {}", to_string(table->table), range);
  auto seen = begin(*table, plan.scheme == range_scheme::keyless);
  if (!seen)
    return give_up(seen);
  const auto where = where_range(facts_.ordered, plan.ranges[range]);
  if (!where)
    return give_up(where);
  select_ = "SELECT " + facts_.column_list(*table) + facts_.from_clause(*table) + *where;
  table_ = table;
  at_end_ = false;
  return seen;
}

result<block_ptr> reader::next() {
  if (!table_)
    return fail(errc::invariant_broken, "no range is open");
  if (at_end_)
    return block_ptr{};
  if (!on_->reading()) {
    if (auto begun = on_->begin_rows(select_, "read " + to_string(table_->table)); !begun)
      return give_up(begun);
  }
  for (row_view row; !rows_.full();) {
    const auto more = on_->next_row(row);
    if (!more)
      return give_up(more);
    if (!*more) {
      at_end_ = true;
      return rows_.empty() ? block_ptr{} : rows_.take();
    }
    append(table_, row);
  }
  return rows_.take();
}

result<void> reader::close() {
  if (!table_)
    return {};
  // Rows that nobody wants are left where they are: the server ends what it cannot send.
  if (on_->reading()) {
    reset();
    return {};
  }
  if (!rows_.empty())
    (void)rows_.take();
  table_.reset();
  return end();
}

void reader::append(const relation_ptr& table, const row_view& row) {
  rows_.row(operation::row, table);
  for (std::size_t column = 0; column < codecs_.size(); ++column)
    if (row.is_null(column))
      rows_.null();
    else
      (void)codecs_[column].append_selected(rows_,
                                            row.text(column)); // Else its bytes, as they are.
}

// -- snapshots ------------------------------------------------------------------------------------

// The types are read behind the snapshot: a table that is altered later than that refuses to be
// read in it, and one that was altered before is known as it is.
result<view> reader::begin(const relation& table, bool is_exact) {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  auto seen = is_exact ? begin_exact(table) : begin_view(**on, options_.at);
  if (!seen)
    return seen;
  if (auto read = read_facts(table); !read)
    return tl::unexpected(read.error());
  if (facts_.is_transactional || lock_)
    return seen;
  if (!source_.allow_table_lock)
    return fail(errc::source_misconfigured,
                "{}: {} is stored by {}, which has no snapshots: ALTER TABLE {} ENGINE = InnoDB, "
                "or set allow_table_lock = true, which keeps writers away while it is read",
                on_->describe(), to_string(table.table), facts_.engine, quote_table(table.table));
  if (auto ended = end(); !ended)
    return tl::unexpected(ended.error());
  seen = begin_locked(table);
  if (!seen)
    return seen;
  if (auto read = read_facts(table); !read)
    return tl::unexpected(read.error());
  return seen;
}

result<view> reader::begin_exact(const relation& table) {
  auto seen = begin_in_a_quiet_moment();
  if (!seen)
    return tl::unexpected(seen.error());
  if (*seen)
    return **std::move(seen);
  if (!source_.allow_table_lock)
    return fail(errc::source_misconfigured,
                "{}: {} has no key, and for {} s no snapshot could be taken between two commits of "
                "the server: allow_table_lock = true locks the table for such a moment",
                on_->describe(), to_string(table.table),
                std::chrono::ceil<std::chrono::seconds>(options_.quiet_patience).count());
  return begin_locked(table);
}

result<std::optional<view>> reader::begin_in_a_quiet_moment() {
  const auto until = clock::now() + options_.quiet_patience;
  for (;;) {
    auto seen = begin_exact_view(*on_, options_.at);
    if (!seen || *seen || clock::now() >= until)
      return seen;
    std::this_thread::sleep_for(moment);
  }
}

// Under the lock no transaction is half way: all that touched the table are in gtid_executed.
result<view> reader::begin_locked(const relation& table) {
  auto other = connect();
  if (!other)
    return tl::unexpected(other.error());
  auto lock = table_lock::take(*std::move(other), table.table, lock_patience);
  if (!lock)
    return tl::unexpected(lock.error());
  auto seen = begin_view(*on_, options_.at);
  if (seen)
    lock_.emplace(*std::move(lock));
  return seen;
}

result<void> reader::read_facts(const relation& table) {
  auto read = read_stored_table(*on_, table);
  if (!read)
    return tl::unexpected(read.error());
  facts_ = *std::move(read);
  // What a transactional engine shows stays as it is.
  if (facts_.is_transactional)
    lock_.reset();
  codecs_.clear();
  codecs_.reserve(facts_.types.size());
  for (std::size_t i = 0; i < facts_.types.size(); ++i) {
    auto codec = value_codec::make(facts_.types[i]);
    if (!codec)
      return fail(codec.error().code, "{}: column {} of {}: {}", on_->describe(),
                  table.columns[i].name, to_string(table.table), codec.error().detail);
    codecs_.push_back(*std::move(codec));
  }
  return {};
}

result<void> reader::end() {
  lock_.reset();
  const auto ended = end_view(*on_);
  if (!ended)
    return give_up(ended);
  return {};
}

// -- single rows and looks ------------------------------------------------------------------------

result<table_reader::found_row> reader::read_key(const relation_ptr& table, std::string_view key) {
  auto seen = begin(*table, false);
  if (!seen)
    return give_up(seen);
  const auto where = where_key(*table, facts_.types, key);
  if (!where)
    return give_up(where);
  const auto doing = "read a row of " + to_string(table->table);
  if (auto begun = on_->begin_rows("SELECT " + facts_.column_list(*table) + " FROM " +
                                       quote_table(table->table) + *where,
                                   doing);
      !begun)
    return give_up(begun);
  found_row out{.from = *std::move(seen), .row = nullptr};
  std::string found;
  for (row_view row;;) {
    const auto more = on_->next_row(row);
    if (!more)
      return give_up(more);
    if (!*more)
      break;
    append(table, row);
    auto block = rows_.take();
    // A collation takes keys for equal that are not the same.
    encode_key(*block, block->image(block->events.front().first, *table), table->key, found);
    if (found == key)
      out.row = std::move(block);
  }
  if (auto ended = end(); !ended)
    return tl::unexpected(ended.error());
  return out;
}

result<snapshot> reader::look() {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  auto seen = begin_view(**on, options_.at);
  if (!seen)
    return give_up(seen);
  if (auto ended = end(); !ended)
    return tl::unexpected(ended.error());
  return std::move(seen->seen);
}

result<log_pressure> reader::pressure() {
  if (!options_.needed)
    return log_pressure{};
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  const auto files = read_binlogs(**on);
  if (!files)
    return give_up(files);
  return retention_.judge(*files, options_.at, position{options_.needed->load()});
}

result<relation_ptr> reader::describe(std::uint32_t relation_oid) {
  const auto on = ready();
  if (!on)
    return tl::unexpected(on.error());
  auto shape = catalogue{**on}.describe(relation_oid);
  if (!shape)
    return give_up(shape);
  return shape;
}

// -- the connection -------------------------------------------------------------------------------

result<connection> reader::connect() {
  auto opened = connection::open(source_, options_.role, stop_);
  if (!opened)
    return opened;
  for (const auto* statement : session_of_a_reader)
    if (auto set = opened->run(statement, "set up a session"); !set)
      return tl::unexpected(set.error());
  return opened;
}

result<connection*> reader::ready() {
  if (table_)
    return fail(errc::invariant_broken, "a range of {} is still open", to_string(table_->table));
  if (on_ && !on_->broken())
    return &*on_;
  reset();
  auto opened = connect();
  if (!opened)
    return tl::unexpected(opened.error());
  return &on_.emplace(*std::move(opened));
}

} // namespace

std::unique_ptr<table_reader> make_table_reader(const config::source_config& source,
                                                reader_options options) {
  return std::make_unique<reader>(source, std::move(options));
}

} // namespace cdc::sources::mysql
