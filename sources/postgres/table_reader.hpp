#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "messages/block.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

struct reader_options {
  std::string role = "load";             ///< Ends the application_name.
  std::string slot;                      ///< Whose pressure() is asked.
  std::vector<std::string> publications; ///< Whose stream the shapes are those of.
  block_limits limits;
  std::size_t blocks_kept = 16; ///< Blocks kept for reuse: the reader's window and a few.
};

/// A reader that connects at its first call, and again after its connection broke (the call that
/// noticed fails). Each needs a connection to the server of its own. pressure(), look(), nudge(),
/// describe() and read_key() are refused while a range is open: ask a reader that reads none.
[[nodiscard]] std::unique_ptr<table_reader> make_table_reader(const config::source_config& source,
                                                              reader_options options);

} // namespace cdc::sources::postgres
