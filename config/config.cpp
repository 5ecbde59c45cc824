#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "config/fold.hpp"
#include "config/sections.hpp"

namespace cdc::config {

namespace {

section section_of(section& root, const std::string& name) {
  const auto* table = root.table(name);
  return {root.into(), name, name, table, root.place_of(name)};
}

// `orders (eu).toml` labels its source `orders--eu-`.
std::string label_of(const std::string& file) {
  auto stem = std::filesystem::path{file}.stem().string();
  std::ranges::replace_if(
      stem,
      [](char letter) {
        return !is_label({&letter, 1});
      },
      '-');
  return stem.empty() ? "source" : stem;
}

target_config read_sink(section in) {
  const auto name = in.text("name");
  if (!in.has("name"))
    in.report("name", "is required: it tells this sink from the others");
  if (name && !is_label(*name))
    in.report("name", "expected letters, digits, _ and - only");
  auto out = read_target(std::move(in));
  out.name = name.value_or("");
  return out;
}

void check_apart(reading& into, const std::vector<target_config>& targets) {
  for (auto one = targets.begin(); one != targets.end(); ++one) {
    const auto is_taken = [&](auto&& same) { return std::any_of(targets.begin(), one, same); };
    if (is_taken([&](const auto& other) { return !one->name.empty() && other.name == one->name; }))
      into.mistake(one->at, "sink.name", "two sinks have this name");
    if (is_taken([&](const auto& other) { return !one->path.empty() && other.path == one->path; }))
      into.mistake(one->at, "sink.path", "two sinks write this file");
    if (is_taken([&](const auto& other) {
          return !one->servers.empty() && other.servers == one->servers;
        }))
      into.mistake(one->at, "sink.url", "two sinks write this server");
  }
}

std::vector<target_config> read_sinks(section& root) {
  std::vector<target_config> out;
  const auto* node = root.find("sink");
  const auto* list = node ? node->as_array() : nullptr;
  if (node && !list)
    root.report("sink", "expected [[sink]], a list of tables");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const auto* table = list->get(i)->as_table();
    const auto at = root.into().place_of(list->get(i)->source());
    if (table)
      out.push_back(read_sink({root.into(), fmt::format("sink[{}]", i + 1), "sink", table, at}));
    else
      root.into().mistake(at, "sink", "expected [[sink]], a list of tables");
  }
  check_apart(root.into(), out);
  return out;
}

std::vector<target_config> read_targets(section& root) {
  auto out = read_sinks(root);
  const auto target = section_of(root, "target");
  if (target.present() && root.has("sink"))
    root.report("target", "[target] and [[sink]] exclude each other");
  if (target.present())
    out.insert(out.begin(), read_target(target));
  if (!root.has("target") && !root.has("sink"))
    root.report("target", "this section is missing");
  return out;
}

void check_apart(reading& into, const std::vector<sync_config>& syncs, bool names_fold) {
  std::map<table_id, const sync_config*> sources;
  std::map<std::string, const sync_config*> targets;
  for (const auto& sync : syncs) {
    if (sync.is_pattern || sync.table.name.empty())
      continue;
    const auto subject = "sync." + sync.key;
    const auto [source, is_new] = sources.emplace(sync.table, &sync);
    if (!is_new)
      into.mistake(sync.at, subject + ".table",
                   fmt::format("sync.{} takes this table already", source->second->key));
    const auto& name = sync.into.empty() ? sync.table.name : sync.into;
    const auto [target, is_free] = targets.emplace(names_fold ? fold(name) : name, &sync);
    if (is_new && !is_free)
      into.mistake(sync.at, subject + ".into",
                   fmt::format("sync.{} writes to this target table already; give one of the two "
                               "another name with into",
                               target->second->key));
  }
}

std::vector<sync_config> read_syncs(section& root, target_traits targets) {
  std::vector<sync_config> out;
  const auto* all = root.table("sync");
  if (!root.has("sync") || (all && all->empty()))
    root.report("sync", "no table is chosen: at least one [sync.<key>] is needed");
  if (!all)
    return out;
  for (const auto& [key, node] : *all) {
    const std::string name{key.str()};
    const auto at = root.into().place_of(node.source());
    const auto* table = node.as_table();
    if (table)
      out.push_back(read_sync({root.into(), "sync." + name, "sync", table, at}, name, targets));
    else
      root.into().mistake(at, "sync." + name, "expected a table");
  }
  // toml++ keeps keys by name; the order of the file is the one a person has in mind.
  std::ranges::stable_sort(out, {}, [](const sync_config& sync) {
    return std::pair{sync.at.line, sync.at.column};
  });
  check_apart(root.into(), out, targets.names_fold);
  return out;
}

source_config read_source_of(section& root, const std::string& file) {
  const auto in = section_of(root, "source");
  if (!root.has("source")) {
    root.report("source", "this section is missing");
    return {};
  }
  auto out = in.present() ? read_source(in) : source_config{};
  if (out.name.empty())
    out.name = label_of(file);
  return out;
}

pipeline_config read_document(reading& into, const toml::table& document, std::string_view file) {
  section root{into, "", "", &document, into.place_of(document.source())};
  pipeline_config out;
  out.file = file;
  out.source = read_source_of(root, out.file);
  out.targets = read_targets(root);
  const auto targets = traits_of(out.targets);
  out.engine = read_engine(section_of(root, "engine"), targets);
  out.metrics = read_metrics(section_of(root, "metrics"));
  out.api = read_api(section_of(root, "api"));
  out.log = read_log(section_of(root, "log"));
  if (root.has("metrics"))
    out.metrics_at = root.place_of("metrics");
  if (root.has("api"))
    out.api_at = root.place_of("api");
  if (root.has("log"))
    out.log_at = root.place_of("log");
  out.syncs = read_syncs(root, targets);
  root.refuse_as_later({"spool", "cluster"});
  root.finish();
  return out;
}

// toml++ quotes what it stumbled over, and that may be a password without its quotes. Single
// characters stay; from the first longer quotation to the last quote nothing does.
std::string without_values(std::string_view message) {
  auto open = message.find('\'');
  while (open != std::string_view::npos &&
         message.substr(std::min(open + 2, message.size())).starts_with('\''))
    open = message.find('\'', open + 3);
  if (open == std::string_view::npos)
    return std::string{message};
  return fmt::format("{}'…'{}", message.substr(0, open), message.substr(message.rfind('\'') + 1));
}

} // namespace

