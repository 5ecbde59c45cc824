#include "cli/commands/init_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/fold.hpp"

namespace cdc::cli {

namespace {

bool is_small_letter(char letter) noexcept {
  return letter >= 'a' && letter <= 'z';
}

bool is_plain(char letter) noexcept {
  return is_small_letter(letter) || (letter >= '0' && letter <= '9');
}

std::string label(std::string text) {
  std::ranges::replace_if(
      text,
      [](char letter) {
        return !is_plain(letter) && !(letter >= 'A' && letter <= 'Z') && letter != '_' &&
               letter != '-';
      },
      '_');
  return text;
}

// Small letters, digits, _ and -, and a letter first.
std::string index_name(const std::string& text) {
  auto out = config::fold(label(text)).substr(0, 200);
  return out.empty() || !is_small_letter(out.front()) ? "t_" + out : out;
}

// SQLite does not tell T from t, so no two names differ in nothing else.
template <class Spell>
std::string unique(std::set<std::string>& taken, const std::string& base, const table_id& table,
                   Spell spell) {
  auto name = spell(base);
  for (auto i = 1; !taken.insert(config::fold(name)).second; ++i)
    name = spell(i == 1 ? fmt::format("{}_{}", label(table.schema), base)
                        : fmt::format("{}_{}", base, i));
  return name;
}

} // namespace

std::string init_names::key_of(const table_id& table) {
  return unique(keys_, label(table.name), table, [this](const std::string& name) {
    return has_documents_ ? index_name(name) : name;
  });
}

std::string init_names::into_of(const table_id& table) {
  if (has_documents_)
    return {};
  const auto name =
      unique(targets_, table.name, table, [](const std::string& same) { return same; });
  return name == table.name ? std::string{} : name;
}

std::string slot_base(std::string_view database) {
  auto out = (database.empty() ? "cdc" : "cdc_") + config::fold(database).substr(0, 40);
  std::ranges::replace_if(
      out, [](char letter) { return !is_plain(letter); }, '_');
  return out;
}

std::uint32_t server_id_for(std::string_view database, std::string_view target) {
  std::uint32_t hash = 2'166'136'261;
  const auto mix = [&](std::string_view text) {
    for (const auto letter : text)
      hash = (hash ^ static_cast<std::uint8_t>(letter)) * 16'777'619;
  };
  mix(database);
  mix("\n");
  mix(target);
  // Above what people give their servers.
  return 100'000'000 + hash % 4'000'000'000U;
}

} // namespace cdc::cli
