#pragma once

#include <cassert>
#include <cstdint>

namespace cdc {

/// What one hop may hold: both bounds count, and one item may pass the byte bound.
struct credit {
  std::uint32_t blocks = 0;
  std::uint64_t bytes = 0;

  credit& operator+=(credit more) noexcept {
    blocks += more.blocks;
    bytes += more.bytes;
    return *this;
  }
  bool operator==(const credit&) const = default;
};

/// The sender's half of a hop: without credit nothing is sent, so no mailbox is longer than what
/// was handed out, and memory is the sum of the windows.
///
/// Invariant: out.blocks <= window.blocks, and out.bytes passes window.bytes by one item at most.
class credit_window {
public:
  explicit credit_window(credit window) noexcept : window_(window) { assert(window.blocks > 0); }

  [[nodiscard]] bool open() const noexcept {
    return out_.blocks < window_.blocks && out_.bytes < window_.bytes;
  }

  /// An item of `bytes` leaves. Call it only while open().
  void spend(std::uint64_t bytes) noexcept {
    assert(open());
    ++out_.blocks;
    out_.bytes += bytes;
  }

  /// The receiver is done with `back`.
  void restore(credit back) noexcept {
    assert(back.blocks <= out_.blocks && back.bytes <= out_.bytes);
    out_.blocks -= back.blocks;
    out_.bytes -= back.bytes;
  }

  [[nodiscard]] credit window() const noexcept { return window_; }
  [[nodiscard]] credit out() const noexcept { return out_; }

private:
  credit window_;
  credit out_;
};

/// The receiver's half: collects what is done and hands it back in steps of a quarter window, or at
/// once when the sender may be starving. A step larger than the window would deadlock the hop.
class credit_ledger {
public:
  explicit credit_ledger(credit window) noexcept : window_(window) {}

  void done(std::uint64_t bytes) noexcept { owed_ += credit{1, bytes}; }
  void done(credit items) noexcept { owed_ += items; }

  /// What to hand back now; zero blocks: nothing yet. `idle`: nothing else is being worked on, so
  /// hold nothing back.
  [[nodiscard]] credit take(bool idle) noexcept {
    const auto due = owed_.blocks * 4 >= window_.blocks || owed_.bytes * 4 >= window_.bytes;
    if (!due && !idle)
      return {};
    const auto back = owed_;
    owed_ = {};
    return back;
  }

  [[nodiscard]] credit owed() const noexcept { return owed_; }

private:
  credit window_;
  credit owed_;
};

} // namespace cdc
