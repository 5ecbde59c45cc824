#include "sinks/ndjson/batch_lines.hpp"

namespace cdc::sinks::ndjson {

namespace {

/// Shapes of tables that were altered long ago are let go of.
constexpr std::size_t writers_max = 1024;

} // namespace

std::string_view batch_lines::render(const batch& work) {
  if (writers_.size() > writers_max)
    writers_.clear();
  of_batch_.clear();
  for (const auto& table : work.tables)
    of_batch_.push_back(&writer_for(table));
  tails_.clear();
  for (const auto& it : work.transactions)
    tails_.push_back(tail_of(it));
  const auto copied = tail_of_copy();

  out_.clear();
  for (const auto& it : work.changes) {
    const bool is_of_stream = it.transaction != change::none;
    of_batch_[it.table]->write(work, it, is_of_stream ? tails_[it.transaction] : copied, out_);
  }
  return out_.text();
}

const line_writer& batch_lines::writer_for(const target_table_ptr& table) {
  auto& it = writers_[table.get()];
  if (!it)
    it = std::make_unique<line_writer>(table);
  return *it;
}

write_report report_of(const batch& work) {
  write_report out;
  out.batch = work.number;
  for (const auto& it : work.changes)
    if (it.what == action::partial || it.what == action::move)
      out.answers.push_back({it.number, true});
  return out;
}

} // namespace cdc::sinks::ndjson
