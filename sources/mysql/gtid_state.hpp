#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "messages/error.hpp"

namespace cdc::sources::mysql {

/// One of MariaDB's GTIDs: `0-1-42`.
struct domain_gtid {
  std::uint32_t domain = 0;
  std::uint32_t server = 0;
  std::uint64_t number = 0;

  bool operator==(const domain_gtid&) const = default;
};

[[nodiscard]] std::string to_string(const domain_gtid& gtid);

/// How far MariaDB's log has come: the last GTID of each domain, `0-1-42,1-7-3`.
class gtid_state {
public:
  [[nodiscard]] static result<gtid_state> parse(std::string_view text);

  void add(const domain_gtid& gtid) { domains_[gtid.domain] = gtid; }
  [[nodiscard]] bool empty() const noexcept { return domains_.empty(); }
  /// In each domain at least as far as `other`.
  [[nodiscard]] bool contains(const gtid_state& other) const noexcept;
  [[nodiscard]] const std::map<std::uint32_t, domain_gtid>& domains() const noexcept {
    return domains_;
  }

  bool operator==(const gtid_state&) const = default;

private:
  std::map<std::uint32_t, domain_gtid> domains_;
};

[[nodiscard]] std::string to_string(const gtid_state& state);

} // namespace cdc::sources::mysql
