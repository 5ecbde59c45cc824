#include "sources/postgres/connection.hpp"

#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sources/postgres/errors.hpp"

namespace cdc::sources::postgres {

namespace {

/// Takes connections and never says a word.
class silent_server {
public:
  silent_server() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(socket_, 8) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
      throw std::runtime_error("no socket");
    port_ = ntohs(at.sin_port);
  }
  ~silent_server() { ::close(socket_); }

  conninfo address(const std::string& more = "") const {
    config::source_config source;
    source.url = config::secret{"host=127.0.0.1 user=ann sslmode=disable gssencmode=disable port=" +
                                std::to_string(port_) + more};
    return conninfo::make(source, purpose::query, "test").value();
  }

private:
  int socket_;
  int port_ = 0;
};

TEST(connection, gives_up_a_server_that_does_not_answer) {
  const silent_server server;

  const auto out = connection::open(server.address(" connect_timeout=2"));

  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, errc::source_unavailable);
  EXPECT_NE(out.error().detail.find("127.0.0.1"), std::string::npos);
}

TEST(connection, stops_connecting_when_it_is_told_to) {
  const silent_server server;
  const auto stop = std::make_shared<stop_signal>();
  std::thread other{[&] { stop->raise(); }};

  const auto out = connection::open(server.address(), stop);
  other.join();

  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, errc::cancelled);
  EXPECT_TRUE(stop->raised());
}

TEST(connection, quotes_whatever_a_name_or_text_holds) {
  EXPECT_EQ(quote_identifier("select"), "\"select\"");
  EXPECT_EQ(quote_identifier("a\"b.c"), "\"a\"\"b.c\"");
  EXPECT_EQ(quote_identifier(""), "\"\"");
  EXPECT_EQ(quote_literal("it's \\ fine"), "'it''s \\ fine'");
}

TEST(postgres_errors, say_what_can_be_done) {
  EXPECT_EQ(errc_of("28P01"), errc::permission_denied);
  EXPECT_EQ(errc_of("28000"), errc::permission_denied);
  EXPECT_EQ(errc_of("42501"), errc::permission_denied);
  EXPECT_EQ(errc_of("3D000"), errc::source_misconfigured);
  EXPECT_EQ(errc_of("42601"), errc::source_misconfigured);
  EXPECT_EQ(errc_of("42P01"), errc::source_unavailable) << "dropped since the catalogue was read";
  EXPECT_EQ(errc_of("42703"), errc::source_unavailable);
  EXPECT_EQ(errc_of("55006"), errc::slot_in_use);
  EXPECT_EQ(errc_of("57P01"), errc::source_unavailable);
  EXPECT_EQ(errc_of("53300"), errc::source_unavailable);
  EXPECT_EQ(errc_of("58P01"), errc::position_lost);
}

} // namespace

} // namespace cdc::sources::postgres
