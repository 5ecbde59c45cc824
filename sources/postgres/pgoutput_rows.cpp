#include "sources/postgres/pgoutput_rows.hpp"

#include <cstring>
#include <string_view>

#include "sources/byte_reader.hpp"
#include "sources/postgres/pgoutput.hpp"

namespace cdc::sources::postgres {

namespace {

/// What a tuple's column says of itself.
enum column_form : std::uint8_t {
  form_null = 'n',
  form_unchanged = 'u',
  form_text = 't',
  form_binary = 'b',
};

/// Reads one row message into one event, which is rolled back unless the message was whole.
class row_message {
public:
  row_message(block_builder& out, const relation_ptr& shape, message_type type,
              std::span<const std::byte> message) noexcept
      : out_(out), shape_(shape), type_(type), in_(message) {
    [[maybe_unused]] const auto letter = in_.integer<std::uint8_t>();
    [[maybe_unused]] const auto oid = in_.integer<std::uint32_t>();
  }

  /// The letter before a tuple: `N` new, `K` old key, `O` old row.
  [[nodiscard]] std::uint8_t part() noexcept { return in_.integer<std::uint8_t>(); }

  void begin(operation what, before_image before) {
    out_.row(what, shape_, before);
    end_ = out_.space(in_.remaining());
    begun_ = true;
  }

  /// Reads a tuple. If `has_old`, the old cells stand before it, to take what it leaves out from.
  void tuple(bool has_old) {
    const auto at = in_.offset();
    const auto count = in_.integer<std::uint16_t>();
    if (!in_.failed() && count != shape_->columns.size())
      return refuse("has another number of columns than its relation", at);
    // Kept out of memory while the loop runs, which is where the time of a stream goes.
    auto in = in_;
    auto* end = end_;
    for (std::size_t column = 0; column < count && !in.failed(); ++column) {
      switch (in.integer<std::uint8_t>()) {
        case form_text: {
          const auto value = in.text(in.integer<std::uint32_t>());
          if (in.failed())
            break;
          copy(end, value, in.remaining());
          out_.piece(end, end + value.size());
          end += value.size();
          break;
        }
        case form_null:
          out_.null();
          break;
        case form_unchanged:
          if (has_old && shape_->columns[column].is_identity_key)
            out_.repeat(shape_->columns.size());
          else
            out_.absent();
          break;
        case form_binary:
          in_ = in;
          return refuse("has a column in binary form, which was not asked for", in.offset() - 1);
        default:
          in_ = in;
          if (!in.failed())
            refuse("has a column of unknown form", in.offset() - 1);
          return;
      }
    }
    in_ = in;
    end_ = end;
  }

  void refuse(const char* what, std::size_t at) noexcept {
    wrong_ = what;
    wrong_at_ = at;
  }
  void refuse_part() noexcept {
    if (!in_.failed())
      refuse("has an unknown part", in_.offset() - 1);
  }

  [[nodiscard]] bool good() const noexcept { return !wrong_ && !in_.failed(); }

  [[nodiscard]] result<void> finish() {
    if (!wrong_ && in_.complete()) [[likely]] {
      out_.trim(end_);
      return {};
    }
    return refused();
  }

private:
  /// Most values are short, and a copy of fixed size is one instruction. Where the message has that
  /// many bytes left, so has the room made for it.
  static void copy(char* to, std::string_view value, std::size_t behind) noexcept {
    constexpr std::size_t width = 16;
    if (value.size() <= width && behind >= width)
      std::memcpy(to, value.data(), width);
    else if (!value.empty())
      std::memcpy(to, value.data(), value.size());
  }

  [[nodiscard]] tl::unexpected<error> refused() {
    if (begun_)
      out_.roll_back();
    if (wrong_)
      return fail(errc::malformed_message, "pgoutput {} of {}: {} at offset {} of {} bytes",
                  to_string(type_), to_string(shape_->table), wrong_, wrong_at_,
                  in_.offset() + in_.remaining());
    return fail(errc::malformed_message, "pgoutput {} of {}: {} at offset {} of {} bytes",
                to_string(type_), to_string(shape_->table), in_.failed() ? "cut short" : "too long",
                in_.offset(), in_.offset() + in_.remaining());
  }

  block_builder& out_;
  const relation_ptr& shape_;
  message_type type_;
  byte_reader in_;
  char* end_ = nullptr;
  const char* wrong_ = nullptr;
  std::size_t wrong_at_ = 0;
  bool begun_ = false;
};

} // namespace

std::uint32_t relation_of(std::span<const std::byte> message) noexcept {
  byte_reader in{message};
  [[maybe_unused]] const auto letter = in.integer<std::uint8_t>();
  return in.integer<std::uint32_t>();
}

result<void> append_insert(block_builder& out, const relation_ptr& shape,
                           std::span<const std::byte> message) {
  row_message row{out, shape, message_type::insert, message};
  if (row.part() != 'N') {
    row.refuse_part();
    return row.finish();
  }
  row.begin(operation::insert, before_image::none);
  row.tuple(false);
  return row.finish();
}

result<void> append_update(block_builder& out, const relation_ptr& shape,
                           std::span<const std::byte> message) {
  row_message row{out, shape, message_type::update, message};
  auto part = row.part();
  const auto has_old = part == 'K' || part == 'O';
  if (has_old) {
    row.begin(operation::update, part == 'K' ? before_image::key : before_image::full);
    row.tuple(false);
    part = row.good() ? row.part() : part;
  } else if (part == 'N') {
    row.begin(operation::update, before_image::none);
  }
  if (part == 'N')
    row.tuple(has_old);
  else if (row.good())
    row.refuse_part();
  return row.finish();
}

result<void> append_remove(block_builder& out, const relation_ptr& shape,
                           std::span<const std::byte> message) {
  row_message row{out, shape, message_type::remove, message};
  const auto part = row.part();
  if (part != 'K' && part != 'O') {
    row.refuse_part();
    return row.finish();
  }
  row.begin(operation::remove, part == 'K' ? before_image::key : before_image::full);
  row.tuple(false);
  return row.finish();
}

} // namespace cdc::sources::postgres
