#pragma once

#include <string>

#include "actors/http/client.hpp"
#include "cli/arguments.hpp"
#include "config/config.hpp"

namespace cdc::cli {

/// Where a running process answers, and what it wants to hear.
struct listener {
  actors::http::address at;
  config::secret token;
};

/// By the options: the URL, or the file's [metrics], or the default. A URL's token is in the
/// variable CDC_ACTORS_TOKEN.
[[nodiscard]] result<listener> find_listener(const actors_options& options,
                                             config::environment lookup);

/// Prints the live tree of a running process, or its JSON. Returns the exit status: 0, 1 when the
/// process does not answer, 2 when the options or the file say what cannot be.
[[nodiscard]] int run_actors(const actors_options& options);

} // namespace cdc::cli
