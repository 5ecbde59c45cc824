#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/snapshot.hpp"
#include "messages/transaction_id.hpp"

namespace cdc::sources::mysql {

/// Who numbers transactions on MySQL: a server, and since 8.4 a tag beside it.
struct gtid_source {
  std::array<std::uint8_t, 16> uuid{};
  std::string tag{}; ///< Lower case; empty: none.

  auto operator<=>(const gtid_source&) const = default;
};

/// `3e11fa47-71ca-11e1-9e33-c80aa9429562`, with `:tag` where there is one.
[[nodiscard]] std::string to_string(const gtid_source& source);
[[nodiscard]] result<gtid_source> parse_gtid_source(std::string_view text);

/// 16 bits made of the source and 48 of the number.
[[nodiscard]] transaction_id id_of(const gtid_source& source, std::uint64_t number) noexcept;

/// A set of MySQL's GTIDs: `uuid:1-5:7:tag:1-3,uuid:1`.
class gtid_set {
public:
  struct interval {
    std::uint64_t first = 1;
    std::uint64_t last = 1; ///< Included.

    bool operator==(const interval&) const = default;
  };
  using intervals = std::vector<interval>; ///< Ascending, apart.

  /// Blanks and line ends between the parts are passed over.
  [[nodiscard]] static result<gtid_set> parse(std::string_view text);

  void add(const gtid_source& source, std::uint64_t number);
  void add(const gtid_set& more);
  /// `numbers` of one source, as parse() takes them: `1-5:7`.
  [[nodiscard]] result<void> add(const gtid_source& source, std::string_view numbers);

  [[nodiscard]] bool empty() const noexcept { return sources_.empty(); }
  [[nodiscard]] bool contains(const gtid_source& source, std::uint64_t number) const noexcept;
  [[nodiscard]] bool contains(const gtid_set& other) const noexcept;
  [[nodiscard]] bool has_tags() const noexcept;

  /// All of them: what a reader that has read @@gtid_executed is sure of. Sources that share their
  /// 16 bits give what both have.
  [[nodiscard]] snapshot as_snapshot() const;

  /// As COM_BINLOG_DUMP_GTID takes it.
  [[nodiscard]] std::string encoded() const;

  [[nodiscard]] const std::map<gtid_source, intervals>& sources() const noexcept {
    return sources_;
  }

  bool operator==(const gtid_set&) const = default;

private:
  void add(const gtid_source& source, interval more);

  std::map<gtid_source, intervals> sources_;
};

[[nodiscard]] std::string to_string(const gtid_set& set);
/// `1-5:7`
[[nodiscard]] std::string to_string(const gtid_set::intervals& numbers);

} // namespace cdc::sources::mysql
