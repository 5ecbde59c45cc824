#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "messages/relation.hpp"
#include "sinks/json_writer.hpp"

namespace cdc::sinks::search {

/// What has to be known of a column to write its values.
struct value_shape {
  kind what = kind::text;
  kind element = kind::other; ///< Of an array.
  char delimiter = ',';       ///< Of an array.
};

/// Writes values as they stand in a document; docs/types.md has the table. Never writes a line
/// feed, since a bulk request is made of lines. Reuses its buffers; belongs to one thread.
class value_writer {
public:
  value_writer();
  ~value_writer();
  value_writer(value_writer&&) noexcept;
  value_writer& operator=(value_writer&&) noexcept;

  void write(const value_shape& how, std::string_view text, json_writer& out);

  /// The same value inside an `_id`: the characters of the string, or the digits of the number.
  static void append_to_id(const value_shape& how, std::string_view text, std::string& out);

private:
  void write_json(std::string_view text, json_writer& out);
  bool write_array(const value_shape& how, std::string_view text, json_writer& out);

  class validator;
  std::unique_ptr<validator> json_;
  std::string element_;
};

/// Appends JSON that is valid already, its line breaks (which are between its tokens) as spaces.
void splice(std::string_view json, json_writer& out);

} // namespace cdc::sinks::search
