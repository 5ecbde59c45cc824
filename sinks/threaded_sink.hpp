#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sinks/blocking_target.hpp"
#include "sinks/sink.hpp"

namespace cdc::sinks {

/// A blocking target as a sink: one thread that owns the target's calls, one queue of at most
/// `window` batches. Completions run on that thread, in the order of submission.
///
/// The destructor cancels, waits for the call that runs, and completes what is left.
class threaded_sink final : public sink {
public:
  explicit threaded_sink(std::unique_ptr<blocking_target> target, std::size_t window = 2);
  ~threaded_sink() override;
  threaded_sink(const threaded_sink&) = delete;
  threaded_sink& operator=(const threaded_sink&) = delete;

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<void> prepare(const std::vector<target_table_ptr>& tables) override;
  void submit(batch_ptr work, completion done) override;
  void cancel() noexcept override;
  [[nodiscard]] std::size_t window() const noexcept override { return window_; }
  [[nodiscard]] std::vector<std::string> take_notices() override;

private:
  using task = std::function<void()>;

  void push(task next);
  void run();
  void write(const batch& work, const completion& done);
  [[nodiscard]] std::optional<error> refusal() const;
  /// Runs `call` on the thread and waits for what it returns.
  template <class T, class Call>
  [[nodiscard]] result<T> ask(Call call);

  std::unique_ptr<blocking_target> target_;
  std::size_t window_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<task> tasks_;
  std::vector<std::string> notices_;
  bool is_cancelled_ = false;
  bool is_ending_ = false;

  std::optional<error> failed_; ///< Of the first batch that failed. The thread's own.
  std::thread thread_;
};

} // namespace cdc::sinks
