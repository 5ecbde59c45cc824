#include "sources/postgres/setup.hpp"

#include <algorithm>
#include <utility>

#include "sources/postgres/connection.hpp"
#include "sources/postgres/lsn.hpp"
#include "sources/postgres/survey.hpp"

namespace cdc::sources::postgres {

namespace {

/// The ordinary connection, and the stronger one where there is one.
struct connections {
  connection on;
  std::optional<connection> strong;

  [[nodiscard]] connection& admin() noexcept { return strong ? *strong : on; }
};

result<connection> connect(const config::source_config& source, purpose use,
                           const std::shared_ptr<const stop_signal>& stop) {
  const auto to = conninfo::make(source, use, "setup");
  if (!to)
    return tl::unexpected(to.error());
  return connection::open(*to, stop);
}

result<connections> connect_both(const config::source_config& source,
                                 const std::shared_ptr<const stop_signal>& stop) {
  auto on = connect(source, purpose::query, stop);
  if (!on)
    return tl::unexpected(on.error());
  connections out{*std::move(on), std::nullopt};
  if (source.admin_url) {
    auto strong = connect(source, purpose::admin, stop);
    if (!strong)
      return tl::unexpected(strong.error());
    out.strong = *std::move(strong);
  }
  return out;
}

result<void> create_publications(connection& admin, const survey& found) {
  for (const auto& each : found.publications) {
    if (!each.create)
      continue;
    if (auto made = admin.run(*each.create, "create publication " + each.name); !made)
      return tl::unexpected(made.error());
  }
  return {};
}

/// Which entry of the catalogue publishes each table, now that all publications are there.
result<void> note_entries(connection& on, prepared_source& into) {
  for (const auto& name : into.publications) {
    const auto is = read_publication(on, name);
    if (!is)
      return tl::unexpected(is.error());
    for (auto& each : into.tables)
      if (*is && each.published_by == 0)
        each.published_by = (*is)->entry_of(*each.shape);
  }
  return {};
}

std::vector<position> known_resumes(const setup_request& request) {
  std::vector<position> out;
  for (const auto& each : request.resumes) {
    if (each && !request.fresh)
      out.push_back(*each);
  }
  return out;
}

// -- a slot that is there -------------------------------------------------------------------------

// PostgreSQL would begin at confirmed_flush_lsn without a word and leave out what lies between.
result<void> check_resumes(const slot_state& slot, std::span<const position> resumes) {
  for (const auto at : resumes) {
    if (at < slot.confirmed)
      return fail(
          errc::target_stale,
          "the target resumes at {}, but slot {} has let go of everything before {}: the "
          "target is an older copy. Put the newer one back, or run --fresh-slot-and-load, which "
          "drops the slot and loads anew",
          to_lsn(at), slot.name, to_lsn(slot.confirmed));
  }
  return {};
}

result<void> check_log_end(connection& on, std::span<const position> resumes) {
  if (resumes.empty())
    return {};
  const auto found = on.run("SELECT pg_catalog.pg_current_wal_insert_lsn()", "read the log's end");
  if (!found)
    return tl::unexpected(found.error());
  const auto end = parse_lsn(found->text(0, 0));
  if (!end)
    return tl::unexpected(end.error());
  const auto furthest = std::ranges::max(resumes);
  if (furthest > *end)
    return fail(
        errc::foreign_stream,
        "the target resumes at {}, beyond the end of the log of {}, {}: the source was "
        "restored or replaced: run --fresh-slot-and-load, which drops the slot and loads anew",
        to_lsn(furthest), on.describe(), to_lsn(*end));
  return {};
}

// Which commits were hidden when this slot began cannot be known any more, so the load's snapshots
// are made to wait for all that runs now.
result<void> adopt_slot(connection& on, const slot_state& slot, prepared_source& into) {
  into.start = slot.confirmed;
  const auto seen = look_past_own_transaction(on);
  if (!seen)
    return tl::unexpected(seen.error());
  for (const auto xid : seen->in_progress)
    into.unproved.push_back(static_cast<std::uint32_t>(xid));
  return {};
}

result<void> check_publications(const setup_request& request, const survey& found) {
  const auto resumes = known_resumes(request);
  auto why = resumes.empty() ? std::string{}
                             : judge_publications(found.publications, std::ranges::min(resumes));
  if (!why.empty())
    return tl::unexpected(error{errc::source_misconfigured, std::move(why)});
  return {};
}

// -- a slot that is not ---------------------------------------------------------------------------

result<void> make_slot(connection& on, const setup_request& request, prepared_source& into) {
  const auto use = request.source.admin_url ? purpose::admin_replication : purpose::replication;
  const auto to = conninfo::make(request.source, use, "setup");
  if (!to)
    return tl::unexpected(to.error());
  auto made = create_slot(*to, on, request.source.slot_name, request.waiting, request.stop);
  if (!made)
    return tl::unexpected(made.error());
  into.start = made->start;
  into.unproved = std::move(made->unproved);
  into.slot_created = true;
  return {};
}

result<void> prepare_slot(connections& with, const setup_request& request, const survey& found,
                          prepared_source& into) {
  if (request.fresh) {
    if (auto dropped = drop_slot(with.admin(), request.source.slot_name); !dropped)
      return dropped;
  }
  const auto slot = find_slot(with.on, request.source.slot_name);
  if (!slot)
    return tl::unexpected(slot.error());
  const auto resumes = known_resumes(request);
  if (*slot) {
    if (auto fit = check_slot(**slot, found.identity.database); !fit)
      return fit;
    if (auto young = check_resumes(**slot, resumes); !young)
      return young;
    if (auto reachable = check_log_end(with.on, resumes); !reachable)
      return reachable;
    return adopt_slot(with.on, **slot, into);
  }
  if (!resumes.empty())
    return fail(
        errc::position_lost,
        "slot {} does not exist at {}, but the target resumes at {}: it was dropped, or this "
        "is another server. Put it back, or run --fresh-slot-and-load, which creates it and loads "
        "anew",
        request.source.slot_name, with.on.describe(), to_lsn(std::ranges::min(resumes)));
  return make_slot(with.on, request, into);
}

// -- looking only ---------------------------------------------------------------------------------

result<log_standing> read_log(connection& on, const config::source_config& source) {
  log_standing out;
  auto identity = read_identity(on, source);
  if (!identity)
    return tl::unexpected(identity.error());
  out.identity = *std::move(identity);
  auto all = slots(on);
  if (!all)
    return tl::unexpected(all.error());
  out.slots = *std::move(all);
  // Not the insert position: behind a page's end it is one that no record ends at, and that an
  // idle log never reaches.
  const auto found = on.run("SELECT CASE WHEN pg_catalog.pg_is_in_recovery()"
                            " THEN pg_catalog.pg_last_wal_replay_lsn()"
                            " ELSE pg_catalog.pg_current_wal_flush_lsn() END",
                            "read the log's end");
  if (!found)
    return tl::unexpected(found.error());
  const auto end = parse_lsn(found->text(0, 0));
  if (!end)
    return tl::unexpected(end.error());
  out.end = *end;
  return out;
}

result<void> look_around(const config::source_config& source,
                         std::span<const config::sync_config> sections, inspection& into) {
  auto with = connect_both(source, nullptr);
  if (!with)
    return tl::unexpected(with.error());
  auto found = survey_source(with->on, with->admin(), source, sections);
  if (!found)
    return tl::unexpected(found.error());
  const auto slot = survey_slot(with->on, source, *found);
  // The walsender is reached by rules of its own in pg_hba.conf.
  if (const auto walsender = connect(source, purpose::replication, nullptr); !walsender)
    found->bad(walsender.error().code, walsender.error().detail);
  into.findings = std::move(found->findings);
  into.tables = std::move(found->tables);
  into.publications = std::move(found->publications);
  if (!slot)
    return slot;
  auto log = read_log(with->on, source);
  if (!log)
    return tl::unexpected(log.error());
  into.log = *std::move(log);
  return {};
}

} // namespace

result<stream_identity> identify(const config::source_config& source,
                                 const std::shared_ptr<const stop_signal>& stop) {
  auto on = connect(source, purpose::query, stop);
  if (!on)
    return tl::unexpected(on.error());
  return read_identity(*on, source);
}

result<log_standing> read_log(const config::source_config& source) {
  auto on = connect(source, purpose::query, nullptr);
  if (!on)
    return tl::unexpected(on.error());
  return read_log(*on, source);
}

inspection inspect(const config::source_config& source,
                   std::span<const config::sync_config> sections) {
  inspection out;
  if (auto looked = look_around(source, sections, out); !looked)
    out.findings.push_back({finding::level::bad, looked.error().code, looked.error().detail});
  return out;
}

// A change is decoded with the catalogue of its own time, so that the walsender fails at the first
// one from before the publication was made, now and at every later attempt.
std::string judge_publications(std::span<const needed_publication> publications, position resume) {
  const auto is_new = [](const auto& each) { return each.create.has_value(); };
  const auto made = std::ranges::find_if(publications, is_new);
  if (made == publications.end())
    return {};
  const auto others = !std::ranges::all_of(publications, is_new);
  return fmt::format(
      "publication {} does not exist, and PostgreSQL cannot read the log from {}, where the target "
      "resumes, with one that is made now. {}un --fresh-slot-and-load, which drops the slot and "
      "loads anew",
      made->name, to_lsn(resume),
      others ? fmt::format("Run without the sections that need it, meanwhile run {} and wait until "
                           "status --caught-up is content, then add the sections; or r",
                           *made->create)
             : "R");
}

std::vector<finding> inspect_source(const config::source_config& source,
                                    std::span<const config::sync_config> sections) {
  return inspect(source, sections).findings;
}

result<prepared_source> prepare_source(const setup_request& request) {
  auto with = connect_both(request.source, request.stop);
  if (!with)
    return tl::unexpected(with.error());
  auto found = survey_source(with->on, with->admin(), request.source, request.sections);
  if (!found)
    return tl::unexpected(found.error());
  if (auto refused = refusal(*found))
    return tl::unexpected(*std::move(refused));
  if (auto decodable = check_publications(request, *found); !decodable)
    return tl::unexpected(decodable.error());
  if (auto made = create_publications(with->admin(), *found); !made)
    return tl::unexpected(made.error());
  prepared_source out;
  if (auto ready = prepare_slot(*with, request, *found, out); !ready)
    return tl::unexpected(ready.error());
  out.identity = std::move(found->identity);
  out.tables = std::move(found->tables);
  out.server_version = found->server_version;
  for (const auto& each : found->publications)
    out.publications.push_back(each.name);
  if (auto noted = note_entries(with->on, out); !noted)
    return tl::unexpected(noted.error());
  for (const auto& each : found->findings) {
    if (each.severity == finding::level::warning)
      out.notes.push_back(each.text);
  }
  return out;
}

} // namespace cdc::sources::postgres
