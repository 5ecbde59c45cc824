#include "sinks/threaded_sink.hpp"

#include <cassert>
#include <future>
#include <utility>

namespace cdc::sinks {

threaded_sink::threaded_sink(std::unique_ptr<blocking_target> target, std::size_t window)
    : target_(std::move(target)), window_(window), thread_([this] { run(); }) {}

threaded_sink::~threaded_sink() {
  cancel();
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

template <class T, class Call>
result<T> threaded_sink::ask(Call call) {
  std::promise<result<T>> answer;
  auto got = answer.get_future();
  push([&] {
    if (auto no = refusal())
      answer.set_value(tl::unexpected(*std::move(no)));
    else
      answer.set_value(call());
  });
  return got.get();
}

result<sink_state> threaded_sink::open(const stream_identity& stream) {
  return ask<sink_state>([&] { return target_->open(stream); });
}

result<void> threaded_sink::prepare(const std::vector<target_table_ptr>& tables) {
  auto notices = ask<std::vector<std::string>>([&] { return target_->prepare(tables); });
  if (!notices)
    return tl::unexpected(std::move(notices).error());
  const std::lock_guard lock(mutex_);
  for (auto& notice : *notices)
    notices_.push_back(std::move(notice));
  return {};
}

std::vector<std::string> threaded_sink::take_notices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void threaded_sink::submit(batch_ptr work, completion done) {
  push([this, work = std::move(work), done = std::move(done)] { write(*work, done); });
}

void threaded_sink::cancel() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }
  target_->interrupt();
}

void threaded_sink::push(task next) {
  {
    const std::lock_guard lock(mutex_);
    // The window's batches and one question; more means that the caller does not count.
    assert(tasks_.size() <= window_ + 1);
    tasks_.push_back(std::move(next));
  }
  arrived_.notify_one();
}

void threaded_sink::run() {
  for (;;) {
    task next;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
      if (tasks_.empty())
        break;
      next = std::move(tasks_.front());
      tasks_.pop_front();
    }
    next();
  }
  // What the target holds open is closed by the thread that opened it.
  target_.reset();
}

void threaded_sink::write(const batch& work, const completion& done) {
  if (auto no = refusal())
    return done(tl::unexpected(*std::move(no)));
  auto report = target_->write(work);
  if (!report)
    failed_ = report.error();
  done(std::move(report));
}

std::optional<error> threaded_sink::refusal() const {
  if (failed_)
    return failed_;
  const std::lock_guard lock(mutex_);
  if (is_cancelled_)
    return error{errc::cancelled, "the target was told to stop"};
  return std::nullopt;
}

} // namespace cdc::sinks
