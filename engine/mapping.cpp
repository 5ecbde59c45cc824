#include "engine/mapping.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/ranges.h>

namespace cdc::engine {

namespace {

/// Collects what is wrong with one table under one section, so that a person hears it all at once.
class complaints {
public:
  complaints(const relation& shape, const config::sync_config& section)
      : shape_(shape), section_(section) {
    // nop
  }

  template <class... Args>
  void add(errc code, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    if (text_.empty())
      code_ = code;
    else
      text_ += '\n';
    text_ += place() + "sync." + section_.key + (key.empty() ? "" : ".") + std::string{key} + ": ";
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }

  void unknown(std::string_view key, std::string_view column) {
    add(errc::invalid_config, key, "{} has no column {}", to_string(shape_.table), column);
  }

  [[nodiscard]] bool none() const noexcept { return text_.empty(); }
  [[nodiscard]] auto take() { return tl::unexpected(error{code_, std::move(text_)}); }

private:
  [[nodiscard]] std::string place() const {
    const auto& at = section_.at;
    return at.file.empty() ? "" : fmt::format("{}:{}:{}: ", at.file, at.line, at.column);
  }

  const relation& shape_;
  const config::sync_config& section_;
  errc code_ = errc::invalid_config;
  std::string text_;
};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string quoted(const table_id& table) {
  return fmt::format("\"{}\".\"{}\"", table.schema, table.name);
}

/// Every column that a section of one table names must be there. A section of many tables names
/// what some of them have.
void check_names(const relation& shape, const config::sync_config& section, complaints& wrong) {
  if (section.is_pattern)
    return;
  for (const auto& name : section.columns) {
    if (!shape.find(name))
      wrong.unknown("columns", name);
  }
  for (const auto& name : section.exclude_columns) {
    if (!shape.find(name))
      wrong.unknown("exclude_columns", name);
  }
  for (const auto& [name, target] : section.fields) {
    if (!shape.find(name))
      wrong.unknown("fields", name);
  }
}

bool is_kept(const column& from, const config::sync_config& section) {
  return (section.columns.empty() || contains(section.columns, from.name)) &&
         !contains(section.exclude_columns, from.name);
}

std::string filled_in(std::string constant, const table_id& table) {
  const auto replace = [&](std::string_view placeholder, const std::string& value) {
    for (auto at = constant.find(placeholder); at != std::string::npos;
         at = constant.find(placeholder, at + value.size()))
      constant.replace(at, placeholder.size(), value);
  };
  // The schema first: were it to hold `{table}`, that would be filled in too. A table named
  // `{schema}` is left alone.
  replace("{schema}", table.schema);
  replace("{table}", table.name);
  return constant;
}

void add_source_columns(const relation& shape, const config::sync_config& section,
                        target_table& out, complaints& wrong) {
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    const auto& from = shape.columns[i];
    const auto renamed = section.fields.find(from.name);
    if (!is_kept(from, section)) {
      if (renamed != section.fields.end() && !section.is_pattern)
        wrong.add(errc::invalid_config, "fields", "{} is renamed and left out", from.name);
      continue;
    }
    out.columns.push_back({.name = renamed == section.fields.end() ? from.name : renamed->second,
                           .source = static_cast<std::uint16_t>(i),
                           .constant = {},
                           .what = from.what,
                           .is_key = false});
  }
}

void add_constants(const relation& shape, const config::sync_config& section, target_table& out) {
  for (const auto& [name, value] : section.constants)
    out.columns.push_back({.name = name,
                           .source = std::nullopt,
                           .constant = filled_in(value.text, shape.table),
                           .what = value.what,
                           .is_key = false});
}

void check_duplicates(const target_table& out, complaints& wrong) {
  std::map<std::string_view, int> times;
  for (const auto& each : out.columns) { // the constants last
    if (++times[each.name] == 2)
      wrong.add(errc::invalid_config, each.source ? "fields" : "constants",
                "two columns of {} would be named {}", out.name, each.name);
  }
}

void add_key(const relation& shape, target_table& out, complaints& wrong) {
  for (const auto key : shape.key) {
    const auto found = std::ranges::find(out.columns, std::optional{key}, &target_column::source);
    if (found == out.columns.end()) {
      wrong.add(errc::invalid_config, "columns", "the key column {} of {} must not be left out",
                shape.columns[key].name, to_string(shape.table));
      continue;
    }
    found->is_key = true;
    out.key.push_back(static_cast<std::uint16_t>(found - out.columns.begin()));
  }
}

bool is_identified_by_key(const relation& shape) {
  return !shape.key.empty() && std::ranges::all_of(shape.key, [&](std::uint16_t at) {
    return shape.columns[at].is_identity_key;
  });
}

/// Updates and deletes must name their row: by the key, or by all of it.
void check_identity(const relation& shape, complaints& wrong) {
  if (shape.identity == replica_identity::full || is_identified_by_key(shape))
    return;
  if (shape.key.empty())
    wrong.add(
        errc::identity_missing, "",
        "{} has no key, so its updates and deletes cannot be followed: add a primary key, run "
        "ALTER TABLE {} REPLICA IDENTITY FULL, or set append_only = true if rows are only ever "
        "inserted",
        to_string(shape.table), quoted(shape.table));
  else
    wrong.add(errc::identity_missing, "primary_key",
              "the replica identity of {} does not hold the key, so a changed key would go "
              "unnoticed: run ALTER TABLE {} REPLICA IDENTITY FULL, or one that covers the key",
              to_string(shape.table), quoted(shape.table));
}

std::vector<std::string> key_names(const relation& shape) {
  std::vector<std::string> out;
  for (const auto at : shape.key)
    out.push_back(shape.columns[at].name);
  return out;
}

bool is_retyped(const column& before, const column& after) {
  return before.type_oid != after.type_oid || before.type_modifier != after.type_modifier ||
         before.what != after.what || before.element != after.element;
}

// By its number, which it keeps for life; by its name where one side has only what the log says.
auto find_same(const relation& in, const column& of) {
  return std::ranges::find_if(in.columns, [&](const column& each) {
    return each.attribute == 0 || of.attribute == 0 ? each.name == of.name
                                                    : each.attribute == of.attribute;
  });
}

} // namespace

