#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/type_id.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/interfaces.hpp"
#include "messages/wire.hpp"

/// The hop between source and engine when they run in two processes.
///
///   source ─ shipment ▶ link_out ═ pieces ═▶ link_in ─ shipment ▶ engine
///     ▲  ◀─ repayment ──   ▲     ◀═ notes ══    ▲  ◀─ repayment ──
///
/// Neither end lets credit pass that was not paid: a block is paid for by the engine alone, and its
/// cost is the same on both sides. A block travels in its wire form, encoded once, in pieces of at
/// most wire::piece_max, so that a heartbeat is never behind more than one of them.
namespace cdc::actors {

/// A part of a block. An empty last one says only that the source is empty.
struct link_piece {
  incarnation life = 0;
  bool is_last = true;
  bool source_is_empty = false;
  std::string bytes; ///< A string: the framework copies any other vector byte by byte.
};

/// What goes the other way.
struct link_note {
  enum class kind : std::uint8_t { credit, confirmation, position_wanted, quiet };
  incarnation life = 0;
  kind what = kind::credit;
  std::uint32_t blocks = 0;
  std::uint64_t bytes = 0;    ///< Of credit.
  std::uint64_t position = 0; ///< Of a confirmation.
};

/// Begin a life: read the log from here on, for the link_in that asks.
struct link_hello {
  incarnation life = 0;
  std::uint64_t from = 0;
  std::string server; ///< stream_identity::server.
  std::vector<std::string> publications;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_piece& x) {
  return f(caf::meta::type_name("link_piece"), x.life, x.is_last, x.source_is_empty, x.bytes);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_note& x) {
  return f(caf::meta::type_name("link_note"), x.life, x.what, x.blocks, x.bytes, x.position);
}
template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, link_hello& x) {
  return f(caf::meta::type_name("link_hello"), x.life, x.from, x.server, x.publications);
}

/// The source's end: takes the place of a branch.
class link_out {
public:
  static constexpr const char* name = "cdc.link_out";

  link_out() = default;
  explicit link_out(caf::event_based_actor* self) : self_(self) {}

  /// `far` is the link_in. Ends when it is gone.
  caf::behavior start(incarnation life, caf::actor far);

private:
  void on_shipment(const shipment& next);
  void on_note(const link_note& note);

  caf::event_based_actor* self_ = nullptr;
  incarnation life_ = 0;
  caf::actor far_;
  caf::strong_actor_ptr source_;
  std::vector<std::byte> encoded_;
};

/// The engines' end: takes the place of the source for one branch.
class link_in {
public:
  static constexpr const char* name = "cdc.link_in";

  link_in() = default;
  explicit link_in(caf::event_based_actor* self) : self_(self) {}

  /// Says `hello` to `host`, which answers with pieces. Ends when either is gone.
  caf::behavior start(caf::actor host, link_hello hello, engine_actor engine,
                      std::shared_ptr<actor_stats> stats);

private:
  void on_piece(const link_piece& piece);
  void note(link_note::kind what, credit back = {}, position at = {});

  caf::event_based_actor* self_ = nullptr;
  incarnation life_ = 0;
  caf::actor host_;
  caf::actor far_; ///< The link_out, once it has sent something.
  engine_actor engine_;
  std::shared_ptr<actor_stats> stats_;
  std::string collected_;
  block_pool pool_{32};
  wire::known_relations shapes_;
};

/// Spawn with `system.spawn(link_out_behavior, life, far)`.
caf::behavior link_out_behavior(caf::stateful_actor<link_out>* self, incarnation life,
                                caf::actor far);
caf::behavior link_in_behavior(caf::stateful_actor<link_in>* self, caf::actor host,
                               link_hello hello, engine_actor engine,
                               std::shared_ptr<actor_stats> stats);

} // namespace cdc::actors

CAF_BEGIN_TYPE_ID_BLOCK(cdc_link, caf::first_custom_type_id + 100)

CAF_ADD_TYPE_ID(cdc_link, (cdc::actors::link_piece))
CAF_ADD_TYPE_ID(cdc_link, (cdc::actors::link_note))
CAF_ADD_TYPE_ID(cdc_link, (cdc::actors::link_hello))

CAF_END_TYPE_ID_BLOCK(cdc_link)
