// Whatever stands in a log, events are decoded or refused, and the cells they make lie in their
// block. The input is events, without checksums.
#include <cstdint>
#include <span>

#include "tests/support/binlog_feed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cdc::tests::binlog_feed feed;
  auto left = std::as_bytes(std::span{data, size});
  while (!left.empty()) {
    const auto event = cdc::tests::binlog_feed::next(left);
    if (event) [[maybe_unused]]
      const auto fed = feed.feed(*event);
  }
  return 0;
}
