// The limit of the initial load: COPY (SELECT …) TO STDOUT drained by libpq and thrown away.
//
//   bare_copy CONNINFO QUERY [QUERY ...]     one connection and thread a query
//
// Prints: rows seconds cpu_seconds
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>
#include <sys/resource.h>

namespace {

long drain(const char* conninfo, const char* query) {
  auto* connection = PQconnectdb(conninfo);
  if (PQstatus(connection) != CONNECTION_OK) {
    std::fprintf(stderr, "bare_copy: %s", PQerrorMessage(connection));
    std::exit(1);
  }
  auto* begun = PQexec(connection, ("COPY (" + std::string{query} + ") TO STDOUT").c_str());
  if (PQresultStatus(begun) != PGRES_COPY_OUT) {
    std::fprintf(stderr, "bare_copy: %s", PQerrorMessage(connection));
    std::exit(1);
  }
  PQclear(begun);
  long rows = 0;
  char* row = nullptr;
  while (PQgetCopyData(connection, &row, 0) > 0) {
    ++rows;
    PQfreemem(row);
  }
  PQfinish(connection);
  return rows;
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
  if (argc < 3) {
    std::fprintf(stderr, "usage: bare_copy CONNINFO QUERY [QUERY ...]\n");
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  std::vector<long> rows(static_cast<std::size_t>(argc - 2));
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < rows.size(); ++i)
    readers.emplace_back([&, i] { rows[i] = drain(argv[1], argv[i + 2]); });
  long sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    readers[i].join();
    sum += rows[i];
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%ld %.4f %.4f\n", sum, took.count(), cpu_seconds());
  return 0;
}
