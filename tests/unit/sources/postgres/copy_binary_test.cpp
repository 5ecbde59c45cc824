#include "sources/postgres/copy_binary.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

using namespace std::string_literals;

std::span<const std::byte> bytes(std::string_view of) {
  return std::as_bytes(std::span{of.data(), of.size()});
}

std::string header(std::uint8_t extension = 0) {
  return "PGCOPY\n\xff\r\n\0"s + std::string(7, '\0') + static_cast<char>(extension);
}

std::string row(std::string_view value) {
  return "\0\1\0\0\0"s + static_cast<char>(value.size()) + std::string{value};
}

std::string taken(copy_binary& from, const std::string& message) {
  const auto got = from.take(bytes(message));
  if (!got)
    return "error";
  if (!*got)
    return "none";
  return {reinterpret_cast<const char*>((*got)->data()), (*got)->size()};
}

TEST(copy_binary, takes_a_header_before_the_first_row_or_with_it) {
  copy_binary apart;
  EXPECT_EQ(taken(apart, header()), "none");
  EXPECT_EQ(taken(apart, row("one")), "one");
  copy_binary together;
  EXPECT_EQ(taken(together, header() + row("one")), "one");
  EXPECT_EQ(taken(together, row("")), "");
  EXPECT_EQ(taken(together, "\xff\xff"), "none");
}

TEST(copy_binary, steps_over_an_extension_of_the_header) {
  copy_binary from;
  EXPECT_EQ(taken(from, header(3) + "abc" + row("one")), "one");
}

TEST(copy_binary, wants_a_header_of_every_copy) {
  copy_binary from;
  EXPECT_EQ(taken(from, row("one")), "error");
  EXPECT_EQ(taken(from, header()), "none");
  from.begin();
  EXPECT_EQ(taken(from, row("one")), "error");
  EXPECT_EQ(taken(from, header() + row("one")), "one");
}

TEST(copy_binary, refuses_every_prefix_of_a_row) {
  const auto whole = header() + row("value");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (size == header().size())
      continue; // The header alone is whole.
    copy_binary from;
    EXPECT_EQ(taken(from, whole.substr(0, size)), "error") << size;
  }
}

TEST(copy_binary, refuses_what_is_no_row_of_one_value) {
  for (const auto& wrong : {row("a") + "x", "\0\2\0\0\0\1a\0\0\0\1b"s, "\0\1\xff\xff\xff\xff"s,
                            "\0\0"s, "\xff\xff\0"s, ""s}) {
    copy_binary from;
    EXPECT_EQ(taken(from, header()), "none");
    EXPECT_EQ(taken(from, wrong), "error");
  }
}

TEST(copy_binary, refuses_a_format_it_does_not_know) {
  auto critical = header();
  critical[12] = 1;
  copy_binary from;
  EXPECT_EQ(taken(from, critical), "error");
  EXPECT_EQ(taken(from, header(200)), "error") << "an extension longer than the message";
}

} // namespace

} // namespace cdc::sources::postgres
