#include "sources/mysql/stream_core.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sources/mysql/catalogue.hpp"

namespace cdc::sources::mysql {

namespace {

constexpr std::uint64_t ansi_quotes = 4;

bool is_made_up(const event_header& header) noexcept {
  return (header.flags & flag_artificial) != 0 || header.type == event_type::heartbeat ||
         header.type == event_type::heartbeat_v2 ||
         (header.type == event_type::rotate && header.timestamp == 0);
}

event_header peek(std::span<const std::byte> event) noexcept {
  event_header out;
  if (event.size() < event_header_size)
    return out;
  std::memcpy(&out.timestamp, event.data(), 4);
  out.type = static_cast<event_type>(event[4]);
  std::memcpy(&out.flags, event.data() + 17, 2);
  return out;
}

gtid_source source_of(const mysql_gtid& gtid) {
  gtid_source out;
  std::memcpy(out.uuid.data(), gtid.uuid.data(), out.uuid.size());
  out.tag = gtid.tag;
  return out;
}

} // namespace

stream_core::stream_core(stream_start from, stream_options options)
    : at_(std::move(from.at)), options_(options), out_(pool_, options.limits),
      tables_(std::move(from.takes)), place_(at_.place(from.resume)), passed_(from.resume) {
  // nop
}

std::string stream_core::where() const {
  return fmt::format("{}:{}", place_.file, begins_);
}

// -- events ---------------------------------------------------------------------------------------

result<stream_core::fed> stream_core::feed(std::span<const std::byte> event,
                                           clock::time_point now) {
  const auto made_up = is_made_up(peek(event));
  auto view = read_event(event, made_up ? negotiated_ : algorithm_);
  if (!view)
    return fail(view.error().code, "{}: {}", to_string(place_), view.error().detail);
  if (auto placed = place(*view); !placed)
    return tl::unexpected(placed.error());
  outer_ = *view;
  inner_ = *view;
  if (view->header.type == event_type::transaction_payload) {
    auto opened = payload_reader::open(*view);
    if (!opened)
      return fail(opened.error().code, "{}: {}", where(), opened.error().detail);
    payload_.emplace(*std::move(opened));
    inner_.reset();
  }
  return go_on(now);
}

// What the server makes up is in no file; inside MariaDB's groups no event says where it ends.
result<void> stream_core::place(const event_view& in) {
  const auto& header = in.header;
  begins_ = place_.offset;
  if (is_made_up(header)) {
    // By GTID MariaDB says with it from where it sends.
    if (header.type == event_type::gtid_list && header.end_position != 0)
      place_.offset = header.end_position;
    return {};
  }
  if (header.type == event_type::format_description && header.end_position == 0)
    return {};
  if (header.end_position == 0) {
    place_.offset += header.size;
    return {};
  }
  constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
  auto end = (place_.offset & ~(wrap - 1)) | header.end_position;
  if (end + wrap / 2 < place_.offset)
    end += wrap;
  place_.offset = end;
  begins_ = end - std::min<std::uint64_t>(end, header.size);
  return {};
}

result<stream_core::fed> stream_core::go_on(clock::time_point now) {
  for (;;) {
    if (!inner_ && payload_) {
      auto next = payload_->next();
      if (!next)
        return fail(next.error().code, "{}: {}", where(), next.error().detail);
      inner_ = *next;
    }
    if (!inner_) {
      payload_.reset();
      outer_.reset();
      return fed::taken;
    }
    if (event_expander::is_compressed(inner_->header.type)) {
      auto plain = expander_.expand(*inner_);
      if (!plain)
        return fail(plain.error().code, "{}: {}", where(), plain.error().detail);
      inner_ = *plain;
    }
    auto handled = handle(now);
    if (!handled) {
      // Those of the decoders say which event, those of ours all there is to say.
      if (handled.error().code == errc::malformed_message)
        handled.error().detail = where() + ": " + handled.error().detail;
      return handled;
    }
    if (*handled != fed::taken)
      return handled;
    inner_.reset();
  }
}

result<stream_core::fed> stream_core::handle(clock::time_point now) {
  const auto& in = *inner_;
  const auto taken = [](auto&& done) {
    return result<fed>{done.map([](auto&&...) { return fed::taken; })};
  };
  switch (in.header.type) {
    case event_type::write_rows:
    case event_type::update_rows:
    case event_type::delete_rows:
    case event_type::write_rows_v1:
    case event_type::update_rows_v1:
    case event_type::delete_rows_v1:
    case event_type::partial_update_rows:
      return on_rows();
    case event_type::table_map:
      return tables_.describe(in, writer_).map([](table_cache::found how) {
        return how == table_cache::found::held ? fed::held : fed::taken;
      });
    case event_type::query:
      return on_query(now);
    case event_type::xid:
      if (auto read = decode_xid(in); !read)
        return tl::unexpected(read.error());
      return taken(commit_group(now));
    case event_type::gtid:
    case event_type::anonymous_gtid:
    case event_type::gtid_tagged:
      return taken(on_gtid());
    case event_type::mariadb_gtid:
      return taken(on_mariadb_gtid());
    case event_type::xa_prepare:
      return taken(on_prepare(now));
    case event_type::rotate:
      return taken(on_rotate(now));
    case event_type::heartbeat:
    case event_type::heartbeat_v2:
      return taken(on_heartbeat(now));
    case event_type::format_description: {
      const auto described = decode_format_description(in);
      if (!described)
        return tl::unexpected(described.error());
      algorithm_ = described->algorithm;
      writer_ = described->writer;
      return fed::taken;
    }
    case event_type::incident:
      return fail(errc::position_lost,
                  "{}: the server says that it lost events here: load the tables anew (start "
                  "afresh)",
                  where());
    case event_type::start_encryption:
      return fail(errc::source_misconfigured,
                  "{}: the server sends its log encrypted, which cannot be read", where());
    case event_type::begin_load_query:
    case event_type::execute_load_query:
    case event_type::append_block:
      return fail(errc::source_misconfigured,
                  "{}: LOAD DATA is in the log as a statement and not by its rows: SET GLOBAL "
                  "binlog_format = ROW, end the sessions that have another, and load the tables "
                  "anew (run --fresh-start-and-load)",
                  where());
    case event_type::intvar:
    case event_type::rand:
    case event_type::user_var:
      return taken(check_statement_context(in));
    case event_type::stop:
    case event_type::ignorable:
    case event_type::rows_query:
    case event_type::previous_gtids:
    case event_type::transaction_context:
    case event_type::view_change:
    case event_type::annotate_rows:
    case event_type::binlog_checkpoint:
    case event_type::gtid_list:
    case event_type::delete_file:
      return fed::taken;
    default:
      if ((in.header.flags & flag_ignorable) != 0)
        return fed::taken;
      return fail(errc::malformed_message, "an event of the unknown type {}",
                  static_cast<int>(in.header.type));
  }
}

result<void> stream_core::on_rotate(clock::time_point now) {
  const auto read = decode_rotate(*inner_);
  if (!read)
    return tl::unexpected(read.error());
  place_ = {std::string{read->file}, read->position};
  const auto at = at_.token(place_.file, place_.offset);
  if (!at)
    return tl::unexpected(at.error());
  if (!group_)
    note_position(*at, now);
  return {};
}

// The server has sent all there is.
result<void> stream_core::on_heartbeat(clock::time_point now) {
  const auto read = decode_heartbeat(*inner_);
  if (!read)
    return tl::unexpected(read.error());
  if (group_ || (!read->file.empty() && read->file != place_.file))
    return {};
  place_.offset = std::max(place_.offset, read->position);
  const auto at = at_.token(place_.file, place_.offset);
  if (!at)
    return tl::unexpected(at.error());
  if (std::exchange(answer_due_, false))
    advance(std::max(*at, passed_));
  else
    note_position(*at, now);
  return {};
}

// -- groups ---------------------------------------------------------------------------------------

result<void> stream_core::begin_group(bool is_begun) {
  if (group_)
    return fail(errc::malformed_message, "a transaction begins inside another");
  const auto at = at_.token(place_.file, begins_);
  if (!at)
    return tl::unexpected(at.error());
  if (pending_)
    advance(*pending_);
  group_.emplace();
  group_->is_begun = is_begun;
  group_->about.final = {at->token + 1};
  group_->about.id = group_->about.final.token;
  return {};
}

result<void> stream_core::on_gtid() {
  const auto gtid = decode_gtid(*inner_);
  if (!gtid)
    return tl::unexpected(gtid.error());
  if (auto begun = begin_group(false); !begun)
    return begun;
  auto& about = group_->about;
  if (gtid->number > 0)
    about.id = id_of(source_of(*gtid), static_cast<std::uint64_t>(gtid->number));
  about.commit_time = static_cast<std::int64_t>(gtid->committed_at);
  if (about.commit_time == 0)
    about.commit_time = std::int64_t{inner_->header.timestamp} * 1'000'000;
  return {};
}

result<void> stream_core::on_mariadb_gtid() {
  const auto gtid = decode_mariadb_gtid(*inner_);
  if (!gtid)
    return tl::unexpected(gtid.error());
  if (auto begun = begin_group(!gtid->is_standalone); !begun)
    return begun;
  group_->is_xa = gtid->is_xa_prepared;
  group_->about.commit_time = std::int64_t{inner_->header.timestamp} * 1'000'000;
  return {};
}

result<void> stream_core::commit_group(clock::time_point now) {
  if (!group_)
    return fail(errc::malformed_message, "a transaction ends that never began");
  const auto end = at_.token(place_.file, place_.offset);
  if (!end)
    return tl::unexpected(end.error());
  auto done = *std::exchange(group_, std::nullopt);
  if (!done.begin_sent) {
    note_position(*end, now);
    return {};
  }
  done.about.end = *end;
  out_.commit(done.about);
  ends_in_advance_ = false;
  passed_ = std::max(passed_, *end);
  return {};
}

result<void> stream_core::roll_back_group(clock::time_point now) {
  if (!group_ || !group_->begin_sent)
    return group_ ? commit_group(now) : result<void>{};
  return fail(
      errc::source_misconfigured,
      "{}: a transaction that changed {} was logged whole and rolled back behind it (it also "
      "changed a temporary table, or one without transactions), which cannot be followed: "
      "load the tables anew (run --fresh-start-and-load)",
      where(), group_->table);
}

result<void> stream_core::on_prepare(clock::time_point now) {
  const auto read = decode_xa_prepare(*inner_);
  if (!read)
    return tl::unexpected(read.error());
  if (read->is_one_phase || !group_ || !group_->begin_sent)
    return commit_group(now);
  return fail(errc::source_misconfigured,
              "{}: an XA transaction that changed {} was prepared, to be committed later, which "
              "cannot be followed: XA COMMIT … ONE PHASE can; load the tables anew (run "
              "--fresh-start-and-load)",
              where(), group_->table);
}

// -- statements -----------------------------------------------------------------------------------

result<stream_core::fed> stream_core::on_query(clock::time_point now) {
  const auto said = decode_query(*inner_);
  if (!said)
    return tl::unexpected(said.error());
  const auto done = [](result<void>&& out) { return out.map([] { return fed::taken; }); };
  if (said->text == "BEGIN") [[likely]] {
    if (group_)
      group_->is_begun = true;
    return fed::taken;
  }
  if (said->text == "COMMIT")
    return done(commit_group(now));
  const auto read =
      read_statement(said->text, said->schema, (said->sql_mode.value_or(0) & ansi_quotes) != 0);
  using kind = statement::kind;
  switch (read.what) {
    case kind::begin:
    case kind::xa_start:
      if (group_)
        group_->is_begun = true;
      return fed::taken;
    case kind::commit:
      return done(commit_group(now));
    case kind::rollback:
      return done(roll_back_group(now));
    case kind::change_rows:
      if (auto refused = refuse_change(read); !refused)
        return tl::unexpected(refused.error());
      break;
    case kind::truncate:
      if (said->error_code == 0)
        if (auto held = on_truncation(read, now); !held || *held != fed::taken)
          return held;
      break;
    case kind::create:
    case kind::alter:
    case kind::drop:
    case kind::rename:
    case kind::drop_schema:
    case kind::partition:
      if (said->error_code == 0)
        if (auto held = on_definition(read, now); !held || *held != fed::taken)
          return held;
      break;
    case kind::other:
    case kind::xa_commit:
    case kind::xa_rollback:
      break;
  }
  // Outside BEGIN and COMMIT a statement is a transaction of its own.
  if (group_ && !group_->is_begun)
    return done(commit_group(now));
  return fed::taken;
}

result<void> stream_core::refuse_change(const statement& said) const {
  for (const auto& table : said.tables)
    if (tables_.takes(table))
      return fail(
          errc::source_misconfigured,
          "{}: a change of {} is in the log as a statement and not by its rows: SET GLOBAL "
          "binlog_format = ROW, end the sessions that have another, and load the table anew "
          "(run --fresh-start-and-load)",
          where(), to_string(table));
  return {};
}

result<stream_core::fed> stream_core::on_truncation(const statement& said, clock::time_point) {
  const auto& table = said.tables.front();
  if (!tables_.takes(table) || !group_)
    return fed::taken;
  const auto shape = tables_.shape_of(table);
  if (!shape) {
    tables_.want(table);
    return fed::held;
  }
  open_transaction();
  out_.truncate(shape);
  return fed::taken;
}

result<stream_core::fed> stream_core::on_definition(const statement& said, clock::time_point now) {
  using kind = statement::kind;
  // A table that is made stands empty: what the target has under its name is another's.
  if (said.what == kind::create && tables_.takes(said.tables.front()) &&
      tables_.shape_of(said.tables.front()))
    if (auto emptied = on_truncation(said, now); !emptied || *emptied != fed::taken)
      return emptied;
  for (const auto& table : said.tables) {
    if (table.name.empty() || !tables_.takes(table))
      continue;
    tables_.changed(table);
    const auto name = to_string(table);
    if (said.what == kind::drop)
      news_.push_back(fmt::format("{} was dropped ({}): the targets keep its rows", name, where()));
    if (said.what == kind::rename)
      news_.push_back(fmt::format("{} was renamed, or another table to it ({}): the targets keep "
                                  "the rows they have under its name",
                                  name, where()));
    if (said.what == kind::partition)
      news_.push_back(fmt::format("a partition of {} was dropped, emptied or exchanged ({}): its "
                                  "rows are not in the log, the targets keep what they have until "
                                  "the table is loaded anew",
                                  name, where()));
  }
  return fed::taken;
}

// -- rows -----------------------------------------------------------------------------------------

result<stream_core::fed> stream_core::on_rows() {
  if (!rows_) {
    auto opened = row_event::open(*inner_);
    if (!opened)
      return tl::unexpected(opened.error());
    rows_.emplace(*std::move(opened));
  }
  auto* table = tables_.find(rows_->table());
  if (!table) {
    rows_.reset();
    return fail(errc::malformed_message, "rows of a table that was not described");
  }
  if (!table->rows) {
    rows_.reset();
    return fed::taken;
  }
  if (!group_)
    return fail(errc::malformed_message, "rows outside a transaction");
  if (!rows_->done() && !group_->begin_sent) {
    group_->table = to_string(table->rows->shape()->table);
    open_transaction();
  }
  while (!rows_->done()) {
    if (out_.full())
      return fed::full;
    if (auto added = rows_->append_next(*table->rows, out_); !added)
      return tl::unexpected(added.error());
  }
  rows_.reset();
  return fed::taken;
}

// -- positions ------------------------------------------------------------------------------------

void stream_core::open_transaction() {
  if (group_->begin_sent) [[likely]]
    return;
  out_.begin(group_->about);
  group_->begin_sent = true;
  ends_in_advance_ = false;
}

void stream_core::note_position(position at, clock::time_point now) {
  if (at <= passed_)
    return;
  pending_ = std::max(pending_.value_or(at), at);
  if (now - advanced_at_ < options_.advance_interval)
    return;
  advanced_at_ = now;
  advance(*pending_);
}

void stream_core::advance(position to) {
  if (ends_in_advance_)
    out_.roll_back();
  out_.advance(to);
  ends_in_advance_ = true;
  passed_ = std::max(passed_, to);
  pending_.reset();
}

void stream_core::pass_on(clock::time_point now) {
  if (!pending_ || group_ || now - advanced_at_ < options_.advance_interval)
    return;
  advanced_at_ = now;
  advance(*pending_);
}

clock::time_point stream_core::advance_due() const noexcept {
  return pending_ && !group_ ? advanced_at_ + options_.advance_interval : clock::time_point::max();
}

block_ptr stream_core::take_block() {
  if (out_.empty())
    return nullptr;
  ends_in_advance_ = false;
  return out_.take();
}

std::optional<std::string> stream_core::take_news() {
  if (news_.empty())
    return std::nullopt;
  auto out = std::move(news_.front());
  news_.erase(news_.begin());
  return out;
}

} // namespace cdc::sources::mysql
