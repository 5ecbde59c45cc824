#include "sources/postgres/catch_up_reader.hpp"

#include <algorithm>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

#include "sources/postgres/catch_up_commands.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::sources::postgres {

namespace {

using because = catch_up_record::because;
using namespace std::chrono_literals;

constexpr std::string_view doing = "catch up from a copy of the slot";
// How long another reader of the slot is given to let go: one that was killed needs so long.
constexpr auto release_within = 3s;
constexpr auto look_again = 50ms;
// The catalogue is asked again about tables that look the same no more often than this.
constexpr auto describe_interval = 5s;
// From this version on a slot that nobody reads for long may be invalidated.
constexpr int idle_slots_since = 180000;
constexpr auto goodbye_within = 1s;

} // namespace

catch_up_reader::catch_up_reader(catch_up_request request, stream_core& core,
                                 const catch_up_options& options, const feedback_options& silence,
                                 std::shared_ptr<catch_up_record> record)
    : request_(std::move(request)), copy_(copy_name(request_.slot)), core_(core), options_(options),
      record_(std::move(record)), on_(request_.to, std::string{doing}),
      silence_(request_.to, silence), size_(options), watch_(options) {
  // nop
}

// -- the owner's side -----------------------------------------------------------------------------

short catch_up_reader::wants_events(bool may_read) const noexcept {
  switch (phase_) {
    case phase::pausing:
    case phase::ready:
      return POLLRDHUP;
    case phase::calling:
    case phase::rows:
      return static_cast<short>((may_read && !rows_.holds() ? POLLIN : POLLRDHUP) |
                                (on_.wants_events() & POLLOUT));
    default:
      return on_.wants_events();
  }
}

clock::time_point catch_up_reader::deadline() const noexcept {
  switch (phase_) {
    case phase::connecting:
      return on_.connect_by();
    case phase::pausing:
      return pause_until_;
    case phase::ready:
      return clock::time_point::max();
    default:
      break;
  }
  if (!silence_.listens())
    return clock::time_point::max();
  const auto late = is_sending() ? clock::time_point::max() : since_ + options_.first_row_within;
  return std::min(late, silence_.deadline());
}

result<step> catch_up_reader::advance(clock::time_point now, bool may_read) {
  core_.pass_on(now);
  silence_.step(now);
  auto went = go_on(now, may_read);
  while (went && *went == step::poll && phase_ == phase::ready && may_read)
    went = go_on(now, may_read);
  if (went)
    return *went == step::ship && !may_read ? step::poll : *went;
  const auto& why = went.error();
  const auto kind = why.code == errc::source_unavailable ? because::lost : because::refused;
  if (kind == because::refused && phase_ != phase::connecting)
    return went;
  if (core_.at_boundary() && !silence_.is_dead())
    return leave(kind, why, now);
  record_->failed(kind, why.detail, now);
  return went;
}

result<step> catch_up_reader::go_on(clock::time_point now, bool may_read) {
  if (phase_ == phase::connecting)
    return connect(now);
  if (phase_ == phase::pausing && now < pause_until_)
    return on_.check().map([] { return step::poll; });
  if (phase_ == phase::pausing)
    return look(now);
  if (phase_ == phase::ready && may_read)
    return core_.empty() ? call(now) : step::ship;
  if (phase_ == phase::rows && may_read)
    return take_rows(now);
  if (phase_ == phase::ready ||
      (!may_read && (phase_ == phase::calling || phase_ == phase::rows))) {
    return on_.check().map([] { return step::poll; });
  }
  return await_answer(now);
}

// -- commands -------------------------------------------------------------------------------------

result<step> catch_up_reader::connect(clock::time_point now) {
  const auto stands = on_.connect(now);
  if (!stands)
    return tl::unexpected(stands.error());
  if (*stands) {
    reported_at_ = now;
    return command(phase::settling, settle_command, now);
  }
  return on_.expired(now).map([] { return step::poll; });
}

result<step> catch_up_reader::command(phase next, const std::string& text, clock::time_point now) {
  phase_ = next;
  since_ = now;
  silence_.heard(now);
  if (auto sent = on_.command(text); !sent)
    return tl::unexpected(sent.error());
  return await_answer(now);
}

result<step> catch_up_reader::await_answer(clock::time_point now) {
  for (;;) {
    const auto ready = on_.answer_ready();
    if (!ready)
      return tl::unexpected(ready.error());
    if (!*ready)
      return wait(now);
    const auto answer = on_.next_answer();
    if (!answer)
      break;
    const auto status = PQresultStatus(answer.get());
    if (status == PGRES_COPY_OUT) {
      phase_ = phase::rows;
      return take_rows(now);
    }
    if (status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE) {
      refused_ = on_.refused(answer.get());
      refused_state_ = sqlstate_of(answer.get());
    } else if (phase_ == phase::looking && PQntuples(answer.get()) == 1) {
      seen_.emplace(answer.get());
    }
  }
  return answered(now);
}

