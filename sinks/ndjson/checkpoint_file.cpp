#include "sinks/ndjson/checkpoint_file.hpp"

#include <chrono>
#include <system_error>

namespace cdc::sinks::ndjson {

namespace {

/// A name for the time since the machine started; empty where the kernel gives none, and then no
/// recent state is believed.
std::string boot_name() {
  auto text = read_file("/proc/sys/kernel/random/boot_id");
  return text && *text ? **text : std::string();
}

result<std::optional<stored_state>> read_one(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text)
    return tl::unexpected(std::move(text).error());
  if (!*text)
    return std::nullopt;
  auto state = parse_state(**text);
  if (!state)
    return fail(state.error().code, "{}: {}", file.string(), state.error().detail);
  return std::optional(std::move(*state));
}

} // namespace

checkpoint_file::checkpoint_file(const std::filesystem::path& data)
    : durable_(data.string() + ".checkpoint"), recent_(data.string() + ".checkpoint.recent") {}

result<std::optional<stored_state>> checkpoint_file::read() const {
  auto durable = read_one(durable_);
  if (!durable || !*durable)
    return durable;
  auto recent = read_one(recent_);
  const bool holds =
      recent && *recent && !(*recent)->boot.empty() && (*recent)->boot == boot_name() &&
      (*recent)->kept.stream == (*durable)->kept.stream &&
      (*recent)->kept.epoch == (*durable)->kept.epoch && (*recent)->serial > (*durable)->serial;
  return holds ? std::move(recent) : std::move(durable);
}

result<void> checkpoint_file::write(stored_state& state, bool is_durable) {
  using namespace std::chrono;
  if (state.boot.empty())
    state.boot = boot_name();
  ++state.serial;
  state.written_at = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  auto made = replace_file(is_durable ? durable_ : recent_, to_text(state), is_durable);
  if (!made)
    return tl::unexpected(std::move(made).error());
  if (!is_durable)
    return {};
  ours_ = std::move(*made);
  std::error_code ignored;
  std::filesystem::remove(recent_, ignored);
  return {};
}

result<void> checkpoint_file::check() const {
  if (ours_.is(durable_))
    return {};
  return fail(errc::fenced, "{} was written by another process", durable_.string());
}

} // namespace cdc::sinks::ndjson
