#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/mysql/connection.hpp"

namespace cdc::sources::mysql {

/// A place in a server's log: `bin.000042:1337`.
struct log_place {
  std::string file;
  std::uint64_t offset = 4;

  bool operator==(const log_place&) const = default;
};

[[nodiscard]] std::string to_string(const log_place& place);

/// How places in the log become positions that only grow: `base + (file's number << 32) + offset`.
///
/// A server that takes the place of another counts its files anew; a new generation with a base of
/// its own then begins above all that was used before.
class coordinates {
public:
  coordinates() = default;
  /// The first generation of a log that stands in `file`.
  [[nodiscard]] static result<coordinates> starting_in(std::string_view file);

  /// In the last generation. An offset beyond 4 GiB counts as 4 GiB: a file ends behind the
  /// transaction that leads there.
  [[nodiscard]] result<position> token(std::string_view file, std::uint64_t offset) const;
  /// Whatever generation it is of.
  [[nodiscard]] log_place place(position at) const;

  /// The next one, for a log that stands in `file`: all its tokens are above `used`.
  [[nodiscard]] result<coordinates> renewed(position used, std::string_view file) const;
  /// Whether the token is of the last generation.
  [[nodiscard]] bool is_current(position at) const noexcept;

  /// A line for each generation, for a record beside a checkpoint.
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static result<coordinates> parse(std::string_view text);

  /// The text of a checkpoint: `bin.000042:1337;base=4398046511104`; with `gtid` where it is given.
  [[nodiscard]] std::string describe(position at, std::string_view gtid = {}) const;

  [[nodiscard]] bool empty() const noexcept { return generations_.empty(); }
  bool operator==(const coordinates&) const = default;

private:
  struct generation {
    std::uint64_t from = 0; ///< Its first possible token.
    std::int64_t base = 0;
    std::string log; ///< File names without their number: `bin`.

    bool operator==(const generation&) const = default;
  };

  [[nodiscard]] const generation& of(position at) const noexcept;

  std::vector<generation> generations_;
};

/// What is read back from the text of a checkpoint, pg2osync's too.
struct described_place {
  log_place at;
  std::string gtid; ///< Empty: none.
  std::uint64_t base = 0;
};
[[nodiscard]] result<described_place> parse_described_place(std::string_view text);

/// `SHOW BINARY LOG STATUS`, or what the version calls it: the log's end is its first two columns.
[[nodiscard]] std::string binlog_status_statement(const server_version& version);

} // namespace cdc::sources::mysql
