#include "engine/gate.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

namespace cdc::engine {

namespace {

constexpr std::string_view kept_name = "gate";
constexpr std::string_view kept_title = "kept"; // and a line for each target
constexpr std::string_view record_prefix = "unproved/";

std::string name_of(std::uint64_t record) {
  return fmt::format("{}{}", record_prefix, record);
}

template <class T>
bool read_number(std::string_view text, T& out) {
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), out);
  return mistake == std::errc{} && end == text.data() + text.size();
}

/// `701,702,705`
bool read_numbers(std::string_view text, std::vector<transaction_id>& out) {
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (!read_number(text.substr(0, comma), out.emplace_back()))
      return false;
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return !out.empty();
}

const std::string* find_mark(const sink_state& state) noexcept {
  const auto found =
      std::ranges::find(state.records, kept_name, &std::pair<std::string, std::string>::first);
  return found == state.records.end() ? nullptr : &found->second;
}

} // namespace

gate::gate(rule_switches rule, bool keeps) : rule_(rule), keeps_(keeps), covered_(kept_title) {
  // nop
}

void gate::covers(std::span<const std::string> targets) {
  covered_ = kept_title;
  for (const auto& each : targets)
    covered_.append("\n").append(each);
}

result<void> gate::restore(const sink_state& state) {
  if (const auto* found = find_mark(state))
    marked_ = *found;
  std::vector<transaction_id> ids;
  for (const auto& [name, value] : state.records) {
    if (!name.starts_with(record_prefix))
      continue;
    std::uint64_t number = 0;
    ids.clear();
    if (!read_number(std::string_view{name}.substr(record_prefix.size()), number) ||
        !read_numbers(value, ids))
      return fail(errc::target_misconfigured, "the target's record {} is not understood", name);
    last_record_ = std::max(last_record_, number);
    if (!keeps_) {
      stale_.push_back(number);
    } else {
      records_[number] = ids.size();
      restored_.push_back(number);
    }
    for (const auto id : ids) {
      required_.push_back(id);
      if (keeps_)
        unproved_.push_back({id, true, true, number});
    }
  }
  return {};
}

void gate::require(std::span<const transaction_id> ids) {
  if (!rule_.gate_at_first_start)
    return;
  for (const auto id : ids) {
    required_.push_back(id);
    if (keeps_)
      unproved_.push_back({id, true, true, 0});
  }
}

void gate::pass(transaction_id id) {
  if (keeps_ && !has_proof(id))
    unproved_.push_back({id, false, false, 0});
}

void gate::passed() {
  if (unproved_.empty() || unproved_.back().is_whole)
    return;
  unproved_.back().is_whole = true;
  unproved_.back().is_due = rule_.gate_stored_with_checkpoint;
}

bool gate::has_proof(transaction_id id) const noexcept {
  return latest_ && latest_->is_sure_of(id);
}

// Snapshots of one server are ordered: a later one sees all that an earlier one saw.
void gate::prove(const snapshot& seen) {
  if (!latest_ || seen.has_seen_no_less_than(*latest_))
    latest_ = seen;
  drop_if([&](const passed_transaction& each) { return seen.is_sure_of(each.id); });
  if (!rule_.gate_only_grows)
    std::erase_if(required_, [&](transaction_id id) { return seen.is_sure_of(id); });
}

bool gate::admits(const snapshot& seen) const noexcept {
  return !rule_.gate ||
         std::ranges::all_of(required_, [&](transaction_id id) { return seen.is_sure_of(id); });
}

void gate::begin_anew() {
  if (!rule_.gate_grows_when_map_is_anew)
    return;
  for (const auto& each : unproved_) {
    if (each.is_whole || rule_.gate_counts_open_transaction)
      required_.push_back(each.id);
  }
}

std::vector<transaction_id> gate::required_now() const {
  auto out = required_;
  for (const auto& each : unproved_)
    out.push_back(each.id);
  return out;
}

void gate::take_records(std::vector<record>& out) {
  if (!is_marked()) {
    marked_ = keeps_ ? std::optional{covered_} : std::nullopt;
    out.push_back({std::string{kept_name}, marked_});
  }
  if (!rule_.gate_restored_is_stored_again) {
    for (const auto number : std::exchange(restored_, {}))
      out.push_back({name_of(number), std::nullopt});
  }
  for (const auto number : std::exchange(stale_, {}))
    out.push_back({name_of(number), std::nullopt});
  // Those without a record came last.
  std::vector<transaction_id> added;
  for (auto each = unproved_.rbegin(); each != unproved_.rend() && each->record == 0; ++each) {
    if (each->is_due) {
      each->record = last_record_ + 1;
      added.push_back(each->id);
    }
    each->is_due = each->is_whole;
  }
  if (added.empty())
    return;
  records_[++last_record_] = added.size();
  out.push_back({name_of(last_record_), fmt::format("{}", fmt::join(added, ","))});
}

void gate::acknowledged() {
  if (!rule_.gate_left_by_proof_only)
    drop_if([](const passed_transaction& each) { return each.is_whole; });
}

void gate::finish() {
  keeps_ = false;
  unproved_.clear();
  for (const auto& [number, count] : std::exchange(records_, {}))
    stale_.push_back(number);
}

template <class Predicate>
void gate::drop_if(Predicate&& leaves) {
  std::erase_if(unproved_, [&](const passed_transaction& each) {
    if (!leaves(each))
      return false;
    if (each.record != 0)
      release_record(each.record);
    return true;
  });
}

void gate::release_record(std::uint64_t number) {
  const auto found = records_.find(number);
  if (found == records_.end() || --found->second > 0)
    return;
  records_.erase(found);
  stale_.push_back(number);
}

bool holds_gate(const sink_state& state) noexcept {
  return find_mark(state) != nullptr;
}

bool holds_gate(const sink_state& state, std::string_view target) noexcept {
  const auto* found = find_mark(state);
  if (found == nullptr)
    return false;
  for (std::string_view rest = *found; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line == target && line.data() != found->data())
      return true;
  }
  return false;
}

} // namespace cdc::engine
