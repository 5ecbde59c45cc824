#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "messages/credit.hpp"
#include "tests/simulation/source.hpp"

namespace cdc::simulation {

/// The load coordinator and its readers in one life of the process: opens waves, takes snapshots,
/// hands over rows, and reads what the engine wants read again. It does nothing by itself: each
/// function is one thing it may do now, and gives false when it cannot.
class coordinator {
public:
  /// `tables`: which simulated table each of the engine's is; `shapes`: what its readers select.
  coordinator(const options& world, story& told, source& from, engine::engine& into,
              std::vector<std::size_t> tables, std::vector<relation_ptr> shapes, block_pool& pool);
  ~coordinator();
  coordinator(const coordinator&) = delete;
  coordinator& operator=(const coordinator&) = delete;

  void on(const engine::news& what);

  bool plan();
  bool open_wave(std::uint8_t from);
  bool take_snapshot(std::uint8_t which, std::uint64_t modesty);
  bool hand_over(std::uint8_t which);
  bool read(std::uint8_t which, std::uint8_t rows, bool end_at_once);
  bool lose(std::uint8_t which);
  bool read_listed(std::uint8_t which, std::uint64_t modesty);
  bool answer_listed(std::uint8_t which);
  bool look(std::uint64_t modesty);
  bool prove();
  void restore(credit back);

  [[nodiscard]] bool finished() const;
  /// Copied rows handed over, accepted or not needed any more; those of a refused snapshot are not.
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  struct tally {
    std::uint32_t refused = 0; ///< Snapshots that had not seen what they must.
    std::uint32_t refetched = 0;
    std::uint32_t lost = 0;
    std::uint32_t begun_anew = 0;
  };
  [[nodiscard]] const tally& counts() const { return tally_; }

private:
  struct range_reader {
    range_ref range;
    std::size_t table = 0; ///< Of the simulation.
    bool is_keyless = false;
    std::optional<source_view> view;
    bool is_handed = false;
    bool is_reading = false; ///< It has begun to: its rows are fixed.
    bool holds = false;      ///< The table's lock.
    bool has_ended = false;
    std::vector<std::pair<std::size_t, std::size_t>> left; ///< Keys, or v and w.
  };
  struct listed_row {
    std::uint16_t table = 0; ///< Of the engine.
    std::string key;
    std::optional<source_view> view;
  };
  struct table_load {
    load_plan plan;
    std::vector<bool> done;
    bool is_planned = false;
  };

  template <class Pred>
  range_reader* pick(std::uint8_t which, Pred can);
  void release(range_reader& held);
  void find_rows(range_reader& for_whom);
  void close(range_reader& done);
  [[nodiscard]] block_ptr rows_of(range_reader& from, std::size_t count);
  [[nodiscard]] std::string name(const range_reader& what) const;

  const options& world_;
  story& story_;
  source& source_;
  engine::engine& engine_;
  std::vector<std::size_t> tables_;
  std::vector<relation_ptr> shapes_;
  block_builder builder_;
  std::vector<table_load> loads_;
  std::vector<range_reader> wave_;
  bool is_paused_ = false; ///< The stream, for a keyless table.
  std::vector<listed_row> listed_;
  std::optional<snapshot> looked_;
  credit_window window_;
  std::uint64_t rows_ = 0;
  tally tally_;
};

} // namespace cdc::simulation
