#include "actors/reader_actor.hpp"

#include <utility>

#include <caf/others.hpp>

namespace cdc::actors {

namespace {

template <class T>
caf::result<T> answer(result<T> what) {
  if (!what)
    return to_caf(what.error());
  return std::move(*what);
}

caf::result<done_atom> answer(result<void> what) {
  if (!what)
    return to_caf(what.error());
  return done_atom_v;
}

} // namespace

table_reading::table_reading(caf::actor_config& config,
                             std::shared_ptr<sources::table_reader> reader,
                             std::shared_ptr<actor_stats> stats)
    : poll_actor(config), reader_(std::move(reader)), stats_(std::move(stats)) {}

// -- conversation ---------------------------------------------------------------------------------

void table_reading::handle_messages(bool waits) {
  const auto next = [this](auto... timeout) {
    receive([this](const range_order& order) { return on_range(order); },
            [this](const rows_wanted& more) { on_rows_wanted(more); },
            [this](const range_close& order) { return on_close(order); },
            [this](const plan_order& order) {
              return answer(reader_->plan(*order.table, order.chunk_rows));
            },
            [this](const key_order& order) {
              return answer(reader_->read_key(order.table, order.key));
            },
            [this](const look_order&) { return answer(reader_->look()); },
            [this](const pressure_order&) { return answer(reader_->pressure()); },
            [this](const nudge_order&) { return answer(reader_->nudge()); },
            [this](const shape_order& order) { on_shape(order); },
            [this](const caf::exit_msg&) { is_stopped_ = true; },
            caf::others >> [](caf::message_view&) -> caf::result<caf::message> {
              return caf::sec::unexpected_message;
            },
            timeout...);
  };
  if (waits)
    next();
  else
    next(caf::after(std::chrono::seconds{0}) >> [] {});
}

// -- what each message does -----------------------------------------------------------------------

caf::result<sources::view> table_reading::on_range(const range_order& order) {
  stats_->doing("opens a range");
  auto view = reader_->open(order.table, order.plan, order.range);
  if (!view)
    return to_caf(view.error());
  open_ = order.number;
  wanted_ = 0;
  at_end_ = false;
  orderer_ = current_sender();
  return std::move(*view);
}

void table_reading::on_rows_wanted(const rows_wanted& more) {
  if (open_ == more.number)
    wanted_ += more.blocks;
}

caf::result<done_atom> table_reading::on_close(const range_close& order) {
  if (open_ != order.number)
    return done_atom_v;
  open_.reset();
  return answer(reader_->close());
}

void table_reading::on_shape(const shape_order& order) {
  send(caf::actor_cast<caf::actor>(current_sender()),
       shape_found{order.oid, reader_->describe(order.oid)});
}

// -- steps ----------------------------------------------------------------------------------------

result<void> table_reading::run() {
  stats_->running();
  while (!is_stopped_) {
    if (!copies()) {
      stats_->doing(open_ && !at_end_ ? static_text{"waits for credit"}
                                      : static_text{"waits for orders"});
      stats_->starved(open_ && !at_end_);
      handle_messages(true);
      continue;
    }
    stats_->starved(false);
    if (has_next_message())
      handle_messages(false);
    else
      copy();
  }
  return {};
}

void table_reading::ended() noexcept {
  reader_.reset();
}

void table_reading::copy() {
  const handler_scope scope{*stats_};
  stats_->doing("copies a range");
  const auto number = *open_;
  const auto to = caf::actor_cast<load_coordinator_actor>(orderer_);
  auto rows = reader_->next();
  if (!rows) {
    open_.reset();
    (void)reader_->close();
    send(to, range_failed{number, rows.error()});
    return;
  }
  --wanted_;
  at_end_ = !*rows;
  send(to, rows_read{number, std::move(*rows)});
}

} // namespace cdc::actors
