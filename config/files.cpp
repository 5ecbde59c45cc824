#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config.hpp"
#include "config/connection_text.hpp"
#include "config/mysql_url.hpp"

namespace cdc::config {

namespace {

namespace fs = std::filesystem;

// Far above any configuration, and far below what a wrong path would give.
constexpr std::size_t file_size_max = std::size_t{4} << 20;

std::optional<std::string> process_environment(const char* name) {
  const auto* value = std::getenv(name);
  return value ? std::optional<std::string>{value} : std::nullopt;
}

result<std::string> read_text(const fs::path& file) {
  const auto cannot = [&](std::string_view why) {
    return fail(errc::invalid_config, "{}:1:1: the file cannot be read: {}", file.string(), why);
  };
  std::error_code broken;
  if (fs::is_directory(file, broken))
    return cannot("it is a folder; name its files, or give it with --config-dir");
  if (fs::exists(file, broken) && !fs::is_regular_file(file, broken)) // opening a pipe may hang
    return cannot("it is a pipe or a device; write it to a file first");
  errno = 0;
  std::ifstream in{file, std::ios::binary};
  if (!in)
    return cannot(std::strerror(errno));
  std::string out(file_size_max + 1, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (in.bad())
    return cannot(std::strerror(errno));
  out.resize(static_cast<std::size_t>(in.gcount()));
  if (out.size() > file_size_max)
    return cannot("it is larger than 4 MiB");
  return out;
}

/// Collects who was first with a value that only one file may have.
class unique_values {
public:
  explicit unique_values(std::vector<std::string>& mistakes) : mistakes_(mistakes) {}

  void claim(const std::string& value, const place& at, std::string_view subject,
             std::string_view what) {
    const auto [first, is_new] = owners_.emplace(value, at);
    if (!is_new)
      mistakes_.push_back(
          fmt::format("{}: {}: {} {}", to_string(at), subject, what, to_string(first->second)));
  }

private:
  std::vector<std::string>& mistakes_;
  std::map<std::string, place> owners_;
};

std::string canonical_path(const std::string& path) {
  std::error_code broken;
  auto out = fs::weakly_canonical(fs::absolute(path, broken), broken);
  return broken ? path : out.string();
}

/// Two pipelines that read one server need a slot, or a replica's number, each.
void claim_stream(const source_config& source, unique_values& streams) {
  if (source.what == source_config::flavor::mysql) {
    const auto parts = parse_mysql_url(source.url.reveal());
    const auto server = parts ? fmt::format("{}:{}", parts->host, parts->port) : std::string{};
    streams.claim(fmt::format("{}\n{}", server, source.server_id), source.at, "source.server_id",
                  "is the same number on the same server as in");
    return;
  }
  const auto parts = look_into(source.url.reveal());
  streams.claim((parts ? parts->server : "") + "\n" + source.slot_name, source.at,
                "source.slot_name", "is the same slot on the same server as in");
}

void check_apart(const std::vector<pipeline_config>& pipelines,
                 std::vector<std::string>& mistakes) {
  unique_values names{mistakes};
  unique_values streams{mistakes};
  unique_values paths{mistakes};
  for (const auto& one : pipelines) {
    names.claim(one.source.name, one.source.at, "source.name", "is also the name in");
    claim_stream(one.source, streams);
    for (const auto& target : one.targets)
      if (!target.path.empty())
        paths.claim(target.path == "-" ? target.path : canonical_path(target.path), target.at,
                    target.name + ".path", "is also written by");
    for (const auto& target : one.targets)
      for (const auto& sync : one.syncs)
        if (is_document_target(target) && !target.servers.empty() && !sync.into.empty())
          paths.claim(to_string(target.servers.front()) + "\n" + sync.into, sync.at,
                      "sync." + sync.key + ".index", "is also written by");
  }
}

// [metrics], [api] and [log] describe the process: said once they hold for every file, said twice
// they must agree.
template <class Part>
void agree(std::vector<pipeline_config>& pipelines, Part pipeline_config::*part,
           place pipeline_config::*said_at, std::string_view name,
           std::vector<std::string>& mistakes) {
  const auto says = [&](const pipeline_config& one) { return (one.*said_at).line != 0; };
  const auto first = std::ranges::find_if(pipelines, says);
  if (first == pipelines.end())
    return;
  for (auto& one : pipelines) {
    if (says(one) && one.*part != (*first).*part)
      mistakes.push_back(fmt::format("{}: {}: describes the whole process and differs from {}",
                                     to_string(one.*said_at), name, to_string((*first).*said_at)));
    one.*part = (*first).*part;
  }
}

} // namespace

result<pipeline_config> read(const fs::path& file) {
  const auto text = read_text(file);
  if (!text)
    return tl::unexpected(text.error());
  return parse(*text, file.string(), process_environment);
}

result<std::vector<pipeline_config>> read_all(const std::vector<fs::path>& files) {
  std::vector<pipeline_config> out;
  std::vector<std::string> mistakes;
  for (auto file = files.begin(); file != files.end(); ++file) {
    const auto same = [&](const fs::path& other) {
      return canonical_path(other.string()) == canonical_path(file->string());
    };
    if (std::any_of(files.begin(), file, same)) {
      mistakes.push_back(fmt::format("{}:1:1: the file is named twice", file->string()));
      continue;
    }
    auto one = read(*file);
    if (one)
      out.push_back(std::move(*one));
    else
      mistakes.push_back(one.error().detail);
  }
  check_apart(out, mistakes);
  agree(out, &pipeline_config::metrics, &pipeline_config::metrics_at, "metrics", mistakes);
  agree(out, &pipeline_config::api, &pipeline_config::api_at, "api", mistakes);
  agree(out, &pipeline_config::log, &pipeline_config::log_at, "log", mistakes);
  if (!mistakes.empty())
    return fail(errc::invalid_config, "{}", fmt::join(mistakes, "\n"));
  return out;
}

result<std::vector<fs::path>> files_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code broken;
  for (fs::directory_iterator entry{folder, broken}; !broken && entry != fs::directory_iterator{};
       entry.increment(broken)) {
    const auto name = entry->path().filename().string();
    std::error_code unknown;
    if (!name.starts_with('.') && entry->path().extension() == ".toml" &&
        !entry->is_directory(unknown))
      out.push_back(entry->path());
  }
  if (broken)
    return fail(errc::invalid_config, "{}: the folder cannot be read: {}", folder.string(),
                broken.message());
  if (out.empty())
    return fail(errc::invalid_config, "{}: there is no *.toml file in this folder",
                folder.string());
  std::ranges::sort(out);
  return out;
}

} // namespace cdc::config
