#include "actors/http/target.hpp"

#include <gtest/gtest.h>

namespace cdc::actors::http {
namespace {

TEST(http_target, is_a_path_and_a_query_decoded) {
  const auto parsed = parse_target("/healthz/my%20shop%2f1?format=te%78t&a=b+c&&empty=&bare");

  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->path, "/healthz/my shop/1");
  EXPECT_EQ(parsed->parameter("format"), "text");
  EXPECT_EQ(parsed->parameter("a"), "b c");
  EXPECT_EQ(parsed->parameter("empty"), "");
  EXPECT_EQ(parsed->parameter("bare"), "");
  EXPECT_EQ(parsed->parameter("missing"), std::nullopt);
}

TEST(http_target, keeps_a_plus_in_the_path) {
  EXPECT_EQ(parse_target("/a+b")->path, "/a+b");
}

TEST(http_target, takes_the_first_of_two_values) {
  EXPECT_EQ(parse_target("/?a=1&a=2")->parameter("a"), "1");
}

TEST(http_target, may_be_absolute_as_proxies_send_it) {
  EXPECT_EQ(parse_target("http://host:9100/status")->path, "/status");
  EXPECT_EQ(parse_target("http://host")->path, "/");
}

TEST(http_target, ends_at_a_fragment) {
  EXPECT_EQ(parse_target("/status#x")->path, "/status");
}

TEST(http_target, is_refused_with_a_bad_percent_sign) {
  for (const auto* text : {"/%", "/%4", "/%zz", "/%4g", "/?a=%", "/?%=1"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(http_target, is_refused_with_a_control_character) {
  for (const auto* text : {"/%00", "/%0d%0aX", "/a\tb", "/?a=%7f"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(http_target, is_refused_without_its_slash) {
  for (const auto* text : {"", "status", "*", "?a=b", "https://host/"})
    EXPECT_FALSE(parse_target(text)) << text;
}

} // namespace
} // namespace cdc::actors::http
