#include "actors/http/server.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/http/client.hpp"
#include "actors/log.hpp"

namespace cdc::actors::http {
namespace {

using namespace std::chrono_literals;

/// A plain TCP client, for what no HTTP library would send.
class raw_client {
public:
  explicit raw_client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const timeval patience{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  ~raw_client() { ::close(socket_); }
  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  [[nodiscard]] bool is_connected() const noexcept { return is_connected_; }

  bool send(std::string_view text) {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }

  /// Everything until the server closes; nullopt when it does not within 10 s.
  std::optional<std::string> read_to_end() {
    std::string all;
    char part[4096];
    for (;;) {
      const auto size = ::recv(socket_, part, sizeof part, 0);
      if (size > 0)
        all.append(part, static_cast<std::size_t>(size));
      else if (size == 0 || errno == ECONNRESET)
        return all;
      else
        return std::nullopt;
    }
  }

  /// Waits until there is something to read (or the end), at most `limit`.
  bool is_readable_within(std::chrono::milliseconds limit) {
    pollfd wanted{socket_, POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(limit.count())) > 0;
  }

private:
  int socket_;
  bool is_connected_ = false;
};

class http_server : public testing::Test {
protected:
  http_server() { options_.port = 0; }

  void start() { server_ = std::make_unique<server>(options_, board_); }
  std::uint16_t port() { return server_->port(); }
  result<fetched> get(std::string_view target, const std::string& token = {}) {
    return fetch({"127.0.0.1", port()}, target, config::secret{token});
  }

  std::shared_ptr<board> board_ = std::make_shared<board>("n1", "0.1");
  server_options options_;
  std::unique_ptr<server> server_;
};

TEST_F(http_server, answers_from_the_board_as_it_is_now) {
  start();
  EXPECT_EQ(get("/readyz")->status, 503U);

  board_->pipeline("shop")->enter(pipeline_state::streaming);

  EXPECT_EQ(get("/readyz")->status, 200U);
  EXPECT_EQ(get("/healthz/shop")->body, "streaming\n");
}

TEST_F(http_server, asks_for_its_token) {
  options_.token = config::secret{"secret"};
  start();

  EXPECT_EQ(get("/status")->status, 401U);
  EXPECT_EQ(get("/status", "wrong")->status, 401U);
  EXPECT_EQ(get("/status", "secret")->status, 200U);
  EXPECT_EQ(get("/healthz")->status, 200U);
}

TEST_F(http_server, closes_after_one_response_and_names_its_length) {
  start();
  raw_client client{port()};
  client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");

  const auto said = client.read_to_end();

  ASSERT_TRUE(said);
  EXPECT_TRUE(said->starts_with("HTTP/1.1 200 OK\r\n")) << *said;
  EXPECT_NE(said->find("Connection: close\r\n"), std::string::npos) << *said;
  EXPECT_NE(said->find("Content-Length: 3\r\n"), std::string::npos) << *said;
  EXPECT_TRUE(said->ends_with("\r\n\r\nok\n")) << *said;
}

TEST_F(http_server, refuses_by_number_what_is_no_request) {
  start();
  const std::pair<std::string, std::string> cases[]{
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /status HTTP/9.9\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /status HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n", "HTTP/1.1 431 "},
      {"GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n", "HTTP/1.1 431 "},
      {"POST /status HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 405 "},
      {"GET /status HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 413 "},
      {"GET /status HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 413 "},
      {"GET /%zz HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
  };
  for (const auto& [asked, wanted] : cases) {
    raw_client client{port()};
    client.send(asked);
    const auto said = client.read_to_end();
    ASSERT_TRUE(said) << asked.substr(0, 60);
    EXPECT_TRUE(said->starts_with(wanted)) << asked.substr(0, 60) << " got " << said->substr(0, 60);
  }
  EXPECT_EQ(get("/healthz")->status, 200U);
}

TEST_F(http_server, does_not_read_a_body_that_never_ends) {
  start();
  raw_client client{port()};
  client.send("POST /status HTTP/1.1\r\nContent-Length: 1000000000\r\n\r\n");
  const std::string part(64 * 1024, 'x');
  for (int i = 0; i < 100 && client.send(part); ++i) {
  }

  const auto said = client.read_to_end();

  ASSERT_TRUE(said);
  EXPECT_EQ(get("/healthz")->status, 200U);
}

TEST_F(http_server, cuts_a_client_that_says_nothing) {
  options_.request_time = 50ms;
  start();
  raw_client client{port()};

  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(http_server, cuts_a_client_that_trickles) {
  options_.request_time = 100ms;
  start();
  raw_client client{port()};
  client.send("GET /status HTTP/1.1\r\n");

  auto turns = 0;
  while (turns < 500 && !client.is_readable_within(10ms)) {
    client.send("a");
    ++turns;
  }

  EXPECT_LT(turns, 500) << "each byte gained it more time";
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(http_server, cuts_a_client_that_does_not_take_its_response) {
  options_.response_time = 100ms;
  options_.connections_max = 1;
  for (int i = 0; i < 3000; ++i)
    static_cast<void>(
        board_->pipeline("shop")->table(std::string(200, 't') + std::to_string(i), "s"));
  start();
  raw_client lazy{port()};
  lazy.send("GET /status HTTP/1.1\r\n\r\n");

  EXPECT_EQ(get("/healthz")->status, 200U) << "the only place was held for ever";
}

TEST_F(http_server, answers_a_hundred_connections_at_once) {
  start();
  std::vector<std::unique_ptr<raw_client>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<raw_client>(port()));
    ASSERT_TRUE(clients.back()->is_connected());
  }

  for (auto& client : clients)
    ASSERT_TRUE(client->send("GET /healthz HTTP/1.1\r\n\r\n"));

  for (auto& client : clients) {
    const auto said = client->read_to_end();
    ASSERT_TRUE(said);
    EXPECT_TRUE(said->starts_with("HTTP/1.1 200 ")) << *said;
  }
}

TEST_F(http_server, lets_those_beyond_its_limit_wait_and_then_answers_them) {
  options_.connections_max = 2;
  options_.request_time = 100ms;
  start();
  raw_client first{port()};
  raw_client second{port()};
  raw_client third{port()};

  third.send("GET /healthz HTTP/1.1\r\n\r\n");

  const auto said = third.read_to_end();
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->starts_with("HTTP/1.1 200 ")) << *said;
  EXPECT_EQ(first.read_to_end(), "");
}

TEST_F(http_server, ends_at_once_with_connections_open) {
  start();
  raw_client client{port()};
  client.send("GET /sta");
  const auto begin = std::chrono::steady_clock::now();

  server_.reset();

  EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
}

TEST_F(http_server, shows_itself_on_the_board) {
  const auto self = board_->add(actor_kind::http, "http");
  server_ = std::make_unique<server>(options_, board_, self);

  static_cast<void>(get("/healthz"));
  const auto text = get("/actors?format=text");

  ASSERT_TRUE(text);
  EXPECT_NE(text->body.find("http  running   listens"), std::string::npos) << text->body;
}

/// What is logged while it lives.
class captured_log {
public:
  captured_log() { log::configure({.to = file_}); }
  ~captured_log() {
    log::configure({});
    std::fclose(file_);
  }
  captured_log(const captured_log&) = delete;
  captured_log& operator=(const captured_log&) = delete;

