#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/config.hpp>
#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message_id.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/system_messages.hpp>
#include <poll.h>

#include "messages/error.hpp"

/// Everything that differs between versions of the actor framework, and the few things it lacks.
namespace cdc::actors {

static_assert(CAF_VERSION / 100 == 17,
              "written for CAF 0.17; the rest of the program does not care");

/// A request's deadline. Never pass a std::chrono value: that overload drops the priority.
[[nodiscard]] inline caf::duration deadline(std::chrono::milliseconds span) {
  return caf::duration{span};
}

/// An exit that overtakes queued data: the framework's own waits behind it.
template <class Handle>
void send_exit_now(const Handle& to, caf::error why) {
  if (auto target = caf::actor_cast<caf::strong_actor_ptr>(to))
    target->enqueue(nullptr, caf::make_message_id(caf::message_priority::high),
                    caf::make_message(caf::exit_msg{target->address(), std::move(why)}), nullptr);
}

template <class Handle>
void send_exit_now(const Handle& to) {
  send_exit_now(to, caf::exit_reason::user_shutdown);
}

/// Scheduling as measured for this program: `threads` 0 means one a core, and two at least.
void configure_scheduler(caf::actor_system_config& of, std::size_t threads = 0);

/// Between our errors and the framework's; nowhere else. `why` of an orderly end becomes
/// errc::cancelled.
[[nodiscard]] caf::error to_caf(const error& why);
[[nodiscard]] error from_caf(const caf::error& why);

[[nodiscard]] std::string describe(const std::exception_ptr& thrown);

/// True for the reasons of an actor that ended because it was done, or was asked to.
[[nodiscard]] bool is_orderly(const caf::error& why);

/// What every scheduled actor begins with: nothing unexpected is printed, and an exception ends the
/// actor with its text.
template <class Self>
void keep_house(Self* self) {
  self->set_default_handler(caf::drop);
  self->set_exception_handler([self](std::exception_ptr& thrown) {
    return to_caf({errc::invariant_broken, std::string{self->name()} + ": " + describe(thrown)});
  });
}

/// Runs what blocks on a thread of its own, once. It must not throw.
void run_aside(caf::actor_system& in, std::function<void()> what);

/// An actor with a thread of its own that waits for its mailbox and a descriptor at once.
///
/// Subclasses implement run(); an error it returns, or an exception out of it, is the reason that
/// monitors see. Every receive in it needs a catch-all, or an unmatched message makes it spin.
class poll_actor : public caf::blocking_actor {
public:
  explicit poll_actor(caf::actor_config& config);
  ~poll_actor() override;

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* unit) override;
  void act() final;

protected:
  [[nodiscard]] virtual result<void> run() = 0;
  /// The last call on the actor's own thread: resources that others watch go here.
  virtual void ended() noexcept {}

  /// Waits until `descriptor` (-1: none) has one of `events`, a message is there, or `until`.
  void wait(int descriptor, short events, std::chrono::steady_clock::time_point until);

private:
  int wakeup_ = -1;
  std::atomic<bool> armed_{false};
};

} // namespace cdc::actors
