// A row that is accepted is the row its cells make when the server writes them; one that is refused
// leaves nothing. The first byte is the number of columns.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "sources/postgres/copy_text.hpp"

namespace {

using namespace cdc;

relation_ptr shape_of(std::size_t columns) {
  relation made;
  made.columns.resize(columns);
  return std::make_shared<const relation>(std::move(made));
}

void write(std::string& out, std::string_view value) {
  for (const auto c : value) {
    const auto at = std::string_view{"\b\f\n\r\t\v\\"}.find(c);
    if (at == std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back('\\');
      out.push_back("bfnrtv\\"[at]);
    }
  }
}

/// Raw bytes the server would have escaped are accepted as they stand: they make the same value.
std::string normal(std::string_view line) {
  std::string out;
  for (const auto c : line.substr(0, line.size() - 1)) {
    const auto at = std::string_view{"\b\f\r\v"}.find(c);
    if (at == std::string_view::npos) {
      out.push_back(c);
    } else {
      out.push_back('\\');
      out.push_back("bfrv"[at]);
    }
  }
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view line{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto shape = shape_of(data[0] % 16);
  block_pool pool;
  block_builder out{pool};
  if (!sources::postgres::append_copy_row(out, shape, line)) {
    if (!out.empty())
      std::abort();
    return 0;
  }
  const auto made = out.take();
  std::string again;
  auto is_first = true;
  for (const auto cell : made->image(0, *shape)) {
    if (!std::exchange(is_first, false))
      again.push_back('\t');
    if (cell.is_null())
      again += "\\N";
    else
      write(again, made->text(cell));
  }
  if (again != normal(line))
    std::abort();
  return 0;
}
