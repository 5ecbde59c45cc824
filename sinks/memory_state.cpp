#include "sinks/memory_state.hpp"

#include <mutex>

#include "messages/row_key.hpp"

namespace cdc::sinks {

namespace {

struct stored_state {
  stream_identity stream;
  std::uint64_t epoch = 0;
  std::optional<checkpoint> resume;
  std::map<std::string, std::string> records;
  std::set<listed_key> listed;
};

struct registry {
  std::mutex mutex;
  std::map<std::string, stored_state> states;
};

registry& all() {
  static registry it;
  return it;
}

void unlist(const batch& work, const change& it, std::uint32_t image,
            std::set<listed_key>& listed) {
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
    case action::move:
      if (it.before != change::none)
        unlist(work, it, it.before, listed);
      if (it.what == action::move)
        unlist(work, it, it.after, listed);
      return;
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

void apply_state(const batch& work, std::map<std::string, std::string>& records,
                 std::set<listed_key>& listed) {
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
}

result<sink_state> memory_state::open(const std::string& name, const stream_identity& stream) {
  const std::lock_guard lock(all().mutex);
  auto& it = all().states[name];
  if (it.epoch != 0 && it.stream != stream)
    return fail(errc::foreign_stream, "target {} follows another stream in this process", name);
  it.stream = stream;
  ++it.epoch;
  sink_state out;
  out.epoch = it.epoch;
  out.resume = it.resume;
  out.records.assign(it.records.begin(), it.records.end());
  out.refetch.assign(it.listed.begin(), it.listed.end());
  return out;
}

result<void> memory_state::write(const std::string& name, std::uint64_t epoch, const batch& work) {
  const std::lock_guard lock(all().mutex);
  auto& it = all().states[name];
  if (it.epoch != epoch)
    return fail(errc::fenced, "target {} is written by a newer life of its pipeline", name);
  apply_state(work, it.records, it.listed);
  if (work.reaches)
    it.resume = work.reaches;
  return {};
}

std::optional<checkpoint> memory_state::resume(const std::string& name) {
  const std::lock_guard lock(all().mutex);
  return all().states[name].resume;
}

} // namespace cdc::sinks
