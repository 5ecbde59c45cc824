// What our SQLite sink costs over the barest loop that writes the same rows: one prepared upsert,
// bound from values that are parsed already, one transaction a batch, the same pragmas.
//
//   sqlite_bench [insert|update|random] [rows] [batch] [pairs]
//
// Runs pairs alternately, prints each, then medians; the last line is for scripts/bench.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/config.hpp"
#include "messages/batch.hpp"
#include "sinks/make_sink.hpp"

namespace {

using namespace cdc;

struct setup {
  std::string keys = "insert";
  std::size_t rows = 1'000'000;
  std::size_t batch = 1000;
  int pairs = 5;
};

/// The row as the bare loop has it.
struct parsed_row {
  std::int64_t id, customer, flag;
  double price;
  std::string amount, name, email, note, created, status;
};

struct spent {
  double wall = 0;
  double cpu = 0;
};

double cpu_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& it) {
    return static_cast<double>(it.tv_sec) + static_cast<double>(it.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

template <class Work>
spent measure(Work work) {
  const auto cpu = cpu_now();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), cpu_now() - cpu};
}

std::vector<parsed_row> make_rows(const setup& with) {
  std::vector<std::int64_t> keys(with.rows);
  for (std::size_t i = 0; i < with.rows; ++i)
    keys[i] = static_cast<std::int64_t>(i + 1);
  std::mt19937_64 random(7);
  if (with.keys == "random")
    std::shuffle(keys.begin(), keys.end(), random);
  std::vector<parsed_row> out;
  out.reserve(with.rows);
  for (const auto id : keys)
    out.push_back({id, static_cast<std::int64_t>(random() % 100'000), id % 2,
                   static_cast<double>(random() % 100'000) / 100,
                   fmt::format("{}.{:02}", random() % 10'000, random() % 100),
                   fmt::format("name {}", random() % 1'000'000),
                   fmt::format("user{}@example.org", random() % 1'000'000),
                   fmt::format("note {:x}", random()),
                   fmt::format("2026-11-{:02} 12:{:02}:{:02}.{:06}", 1 + random() % 30,
                               random() % 60, random() % 60, random() % 1'000'000),
                   "shipped"});
  return out;
}

target_table_ptr make_target() {
  const std::vector<std::pair<const char*, kind>> columns{
      {"id", kind::integer},        {"customer", kind::integer}, {"flag", kind::boolean},
      {"price", kind::floating},    {"amount", kind::decimal},   {"name", kind::text},
      {"email", kind::text},        {"note", kind::text},        {"created", kind::timestamp},
      {"status", kind::enumeration}};
  auto shape = std::make_shared<relation>();
  auto out = std::make_shared<target_table>();
  shape->table = {"public", "orders"};
  out->name = "orders";
  for (const auto& [name, what] : columns) {
    column source;
    source.name = name;
    source.what = what;
    target_column target;
    target.name = name;
    target.what = what;
    target.source = static_cast<std::uint16_t>(out->columns.size());
    target.is_key = out->columns.empty();
    shape->columns.push_back(source);
    out->columns.push_back(target);
  }
  shape->key = out->key = {0};
  out->source = shape;
  return out;
}

std::vector<batch_ptr> make_batches(const setup& with, const std::vector<parsed_row>& rows,
                                    const target_table_ptr& table) {
  block_pool pool;
  block_builder builder(pool, {.events = with.batch + 1, .bytes = std::size_t{1} << 30});
  std::vector<batch_ptr> out;
  for (std::size_t begin = 0; begin < rows.size(); begin += with.batch) {
    auto made = std::make_shared<batch>();
    made->number = out.size() + 1;
    made->tables = {table};
    const auto end = std::min(begin + with.batch, rows.size());
    for (auto i = begin; i < end; ++i) {
      const auto& row = rows[i];
      builder.row(operation::insert, table->source);
      for (const auto& text : {std::to_string(row.id), std::to_string(row.customer),
                               std::string(row.flag ? "t" : "f"), fmt::format("{}", row.price),
                               row.amount, row.name, row.email, row.note, row.created, row.status})
        builder.value(text);
      change it;
      it.after = static_cast<std::uint32_t>((i - begin) * table->columns.size());
      it.transaction = 0;
      it.number = i + 1;
      made->changes.push_back(it);
    }
    made->transactions.push_back({.final = {end * 8}, .end = {end * 8 + 1}, .id = 1});
    made->reaches = checkpoint{{end * 8 + 1}, {end * 8}};
    made->blocks.push_back(builder.take());
    out.push_back(std::move(made));
  }
  return out;
}

void check(bool good, const char* what) {
  if (good)
    return;
  std::fprintf(stderr, "sqlite_bench: %s\n", what);
  std::exit(1);
}

/// The bare loop.
class bare {
public:
  explicit bare(const std::filesystem::path& file) {
    check(sqlite3_open_v2(file.c_str(), &db_,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          nullptr) == SQLITE_OK,
          "open");
    execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384");
    if (const char* extra = std::getenv("BARE_PRAGMA"))
      execute(extra);
    execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer INTEGER, "
            "flag INTEGER, price REAL, amount TEXT, name TEXT, email TEXT, note TEXT, "
            "created TEXT, status TEXT)");
    const char* sql =
        "INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET "
        "customer=excluded.customer, flag=excluded.flag, price=excluded.price, "
        "amount=excluded.amount, name=excluded.name, email=excluded.email, note=excluded.note, "
        "created=excluded.created, status=excluded.status";
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &upsert_, nullptr) ==
              SQLITE_OK,
          "prepare");
  }
  ~bare() {
    sqlite3_finalize(upsert_);
    sqlite3_close(db_);
  }
  bare(const bare&) = delete;
  bare& operator=(const bare&) = delete;

  void write(const std::vector<parsed_row>& rows, std::size_t batch) {
    for (std::size_t begin = 0; begin < rows.size(); begin += batch) {
      execute("BEGIN");
      for (auto i = begin; i < std::min(begin + batch, rows.size()); ++i)
        write(rows[i]);
      execute("COMMIT");
    }
  }

private:
  void execute(const char* sql) {
    check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK, sql);
  }
  void text(int at, const std::string& it) {
    sqlite3_bind_text(upsert_, at, it.data(), static_cast<int>(it.size()), SQLITE_STATIC);
  }
  void write(const parsed_row& row) {
    sqlite3_bind_int64(upsert_, 1, row.id);
    sqlite3_bind_int64(upsert_, 2, row.customer);
    sqlite3_bind_int64(upsert_, 3, row.flag);
    sqlite3_bind_double(upsert_, 4, row.price);
    int at = 4;
    for (const auto* it :
         {&row.amount, &row.name, &row.email, &row.note, &row.created, &row.status})
      text(++at, *it);
    check(sqlite3_step(upsert_) == SQLITE_DONE, "step");
    sqlite3_reset(upsert_);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* upsert_ = nullptr;
};

