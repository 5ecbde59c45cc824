#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sinks/http/client.hpp"
#include "sinks/search/batch_run.hpp"
#include "sinks/search/exchange.hpp"
#include "sinks/search/search_options.hpp"
#include "sinks/search/state_document.hpp"
#include "sinks/sink.hpp"

namespace cdc::sinks::search {

/// OpenSearch or Elasticsearch: each row is a document whose version is made of its place in the
/// source's log, so that whatever comes late or twice does no harm.
///
/// A document's changes are written in order: one document is never in two open requests. Batches
/// are written side by side and complete in order. The checkpoint, with records and listed keys, is
/// one document, written by compare-and-set when a batch asks for it or nothing else is to be done.
class search_sink final : public sink {
public:
  explicit search_sink(search_options options);
  ~search_sink() override;
  search_sink(const search_sink&) = delete;
  search_sink& operator=(const search_sink&) = delete;

  [[nodiscard]] result<sink_state> open(const stream_identity& stream) override;
  [[nodiscard]] result<void> prepare(const std::vector<target_table_ptr>& tables) override;
  void submit(batch_ptr work, completion done) override;
  void cancel() noexcept override;
  [[nodiscard]] std::vector<std::string> take_notices() override;
  void show_at(const std::shared_ptr<target_gauges>& where) override;
  [[nodiscard]] std::size_t window() const noexcept override {
    return options_.write_concurrency + 1;
  }

private:
  using run_ptr = std::shared_ptr<batch_run>;

  // -- opening, on the caller's thread ------------------------------------------------------------
  [[nodiscard]] result<void> check_server();
  [[nodiscard]] result<void> make_state_index();
  [[nodiscard]] result<void> learn_rejects();
  /// False: another life was faster, so that it has to be read again.
  [[nodiscard]] result<bool> take_over(const stream_identity& stream);
  /// Forgets the load of an index that is not there any more, or is not the one that was loaded.
  [[nodiscard]] result<void> forget_lost_indices();
  [[nodiscard]] result<void> prepare_table(const target_table& table);
  [[nodiscard]] result<void> choose_way(const target_table& table);
  void show_names();
  [[nodiscard]] result<void> check_mapping(const target_table& table);
  [[nodiscard]] result<void> relax(const std::vector<target_table_ptr>& tables);
  [[nodiscard]] result<void> restore_left_over(const std::vector<std::string>& loading);
  [[nodiscard]] result<void> set_index(const std::string& index, std::string body);
  [[nodiscard]] result<void> store_state();

  // -- batches, on the client's thread ------------------------------------------------------------
  void take(batch_ptr work, completion done);
  void advance();
  void start_what_can();
  [[nodiscard]] bool can_start(std::size_t at) const;
  void complete_front();
  void settle_front();
  void fail_all(const error& why);
  void update_list(batch_run& run);
  void unlist(const batch& work, const change& it, std::uint32_t image);
  void list(const batch& work, const change& it);
  [[nodiscard]] std::optional<listed_key> key_of(const batch& work, const change& it,
                                                 std::uint32_t image) const;

  // -- the checkpoint -----------------------------------------------------------------------------
  [[nodiscard]] bool wants_state(const batch& work) const;
  void write_state();
  [[nodiscard]] std::optional<std::string> index_to_restore(const batch& work) const;
  void restore(const std::string& index);
  [[nodiscard]] std::string state_path_at(const stored_at& at) const;
  [[nodiscard]] error fenced() const;
  void on_state_written(result<http::response> said);
  void look_at_state();

  search_options options_;
  std::string where_; ///< The first server, as messages name it.

  state_document state_;
  std::string state_path_;
  stored_at stored_at_;
  bool is_state_changed_ = false;
  growing_wait state_wait_;

  std::deque<run_ptr> runs_;
  bool is_busy_ = false; ///< Something about the front is on its way, and it waits for that.
  bool is_prepared_ = false;
  std::set<std::string> given_up_; ///< Indices that could not be put back.
  std::optional<error> failed_;
  std::optional<writing> with_;
  std::vector<std::string> notices_;

  std::unique_ptr<http::client> over_; ///< Last: its thread uses all of the above.
};

} // namespace cdc::sinks::search
