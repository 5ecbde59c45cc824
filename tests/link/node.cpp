// One pipeline in two processes.
//
//   link_node source CONFIG PORT    reads the log for whoever links up on 127.0.0.1:PORT
//   link_node target CONFIG PORT    runs the pipeline with the log of the process at PORT
//
// Both run until they are killed, or their standard input ends.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>

#include "actors/board.hpp"
#include "actors/caf_compat.hpp"
#include "actors/link.hpp"
#include "actors/log.hpp"
#include "actors/reader_actor.hpp"
#include "actors/source_actor.hpp"
#include "cli/pipeline_source.hpp"
#include "sources/postgres/conninfo.hpp"
#include "sources/postgres/log_stream.hpp"
#include "sources/postgres/table_reader.hpp"
#include "supervision/root_supervisor.hpp"

namespace cdc {

namespace {

using actors::board;

struct configuration : caf::actor_system_config {
  configuration() {
    actors::configure_scheduler(*this);
    add_message_types<caf::id_block::cdc_link>();
    set("middleman.heartbeat-interval", caf::timespan{std::chrono::seconds{2}});
    set("middleman.connection-timeout", caf::timespan{std::chrono::seconds{10}});
    load<caf::io::middleman>();
  }
};

void wait_for_the_end_of_input() {
  for (std::string line; std::getline(std::cin, line);) {
  }
  std::_Exit(0);
}

// -- the source's process -------------------------------------------------------------------------

/// Reads the log for one link at a time: a new hello ends what the one before had.
class log_host {
public:
  static constexpr const char* name = "test.host";

  log_host() = default;
  log_host(caf::event_based_actor* self, std::shared_ptr<const config::pipeline_config> config)
      : self_(self), config_(std::move(config)) {}

  caf::behavior start() {
    actors::keep_house(self_);
    self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    return {[this](const actors::link_hello& hello) {
      next_ = hello;
      far_ = caf::actor_cast<caf::actor>(self_->current_sender());
      let_go();
      take_up();
    }};
  }

private:
  void on_down(const caf::down_msg& down) {
    std::erase_if(running_, [&](const caf::actor& who) { return who.address() == down.source; });
    let_go();
    take_up();
  }

  void let_go() {
    for (const auto& who : running_)
      actors::send_exit_now(who);
  }

  void take_up() {
    if (!running_.empty() || !next_)
      return;
    const auto hello = *std::exchange(next_, std::nullopt);
    auto to = sources::postgres::conninfo::make(config_->source,
                                                sources::postgres::purpose::replication, "stream");
    if (!to)
      return;
    auto stream = sources::postgres::make_log_stream({.to = std::move(*to),
                                                      .slot = config_->source.slot_name,
                                                      .publications = hello.publications,
                                                      .resume = position{hello.from},
                                                      .system_identifier = hello.server},
                                                     {});
    sources::postgres::reader_options reading;
    reading.role = "link";
    reading.publications = hello.publications;
    const auto desk = self_->spawn<actors::table_reading>(
        sources::postgres::make_table_reader(config_->source, reading),
        board_->add(actors::actor_kind::reader, "desk"));
    const auto out = self_->spawn(actors::link_out_behavior, hello.life, far_);
    actors::source_options options;
    options.life = hello.life;
    options.stats = board_->add(actors::actor_kind::source, "source");
    options.counts = board_->pipeline("link");
    const auto source =
        self_->spawn<actors::log_reader>(std::move(stream),
                                         std::vector{caf::actor_cast<actors::engine_actor>(
                                             caf::actor_cast<caf::strong_actor_ptr>(out))},
                                         caf::actor_cast<caf::actor>(desk), options);
    running_ = {caf::actor_cast<caf::actor>(desk), out, caf::actor_cast<caf::actor>(source)};
    for (const auto& who : running_)
      self_->monitor(who);
  }

