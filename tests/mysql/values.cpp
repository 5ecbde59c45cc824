// What the decoders make of a server's bytes, for tests/e2e/test_mysql_values.py.
//
//   mysql_values log FILE CATALOGUE
//                              prints every row of a binlog: schema, table, operation, image, cells
//   mysql_values selected      reads columns and rows of a SELECT, prints the cells they become
//
// A cell is `=` and hex digits, `NULL` or `absent`. CATALOGUE has a line a column: TABLE_NAME,
// DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, CHARACTER_OCTET_LENGTH, separated by tabs. `selected`
// reads the number of columns, such a line for each without TABLE_NAME, and rows of cells.
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

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in{line};
  for (std::string field; std::getline(in, field, '\t');)
    out.push_back(field);
  return out;
}

/// Of DATA_TYPE and the three behind it.
column_type type_of(std::span<const std::string> field) {
  auto type =
      type_from_catalogue({.data_type = field[0],
                           .column_type = field[1],
                           .character_set_name = field[2] == "NULL" ? std::string_view{} : field[2],
                           .octet_length = field[3] == "NULL" ? 0 : std::stoull(field[3])});
  if (!type)
    stop(type.error());
  return *std::move(type);
}

class log_printer {
public:
  explicit log_printer(const char* catalogue) {
    std::ifstream in{catalogue};
    for (std::string line; std::getline(in, line);) {
      const auto field = split(line);
      known_[field.at(0)].push_back(type_of(std::span{field}.subspan(1)));
    }
  }

  void print(const event_view& event) {
    if (event.header.type == event_type::format_description) {
      const auto format = decode_format_description(event);
      if (!format)
        stop(format.error());
      writer_ = format->writer;
      algorithm_ = format->algorithm;
      return;
    }
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

  [[nodiscard]] checksum algorithm() const noexcept { return algorithm_; }

private:
  void take_table(const event_view& event) {
    auto map = decode_table_map(event, writer_);
    if (!map)
      stop(map.error());
    auto shape = std::make_shared<relation>();
    shape->table = {map->schema, map->name};
    std::vector<column_type> types;
    for (std::size_t i = 0; i < map->columns.size(); ++i) {
      auto& it = map->columns[i];
      if (const auto known = known_.find(map->name);
          known != known_.end() && !complete(it.type, known->second.at(i))) {
        std::cerr << map->name << ": column " << i + 1 << " is not the catalogue's\n";
        std::exit(1);
      }
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

  log_writer writer_ = log_writer::mysql;
  checksum algorithm_ = checksum::off;
  event_expander expander_;
  std::map<std::string, std::vector<column_type>> known_;
  std::map<std::uint64_t, row_decoder> tables_;
};

int print_log(const char* path, const char* catalogue) {
  std::ifstream in{path, std::ios::binary};
  const std::vector<char> bytes{std::istreambuf_iterator<char>{in}, {}};
  log_printer printer{catalogue};
  for (std::size_t at = 4; at + event_header_size <= bytes.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at + 9, sizeof size);
    if (size < event_header_size || size > bytes.size() - at)
      break;
    const auto event =
        read_event(std::as_bytes(std::span{bytes}.subspan(at, size)), printer.algorithm());
    if (!event)
      stop(event.error());
    printer.print(*event);
    at += size;
  }
  return 0;
}

int print_selected() {
  std::string line;
  std::getline(std::cin, line);
  std::vector<value_codec> codecs;
  for (int left = std::stoi(line); left > 0; --left) {
    std::getline(std::cin, line);
    const auto field = split(line);
    auto codec = value_codec::make(type_of(field));
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
  if (mode == "log" && argc == 4)
    return print_log(argv[2], argv[3]);
  if (mode == "selected" && argc == 2)
    return print_selected();
  std::cerr << "usage: mysql_values log FILE CATALOGUE | selected\n";
  return 2;
}
