#include "sinks/search/exchange.hpp"

#include <future>
#include <utility>

#include "sinks/search/pace.hpp"
#include "sinks/search/verdict.hpp"

namespace cdc::sinks::search {

namespace {

constexpr unsigned tries_max = 6;

} // namespace

result<http::response> exchange::once(std::string_view method, const std::string& target,
                                      const std::shared_ptr<std::string>& body) {
  std::promise<result<http::response>> answer;
  auto got = answer.get_future();
  over_.run([&] {
    over_.send({.method = method, .target = target, .body = *body, .owner = body},
               [&](result<http::response> said) { answer.set_value(std::move(said)); });
  });
  return got.get();
}

result<http::response> exchange::ask(std::string_view method, std::string target,
                                     std::string body) {
  const auto kept = std::make_shared<std::string>(std::move(body));
  growing_wait wait;
  for (;;) {
    auto said = once(method, target, kept);
    if (!said)
      return said;
    const auto error =
        said->status < 300 ? item_answer{said->status} : read_error(said->status, said->body);
    switch (judge(error)) {
      case verdict::busy:
      case verdict::again:
      case verdict::blocked:
        if (wait.count() + 1 >= tries_max)
          return fail(errc::target_unavailable, "{} {}: {}", method, target, to_string(error));
        pause(wait.next());
        break;
      case verdict::halted:
        return tl::unexpected(error_of(error, std::string{method} + " " + target));
      case verdict::done:
      case verdict::missing:
      case verdict::refused:
      case verdict::too_large:
        return said;
    }
  }
}

result<http::response> exchange::demand(std::string_view method, const std::string& target,
                                        std::string body) {
  auto said = ask(method, target, std::move(body));
  if (said && said->status >= 300)
    return tl::unexpected(
        error_of(read_error(said->status, said->body), std::string{method} + " " + target));
  return said;
}

void exchange::pause(std::chrono::milliseconds wait) {
  std::promise<void> over;
  over_.run([&] { over_.after(wait, [&] { over.set_value(); }); });
  over.get_future().wait();
}

std::string in_path(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const auto is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      out += c;
      continue;
    }
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xFU];
  }
  return out;
}

} // namespace cdc::sinks::search
