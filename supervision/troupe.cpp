#include "supervision/troupe.hpp"

#include <utility>

#include <caf/actor_system.hpp>

#include "actors/checkpoint_actor.hpp"
#include "actors/engine_actor.hpp"
#include "actors/load_coordinator.hpp"
#include "actors/log.hpp"
#include "actors/reader_actor.hpp"
#include "actors/sink_actor.hpp"

namespace cdc::supervision {

namespace {

using actors::actor_kind;

/// Spawns the actors of one life, from the target to the source.
class casting {
public:
  casting(caf::actor_system& in, life_setup& setup, const life_context& context,
          const source_spawner& spawner)
      : in_(in), setup_(setup), context_(context), spawner_(spawner),
        label_(context.config->source.name) {}

  troupe run() {
    const auto desk = reader("desk", false);
    for (std::uint16_t branch = 0; branch < setup_.branches.size(); ++branch)
      spawn_branch(branch);
    spawn_source(desk);
    for (std::uint16_t branch = 0; branch < setup_.branches.size(); ++branch)
      spawn_load(branch, desk);
    return std::move(out_);
  }

private:
  std::shared_ptr<actors::actor_stats> place(actor_kind kind, const std::string& name) {
    return context_.board->add(kind, name, context_.stats, label_, context_.life);
  }

  template <class Handle>
  Handle enlist(Handle who, std::string name, std::shared_ptr<actors::actor_stats> stats,
                bool is_of_load) {
    out_.members.push_back({caf::actor_cast<caf::strong_actor_ptr>(who), std::move(name),
                            std::move(stats), is_of_load});
    return who;
  }

  [[nodiscard]] const config::target_config& target(std::uint16_t branch) const {
    return context_.config->targets[branch];
  }

  std::shared_ptr<actors::sink_stats> counts(std::uint16_t branch) {
    return context_.counts->sink(setup_.branches[branch].name,
                                 std::string{to_string(target(branch).what)});
  }

  actors::reader_actor reader(const std::string& role, bool is_of_load) {
    std::shared_ptr<sources::table_reader> with = context_.parts->make_reader(role);
    out_.cancels.push_back([weak = std::weak_ptr{with}] {
      if (const auto alive = weak.lock())
        alive->cancel();
    });
    const auto name = "reader " + role;
    auto stats = place(actor_kind::reader, name);
    return enlist(
        caf::actor_cast<caf::actor>(in_.spawn<actors::table_reading>(std::move(with), stats)), name,
        stats, is_of_load);
  }

  /// A table keeps its rows' way when it is renamed: there is one table behind both names, and it
  /// may be given the old one back. `core` is of the actor that will ask.
  std::function<result<target_table_ptr>(const relation_ptr&)>
  mapping(const engine::engine& core) const {
    return [&core, config = context_.config, names = context_.names, log_end = setup_.log_end,
            label = label_](const relation_ptr& shape) -> result<target_table_ptr> {
      const auto is_ours = names->takes(*shape, core.passed() >= log_end);
      if (!is_ours)
        return tl::unexpected(is_ours.error());
      if (!*is_ours)
        return target_table_ptr{};
      auto mapped = map_shape(*config, shape);
      const auto former = names->former_name(*shape);
      if (!mapped || *mapped || !former)
        return mapped;
      log::voice{label}.warn("source.table_renamed",
                             "{} is named {} now; its rows still go where they went",
                             to_string(*former), to_string(shape->table));
      auto same = std::make_shared<relation>(*shape);
      same->table = *former;
      return map_shape(*config, std::move(same));
    };
  }

