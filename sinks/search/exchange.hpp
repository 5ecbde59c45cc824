#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "sinks/http/client.hpp"
#include "sinks/search/answers.hpp"

namespace cdc::sinks::search {

/// Requests one at a time for whoever may block: opening and preparing a target. What the target
/// cannot answer now is asked again for a while.
class exchange {
public:
  explicit exchange(http::client& over) : over_(over) {}

  /// An answer of any status but those that say "later", "who are you" and "you may not".
  [[nodiscard]] result<http::response> ask(std::string_view method, std::string target,
                                           std::string body = {});
  /// The same; a status other than 200 to 299 is an error as well.
  [[nodiscard]] result<http::response> demand(std::string_view method, const std::string& target,
                                              std::string body = {});
  /// Returns early when the client is cancelled.
  void pause(std::chrono::milliseconds wait);

private:
  [[nodiscard]] result<http::response> once(std::string_view method, const std::string& target,
                                            const std::shared_ptr<std::string>& body);

  http::client& over_;
};

/// A name as part of a request's path.
[[nodiscard]] std::string in_path(std::string_view name);

} // namespace cdc::sinks::search
