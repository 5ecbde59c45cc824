#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "messages/batch.hpp"
#include "sinks/json_writer.hpp"
#include "sinks/ndjson/line_writer.hpp"

namespace cdc::sinks::ndjson {

/// Renders whole batches; remembers the shapes it has seen.
class batch_lines {
public:
  /// The batch's lines, valid until the next call.
  [[nodiscard]] std::string_view render(const batch& work);

private:
  [[nodiscard]] const line_writer& writer_for(const target_table_ptr& table);

  std::unordered_map<const target_table*, std::unique_ptr<line_writer>> writers_;
  std::vector<const line_writer*> of_batch_;
  std::vector<std::string> tails_;
  json_writer out_;
};

/// The report of a batch that was taken whole by a target that has no rows to miss.
[[nodiscard]] write_report report_of(const batch& work);

} // namespace cdc::sinks::ndjson
