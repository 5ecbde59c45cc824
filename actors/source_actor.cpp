#include "actors/source_actor.hpp"

#include <algorithm>
#include <utility>

#include <caf/others.hpp>

#include "actors/log.hpp"

namespace cdc::actors {

using clock = sources::clock;

log_reader::log_reader(caf::actor_config& config, std::unique_ptr<sources::log_stream> log,
                       std::vector<engine_actor> branches, reader_actor catalogue,
                       source_options options)
    : poll_actor(config), log_(std::move(log)), branches_(std::move(branches)),
      catalogue_(std::move(catalogue)), options_(std::move(options)),
      windows_(branches_.size(), credit_window{options_.window}) {}

// -- conversation ---------------------------------------------------------------------------------

void log_reader::handle_messages() {
  const auto is_mine = [this](incarnation life) { return life == options_.life; };
  while (has_next_message())
    receive(
        [&](const repayment& paid) {
          if (is_mine(paid.life))
            on_repayment(paid);
        },
        [&](const confirmation& done) {
          if (is_mine(done.life)) {
            log_->confirm(done.durable);
            options_.counts->durable = done.durable.token;
          }
        },
        [&](const position_wanted& asked) {
          if (is_mine(asked.life))
            log_->ask_for_position();
        },
        [&](const quiet& told) { is_quiet_ |= is_mine(told.life); },
        [this](const shape_found& answer) { on_shape(answer); },
        [this](const caf::exit_msg&) { is_stopped_ = true; },
        caf::others >> [](caf::message_view&) -> caf::result<caf::message> {
          return caf::sec::unexpected_message;
        },
        caf::after(std::chrono::seconds{0}) >> [] {});
}

// -- what each message does -----------------------------------------------------------------------

void log_reader::on_repayment(const repayment& paid) {
  windows_[paid.branch].restore(paid.back);
  show_credit();
}

void log_reader::on_shape(const shape_found& answer) {
  asked_shape_.reset();
  if (answer.shape)
    log_->provide(*answer.shape);
  else
    failure_ = answer.shape.error();
}

// -- steps ----------------------------------------------------------------------------------------

result<void> log_reader::run() {
  options_.stats->running();
  while (!is_stopped_) {
    {
      const handler_scope scope{*options_.stats};
      handle_messages();
    }
    if (is_stopped_)
      break;
    if (failure_)
      return tl::unexpected(*failure_);
    if (auto stepped = step(clock::now()); !stepped)
      return stepped;
  }
  // What was confirmed last still goes out.
  if (!failure_)
    (void)log_->advance(clock::now(), false);
  return {};
}

void log_reader::ended() noexcept {
  log_->close();
  log_.reset();
  options_.counts->is_connected = false;
  options_.counts->is_catching_up = false;
}

result<void> log_reader::step(clock::time_point now) {
  if (now < naps_until_) {
    wait(-1, 0, naps_until_);
    return {};
  }
  const auto reads = may_read();
  auto next = [&] {
    const handler_scope scope{*options_.stats};
    return log_->advance(now, reads);
  }();
  if (!next)
    return tl::unexpected(next.error());
  options_.counts->is_connected = true;
  show_reading();
  ask_for_shape();
  switch (*next) {
    case sources::log_stream::next::ship:
      ship(false);
      take(log_->take_block());
      break;
    case sources::log_stream::next::nap:
      ship(false);
      naps_until_ = now + options_.nap;
      break;
    case sources::log_stream::next::poll:
      ship(true); // Without credit too: nothing follows before the branches have let go of
                  // something.
      options_.stats->starved(!reads && !is_quiet_);
      options_.stats->doing(reads ? static_text{"waits for the log"}
                                  : static_text{"waits for credit"});
      wait(log_->socket(), log_->wants_events(reads), log_->deadline());
      break;
  }
  return {};
}

// One block is held back until the next look at the socket has told whether more follows it; that
// costs one read of an empty socket and spares the branches a message of its own.
void log_reader::take(block_ptr rows) {
  if (!rows)
    return;
  show(*rows);
  const auto bytes = rows->bytes();
  for (auto& window : windows_)
    window.spend(bytes);
  held_ = shipment{options_.life, std::move(rows), false, clock::now()};
  show_credit();
}

void log_reader::ship(bool source_is_empty) {
  if (!held_ && (told_empty_ || !source_is_empty))
    return;
  auto next = held_ ? *std::exchange(held_, std::nullopt) : shipment{options_.life, {}, true, {}};
  next.source_is_empty = source_is_empty;
  told_empty_ = source_is_empty;
  for (const auto& branch : branches_)
    send(branch, next);
}

void log_reader::ask_for_shape() {
  const auto oid = log_->unknown_relation();
  if (!oid || asked_shape_ == oid)
    return;
  asked_shape_ = oid;
  send(catalogue_, shape_order{*oid});
}

bool log_reader::may_read() const noexcept {
  return !is_quiet_ && std::all_of(windows_.begin(), windows_.end(),
                                   [](const credit_window& window) { return window.open(); });
}

void log_reader::show_reading() {
  auto& counts = *options_.counts;
  const auto now = log_->reading();
  const auto catches_up = now.how == sources::log_reading::mode::catch_up;
  if (counts.is_catching_up.exchange(catches_up) != catches_up) {
    counts.catch_ups += catches_up ? 1 : 0;
    log::voice{options_.pipeline}.info("source.reading", "{}",
                                       catches_up
                                           ? "far behind: reads the log from a copy of the slot"
                                           : "goes on with the stream");
  }
  if (now.log_end.token > counts.current.load())
    counts.current = now.log_end.token;
  if (const auto news = log_->take_news()) {
    counts.reading_noted(*news);
    log::voice{options_.pipeline}.warn("source.reading", "{}", *news);
  }
}

/// What the branch that holds the others back leaves.
void log_reader::show_credit() {
  const auto slowest = std::max_element(windows_.begin(), windows_.end(),
                                        [](const credit_window& left, const credit_window& right) {
                                          return left.out().blocks < right.out().blocks;
                                        });
  const auto all = slowest->window();
  const auto out = slowest->out();
  options_.stats->held({all.blocks - out.blocks, all.bytes - std::min(all.bytes, out.bytes)});
  options_.stats->in_flight(out.bytes);
}

// Counters are written once a block: what they say may be a block behind, and costs nothing a row.
void log_reader::show(const block& rows) {
  auto& counts = *options_.counts;
  std::uint64_t changes = 0;
  for (const auto& event : rows.events)
    switch (event.what) {
      case operation::insert:
      case operation::update:
      case operation::remove:
        ++changes;
        break;
      case operation::truncate:
        ++counts.events_truncate;
        break;
      case operation::commit: {
        const auto& ended = rows.transactions[event.first];
        ++counts.transactions;
        counts.received(ended.end, ended.commit_time);
        break;
      }
      case operation::advance: {
        const auto end = rows.transactions[event.first].end;
        counts.received(end, 0);
        counts.current = std::max(counts.current.load(), end.token);
        break;
      }
      case operation::begin:
      case operation::row:
        break;
    }
  counts.events_row += changes;
  counts.stream_bytes += rows.bytes();
}

} // namespace cdc::actors
