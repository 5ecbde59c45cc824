#include "sinks/ndjson/line_writer.hpp"

#include <chrono>

#include <fmt/format.h>

namespace cdc::sinks::ndjson {

namespace {

std::string constant_of(const target_column& column) {
  json_writer out;
  write_value(column.what, column.constant, out);
  return std::string(out.text());
}

char letter_of(const change& it) noexcept {
  if (it.is_copy && it.what != action::truncate)
    return 'r';
  switch (it.what) {
    case action::remove:
    case action::erase:
      return 'd';
    case action::truncate:
      return 't';
    case action::upsert:
    case action::move:
      return it.event == operation::insert ? 'c' : 'u';
    case action::insert:
      return it.event == operation::update && it.before != change::none ? 'u' : 'c';
    case action::partial:
    case action::forget:
      return 'u';
  }
  return 'u';
}

std::string as_time(std::int64_t microseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::microseconds> at{std::chrono::microseconds{microseconds}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count(),
                     time.subseconds().count());
}

} // namespace

line_writer::line_writer(target_table_ptr table)
    : table_(std::move(table)), table_name_(as_json(table_->name)) {
  const auto& shape = *table_->source;
  for (const auto& it : table_->columns) {
    column made;
    made.name = as_json(it.name) + ":";
    made.what = it.what;
    if (it.source) {
      made.source = *it.source;
      made.is_in_before = shape.identity == replica_identity::full ||
                          shape.columns[*it.source].is_identity_key || it.is_key;
    } else {
      made.is_constant = true;
      made.constant = constant_of(it);
    }
    columns_.push_back(std::move(made));
  }
}

void line_writer::write(const batch& work, const change& it, std::string_view tail,
                        json_writer& out) const {
  if (it.what == action::forget)
    return;
  out.raw("{\"op\":\"");
  out.raw(letter_of(it));
  out.raw("\",\"table\":");
  out.raw(table_name_);
  if (it.what == action::truncate) {
    out.raw(",\"key\":null,\"before\":null,\"after\":null");
  } else {
    const auto& from = *work.blocks[it.block];
    out.raw(",\"key\":");
    write_key(from, it.after != change::none ? it.after : it.before, out);
    out.raw(",\"before\":");
    write_before(from, it.before, out);
    out.raw(",\"after\":");
    write_after(from, it.after, out);
  }
  out.raw(tail);
}

void line_writer::write_key(const block& from, std::uint32_t image, json_writer& out) const {
  if (table_->key.empty())
    return out.raw("null");
  char before = '{';
  for (const auto at : table_->key) {
    const auto& it = columns_[at];
    out.raw(before);
    out.raw(it.name);
    before = ',';
    if (it.is_constant) {
      out.raw(it.constant);
      continue;
    }
    const auto value = from.cells[image + it.source];
    if (value.has_value())
      write_value(it.what, from.text(value), out);
    else
      out.raw("null");
  }
  out.raw('}');
}

void line_writer::write_before(const block& from, std::uint32_t image, json_writer& out) const {
  if (image == change::none)
    return out.raw("null");
  char before = '{';
  for (const auto& it : columns_) {
    if (!it.is_in_before || from.cells[image + it.source].is_absent())
      continue;
    out.raw(before);
    out.raw(it.name);
    before = ',';
    const auto value = from.cells[image + it.source];
    if (value.has_value())
      write_value(it.what, from.text(value), out);
    else
      out.raw("null");
  }
  out.raw(before == '{' ? "{}" : "}");
}

void line_writer::write_after(const block& from, std::uint32_t image, json_writer& out) const {
  if (image == change::none)
    return out.raw("null");
  const cell* cells = from.cells.data() + image;
  char before = '{';
  for (const auto& it : columns_) {
    const auto value = it.is_constant ? cell{} : cells[it.source];
    if (!it.is_constant && value.is_absent())
      continue;
    out.raw(before);
    out.raw(it.name);
    before = ',';
    if (it.is_constant)
      out.raw(it.constant);
    else if (value.is_null())
      out.raw("null");
    else
      write_value(it.what, from.text(value), out);
  }
  out.raw(before == '{' ? "{}" : "}");
}

void write_value(kind what, std::string_view text, json_writer& out) {
  switch (what) {
    case kind::boolean:
      return out.boolean(text);
    case kind::integer:
    case kind::floating:
    case kind::decimal:
      return out.number(text);
    // A document is a string, so that JSON's null is not SQL's, and its bytes stay as they are.
    case kind::json:
    case kind::text:
    case kind::bytes:
    case kind::date:
    case kind::time:
    case kind::timestamp:
    case kind::timestamptz:
    case kind::array:
    case kind::set:
    case kind::enumeration:
    case kind::bit:
    case kind::geometry:
    case kind::other:
      return out.string(text);
  }
}

std::string tail_of(const transaction& of) {
  return fmt::format(",\"position\":{},\"commit_time\":\"{}\",\"xid\":{}}}\n", of.final.token,
                     as_time(of.commit_time), of.id);
}

std::string tail_of_copy() {
  return ",\"position\":null,\"commit_time\":null,\"xid\":null}\n";
}

} // namespace cdc::sinks::ndjson
