#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "messages/error.hpp"
#include "sources/mysql/binlog/event.hpp"

/// Compressed events, of either server.
namespace cdc::sources::mysql {

/// The events inside a TRANSACTION_PAYLOAD_EVENT (binlog_transaction_compression = ON), one after
/// another. Decompresses as it goes: memory is the largest event in it, not the transaction.
class payload_reader {
public:
  /// `in` has to live as long as the reader. errc::malformed_message for a header cut short or a
  /// compression other than ZSTD and NONE.
  [[nodiscard]] static result<payload_reader> open(const event_view& in);
  ~payload_reader();
  payload_reader(payload_reader&&) noexcept;
  payload_reader& operator=(payload_reader&&) noexcept;

  /// The next event, without checksum, valid until the next call; none behind the last.
  /// errc::malformed_message for a stream that is damaged, or ends inside an event or before the
  /// size that was announced.
  [[nodiscard]] result<std::optional<event_view>> next();

private:
  struct stream;
  explicit payload_reader(std::unique_ptr<stream> of) noexcept;
  std::unique_ptr<stream> stream_;
};

/// Turns MariaDB's compressed events (log_bin_compress = ON) into their plain kind; keeps its room
/// for the next. One thread's.
class event_expander {
public:
  /// Whether expand() has anything to do.
  [[nodiscard]] static bool is_compressed(event_type type) noexcept;

  /// The plain event: QUERY for QUERY_COMPRESSED, and so on; valid until the next call. Its header
  /// is that of `in` but for the type. errc::malformed_message for what cannot be decompressed.
  [[nodiscard]] result<event_view> expand(const event_view& in);

private:
  std::vector<std::byte> plain_;
};

} // namespace cdc::sources::mysql
