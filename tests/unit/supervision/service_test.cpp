#include "supervision/service.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace cdc::supervision {

namespace {

/// The socket of a service that started us, under an abstract name.
class service_test : public testing::Test {
protected:
  service_test() {
    const auto name = "cdc-test-" + std::to_string(::getpid());
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name.copy(at.sun_path + 1, name.size());
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at),
                     static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
              0);
    ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~service_test() override {
    ::close(socket_);
    for (const auto* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
      ::unsetenv(name);
  }

  std::string heard() {
    std::string out(100, '\0');
    const auto size = ::recv(socket_, out.data(), out.size(), 0);
    out.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return out;
  }

  int socket_ = -1;
};

TEST_F(service_test, tells_how_the_process_is) {
  service told;
  told.ready();
  EXPECT_EQ(heard(), "READY=1");
  told.alive();
  EXPECT_EQ(heard(), "WATCHDOG=1");
  told.stopping();
  EXPECT_EQ(heard(), "STOPPING=1");
}

TEST_F(service_test, is_watched_in_half_the_time_it_was_given) {
  EXPECT_EQ(service{}.watchdog(), std::nullopt);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(service{}.watchdog(), std::chrono::microseconds{1'500'000});
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(service{}.watchdog(), std::nullopt);
}

TEST_F(service_test, says_nothing_when_nobody_asked) {
  ::unsetenv("NOTIFY_SOCKET");
  service told;
  told.ready();
  EXPECT_EQ(heard(), "");
}

} // namespace

} // namespace cdc::supervision