  void spawn_branch(std::uint16_t branch) {
    auto& setup = setup_.branches[branch];
    out_.sink_cancels.push_back([sink = setup.sink] { sink->cancel(); });
    const auto sink_name = "sink " + setup.name;
    auto sink_stats = place(actor_kind::sink, sink_name);
    setup.sink->show_at(counts(branch)->target);
    auto sink = enlist(in_.spawn(actors::sink_behavior, setup.sink,
                                 actors::sink_options{.life = context_.life,
                                                      .pipeline = label_,
                                                      .stats = sink_stats,
                                                      .counts = counts(branch)}),
                       sink_name, sink_stats, false);
    const auto engine_name = "engine " + setup.name;
    auto stats = place(actor_kind::engine, engine_name);
    actors::engine_options options;
    options.life = context_.life;
    options.branch = branch;
    options.pipeline = label_;
    options.shapes = setup.shapes;
    options.map = mapping(*setup.core);
    options.stats = stats;
    options.counts = counts(branch);
    options.pipeline_counts = context_.counts;
    out_.engines.push_back(enlist(in_.spawn(actors::engine_behavior, setup.core, sink, options),
                                  engine_name, stats, false));
  }

  void spawn_source(const actors::reader_actor& desk) {
    auto source_stats = place(actor_kind::source, "source");
    actors::source_options options;
    options.life = context_.life;
    options.pipeline = label_;
    options.stats = source_stats;
    options.counts = context_.counts;
    out_.source =
        enlist(spawner_(in_, setup_, out_.engines, desk, options), "source", source_stats, false);
    auto stats = place(actor_kind::checkpoint, "checkpoint");
    out_.checkpoint = enlist(in_.spawn(actors::checkpoint_behavior, out_.engines, out_.source,
                                       actors::checkpoint_options{
                                           .life = context_.life,
                                           .interval = context_.config->engine.checkpoint_interval,
                                           .supervisor = context_.supervisor,
                                           .stats = stats,
                                           .counts = context_.counts}),
                             "checkpoint", stats, false);
  }

  void spawn_load(std::uint16_t branch, const actors::reader_actor& desk) {
    const auto& setup = setup_.branches[branch];
    actors::load_crew crew{out_.engines[branch], out_.source, desk, {}};
    if (setup.needs_load())
      for (std::uint32_t i = 1; i <= context_.config->source.load_workers; ++i)
        crew.readers.push_back(reader(fmt::format("{} {}", setup.name, i), true));
    const auto name = "load " + setup.name;
    auto stats = place(actor_kind::coordinator, name);
    actors::load_options options;
    options.life = context_.life;
    options.branch = branch;
    options.chunk_rows = context_.config->source.load_chunk_rows;
    options.wave.rows =
        std::uint64_t{4} * options.chunk_rows * std::max(2u, context_.config->source.load_workers);
    options.rows_per_second = context_.config->engine.load_max_rows_per_sec;
    options.pipeline = label_;
    options.sink = setup.name;
    if (branch == 0)
      options.slot = setup_.log_name;
    options.pressure_words = setup_.under_pressure;
    options.shapes = setup.shapes;
    options.keyless = setup.keyless;
    options.progress = setup.progress;
    options.supervisor = context_.supervisor;
    options.stats = stats;
    options.counts = counts(branch);
    options.pipeline_counts = context_.counts;
    enlist(in_.spawn(actors::load_behavior, std::move(crew), options), name, stats, false);
  }

  caf::actor_system& in_;
  life_setup& setup_;
  const life_context& context_;
  const source_spawner& spawner_;
  std::string label_;
  troupe out_;
};

} // namespace

actors::source_actor spawn_log_reader(caf::actor_system& in, life_setup& setup,
                                      const std::vector<actors::engine_actor>& engines,
                                      const actors::reader_actor& catalogue,
                                      const actors::source_options& options) {
  return caf::actor_cast<caf::actor>(
      in.spawn<actors::log_reader>(std::move(setup.log), engines, catalogue, options));
}

troupe spawn_life(caf::actor_system& in, life_setup& setup, const life_context& context,
                  const source_spawner& spawn_source) {
  return casting{in, setup, context, spawn_source}.run();
}

} // namespace cdc::supervision
