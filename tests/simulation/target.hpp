#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "messages/batch.hpp"
#include "tests/simulation/options.hpp"
#include "tests/simulation/rows.hpp"
#include "tests/simulation/story.hpp"

namespace cdc::simulation {

using flags = std::array<std::array<bool, keys_max>, tables_max>;

/// All that a target holds, rows and our own state beside them.
struct target_state {
  contents rows{};
  flags listed{};
  flags removed_by_hand{};
  /// What a target with versions stores with each key.
  std::array<std::array<std::uint64_t, keys_max>, tables_max> version{};
  std::map<std::string, std::string> records;
  std::optional<checkpoint> reached;
};

/// A sink and what it writes to. The sink's half dies with the process, the target's half does not.
/// Batches are taken in order, two at most; what happens to them happens in steps.
class target {
public:
  target(const options& world, story& told) : world_(world), story_(told) {}
  virtual ~target() = default;

  /// A new life begins: raises the epoch, says what a start needs.
  [[nodiscard]] virtual sink_state open() = 0;
  void submit(batch_ptr work);
  /// One step of what is to be done; false: nothing is.
  virtual bool work(std::uint8_t which) = 0;
  /// The next answer; none: nothing was completed.
  [[nodiscard]] std::optional<write_report> take_answer();
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  /// The process dies. What it sent may still be on its way: `which` of it, bit by bit.
  void lose_process(std::uint8_t which);
  /// Something of a dead process arrives; false: nothing is on its way.
  virtual bool receive_late(std::uint8_t which) = 0;
  /// What was not durable is gone, right after the process was.
  virtual void lose_power() = 0;
  /// A person deletes a row; false: it is not there.
  virtual bool remove_by_hand(std::size_t table, std::size_t key) = 0;

  /// A transaction is open: what was written last is not to be seen yet.
  [[nodiscard]] virtual bool is_inside() const = 0;
  /// Whether finished rows are those of the source as of the checkpoint, not only in the end.
  [[nodiscard]] virtual bool keeps_to_checkpoint() const = 0;
  [[nodiscard]] virtual const target_state& state() const = 0;
  /// The checkpoint that a power cut would leave.
  [[nodiscard]] virtual std::optional<checkpoint> durable() const = 0;
  /// What a batch asked for that no target can do; empty: nothing.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

protected:
  virtual void on_process_lost(std::uint8_t which) = 0;

  /// A row as a change carries it: which of a, b, c, and their values (keyless: v and w).
  struct image {
    std::size_t key = 0;
    unsigned present = 0;
    std::array<int, values> value{};
  };
  /// A change as a sink reads it.
  struct row_write {
    action what = action::upsert;
    std::size_t table = 0;
    image old;
    image made;
    bool keep_if_missing = false;
    std::uint64_t number = 0;
    std::uint64_t version = 0;
  };

  [[nodiscard]] row_write read(const batch& work, const change& what);
  static void overlay(row& onto, const image& what);
  /// Writes the records and the list of a batch, and its checkpoint.
  void write_state(const batch& work, target_state& to);
  [[nodiscard]] static sink_state describe(const target_state& from, std::uint64_t epoch,
                                           std::size_t tables);
  void tell(const batch& work, const target_state& after);

  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    if (complaint_.empty())
      complaint_ = "target: " + fmt::format(format, std::forward<Args>(args)...);
  }

  const options& world_;
  story& story_;
  std::deque<batch_ptr> sent_;
  std::deque<write_report> answers_;

private:
  [[nodiscard]] image read_image(const batch& work, const change& what, std::uint32_t first);
  void tell(const row_write& made, bool is_copy);

  std::size_t outstanding_ = 0;
  std::string complaint_;
};

[[nodiscard]] std::string_view name_of(action what);

} // namespace cdc::simulation
