#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/block.hpp"
#include "messages/checkpoint.hpp"
#include "messages/credit.hpp"
#include "messages/error.hpp"

/// The form of what crosses a process border: versioned, little endian, sized before it is read.
/// Nothing that arrives is trusted: a message is refused (errc::malformed_message) unless its sizes
/// add up to exactly its length and every index in it points at something it carries.
namespace cdc::wire {

/// Nothing longer is read. Check it before a message is even collected.
inline constexpr std::size_t message_max = std::size_t{64} << 20;
/// What is sent at once: a longer message travels as pieces of this size, put together by the
/// receiver before it decodes.
inline constexpr std::size_t piece_max = std::size_t{4} << 20;

/// The shapes a receiver has seen, by their wire form, so that the rows of one table in many blocks
/// share one relation_ptr and a known shape is not parsed again. Belongs to one thread.
class known_relations {
public:
  /// At `relations_max` shapes the table is begun anew.
  explicit known_relations(std::size_t relations_max = 4096) : relations_max_(relations_max) {}

  [[nodiscard]] result<relation_ptr> find_or_parse(std::string_view form);
  [[nodiscard]] std::size_t size() const noexcept { return shapes_.size(); }

private:
  std::size_t relations_max_;
  std::map<std::string, relation_ptr, std::less<>> shapes_;
};

/// Replaces `out` by the wire form of `from`, in one pass; keeps the capacity of `out`. The caller
/// sends it in pieces when it is longer than piece_max.
void encode(const block& from, std::vector<std::byte>& out);

/// A block equal to the one encoded, from `pool`. Allocates nothing before all sizes were checked.
[[nodiscard]] result<block_ptr> decode_block(std::span<const std::byte> message, block_pool& pool,
                                             known_relations& shapes);

void encode(const checkpoint& from, std::vector<std::byte>& out);
[[nodiscard]] result<checkpoint> decode_checkpoint(std::span<const std::byte> message);

void encode(const credit& from, std::vector<std::byte>& out);
[[nodiscard]] result<credit> decode_credit(std::span<const std::byte> message);

} // namespace cdc::wire
