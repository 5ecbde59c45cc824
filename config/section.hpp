#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reading.hpp"

namespace cdc::config {

/// What a number may be, both ends included.
struct between {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
};

/// Typed reading of one table of the file. A value of another type or out of its range is reported
/// where it stands and read as if it were not there; a key that nobody asked for is reported by
/// finish(). A section that the file does not have reads as empty.
class section {
public:
  /// `name` is how messages call it (`sync.orders`), `topic` how the document does (`sync`).
  /// `table` may be null. `at` is where a missing key is reported.
  section(reading& into, std::string name, std::string topic, const toml::table* table, place at)
      : into_(into), name_(std::move(name)), topic_(std::move(topic)), table_(table),
        at_(std::move(at)) {}

  [[nodiscard]] bool present() const noexcept { return table_ != nullptr; }
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] const place& at() const noexcept { return at_; }
  [[nodiscard]] reading& into() noexcept { return into_; }

  /// The node of `key`, which is an option from now on; null when it is not there.
  [[nodiscard]] const toml::node* find(std::string_view key);

  [[nodiscard]] std::optional<std::string> text(std::string_view key); ///< Never an empty one.
  [[nodiscard]] std::optional<bool> flag(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key, between range);
  /// Text without empty elements and without one that comes twice.
  [[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view key);
  /// Which of `allowed`; a word of `later` is refused as not supported yet.
  [[nodiscard]] std::optional<std::size_t> choice(std::string_view key,
                                                  std::span<const std::string_view> allowed,
                                                  std::span<const std::string_view> later = {});
  /// A table below this one, to be read by its own section or key by key.
  [[nodiscard]] const toml::table* table(std::string_view key);

  template <std::unsigned_integral T>
  void read(std::string_view key, T& field, between range) {
    if (const auto value = number(key, range))
      field = static_cast<T>(*value);
  }
  void read(std::string_view key, std::string& field) {
    if (auto value = text(key))
      field = std::move(*value);
  }
  void read(std::string_view key, bool& field) {
    if (const auto value = flag(key))
      field = *value;
  }
  template <class Duration>
  void read_duration(std::string_view key, Duration& field, between range) {
    if (const auto value = number(key, range))
      field = Duration{static_cast<typename Duration::rep>(*value)};
  }

  /// Options that belong to features which are not there: refused by name.
  void refuse_as_later(std::initializer_list<std::string_view> keys);
  /// Reports every key that no call above asked for, with the nearest that one did.
  void finish();

  void report(std::string_view key, std::string_view what);
  /// About one element of `key`'s value.
  void report_at(const toml::node& element, std::string_view key, std::string_view what);
  void note(std::string_view key, std::string_view what);
  [[nodiscard]] place place_of(std::string_view key) const;
  [[nodiscard]] std::string subject(std::string_view key) const;

private:
  [[nodiscard]] const toml::node* look(std::string_view key) const;

  reading& into_;
  std::string name_;
  std::string topic_;
  const toml::table* table_;
  place at_;
  std::vector<std::string> known_;
  std::vector<std::string> later_;
};

} // namespace cdc::config
