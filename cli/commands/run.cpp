#include "cli/commands/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/flow.hpp"
#include "actors/http/server.hpp"
#include "actors/log.hpp"
#include "cli/pipeline_source.hpp"
#include "cli/progress.hpp"
#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "supervision/root_supervisor.hpp"
#include "supervision/service.hpp"

namespace cdc::cli {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A descriptor that is closed at the end.
class descriptor {
public:
  explicit descriptor(int number) noexcept : number_(number) {}
  ~descriptor() { ::close(number_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int get() const noexcept { return number_; }

private:
  int number_;
};

/// SIGINT, SIGTERM and SIGHUP as something to poll. Made before any thread is, so that none takes
/// them.
class stop_signals {
public:
  stop_signals() : from_(block()) {}

  [[nodiscard]] int descriptor_number() const noexcept { return from_.get(); }
  void take() const noexcept {
    signalfd_siginfo what;
    [[maybe_unused]] const auto size = ::read(from_.get(), &what, sizeof what);
  }

private:
  static bool is_ignored(int signal) {
    struct sigaction how {};
    return ::sigaction(signal, nullptr, &how) == 0 && how.sa_handler == SIG_IGN;
  }

  static int block() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    if (!is_ignored(SIGHUP)) // by nohup: it is to outlive its terminal
      sigaddset(&wanted, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  descriptor from_;
};

/// What the actors tell the main thread, from theirs.
class report_box {
public:
  report_box() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void over(const supervision::outcome& how) {
    {
      const std::lock_guard hold{guard_};
      outcome_ = how;
    }
    ring();
  }
  void ready() {
    is_ready_ = true;
    ring();
  }
  void alive() {
    is_alive_ = true;
    ring();
  }

  [[nodiscard]] int descriptor_number() const noexcept { return event_.get(); }
  void take() const noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto size = ::read(event_.get(), &count, sizeof count);
  }
  [[nodiscard]] std::optional<supervision::outcome> outcome() {
    const std::lock_guard hold{guard_};
    return outcome_;
  }
  [[nodiscard]] bool take_ready() noexcept { return is_ready_.exchange(false); }
  [[nodiscard]] bool take_alive() noexcept { return is_alive_.exchange(false); }

private:
  void ring() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto size = ::write(event_.get(), &one, sizeof one);
  }

  descriptor event_;
  std::mutex guard_;
  std::optional<supervision::outcome> outcome_;
  std::atomic<bool> is_ready_{false};
  std::atomic<bool> is_alive_{false};
};

/// Shows how far the load and the stream are: on a terminal one line that is drawn over, elsewhere
/// a line in the log every ten seconds.
class progress_display {
public:
  progress_display(std::shared_ptr<const actors::board> board, bool on_terminal)
      : board_(std::move(board)), on_terminal_(on_terminal), due_(clock::now() + interval()) {}

  [[nodiscard]] clock::time_point due() const noexcept { return due_; }

  void show() {
    due_ = clock::now() + interval();
    auto now = board_->view();
    const auto flow = actors::derive_flow(before_ ? &*before_ : nullptr, now);
    if (on_terminal_)
      draw(now, flow);
    else
      say(now, flow);
    before_ = std::move(now);
  }

  /// Leaves the terminal's line to others.
  void end() {
    if (on_terminal_)
      std::fputs("\r\x1b[K", stderr);
  }

private:
  [[nodiscard]] std::chrono::milliseconds interval() const noexcept {
    return on_terminal_ ? 500ms : 10'000ms;
  }

  static void draw(const actors::board_view& now, const actors::flow_view& flow) {
    winsize size{};
    const auto known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    const auto line = progress_line(now, flow, known ? size.ws_col - 1u : 79u);
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  }

  void say(const actors::board_view& now, const actors::flow_view& flow) const {
    for (std::size_t i = 0; i < now.pipelines.size() && i < flow.pipelines.size(); ++i)
      if (has_news(now.pipelines[i], i))
        log::voice{now.pipelines[i].name}.info("supervisor.progress", "{}",
                                               progress_text(now.pipelines[i], flow.pipelines[i]));
  }

  // A stream that stands still has nothing to say.
  [[nodiscard]] bool has_news(const actors::pipeline_view& now, std::size_t number) const {
    if (!before_ || number >= before_->pipelines.size())
      return true;
    const auto& last = before_->pipelines[number];
    return now.state == actors::pipeline_state::loading || now.state != last.state ||
           now.events_row != last.events_row;
  }

  std::shared_ptr<const actors::board> board_;
  bool on_terminal_;
  clock::time_point due_;
  std::optional<actors::board_view> before_;
};

/// The framework may hang when it is taken down; what had to be written has been written before.
void exit_within(std::chrono::milliseconds span, int status) {
  std::thread{[span, status] {
    std::this_thread::sleep_for(span);
    log::flush();
    std::_Exit(status);
  }}.detach();
}

/// Waits for signals and for the actors, on the main thread.
class watch {
public:
  watch(const stop_signals& signals, report_box& reports, supervision::root_actor root,
        caf::actor_system& system, progress_display display)
      : signals_(signals), reports_(reports), root_(std::move(root)), system_(system),
        display_(std::move(display)) {}

