#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace cdc::supervision {

/// Tells the service that started the process how it is (sd_notify's protocol: one datagram to the
/// socket that NOTIFY_SOCKET names). Without such a service nothing happens.
class service {
public:
  service();
  ~service();
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  void ready() { tell("READY=1"); }
  void stopping() { tell("STOPPING=1"); }
  void alive() { tell("WATCHDOG=1"); }

  /// How often alive() has to be said, halved; none: nobody watches.
  [[nodiscard]] std::optional<std::chrono::microseconds> watchdog() const noexcept {
    return watchdog_;
  }

private:
  void tell(std::string_view what) noexcept;

  int socket_ = -1;
  std::optional<std::chrono::microseconds> watchdog_;
};

} // namespace cdc::supervision
