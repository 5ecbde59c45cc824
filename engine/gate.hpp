#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "messages/checkpoint.hpp"
#include "messages/error.hpp"
#include "messages/snapshot.hpp"

namespace cdc::engine {

/// Which snapshots count (load-rule §1a). A commit is in the log, and streamed, before other
/// sessions can see it: a snapshot that has not seen what this engine or an earlier one has passed
/// would give back rows that the stream never brings again.
///
/// `unproved` (U) are the transactions passed, from their first piece and in any life, that no
/// snapshot handed over was sure of; it is stored with every checkpoint as small records.
/// `required` (G) is what every snapshot of this life must be sure of.
///
/// Invariant: what is stored with a checkpoint holds every unproved transaction at or below it.
class gate {
public:
  /// `keeps`: a load is unfinished, so U is kept and stored.
  gate(rule_switches rule, bool keeps);

  /// The targets whose changes pass here: what is stored says so, since U holds no transaction of
  /// a table that was not among them.
  void covers(std::span<const std::string> targets);
  /// The stored U of earlier lives. Records that are not the gate's are passed over.
  [[nodiscard]] result<void> restore(const sink_state& state);
  /// Transactions that no record holds yet: of a first start, or of the plain form.
  void require(std::span<const transaction_id> ids);

  /// A transaction begins to pass.
  void pass(transaction_id id);
  /// It has passed whole: the next checkpoint covers it.
  void passed();

  /// A snapshot was handed over, admitted or not.
  void prove(const snapshot& seen);
  [[nodiscard]] bool admits(const snapshot& seen) const noexcept;
  /// Some snapshot handed over in this life is sure of it.
  [[nodiscard]] bool has_proof(transaction_id id) const noexcept;

  /// The map is begun anew: what is unproved now is required from here on.
  void begin_anew();
  /// What a table without a key requires of its snapshot, fixed now (§1b).
  [[nodiscard]] std::vector<transaction_id> required_now() const;

  /// What to store with the next checkpoint: additions, and removals of what was proved meanwhile.
  void take_records(std::vector<record>& out);
  /// A commit was acknowledged.
  void acknowledged();
  /// The last progress is durable: nothing is kept from here on.
  void finish();

  [[nodiscard]] bool keeps() const noexcept { return keeps_; }
  [[nodiscard]] bool wants_proof() const noexcept { return !unproved_.empty(); }
  [[nodiscard]] bool has_records() const noexcept { return !is_marked() || !stale_.empty(); }

private:
  struct passed_transaction {
    transaction_id id = 0;
    bool is_whole = false;
    bool is_due = false;      ///< To be stored; differs from is_whole only under the rule's switch.
    std::uint64_t record = 0; ///< Where it is stored; 0: nowhere yet.
  };

  /// The target's mark is what it has to be.
  [[nodiscard]] bool is_marked() const noexcept {
    return keeps_ ? marked_ == covered_ : !marked_.has_value();
  }
  template <class Predicate>
  void drop_if(Predicate&& leaves);
  void release_record(std::uint64_t number);

  rule_switches rule_;
  bool keeps_;
  std::string covered_;               ///< What the record that says U is kept holds …
  std::optional<std::string> marked_; ///< … and what it holds at the target.
  std::vector<passed_transaction> unproved_;
  std::vector<transaction_id> required_;
  std::optional<snapshot> latest_; ///< The youngest handed over: it has seen what all others have.
  std::map<std::uint64_t, std::size_t> records_; ///< Stored, with how many of it are unproved.
  std::vector<std::uint64_t> restored_;
  std::vector<std::uint64_t> stale_; ///< Stored, to be removed.
  std::uint64_t last_record_ = 0;
};

/// The target's records say what reads must have seen: at all, and of this target's rows.
[[nodiscard]] bool holds_gate(const sink_state& state) noexcept;
[[nodiscard]] bool holds_gate(const sink_state& state, std::string_view target) noexcept;

} // namespace cdc::engine
