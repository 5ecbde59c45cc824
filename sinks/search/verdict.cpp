#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

bool is_block(const item_answer& answer) noexcept {
  return answer.type == "cluster_block_exception";
}

/// Its shards are not there, and nobody knows for how long.
bool is_red(const item_answer& answer) noexcept {
  return answer.type == "unavailable_shards_exception" ||
         answer.type == "no_shard_available_action_exception";
}

// The name that we write by cannot be that of an index: index_guard.hpp.
bool is_index_missing(const item_answer& answer) noexcept {
  return answer.type == "index_not_found_exception" ||
         answer.type == "invalid_index_name_exception";
}

} // namespace

verdict judge_item(const item_answer& answer, bool is_delete) noexcept {
  if (answer.status < 300 || answer.status == 409)
    return verdict::done;
  if (is_index_missing(answer))
    return verdict::missing;
  if (answer.status == 404 && is_delete)
    return verdict::done;
  const auto whole = judge(answer);
  return whole == verdict::too_large ? verdict::refused : whole;
}

verdict judge(const item_answer& answer) noexcept {
  if (answer.status < 300)
    return verdict::done;
  if (is_block(answer) || is_red(answer))
    return verdict::blocked;
  switch (answer.status) {
    case 401:
    case 403:
      return verdict::halted;
    case 413:
      return verdict::too_large;
    case 429:
      return verdict::busy;
    case 408:
      return verdict::again;
    default:
      return answer.status >= 500 ? verdict::again : verdict::refused;
  }
}

std::string to_string(const item_answer& answer) {
  auto out = answer.type.empty() ? fmt::format("status {}", answer.status) : answer.type;
  if (!answer.about.empty())
    out += ": " + answer.about;
  return out;
}

std::string waiting_for(const item_answer& answer, std::string_view where) {
  const auto* what = is_block(answer)       ? "cluster block"
                     : is_red(answer)       ? "red index"
                     : answer.status == 429 ? "busy"
                                            : "unavailable";
  return fmt::format("{}: {}: {}", what, where, to_string(answer));
}

error error_of(const item_answer& answer, const std::string& where) {
  const auto said = to_string(answer);
  if (answer.status == 401)
    return {
        errc::permission_denied,
        fmt::format("{} does not accept the credentials (401): check username and password_env, "
                    "or api_key_env",
                    where)};
  if (answer.status == 403 && !is_block(answer))
    return {errc::permission_denied,
            fmt::format("{} forbids it (403, {}): the user needs to read, write, create and manage "
                        "the indices of this file and .pg2osync_*",
                        where, said)};
  if (is_index_missing(answer))
    return {errc::target_unavailable,
            fmt::format("{} is gone: it is made, and its table loaded, anew", where)};
  if (answer.status == 429 || answer.status >= 500 || answer.status == 408)
    return {errc::target_unavailable, fmt::format("{} cannot take it now: {}", where, said)};
  return {errc::target_misconfigured, fmt::format("{} refuses it: {}", where, said)};
}

} // namespace cdc::sinks::search
