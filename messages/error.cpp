#include "messages/error.hpp"

namespace cdc {

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::invalid_config:
      return "invalid_config";
    case errc::source_unavailable:
      return "source_unavailable";
    case errc::source_misconfigured:
      return "source_misconfigured";
    case errc::permission_denied:
      return "permission_denied";
    case errc::slot_in_use:
      return "slot_in_use";
    case errc::position_lost:
      return "position_lost";
    case errc::foreign_stream:
      return "foreign_stream";
    case errc::identity_missing:
      return "identity_missing";
    case errc::malformed_message:
      return "malformed_message";
    case errc::target_unavailable:
      return "target_unavailable";
    case errc::target_misconfigured:
      return "target_misconfigured";
    case errc::target_stale:
      return "target_stale";
    case errc::row_refused:
      return "row_refused";
    case errc::fenced:
      return "fenced";
    case errc::cancelled:
      return "cancelled";
    case errc::invariant_broken:
      return "invariant_broken";
  }
  return "unknown";
}

std::string_view to_string(reaction what) noexcept {
  switch (what) {
    case reaction::retry:
      return "retry";
    case reaction::restart:
      return "restart";
    case reaction::quarantine:
      return "quarantine";
    case reaction::halt:
      return "halt";
  }
  return "unknown";
}

reaction reaction_to(errc code) noexcept {
  switch (code) {
    case errc::target_unavailable:
      return reaction::retry;
    case errc::source_unavailable:
    case errc::slot_in_use:
    case errc::malformed_message:
    case errc::cancelled:
      return reaction::restart;
    case errc::row_refused:
      return reaction::quarantine;
    case errc::invalid_config:
    case errc::source_misconfigured:
    case errc::permission_denied:
    case errc::position_lost:
    case errc::foreign_stream:
    case errc::identity_missing:
    case errc::target_misconfigured:
    case errc::target_stale:
    case errc::fenced:
    case errc::invariant_broken:
      return reaction::halt;
  }
  return reaction::halt;
}

} // namespace cdc
