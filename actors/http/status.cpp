#include "actors/http/status.hpp"

#include <cstddef>

#include "actors/figures.hpp"
#include "messages/json.hpp"

namespace cdc::actors::http {

namespace {

// -- pieces
// -----------------------------------------------------------------------------------------

void write_error(json::writer& to, const error_view& last) {
  to.key("last_error");
  if (last.text.empty()) {
    to.null();
    return;
  }
  to.begin_object().member("text", last.text).member("at", spell_time(last.at)).end_object();
}

void write_time(json::writer& to, std::string_view name, std::int64_t at) {
  to.key(name);
  if (at == 0)
    to.null();
  else
    to.value(spell_time(at));
}

void write_credit(json::writer& to, std::string_view name, credit amount) {
  to.key(name).begin_object();
  to.member("blocks", amount.blocks).member("bytes", amount.bytes).end_object();
}

void write_rows(json::writer& to, std::string_view name, const rows_view& rows) {
  to.key(name).begin_object();
  to.member("read", rows.read).member("written", rows.written).member("merged", rows.merged);
  to.member("filtered", rows.filtered).member("superseded", rows.superseded);
  to.member("quarantined", rows.quarantined).end_object();
}

void write_times(json::writer& to, std::string_view name, const histogram_view& times) {
  to.key(name).begin_object();
  to.member("count", times.count()).member("p50", times.quantile(0.5));
  to.member("p90", times.quantile(0.9)).member("p99", times.quantile(0.99)).end_object();
}

// -- a pipeline
// -------------------------------------------------------------------------------------

void write_table(json::writer& to, const table_view& table, const table_flow& flow) {
  to.begin_object();
  to.member("table", table.name).member("sink", table.sink).member("state", to_string(table.state));
  to.member("rows", table.rows).member("rows_estimate", table.rows_estimate);
  to.member("ranges_done", table.ranges_done).member("ranges", table.ranges);
  to.member("percent", flow.part_done * 100);
  to.member("rows_per_second", flow.rows_per_second).key("seconds_left");
  if (flow.seconds_left)
    to.value(*flow.seconds_left);
  else
    to.null();
  write_time(to, "started", table.started);
  write_time(to, "finished", table.finished);
  to.end_object();
}

void write_load(json::writer& to, const pipeline_view& of, const pipeline_flow& flow) {
  to.key("load").begin_object();
  to.member("finished", of.load_finished).key("paused");
  if (of.load_paused.empty())
    to.null();
  else
    to.value(of.load_paused);
  to.key("tables").begin_array();
  for (std::size_t i = 0; i < of.tables.size(); ++i)
    write_table(to, of.tables[i], i < flow.tables.size() ? flow.tables[i] : table_flow{});
  to.end_array().end_object();
}

void write_target(json::writer& to, const target_view& of) {
  to.key("target").begin_object();
  to.key("waits_for");
  if (of.waits_for.empty())
    to.null();
  else
    to.value(of.waits_for);
  to.member("open_writes", of.open).member("oldest_open_seconds", of.oldest_open_seconds);
  to.key("pace").begin_object();
  to.member("requests", of.requests_now).member("requests_max", of.requests_max);
  to.member("items", of.items_now).member("items_max", of.items_max);
  to.member("bytes", of.bytes_now).member("bytes_max", of.bytes_max).end_object();
  to.member("retried", of.retried).member("documents", of.documents).member("bytes", of.bytes);
  to.member("quarantined", of.quarantined);
  to.key("write_seconds").begin_object();
  for (std::size_t i = 0; i < of.latency.size(); ++i)
    write_times(to, to_string(static_cast<sinks::write_result>(i)), of.latency[i]);
  to.end_object().end_object();
}

void write_sink(json::writer& to, const sink_view& sink, const sink_flow& flow,
                const position_speller& spell) {
  to.begin_object();
  to.member("sink", sink.name).member("flavor", sink.flavor);
  to.member("acknowledged", spell(sink.acknowledged)).member("durable", spell(sink.durable));
  to.key("tokens").begin_object().member("acknowledged", sink.acknowledged.token);
  to.member("durable", sink.durable.token).end_object();
  write_time(to, "acknowledged_commit", sink.acknowledged_commit);
  to.key("accounting").begin_object();
  write_rows(to, "stream", sink.streamed);
  write_rows(to, "load", sink.copied);
  to.end_object();
  to.member("batches", sink.batches_flushed).member("errors", sink.errors);
  to.member("batches_per_second", flow.batches_per_second).member("writing_share", flow.writing);
  to.member("rejected", sink.refused).member("refetch_listed", sink.refetch_listed);
  to.member("refetched", sink.refetched).member("load_entries", sink.entries);
  to.key("latency_seconds").begin_object();
  write_times(to, "decode_to_acknowledge", sink.decode_to_ack);
  write_times(to, "commit_to_acknowledge", sink.commit_to_ack);
  write_times(to, "batch_write", sink.batch_write);
  to.end_object();
  if (sink.target)
    write_target(to, *sink.target);
  to.end_object();
}

void write_slot(json::writer& to, const slot_view& slot) {
  to.begin_object();
  to.member("slot", slot.name).member("active", slot.is_active);
  to.member("wal_status", to_string(slot.status)).member("retained_bytes", slot.retained_bytes);
  to.key("safe_wal_bytes");
  if (slot.safe_bytes)
    to.value(*slot.safe_bytes);
  else
    to.null();
  to.end_object();
}

void write_positions(json::writer& to, const pipeline_view& of) {
  to.key("positions").begin_object();
  to.member("current", of.spell(of.current)).member("received", of.spell(of.received));
  to.member("confirmed", of.spell(of.confirmed)).member("durable", of.spell(of.durable));
  to.end_object();
  to.key("tokens").begin_object();
  to.member("current", of.current.token).member("received", of.received.token);
  to.member("confirmed", of.confirmed.token).member("durable", of.durable.token);
  to.end_object();
  to.key("lag").begin_object();
  to.member("bytes", of.lag_bytes).member("seconds", of.lag_seconds).end_object();
}

void write_events(json::writer& to, const pipeline_view& of) {
  to.key("events").begin_object();
  to.member("row", of.events_row).member("truncate", of.events_truncate);
  to.member("transactions", of.transactions);
  to.end_object();
  to.key("schema_drift").begin_object();
  for (const auto& one : of.drift)
    to.member(one.table, one.changes);
  to.end_object();
}

void write_pace(json::writer& to, const pipeline_flow& flow) {
  to.key("rates").begin_object();
  to.member("streamed_rows_per_second", flow.streamed_rows_per_second);
  to.member("copied_rows_per_second", flow.copied_rows_per_second);
  to.member("stream_bytes_per_second", flow.stream_bytes_per_second).end_object();
  to.key("bottleneck");
  if (flow.slowest.stage.empty())
    to.null();
  else
    to.begin_object()
        .member("stage", flow.slowest.stage)
        .member("why", flow.slowest.why)
        .end_object();
  to.key("held_back_by");
  if (flow.held_back_by.empty())
    to.null();
  else
    to.value(flow.held_back_by);
}

void write_reading(json::writer& to, const pipeline_view& of, const pipeline_flow& flow) {
  to.key("reading").begin_object();
  to.member("mode", reading_mode(of)).member("catch_ups", of.catch_ups);
  to.member("bytes_left", of.bytes_left);
  to.member("log_bytes_per_second", flow.log_bytes_per_second).key("seconds_left");
  if (flow.seconds_left)
    to.value(*flow.seconds_left);
  else
    to.null();
  to.key("note");
  if (of.reading_note.text.empty())
    to.null();
  else
    to.value(of.reading_note.text);
  to.end_object();
}

void write_pipeline(json::writer& to, const pipeline_view& of, const pipeline_flow& flow) {
  to.begin_object();
  to.member("pipeline", of.name).member("source", of.flavor);
  to.member("state", to_string(of.state)).member("connected", of.is_connected);
  to.member("incarnation", of.incarnation).member("reconnects", of.reconnects);
  write_load(to, of, flow);
  write_reading(to, of, flow);
  write_pace(to, flow);
  write_positions(to, of);
  write_events(to, of);
  to.key("sinks").begin_array();
  for (std::size_t i = 0; i < of.sinks.size(); ++i)
    write_sink(to, of.sinks[i], i < flow.sinks.size() ? flow.sinks[i] : sink_flow{}, of.spell);
  to.end_array().key("slots").begin_array();
  for (const auto& slot : of.slots)
    write_slot(to, slot);
  to.end_array();
  write_error(to, of.last_error);
  to.end_object();
}

// -- the tree
// ---------------------------------------------------------------------------------------

void write_actor_facts(json::writer& to, const actor_view& actor, const actor_flow& flow) {
  to.member("name", actor.name).member("kind", to_string(actor.kind)).member("node", actor.node);
  to.member("pipeline", actor.pipeline).member("state", to_string(actor.state));
  to.member("incarnation", actor.incarnation).member("restarts", actor.restarts);
  to.member("doing", actor.doing).member("about", actor.about);
  to.member("messages", actor.messages).key("mailbox").begin_object();
  to.member("depth", actor.mailbox).member("max", actor.mailbox_max).end_object();
  write_credit(to, "credit_held", actor.held);
  write_credit(to, "credit_owed", actor.owed);
  to.member("in_flight_bytes", actor.in_flight).member("starved", actor.is_starved);
  to.member("in_handler_seconds", static_cast<double>(actor.in_handler) * 1e-9);
  to.member("busy_share", flow.busy).member("starved_share", flow.starved);
  to.member("messages_per_second", flow.messages_per_second);
  write_error(to, actor.last_error);
}

void write_actor(json::writer& to, const board_view& seen, const flow_view& flow, std::size_t at) {
  const auto& actor = seen.actors[at];
  to.begin_object();
  write_actor_facts(to, actor, at < flow.actors.size() ? flow.actors[at] : actor_flow{});
  to.key("children").begin_array();
  for (const auto child : children_of(seen, actor))
    write_actor(to, seen, flow, child);
  to.end_array().end_object();
}

void write_process(json::writer& to, const board_view& seen) {
  to.member("node", seen.node).member("version", seen.version);
  to.member("now", spell_time(seen.now)).member("started", spell_time(seen.started));
  to.member("uptime_seconds", static_cast<double>(seen.now - seen.started) * 1e-6);
}

} // namespace

std::string render_status(const board_view& seen, const flow_view& flow) {
  std::string out;
  json::writer to{out};
  to.begin_object();
  write_process(to, seen);
  to.key("pipelines").begin_array();
  for (std::size_t i = 0; i < seen.pipelines.size(); ++i)
    write_pipeline(to, seen.pipelines[i],
                   i < flow.pipelines.size() ? flow.pipelines[i] : pipeline_flow{});
  to.end_array().end_object();
  out += '\n';
  return out;
}

std::string render_actors(const board_view& seen, const flow_view& flow) {
  std::string out;
  json::writer to{out};
  to.begin_object();
  write_process(to, seen);
  to.key("actors").begin_array();
  for (const auto root : roots_of(seen))
    write_actor(to, seen, flow, root);
  to.end_array().end_object();
  out += '\n';
  return out;
}

} // namespace cdc::actors::http
