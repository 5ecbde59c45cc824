// Rows a second of CPU time that row events become cells at, beside a bare pass over the same
// bytes that finds each event and checks its CRC32.
//
//   binlog_decode_bench FILE [ROUNDS]
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "sources/mysql/binlog/control_events.hpp"
#include "sources/mysql/binlog/row_events.hpp"
#include "sources/mysql/binlog/table_map.hpp"

namespace {

using namespace cdc;
using namespace cdc::sources::mysql;

template <class Take>
void for_each_event(std::span<const std::byte> log, Take take) {
  auto algorithm = checksum::off;
  for (std::size_t at = 4; at + event_header_size <= log.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, log.data() + at + 9, sizeof size);
    if (size < event_header_size || size > log.size() - at)
      return;
    const auto event = read_event(log.subspan(at, size), algorithm);
    if (!event) {
      std::cerr << event.error().detail << '\n';
      std::exit(1);
    }
    if (event->header.type == event_type::format_description)
      algorithm = decode_format_description(*event).value().algorithm;
    take(*event);
    at += size;
  }
}

struct counted {
  std::size_t rows = 0;
  std::size_t bytes = 0;
};

counted decode(std::span<const std::byte> log) {
  counted out;
  auto writer = log_writer::mysql;
  std::map<std::uint64_t, row_decoder> tables;
  block_pool pool;
  block_builder blocks{pool};
  for_each_event(log, [&](const event_view& event) {
    if (event.header.type == event_type::format_description) {
      writer = decode_format_description(event).value().writer;
    } else if (event.header.type == event_type::table_map) {
      auto map = decode_table_map(event, writer).value();
      if (tables.contains(map.id))
        return;
      auto shape = std::make_shared<relation>();
      shape->table = {map.schema, map.name};
      shape->key = map.primary_key;
      std::vector<column_type> types;
      for (const auto& it : map.columns) {
        shape->columns.push_back(make_column(it.name, it.type));
        types.push_back(it.type);
      }
      tables.insert_or_assign(map.id, row_decoder::make(std::move(shape), types).value());
    } else if (is_row_event(event.header.type)) {
      auto rows = row_event::open(event).value();
      auto& by = tables.at(rows.table());
      while (!rows.done()) {
        if (const auto read = rows.append_next(by, blocks); !read) {
          std::cerr << read.error().detail << '\n';
          std::exit(1);
        }
        ++out.rows;
        if (blocks.full())
          out.bytes += blocks.take()->bytes();
      }
    }
  });
  out.bytes += blocks.take()->bytes();
  return out;
}

template <class Run>
/// Of CPU time: other work on the machine does not count.
double seconds(Run run) {
  const auto begin = std::clock();
  run();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: binlog_decode_bench FILE [ROUNDS]\n";
    return 2;
  }
  std::ifstream in{argv[1], std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  const auto log = std::as_bytes(std::span{bytes});
  for (int round = argc > 2 ? std::atoi(argv[2]) : 3; round > 0; --round) {
    std::size_t events = 0;
    const auto bare = seconds([&] { for_each_event(log, [&](const event_view&) { ++events; }); });
    counted made;
    const auto decoded = seconds([&] { made = decode(log); });
    std::cout << made.rows << " rows, " << events << " events: bare pass " << bare << " s, decoded "
              << decoded << " s, " << static_cast<double>(made.rows) / decoded / 1e6
              << " M rows/s, " << static_cast<double>(made.bytes) / decoded / 1e6 << " MB/s\n";
  }
  return 0;
}
