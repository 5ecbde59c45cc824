#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sources/mysql/binlog/control_events.hpp"
#include "sources/mysql/binlog/payload.hpp"
#include "sources/mysql/binlog/row_events.hpp"
#include "sources/mysql/binlog/table_map.hpp"

namespace cdc::tests {

using namespace cdc::sources::mysql;

/// Decodes events of any kind as a reader of the log would, one after another, and keeps their
/// rows.
class binlog_feed {
public:
  result<void> feed(const event_view& in) {
    if (event_expander::is_compressed(in.header.type)) {
      const auto plain = expander_.expand(in);
      return plain ? feed(*plain) : result<void>{tl::unexpected(plain.error())};
    }
    switch (in.header.type) {
      case event_type::format_description:
        return keep(decode_format_description(in), [&](const auto& it) { writer = it.writer; });
      case event_type::table_map:
        return keep(decode_table_map(in, writer), [&](table_map& it) { take_table(it); });
      case event_type::rotate:
        return keep(decode_rotate(in));
      case event_type::xid:
        return keep(decode_xid(in));
      case event_type::xa_prepare:
        return keep(decode_xa_prepare(in));
      case event_type::query:
        return keep(decode_query(in));
      case event_type::gtid:
      case event_type::anonymous_gtid:
      case event_type::gtid_tagged:
        return keep(decode_gtid(in), [&](const auto& it) {
          gtids.push_back(std::string(it.tag) + ":" + std::to_string(it.number));
        });
      case event_type::previous_gtids:
        return keep(decode_previous_gtids(in), [&](auto& it) { previous = std::move(it); });
      case event_type::mariadb_gtid:
        return keep(decode_mariadb_gtid(in));
      case event_type::gtid_list:
        return keep(decode_gtid_list(in));
      case event_type::annotate_rows:
      case event_type::rows_query:
        return keep(decode_annotation(in));
      case event_type::start_encryption:
        return keep(decode_start_encryption(in));
      case event_type::incident:
        return keep(decode_incident(in));
      case event_type::heartbeat:
      case event_type::heartbeat_v2:
        return keep(decode_heartbeat(in));
      case event_type::intvar:
      case event_type::rand:
      case event_type::user_var:
        return check_statement_context(in);
      case event_type::transaction_payload:
        return feed_payload(in);
      default:
        return feed_rows(in);
    }
  }

  /// Reads events that stand behind one another, without checksums.
  result<void> feed_all(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto event = next(bytes);
      if (!event)
        return tl::unexpected(event.error());
      if (auto fed = feed(*event); !fed)
        return fed;
    }
    return {};
  }

  /// Takes the first event off `bytes`.
  static result<event_view> next(std::span<const std::byte>& bytes) {
    std::uint32_t size = 0;
    if (bytes.size() >= event_header_size)
      std::memcpy(&size, bytes.data() + 9, sizeof size);
    const auto piece =
        bytes.first(size < event_header_size || size > bytes.size() ? bytes.size() : size);
    bytes = bytes.subspan(piece.size());
    return read_event(piece, checksum::off);
  }

  log_writer writer = log_writer::mysql;
  std::vector<std::string> gtids{};
  std::vector<gtid_range> previous{};
  std::size_t rows = 0;
  std::size_t undecodable = 0;

private:
  template <class T, class Use>
  static result<void> keep(result<T> got, Use use) {
    if (!got)
      return tl::unexpected(got.error());
    use(*got);
    return {};
  }
  template <class T>
  static result<void> keep(const result<T>& got) {
    return got ? result<void>{} : result<void>{tl::unexpected(got.error())};
  }

  void take_table(table_map& map) {
    auto shape = std::make_shared<relation>();
    shape->table = {map.schema, map.name};
    shape->key = map.primary_key;
    std::vector<column_type> types;
    for (auto& it : map.columns) {
      it.type.has_sign = it.type.has_charset = it.type.has_labels = true;
      shape->columns.push_back(make_column(it.name, it.type));
      types.push_back(it.type);
    }
    if (auto made = row_decoder::make(std::move(shape), types))
      tables_.insert_or_assign(map.id, *std::move(made));
  }

  result<void> feed_payload(const event_view& in) {
    auto inner = payload_reader::open(in);
    if (!inner)
      return tl::unexpected(inner.error());
    for (;;) {
      const auto got = inner->next();
      if (!got)
        return tl::unexpected(got.error());
      if (!*got)
        return {};
      if ((*got)->header.type == event_type::transaction_payload)
        return {};
      if (auto fed = feed(**got); !fed)
        return fed;
    }
  }

  result<void> feed_rows(const event_view& in) {
    if (!is_row_event(in.header.type))
      return {};
    auto event = row_event::open(in);
    if (!event)
      return tl::unexpected(event.error());
    const auto by = tables_.find(event->table());
    if (by == tables_.end())
      return {};
    block_pool pool;
    block_builder out{pool};
    result<void> read;
    while (read && !event->done()) {
      const auto before = out.events();
      read = event->append_next(by->second, out);
      if (out.events() != before + (read ? 1 : 0))
        std::abort();
      rows += read ? 1 : 0;
    }
    check(*out.take(), by->second.shape()->columns.size());
    undecodable += by->second.undecodable();
    return read;
  }

  /// Every cell of every event lies in the block.
  static void check(const block& made, std::size_t columns) {
    for (const auto& it : made.events) {
      const auto cells = columns * (it.what == operation::update ? 2 : 1);
      if (it.first + cells > made.cells.size())
        std::abort();
      for (auto i = it.first; i < it.first + cells; ++i) {
        if (made.cells[i].has_value() &&
            std::size_t{made.cells[i].offset} + made.cells[i].size > made.arena_used)
          std::abort();
      }
    }
  }

  event_expander expander_;
  std::map<std::uint64_t, row_decoder> tables_;
};

} // namespace cdc::tests
