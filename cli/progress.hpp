#pragma once

#include <cstddef>
#include <string>

#include "actors/board_view.hpp"
#include "actors/flow.hpp"

namespace cdc::cli {

/// What a person sees of a run on a terminal: one line, without a newline, at most `columns` wide.
/// A bar while tables are loaded, a status once they are.
///
///   shop  load [#####.....] 54%  public.a  1,204,000 of 2,200,000 rows  310 k rows/s  3.1 s left
///
///   shop  catch-up  512 k rows/s  1.2 GiB to read  8.1 s left  2,204,118 rows
///
///   shop  streaming  12 rows/s  0 B behind  1,204,118 rows
[[nodiscard]] std::string progress_line(const actors::board_view& seen,
                                        const actors::flow_view& flow, std::size_t columns);

/// The same where lines are kept: one for each pipeline.
[[nodiscard]] std::string progress_text(const actors::pipeline_view& seen,
                                        const actors::pipeline_flow& flow);

} // namespace cdc::cli