target_traits traits_of(const std::vector<target_config>& targets) {
  target_traits out;
  for (const auto& each : targets) {
    out.names_fold |= each.what == target_config::flavor::sqlite;
    out.has_documents |= is_document_target(each);
    out.has_others |= !is_document_target(each);
  }
  return out;
}

bool is_label(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  });
}

std::optional<secret> read_variable(section& in, std::string_view key) {
  const auto name = in.text(key);
  if (!name)
    return std::nullopt;
  const auto is_name = std::ranges::all_of(*name, [](char letter) {
    return letter != '-' && is_label({&letter, 1});
  });
  // Someone may have put the secret itself here: such a text is not repeated.
  if (!is_name || (name->front() >= '0' && name->front() <= '9')) {
    in.report(key, "expected the name of an environment variable");
    return std::nullopt;
  }
  auto value = in.into().variable(*name);
  if (value && !value->empty())
    return secret{std::move(*value)};
  in.report(key,
            fmt::format("the environment variable {} is {}", *name, value ? "empty" : "not set"));
  return std::nullopt;
}

result<pipeline_config> parse(std::string_view text, std::string_view file,
                              environment lookup) try {
  const auto document = toml::parse(text, file);
  reading into{file, lookup};
  auto out = read_document(into, document, file);
  if (into.failed())
    return fail(errc::invalid_config, "{}", into.mistakes());
  out.notes = into.notes();
  return out;
} catch (const toml::parse_error& broken) {
  const auto& at = broken.source().begin;
  return fail(errc::invalid_config, "{}:{}:{}: not valid TOML: {}", file, at.line, at.column,
              without_values(broken.description()));
}

std::vector<known_option> known_options() {
  reading into{"", nullptr};
  const auto absent = [&](const char* name) { return section{into, name, name, nullptr, {}}; };
  const toml::table document;
  std::ignore = read_document(into, document, "");
  std::ignore = read_source(absent("source"));
  std::ignore = read_target(absent("target"));
  std::ignore = read_sink(absent("sink"));
  std::ignore = read_sync(absent("sync"), "", {});
  return into.known();
}

} // namespace cdc::config
