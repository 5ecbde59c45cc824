#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/typed_actor.hpp>

#include "actors/interfaces.hpp"
#include "messages/error.hpp"
#include "messages/type_ids.hpp"
#include "supervision/set_up.hpp"

/// The conversations of the supervisors.
namespace cdc::supervision {

using actors::incarnation;

/// What setting up a life came to.
struct set_up_done {
  incarnation life = 0;
  result<std::shared_ptr<life_setup>> setup;
};

/// All that a life held is destroyed: files are closed, locks are free.
struct life_cleared {
  incarnation life = 0;
};

/// A delay is over.
struct wake {
  incarnation life = 0;
};

/// Try again after a halt, as if nothing had failed before.
struct revive {};

/// Runs one pipeline, one life after another.
using pipeline_actor =
    caf::typed_actor<caf::reacts_to<set_up_done>, caf::reacts_to<life_cleared>,
                     caf::reacts_to<wake>,
                     // Of the present life's actors.
                     caf::reacts_to<actors::confirmation>, caf::reacts_to<actors::branch_loaded>,
                     // End in an orderly way; a second one does not wait.
                     caf::reacts_to<stop_atom>, caf::reacts_to<revive>>;

/// Where a pipeline has come to.
struct pipeline_news {
  enum class what : std::uint8_t {
    running, ///< A life has begun.
    failed,  ///< It will be rebuilt.
    halted,  ///< It waits for a person.
    over,    ///< It ended as it was asked to.
  };
  std::size_t pipeline = 0;
  what kind = what::running;
  error why;               ///< Of failed and halted.
  bool comes_back = false; ///< Of halted: by itself, after a time.
};

/// Runs all pipelines of the process.
using root_actor = caf::typed_actor<
    // A pipeline has news.
    caf::reacts_to<pipeline_news>,
    // End all of them.
    caf::reacts_to<stop_atom>,
    // Try a halted pipeline again: its number.
    caf::reacts_to<revive, std::uint64_t>,
    // Answers: the actors are alive.
    caf::replies_to<alive_atom>::with<alive_atom>>;

} // namespace cdc::supervision

#define CDC_IN_PROCESS(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(cdc::supervision::type)
CDC_IN_PROCESS(set_up_done)
CDC_IN_PROCESS(life_cleared)
CDC_IN_PROCESS(wake)
CDC_IN_PROCESS(revive)
CDC_IN_PROCESS(pipeline_news)
#undef CDC_IN_PROCESS
