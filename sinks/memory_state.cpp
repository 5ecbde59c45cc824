#include "sinks/memory_state.hpp"

#include <mutex>

#include "messages/row_key.hpp"

namespace cdc::sinks {

namespace {

struct registry {
  std::mutex mutex;
  std::map<std::string, kept_state> states;
};

registry& all() {
  static registry it;
  return it;
}

void unlist(const batch& work, const change& it, std::uint32_t image,
            std::set<listed_key>& listed) {
  if (image == change::none)
    return;
  const auto& table = *work.tables[it.table];
  const auto& from = *work.blocks[it.block];
  std::vector<std::uint16_t> key;
  for (const auto at : table.key)
    if (table.columns[at].source)
      key.push_back(*table.columns[at].source);
  listed_key out{table.name, {}};
  encode_key(from, from.image(image, *table.source), key, out.key);
  listed.erase(out);
}

void unlist(const batch& work, const change& it, std::set<listed_key>& listed) {
  switch (it.what) {
    case action::upsert:
      return unlist(work, it, it.after, listed);
    case action::remove:
    case action::forget:
      return unlist(work, it, it.before, listed);
    case action::move:
      unlist(work, it, it.before, listed);
      return unlist(work, it, it.after, listed);
    case action::truncate:
      std::erase_if(listed, [&](auto& key) { return key.table == work.tables[it.table]->name; });
      return;
    case action::partial:
    case action::insert:
    case action::erase:
      return;
  }
}

} // namespace

void kept_state::apply(const batch& work) {
  for (const auto& it : work.changes) {
    if (listed.empty())
      break;
    unlist(work, it, listed);
  }
  for (const auto& it : work.records) {
    if (it.value)
      records[it.name] = *it.value;
    else
      records.erase(it.name);
  }
  listed.insert(work.listed.begin(), work.listed.end());
  if (work.reaches)
    resume = work.reaches;
}

sink_state kept_state::to_sink_state() const {
  sink_state out;
  out.epoch = epoch;
  out.resume = resume;
  out.records.assign(records.begin(), records.end());
  out.refetch.assign(listed.begin(), listed.end());
  return out;
}

result<sink_state> memory_state::open(const stream_identity& stream) {
  const std::lock_guard lock(all().mutex);
  auto& stored = all().states[name_];
  if (stored.epoch != 0 && stored.stream != stream)
    return fail(errc::foreign_stream, "target {} follows another stream in this process", name_);
  stored.stream = stream;
  ++stored.epoch;
  now_ = stored;
  return now_.to_sink_state();
}

result<void> memory_state::write(const batch& work) {
  now_.apply(work);
  const std::lock_guard lock(all().mutex);
  auto& stored = all().states[name_];
  if (stored.epoch != now_.epoch)
    return fail(errc::fenced, "target {} is written by a newer life of its pipeline", name_);
  if (!work.ends_transaction)
    return {};
  stored.resume = now_.resume;
  if (stored.records != now_.records)
    stored.records = now_.records;
  if (stored.listed != now_.listed)
    stored.listed = now_.listed;
  return {};
}

} // namespace cdc::sinks
