// Commit to visibility, one row at a time.
//
//   latency_probe ours CONNINFO TABLE DATABASE_FILE SAMPLES PER_SECOND
//       INSERT into TABLE (id), commit, then read DATABASE_FILE until the row is there.
//   latency_probe bare CONNINFO TABLE SLOT PUBLICATION DATABASE_FILE SAMPLES PER_SECOND
//       The same insert; until the row's message has come from a walsender, plus one prepared
//       insert and commit into a SQLite file of its own.
//
// Prints: p50_us p99_us max_us
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>
#include <poll.h>
#include <sqlite3.h>

namespace {

using clock_type = std::chrono::steady_clock;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "latency_probe: %s\n", what);
  std::exit(1);
}

PGconn* connect(const std::string& conninfo) {
  auto* made = PQconnectdb(conninfo.c_str());
  if (PQstatus(made) != CONNECTION_OK)
    give_up(PQerrorMessage(made));
  return made;
}

void execute(PGconn* connection, const std::string& statement) {
  auto* done = PQexec(connection, statement.c_str());
  const auto status = PQresultStatus(done);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_BOTH)
    give_up(PQerrorMessage(connection));
  PQclear(done);
}

void execute(sqlite3* file, const char* statement) {
  if (sqlite3_exec(file, statement, nullptr, nullptr, nullptr) != SQLITE_OK)
    give_up(sqlite3_errmsg(file));
}

void insert(PGconn* connection, const char* table, long id) {
  execute(connection,
          "INSERT INTO " + std::string{table} + " (id) VALUES (" + std::to_string(id) + ")");
}

struct target_reader {
  sqlite3* file = nullptr;
  sqlite3_stmt* look = nullptr;

  target_reader(const char* path, const std::string& table) {
    if (sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(file));
    const auto query = "SELECT 1 FROM \"" + table + "\" WHERE id = ?";
    if (sqlite3_prepare_v2(file, query.c_str(), -1, &look, nullptr) != SQLITE_OK)
      give_up(sqlite3_errmsg(file));
  }

  bool has(long id) {
    sqlite3_bind_int64(look, 1, id);
    const auto found = sqlite3_step(look) == SQLITE_ROW;
    sqlite3_reset(look);
    return found;
  }
};

// A walsender that only tells when a row has come.
struct bare_stream {
  PGconn* connection;

  bare_stream(const std::string& conninfo, const std::string& slot, const std::string& publication)
      : connection(connect(conninfo + (conninfo.find('?') == std::string::npos ? "?" : "&") +
                           "replication=database")) {
    execute(connection, "START_REPLICATION SLOT \"" + slot +
                            "\" LOGICAL 0/0 (proto_version '1', publication_names '\"" +
                            publication + "\"')");
  }

  void wait_for_insert() {
    for (;;) {
      char* message = nullptr;
      while (const auto size = PQgetCopyData(connection, &message, 1)) {
        if (size < 0)
          give_up(PQerrorMessage(connection));
        const auto is_insert = size > 25 && message[0] == 'w' && message[25] == 'I';
        PQfreemem(message);
        if (is_insert)
          return;
      }
      pollfd one{PQsocket(connection), POLLIN, 0};
      poll(&one, 1, 1000);
      PQconsumeInput(connection);
    }
  }
};

template <class Body>
std::vector<double> sample(long samples, double per_second, Body body) {
  std::vector<double> out;
  const auto pace = std::chrono::duration_cast<clock_type::duration>(
      std::chrono::duration<double>(1.0 / per_second));
  auto due = clock_type::now();
  for (long i = 0; i < samples; ++i) {
    due += pace;
    std::this_thread::sleep_until(due);
    const auto began = clock_type::now();
    body(i, began);
    out.push_back(std::chrono::duration<double, std::micro>(clock_type::now() - began).count());
  }
  return out;
}

void report(std::vector<double> took) {
  std::sort(took.begin(), took.end());
  std::printf("%.0f %.0f %.0f\n", took[took.size() / 2], took[took.size() * 99 / 100], took.back());
}

} // namespace

int main(int argc, char** argv) {
  const auto first =
      static_cast<long>(std::chrono::system_clock::now().time_since_epoch().count() / 1000);
  if (argc == 7 && std::strcmp(argv[1], "ours") == 0) {
    auto* writer = connect(argv[2]);
    target_reader target{argv[4], std::string{argv[3]}.substr(std::string{argv[3]}.rfind('.') + 1)};
    report(sample(std::atol(argv[5]), std::atof(argv[6]), [&](long i, auto) {
      insert(writer, argv[3], first + i);
      while (!target.has(first + i))
        std::this_thread::sleep_for(std::chrono::microseconds{20});
    }));
    return 0;
  }
  if (argc == 9 && std::strcmp(argv[1], "bare") == 0) {
    auto* writer = connect(argv[2]);
    bare_stream stream{argv[2], argv[4], argv[5]};
    sqlite3* file = nullptr;
    if (sqlite3_open(argv[6], &file) != SQLITE_OK)
      give_up("cannot open the SQLite file");
    execute(file, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE IF NOT "
                  "EXISTS t (id INTEGER PRIMARY KEY) STRICT");
    sqlite3_stmt* put = nullptr;
    sqlite3_prepare_v2(file, "INSERT INTO t VALUES (?) ON CONFLICT DO NOTHING", -1, &put, nullptr);
    report(sample(std::atol(argv[7]), std::atof(argv[8]), [&](long i, auto) {
      insert(writer, argv[3], first + i);
      stream.wait_for_insert();
      execute(file, "BEGIN IMMEDIATE");
      sqlite3_bind_int64(put, 1, first + i);
      sqlite3_step(put);
      sqlite3_reset(put);
      execute(file, "COMMIT");
    }));
    return 0;
  }
  std::fprintf(stderr, "latency_probe: see the first lines of its source\n");
  return 2;
}
