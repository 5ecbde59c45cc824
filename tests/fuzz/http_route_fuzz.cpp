// A request line with its Authorization header, as anyone may send it: line one is the method, line
// two the target, line three the header, the rest nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "actors/http/route.hpp"

namespace {

class fixed_look final : public cdc::actors::http::look {
public:
  fixed_look() {
    board_.pipelines.emplace_back().name = "shop";
    board_.actors.emplace_back().name = "root";
    flow_ = cdc::actors::derive_flow(nullptr, board_);
  }
  const cdc::actors::board_view& board() override { return board_; }
  const cdc::actors::flow_view& flow() override { return flow_; }

private:
  cdc::actors::board_view board_;
  cdc::actors::flow_view flow_;
};

std::string_view take_line(std::string_view& text) noexcept {
  const auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
  return line;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cdc::actors::http;
  static fixed_look at;
  std::string_view text{reinterpret_cast<const char*>(data), size};
  request asked;
  asked.method = take_line(text);
  asked.target = take_line(text);
  asked.authorization = take_line(text);
  static_cast<void>(respond(asked, at, ""));
  const auto guarded = respond(asked, at, "token");
  // Nothing but the open routes answers a stranger.
  const auto is_stranger = asked.authorization.find("token") == std::string_view::npos;
  if (is_stranger && guarded.status == 200 && guarded.body != "ok\n" &&
      !guarded.content_type.starts_with("text/html"))
    std::abort();
  return 0;
}