/// For the server, as long as it may take.
result<step> catch_up_reader::wait(clock::time_point now) {
  if (auto alive = silence_.listen(now); !alive)
    return tl::unexpected(alive.error());
  if (is_sending() || now - since_ < options_.first_row_within)
    return step::poll;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(options_.first_row_within).count();
  return leave(because::limited,
               {errc::source_unavailable, fmt::format("{}: no answer within {} s, cannot {}",
                                                      on_.describe(), seconds, doing)},
               now);
}

/// The command is over.
result<step> catch_up_reader::answered(clock::time_point now) {
  const auto refused = std::exchange(refused_, std::nullopt);
  if (refused && phase_ != phase::reporting) {
    if (!core_.at_boundary())
      return tl::unexpected(*refused);
    return leave(reason_of(refused_state_), *refused, now);
  }
  switch (phase_) {
    case phase::copying:
      has_copy_ = true;
      if (core_.passed() > moved_to_)
        return command(phase::skipping, advance_command(copy_, core_.passed()), now);
      return look(now);
    case phase::settling:
    case phase::skipping:
      return look(now);
    case phase::looking:
      if (const auto seen = std::exchange(seen_, std::nullopt))
        return looked(*seen, now);
      break;
    case phase::reporting:
      if (!refused)
        core_.reported(moved_to_);
      phase_ = phase::ready;
      return step::poll;
    case phase::ending:
      return call_ended(now);
    default:
      break;
  }
  return fail(errc::malformed_message, "{}: an answer without a row, cannot {}", on_.describe(),
              doing);
}

result<step> catch_up_reader::leave(because kind, const error& why, clock::time_point now) {
  if (kind == because::limited && (phase_ == phase::calling || phase_ == phase::rows))
    on_.cancel();
  record_->failed(kind, why.detail, now);
  on_.close();
  return step::leave;
}

// -- how things stand -----------------------------------------------------------------------------

result<step> catch_up_reader::look(clock::time_point now) {
  return command(phase::looking, slot_look::command(request_.slot, copy_), now);
}

result<step> catch_up_reader::looked(const slot_look& now_is, clock::time_point now) {
  if (!request_.system_identifier.empty() && now_is.system_identifier != request_.system_identifier)
    return fail(errc::foreign_stream,
                "{} is the server with system identifier {}, but the targets hold the rows of {}",
                on_.describe(), now_is.system_identifier, request_.system_identifier);
  // The stream says what is wrong with its slot better than this could.
  if (!now_is.has_slot || now_is.status == "lost" || now_is.left.log_end < core_.passed()) {
    on_.close();
    return step::leave;
  }
  if (now_is.reader != 0 && now_is.reader != request_.walsender_pid)
    return wait_for_slot(fmt::format("pid {} reads it", now_is.reader), now);
  if (now_is.has_copy && now_is.copy_reader != on_.backend_pid())
    return wait_for_slot(
        fmt::format("pid {} catches up from its copy {}", now_is.copy_reader, copy_), now);
  if (now_is.status == "unreserved" && !std::exchange(said_unreserved_, true))
    news_ = fmt::format("slot {} is unreserved: the server is about to remove log that was not "
                        "read; catching up goes on, it is the fastest way out",
                        request_.slot);
  left_ = now_is.left;
  return has_copy_ ? judge(now_is, now) : begin(now_is, now);
}

result<step> catch_up_reader::wait_for_slot(std::string who, clock::time_point now) {
  if (!waiting_since_)
    waiting_since_ = now;
  if (now - *waiting_since_ >= release_within)
    return fail(errc::slot_in_use,
                "{}: slot {} is in use: {}; another reader must let go of it first, or use a slot "
                "of its own",
                on_.describe(), request_.slot, who);
  return pause(now);
}

result<step> catch_up_reader::pause(clock::time_point now) {
  phase_ = phase::pausing;
  pause_until_ = now + look_again;
  return step::poll;
}

result<step> catch_up_reader::begin(const slot_look& now_is, clock::time_point now) {
  waiting_since_.reset();
  moved_to_ = now_is.confirmed;
  return command(phase::copying, copy_command(request_.slot, copy_), now);
}

