#include "sinks/search/replay.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/json.hpp"
#include "sinks/search/quarantine.hpp"
#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

/// One action of a bulk request. A record without a version may only write what is not there.
std::string action_of(const reject_record& record, bool require_alias) {
  const auto is_delete = record.what.action == "delete";
  std::string out;
  json::writer to{out};
  to.begin_object().key(is_delete ? "delete" : "index").begin_object();
  to.member("_index", record.what.index).member("_id", record.what.document);
  to.member("version_type", "external_gte");
  to.member("version", std::max<std::uint64_t>(record.version, 1));
  if (!record.routing.empty())
    to.member("routing", record.routing);
  if (!record.pipeline.empty() && !is_delete)
    to.member("pipeline", record.pipeline);
  if (require_alias)
    to.member("require_alias", true);
  to.end_object().end_object();
  out += '\n';
  if (!is_delete)
    out += record.document + '\n';
  return out;
}

/// None: it was taken. Otherwise why not.
result<std::optional<std::string>> write_again(exchange& with, const reject_record& record,
                                               bool require_alias) {
  const auto is_delete = record.what.action == "delete";
  if (!is_delete && record.document.empty())
    return std::optional<std::string>{
        record.what.reason + " (the document could not be stored: have its row written again)"};
  const auto said = with.ask("POST", "/_bulk", action_of(record, require_alias));
  if (!said)
    return tl::unexpected(said.error());
  auto answer = read_error(said->status, said->body);
  if (said->status < 300) {
    auto items = read_bulk_answer(said->body, 1);
    if (!items)
      return tl::unexpected(items.error());
    answer = std::move(items->front());
  }
  switch (judge_item(answer, is_delete)) {
    case verdict::done:
      return std::nullopt;
    case verdict::refused:
    case verdict::too_large:
      return std::optional<std::string>{to_string(answer)};
    case verdict::busy:
    case verdict::again:
    case verdict::blocked:
    case verdict::missing:
    case verdict::halted:
      break;
  }
  return tl::unexpected(error_of(answer, "index " + record.what.index));
}

/// A record that was replaced meanwhile stays.
result<void> clear(exchange& with, const stored_reject& stored) {
  const auto said = with.ask("DELETE", fmt::format("{}?if_seq_no={}&if_primary_term={}",
                                                   reject_path(stored.record.id), stored.at.seq_no,
                                                   stored.at.primary_term));
  if (!said)
    return tl::unexpected(said.error());
  if (said->status >= 300 && said->status != 404 && said->status != 409)
    return tl::unexpected(error_of(read_error(said->status, said->body), rejects_index.data()));
  return {};
}

} // namespace

result<replayed> replay(exchange& with, bool require_alias) {
  const auto all = read_rejects(with);
  if (!all)
    return tl::unexpected(all.error());
  replayed out;
  for (const auto& each : *all) {
    const auto found = with.ask("GET", reject_path(each.id));
    if (!found)
      return tl::unexpected(found.error());
    if (found->status == 404) // a newer document was written meanwhile
      continue;
    const auto stored = read_reject(found->body);
    if (!stored)
      return tl::unexpected(stored.error());
    auto why = write_again(with, stored->record, require_alias);
    if (!why)
      return tl::unexpected(why.error());
    if (*why) {
      out.refused.push_back(stored->record.what);
      out.refused.back().reason = std::move(**why);
      continue;
    }
    if (auto cleared = clear(with, *stored); !cleared)
      return tl::unexpected(cleared.error());
    ++out.taken;
  }
  return out;
}

} // namespace cdc::sinks::search
