#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/batch.hpp"
#include "sinks/search/answers.hpp"
#include "sinks/search/document_writer.hpp"
#include "sinks/search/key_set.hpp"

namespace cdc::sinks::search {

/// An index of the target, and how actions on it begin.
struct place {
  std::string index;
  std::string pipeline;
  std::string head;    ///< `{"_index":"orders","version_type":"external_gte","version":`
  std::string indexed; ///< Head of an index action; with the pipeline, if there is one.
};

/// Where documents go, shared by all work of one life.
struct places {
  /// The place of a table; made on the first call.
  std::uint16_t of(const target_table& table);

  /// How an index is written to, if not by its name.
  struct way {
    std::string name;
    bool is_alias = false; ///< The user's: nothing but an alias may be written to.
  };
  std::map<std::string, way, std::less<>> ways;

  std::vector<place> all;
  std::map<std::string, std::uint16_t, std::less<>> by_index;
};

/// One action of a bulk request.
struct bulk_item {
  std::size_t begin = 0; ///< In the body; it ends where the next one begins.
  std::uint32_t key = 0;
  bool is_delete = false;
};

/// A run of changes as the documents they leave: each document is written at most once, with what
/// all of its changes together make of it.
///
/// It follows the load rule's DOCUMENT TARGET change by change, on what the changes before left:
/// what a partial change or a move needs of the target is asked for first, all at once. Versions
/// decide at the target; a document that is newer there stays.
///
/// The order of calls: wants(), then found() for all of them (if any), resolve(), write().
class work_plan {
public:
  /// Changes [first, last) of `work`, none of them a truncate, of one shape per target.
  work_plan(const batch& work, std::size_t first, std::size_t last,
            std::vector<document_writer*> writers, std::vector<std::uint16_t> places);

  [[nodiscard]] const key_set& keys() const noexcept { return keys_; }
  /// The documents whose present state is needed, by their numbers in keys().
  [[nodiscard]] const std::vector<std::uint32_t>& wants() const noexcept { return wants_; }
  void found(std::vector<found_document> documents);
  /// Follows the changes, and answers those that ask.
  void resolve(std::vector<answer>& answers);
  /// Appends the actions, in the order of keys().
  void write(const places& to, json_writer& out, std::vector<bulk_item>& items);

  /// The last change that a document's action carries.
  [[nodiscard]] std::uint64_t change_number(std::uint32_t key) const noexcept {
    return states_[key].number;
  }
  /// The version that a document's action carries.
  [[nodiscard]] std::uint64_t version(std::uint32_t key) const noexcept {
    return states_[key].version;
  }

private:
  enum class standing : std::uint8_t { unknown, row, stored, gone };

  /// A document as the changes so far left it.
  struct state {
    std::uint64_t version = 0; ///< 0: none known.
    std::uint64_t number = 0;
    standing is = standing::unknown;
    bool is_written = false;   ///< By a change of this plan.
    std::uint16_t table = 0;   ///< Into batch::tables, for a row.
    row_image image{};         ///< The row.
    std::uint32_t stored = 0;  ///< Into documents_.
    std::uint32_t over = none; ///< Into overlays_.
  };

  /// What one change touches.
  struct touched {
    std::uint32_t before = key_set::none;
    std::uint32_t after = key_set::none;
  };

  static constexpr std::uint32_t none = 0xffff'ffff;

  [[nodiscard]] row_image image_of(const change& it, std::uint32_t first) const {
    return {work_.blocks[it.block].get(), first};
  }
  std::uint32_t key_of(const change& it, std::uint32_t first);
  void want(std::uint32_t key);
  void note_wants(const change& it, const touched& at);
  void put(state& to, const change& it);
  void remove(state& to, const change& it, std::uint64_t version);
  bool partial(state& to, const change& it);
  bool move(const touched& at, const change& it);
  void overlay(state& to, const change& it);
  void write_item(std::uint32_t key, const places& to, json_writer& out,
                  std::vector<bulk_item>& items);
  void write_document(const state& of, json_writer& out);

  const batch& work_;
  std::size_t first_;
  std::size_t last_;
  std::vector<document_writer*> writers_;
  std::vector<std::uint16_t> places_;
  key_set keys_;
  std::vector<touched> touched_;
  std::vector<state> states_;
  std::vector<standing> expected_; ///< Of each key, while the wants are noted.
  std::vector<std::uint32_t> wants_;
  std::vector<found_document> documents_;
  std::vector<std::vector<row_image>> overlays_;
  std::string id_;
};

} // namespace cdc::sinks::search
