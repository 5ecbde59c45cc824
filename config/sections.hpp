#pragma once

#include "config/section.hpp"

/// One reader for each [section]. Each reads every key it knows, whether or not the section is
/// there, so that the list of known options is complete.
namespace cdc::config {

[[nodiscard]] source_config read_source(section in);
[[nodiscard]] target_config read_target(section in);
/// What the sections of tables and writes have to know of the targets.
struct target_traits {
  bool names_fold = false;    ///< One does not tell `Users` from `users`.
  bool has_documents = false; ///< One is a document target.
  bool has_others = false;    ///< One is not.
};
[[nodiscard]] target_traits traits_of(const std::vector<target_config>& targets);

[[nodiscard]] engine_config read_engine(section in, target_traits targets);
[[nodiscard]] listener_config read_metrics(section in);
[[nodiscard]] listener_config read_api(section in);
[[nodiscard]] log_config read_log(section in);
[[nodiscard]] sync_config read_sync(section in, const std::string& key, target_traits targets);

/// A name that goes into labels, paths of URLs and file names: `[A-Za-z0-9_-]+`.
[[nodiscard]] bool is_label(std::string_view text) noexcept;

/// The value of the variable that `key` names; its absence is a mistake.
[[nodiscard]] std::optional<secret> read_variable(section& in, std::string_view key);

} // namespace cdc::config
