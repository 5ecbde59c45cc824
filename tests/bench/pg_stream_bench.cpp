// A slot's log drained into blocks that are thrown away: what the source costs by itself. Nothing
// is confirmed, so the same slot gives the same log again.
//
//   pg_stream_bench CONNINFO SLOT PUBLICATION END_LSN [NAP_US]
//
// Prints: rows seconds cpu_seconds blocks
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <poll.h>
#include <sys/resource.h>

#include "sources/postgres/catalogue.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/lsn.hpp"

namespace {

using namespace cdc;
using namespace cdc::sources::postgres;
using sources::clock;
using next = sources::log_stream::next;

template <class T>
T must(result<T> got) {
  if (got)
    return std::move(*got);
  std::fprintf(stderr, "pg_stream_bench: %s\n", got.error().detail.c_str());
  std::exit(1);
}

struct counts {
  long rows = 0;
  long blocks = 0;
  position passed;

  void add(const block& made) {
    ++blocks;
    for (const auto& at : made.events) {
      if (at.what == operation::commit || at.what == operation::advance)
        passed = std::max(passed, made.transactions[at.first].end);
      else if (at.what != operation::begin)
        ++rows;
    }
  }
};

void wait(const sources::log_stream& on) {
  pollfd socket{.fd = on.socket(), .events = on.wants_events(true), .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(on.deadline() - clock::now());
  (void)::poll(&socket, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1000)));
}

counts drain(sources::log_stream& log, catalogue& shapes, position end,
             std::chrono::microseconds nap) {
  counts out;
  while (out.passed < end) {
    const auto did = must(log.advance(clock::now(), true));
    if (const auto oid = log.unknown_relation()) {
      log.provide(must(shapes.describe(*oid)));
      continue;
    }
    if (did == next::ship)
      out.add(*log.take_block());
    else if (did == next::nap)
      std::this_thread::sleep_for(nap);
    else
      wait(log);
  }
  return out;
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc > 6) {
    std::fprintf(stderr, "usage: pg_stream_bench CONNINFO SLOT PUBLICATION END_LSN [NAP_US]\n");
    return 2;
  }
  config::source_config source;
  source.url = config::secret{argv[1]};
  auto on = must(connection::open(must(conninfo::make(source, purpose::query, "bench"))));
  catalogue shapes{on, {argv[3]}};
  const auto log =
      make_log_stream({.to = must(conninfo::make(source, purpose::replication, "bench")),
                       .slot = argv[2],
                       .publications = {argv[3]},
                       .resume = {},
                       .system_identifier = {}},
                      {});
  const std::chrono::microseconds nap{argc > 5 ? std::atol(argv[5]) : 200};
  const auto began = clock::now();
  const auto did = drain(*log, shapes, must(parse_lsn(argv[4])), nap);
  const std::chrono::duration<double> took = clock::now() - began;
  log->close();
  std::printf("%ld %.4f %.4f %ld\n", did.rows, took.count(), cpu_seconds(), did.blocks);
  return 0;
}
