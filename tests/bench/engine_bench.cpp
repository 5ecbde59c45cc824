// What the engine costs per row, alone: nanoseconds of this thread, rows of ten columns and 110
// bytes.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "messages/block.hpp"

namespace cdc::engine {
namespace {

constexpr std::uint32_t rows_a_block = 1000;
constexpr int blocks = 1000;

relation_ptr make_shape() {
  relation out{.table = {"public", "items"}, .oid = 1};
  for (int i = 0; i < 10; ++i)
    out.columns.push_back({.name = "c" + std::to_string(i),
                           .attribute = static_cast<std::int16_t>(i + 1),
                           .type_oid = i == 0 ? 20U : 25U,
                           .what = i == 0 ? kind::integer : kind::text,
                           .is_key = i == 0,
                           .is_identity_key = i == 0});
  out.key = {0};
  return std::make_shared<relation>(std::move(out));
}

target_table_ptr make_target(const relation_ptr& shape) {
  auto out = std::make_shared<target_table>();
  out->name = "items";
  out->source = shape;
  for (std::uint16_t i = 0; i < shape->columns.size(); ++i)
    out->columns.push_back({.name = shape->columns[i].name, .source = i});
  out->key = {0};
  return out;
}

/// `lacks`: the last column is unchanged and left out.
void add_row(block_builder& to, operation what, const relation_ptr& shape, std::uint64_t id,
             bool lacks) {
  to.row(what, shape);
  to.value(std::to_string(id));
  for (int i = 1; i < 9; ++i)
    to.value("value of 12");
  if (lacks)
    to.absent();
  else
    to.value("value of 12");
}

struct log_of {
  relation_ptr shape;
  operation what = operation::insert;
  std::uint32_t rows_a_transaction = rows_a_block;
  bool lacks = false;
  std::uint64_t keys = UINT64_MAX; ///< They come round again after so many.
};

std::vector<block_ptr> make_log(const log_of& how) {
  block_pool pool{0};
  block_builder builder{pool, {rows_a_block * 4, std::size_t{1} << 30}};
  std::vector<block_ptr> out;
  std::uint64_t id = 0;
  std::uint64_t at = 1000;
  for (int i = 0; i < blocks; ++i) {
    for (std::uint32_t row = 0; row < rows_a_block;) {
      const transaction now{
          .final = {at += 100}, .end = {at + 1}, .id = 700 + static_cast<std::uint32_t>(id)};
      builder.begin(now);
      for (std::uint32_t k = 0; k < how.rows_a_transaction; ++k, ++row)
        add_row(builder, how.what, how.shape, id++ % how.keys, how.lacks);
      builder.commit(now);
    }
    out.push_back(builder.take());
  }
  return out;
}

/// Nanoseconds that this thread has run: the machine may be busy with others.
double thread_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double measure(const std::function<void()>& work) {
  const auto begin = thread_time();
  work();
  return (thread_time() - begin) / (static_cast<double>(blocks) * rows_a_block);
}

void drain(engine& of) {
  for (;;) {
    auto next = of.next_batch(false);
    if (!next || !*next)
      return;
    write_report report{.batch = (*next)->number};
    for (const auto& each : (*next)->changes) {
      if (each.what == action::partial)
        report.answers.push_back({each.number, true});
    }
    if (!of.completed(report))
      std::abort();
    (void)of.take_stream_credit();
    (void)of.take_load_credit();
  }
}

engine make_engine(const relation_ptr& shape, bool is_loaded) {
  table_progress progress{.plan = {.ranges = {{}}}, .done = {true}};
  std::vector<table_setup> tables{{make_target(shape), std::nullopt}};
  if (is_loaded)
    tables[0].progress = progress;
  return engine{
      {}, std::move(tables), {}, {.from = {{1000}, {1000}}, .is_first = true, .unproved = {}}};
}

void stream(std::string_view only, const char* name, const log_of& how, bool is_loaded) {
  if (std::string_view{name}.find(only) == std::string_view::npos)
    return;
  const auto log = make_log(how);
  auto made = make_engine(how.shape, is_loaded);
  std::uint32_t xid = 700;
  const auto spent = measure([&] {
    for (const auto& each : log) {
      if (!made.stream(each))
        std::abort();
      drain(made);
      // A snapshot is handed over now and then while a load runs.
      xid += rows_a_block;
      if (!is_loaded && xid % 50'000 < rows_a_block)
        made.prove({.xmin = xid, .xmax = xid, .in_progress = {}});
    }
  });
  std::printf("%-44s %6.1f ns a row\n", name, spent);
}

void copy(std::string_view only, const char* name, const relation_ptr& shape, bool is_touched) {
  if (std::string_view{name}.find(only) == std::string_view::npos)
    return;
  block_pool pool{0};
  block_builder builder{pool, {rows_a_block * 2, std::size_t{1} << 30}};
  std::vector<block_ptr> rows;
  std::uint64_t id = 0;
  for (int i = 0; i < blocks; ++i) {
    for (std::uint32_t row = 0; row < rows_a_block; ++row)
      add_row(builder, operation::row, shape, id++, false);
    rows.push_back(builder.take());
  }
  auto made = make_engine(shape, false);
  made.planned(0, {.ranges = {{}}});
  made.open_wave(std::vector<range_ref>{{0, 0}});
  if (made.hand_over({0, 0}, {.xmin = 700, .xmax = 700, .in_progress = {}}, {1000}) !=
      verdict::accepted)
    std::abort();
  if (is_touched) {
    const transaction now{.final = {2000}, .end = {2001}, .id = 900};
    builder.begin(now);
    add_row(builder, operation::insert, shape, 5, false);
    builder.commit(now);
    if (!made.stream(builder.take()))
      std::abort();
  }
  const auto spent = measure([&] {
    for (const auto& each : rows) {
      made.rows({0, 0}, each);
      drain(made);
    }
  });
  std::printf("%-44s %6.1f ns a row\n", name, spent);
}

void measure_all(std::string_view only) {
  const auto shape = make_shape();
  stream(only, "stream, loaded, 1,000 a transaction", {.shape = shape}, true);
  stream(only, "stream, loaded, 1 a transaction", {.shape = shape, .rows_a_transaction = 1}, true);
  stream(only, "stream, loaded, updates", {.shape = shape, .what = operation::update}, true);
  stream(only, "stream, loaded, updates that lack a column",
         {.shape = shape, .what = operation::update, .lacks = true}, true);
  stream(only, "stream, loading, new keys", {.shape = shape}, false);
  stream(only, "stream, loading, 10,000 keys again and again", {.shape = shape, .keys = 10'000},
         false);
  stream(only, "stream, loading, 1 a transaction",
         {.shape = shape, .rows_a_transaction = 1, .keys = 10'000}, false);
  copy(only, "copied rows, nothing touched", shape, false);
  copy(only, "copied rows, one key touched", shape, true);
}

} // namespace
} // namespace cdc::engine

/// An argument: only the lines that hold it.
int main(int count, char** arguments) {
  cdc::engine::measure_all(count > 1 ? arguments[1] : "");
}
