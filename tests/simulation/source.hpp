#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "messages/block.hpp"
#include "messages/snapshot.hpp"
#include "tests/simulation/options.hpp"
#include "tests/simulation/rows.hpp"
#include "tests/simulation/shapes.hpp"
#include "tests/simulation/story.hpp"

namespace cdc::simulation {

/// One statement's effect on one row, as the log has it.
struct row_change {
  enum class what : std::uint8_t { insert, update, remove, move, truncate };
  what kind = what::insert;
  std::uint8_t table = 0;
  bool is_keyless = false;
  std::uint8_t key = 0;  ///< keyless: v
  std::uint8_t to = 0;   ///< move: the new key. keyless update: the new v.
  std::uint8_t tail = 0; ///< keyless: w
  std::uint8_t place = 0;
  std::uint8_t present = 7;   ///< Which of a, b, c the log carries. keyless update: bit 0, w.
  bool takes_visible = false; ///< keyless: the row it removes is not one of its own transaction.
  std::array<int, values> value{};
  std::array<int, values> old{};
};

/// A transaction of the source.
struct source_transaction {
  enum class phase : std::uint8_t { running, logged, visible, aborted };
  std::uint64_t xid = 0; ///< 64 bit; the log has its lower half.
  phase now = phase::running;
  std::vector<row_change> changes;
  std::size_t logged_at = 0; ///< Index into the log.
  std::array<bool, tables_max> truncates{};
  std::array<bag, tables_max> plus{}; ///< keyless rows of its own that it may remove again.
};

/// What a reader's snapshot has: what it sees, what it claims to see, and L.
struct source_view {
  contents rows;
  snapshot seen;
  position log_end;
  std::array<std::uint32_t, tables_max> truncations{}; ///< Of each table, when it was taken.
};

/// A database whose commits are logged before they are visible. Rows are locked from their change
/// until it is visible, as in the real one, so that the log's order is each row's order; everything
/// else may overtake.
class source {
public:
  source(const options& world, story& told);

  // -- what clients do --------------------------------------------------------------------------

  using arguments = std::array<std::uint8_t, 12>;

  /// Each does nothing and gives false when it cannot happen now.
  bool begin(const arguments& from);
  bool log(std::uint8_t which, bool show_at_once);
  bool show(std::uint8_t which);
  bool abort(std::uint8_t which);
  void move_log();
  void reshape(std::size_t table);

  // -- what a reader does -----------------------------------------------------------------------

  /// `modesty`: which of the seen transactions the snapshot does not claim.
  [[nodiscard]] source_view view(std::uint64_t modesty = 0) const;
  /// A snapshot after a transaction of its own has ended.
  [[nodiscard]] snapshot look();
  /// A truncate holds the table: nobody reads it.
  [[nodiscard]] bool is_shut(std::size_t table) const;
  [[nodiscard]] std::uint32_t truncations(std::size_t table) const { return truncations_[table]; }
  /// A reader reads the table: it cannot be truncated.
  void hold(std::size_t table) { ++held_[table]; }
  void let_go(std::size_t table) { --held_[table]; }
  /// A reader found the table emptied by a TRUNCATE that its snapshot does not see. Until the
  /// checkpoint has passed that, the target lacks rows which the source, as of then, has.
  void note_found_emptied(std::size_t table) { emptied_until_[table] = truncated_at_[table]; }
  [[nodiscard]] position emptied_until(std::size_t table) const { return emptied_until_[table]; }

  // -- the log ----------------------------------------------------------------------------------

  struct entry {
    std::size_t transaction = 0;
    position final;
    position end;
  };
  [[nodiscard]] const std::vector<entry>& entries() const { return log_; }
  [[nodiscard]] const source_transaction& of(const entry& at) const {
    return transactions_[at.transaction];
  }
  [[nodiscard]] position log_end() const { return end_; }
  /// Every row as the log up to `end` made it.
  [[nodiscard]] const contents& rows_at(position end) const;
  [[nodiscard]] const contents& rows() const { return visible_; }
  [[nodiscard]] const relation_ptr& shape(std::size_t table) const { return shapes_[table]; }
  [[nodiscard]] bool is_quiet() const;
  /// Logged, not visible: what an export would hold as committed.
  [[nodiscard]] std::vector<transaction_id> hidden() const;
  /// `T1`, by the number of its start.
  [[nodiscard]] static std::string name(std::size_t transaction);
  /// `A: update k9 (a4 b- c-)`
  [[nodiscard]] std::string describe(const row_change& change) const;
  /// The names of the logged transactions that a snapshot is not sure of.
  [[nodiscard]] std::string describe(const snapshot& seen) const;

private:
  bool add_keyed(source_transaction& to, std::size_t table, const std::uint8_t* from);
  bool add_keyless(source_transaction& to, std::size_t table, const std::uint8_t* from);
  bool add_truncate(source_transaction& to, std::size_t table);
  /// Fill in what the change does; they say which columns get new values.
  [[nodiscard]] unsigned choose_insert(row_change& made, const std::uint8_t* from) const;
  [[nodiscard]] unsigned choose_update(row_change& made, const source_transaction& own,
                                       const std::uint8_t* from) const;
  void choose_move(row_change& made, const source_transaction& own, std::uint8_t which) const;
  [[nodiscard]] row current(std::size_t table, std::size_t key,
                            const source_transaction& own) const;
  [[nodiscard]] bool is_free(std::size_t table, std::size_t key, std::size_t for_whom) const;
  [[nodiscard]] std::optional<std::size_t> pick(std::uint8_t which,
                                                source_transaction::phase now) const;
  void end(std::size_t transaction, source_transaction::phase as);

  static constexpr std::size_t nobody = ~std::size_t{0};

  const options& world_;
  story& story_;
  std::array<relation_ptr, tables_max> shapes_;
  std::vector<source_transaction> transactions_;
  std::vector<entry> log_;
  std::vector<contents> after_; ///< after_[n]: the rows behind n entries of the log.
  contents visible_{};
  std::array<std::array<std::size_t, keys_max>, tables_max> locks_{};
  std::array<bag, tables_max>
      pending_{}; ///< keyless rows that transactions not yet visible remove.
  std::array<std::uint32_t, tables_max> truncations_{};
  std::array<position, tables_max> truncated_at_{};
  std::array<position, tables_max> emptied_until_{};
  std::array<int, tables_max> held_{};
  position end_{1000};
  std::uint64_t next_xid_ = 0;
  std::uint64_t last_ended_ =
      0; ///< The highest number that has ended: a snapshot's xmax is above it.
  int last_value_ = 0;
};

/// Applies a change to rows: at the source, and nowhere else.
void apply(const row_change& change, contents& to);

} // namespace cdc::simulation
