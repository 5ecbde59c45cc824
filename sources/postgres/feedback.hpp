#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/postgres/walsender.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

struct feedback_options {
  std::chrono::milliseconds interval{250};       ///< Of updates; some servers wait a second.
  std::chrono::milliseconds idle_max{2000};      ///< Of silence, then an answer is asked for.
  std::chrono::milliseconds answer_within{2000}; ///< Then the server is taken for dead.
};

/// When the server is told what, and when its silence means that it is gone. Time is passed in.
///
/// Invariant: reported <= durable <= handed out. due() fails with errc::invariant_broken where it
/// does not hold, and reports nothing.
class feedback {
public:
  feedback(position resume, feedback_options options) noexcept;

  /// The stream runs from now on; before that no time counts.
  void start(clock::time_point now) noexcept {
    sent_at_ = heard_at_ = now;
    asked_at_.reset();
  }

  /// Something arrived.
  void heard(clock::time_point now) noexcept;
  /// The server wants to hear from us at once.
  void server_asks() noexcept { update_due_ = true; }
  /// We want to hear from the server: the next update says so.
  void ask() noexcept { ask_due_ = true; }

  /// The owner of the stream has been given everything up to here.
  void handed_out(position until) noexcept { handed_out_ = std::max(handed_out_, until); }
  void confirm(position durable) noexcept { durable_ = std::max(durable_, durable); }

  /// The update to send now. While nothing is read (`reading` is false) silence means nothing.
  /// errc::source_unavailable: the server did not answer.
  [[nodiscard]] result<std::optional<status_update>> due(clock::time_point now, bool reading);
  /// What to send last: an update that says what has become durable since the one before.
  [[nodiscard]] std::optional<status_update> last_words() const noexcept;

  /// What last_words() said has reached the server in another way.
  void reported(position durable) noexcept { reported_ = std::max(reported_, durable); }

  /// When due() has something to do again.
  [[nodiscard]] clock::time_point deadline() const noexcept;

  [[nodiscard]] position durable() const noexcept { return durable_; }
  [[nodiscard]] position reported() const noexcept { return reported_; }
  [[nodiscard]] clock::time_point heard_at() const noexcept { return heard_at_; }

private:
  [[nodiscard]] bool holds() const noexcept {
    return reported_ <= durable_ && durable_ <= handed_out_;
  }
  void note_reading(clock::time_point now, bool reading) noexcept;

  feedback_options options_;
  position reported_;
  position durable_;
  position handed_out_;
  clock::time_point sent_at_;
  clock::time_point heard_at_;
  std::optional<clock::time_point> asked_at_; ///< An answer is outstanding.
  bool update_due_ = false;
  bool ask_due_ = false;
  bool reading_ = true;
};

/// How long a server may take to answer, over several lives of a stream. A walsender that works
/// through a large transaction of other tables is silent for as long as that takes; taken for dead
/// again and again it would begin anew each time, for ever. So each loss without progress doubles
/// the patience, and progress restores it.
class patience {
public:
  explicit patience(std::chrono::milliseconds least = std::chrono::seconds{2}) noexcept
      : least_(least), now_(least) {}

  [[nodiscard]] std::chrono::milliseconds allowed() const noexcept { return now_; }
  void progressed() noexcept { now_ = least_; }
  void ran_out() noexcept { now_ = std::min(now_ * 2, longest); }

  static constexpr std::chrono::milliseconds longest = std::chrono::minutes{2};

private:
  std::chrono::milliseconds least_;
  std::chrono::milliseconds now_;
};

} // namespace cdc::sources::postgres
