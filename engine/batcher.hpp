#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "messages/batch.hpp"

namespace cdc::engine {

struct route;

/// A target as changes name it, with its place in the batch that is being filled.
struct target_ref {
  target_table_ptr table;
  route* of = nullptr;     ///< Whose target it is.
  std::uint64_t batch = 0; ///< Whose tables `at` indexes.
  std::uint16_t at = 0;
};

/// Source rows that a batch carries; a row may be several changes.
struct row_counts {
  std::uint64_t streamed = 0;
  std::uint64_t copied = 0;
  std::uint64_t merged = 0;

  row_counts& operator+=(const row_counts& more) noexcept;
  row_counts& operator-=(const row_counts& less) noexcept;
};

/// A block that was read to its end; its credit goes back when the batch it waits in is completed.
struct lease {
  std::uint64_t bytes = 0;
  bool is_copy = false;
  std::size_t changes = 0; ///< How many of the batch's changes there were at its end.
};

/// A batch that is ready to leave, or at the sink, with what the engine remembers of it.
struct outgoing {
  std::shared_ptr<batch> work;
  std::vector<route*> routes; ///< Of each of the batch's tables.
  std::vector<lease> leases;
  row_counts rows;
  std::uint64_t upto = 0; ///< The highest number that is acknowledged with it.
  checkpoint reached;     ///< Where the target stands when it is completed.
  bool is_progress = false;
};

/// Cuts the order of changes into batches: several small transactions in one, a large one in
/// pieces.
///
/// Invariant: only the last batch of a run may end inside a transaction, and then all of it is of
/// that one transaction (and of copied rows that came between its pieces).
class batcher {
public:
  batcher(const engine_options& options, checkpoint from);

  // -- what comes in ----------------------------------------------------------------------------

  /// The block that the next changes' cells are in.
  void enter(const block_ptr& source);
  /// It was read to its end.
  void leave(bool is_copy);
  /// It was read to its end, and nobody wants credit for it.
  void leave_unpaid() noexcept;

  void begin(const transaction& started);
  /// What the source did: the changes that follow say so.
  void follow(operation what) noexcept { event_ = what; }
  void commit(const transaction& ended);
  /// Outside a transaction: the log was seen up to `end`.
  void advance(position end);
  /// What was pushed so far may leave: nothing of it belongs to an open transaction.
  void stand() noexcept;

  /// The next change of the stream; its number is last_number().
  void push(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
            bool keep_if_missing = false) {
    make_room();
    append(what, target, before, after, current_index(), keep_if_missing);
  }
  /// The same with cells in own_block().
  void push_own(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
                bool keep_if_missing = false) {
    append(what, target, before, after, own_index(), keep_if_missing);
  }
  /// One outside the stream: of a copied row, or without one.
  void push_copy(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
                 std::uint64_t version) {
    make_room();
    append_copy(what, target, before, after, current_index(), version);
  }
  void push_own_copy(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
                     std::uint64_t version) {
    append_copy(what, target, before, after, own_index(), version);
  }

  /// A block for rows that no source block has. Add cells to it, then push_own() at once.
  [[nodiscard]] block& own_block();
  /// The one that own_block() gave last, as long as nothing but push_own() was called since.
  [[nodiscard]] const block& own() const noexcept { return *own_; }

  void count_streamed() noexcept { ++open_.rows.streamed; }
  void count_copied() noexcept { ++open_.rows.copied; }
  void count_merged() noexcept { ++open_.rows.merged; }

  // -- what it knows ----------------------------------------------------------------------------

  [[nodiscard]] const block& current() const noexcept { return *current_; }
  [[nodiscard]] bool inside() const noexcept { return inside_; } ///< Of a transaction.
  [[nodiscard]] bool split() const noexcept { return split_; }   ///< A piece of it has left.
  [[nodiscard]] transaction_id id() const noexcept { return transaction_.id; }
  [[nodiscard]] std::uint64_t last_number() const noexcept { return number_; }
  [[nodiscard]] std::uint64_t last_version() const noexcept { return version_; }
  /// v(copy) of the load rule.
  [[nodiscard]] std::uint64_t copy_version() const noexcept;
  /// Everything up to here was given; the last transaction passed whole and the log seen since.
  [[nodiscard]] const checkpoint& reached() const noexcept { return reached_; }
  /// Nothing waits here.
  [[nodiscard]] bool empty() const noexcept;
  /// Half of a window's credit is in the batch that still grows.
  [[nodiscard]] bool pressing() const noexcept;
  /// Credit of blocks that nothing had to wait for.
  [[nodiscard]] std::vector<lease>& idle_leases() noexcept { return idle_leases_; }

