#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "sources/source.hpp"

/// When a stream is left for the pull and when it is gone back to, and how much is pulled at once.
/// Plain arithmetic: time and figures are passed in.
namespace cdc::sources::postgres {

struct catch_up_options {
  /// Behind by more bytes of log than this, the log is pulled. 0: never.
  std::uint64_t threshold = 0;
  /// Between two looks at how far behind the stream is. Doubles up to look_interval_max while it
  /// is not.
  std::chrono::milliseconds look_interval{1000};
  std::chrono::milliseconds look_interval_max = std::chrono::minutes{1};
  std::uint32_t rows_first = 50'000;                 ///< Messages of the first call.
  std::uint64_t bytes_max = std::uint64_t{64} << 20; ///< Payload of one call, about.
  /// Log that one call reads at most, for one that brings hardly a row of ours.
  std::uint64_t log_max = std::uint64_t{1} << 30;
  /// The server is given this long before the first row of a call.
  std::chrono::milliseconds first_row_within = std::chrono::minutes{5};
  /// Between two reports to the slot of what has become durable.
  std::chrono::milliseconds report_interval = std::chrono::seconds{10};
};

/// How many messages to ask for. Every call reads the log again from where its oldest transaction
/// began, so a larger one costs less a row; it grows for as long as that is what takes the time.
class call_size {
public:
  explicit call_size(const catch_up_options& options) noexcept
      : bytes_max_(options.bytes_max), least_(std::min(rows_min, options.rows_first)),
        next_(options.rows_first) {}

  [[nodiscard]] std::uint32_t next() const noexcept { return next_; }

  struct call {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0; ///< Of payload.
    clock::duration until_first{};
    clock::duration rest{};
  };
  void learn(const call& done) noexcept;

private:
  static constexpr std::uint32_t rows_min = 1'000;

  std::uint64_t bytes_max_;
  std::uint32_t least_;
  std::uint32_t next_;
};

/// Whether a stream that is read keeps up.
class backlog_watch {
public:
  explicit backlog_watch(const catch_up_options& options) noexcept
      : threshold_(options.threshold), shortest_(options.look_interval),
        longest_(options.look_interval_max), interval_(options.look_interval) {}

  /// The stream runs from `passed` on.
  void start(position passed, clock::time_point now) noexcept;
  /// Time spent without reading, for want of credit: what is left behind then says nothing.
  void idle_for(clock::duration time) noexcept { idle_ += time; }

  /// Worth asking the server now.
  [[nodiscard]] bool look_due(position passed, clock::time_point now) const noexcept;
  /// The server's log ends at `log_end`. True: it is behind, and does not catch up by itself.
  [[nodiscard]] bool falls_behind(position passed, position log_end,
                                  clock::time_point now) noexcept;
  /// The question came to nothing.
  void missed(clock::time_point now) noexcept;

private:
  void wait_longer() noexcept { interval_ = std::min(interval_ * 2, longest_); }

  std::uint64_t threshold_;
  std::chrono::milliseconds shortest_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds interval_;
  clock::time_point looked_at_{};
  position passed_then_;
  clock::duration idle_{};
  std::optional<std::uint64_t> behind_then_; ///< Of the look before, when it was too much.
};

/// What is left after a call.
struct backlog {
  position passed;  ///< The copy's.
  position log_end; ///< Of what the server has flushed.
  position restart; ///< Where the copy reads from.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return log_end > passed ? log_end.token - passed.token : 0;
  }
};

/// When pulling has done its work, or does none.
class pull_watch {
public:
  explicit pull_watch(const catch_up_options& options) noexcept
      : small_(std::max<std::uint64_t>(options.threshold / 2, least_worth)) {}

  /// The call brought fewer rows than it was asked for, and what is left is not worth another.
  [[nodiscard]] bool is_done(bool was_short, const backlog& left) const noexcept {
    return was_short && left.bytes() <= small_;
  }

  /// A transaction that stays open makes every call read the log again from its beginning: true
  /// once that is most of what the server does.
  [[nodiscard]] bool is_futile(const backlog& before, const backlog& after) noexcept;

private:
  static constexpr std::uint64_t least_worth = std::uint64_t{1} << 20;
  static constexpr std::uint64_t reread_least = std::uint64_t{256} << 20; ///< A second's work.
  static constexpr std::uint64_t reread_max = 8; ///< Bytes read again for one of progress.
  static constexpr int calls_max = 3;

  std::uint64_t small_;
  int futile_ = 0;
};

/// What was learned about pulling from one slot, over all lives of its stream. Any thread.
class catch_up_record {
public:
  /// How lasting a reason is.
  enum class because : std::uint8_t {
    refused, ///< By the server's configuration or rights: not before it is started anew.
    limited, ///< For want of room, slots or sense just now: later again.
    lost,    ///< The connection broke: at once again, but not for ever.
  };

  [[nodiscard]] bool allowed(clock::time_point now) const;
  void failed(because kind, std::string why, clock::time_point now);
  void succeeded(); ///< A call came through.

  /// Why it is not allowed, for as long as it is not.
  [[nodiscard]] std::string reason(clock::time_point now) const;
  /// A reason that nobody was told yet; each only once.
  [[nodiscard]] std::optional<std::string> take_news();

  static constexpr std::chrono::minutes pause_first{10};
  static constexpr std::chrono::minutes pause_max{120};
  static constexpr int losses_max = 3;

private:
  mutable std::mutex guard_;
  std::string why_;
  std::string told_;
  bool has_news_ = false;
  std::optional<clock::time_point> not_before_;
  clock::duration pause_ = pause_first;
  int losses_ = 0;
};

/// How lasting a refusal with this state is; empty: the connection broke.
[[nodiscard]] catch_up_record::because reason_of(std::string_view sqlstate) noexcept;

/// `shop_catch_up`: the slot's temporary copy, the same every time.
[[nodiscard]] std::string copy_name(const std::string& slot);

} // namespace cdc::sources::postgres
