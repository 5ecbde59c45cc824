#include "engine/batcher.hpp"

#include <algorithm>
#include <utility>

namespace cdc::engine {

row_counts& row_counts::operator+=(const row_counts& more) noexcept {
  streamed += more.streamed;
  copied += more.copied;
  merged += more.merged;
  return *this;
}

row_counts& row_counts::operator-=(const row_counts& less) noexcept {
  streamed -= less.streamed;
  copied -= less.copied;
  merged -= less.merged;
  return *this;
}

batcher::batcher(const engine_options& options, checkpoint from)
    : changes_max_(std::max<std::size_t>(options.batch_changes_max, 1)),
      bytes_max_(std::max<std::size_t>(options.batch_bytes_max, 1)), window_(options.window),
      reached_(from) {
  start_batch();
}

// -- what comes in ------------------------------------------------------------------------------

void batcher::enter(const block_ptr& source) {
  current_ = source;
  current_at_ = change::none;
  // An average: summing up a row's cells would cost more than all else that is done for it.
  bytes_per_event_ = source->bytes() / std::max<std::size_t>(source->events.size(), 1) + 1;
}

void batcher::leave(bool is_copy) {
  const lease done{current_->bytes(), is_copy, open_.work->changes.size()};
  leave_unpaid();
  if (!open_.work->changes.empty()) {
    held_[is_copy ? 1 : 0] += credit{1, done.bytes};
    open_.leases.push_back(done);
  } else if (!ready_.empty()) {
    ready_.back().leases.push_back(done);
  } else {
    idle_leases_.push_back(done);
  }
}

void batcher::leave_unpaid() noexcept {
  current_.reset();
  current_at_ = change::none;
}

void batcher::begin(const transaction& started) {
  transaction_ = started;
  transaction_at_ = change::none;
  inside_ = true;
  piece_ = 0;
  versions_from_ = (started.final.token << (piece_bits + 1)) + 1;
}

void batcher::commit(const transaction& ended) {
  if (transaction_at_ != change::none)
    open_.work->transactions[transaction_at_] = ended;
  inside_ = false;
  transaction_at_ = change::none;
  reached_ = {ended.end, ended.final};
  stand();
  // The target holds a transaction open for it: it must not wait for others.
  if (split_ || open_.work->changes.size() >= changes_max_ || bytes_ >= bytes_max_)
    seal();
}

void batcher::advance(position end) {
  reached_.resume = std::max(reached_.resume, end);
  stand();
}

void batcher::stand() noexcept {
  if (!inside_)
    standing_ = {open_.work->changes.size(), bytes_, open_.rows, reached_};
}

block& batcher::own_block() {
  make_room();
  if (!own_)
    own_ = own_pool_.acquire();
  return *own_;
}

std::uint64_t batcher::copy_version() const noexcept {
  return (reached_.version.token << (piece_bits + 1)) + 2 * pieces_max + 1;
}

bool batcher::empty() const noexcept {
  return ready_.empty() && open_.work->changes.empty() && !split_;
}

bool batcher::pressing() const noexcept {
  return std::ranges::any_of(held_, [&](const credit& held) {
    return held.blocks * 2 >= window_.blocks || held.bytes * 2 >= window_.bytes;
  });
}

// -- places in the open batch -------------------------------------------------------------------

void batcher::adopt(target_ref& target) {
  auto& tables = open_.work->tables;
  const auto known = std::ranges::find(tables, target.table);
  target.batch = open_number_;
  target.at = static_cast<std::uint16_t>(known - tables.begin());
  if (known != tables.end())
    return;
  tables.push_back(target.table);
  open_.routes.push_back(target.of);
}

std::uint32_t batcher::adopt(const block_ptr& source) {
  auto& blocks = open_.work->blocks;
  const auto at = static_cast<std::size_t>(std::ranges::find(blocks, source) - blocks.begin());
  if (at == blocks.size())
    blocks.push_back(source);
  return static_cast<std::uint32_t>(at);
}

std::uint32_t batcher::own_index() {
  if (own_at_ == change::none)
    own_at_ = adopt(own_);
  return own_at_;
}

void batcher::adopt_transaction() {
  transaction_at_ = static_cast<std::uint32_t>(open_.work->transactions.size());
  open_.work->transactions.push_back(transaction_);
}

// -- what goes out ------------------------------------------------------------------------------

void batcher::start_batch() {
  open_ = {};
  open_.work = std::make_shared<batch>();
  open_.work->changes.reserve(changes_max_);
  ++open_number_;
  bytes_ = 0;
  standing_ = {.changes = 0, .bytes = 0, .rows = {}, .reached = reached_};
  held_[0] = held_[1] = {};
  // What leaves is read by others from now on: nothing may be added to its rows.
  own_.reset();
  own_at_ = current_at_ = transaction_at_ = change::none;
}

outgoing& batcher::seal() {
  open_.upto = number_;
  open_.reached = reached_;
  ready_.push_back(std::move(open_));
  start_batch();
  split_ = false;
  return ready_.back();
}

void batcher::seal_piece() {
  seal().work->ends_transaction = false;
  split_ = true;
}

// A full batch: its whole transactions leave; if there are none, the open one goes on in pieces.
void batcher::let_go() {
  if (!inside_)
    seal();
  else if (standing_.changes == 0)
    seal_piece();
  else
    cut();
}

bool batcher::release(bool in_pieces) {
  if (open_.work->changes.empty() || (inside_ && standing_.changes == 0 && !in_pieces))
    return false;
  let_go();
  return true;
}

// What stands becomes a batch; the beginning of the open transaction goes into the next one.
void batcher::cut() {
  const auto at = standing_;
  const auto bytes = bytes_ - at.bytes;
  auto whole = std::move(open_);
  start_batch();
  bytes_ = bytes;
  open_.rows = whole.rows;
  open_.rows -= at.rows;
  whole.rows = at.rows;
  whole.reached = at.reached;
  whole.upto = whole.work->changes[at.changes - 1].number;
  divide_leases(whole, at.changes);
  auto& changes = whole.work->changes;
  const auto tail = changes.begin() + static_cast<std::ptrdiff_t>(at.changes);
  open_.work->changes.assign(tail, changes.end());
  changes.erase(tail, changes.end());
  move_tail(whole);
  ready_.push_back(std::move(whole));
}

/// Gives the changes of the open batch, which still index `from`, places of their own.
void batcher::move_tail(outgoing& from) {
  const auto& old = *from.work;
  open_.work->changes.reserve(changes_max_);
  open_.work->tables = old.tables;
  open_.routes = from.routes;
  std::vector<std::uint32_t> places(old.blocks.size(), change::none);
  for (auto& each : open_.work->changes) {
    auto& place = places[each.block];
    if (place == change::none)
      place = adopt(old.blocks[each.block]);
    each.block = place;
    if (each.transaction == change::none)
      continue;
    if (transaction_at_ == change::none)
      adopt_transaction();
    each.transaction = transaction_at_;
  }
}

void batcher::divide_leases(outgoing& from, std::size_t at) {
  const auto later =
      std::ranges::find_if(from.leases, [&](const lease& each) { return each.changes > at; });
  for (auto each = later; each != from.leases.end(); ++each) {
    each->changes -= at;
    held_[each->is_copy ? 1 : 0] += credit{1, each->bytes};
    open_.leases.push_back(*each);
  }
  from.leases.erase(later, from.leases.end());
}

} // namespace cdc::engine