  // -- what goes out ----------------------------------------------------------------------------

  /// Between transactions: all that was pushed is a batch of its own from here on, one without
  /// changes if need be. The caller may add to it until the next call.
  outgoing& seal();
  /// Lets go of what may leave: whole transactions, or a piece if `in_pieces`. Whether anything
  /// did.
  bool release(bool in_pieces);
  [[nodiscard]] std::deque<outgoing>& ready() noexcept { return ready_; }

private:
  struct standing {
    std::size_t changes = 0;
    std::size_t bytes = 0;
    row_counts rows;
    checkpoint reached;
  };

  void append(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
              std::uint32_t block_at, bool keep_if_missing) {
    if (target.batch != open_number_) [[unlikely]]
      adopt(target);
    if (transaction_at_ == change::none) [[unlikely]]
      adopt_transaction();
    open_.work->changes.push_back({.what = what,
                                   .keep_if_missing = keep_if_missing,
                                   .is_copy = false,
                                   .event = event_,
                                   .table = target.at,
                                   .block = block_at,
                                   .before = before,
                                   .after = after,
                                   .transaction = transaction_at_,
                                   .number = ++number_,
                                   .version = next_version()});
    bytes_ += bytes_per_event_;
  }
  void append_copy(action what, target_ref& target, std::uint32_t before, std::uint32_t after,
                   std::uint32_t block_at, std::uint64_t version) {
    if (target.batch != open_number_) [[unlikely]]
      adopt(target);
    open_.work->changes.push_back({.what = what,
                                   .keep_if_missing = false,
                                   .is_copy = true,
                                   .event = operation::row,
                                   .table = target.at,
                                   .block = block_at,
                                   .before = before,
                                   .after = after,
                                   .transaction = change::none,
                                   .number = ++number_,
                                   .version = version});
    bytes_ += bytes_per_event_;
  }
  // Before anything points into the batch: a full one is replaced.
  void make_room() {
    if (open_.work->changes.size() >= changes_max_ || bytes_ >= bytes_max_) [[unlikely]]
      let_go();
  }
  [[nodiscard]] std::uint32_t current_index() {
    if (current_at_ == change::none) [[unlikely]]
      current_at_ = adopt(current_);
    return current_at_;
  }
  [[nodiscard]] std::uint64_t next_version() noexcept {
    version_ = versions_from_ + 2 * (piece_ < pieces_max ? piece_++ : pieces_max);
    return version_;
  }
  [[nodiscard]] std::uint32_t own_index();

  void adopt(target_ref& target);
  [[nodiscard]] std::uint32_t adopt(const block_ptr& source);
  void adopt_transaction();
  void let_go();
  void start_batch();
  void seal_piece();
  void cut();
  void move_tail(outgoing& from);
  void divide_leases(outgoing& from, std::size_t at);

  static constexpr std::uint64_t piece_bits = 11;
  static constexpr std::uint64_t pieces_max = (std::uint64_t{1} << piece_bits) - 1;

  std::size_t changes_max_;
  std::size_t bytes_max_;
  credit window_;

  outgoing open_;
  std::uint64_t open_number_ = 0;
  std::size_t bytes_ = 0;
  standing standing_;
  std::deque<outgoing> ready_;
  std::vector<lease> idle_leases_;
  credit held_[2]; ///< In the open batch: of the stream, of the load.

  block_ptr current_;
  std::uint32_t current_at_ = change::none;
  std::size_t bytes_per_event_ = 0;
  block_pool own_pool_{4};
  std::shared_ptr<block> own_;
  std::uint32_t own_at_ = change::none;

  transaction transaction_;
  std::uint32_t transaction_at_ = change::none;
  bool inside_ = false;
  bool split_ = false;
  std::uint64_t versions_from_ = 0;
  std::uint64_t version_ = 0;
  std::uint64_t piece_ = 0;
  std::uint64_t number_ = 0;
  operation event_ = operation::update; ///< Of the source, that is being followed.
  checkpoint reached_;
};

} // namespace cdc::engine
