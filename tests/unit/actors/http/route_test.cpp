#include "actors/http/route.hpp"

#include <string>

#include <gtest/gtest.h>

#include "actors/metrics.hpp"

namespace cdc::actors::http {
namespace {

/// A board in the test's hand; counts how often it is looked at.
class given_board final : public look {
public:
  const board_view& board() override {
    ++looks;
    return view;
  }
  const flow_view& flow() override {
    flow_ = derive_flow(nullptr, view);
    return flow_;
  }

  pipeline_view& add(std::string name, pipeline_state state) {
    auto& made = view.pipelines.emplace_back();
    made.name = std::move(name);
    made.state = state;
    return made;
  }

  board_view view;
  int looks = 0;

private:
  flow_view flow_;
};

class routes : public testing::Test {
protected:
  response get(std::string_view target, std::string_view authorization = {},
               std::string_view token = {}) {
    return respond({.method = "GET", .target = target, .authorization = authorization}, board_,
                   token);
  }
  response ask(std::string_view method, std::string_view target) {
    return respond({.method = method, .target = target}, board_, "");
  }

  given_board board_;
};

TEST_F(routes, say_that_the_process_is_alive_whatever_its_pipelines_do) {
  board_.add("shop", pipeline_state::halted);

  const auto answer = get("/healthz", {}, "secret");

  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.body, "ok\n");
  EXPECT_EQ(board_.looks, 0);
}

TEST_F(routes, say_how_one_pipeline_is) {
  board_.add("a", pipeline_state::reconnecting);
  board_.add("b c", pipeline_state::halted);
  board_.add("d", pipeline_state::stopped);

  EXPECT_EQ(get("/healthz/a").status, 200U);
  EXPECT_EQ(get("/healthz/a").body, "reconnecting\n");
  EXPECT_EQ(get("/healthz/b%20c").status, 503U);
  EXPECT_EQ(get("/healthz/b%20c").body, "halted\n");
  EXPECT_EQ(get("/healthz/d").status, 503U);
}

TEST_F(routes, name_the_pipelines_there_are_when_asked_for_another) {
  board_.add("a", pipeline_state::streaming);
  board_.add("b", pipeline_state::streaming);

  const auto answer = get("/healthz/c");

  EXPECT_EQ(answer.status, 404U);
  EXPECT_EQ(answer.body, "there is no such pipeline; known: a, b\n");
}

TEST_F(routes, are_ready_once_every_pipeline_streams_or_has_loaded) {
  EXPECT_EQ(get("/readyz").status, 503U) << "nothing runs yet";

  board_.add("a", pipeline_state::streaming);
  board_.add("b", pipeline_state::loading);
  EXPECT_EQ(get("/readyz").status, 503U);
  EXPECT_EQ(get("/readyz").body, "b is loading\n");

  board_.view.pipelines[1].state = pipeline_state::reconnecting;
  board_.view.pipelines[1].load_finished = true;
  EXPECT_EQ(get("/readyz").status, 200U);

  board_.view.pipelines[1].state = pipeline_state::halted;
  EXPECT_EQ(get("/readyz").status, 503U) << "what has halted falls behind";
}

TEST_F(routes, give_metrics_in_the_format_prometheus_knows) {
  board_.add("shop", pipeline_state::streaming);

  const auto answer = get("/metrics");

  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(answer.body, render_metrics(board_.view));
}

TEST_F(routes, give_status_and_actors_as_json_and_the_tree_as_text) {
  EXPECT_EQ(get("/status").content_type, "application/json");
  EXPECT_EQ(get("/actors").content_type, "application/json");
  EXPECT_EQ(get("/actors?format=text").content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(get("/actors?format=xml").status, 400U);
}

TEST_F(routes, give_a_page_that_needs_nothing_from_elsewhere) {
  const auto page = get("/", {}, "secret");

  EXPECT_EQ(page.status, 200U) << "it holds no data, and asks for the token itself";
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(page.body.find(" src="), std::string::npos);
  EXPECT_EQ(page.body.find(" href="), std::string::npos);
  EXPECT_EQ(page.body.find("innerHTML"), std::string::npos);
}

TEST_F(routes, know_no_other_path) {
  for (const auto* path : {"/x", "/metrics/", "/healthz/", "/Status", "//status", "/../status"})
    EXPECT_EQ(get(path).status, 404U) << path;
  EXPECT_EQ(ask("POST", "/x").status, 404U);
}

TEST_F(routes, answer_only_get_and_say_so) {
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
    const auto answer = ask(method, "/status");
    EXPECT_EQ(answer.status, 405U) << method;
    EXPECT_EQ(answer.allow, "GET");
  }
  EXPECT_EQ(ask("HEAD", "/status").body, "");
}

TEST_F(routes, refuse_a_body_and_a_target_that_is_none) {
  EXPECT_EQ(respond({.method = "GET", .target = "/status", .has_body = true}, board_, "").status,
            413U);
  EXPECT_EQ(get("/%zz").status, 400U);
  EXPECT_EQ(get("").status, 400U);
}

TEST_F(routes, want_the_token_for_everything_that_tells_something) {
  board_.add("shop", pipeline_state::streaming);
  for (const auto* path : {"/metrics", "/status", "/actors", "/readyz", "/healthz/shop"}) {
    EXPECT_EQ(get(path, "", "secret").status, 401U) << path;
    EXPECT_TRUE(get(path, "", "secret").wants_token) << path;
    EXPECT_EQ(get(path, "Bearer secret", "secret").status, 200U) << path;
  }
  EXPECT_GT(board_.looks, 0);
}

TEST_F(routes, take_no_token_but_the_whole_one) {
  board_.add("shop", pipeline_state::streaming);
  for (const auto* header : {"Bearer secre", "Bearer secrets", "Bearer SECRET", "secret", "Bearer",
                             "Bearer ", "Basic secret", "Bearersecret", "Bearer secretsecret"})
    EXPECT_EQ(get("/status", header, "secret").status, 401U) << header;
  EXPECT_EQ(get("/status", "bearer  secret", "secret").status, 200U) << "the scheme has no case";
}

TEST_F(routes, look_at_nothing_before_the_token_is_right) {
  static_cast<void>(get("/status", "Bearer wrong", "secret"));

  EXPECT_EQ(board_.looks, 0);
}

TEST(secrets, are_equal_only_when_every_byte_is) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_FALSE(is_same_secret("", "abc"));
  EXPECT_FALSE(is_same_secret("abc", ""));
  EXPECT_FALSE(is_same_secret("abd", "abc"));
  EXPECT_FALSE(is_same_secret("abcabc", "abc"));
  EXPECT_FALSE(is_same_secret("ab", "abc"));
}

} // namespace
} // namespace cdc::actors::http
