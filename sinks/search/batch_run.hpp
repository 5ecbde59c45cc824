#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "sinks/http/client.hpp"
#include "sinks/search/pace.hpp"
#include "sinks/search/quarantine.hpp"
#include "sinks/search/verdict.hpp"
#include "sinks/search/work_plan.hpp"
#include "sinks/target_gauges.hpp"

namespace cdc::sinks::search {

/// What all batches of one life share. Used on the client's thread alone.
struct writing {
  http::client& over;
  class pace pace;
  std::string source; ///< Of the stream: how it spells positions.
  class quarantine quarantine;
  places to{};
  std::map<const target_table*, std::unique_ptr<document_writer>> writers{};
  std::shared_ptr<target_gauges> shown = std::make_shared<target_gauges>();
  std::multiset<std::chrono::steady_clock::time_point> open{}; ///< When each open write was sent.

  [[nodiscard]] document_writer* writer_of(const target_table_ptr& table);
  [[nodiscard]] std::chrono::steady_clock::time_point opened();
  void closed(std::chrono::steady_clock::time_point since, write_result how);
  void show_open() const;
  void show_pace() const;
};

/// One batch on its way: a run of changes at a time, each truncate by itself. Lives on the client's
/// thread; its requests keep it alive.
class batch_run : public std::enable_shared_from_this<batch_run> {
public:
  batch_run(writing& with, batch_ptr work, completion done);

  /// Begins; `over` is called once, later, when it is finished or has failed.
  void start(std::function<void()> over);

  /// A batch with a truncate is written alone.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
  [[nodiscard]] bool is_started() const noexcept { return over_ != nullptr; }
  [[nodiscard]] bool is_finished() const noexcept { return is_finished_; }
  [[nodiscard]] const std::optional<error>& failed() const noexcept { return failed_; }
  [[nodiscard]] bool meets(const batch_run& other) const noexcept;

  [[nodiscard]] const batch& work() const noexcept { return *work_; }
  [[nodiscard]] write_report& report() noexcept { return report_; }
  [[nodiscard]] const completion& done() const noexcept { return done_; }

private:
  /// Changes [first, last); of a truncate there is one.
  struct segment {
    std::size_t first = 0;
    std::size_t last = 0;
    bool is_truncate = false;
  };

  void divide();
  void plan_segment();
  void next_segment();
  void begin_segment();
  void read_documents();
  void on_documents(const http::response& said);
  void drop_overtaken(std::uint32_t key, found_document& found) const;
  void write_segment();

  // -- bulk requests ------------------------------------------------------------------------------
  void send_bulk();
  [[nodiscard]] std::size_t slice_end(std::size_t& bytes) const;
  void on_bulk(std::size_t sent, std::size_t bytes, std::chrono::steady_clock::time_point since,
               result<http::response> said);
  /// How it ended is known once all items were looked at.
  [[nodiscard]] write_result on_items(std::size_t sent, std::size_t bytes,
                                      const std::vector<item_answer>& items);
  void go_on();
  void refuse(std::uint32_t item, const item_answer& answer);
  [[nodiscard]] std::string_view index_of(std::uint32_t key) const;
  [[nodiscard]] std::size_t end_of(std::size_t item) const noexcept;

  // -- refused documents --------------------------------------------------------------------------
  struct refused_item {
    std::uint32_t item = 0;
    std::string reason;
  };
  struct document_name {
    std::string index;
    std::string id;
  };
  /// A newer document was written than the one that is put aside.
  void note_written(const bulk_item& item);
  void settle_refused();
  void put_aside_next(bool with_document);
  void on_put_aside();
  void forget_next(std::function<void()> then);
  [[nodiscard]] reject_record record_of(const refused_item& it, bool with_document) const;

  // -- what may have to be done again -------------------------------------------------------------
  /// Sends, again and again while the target says "later"; an answer with another status is given
  /// on, and one that ends the writing fails the batch.
  void insist(std::string_view method, std::string target,
              const std::shared_ptr<const std::string>& body,
              std::function<void(const http::response&)> then);
  /// The same; a status that would fail the batch because of what was asked is given to
  /// `otherwise`.
  void insist(std::string_view method, std::string target,
              const std::shared_ptr<const std::string>& body,
              std::function<void(const http::response&)> then,
              std::function<void(const item_answer&)> otherwise);
  /// False when the batch has failed instead.
  bool wait_again(verdict why, const item_answer& last, const std::string& where,
                  std::function<void()> then);
  bool wait_again(verdict why, const error& last, std::function<void()> then);
  void fail_with(error why);
  void finish();

  // -- truncate -----------------------------------------------------------------------------------
  [[nodiscard]] const change& truncation() const;
  /// The path of a request about the truncated index.
  [[nodiscard]] std::string truncated(std::string_view action) const;
  void truncate();
  void set_gc_deletes(std::string_view value, std::function<void()> then);
  void open_scroll();
  void refresh(std::function<void()> then);
  void end_truncate();
  void on_page(const http::response& said);
  void remove_page(const std::shared_ptr<const std::string>& body, std::size_t documents);
  void next_page();

  writing& with_;
  batch_ptr work_;
  completion done_;
  std::function<void()> over_;
  write_report report_;
  std::optional<error> failed_;
  bool is_finished_ = false;
  bool is_alone_ = false;

  std::vector<segment> segments_;
  std::size_t at_ = 0;
  std::unique_ptr<work_plan> plan_;

  std::shared_ptr<json_writer> body_;
  std::vector<bulk_item> items_;
  std::vector<std::uint32_t> left_; ///< Into items_: not written yet, in order.
  std::optional<std::pair<verdict, item_answer>> worst_; ///< Of the items to be sent again.
  std::vector<refused_item> refused_;
  std::vector<document_name> outdated_; ///< Their records are to be removed.
  growing_wait wait_;
  std::string scroll_; ///< Of a truncate.
};

} // namespace cdc::sinks::search