  std::size_t count(std::string_view event) {
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
      all += static_cast<char>(c);
    std::size_t times = 0;
    for (auto at = all.find(event); at != all.npos; at = all.find(event, at + 1))
      ++times;
    return times;
  }

private:
  std::FILE* file_ = std::tmpfile();
};

TEST_F(http_server, says_once_that_its_port_is_taken_and_takes_it_when_it_is_free) {
  captured_log lines;
  start();
  options_.port = port();
  options_.bind_again = 5ms;
  auto second = std::make_unique<server>(options_, board_);
  EXPECT_EQ(second->port(), 0);

  server_.reset();
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (second->port() == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();

  EXPECT_EQ(second->port(), options_.port);
  EXPECT_TRUE(fetch({"127.0.0.1", options_.port}, "/healthz"));
  second.reset();
  EXPECT_EQ(lines.count("http.not_listening"), 1U);
}

TEST_F(http_server, warns_when_other_machines_reach_it_without_a_token) {
  captured_log lines;
  options_.host = "0.0.0.0";
  start();
  EXPECT_EQ(lines.count("http.open_to_all"), 1U);

  options_.token = config::secret{"secret"};
  start();
  EXPECT_EQ(lines.count("http.open_to_all"), 1U);
  server_.reset();
}

TEST_F(http_server, survives_a_host_that_is_none) {
  captured_log lines;
  options_.host = "no.such.host.invalid";
  start();

  EXPECT_EQ(port(), 0);
  EXPECT_EQ(lines.count("http.not_listening"), 1U);
  server_.reset();
}

TEST(http_client, says_who_does_not_answer) {
  const auto answer = fetch({"127.0.0.1", 1}, "/healthz");

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::target_unavailable);
  EXPECT_NE(answer.error().detail.find("http://127.0.0.1:1 does not answer"), std::string::npos);
}

TEST(http_client, loses_patience_with_a_server_that_says_nothing) {
  const auto listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);

  const auto answer = fetch({"127.0.0.1", ntohs(at.sin_port)}, "/", {}, 50ms);

  EXPECT_FALSE(answer);
  ::close(listener);
}

TEST(http_address, is_read_in_each_of_its_forms) {
  const std::pair<const char*, std::pair<const char*, int>> cases[]{
      {"http://h:81", {"h", 81}},
      {"h:81/", {"h", 81}},
      {"h", {"h", 9100}},
      {"127.0.0.1:5", {"127.0.0.1", 5}},
      {"http://[::1]:82/", {"::1", 82}},
      {"[::1]", {"::1", 9100}},
  };
  for (const auto& [text, wanted] : cases) {
    const auto read = parse_address(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->host, wanted.first) << text;
    EXPECT_EQ(read->port, wanted.second) << text;
  }
}

TEST(http_address, is_refused_when_it_is_none) {
  for (const auto* text : {"", "http://", "h:", "h:0", "h:70000", "h:1x", "[::1", "[::1]x",
                           "h/path", "https://h", "user@h", ":80"})
    EXPECT_FALSE(parse_address(text)) << text;
}

} // namespace
} // namespace cdc::actors::http
