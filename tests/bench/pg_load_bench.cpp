// A table read into blocks that are thrown away: what the load's readers cost by themselves.
//
//   pg_load_bench CONNINFO SCHEMA TABLE CHUNK_ROWS [READERS]
//
// Prints: rows seconds cpu_seconds ranges. The plan is made before the clock starts, as the bare
// client's query is written before.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/table_reader.hpp"

namespace {

using namespace cdc;
using namespace cdc::sources::postgres;

template <class T>
T must(result<T> got) {
  if (got)
    return std::move(*got);
  std::fprintf(stderr, "pg_load_bench: %s\n", got.error().detail.c_str());
  std::exit(1);
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::uint64_t read_range(sources::table_reader& with, const relation_ptr& table,
                         const load_plan& plan, std::uint32_t range) {
  std::uint64_t rows = 0;
  (void)must(with.open(table, plan, range));
  while (const auto next = must(with.next()))
    rows += next->events.size();
  if (const auto closed = with.close(); !closed)
    std::exit(1);
  return rows;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: pg_load_bench CONNINFO SCHEMA TABLE CHUNK_ROWS [READERS]\n");
    return 2;
  }
  config::source_config source;
  source.url = config::secret{argv[1]};
  const auto to = must(conninfo::make(source, purpose::query, "bench"));
  auto on = must(connection::open(to));
  const auto table = must(catalogue{on, {}}.describe(table_id{argv[2], argv[3]}));
  const auto chunk_rows = static_cast<std::uint32_t>(std::atol(argv[4]));
  const auto readers = argc > 5 ? std::atoi(argv[5]) : 1;
  const auto plan = must(make_table_reader(source, {})->plan(*table, chunk_rows));

  const auto began = std::chrono::steady_clock::now();
  const auto spent = cpu_seconds();
  std::atomic<std::uint32_t> next_range{0};
  std::atomic<std::uint64_t> rows{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < readers; ++i)
    threads.emplace_back([&] {
      const auto with = make_table_reader(source, {});
      for (auto range = next_range++; range < plan.ranges.size(); range = next_range++)
        rows += read_range(*with, table, plan, range);
    });
  for (auto& each : threads)
    each.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%lu %.4f %.4f %zu\n", static_cast<unsigned long>(rows), took.count(),
              cpu_seconds() - spent, plan.ranges.size());
  return 0;
}
