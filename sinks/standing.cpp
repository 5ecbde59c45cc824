#include "sinks/standing.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "sinks/ndjson/standing.hpp"
#include "sinks/search/standing.hpp"
#include "sinks/sqlite/standing.hpp"

namespace cdc::sinks {

namespace {

namespace fs = std::filesystem;
using flavor = config::target_config::flavor;

std::string refusal_of(const fs::path& path, int rights) {
  return ::access(path.c_str(), rights) == 0 ? std::string{} : std::strerror(errno);
}

/// A file that is there must be writable; one that is not needs a folder that takes it.
void check_file(const std::string& path, std::vector<remark>& out) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    out.push_back({true, path + " is a folder"});
    return;
  }
  if (fs::exists(path, unknown)) {
    if (const auto why = refusal_of(path, R_OK | W_OK); !why.empty())
      out.push_back({true, path + " cannot be written: " + why});
    return;
  }
  const auto folder = fs::absolute(path, unknown).parent_path();
  if (const auto why = refusal_of(folder, W_OK | X_OK); !why.empty())
    out.push_back({true, path + " cannot be made: the folder " + folder.string() + ": " + why});
}

bool is_file(const config::target_config& target) noexcept {
  return (target.what == flavor::sqlite || target.what == flavor::ndjson) && target.path != "-";
}

} // namespace

bool keeps_checkpoint(const config::target_config& target) noexcept {
  return is_file(target) || config::is_document_target(target);
}

result<std::optional<standing>> read_standing(const config::target_config& target,
                                              const stream_identity& stream) {
  if (config::is_document_target(target))
    return search::read_standing(target, stream);
  std::error_code unknown;
  if (!keeps_checkpoint(target) || !fs::exists(target.path, unknown))
    return std::nullopt;
  return target.what == flavor::sqlite ? sqlite::read_standing(target)
                                       : ndjson::read_standing(target);
}

std::vector<remark> find_obstacles(const config::target_config& target,
                                   const config::engine_config& engine,
                                   const std::vector<target_table_ptr>& tables) {
  std::vector<remark> out;
  if (is_file(target))
    check_file(target.path, out);
  if (out.empty() && target.what == flavor::sqlite)
    sqlite::find_obstacles(target, tables, out);
  if (config::is_document_target(target))
    search::find_obstacles(target, engine, tables, out);
  return out;
}

} // namespace cdc::sinks
