#include "cli/commands/validate.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/selection.hpp"
#include "cli/terminal.hpp"
#include "sinks/standing.hpp"
#include "sources/mysql/setup.hpp"
#include "sources/postgres/lsn.hpp"
#include "supervision/set_up.hpp"

namespace cdc::cli {

namespace {

namespace postgres = sources::postgres;
using level = finding::level;

/// The findings so far, and how to add one.
class findings {
public:
  void good(std::string text) { all_.push_back({level::good, {}, std::move(text)}); }
  void warn(std::string text) { all_.push_back({level::warning, {}, std::move(text)}); }
  /// Several mistakes come as one text, a line each.
  void bad(errc code, std::string_view text) {
    while (!text.empty()) {
      const auto line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      all_.push_back({level::bad, code, std::string{line}});
    }
  }
  void add(std::vector<finding> more) {
    all_.insert(all_.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  }
  [[nodiscard]] bool has(errc code) const {
    return std::ranges::any_of(
        all_, [&](const auto& each) { return each.severity == level::bad && each.code == code; });
  }
  [[nodiscard]] std::vector<finding> take() { return std::move(all_); }

private:
  std::vector<finding> all_;
};

std::string counted(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// The chosen tables as they would be written. What the inspection has said is not said again.
std::vector<target_table_ptr> map_tables(const config::pipeline_config& pipeline,
                                         const std::vector<relation_ptr>& tables, findings& out) {
  std::vector<target_table_ptr> mapped;
  const auto said_identity = out.has(errc::identity_missing);
  for (const auto& table : tables) {
    auto target = supervision::map_shape(pipeline, table);
    if (target && *target)
      mapped.push_back(std::move(*target));
    else if (!target && !(said_identity && target.error().code == errc::identity_missing))
      out.bad(target.error().code, target.error().detail);
  }
  if (mapped.size() == tables.size() && !tables.empty())
    out.good(counted(mapped.size(), "table") + " will be written");
  return mapped;
}

std::string name_of(const config::target_config& target) {
  return target.name == "target" ? "target" : "sink " + target.name;
}

void check_stream(const config::pipeline_config& pipeline, const config::target_config& target,
                  const postgres::inspection& source, findings& out) {
  const auto kept = sinks::read_standing(target, source.log->identity);
  if (!kept) {
    out.bad(kept.error().code, kept.error().detail);
    return;
  }
  if (!*kept) {
    out.good(fmt::format("{}: {}; a run begins with the load", name_of(target),
                         sinks::keeps_checkpoint(target) ? "nothing was written yet"
                                                         : "it keeps no checkpoint"));
    return;
  }
  const auto& is = (*kept)->stream;
  if (is != source.log->identity) {
    out.bad(errc::foreign_stream,
            fmt::format("{}: {} was written from another stream, slot {} of database {} on server "
                        "{}: name another target",
                        name_of(target), config::location_of(target), is.stream, is.database,
                        is.server));
    return;
  }
  if (!(*kept)->state.resume)
    return;
  const auto resume = (*kept)->state.resume->resume;
  if (const auto why = judge_resume(*source.log, pipeline.source.slot_name, resume); !why.empty())
    out.bad(errc::target_stale, fmt::format("{}: {}", name_of(target), why));
  else if (auto unread = judge_publications(source.publications, resume); !unread.empty())
    out.bad(errc::source_misconfigured, fmt::format("{}: {}", name_of(target), unread));
  else
    out.good(fmt::format("{}: resumes at {}", name_of(target), postgres::to_lsn(resume)));
}

void check_target(const config::pipeline_config& pipeline, const config::target_config& target,
                  const std::vector<target_table_ptr>& tables, findings& out,
                  const std::function<void()>& check_stream) {
  auto is_open = true;
  for (auto& remark : sinks::find_obstacles(target, pipeline.engine, tables)) {
    is_open = is_open && !remark.is_obstacle;
    auto text = fmt::format("{}: {}", name_of(target), remark.text);
    if (remark.is_obstacle)
      out.bad(errc::target_misconfigured, text);
    else
      out.warn(std::move(text));
  }
  if (is_open)
    check_stream();
}

template <class Tables>
std::vector<relation_ptr> shapes_of(const Tables& tables) {
  std::vector<relation_ptr> out;
  for (const auto& each : tables)
    out.push_back(each.shape);
  return out;
}

void check_postgres(const config::pipeline_config& pipeline, findings& out) {
  auto source = postgres::inspect(pipeline.source, pipeline.syncs);
  out.add(std::move(source.findings));
  const auto tables = map_tables(pipeline, shapes_of(source.tables), out);
  for (const auto& target : pipeline.targets)
    check_target(pipeline, target, tables, out, [&] {
      if (source.log)
        check_stream(pipeline, target, source, out);
    });
}

void check_mysql(const config::pipeline_config& pipeline, findings& out) {
  auto source = sources::mysql::inspect(pipeline.source, pipeline.syncs);
  out.add(std::move(source.findings));
  const auto tables = map_tables(pipeline, shapes_of(source.tables), out);
  for (const auto& target : pipeline.targets)
    check_target(pipeline, target, tables, out, [&] {
      const auto kept = source.identity ? sinks::read_standing(target, *source.identity)
                                        : result<std::optional<sinks::standing>>{};
      if (!kept)
        out.bad(kept.error().code, kept.error().detail);
      else if (*kept && (*kept)->stream != *source.identity)
        out.bad(errc::foreign_stream,
                fmt::format("{}: {} was written from another stream, of server {}: name another "
                            "target",
                            name_of(target), config::location_of(target), (*kept)->stream.server));
    });
}

// -- printing -------------------------------------------------------------------------------------

void print(const finding& line) {
  static const auto in_colour = ::isatty(STDOUT_FILENO) == 1;
  const auto mark = line.severity == level::good      ? "✓"
                    : line.severity == level::warning ? "!"
                                                      : "✗";
  const auto colour = line.severity == level::good      ? "\x1b[32m"
                      : line.severity == level::warning ? "\x1b[33m"
                                                        : "\x1b[31m";
  if (in_colour)
    fmt::print("{}{}\x1b[0m ", colour, mark);
  else
    fmt::print("{} ", mark);
  say(stdout, line.text + "\n");
}

bool is_bad(const finding& line) noexcept {
  return line.severity == level::bad;
}

// A line each, since a person counts the marks.
void print_mistakes(std::string_view text) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    print({level::bad, errc::invalid_config, std::string{line}});
  }
}

} // namespace

std::string judge_resume(const postgres::log_standing& log, const std::string& slot,
                         position resume) {
  const auto ours = std::ranges::find(log.slots, slot, &postgres::slot_state::name);
  if (ours == log.slots.end())
    return fmt::format("resumes at {}, but slot {} does not exist any more: put it back from where "
                       "it was, or run --fresh-slot-and-load",
                       postgres::to_lsn(resume), slot);
  if (resume < ours->confirmed)
    return fmt::format("resumes at {}, but slot {} has let go of everything before {}: the target "
                       "is an older copy. Put the newer one back, or run --fresh-slot-and-load",
                       postgres::to_lsn(resume), slot, postgres::to_lsn(ours->confirmed));
  if (resume > log.end)
    return fmt::format("resumes at {}, beyond the end of the server's log, {}: the source was "
                       "restored or replaced. run --fresh-slot-and-load",
                       postgres::to_lsn(resume), postgres::to_lsn(log.end));
  return {};
}

std::vector<finding> check(const config::pipeline_config& pipeline) {
  findings out;
  out.good(fmt::format("{}, {}, sslmode {}", counted(pipeline.syncs.size(), "section"),
                       counted(pipeline.targets.size(), "target"),
                       config::spelling(pipeline.source.sslmode_in_force)));
  for (const auto& note : pipeline.notes)
    out.warn(note);
  if (pipeline.source.what == config::source_config::flavor::mysql)
    check_mysql(pipeline, out);
  else
    check_postgres(pipeline, out);
  return out.take();
}

int run_validate(const validate_options& options) {
  const auto pipelines = read_selection(options.from);
  if (!pipelines) {
    print_mistakes(pipelines.error().detail);
    return 2;
  }
  std::size_t failed = 0;
  for (const auto& pipeline : *pipelines) {
    if (pipelines->size() > 1)
      say(stdout, fmt::format("{} ({})\n", pipeline.source.name, pipeline.file));
    const auto lines = check(pipeline);
    std::ranges::for_each(lines, print);
    failed += std::ranges::any_of(lines, is_bad) ? 1u : 0u;
  }
  if (failed == 0)
    fmt::print("all checks passed\n");
  else
    say(stdout, fmt::format("{} of {} failed\n", failed, counted(pipelines->size(), "pipeline")));
  return failed == 0 ? 0 : 1;
}

} // namespace cdc::cli