  caf::event_based_actor* self_ = nullptr;
  std::shared_ptr<const config::pipeline_config> config_;
  std::shared_ptr<board> board_ = std::make_shared<board>("source", "0");
  std::vector<caf::actor> running_;
  std::optional<actors::link_hello> next_;
  caf::actor far_;
};

int run_source(std::shared_ptr<const config::pipeline_config> config, std::uint16_t port) {
  configuration with;
  caf::actor_system system{with};
  const auto host = system.spawn(
      [](caf::stateful_actor<log_host>* self, std::shared_ptr<const config::pipeline_config> of) {
        self->state = log_host{self, std::move(of)};
        return self->state.start();
      },
      std::move(config));
  const auto published = system.middleman().publish(host, port, "127.0.0.1", true);
  if (!published) {
    std::fprintf(stderr, "cannot listen on port %u\n", port);
    return 1;
  }
  wait_for_the_end_of_input();
  return 0;
}

// -- the target's process -------------------------------------------------------------------------

/// Where the log of the next life comes from.
struct link_address {
  std::mutex guard;
  caf::actor host;
  actors::link_hello hello;
};

/// The parts of the program, but the log comes from another process.
class linked_parts final : public supervision::pipeline_parts {
public:
  linked_parts(std::shared_ptr<pipeline_parts> own, caf::actor_system& system, std::uint16_t port,
               std::string publication, std::shared_ptr<link_address> address)
      : own_(std::move(own)), system_(system), port_(port), publication_(std::move(publication)),
        address_(std::move(address)) {}

  result<stream_identity> identify() override {
    auto found = own_->identify();
    if (found)
      server_ = found->server;
    return found;
  }
  result<std::unique_ptr<sinks::sink>> make_sink(std::size_t target) override {
    return own_->make_sink(target);
  }
  result<supervision::ready_source>
  prepare_source(const std::vector<std::optional<position>>& resumes) override {
    return own_->prepare_source(resumes);
  }
  // A proxy of a process that has died may still be handed out: the first message to it tells.
  result<std::unique_ptr<sources::log_stream>> make_stream(position from) override {
    auto host = system_.middleman().remote_actor("127.0.0.1", port_);
    if (!host)
      return fail(errc::source_unavailable, "no process with the log at port {}", port_);
    const std::lock_guard hold{address_->guard};
    address_->host = *host;
    address_->hello = {0, from.token, server_, {publication_}};
    return std::unique_ptr<sources::log_stream>{};
  }
  std::unique_ptr<sources::table_reader> make_reader(const std::string& role) override {
    return own_->make_reader(role);
  }
  void cancel() noexcept override { own_->cancel(); }

private:
  std::shared_ptr<pipeline_parts> own_;
  caf::actor_system& system_;
  std::uint16_t port_;
  std::string publication_;
  std::shared_ptr<link_address> address_;
  std::string server_;
};

int run_target(std::shared_ptr<const config::pipeline_config> config, std::uint16_t port) {
  configuration with;
  caf::actor_system system{with};
  const auto address = std::make_shared<link_address>();
  supervision::root_options root;
  root.board = std::make_shared<board>("target", "0");
  root.over = [](const supervision::outcome& how) { std::_Exit(how.halted.empty() ? 0 : 1); };
  auto& pipeline = root.pipelines.emplace_back();
  pipeline.config = config;
  pipeline.make_parts = [config, port, &system, address,
                         own = cli::make_source(config).make_parts](bool fresh) {
    return std::make_shared<linked_parts>(own(fresh), system, port, config->source.publication,
                                          address);
  };
  pipeline.spawn = [address](caf::actor_system& in, supervision::life_setup& setup,
                             const supervision::life_context& context) {
    return supervision::spawn_life(
        in, setup, context,
        [address](caf::actor_system& system_, supervision::life_setup&,
                  const std::vector<actors::engine_actor>& engines, const actors::reader_actor&,
                  const actors::source_options& options) {
          const std::lock_guard hold{address->guard};
          auto hello = address->hello;
          hello.life = options.life;
          return caf::actor_cast<caf::actor>(system_.spawn(actors::link_in_behavior, address->host,
                                                           hello, engines.front(), options.stats));
        });
  };
  system.spawn(supervision::root_behavior, std::move(root));
  wait_for_the_end_of_input();
  return 0;
}

} // namespace

} // namespace cdc

int main(int argc, char** argv) {
  const std::string role = argc == 4 ? argv[1] : "";
  if (role != "source" && role != "target") {
    std::fputs("link_node source|target CONFIG PORT\n", stderr);
    return 2;
  }
  auto config = cdc::config::read(argv[2]);
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().detail.c_str());
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[3]));
  auto shared = std::make_shared<const cdc::config::pipeline_config>(std::move(*config));
  return role == "source" ? cdc::run_source(shared, port) : cdc::run_target(shared, port);
}
