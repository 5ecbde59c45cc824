#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cdc::sinks::search {

/// The documents that one piece of work touches, each once: an open-addressed table of (place, id).
/// A place is an index of the target; numbers are given in the order of the first call.
class key_set {
public:
  static constexpr std::uint32_t none = 0xffff'ffff;

  explicit key_set(std::size_t expected);

  /// The document's number, a new one when it was not there.
  std::uint32_t add(std::uint16_t place, std::string_view id);
  [[nodiscard]] bool contains(std::uint16_t place, std::string_view id,
                              std::uint64_t hash) const noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] std::string_view id(std::uint32_t at) const noexcept {
    return std::string_view{ids_}.substr(entries_[at].begin, entries_[at].size);
  }
  [[nodiscard]] std::uint16_t place(std::uint32_t at) const noexcept { return entries_[at].place; }

  /// Whether a document is in both.
  [[nodiscard]] bool meets(const key_set& other) const noexcept;

private:
  struct entry {
    std::uint64_t hash = 0;
    std::size_t begin = 0;
    std::uint32_t size = 0;
    std::uint16_t place = 0;
  };

  [[nodiscard]] std::size_t find(std::uint16_t place, std::string_view id,
                                 std::uint64_t hash) const noexcept;
  void grow();

  std::vector<entry> entries_;
  std::vector<std::uint32_t> buckets_; ///< A power of two of them, none where free.
  std::string ids_;
};

} // namespace cdc::sinks::search
