#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "messages/error.hpp"
#include "sources/postgres/catch_up_plan.hpp"
#include "sources/postgres/feedback.hpp"
#include "sources/postgres/polled_connection.hpp"
#include "sources/postgres/pulled_rows.hpp"
#include "sources/postgres/silence_watch.hpp"
#include "sources/postgres/slot_look.hpp"
#include "sources/postgres/stream_core.hpp"
#include "sources/postgres/walsender_reader.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// What to pull, and on whose behalf.
struct catch_up_request {
  conninfo to; ///< purpose::query.
  std::string slot;
  std::vector<std::string> publications;
  std::string system_identifier; ///< Another server is refused; empty: any.
  int walsender_pid = 0; ///< Our own reader of the slot, which may not be gone yet; 0: none.
};

/// Feeds a core from a temporary copy of a slot, by calls of pg_logical_slot_get_binary_changes():
/// the very messages that a walsender would send, without a send for every row. The slot itself is
/// moved to durable positions and not otherwise touched; it is free meanwhile, so the copy's name
/// tells a second reader of the same slot that there is a first. The copy ends with the connection.
///
/// A failure between two transactions is none of the stream's: it is recorded, and the reader
/// leaves.
class catch_up_reader {
public:
  catch_up_reader(catch_up_request request, stream_core& core, const catch_up_options& options,
                  const feedback_options& silence, std::shared_ptr<catch_up_record> record);

  [[nodiscard]] int socket() const noexcept { return on_.socket(); }
  [[nodiscard]] short wants_events(bool may_read) const noexcept;
  [[nodiscard]] clock::time_point deadline() const noexcept;

  /// As log_stream::advance(). step::leave: it is done, or cannot go on; the core stands between
  /// two transactions and is to be fed from its passed() on.
  [[nodiscard]] result<step> advance(clock::time_point now, bool may_read);

  /// Where the server's log ended when it was last asked.
  [[nodiscard]] position log_end() const noexcept { return left_.log_end; }
  [[nodiscard]] std::optional<std::string> take_news() { return std::exchange(news_, {}); }

  /// Ends the call under way, and tells the slot what has become durable; waits a second at most.
  void close() noexcept;
  /// The same when the connection failed: at once.
  void abandon() noexcept { on_.close(); }

private:
  enum class phase : std::uint8_t {
    connecting,
    settling,
    looking,  ///< Asks how slot, copy and log stand.
    pausing,  ///< Before it asks again.
    copying,  ///< Copies the slot.
    skipping, ///< Moves the copy to where the core stands.
    ready,    ///< May call.
    calling,  ///< The server works on the call's first row.
    rows,
    ending, ///< The rows are over; the call's verdict.
    reporting,
  };

  [[nodiscard]] result<step> go_on(clock::time_point now, bool may_read);
  [[nodiscard]] result<step> connect(clock::time_point now);
  [[nodiscard]] result<step> await_answer(clock::time_point now);
  [[nodiscard]] result<step> answered(clock::time_point now);
  [[nodiscard]] result<step> wait(clock::time_point now);
  [[nodiscard]] result<step> command(phase next, const std::string& text, clock::time_point now);
  [[nodiscard]] result<step> look(clock::time_point now);
  [[nodiscard]] result<step> looked(const slot_look& now_is, clock::time_point now);
  [[nodiscard]] result<step> begin(const slot_look& now_is, clock::time_point now);
  [[nodiscard]] result<step> judge(const slot_look& now_is, clock::time_point now);
  [[nodiscard]] result<step> wait_for_slot(std::string who, clock::time_point now);
  [[nodiscard]] result<step> pause(clock::time_point now);
  [[nodiscard]] result<step> call(clock::time_point now);
  [[nodiscard]] result<step> take_rows(clock::time_point now);
  [[nodiscard]] result<step> call_ended(clock::time_point now);
  [[nodiscard]] result<step> report(position durable, clock::time_point now);
  [[nodiscard]] result<step> leave(catch_up_record::because kind, const error& why,
                                   clock::time_point now);
  [[nodiscard]] bool is_sending() const noexcept { return phase_ == phase::rows && rows_.any(); }
  [[nodiscard]] bool settle_call(clock::time_point until) noexcept;

  catch_up_request request_;
  std::string copy_;
  stream_core& core_;
  catch_up_options options_;
  std::shared_ptr<catch_up_record> record_;
  polled_connection on_;
  silence_watch silence_;
  phase phase_ = phase::connecting;
  clock::time_point since_; ///< The phase began.
  clock::time_point pause_until_;
  std::optional<clock::time_point> waiting_since_; ///< For another reader to let go.
  std::optional<error> refused_;                   ///< By the server, of the command under way.
  std::string refused_state_;

  pulled_rows rows_;
  call_size size_;
  std::optional<slot_look> seen_;
  bool is_short_ = false;  ///< The last call brought less than it was asked for.
  bool was_asked_ = false; ///< A position, before the call began.
  bool has_copy_ = false;
  backlog left_;
  backlog before_;
  position moved_to_; ///< Where the slot itself was told to be.
  pull_watch watch_;
  clock::time_point reported_at_;
  clock::time_point looked_again_at_;
  bool said_unreserved_ = false;
  std::optional<std::string> news_;
};

} // namespace cdc::sources::postgres
