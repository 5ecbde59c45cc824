#pragma once

#include <string>
#include <vector>

#include "messages/block.hpp"

/// A block in words, one line an event, so that a test can say what it expects.
///
///   begin 100 xid 7
///   insert public.orders [1|null|absent]
///   update public.orders key [1|null] -> [2|x] partial
///   commit 100 to 108 xid 7
namespace cdc::tests {

inline std::string image_text(const block& in, std::uint32_t first, const relation& shape) {
  std::string out;
  for (const auto cell : in.image(first, shape)) {
    out += out.empty() ? "[" : "|";
    out += cell.is_null() ? "null" : cell.is_absent() ? "absent" : in.text(cell);
  }
  return (out.empty() ? "[" : out) + "]";
}

inline std::string row_text(const block& in, const event& at) {
  const auto& shape = *in.relations[at.relation];
  static constexpr const char* names[] = {"none", "key", "full"};
  auto out = " " + to_string(shape.table) + " ";
  if (at.before != before_image::none)
    out += std::string{names[static_cast<int>(at.before)]} + " ";
  out += image_text(in, at.first, shape);
  if (at.what == operation::update && at.before != before_image::none)
    out +=
        " -> " + image_text(in, at.first + static_cast<std::uint32_t>(shape.columns.size()), shape);
  return out + (at.is_partial ? " partial" : "");
}

inline std::string event_text(const block& in, const event& at) {
  const auto number = [](position p) { return std::to_string(p.token); };
  const auto told = [&] { return in.transactions[at.first]; };
  switch (at.what) {
    case operation::begin:
      return "begin " + number(told().final) + " xid " + std::to_string(told().id);
    case operation::commit:
      return "commit " + number(told().final) + " to " + number(told().end) + " xid " +
             std::to_string(told().id);
    case operation::advance:
      return "advance " + number(told().end);
    case operation::truncate:
      return "truncate " + to_string(in.relations[at.relation]->table);
    case operation::insert:
      return "insert" + row_text(in, at);
    case operation::update:
      return "update" + row_text(in, at);
    case operation::remove:
      return "delete" + row_text(in, at);
    case operation::row:
      return "row" + row_text(in, at);
  }
  return "?";
}

inline std::vector<std::string> lines(const block& in) {
  std::vector<std::string> out;
  for (const auto& at : in.events)
    out.push_back(event_text(in, at));
  return out;
}

/// Of no block: no lines.
inline std::vector<std::string> lines(const block_ptr& in) {
  return in ? lines(*in) : std::vector<std::string>{};
}

} // namespace cdc::tests
