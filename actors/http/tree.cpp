#include "actors/http/tree.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "actors/figures.hpp"

namespace cdc::actors::http {

namespace {

struct row {
  std::string branch; ///< Lines of the tree and the name.
  std::string under;  ///< The lines of the tree that go on below it.
  std::size_t actor = 0;
};

void grow(const board_view& seen, std::size_t actor, const std::string& before,
          const std::string& below, std::vector<row>& into) {
  const auto children = children_of(seen, seen.actors[actor]);
  into.push_back(
      {before + seen.actors[actor].name, below + (children.empty() ? "   " : "│  "), actor});
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto is_last = i + 1 == children.size();
    grow(seen, children[i], below + (is_last ? "└─ " : "├─ "), below + (is_last ? "   " : "│  "),
         into);
  }
}

std::string spell(credit amount) {
  return fmt::format("{} block{} {}", amount.blocks, amount.blocks == 1 ? "" : "s",
                     spell_bytes(amount.bytes));
}

std::string doing(const actor_view& actor) {
  std::string words{actor.doing};
  if (!actor.about.empty())
    words += (words.empty() ? "" : " ") + one_line(actor.about);
  if (actor.in_handler > 1'000'000'000)
    words += fmt::format(" (for {})", spell_duration(static_cast<double>(actor.in_handler) * 1e-9));
  return words;
}

std::string details(const actor_view& actor, const actor_flow& flow) {
  std::string words;
  const auto add = [&](const std::string& more) { words += (words.empty() ? "" : " · ") + more; };
  if (flow.busy >= 0.005)
    add(fmt::format("busy {:.0f} %", flow.busy * 100));
  if (actor.is_starved || flow.starved >= 0.005)
    add(fmt::format("no credit {:.0f} %", flow.starved * 100));
  if (actor.mailbox_max > 0)
    add(fmt::format("mailbox {} (most {})", actor.mailbox, actor.mailbox_max));
  if (actor.held != credit{})
    add("may send " + spell(actor.held));
  if (actor.owed != credit{})
    add("owes " + spell(actor.owed));
  if (actor.in_flight > 0)
    add("keeps " + spell_bytes(actor.in_flight));
  if (actor.restarts > 0)
    add(fmt::format("{} restart{}", actor.restarts, actor.restarts == 1 ? "" : "s"));
  return words;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string summary(const pipeline_view& pipeline, const pipeline_flow& flow) {
  auto words =
      fmt::format("{}: {} · lag {} {} · {} rows/s", pipeline.name, to_string(pipeline.state),
                  spell_duration(pipeline.lag_seconds), spell_bytes(pipeline.lag_bytes),
                  spell_rate(flow.streamed_rows_per_second + flow.copied_rows_per_second));
  if (!flow.slowest.stage.empty())
    words += fmt::format(" · paced by {}: {}", flow.slowest.stage, flow.slowest.why);
  if (!pipeline.last_error.text.empty())
    words += fmt::format("\n  last error {}: {}", spell_time(pipeline.last_error.at),
                         one_line(pipeline.last_error.text));
  return words;
}

} // namespace

std::string render_tree(const board_view& seen, const flow_view& flow) {
  std::vector<row> rows;
  for (const auto root : roots_of(seen))
    grow(seen, root, "", "", rows);
  std::size_t branch = 0;
  std::size_t work = 0;
  for (const auto& one : rows) {
    branch = std::max(branch, width_of(one.branch));
    work = std::max(work, width_of(doing(seen.actors[one.actor])));
  }

  auto out = fmt::format("{} · cdc-actors {} · up {}\n", seen.node, seen.version,
                         spell_duration(static_cast<double>(seen.now - seen.started) * 1e-6));
  for (const auto& one : rows) {
    const auto& actor = seen.actors[one.actor];
    const auto busy = one.actor < flow.actors.size() ? flow.actors[one.actor] : actor_flow{};
    out +=
        trimmed(fmt::format("{}  {:<8}  {}  {}", padded(one.branch, branch), to_string(actor.state),
                            padded(doing(actor), work), details(actor, busy))) +
        "\n";
    if (!actor.last_error.text.empty())
      out += fmt::format("{}last error {}: {}\n", one.under, spell_time(actor.last_error.at),
                         one_line(actor.last_error.text));
  }
  for (std::size_t i = 0; i < seen.pipelines.size(); ++i)
    out += summary(seen.pipelines[i],
                   i < flow.pipelines.size() ? flow.pipelines[i] : pipeline_flow{}) +
           "\n";
  return out;
}

} // namespace cdc::actors::http
