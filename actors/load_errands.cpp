#include "actors/load_errands.hpp"

#include <algorithm>
#include <utility>

#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include "actors/caf_compat.hpp"

namespace cdc::actors {

namespace {

constexpr std::size_t reads_at_once = 4;

} // namespace

load_errands::load_errands(load_coordinator_actor::pointer self, engine_actor engine,
                           source_actor source, reader_actor desk, errand_options options)
    : self_(self), engine_(std::move(engine)), source_(std::move(source)), desk_(std::move(desk)),
      options_(std::move(options)) {}

void load_errands::wait_for(std::optional<position> log_end) {
  if (log_end == waits_for_)
    return;
  const auto is_further = log_end && (!waits_for_ || *log_end > *waits_for_);
  waits_for_ = log_end;
  if (!waits_for_)
    nudge_due_ = clock::time_point::max();
  if (!is_further)
    return;
  caf::anon_send(source_, position_wanted{options_.life});
  nudge_due_ = self_->clock().now() + options_.nudge_after;
}

void load_errands::want_proof(bool wanted) {
  if (wanted && !wants_proof_)
    proof_patience_.reset();
  wants_proof_ = wanted;
}

void load_errands::read_again(std::uint16_t table, std::string key) {
  listed_row row;
  row.table = table;
  row.key = std::move(key);
  listed_.emplace(clock::time_point{}, std::move(row));
}

void load_errands::run(clock::time_point now, bool is_loading) {
  is_loading_ = is_loading;
  hasten(now);
  look(now);
  read_rows(now);
  watch_pressure(now);
}

std::optional<load_errands::clock::time_point> load_errands::due() const {
  auto least = is_nudging_ ? clock::time_point::max() : nudge_due_;
  if (wants_proof_ && !is_looking_)
    least = std::min(least, proof_due_);
  if (reading_ < reads_at_once && !listed_.empty())
    least = std::min(least, listed_.begin()->first);
  if (watches_pressure() && !is_asking_pressure_)
    least = std::min(least, pressure_due_);
  return least == clock::time_point::max() ? std::nullopt : std::optional{least};
}

// -- the stream's position ------------------------------------------------------------------------

// A busy log passes the position by itself; an idle one has to be moved, or it would take until the
// server's next background flush.
void load_errands::hasten(clock::time_point now) {
  if (!waits_for_ || is_nudging_ || now < nudge_due_)
    return;
  is_nudging_ = true;
  nudge([this] {
    is_nudging_ = false;
    caf::anon_send(source_, position_wanted{options_.life});
    nudge_due_ = waits_for_ ? self_->clock().now() + std::chrono::milliseconds{50}
                            : clock::time_point::max();
  });
}

void load_errands::nudge(const std::function<void()>& then) {
  self_->request(desk_, caf::infinite, nudge_order{})
      .then(
          [this, then](done_atom) {
            then();
            answered(nullptr);
          },
          [this, then](const caf::error& why) {
            then();
            on_error(why);
          });
}

// -- proofs ---------------------------------------------------------------------------------------

void load_errands::look(clock::time_point now) {
  if (!wants_proof_ || is_looking_ || now < proof_due_)
    return;
  is_looking_ = true;
  self_->request(desk_, caf::infinite, look_order{})
      .then(
          [this](const snapshot& seen) {
            is_looking_ = false;
            proof_due_ = self_->clock().now() + proof_patience_.next();
            self_->send(engine_, proof{options_.life, seen});
            answered(nullptr);
          },
          [this](const caf::error& why) {
            is_looking_ = false;
            proof_due_ = self_->clock().now() + proof_patience_.next();
            on_error(why);
          });
}

// -- listed rows ----------------------------------------------------------------------------------

void load_errands::read_rows(clock::time_point now) {
  while (reading_ < reads_at_once && !listed_.empty() && listed_.begin()->first <= now) {
    ++reading_;
    read(listed_.extract(listed_.begin()).mapped());
  }
}

void load_errands::read(const listed_row& row) {
  self_->request(desk_, caf::infinite, key_order{options_.shapes[row.table], row.key})
      .then(
          [this, row](sources::table_reader::found_row& found) {
            offer(row, std::move(found));
            answered(nullptr);
          },
          [this, row](const caf::error& why) {
            read_later(row);
            on_error(why);
          });
}

void load_errands::offer(const listed_row& row, sources::table_reader::found_row found) {
  self_
      ->request(engine_, caf::infinite,
                found_key{options_.life, row.table, row.key, std::move(found)})
      .then([this, row](engine::verdict verdict) {
        if (verdict == engine::verdict::not_yet) {
          read_later(row);
        } else {
          --reading_;
          ++options_.counts->refetched;
        }
        answered(nullptr);
      });
}

void load_errands::read_later(listed_row row) {
  --reading_;
  const auto due = self_->clock().now() + row.patience.next();
  listed_.emplace(due, std::move(row));
}

// -- pressure -------------------------------------------------------------------------------------

void load_errands::watch_pressure(clock::time_point now) {
  if (!is_loading_)
    is_under_pressure_ = false;
  if (!watches_pressure() || is_asking_pressure_ || now < pressure_due_)
    return;
  is_asking_pressure_ = true;
  self_->request(desk_, caf::infinite, pressure_order{})
      .then(
          [this](const sources::log_pressure& seen) {
            on_pressure(seen);
            answered(nullptr);
          },
          [this](const caf::error& why) {
            on_pressure({});
            on_error(why);
          });
}

void load_errands::on_pressure(const sources::log_pressure& seen) {
  using state = sources::log_pressure::state;
  is_asking_pressure_ = false;
  pressure_due_ = self_->clock().now() + options_.pressure_interval * (is_loading_ ? 1 : 2);
  is_under_pressure_ =
      is_loading_ && (seen.status == state::extended || seen.status == state::unreserved);
  options_.pipeline_counts->load_paused(is_under_pressure_ ? options_.pressure_words
                                                           : static_text{""});
  if (!options_.slot.empty() && seen.status != state::unknown)
    show_slot(seen);
}

void load_errands::show_slot(const sources::log_pressure& seen) {
  using state = sources::log_pressure::state;
  slot_view slot;
  slot.name = options_.slot;
  slot.is_active = options_.pipeline_counts->is_connected;
  slot.retained_bytes = seen.retained_bytes;
  slot.safe_bytes = seen.safe_bytes;
  switch (seen.status) {
    case state::reserved:
      slot.status = wal_status::reserved;
      break;
    case state::extended:
      slot.status = wal_status::extended;
      break;
    case state::unreserved:
      slot.status = wal_status::unreserved;
      break;
    case state::lost:
      slot.status = wal_status::lost;
      break;
    case state::unknown:
      break;
  }
  options_.pipeline_counts->slots({slot});
}

// The connection is made anew by the next order; what was asked is asked again when it is due.
void load_errands::on_error(const caf::error& why) {
  const auto known = from_caf(why);
  answered(&known);
}

} // namespace cdc::actors