/// Our sink, through its interface, with its window of batches outstanding.
class ours {
public:
  ours(const std::filesystem::path& file, const target_table_ptr& table) {
    config::target_config target;
    target.path = file.string();
    sink_ = std::move(*sinks::make_sink(target));
    check(sink_->open({"postgres", "1", "slot", "db", "pub"}).has_value(), "open");
    check(sink_->prepare({table}).has_value(), "prepare");
  }

  void write(const std::vector<batch_ptr>& batches) {
    std::vector<std::future<bool>> open;
    for (const auto& it : batches) {
      if (open.size() == sink_->window()) {
        check(open.front().get(), "write");
        open.erase(open.begin());
      }
      auto done = std::make_shared<std::promise<bool>>();
      open.push_back(done->get_future());
      sink_->submit(it, [done](const auto& report) { done->set_value(report.has_value()); });
    }
    for (auto& it : open)
      check(it.get(), "write");
  }

private:
  std::unique_ptr<sinks::sink> sink_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::filesystem::path fresh_folder() {
  const char* where = std::getenv("CDC_BENCH_FOLDER");
  auto name = std::string(where ? where : "/tmp") + "/cdc-sqlite-bench-XXXXXX";
  check(::mkdtemp(name.data()) != nullptr, "no folder");
  return name;
}

} // namespace

int main(int argc, char** argv) {
  setup with;
  if (argc > 1)
    with.keys = argv[1];
  if (argc > 2)
    with.rows = std::strtoull(argv[2], nullptr, 10);
  if (argc > 3)
    with.batch = std::strtoull(argv[3], nullptr, 10);
  if (argc > 4)
    with.pairs = std::atoi(argv[4]);
  const auto rows = make_rows(with);
  const auto table = make_target();
  const auto batches = make_batches(with, rows, table);
  const auto millions = static_cast<double>(with.rows) / 1e6;

  std::vector<double> bare_wall, ours_wall, ratio, overhead;
  for (int i = 0; i < with.pairs; ++i) {
    const auto folder = fresh_folder();
    spent limit;
    spent sink;
    {
      bare it(folder / "bare.db");
      if (with.keys == "update")
        it.write(rows, with.batch);
      limit = measure([&] { it.write(rows, with.batch); });
    }
    {
      ours it(folder / "ours.db", table);
      if (with.keys == "update")
        it.write(batches);
      sink = measure([&] { it.write(batches); });
    }
    std::filesystem::remove_all(folder);
    bare_wall.push_back(limit.wall);
    ours_wall.push_back(sink.wall);
    ratio.push_back(limit.wall / sink.wall);
    overhead.push_back((sink.cpu - limit.cpu) / millions);
    fmt::print("bare {:.2f} s ({:.2f} cpu)  ours {:.2f} s ({:.2f} cpu)  ratio {:.2f}\n", limit.wall,
               limit.cpu, sink.wall, sink.cpu, ratio.back());
  }
  const auto rate = [&](double wall) { return static_cast<double>(with.rows) / wall / 1000; };
  fmt::print(
      "sqlite-sink-{} ratio {:.2f} (ours {:.0f} k rows/s, bare loop {:.0f} k rows/s, our cpu "
      "over it {:.2f} s per 1 M rows)\n",
      with.keys, median(ratio), rate(median(ours_wall)), rate(median(bare_wall)), median(overhead));
}
