#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"

namespace cdc::sinks::search {

/// What a bulk answer says of one item. A success has no error.
struct item_answer {
  unsigned status = 0;
  std::string type{};  ///< `mapper_parsing_exception`.
  std::string about{}; ///< What of its reason holds no value: `field [n] of type [integer]`.
};

/// A document as `_mget` found it.
struct found_document {
  bool is_there = false;
  std::uint64_t version = 0;
  std::string source{}; ///< As JSON.
};

/// Where a document of our own stands, for the next compare-and-set.
struct stored_at {
  std::uint64_t seq_no = 0;
  std::uint64_t primary_term = 0;

  bool operator==(const stored_at&) const = default;
};

/// A document of our own, as it stands.
struct stored_state_document {
  stored_at at;
  std::string source; ///< As JSON.
};

/// One page of all documents of an index.
struct document_page {
  struct one {
    std::string index;
    std::string id;
    std::uint64_t version = 0;
  };
  std::string scroll;
  std::vector<one> documents;
};

/// Each reads one kind of answer. errc::malformed_message when it is not JSON, not of that shape,
/// or speaks of another number of items than were asked for.
[[nodiscard]] result<std::vector<item_answer>> read_bulk_answer(std::string_view body,
                                                                std::size_t items);
[[nodiscard]] result<std::vector<found_document>> read_documents(std::string_view body,
                                                                 std::size_t documents);
[[nodiscard]] result<std::uint64_t> read_count(std::string_view body);
[[nodiscard]] result<document_page> read_page(std::string_view body);
[[nodiscard]] result<stored_state_document> read_stored(std::string_view body);
[[nodiscard]] result<stored_at> read_stored_at(std::string_view body);

/// The error that a whole answer is about, without values: type and what it concerns.
[[nodiscard]] item_answer read_error(unsigned status, std::string_view body);

/// A reason names fields and types, which are kept, and quotes values, which are not.
[[nodiscard]] std::string without_values(std::string_view reason);

} // namespace cdc::sinks::search
