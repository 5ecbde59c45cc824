#include "actors/http/synced.hpp"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/http/target.hpp"
#include "messages/json.hpp"

namespace cdc::actors::http {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// How long an answer may take to be seen; shorter at first, since most are there soon.
constexpr auto soon = 1ms;
constexpr auto later = 10ms;
constexpr auto soon_for = 200ms;
// An idle source says nothing by itself for some seconds.
constexpr auto nudge_after = 50ms;
constexpr auto nudge_again = 1s;

response problem(unsigned status, std::string_view words) {
  std::string body;
  json::writer{body}.begin_object().member("error", words).end_object();
  return {.status = status, .content_type = "application/json", .body = body + "\n"};
}

std::string list_of(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

} // namespace

tl::expected<sync_request, response> read_sync_request(std::string_view text,
                                                       const std::vector<std::string>& sources) {
  const auto bad = [](unsigned status, std::string_view why) {
    return tl::unexpected(problem(status, why));
  };
  const auto parsed = parse_target(text);
  if (!parsed)
    return bad(400, "this is not a request target");
  if (parsed->path != "/synced")
    return bad(404, "there is nothing here; try /synced");
  sync_request out;
  for (const auto& [name, value] : parsed->query) {
    if (name == "source") {
      out.source = value;
    } else if (name == "position") {
      out.position = value;
    } else if (name == "timeout") {
      std::uint32_t number = 0;
      const auto [end, broken] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (broken != std::errc{} || end != value.data() + value.size() || value.empty())
        return bad(400, "timeout is a number of milliseconds");
      out.timeout = std::min(std::chrono::milliseconds{number}, sync_timeout_max);
    } else if (name == "refresh") {
      if (value != "true" && value != "false")
        return bad(400, "refresh is true or false");
      out.refresh = value == "true";
    } else {
      return bad(400, "a parameter is not known; source, position, timeout and refresh are");
    }
  }
  if (out.source.empty() && sources.size() == 1)
    out.source = sources.front();
  if (out.source.empty())
    return bad(400, fmt::format("say which source: {}", list_of(sources)));
  if (std::ranges::find(sources, out.source) == sources.end())
    return bad(404, fmt::format("there is no such source; known: {}", list_of(sources)));
  return out;
}

// -- the service ----------------------------------------------------------------------------------

class sync_service::state {
public:
  state(std::shared_ptr<const board> of, std::vector<sync_door> doors)
      : board_(std::move(of)), doors_(std::move(doors)) {
    for (const auto& each : doors_)
      names_.push_back(each.name);
    waiter_ = std::thread{[this] { wait_for_positions(); }};
    asker_ = std::thread{[this] { ask_servers(); }};
  }

  ~state() {
    {
      const std::lock_guard hold{guard_};
      is_ending_ = true;
    }
    changed_.notify_all();
    waiter_.join();
    asker_.join();
  }

  void respond(const request& asked, std::string_view token, answer done) {
    if (auto refused = refusal_of(asked, token))
      return done(std::move(*refused));
    auto read = read_sync_request(asked.target, names_);
    if (!read)
      return done(std::move(read.error()));
    auto made = std::make_shared<waiting>();
    made->what = std::move(*read);
    made->done = std::move(done);
    made->since = clock::now();
    made->door = &*std::ranges::find(doors_, made->what.source, &sync_door::name);
    made->of = board_->find_pipeline(made->what.source);
    if (!made->of)
      return finish(*made, problem(503, made->what.source + " has not started yet"));
    if (!made->what.position)
      return ask([this, made] {
        const auto at = made->door->current();
        if (!at)
          return finish(*made,
                        problem(503, "the source's position cannot be read: " + at.error().detail));
        begin_at(made, *at);
      });
    const auto at = made->door->parse(*made->what.position);
    if (!at)
      return finish(*made, problem(400, "position is not one that this source has"));
    begin_at(made, *at);
  }

private:
  /// One request.
  struct waiting {
    sync_request what;
    answer done;
    clock::time_point since;
    clock::time_point nudged{};
    const sync_door* door = nullptr;
    std::shared_ptr<pipeline_stats> of;
    position wanted{};
    bool is_nudging = false; ///< Under the lock.
  };
  using waiting_ptr = std::shared_ptr<waiting>;

  static void finish(waiting& it, response how) { std::exchange(it.done, nullptr)(std::move(how)); }

