#include "actors/caf_compat.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>
#include <thread>

#include <caf/atom.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

namespace cdc::actors {

namespace {

constexpr auto category = caf::atom("cdc");

timespec span_until(std::chrono::steady_clock::time_point until) {
  using namespace std::chrono;
  const auto left = std::clamp<nanoseconds>(until - steady_clock::now(), 0ns, 1h);
  const auto whole = duration_cast<seconds>(left);
  return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

} // namespace

// Sharing, not stealing: a stealing worker polls for work and doubled our CPU. A bounded
// throughput, because an actor otherwise keeps its worker until its mailbox is empty and starves
// the rest.
void configure_scheduler(caf::actor_system_config& of, std::size_t threads) {
  if (threads == 0)
    threads = std::max<std::size_t>(2, std::thread::hardware_concurrency());
  of.set("scheduler.policy", caf::atom("sharing"));
  of.set("scheduler.max-throughput", 32);
  of.set("scheduler.max-threads", threads);
  of.set("logger.verbosity", caf::atom("quiet"));
}

caf::error to_caf(const error& why) {
  return caf::error{static_cast<std::uint8_t>(why.code), category, caf::make_message(why.detail)};
}

error from_caf(const caf::error& why) {
  if (why.category() == category) {
    const auto& context = why.context();
    return {static_cast<errc>(why.code()),
            context.match_elements<std::string>() ? context.get_as<std::string>(0) : ""};
  }
  if (is_orderly(why))
    return {errc::cancelled, "stopped"};
  return {errc::invariant_broken, "an actor ended with " + caf::to_string(why.category()) + " " +
                                      std::to_string(why.code())};
}

bool is_orderly(const caf::error& why) {
  if (!why)
    return true;
  if (why.category() == category)
    return static_cast<errc>(why.code()) == errc::cancelled;
  return why == caf::exit_reason::normal || why == caf::exit_reason::user_shutdown;
}

std::string describe(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "unknown exception";
  }
}

void run_aside(caf::actor_system& in, std::function<void()> what) {
  in.spawn([](caf::blocking_actor*, const std::function<void()>& job) { job(); }, std::move(what));
}

poll_actor::poll_actor(caf::actor_config& config)
    : caf::blocking_actor(config), wakeup_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wakeup_ < 0)
    throw std::system_error{errno, std::generic_category(), "eventfd"};
}

poll_actor::~poll_actor() {
  ::close(wakeup_);
}

void poll_actor::enqueue(caf::mailbox_element_ptr what, caf::execution_unit* unit) {
  blocking_actor::enqueue(std::move(what), unit);
  if (armed_.exchange(false)) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wakeup_, &one, sizeof one);
  }
}

// An exception must not leave act(): its text would be lost.
void poll_actor::act() {
  try {
    if (auto done = run(); !done)
      fail_state(to_caf(done.error()));
  } catch (...) {
    fail_state(to_caf(
        {errc::invariant_broken, std::string{name()} + ": " + describe(std::current_exception())}));
  }
  ended();
}

void poll_actor::wait(int descriptor, short events, std::chrono::steady_clock::time_point until) {
  std::array<pollfd, 2> watched{pollfd{wakeup_, POLLIN, 0}, pollfd{descriptor, events, 0}};
  armed_ = true;
  const auto span = has_next_message() ? timespec{} : span_until(until);
  ::ppoll(watched.data(), descriptor < 0 ? 1 : 2, &span, nullptr);
  armed_ = false;
  if (watched[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto size = ::read(wakeup_, &count, sizeof count);
  }
}

} // namespace cdc::actors
