#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "messages/snapshot.hpp"
#include "sources/postgres/connection.hpp"
#include "sources/source.hpp"

namespace cdc::sources::postgres {

/// A replication slot, as pg_replication_slots has it.
struct slot_state {
  std::string name;
  std::string plugin; ///< Empty: a physical slot.
  std::string database;
  std::optional<int> active_pid;
  std::string active_by; ///< `user app from address` of active_pid, as far as the role may see it.
  position confirmed;    ///< What its reader has let go of: nothing before it can be had again.
  bool is_temporary = false;
  bool two_phase = false; ///< It sends prepared transactions, which this program does not read.
  log_pressure pressure;  ///< retained_bytes: what the server keeps for it.
};

[[nodiscard]] result<std::vector<slot_state>> slots(connection& on);
[[nodiscard]] result<std::optional<slot_state>> find_slot(connection& on, const std::string& name);

/// Refuses a slot that cannot carry this stream: of another plugin, kind or database, lost, or in
/// use.
[[nodiscard]] result<void> check_slot(const slot_state& slot, const std::string& database);

/// A transaction that has to end before a slot can begin.
struct blocker {
  std::optional<int> pid; ///< None: a prepared transaction.
  std::string prepared;   ///< Its name, then.
  std::uint32_t xid = 0;
  std::chrono::seconds open_for{0};
  std::string who; ///< `user app, state`, as far as the role may see it.
};

/// Why CREATE_REPLICATION_SLOT has not come back yet.
struct slot_wait {
  std::chrono::seconds waited{0};
  std::vector<blocker> behind;
};

/// One line for an operator: who is in the way, for how long, and how to end it.
[[nodiscard]] std::string to_string(const slot_wait& wait);

struct new_slot {
  position start;                       ///< The stream begins behind it.
  std::vector<transaction_id> unproved; ///< See hidden_commits().
};

/// Creates a logical pgoutput slot and finds out which of the transactions before its start cannot
/// be seen yet. It waits for all transactions running now; `waiting` is called every second of it,
/// and every ten after the first five.
/// `on` is an ordinary connection to the same server.
[[nodiscard]] result<new_slot> create_slot(const conninfo& replication, connection& on,
                                           const std::string& name,
                                           const std::function<void(const slot_wait&)>& waiting,
                                           std::shared_ptr<const stop_signal> stop);

/// Drops a slot that nobody reads; succeeds when there is none.
[[nodiscard]] result<void> drop_slot(connection& on, const std::string& name);

/// Transactions that committed before a slot's start (they are seen in its exported snapshot) and
/// are hidden from other sessions, `ordinary` being what those see: the stream will not bring them,
/// and a snapshot may still miss them. One at or above `ordinary.xmax` counts as not seen: a commit
/// that waits for a standby is not in the list until a later transaction has ended.
[[nodiscard]] std::vector<transaction_id> hidden_commits(const snapshot& exported,
                                                         const snapshot& ordinary);

/// What sessions see now, with every commit that is still hidden certainly in the list: a
/// transaction with an xid of its own has begun and ended just before.
[[nodiscard]] result<snapshot> look_past_own_transaction(connection& on);

} // namespace cdc::sources::postgres
