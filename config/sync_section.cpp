#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "config/fold.hpp"
#include "config/sections.hpp"
#include "config/table_pattern.hpp"

namespace cdc::config {

namespace {

bool is_index_name(std::string_view name) {
  return name.size() <= 255 && name.front() >= 'a' && name.front() <= 'z' &&
         std::ranges::all_of(name, [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                  letter == '_' || letter == '-';
         });
}

void read_one_table(section& in, sync_config& out) {
  const auto written = in.text("table");
  if (!written)
    return;
  const auto parsed = parse_table_name(*written);
  if (parsed)
    out.table = *parsed;
  else if (parse_table_pattern(*written))
    in.report("table", "names one table; patterns belong in tables = [\"…\"]");
  else
    in.report("table", "expected schema.table, a part with a dot in double quotes");
  out.tables = {*written};
}

void read_patterns(section& in, sync_config& out) {
  const auto written = in.list("tables");
  if (!written)
    return;
  out.is_pattern = true;
  out.tables = *written;
  auto chooses = false;
  for (const auto& pattern : out.tables) {
    const auto parsed = parse_table_pattern(pattern);
    if (!parsed)
      in.report("tables", "expected patterns such as \"public.*\" and \"!public.audit_*\"");
    chooses = chooses || (parsed && !parsed->excludes);
  }
  if (out.tables.empty() || !chooses)
    in.report("tables", "chooses no table: at least one pattern without ! is needed");
}

void read_tables(section& in, sync_config& out) {
  read_one_table(in, out);
  read_patterns(in, out);
  if (in.has("table") && in.has("tables"))
    in.report("tables", "table and tables exclude each other");
  if (!in.has("table") && !in.has("tables"))
    in.report("table", "table or tables is required");
}

/// The name at the target: `into`, or pg2osync's `index`, or for documents what it falls back to.
void read_into(section& in, sync_config& out, target_traits targets) {
  in.read("into", out.into);
  const auto index = in.text("index");
  if (in.has("index") && in.has("into"))
    in.report("index", "into and index exclude each other: they are one thing");
  if (in.has("index") && !targets.has_documents)
    in.report("index", "is for document targets; name a table with into");
  if (index)
    out.into = *index;
  if (out.is_pattern && (in.has("into") || in.has("index")))
    in.report(in.has("into") ? "into" : "index", "names one target table and tables chooses many");
  if (out.into.empty() && !out.is_pattern && targets.has_documents)
    out.into = out.key;
  if (targets.has_documents && !out.into.empty() && !is_index_name(out.into))
    in.report(in.has("into") ? "into" : "index",
              "an index has a name of a-z, 0-9, _ and - that begins with a letter; without the key "
              "it is the section's own");
  if (fold(out.into).starts_with("_cdc_"))
    in.report("into", "names that begin with _cdc_ are kept for the checkpoint");
}

void read_documents(section& in, sync_config& out, target_traits targets) {
  in.read("mapping_file", out.mapping_file);
  in.read("pipeline", out.pipeline);
  for (const auto* key : {"mapping_file", "pipeline"})
    if (in.has(key) && !targets.has_documents)
      in.report(key, "is for document targets; it does nothing for this one");
  if (out.is_pattern && in.has("mapping_file"))
    in.report("mapping_file", "describes one index and tables chooses many");
}

void read_key(section& in, sync_config& out) {
  const auto* node = in.find("primary_key");
  if (node && node->is_array())
    out.primary_key = in.list("primary_key").value_or(std::vector<std::string>{});
  else if (const auto column = in.text("primary_key"))
    out.primary_key = {*column};
  if (node && node->is_array() && node->as_array()->empty())
    in.report("primary_key", "must name a column");
  in.read("append_only", out.append_only);
  if (out.append_only && in.has("primary_key"))
    in.report("primary_key", "append_only tables have no key");
}

void read_projection(section& in, sync_config& out) {
  out.columns = in.list("columns").value_or(std::vector<std::string>{});
  out.exclude_columns = in.list("exclude_columns").value_or(std::vector<std::string>{});
  if (in.has("columns") && in.has("exclude_columns"))
    in.report("exclude_columns", "columns and exclude_columns exclude each other");
  const auto* node = in.find("columns");
  if (node && node->is_array() && node->as_array()->empty())
    in.report("columns", "must name a column");
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// The names under which a section's columns reach the target, as far as the file alone can tell.
class target_names {
public:
  target_names(const sync_config& section, bool names_fold)
      : section_(section), names_fold_(names_fold) {}

  [[nodiscard]] bool keeps(std::string_view column) const {
    return !contains(section_.exclude_columns, column) &&
           (section_.columns.empty() || contains(section_.columns, column));
  }

  /// A column of `columns` that keeps its name, and that `name` is.
  [[nodiscard]] bool is_kept_column(std::string_view name) const {
    return std::ranges::any_of(section_.columns, [&](const auto& column) {
      return !section_.fields.contains(column) && canonical(column) == canonical(name);
    });
  }

  /// False when `name` was taken before.
  [[nodiscard]] bool take(std::string_view name) { return taken_.insert(canonical(name)).second; }

private:
  [[nodiscard]] std::string canonical(std::string_view name) const {
    return names_fold_ ? fold(name) : std::string{name};
  }

  const sync_config& section_;
  bool names_fold_;
  std::set<std::string> taken_;
};

void check_key(section& in, const sync_config& out, const target_names& names) {
  for (const auto& column : out.primary_key)
    if (!names.keeps(column))
      in.report("primary_key", "a column of the key is excluded");
}

/// What is wrong with one rename, by itself; empty: nothing.
std::string_view judge_rename(const std::string& from, const std::optional<std::string>& to) {
  if (!to)
    return "expected the column's name at the target";
  if (to->empty() || from.empty())
    return "a column's name must not be empty";
  return *to == from ? "renames the column to the name it has" : "";
}

void read_fields(section& in, sync_config& out) {
  const auto* table = in.table("fields");
  if (!table)
    return;
  for (const auto& [key, node] : *table) {
    const std::string from{key.str()};
    const auto to = node.value_exact<std::string>();
    const auto wrong = judge_rename(from, to);
    if (wrong.empty())
      out.fields[from] = *to;
    else
      in.report_at(node, "fields." + from, wrong);
  }
}

void check_fields(section& in, const sync_config& out, target_names& names) {
  const auto* table = in.table("fields");
  for (const auto& [from, to] : out.fields) {
    const auto& node = *table->get(from);
    const auto key = "fields." + from;
    if (!names.keeps(from))
      in.report_at(node, key, "renames a column that is not written");
    if (!names.take(to))
      in.report_at(node, key, "two columns get one name");
    else if (names.is_kept_column(to))
      in.report_at(node, key, "a column that is written has this name already");
  }
}

// Only {schema} and {table} mean something; a brace of any other kind is a mistyped one.
bool has_known_placeholders(std::string_view text) {
  for (auto brace = text.find_first_of("{}"); brace != std::string_view::npos;
       brace = text.find_first_of("{}")) {
    text.remove_prefix(brace);
    const auto size = text.starts_with("{schema}") ? 8 : text.starts_with("{table}") ? 7 : 0;
    if (size == 0)
      return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::string write_floating(double value) {
  if (value != value)
    return "NaN";
  if (value - value != 0)
    return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", value);
}

std::optional<constant> read_constant(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>())
    return constant{*text, kind::text};
  if (const auto number = node.value_exact<std::int64_t>())
    return constant{fmt::format("{}", *number), kind::integer};
  if (const auto flag = node.value_exact<bool>())
    return constant{*flag ? "t" : "f", kind::boolean};
  if (const auto number = node.value_exact<double>())
    return constant{write_floating(*number), kind::floating};
  return std::nullopt;
}

void read_constants(section& in, sync_config& out, target_names& names) {
  const auto* table = in.table("constants");
  if (!table)
    return;
  for (const auto& [key, node] : *table) {
    const std::string name{key.str()};
    const auto subject = "constants." + name;
    const auto value = read_constant(node);
    if (!value)
      in.report_at(node, subject, "expected a string, a number, true or false");
    else if (value->what == kind::text && !has_known_placeholders(value->text))
      in.report_at(node, subject, "only {schema} and {table} are filled in");
    else if (name.empty())
      in.report_at(node, subject, "a column's name must not be empty");
    else if (!names.take(name) || names.is_kept_column(name))
      in.report_at(node, subject, "a column that is written has this name already");
    else
      out.constants[name] = *value;
  }
}

} // namespace

sync_config read_sync(section in, const std::string& key, target_traits targets) {
  sync_config out;
  out.key = key;
  out.at = in.at();
  if (!is_label(key))
    in.report("", "a section's key is made of letters, digits, _ and -");
  read_tables(in, out);
  read_into(in, out, targets);
  read_documents(in, out, targets);
  read_key(in, out);
  read_projection(in, out);
  read_fields(in, out);
  target_names names{out, targets.names_fold};
  check_key(in, out, names);
  check_fields(in, out, names);
  read_constants(in, out, names);
  in.refuse_as_later({"id", "fan_out", "join", "transform", "where", "poll_column", "soft_delete",
                      "routing", "children", "aggregates"});
  in.finish();
  return out;
}

} // namespace cdc::config
