#include "cli/commands/status_slots.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands/status_log.hpp"
#include "sources/postgres/catch_up_plan.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/postgres/lsn.hpp"

namespace cdc::cli::slots {

namespace {

namespace postgres = sources::postgres;
using pressure = sources::log_pressure;

const postgres::slot_state* own_slot(const pipeline_status& status) {
  const auto found = std::ranges::find(status.log->slots, status.slot, &postgres::slot_state::name);
  return found == status.log->slots.end() ? nullptr : &*found;
}

/// Which of a server's slots these are to a pipeline.
enum class slot_role : std::uint8_t { other, ours, copy };

slot_role role_of(const postgres::slot_state& slot, const std::string& ours) {
  if (slot.name == ours)
    return slot_role::ours;
  return slot.is_temporary && slot.name == postgres::copy_name(ours) ? slot_role::copy
                                                                     : slot_role::other;
}

const postgres::slot_state* own_copy(const pipeline_status& status) {
  const auto found = std::ranges::find_if(status.log->slots, [&](const auto& slot) {
    return role_of(slot, status.slot) == slot_role::copy;
  });
  return found == status.log->slots.end() ? nullptr : &*found;
}

bool is_loading(const pipeline_status& status) {
  return std::ranges::any_of(status.targets, [](const target_status& target) {
    return target.loaded.size() < target.tables_begun;
  });
}

// As far as the server knows: who reads the slot, and what of it is left.
std::string_view mode_of(const pipeline_status& status) {
  const auto* slot = own_slot(status);
  if (own_copy(status))
    return "catch-up";
  if (!slot || !slot->active_pid)
    return "none";
  return is_loading(status) ? "load" : "stream";
}

std::uint64_t bytes_left(const pipeline_status& status) {
  const auto* from = own_copy(status);
  if (!from)
    from = own_slot(status);
  return from && status.log->end > from->confirmed ? status.log->end.token - from->confirmed.token
                                                   : 0;
}

std::string line_of(const postgres::slot_state& slot, slot_role role) {
  const auto is_ours = role == slot_role::ours;
  if (role == slot_role::copy)
    return fmt::format("  slot {} (ours, for the while of a catch-up): pid {} reads it\n",
                       slot.name, slot.active_pid.value_or(0));
  auto out =
      fmt::format("  slot {}{}: {}, retains {} of log, {}", slot.name, is_ours ? " (ours)" : "",
                  slot.active_pid ? fmt::format("read by pid {}", *slot.active_pid)
                                  : std::string{"nobody reads it"},
                  spell_size(slot.pressure.retained_bytes), to_string(slot.pressure.status));
  if (slot.confirmed.token != 0)
    out += ", confirmed " + postgres::to_lsn(slot.confirmed);
  if (slot.pressure.status == pressure::state::lost)
    out += is_ours ? "\n    what it kept is gone (max_slot_wal_keep_size): run "
                     "--fresh-slot-and-load"
                   : "\n    what it kept is gone (max_slot_wal_keep_size)";
  if (!is_ours && !slot.active_pid)
    out += fmt::format("\n    to drop it, if it belongs to nobody: SELECT "
                       "pg_drop_replication_slot({});",
                       postgres::quote_literal(slot.name));
  return out + "\n";
}

void write_slot(json::writer& to, const pipeline_status& status, const postgres::slot_state& slot) {
  const auto role = role_of(slot, status.slot);
  to.begin_object().member("name", slot.name).member("ours", role != slot_role::other);
  to.member("temporary", slot.is_temporary);
  to.member("plugin", slot.plugin).member("database", slot.database);
  to.member("active", slot.active_pid.has_value());
  if (slot.active_pid)
    to.member("active_pid", *slot.active_pid);
  write_position(to, status, "confirmed",
                 slot.confirmed.token ? std::optional{slot.confirmed} : std::nullopt);
  to.member("retained_bytes", slot.pressure.retained_bytes);
  to.member("wal_status", to_string(slot.pressure.status)).end_object();
}

} // namespace

std::optional<position> confirmed(const pipeline_status& status) {
  const auto* slot = own_slot(status);
  return slot ? std::optional{slot->confirmed} : std::nullopt;
}

std::string source_text(const pipeline_status& status) {
  auto out = fmt::format("database {}, log at {}", status.log->identity.database,
                         postgres::to_lsn(status.log->end));
  if (const auto mode = mode_of(status); mode != "none")
    out += fmt::format(", {}", mode);
  if (own_copy(status))
    out += fmt::format(", {} left", spell_size(bytes_left(status)));
  return out;
}

std::string log_text(const pipeline_status& status) {
  std::string out;
  if (!own_slot(status))
    out += fmt::format("  slot {} (ours): is not there yet; a run creates it\n", status.slot);
  for (const auto& slot : status.log->slots)
    out += line_of(slot, role_of(slot, status.slot));
  return out;
}

void write_source(json::writer& to, const pipeline_status& status) {
  to.member("system_identifier", status.log->identity.server);
  to.member("database", status.log->identity.database).member("slot", status.slot);
  write_position(to, status, "position", status.log->end);
  to.member("reading", mode_of(status)).member("bytes_left", bytes_left(status));
}

void write_log(json::writer& to, const pipeline_status& status) {
  to.key("slots").begin_array();
  if (status.log)
    for (const auto& slot : status.log->slots)
      write_slot(to, status, slot);
  to.end_array();
}

std::string too_much_retained(const pipeline_status& status, std::uint64_t max_mb) {
  std::string out;
  for (const auto& slot : status.log->slots)
    // The copy keeps nothing that the slot does not keep, and goes away by itself.
    if (slot.pressure.retained_bytes > max_mb << 20 &&
        role_of(slot, status.slot) != slot_role::copy)
      out += fmt::format("cdc-actors: slot {} retains {}, more than {} MB\n", slot.name,
                         spell_size(slot.pressure.retained_bytes), max_mb);
  return out;
}

} // namespace cdc::cli::slots