/// After the copy was made, and after each call: what to do next.
result<step> catch_up_reader::judge(const slot_look& now_is, clock::time_point now) {
  // A pooler has given the session to someone else, and with it went the copy.
  if (!now_is.has_copy)
    return leave(because::limited,
                 {errc::source_unavailable,
                  fmt::format("{}: the copy {} of the slot is gone, cannot {}; a pooler between us "
                              "and the server would do that",
                              on_.describe(), copy_, doing)},
                 now);
  const auto was_cut = left_.passed.token >= before_.passed.token + options_.log_max;
  const auto at_end = is_short_ && !was_cut;
  if (auto good = core_.fed_until(left_.passed, at_end && was_asked_, now); !good)
    return tl::unexpected(good.error());
  if (watch_.is_done(is_short_, left_)) {
    // Our own walsender of before, if anybody.
    waiting_since_ = waiting_since_.value_or(now);
    if (now_is.reader != 0 && now - *waiting_since_ < release_within)
      return pause(now);
    on_.close();
    return step::leave;
  }
  if (rows_.any() && watch_.is_futile(before_, left_))
    return leave(because::limited,
                 {errc::source_unavailable,
                  fmt::format("{}: a transaction that is still open makes every call read the log "
                              "again from {}",
                              on_.describe(), to_lsn(left_.restart))},
                 now);
  const auto words = core_.last_words();
  const auto is_due = now - reported_at_ >= options_.report_interval;
  const auto wants_touch = on_.server_version() >= idle_slots_since;
  if (is_due && now_is.reader == 0 && (words || wants_touch))
    return report(words ? words->durable : now_is.confirmed, now);
  phase_ = phase::ready;
  return core_.empty() ? step::poll : step::ship;
}

/// Moves the slot itself. That it moved nowhere still says that it has a reader, which a server
/// with idle_replication_slot_timeout wants to know.
result<step> catch_up_reader::report(position durable, clock::time_point now) {
  reported_at_ = now;
  moved_to_ = durable;
  return command(phase::reporting, advance_command(request_.slot, durable), now);
}

// -- a call ---------------------------------------------------------------------------------------

result<step> catch_up_reader::call(clock::time_point now) {
  before_ = left_;
  was_asked_ = core_.asks();
  rows_.begin(now);
  const auto looks_again = now - looked_again_at_ >= describe_interval;
  if (looks_again)
    looked_again_at_ = now;
  core_.expect_descriptions(looks_again);
  const pull_call next{{left_.passed.token + options_.log_max}, size_.next()};
  return command(phase::calling, call_command(copy_, next, request_.publications), now);
}

result<step> catch_up_reader::take_rows(clock::time_point now) {
  if (silence_.is_long(now) && on_.input() > 0)
    silence_.heard(now);
  const auto got = rows_.take(on_, core_, now);
  if (!got)
    return tl::unexpected(got.error());
  switch (*got) {
    case pulled_rows::got::full:
      return step::ship;
    case pulled_rows::got::held:
      return on_.check().map([] { return step::poll; });
    case pulled_rows::got::nothing:
      return wait(now);
    case pulled_rows::got::end:
      phase_ = phase::ending;
  }
  return await_answer(now);
}

result<step> catch_up_reader::call_ended(clock::time_point now) {
  if (!core_.at_boundary())
    return fail(errc::malformed_message, "{}: a call ended inside a transaction, cannot {}",
                on_.describe(), doing);
  record_->succeeded();
  const auto done = rows_.end(now);
  is_short_ = done.rows < size_.next();
  size_.learn(done);
  return look(now);
}

// -- ending ---------------------------------------------------------------------------------------

/// Reads what is left of the command under way, until the connection is free.
bool catch_up_reader::settle_call(clock::time_point until) noexcept {
  for (;;) {
    const auto copied = phase_ == phase::rows ? on_.next_copied() : polled_connection::copied{};
    if (!copied)
      return false;
    if (copied->message)
      continue;
    if (copied->is_over || phase_ != phase::rows) {
      phase_ = phase::ending;
      const auto ready = on_.answer_ready();
      if (!ready)
        return false;
      if (*ready) {
        const auto answer = on_.next_answer();
        if (!answer)
          return true;
        if (PQresultStatus(answer.get()) == PGRES_COPY_OUT)
          phase_ = phase::rows;
        continue;
      }
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
    pollfd socket{.fd = on_.socket(), .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&socket, 1, static_cast<int>(left)) <= 0 || !on_.read())
      return false;
  }
}

void catch_up_reader::close() noexcept {
  if (!on_.is_open())
    return;
  const auto until = clock::now() + goodbye_within;
  if (phase_ != phase::connecting) {
    if (phase_ == phase::calling || phase_ == phase::rows || phase_ == phase::skipping)
      on_.cancel();
    const auto is_idle = phase_ == phase::ready || phase_ == phase::pausing || settle_call(until);
    const auto words = core_.last_words();
    if (words && is_idle && on_.command(advance_command(request_.slot, words->durable))) {
      phase_ = phase::reporting;
      if (settle_call(until))
        core_.reported(words->durable);
    }
  }
  on_.close();
}

} // namespace cdc::sources::postgres
