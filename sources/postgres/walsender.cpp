#include "sources/postgres/walsender.hpp"

#include "sources/byte_reader.hpp"

namespace cdc::sources::postgres {

namespace {

// Seconds from 1970-01-01 to 2000-01-01, where the protocol's clock begins.
constexpr std::chrono::seconds epoch_2000{946'684'800};

std::byte* put(std::byte* at, std::uint64_t value) noexcept {
  for (int shift = 56; shift >= 0; shift -= 8)
    *at++ = static_cast<std::byte>(value >> shift);
  return at;
}

tl::unexpected<error> malformed(const char* name, const byte_reader& in) {
  return fail(errc::malformed_message, "walsender {}: {} at offset {} of {} bytes", name,
              in.failed() ? "cut short" : "too long", in.offset(), in.offset() + in.remaining());
}

result<frame> decode_data(byte_reader in) {
  frame out;
  [[maybe_unused]] const auto start = in.integer<std::uint64_t>();
  out.log_end = {in.integer<std::uint64_t>()};
  [[maybe_unused]] const auto sent = in.integer<std::uint64_t>();
  if (in.failed())
    return malformed("data", in);
  out.payload = in.rest();
  return out;
}

result<frame> decode_keepalive(byte_reader in) {
  frame out{.what = frame::type::keepalive, .log_end = {}, .wants_reply = false, .payload = {}};
  out.log_end = {in.integer<std::uint64_t>()};
  [[maybe_unused]] const auto sent = in.integer<std::uint64_t>();
  out.wants_reply = in.integer<std::uint8_t>() != 0;
  if (!in.complete())
    return malformed("keepalive", in);
  return out;
}

} // namespace

result<frame> decode_frame(std::span<const std::byte> message) {
  byte_reader in{message};
  const auto letter = in.integer<std::uint8_t>();
  if (letter == 'w')
    return decode_data(in);
  if (letter == 'k')
    return decode_keepalive(in);
  return fail(errc::malformed_message, "walsender: unknown message {:#04x} of {} bytes", letter,
              message.size());
}

std::array<std::byte, status_update_size>
encode(const status_update& update, std::chrono::system_clock::time_point sent) noexcept {
  std::array<std::byte, status_update_size> out{};
  const auto since_2000 =
      std::chrono::duration_cast<std::chrono::microseconds>(sent.time_since_epoch() - epoch_2000);
  auto* at = out.data();
  *at++ = std::byte{'r'};
  at = put(at, update.durable.token);
  at = put(at, update.durable.token);
  at = put(at, update.durable.token);
  at = put(at, static_cast<std::uint64_t>(since_2000.count()));
  *at = std::byte{update.wants_reply ? std::uint8_t{1} : std::uint8_t{0}};
  return out;
}

} // namespace cdc::sources::postgres
