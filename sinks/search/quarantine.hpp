#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/error.hpp"
#include "sinks/rejects.hpp"
#include "sinks/search/answers.hpp"
#include "sinks/search/exchange.hpp"

namespace cdc::sinks::search {

/// The hidden index of documents that were refused for good; its name, ids and fields are those of
/// pg2osync.
inline constexpr std::string_view rejects_index = ".pg2osync_rejects";

/// A refused document as it is stored.
struct reject_record {
  std::string id; ///< Of the record.
  reject what;
  std::uint64_t version = 0;
  std::string routing{};
  std::string pipeline{};
  std::string document{}; ///< As JSON; empty: a delete, or it could not be stored either.
};

[[nodiscard]] std::string to_json(const reject_record& record);

/// A record as `GET /.pg2osync_rejects/_doc/<id>` answers, its document byte for byte.
struct stored_reject {
  reject_record record;
  stored_at at;
};
[[nodiscard]] result<stored_reject> read_reject(std::string_view body);

/// One page of a scroll over the records, without their documents.
struct reject_page {
  std::string scroll;
  std::vector<reject_record> records;
};
[[nodiscard]] result<reject_page> read_reject_page(std::string_view body);

/// Makes the index unless it is there.
[[nodiscard]] result<void> make_rejects_index(exchange& with);
/// All records; none when there is no such index. For whoever may block.
[[nodiscard]] result<std::vector<reject_record>> read_rejects(exchange& with);

/// `/.pg2osync_rejects/_doc/<id>`
[[nodiscard]] std::string reject_path(std::string_view id);

/// The documents that are put aside, as one life knows them. A document that is older than what was
/// refused of it is no base for a partial change.
class quarantine {
public:
  struct entry {
    std::string id;
    std::uint64_t version = 0;
  };

  quarantine() = default;
  quarantine(bool is_on, std::size_t most) : is_on_(is_on), most_(most) {}

  [[nodiscard]] bool is_on() const noexcept { return is_on_; }
  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  [[nodiscard]] bool empty() const noexcept { return known_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }

  [[nodiscard]] const entry* find(std::string_view index, std::string_view document) const;
  /// Whether something newer than `version` of the document was refused.
  [[nodiscard]] bool is_overtaken(std::string_view index, std::string_view document,
                                  std::uint64_t version) const;
  /// The record's id: `<index>-<document>`, a hash where that is too long or another's.
  [[nodiscard]] std::string id_for(std::string_view index, std::string_view document) const;
  void add(std::string_view index, std::string_view document, entry made);
  void erase(std::string_view index, std::string_view document);
  /// Documents of an index that were refused at `version` or before.
  [[nodiscard]] std::vector<std::string> documents_of(std::string_view index,
                                                      std::uint64_t version) const;

private:
  using name = std::pair<std::string, std::string>;

  bool is_on_ = false;
  std::size_t most_ = 0;
  std::map<name, entry> known_;
};

} // namespace cdc::sinks::search
