#pragma once

#include <string>

#include "messages/position.hpp"
#include "sources/postgres/catch_up_plan.hpp"

struct pg_result;

namespace cdc::sources::postgres {

/// How a slot, its copy and the log stand, in one statement.
struct slot_look {
  bool has_slot = false;
  position confirmed;
  int reader = 0; ///< The process that reads the slot; 0: nobody.
  std::string status;
  bool has_copy = false;
  int copy_reader = 0; ///< The process whose copy it is.
  backlog left;        ///< Of the copy; without one only the log's end.
  std::string system_identifier;

  /// From the one row that command() brings.
  explicit slot_look(const pg_result* from);

  [[nodiscard]] static std::string command(const std::string& slot, const std::string& copy);
};

} // namespace cdc::sources::postgres
