#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "messages/batch.hpp"
#include "tests/simulation/options.hpp"
#include "tests/simulation/rows.hpp"
#include "tests/simulation/story.hpp"

namespace cdc::simulation {

/// All that a table target holds, rows and our own state beside them.
struct target_state {
  contents rows{};
  std::array<std::array<bool, keys_max>, tables_max> listed{};
  std::array<std::array<bool, keys_max>, tables_max> removed_by_hand{};
  /// What a target with versions would have stored with each key.
  std::array<std::array<std::uint64_t, keys_max>, tables_max> version{};
  std::map<std::string, std::string> records;
  std::optional<checkpoint> reached;
  std::uint64_t not_found = 0; ///< Erases of keyless tables that found no row.
};

/// A transactional table target: every batch in one transaction with its checkpoint, by the load
/// rule's TABLE TARGET. Rows that a target transaction still holds open are seen by nobody.
class target {
public:
  target(const options& world, story& told) : world_(world), story_(told) {}

  /// Raises the epoch, rolls back what is open, and says what a start needs.
  [[nodiscard]] sink_state open();

  /// Whose batches are taken: the epoch and the checkpoint this session last saw.
  struct session {
    std::uint64_t epoch = 0;
    std::optional<checkpoint> reached;
  };

  /// Writes a batch. None: a newer session has begun, and nothing was written.
  [[nodiscard]] std::optional<write_report> apply(const batch& work, session& by);

  void roll_back();  ///< The session's connection is gone.
  void lose_power(); ///< What was not durable is gone too.
  /// A person deletes a row.
  bool remove_by_hand(std::size_t table, std::size_t key);

  [[nodiscard]] const target_state& state() const { return committed_; }
  [[nodiscard]] bool is_inside() const { return is_open_; }
  [[nodiscard]] std::optional<checkpoint> durable() const { return durable_.reached; }
  /// What a batch asked for that no target can do; empty: nothing.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::uint64_t merges() const { return merges_; }

private:
  struct image {
    std::size_t key = 0;
    unsigned present = 0;
    std::array<int, values> value{};
  };

  void apply(const batch& work, const change& what, write_report& into);
  void apply_keyed(const batch& work, const change& what, std::size_t table, write_report& into);
  void apply_keyless(const batch& work, const change& what, std::size_t table, write_report& into);
  void put(std::size_t table, const image& what, std::uint64_t version);
  void remove(std::size_t table, std::size_t key, std::uint64_t version);
  void overlay(row& onto, const image& what);
  void answer(const change& what, std::size_t table, std::size_t key, bool found,
              write_report& into);
  void set_version(std::size_t table, std::size_t key, std::uint64_t version);
  [[nodiscard]] image read(const batch& work, const change& what, std::uint32_t first);
  void commit(const batch& work, session& by, write_report& into);
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args);

  const options& world_;
  story& story_;
  target_state committed_;
  target_state open_;
  target_state durable_;
  bool is_open_ = false;
  std::uint64_t epoch_ = 0;
  std::string complaint_;
  std::uint64_t merges_ = 0;
};

} // namespace cdc::simulation
