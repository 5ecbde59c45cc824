#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "config/config.hpp"

namespace cdc::config {

/// One file while it is read: what it says wrong, what is worth a note, and which options its
/// readers asked for. Never holds a value of the file: it may be a password.
class reading {
public:
  reading(std::string_view file, environment lookup) : file_(file), lookup_(lookup) {}

  /// `subject` is `section.key`. A second mistake at the same place about the same is dropped.
  void mistake(const place& at, std::string_view subject, std::string_view what);
  void note(const place& at, std::string_view subject, std::string_view what);
  void know(std::string_view section, std::string_view key, bool is_supported);

  [[nodiscard]] place place_of(const toml::source_region& region) const;
  [[nodiscard]] std::optional<std::string> variable(const std::string& name) const;

  [[nodiscard]] bool failed() const noexcept { return !mistakes_.empty(); }
  /// All mistakes in the order of the file, one a line.
  [[nodiscard]] std::string mistakes() const;
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<known_option> known() const { return {known_.begin(), known_.end()}; }

private:
  struct finding {
    std::uint32_t line;
    std::uint32_t column;
    std::string text;

    auto operator<=>(const finding&) const = default;
  };

  [[nodiscard]] static finding make(const place& at, std::string_view subject,
                                    std::string_view what);

  std::string file_;
  environment lookup_;
  std::set<finding> mistakes_;
  std::set<finding> notes_;
  std::set<known_option> known_;
};

} // namespace cdc::config