  void begin_at(const waiting_ptr& it, position at) {
    it->wanted = at;
    if (is_reached(*it))
      return settle(it);
    {
      const std::lock_guard hold{guard_};
      waiting_.push_back(it);
    }
    changed_.notify_all();
  }

  [[nodiscard]] static bool is_reached(const waiting& it) noexcept {
    return it.of->confirmed_end() >= it.wanted;
  }

  void settle(const waiting_ptr& it) {
    if (!it->what.refresh)
      return finish(*it, told(*it, true));
    ask([it] {
      const auto sinks = it->of->all_sinks();
      for (std::size_t i = 0; i < sinks.size(); ++i)
        if (const auto done = it->door->refresh(i, sinks[i]->target->names()); !done)
          return finish(*it, problem(503, "a refresh failed: " + done.error().detail));
      finish(*it, told(*it, true));
    });
  }

  [[nodiscard]] static response told(const waiting& it, bool is_synced) {
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - it.since).count();
    const auto& spell = it.door->spell;
    std::string body;
    json::writer to{body};
    to.begin_object().member("source", it.what.source).member("synced", is_synced);
    to.member("requested", spell(it.wanted)).member("confirmed", spell(it.of->confirmed_end()));
    to.member("waited_ms", std::int64_t{waited}).member("state", to_string(it.of->state()));
    to.end_object();
    return {
        .status = is_synced ? 200U : 408U, .content_type = "application/json", .body = body + "\n"};
  }

  // -- waiting ------------------------------------------------------------------------------------

  void wait_for_positions() {
    std::unique_lock hold{guard_};
    while (!is_ending_) {
      if (waiting_.empty()) {
        changed_.wait(hold, [this] { return is_ending_ || !waiting_.empty(); });
        continue;
      }
      const auto now = clock::now();
      const auto youngest =
          *std::ranges::max_element(waiting_, {}, [](const auto& it) { return it->since; });
      std::vector<waiting_ptr> settled;
      std::vector<waiting_ptr> late;
      std::erase_if(waiting_, [&](const waiting_ptr& it) {
        const auto is_over = now - it->since >= it->what.timeout;
        if (is_reached(*it))
          settled.push_back(it);
        else if (is_over)
          late.push_back(it);
        else
          nudge_if_due(it, now);
        return is_over || (!settled.empty() && settled.back() == it);
      });
      const auto pause = now - youngest->since < soon_for ? soon : later;
      hold.unlock();
      for (const auto& it : settled)
        settle(it);
      for (const auto& it : late)
        finish(*it, told(*it, false));
      settled.clear();
      late.clear();
      std::this_thread::sleep_for(pause);
      hold.lock();
    }
  }

  void nudge_if_due(const waiting_ptr& it, clock::time_point now) {
    const auto due =
        it->nudged == clock::time_point{} ? it->since + nudge_after : it->nudged + nudge_again;
    if (now < due || it->is_nudging)
      return;
    it->is_nudging = true;
    errands_.push_back([this, it] {
      // What cannot be nudged is waited for all the same.
      std::ignore = it->door->nudge();
      const std::lock_guard hold{guard_};
      it->nudged = clock::now();
      it->is_nudging = false;
    });
    changed_.notify_all();
  }

  // -- asking -------------------------------------------------------------------------------------

  void ask(std::function<void()> errand) {
    {
      const std::lock_guard hold{guard_};
      errands_.push_back(std::move(errand));
    }
    changed_.notify_all();
  }

  void ask_servers() {
    std::unique_lock hold{guard_};
    while (true) {
      changed_.wait(hold, [this] { return is_ending_ || !errands_.empty(); });
      if (is_ending_)
        return;
      const auto errand = std::move(errands_.front());
      errands_.pop_front();
      hold.unlock();
      errand();
      hold.lock();
    }
  }

  std::shared_ptr<const board> board_;
  std::vector<sync_door> doors_;
  std::vector<std::string> names_;

  std::mutex guard_;
  std::condition_variable changed_;
  bool is_ending_ = false;
  std::vector<waiting_ptr> waiting_;
  std::deque<std::function<void()>> errands_; ///< At most two for each request that is open.
  std::thread waiter_;
  std::thread asker_;
};

sync_service::sync_service(std::shared_ptr<const board> of, std::vector<sync_door> doors)
    : state_(std::make_unique<state>(std::move(of), std::move(doors))) {}
sync_service::~sync_service() = default;

void sync_service::respond(const request& asked, std::string_view token, answer done) {
  state_->respond(asked, token, std::move(done));
}

} // namespace cdc::actors::http
