// What the decoders make of a server's bytes, for tests/e2e/test_mysql_values.py.
//
//   mysql_values log FILE      prints every row of a binlog: schema, table, operation, image, cells
//   mysql_values selected      reads columns and rows of a SELECT, prints the cells they become
//
// A cell is hex digits; `NULL` and `absent` are those. `selected` reads: the number of columns; for each
// DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, CHARACTER_OCTET_LENGTH, separated by tabs; then rows of
// cells.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sources/mysql/binlog/control_events.hpp"
#include "sources/mysql/binlog/payload.hpp"
#include "sources/mysql/binlog/row_events.hpp"
#include "sources/mysql/binlog/table_map.hpp"

namespace {

using namespace cdc;
using namespace cdc::sources::mysql;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

std::string unhex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  return out;
}

std::string text_of(const block& of, const cell& it) {
  if (it.is_null())
    return "NULL";
  return it.is_absent() ? "absent" : "=" + hex(of.text(it));
}

[[noreturn]] void stop(const error& why) {
  std::cerr << why.detail << '\n';
  std::exit(1);
}

class log_printer {
public:
  void print(const event_view& event) {
    if (event_expander::is_compressed(event.header.type)) {
      const auto plain = expander_.expand(event);
      if (!plain)
        stop(plain.error());
      return print(*plain);
    }
    switch (event.header.type) {
      case event_type::table_map:
        return take_table(event);
      case event_type::transaction_payload:
        return print_payload(event);
      default:
        break;
    }
    if (auto rows = row_event::open(event))
      print_rows(*rows);
  }

private:
  void take_table(const event_view& event) {
    auto map = decode_table_map(event);
    if (!map)
      stop(map.error());
    auto shape = std::make_shared<relation>();
    shape->table = {map->schema, map->name};
    std::vector<column_type> types;
    for (auto& it : map->columns) {
      shape->columns.push_back(make_column(it.name, it.type));
      types.push_back(it.type);
    }
    shape->key = map->primary_key;
    auto made = row_decoder::make(std::move(shape), types);
    if (!made)
      stop(made.error());
    tables_.insert_or_assign(map->id, *std::move(made));
  }

  void print_payload(const event_view& event) {
    auto inner = payload_reader::open(event);
    if (!inner)
      stop(inner.error());
    for (;;) {
      const auto next = inner->next();
      if (!next)
        stop(next.error());
      if (!*next)
        return;
      print(**next);
    }
  }

  void print_rows(row_event& rows) {
    auto& by = tables_.at(rows.table());
    block_pool pool;
    block_builder out{pool};
    while (!rows.done()) {
      if (const auto read = rows.append_next(by, out); !read)
        stop(read.error());
    }
    const auto made = out.take();
    for (const auto& it : made->events) {
      std::cout << by.shape()->table.schema << '\t' << by.shape()->table.name << '\t'
                << (it.what == operation::insert   ? "insert"
                    : it.what == operation::remove ? "remove"
                                                   : "update")
                << '\t'
                << (it.before == before_image::none  ? "none"
                    : it.before == before_image::key ? "key"
                                                     : "full");
      const auto images = it.what == operation::update ? 2U : 1U;
      for (std::size_t i = 0; i < images * by.shape()->columns.size(); ++i)
        std::cout << '\t' << text_of(*made, made->cells[it.first + i]);
      std::cout << '\n';
    }
  }

  event_expander expander_;
  std::map<std::uint64_t, row_decoder> tables_;
};

int print_log(const char* path) {
  std::ifstream in{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  log_printer printer;
  auto algorithm = checksum::off;
  for (std::size_t at = 4; at + event_header_size <= bytes.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at + 9, sizeof size);
    if (size < event_header_size || size > bytes.size() - at)
      break;
    const auto event = read_event(std::as_bytes(std::span{bytes}.subspan(at, size)), algorithm);
    if (!event)
      stop(event.error());
    if (event->header.type == event_type::format_description) {
      const auto format = decode_format_description(*event);
      if (!format)
        stop(format.error());
      algorithm = format->algorithm;
    }
    printer.print(*event);
    at += size;
  }
  return 0;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in{line};
  for (std::string field; std::getline(in, field, '\t');)
    out.push_back(field);
  return out;
}

int print_selected() {
  std::string line;
  std::getline(std::cin, line);
  std::vector<value_codec> codecs;
  for (int left = std::stoi(line); left > 0; --left) {
    std::getline(std::cin, line);
    const auto field = split(line);
    const auto type = type_from_catalogue(
        {.data_type = field.at(0),
         .column_type = field.at(1),
         .character_set_name = field.at(2) == "NULL" ? "" : field.at(2),
         .octet_length = field.at(3) == "NULL" ? 0 : std::stoull(field.at(3))});
    if (!type)
      stop(type.error());
    auto codec = value_codec::make(*type);
    if (!codec)
      stop(codec.error());
    codecs.push_back(*std::move(codec));
  }
  block_pool pool;
  while (std::getline(std::cin, line)) {
    const auto fields = split(line);
    block_builder out{pool};
    for (std::size_t i = 0; i < codecs.size(); ++i) {
      if (fields.at(i) == "NULL")
        out.null();
      else if (!codecs[i].append_selected(out, unhex(fields[i].substr(1))))
        std::cerr << "column " << i + 1 << " cannot be rendered\n";
    }
    const auto made = out.take();
    for (std::size_t i = 0; i < made->cells.size(); ++i)
      std::cout << (i == 0 ? "" : "\t") << text_of(*made, made->cells[i]);
    std::cout << '\n';
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "log" && argc == 3)
    return print_log(argv[2]);
  if (mode == "selected" && argc == 2)
    return print_selected();
  std::cerr << "usage: mysql_values log FILE | selected\n";
  return 2;
}
