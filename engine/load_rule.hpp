#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/batcher.hpp"
#include "engine/gate.hpp"
#include "engine/routes.hpp"
#include "engine/tracked_table.hpp"
#include "messages/snapshot.hpp"

namespace cdc::engine {

/// A change's images: cells of batcher::current(), or of own_block() when `is_own`.
struct row_images {
  std::uint32_t before = change::none;
  std::uint32_t after = change::none;
  bool is_own = false;
};

/// What became of a copied row.
enum class copy_fate : std::uint8_t { written, merged, dropped };

/// The rule of the initial load for tables with a key: how copied rows and streamed changes become
/// one truth. Every change goes to the batcher, and what must be remembered of it into the table's
/// entries.
///
/// Why it is as it is says docs/load-rule.md. Words: an *entry* is what is remembered of a key that
/// the stream touched while a range may still hand it over; a range is *closed* for a key once the
/// mark of its wave has been sent; the *list* holds keys that must be read again.
class load_rule {
public:
  load_rule(rule_switches rule, batcher& out, const gate& proofs)
      : rule_(rule), out_(out), proofs_(proofs) {
    // nop
  }

  // -- the stream -------------------------------------------------------------------------------

  /// A new or changed row with every column that the target takes.
  void complete(route& to, row_images row);
  void remove(route& to, row_images row);
  void truncate(route& to);
  /// A changed row with columns absent; its key is the same.
  void partial(route& to, row_images row);
  /// A row whose key changed. `is_complete`: the new image has every column.
  void move(route& to, row_images row, bool is_complete);
  /// A new row with columns absent: the source said only what differs from its defaults.
  void partial_insert(route& to, row_images row);

  // -- the sink's answers -----------------------------------------------------------------------

  void found(tracked_table& table, std::string_view key, std::uint64_t number);
  void missing(tracked_table& table, std::string_view key, std::uint64_t number);

  // -- copied rows ------------------------------------------------------------------------------

  /// A row of batcher::current() that was read in a snapshot, once the stream has passed its log
  /// end.
  copy_fate copied(route& to, std::uint32_t row, const snapshot& seen);

  /// A refetch whose row has been dealt with, or that found none. True: it must be read again.
  bool refetched(tracked_table& table, route& to, const std::string& key, const snapshot& seen);
  /// The refetch's snapshot tells nothing: it is older than what the entry began with.
  [[nodiscard]] bool is_too_old(tracked_table& table, std::string_view key, const snapshot& seen);

  /// Puts the incomplete keys of a range on the list whose row the target lacks.
  void close_list(tracked_table& table, std::uint32_t range);

  /// An open item of the list that progress has to make durable. Not one whose last change is still
  /// on its way and lists the key by itself, if need be: the target may find the row after all.
  [[nodiscard]] bool is_to_record(tracked_table& table, std::string_view key,
                                  std::uint64_t acknowledged) const;

  // -- what is remembered -----------------------------------------------------------------------

  /// Lets go of the entries that nothing needs any more; `acknowledged`: the highest number.
  void sweep(tracked_table& table, std::uint64_t acknowledged);
  /// The map is begun anew: only what the load will not bring again stays.
  void begin_anew(tracked_table& table);
  /// The table got its ranges: entries made before are told theirs.
  void planned(tracked_table& table);

private:
  [[nodiscard]] const block& rows_of(const row_images& row) const;
  void encode(const route& to, const row_images& row, std::uint32_t image, std::string& out) const;
  void push(action what, route& to, const row_images& row, bool keep_if_missing = false);
  [[nodiscard]] bool keeps_if_missing(const tracked_table& table, std::string_view key) const;

  /// Remembers what the last change left of a key, if it must be remembered.
  void settle(tracked_table& table, std::string_view key, entry_state state);
  [[nodiscard]] bool is_gone_with_all(const tracked_table& table, std::string_view key) const;
  entry& begin_partial(tracked_table& table, std::string_view key, bool is_born);
  void add_cells(tracked_table& table, entry& to, route& from, const row_images& row);
  void set_whole(tracked_table& table, entry& of, std::uint64_t number);
  copy_fate merge(route& to, std::uint32_t row, entry& with);
  [[nodiscard]] bool may_leave(tracked_table& table, const entry& which, std::string_view key,
                               std::uint64_t acknowledged) const;
  [[nodiscard]] bool all_gone_may_leave(tracked_table& table, std::uint64_t acknowledged) const;

  rule_switches rule_;
  batcher& out_;
  const gate& proofs_;
  std::string key_;
  std::string other_key_;
};

} // namespace cdc::engine
