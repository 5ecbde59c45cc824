#include "actors/link.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <caf/send.hpp>

namespace cdc::actors {

// -- the source's end -----------------------------------------------------------------------------

caf::behavior link_out_behavior(caf::stateful_actor<link_out>* self, incarnation life,
                                caf::actor far) {
  self->state = link_out{self};
  return self->state.start(life, std::move(far));
}

caf::behavior link_out::start(incarnation life, caf::actor far) {
  keep_house(self_);
  life_ = life;
  far_ = std::move(far);
  self_->monitor(far_);
  self_->set_down_handler([this](const caf::down_msg&) {
    self_->quit(to_caf({errc::source_unavailable, "the engine's process is gone"}));
  });
  self_->send(far_, link_piece{life_, true, false, {}}); // Here I am.
  return {
      [this](const shipment& next) { on_shipment(next); },
      [this](const link_note& note) { on_note(note); },
  };
}

void link_out::on_shipment(const shipment& next) {
  source_ = self_->current_sender();
  if (!next.rows) {
    self_->send(far_, link_piece{life_, true, next.source_is_empty, {}});
    return;
  }
  wire::encode(*next.rows, encoded_);
  const auto* first = reinterpret_cast<const char*>(encoded_.data());
  for (std::size_t at = 0; at < encoded_.size(); at += wire::piece_max) {
    const auto end = std::min(encoded_.size(), at + wire::piece_max);
    self_->send(far_, link_piece{life_, end == encoded_.size(), next.source_is_empty,
                                 std::string{first + at, first + end}});
  }
}

void link_out::on_note(const link_note& note) {
  if (note.life != life_ || !source_)
    return;
  const auto source = caf::actor_cast<caf::actor>(source_);
  switch (note.what) {
    case link_note::kind::credit:
      caf::anon_send(source, repayment{life_, 0, {note.blocks, note.bytes}});
      break;
    case link_note::kind::confirmation:
      caf::anon_send(source, confirmation{life_, position{note.position}});
      break;
    case link_note::kind::position_wanted:
      caf::anon_send(source, position_wanted{life_});
      break;
    case link_note::kind::quiet:
      caf::anon_send(source, quiet{life_});
      break;
  }
}

// -- the engines' end -----------------------------------------------------------------------------

caf::behavior link_in_behavior(caf::stateful_actor<link_in>* self, caf::actor host,
                               link_hello hello, engine_actor engine,
                               std::shared_ptr<actor_stats> stats) {
  self->state = link_in{self};
  return self->state.start(std::move(host), std::move(hello), std::move(engine), std::move(stats));
}

caf::behavior link_in::start(caf::actor host, link_hello hello, engine_actor engine,
                             std::shared_ptr<actor_stats> stats) {
  keep_house(self_);
  life_ = hello.life;
  host_ = std::move(host);
  engine_ = std::move(engine);
  stats_ = std::move(stats);
  stats_->running();
  self_->monitor(host_);
  self_->set_down_handler([this](const caf::down_msg&) {
    self_->quit(to_caf({errc::source_unavailable, "the source's process is gone"}));
  });
  self_->send(host_, std::move(hello));
  return {
      [this](const link_piece& piece) { on_piece(piece); },
      [this](const repayment& paid) { note(link_note::kind::credit, paid.back); },
      [this](const confirmation& done) { note(link_note::kind::confirmation, {}, done.durable); },
      [this](const position_wanted&) { note(link_note::kind::position_wanted); },
      [this](const quiet&) { note(link_note::kind::quiet); },
  };
}

void link_in::on_piece(const link_piece& piece) {
  const handler_scope scope{*stats_};
  if (piece.life != life_)
    return;
  if (!far_) {
    far_ = caf::actor_cast<caf::actor>(self_->current_sender());
    self_->monitor(far_);
  }
  if (collected_.size() + piece.bytes.size() > wire::message_max) {
    self_->quit(to_caf({errc::malformed_message, "a block of the link is too long"}));
    return;
  }
  collected_ += piece.bytes;
  if (!piece.is_last)
    return;
  shipment next{life_, {}, piece.source_is_empty, std::chrono::steady_clock::now()};
  if (!collected_.empty()) {
    auto rows = wire::decode_block(std::as_bytes(std::span{collected_}), pool_, shapes_);
    collected_.clear();
    if (!rows) {
      self_->quit(to_caf(rows.error()));
      return;
    }
    next.rows = std::move(*rows);
  }
  self_->send(engine_, std::move(next));
}

void link_in::note(link_note::kind what, credit back, position at) {
  if (far_)
    self_->send(far_, link_note{life_, what, back.blocks, back.bytes, at.token});
}

} // namespace cdc::actors
