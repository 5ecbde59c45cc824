#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "messages/error.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/postgres/feedback.hpp"
#include "sources/postgres/log_probe.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// Tells a server that works on a command from one that is gone: both are silent, so another
/// connection asks. What that is answered does not matter.
class silence_watch {
public:
  silence_watch(conninfo to, const feedback_options& silence)
      : to_(std::move(to)), silence_(silence) {}

  /// The owner takes a step; until it says that it listens, a silence does not count.
  void step(clock::time_point now) noexcept;
  /// Something has come, or was asked for.
  void heard(clock::time_point now) noexcept;
  /// The owner waits, and nothing has come. Fails once the server is gone.
  [[nodiscard]] result<void> listen(clock::time_point now);

  [[nodiscard]] bool listens() const noexcept { return listens_; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  /// Long enough without a sign that single bytes are worth looking for.
  [[nodiscard]] bool is_long(clock::time_point now) const noexcept;
  [[nodiscard]] clock::time_point deadline() const noexcept;

private:
  conninfo to_;
  feedback_options silence_;
  std::unique_ptr<log_probe> probe_;
  clock::time_point probed_at_;
  clock::time_point heard_at_;
  clock::time_point stepped_at_;
  bool listens_ = false;
  bool listened_ = false; ///< At the step before.
  bool is_dead_ = false;
};

} // namespace cdc::sources::postgres
