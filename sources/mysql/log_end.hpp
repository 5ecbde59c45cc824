#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "messages/error.hpp"
#include "messages/position.hpp"
#include "sources/mysql/connection.hpp"
#include "sources/mysql/coordinates.hpp"
#include "sources/mysql/stop_signal.hpp"

namespace cdc::sources::mysql {

/// The coordinates that the running stream counts in, for whoever speaks of its positions
/// meanwhile. Any thread.
class spoken_places {
public:
  void set(coordinates at);

  /// `bin.000042:1337`; the number while no stream has run yet.
  [[nodiscard]] std::string spell(position at) const;
  /// What spell() gives, or errc::malformed_message.
  [[nodiscard]] result<position> read(std::string_view text) const;
  [[nodiscard]] result<position> token(const log_place& at) const;

private:
  mutable std::mutex guard_;
  coordinates at_;
};

/// Where a server's log ends, asked over one connection that is kept and opened again when it
/// broke. Belongs to one thread.
class log_end {
public:
  log_end(config::source_config source, std::shared_ptr<const spoken_places> places)
      : source_(std::move(source)), places_(std::move(places)) {}

  [[nodiscard]] result<position> ask();

private:
  [[nodiscard]] result<log_place> run();

  config::source_config source_;
  std::shared_ptr<const spoken_places> places_;
  std::optional<connection> on_;
};

} // namespace cdc::sources::mysql
