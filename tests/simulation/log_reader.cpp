#include "tests/simulation/log_reader.hpp"

#include <algorithm>
#include <charconv>

namespace cdc::simulation {

namespace {

using what = row_change::what;

void write_number(block_builder& to, std::size_t number) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  to.value({text.data(), static_cast<std::size_t>(end - text.data())});
}

void write_key_only(block_builder& to, std::size_t key) {
  write_number(to, key + 8);
  for (std::size_t i = 0; i < values; ++i)
    to.null();
}

} // namespace

void write_row(block_builder& to, std::size_t key, const std::array<int, values>& value,
               unsigned present) {
  write_number(to, key + 8);
  for (std::size_t i = 0; i < values; ++i) {
    if (present >> i & 1)
      write_number(to, static_cast<std::size_t>(value[i]));
    else
      to.absent();
  }
}

void write_bag_row(block_builder& to, std::size_t v, std::size_t w, bool has_tail) {
  write_number(to, v);
  if (has_tail)
    write_number(to, w);
  else
    to.absent();
}

log_reader::log_reader(const source& log, position from, block_pool& pool)
    : log_(log), builder_(pool), told_(from) {
  while (at_ < log_.entries().size() && log_.entries()[at_].end <= from)
    ++at_;
}

transaction log_reader::describe(const source::entry& at) const {
  return {.final = at.final,
          .end = {},
          .id = static_cast<std::uint32_t>(log_.of(at).xid),
          .commit_time = static_cast<std::int64_t>(at.final.token)};
}

block_ptr log_reader::next(std::size_t rows) {
  std::size_t written = 0;
  while (!is_empty() && written < rows) {
    const auto& entry = log_.entries()[at_];
    const auto& changes = log_.of(entry).changes;
    if (!is_inside_) {
      builder_.begin(describe(entry));
      told_ = std::max(told_, entry.final);
    }
    is_inside_ = true;
    while (change_ < changes.size() && written < rows) {
      rows_ += changes[change_].kind != what::truncate;
      write(changes[change_++]);
      ++written;
    }
    if (change_ < changes.size())
      break;
    auto ended = describe(entry);
    ended.end = entry.end;
    builder_.commit(ended);
    told_ = entry.end;
    is_inside_ = false;
    change_ = 0;
    ++at_;
  }
  return builder_.empty() ? nullptr : builder_.take();
}

block_ptr log_reader::advance() {
  if (!is_empty() || told_ >= log_.log_end())
    return nullptr;
  told_ = log_.log_end();
  builder_.advance(told_);
  return builder_.take();
}

void log_reader::write(const row_change& change) {
  const auto& shape = log_.shape(change.table);
  if (change.kind == what::truncate)
    return builder_.truncate(shape);
  if (change.is_keyless) {
    const auto has_old = change.kind != what::insert;
    builder_.row(change.kind == what::insert   ? operation::insert
                 : change.kind == what::update ? operation::update
                                               : operation::remove,
                 shape, has_old ? before_image::full : before_image::none);
    if (has_old)
      write_bag_row(builder_, change.key, change.tail);
    if (change.kind != what::remove)
      write_bag_row(builder_, change.to, change.tail,
                    change.kind == what::insert || (change.present & 1));
    return;
  }
  const auto full = shape->identity == replica_identity::full;
  const auto old_image = [&] {
    full ? write_row(builder_, change.key, change.old) : write_key_only(builder_, change.key);
  };
  const auto old = full ? before_image::full : before_image::key;
  switch (change.kind) {
    case what::insert:
      builder_.row(operation::insert, shape);
      return write_row(builder_, change.key, change.value);
    case what::update:
      builder_.row(operation::update, shape, full ? old : before_image::none);
      if (full)
        old_image();
      return write_row(builder_, change.key, change.value, change.present);
    case what::move:
      builder_.row(operation::update, shape, old);
      old_image();
      return write_row(builder_, change.to, change.value, change.present);
    case what::remove:
      builder_.row(operation::remove, shape, old);
      return old_image();
    case what::truncate:
      return;
  }
}

} // namespace cdc::simulation