  supervision::outcome run() {
    if (const auto span = service_.watchdog())
      ping_due_ = clock::now() + *span;
    while (true) {
      wait();
      if (reports_.take_ready())
        service_.ready();
      if (reports_.take_alive())
        service_.alive();
      if (auto outcome = reports_.outcome()) {
        display_.end();
        return *outcome;
      }
      do_what_is_due();
    }
  }

private:
  void wait() {
    pollfd from[] = {{signals_.descriptor_number(), POLLIN, 0},
                     {reports_.descriptor_number(), POLLIN, 0}};
    const auto due = std::min(display_.due(), ping_due_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - clock::now());
    ::poll(from, 2, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
    if (from[0].revents != 0) {
      signals_.take();
      on_signal();
    }
    if (from[1].revents != 0)
      reports_.take();
  }

  void on_signal() {
    if (std::exchange(is_stopping_, true)) {
      log::warn("supervisor.forced", "ends at once; what was not written is still at the source");
      log::flush();
      std::_Exit(1);
    }
    service_.stopping();
    caf::anon_send(root_, stop_atom_v);
    // The pipelines have their own deadline before this one.
    exit_within(4s, 0);
  }

  void do_what_is_due() {
    const auto now = clock::now();
    if (now >= display_.due())
      display_.show();
    if (now >= ping_due_) {
      ping_due_ = now + *service_.watchdog();
      ping();
    }
  }

  // Said only when an actor has answered: a scheduler that is stuck is not alive.
  void ping() {
    system_.spawn(
        [&reports = reports_](caf::event_based_actor* self, const supervision::root_actor& root) {
          self->request(root, actors::deadline(5s), alive_atom_v)
              .then([&reports](alive_atom) { reports.alive(); }, [](const caf::error&) {});
        },
        root_);
  }

  const stop_signals& signals_;
  report_box& reports_;
  supervision::root_actor root_;
  caf::actor_system& system_;
  progress_display display_;
  supervision::service service_;
  clock::time_point ping_due_ = clock::time_point::max();
  bool is_stopping_ = false;
};

int status_of(const supervision::outcome& how, bool once) {
  for (const auto& halted : how.halted)
    say(stderr, fmt::format("cdc-actors: {}: {} ({})\n", halted.name, halted.why.detail,
                            to_string(halted.why.code)));
  const auto is_lost = once ? !how.halted.empty() : how.halted.size() == how.pipelines;
  return is_lost ? 1 : 0;
}

int run_pipelines(std::vector<config::pipeline_config> configs, const run_options& options,
                  const stop_signals& signals) {
  const auto on_terminal = ::isatty(STDERR_FILENO) == 1;
  auto board = std::make_shared<actors::board>("local", CDC_VERSION);
  std::optional<actors::http::server> server;
  if (configs.front().metrics.enabled)
    server.emplace(actors::http::options_from(configs.front().metrics), board,
                   board->add(actors::actor_kind::http, "http"));

  const auto api = configs.front().api;
  std::vector<actors::http::sync_door> doors;
  report_box reports;
  supervision::root_options root;
  root.board = board;
  root.over = [&reports](const supervision::outcome& how) { reports.over(how); };
  root.ready = [&reports] { reports.ready(); };
  for (auto& config : configs) {
    for (const auto& note : config.notes)
      log::voice{config.source.name}.warn("config.notice", "{}", note);
    auto shared = std::make_shared<const config::pipeline_config>(std::move(config));
    auto& pipeline = root.pipelines.emplace_back();
    pipeline.config = shared;
    auto source = make_source(shared);
    doors.push_back(std::move(source.door));
    pipeline.make_parts = std::move(source.make_parts);
    pipeline.spell = std::move(source.spell);
    pipeline.once = options.once;
    pipeline.fresh = options.fresh;
  }

  std::optional<actors::http::server> synced;
  if (api.enabled)
    synced.emplace(actors::http::options_from(api), board, std::move(doors),
                   board->add(actors::actor_kind::http, "api"));

  caf::actor_system_config scheduling;
  actors::configure_scheduler(scheduling);
  caf::actor_system system{scheduling};
  auto actor = system.spawn(supervision::root_behavior, std::move(root));
  watch waiting{signals, reports, actor, system, progress_display{board, on_terminal}};
  const auto how = waiting.run();
  const auto status = status_of(how, options.once);
  log::flush();
  exit_within(2s, status);
  return status;
}

} // namespace

int run_run(const run_options& options) {
  const stop_signals signals;
  auto configs = read_selection(options.from);
  if (!configs) {
    say(stderr, fmt::format("{}\n", configs.error().detail));
    return 2;
  }
  auto logging = configs->front().log;
  if (options.log_level)
    logging.level = *options.log_level;
  const auto chosen = log::options_from(logging);
  if (!chosen) {
    say(stderr, fmt::format("{}\n", chosen.error().detail));
    return 2;
  }
  log::configure(*chosen);
  return run_pipelines(std::move(*configs), options, signals);
}

} // namespace cdc::cli