const config::sync_config* section_for(std::span<const config::sync_config> sections,
                                       const table_id& table) {
  const config::sync_config* by_pattern = nullptr;
  for (const auto& each : sections) {
    if (!config::selects(each, table.schema, table.name))
      continue;
    if (!each.is_pattern)
      return &each;
    if (by_pattern == nullptr)
      by_pattern = &each;
  }
  return by_pattern;
}

result<relation_ptr> with_key(const relation_ptr& shape, const config::sync_config& section) {
  if (section.primary_key.empty() && (!section.append_only || shape->key.empty()))
    return shape;
  complaints wrong{*shape, section};
  auto out = std::make_shared<relation>(*shape);
  out->key.clear();
  for (auto& each : out->columns)
    each.is_key = false;
  for (const auto& name : section.primary_key) {
    const auto at = shape->find(name);
    if (!at) {
      wrong.unknown("primary_key", name);
      continue;
    }
    out->key.push_back(static_cast<std::uint16_t>(*at));
    out->columns[*at].is_key = true;
  }
  if (!wrong.none())
    return wrong.take();
  return out;
}

result<target_table_ptr> make_target(const relation_ptr& shape,
                                     const config::sync_config& section) {
  complaints wrong{*shape, section};
  auto out = std::make_shared<target_table>();
  out->name = section.into.empty() ? shape->table.name : section.into;
  out->source = shape;
  out->append_only = section.append_only;
  out->mapping_file = section.mapping_file;
  out->pipeline = section.pipeline;
  check_names(*shape, section, wrong);
  add_source_columns(*shape, section, *out, wrong);
  if (out->columns.empty())
    wrong.add(errc::invalid_config, "columns", "no column of {} is left", to_string(shape->table));
  add_constants(*shape, section, *out);
  check_duplicates(*out, wrong);
  if (!section.append_only) {
    add_key(*shape, *out, wrong);
    check_identity(*shape, wrong);
  }
  if (!wrong.none())
    return wrong.take();
  return out;
}

std::string describe_drift(const relation& before, const relation& after) {
  std::vector<std::string> words;
  for (const auto& now : after.columns) {
    const auto was = find_same(before, now);
    if (was == before.columns.end()) {
      words.push_back("added " + now.name);
      continue;
    }
    if (was->name != now.name)
      words.push_back(fmt::format("{} is now named {}", was->name, now.name));
    if (is_retyped(*was, now))
      words.push_back(fmt::format("{} is now {}", now.name, now.type_name));
  }
  for (const auto& was : before.columns) {
    if (find_same(after, was) == after.columns.end())
      words.push_back("removed " + was.name);
  }
  if (key_names(before) != key_names(after))
    words.push_back(fmt::format("the key is now ({})", fmt::join(key_names(after), ", ")));
  if (before.identity != after.identity)
    words.push_back("the replica identity is another");
  return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace cdc::engine
