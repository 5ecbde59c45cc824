#include "sources/postgres/stream_core.hpp"

#include <algorithm>
#include <utility>

#include "sources/postgres/lsn.hpp"
#include "sources/postgres/pgoutput_rows.hpp"

namespace cdc::sources::postgres {

namespace {

result<void> check_range(position at) {
  if (at < position_limit) [[likely]]
    return {};
  return fail(errc::source_misconfigured, "the server's log is at {}, beyond {}", to_lsn(at),
              to_lsn(position_limit));
}

tl::unexpected<error> out_of_place(message_type type, const char* where) {
  return fail(errc::malformed_message, "pgoutput {}: came {} a transaction", to_string(type),
              where);
}

tl::unexpected<error> never_described(message_type type, std::uint32_t oid) {
  return fail(errc::malformed_message, "pgoutput {}: relation {} was never described",
              to_string(type), oid);
}

tl::unexpected<error> identity_lost(message_type type, const relation& shape) {
  return fail(errc::identity_missing,
              "{}: an {} does not say which row it is about, since the replica identity was lost; "
              "run {}, then load the table again",
              to_string(shape.table), to_string(type), identity_remedy(shape));
}

} // namespace

stream_core::stream_core(position resume, stream_options options)
    : out_(pool_, options.limits), options_(options), feedback_(resume, options.feedback),
      passed_(resume) {
  // nop
}

// -- the walsender's messages ---------------------------------------------------------------------

result<stream_core::fed> stream_core::feed(bytes message, clock::time_point now) {
  const auto got = decode_frame(message);
  if (!got)
    return tl::unexpected(got.error());
  feedback_.heard(now);
  if (got->what == frame::type::data) [[likely]]
    return feed_data(got->payload, now);
  return on_keepalive(*got, now).map([] { return fed::taken; });
}

result<void> stream_core::on_keepalive(const frame& keepalive, clock::time_point now) {
  if (keepalive.wants_reply)
    feedback_.server_asks();
  if (auto good = check_range(keepalive.log_end); !good)
    return good;
  // Inside a transaction it says how far the server has read, not how far it has sent: an answer
  // that comes there is none.
  if (open_) {
    ask_again_ = answer_due_;
    return {};
  }
  if (std::exchange(answer_due_, false))
    advance(std::max(keepalive.log_end, passed_));
  else
    note_position(keepalive.log_end, now);
  return {};
}

// -- pgoutput's messages --------------------------------------------------------------------------

result<stream_core::fed> stream_core::feed_data(bytes message, clock::time_point now) {
  const auto type = type_of(message);
  if (!type)
    return fail(errc::malformed_message,
                "pgoutput: message of {} bytes and type {:#04x} is none of protocol version 1",
                message.size(), message.empty() ? 0 : std::to_integer<int>(message.front()));
  const auto taken = [](result<void> done) { return done.map([] { return fed::taken; }); };
  switch (*type) {
    case message_type::insert:
    case message_type::update:
    case message_type::remove:
      return on_row(*type, message);
    case message_type::begin:
      return taken(on_begin(message));
    case message_type::commit:
      return taken(on_commit(message, now));
    case message_type::truncate:
      return on_truncate(message);
    case message_type::relation:
      return taken(on_relation(message));
    case message_type::message:
      return taken(on_logical_message(message));
    // Read for their form alone: types are looked up by OID, and origins are all the same to us.
    case message_type::origin:
      return decode_origin(message).map([](const auto&) { return fed::taken; });
    case message_type::type:
      return decode_type(message).map([](const auto&) { return fed::taken; });
  }
  return fed::taken;
}

result<stream_core::fed> stream_core::on_row(message_type type, bytes message) {
  const auto oid = relation_of(message);
  const auto* known = relations_.find(oid);
  if (!open_)
    return out_of_place(type, "outside");
  if (!known)
    return never_described(type, oid);
  if (!known->shape) {
    relations_.want(oid);
    held_ = oid;
    return fed::held;
  }
  if (type != message_type::insert && !known->names_rows)
    return identity_lost(type, *known->shape);
  open_transaction();
  auto done = type == message_type::insert   ? append_insert(out_, known->shape, message)
              : type == message_type::update ? append_update(out_, known->shape, message)
                                             : append_remove(out_, known->shape, message);
  if (!done)
    return tl::unexpected(std::move(done.error()));
  return fed::taken;
}

// All of its relations or none: an event that is in a block cannot be taken back when it is fed
// again.
result<stream_core::fed> stream_core::on_truncate(bytes message) {
  const auto truncated = decode_truncate(message);
  if (!truncated)
    return tl::unexpected(truncated.error());
  if (!open_)
    return out_of_place(message_type::truncate, "outside");
  for (const auto oid : truncated->relations) {
    const auto* known = relations_.find(oid);
    if (!known)
      return never_described(message_type::truncate, oid);
    if (known->shape)
      continue;
    relations_.want(oid);
    held_ = oid;
    return fed::held;
  }
  open_transaction();
  for (const auto oid : truncated->relations)
    out_.truncate(relations_.find(oid)->shape);
  return fed::taken;
}

result<void> stream_core::on_begin(bytes message) {
  const auto begun = decode_begin(message);
  if (!begun)
    return tl::unexpected(begun.error());
  if (open_)
    return out_of_place(message_type::begin, "inside");
  if (auto good = check_range(begun->final); !good)
    return good;
  // What is before this transaction can be said now, but not while it is open.
  if (pending_)
    advance(*pending_);
  open_ = transaction{
      .final = begun->final, .end = {}, .id = begun->xid, .commit_time = begun->commit_time};
  begin_sent_ = false;
  return {};
}

result<void> stream_core::on_commit(bytes message, clock::time_point now) {
  const auto committed = decode_commit(message);
  if (!committed)
    return tl::unexpected(committed.error());
  if (!open_)
    return out_of_place(message_type::commit, "outside");
  if (committed->final != open_->final || committed->end <= committed->final)
    return fail(errc::malformed_message,
                "pgoutput commit: {} to {} ends a transaction begun for {}",
                to_lsn(committed->final), to_lsn(committed->end), to_lsn(open_->final));
  if (auto good = check_range(committed->end); !good)
    return good;
  auto ended = *std::exchange(open_, std::nullopt);
  if (std::exchange(ask_again_, false))
    feedback_.ask();
  if (!begin_sent_) {
    note_position(committed->end, now);
    return {};
  }
  ended.end = committed->end;
  out_.commit(ended);
  ends_in_advance_ = false;
  passed_ = std::max(passed_, ended.end);
  return {};
}

result<void> stream_core::on_relation(bytes message) {
  const auto described = decode_relation(message);
  if (!described)
    return tl::unexpected(described.error());
  relations_.announce(*described);
  return {};
}

// One outside a transaction is sent where it stands in the log: everything that committed before it
// has been sent. One inside becomes true with its transaction, whose commit says as much.
result<void> stream_core::on_logical_message(bytes message) {
  const auto said = decode_message(message);
  if (!said)
    return tl::unexpected(said.error());
  if (auto good = check_range(said->at); !good)
    return good;
  if (!open_ && !said->is_transactional && said->at > passed_)
    advance(said->at);
  return {};
}

// -- positions ------------------------------------------------------------------------------------

void stream_core::open_transaction() {
  if (begin_sent_) [[likely]]
    return;
  out_.begin(*open_);
  begin_sent_ = true;
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

result<void> stream_core::fed_until(position until, bool at_end, clock::time_point now) {
  if (auto good = check_range(until); !good)
    return good;
  if (at_end && std::exchange(answer_due_, false))
    advance(std::max(until, passed_));
  else
    note_position(until, now);
  return {};
}

void stream_core::ask_for_position() noexcept {
  answer_due_ = true;
  feedback_.ask();
}

// -- the owner's side -----------------------------------------------------------------------------

bool stream_core::holding() {
  if (held_ == 0)
    return false;
  const auto* known = relations_.find(held_);
  if (known && !known->shape)
    return true;
  held_ = 0;
  return false;
}

void stream_core::pass_on(clock::time_point now) {
  if (!pending_ || open_ || now - advanced_at_ < options_.advance_interval)
    return;
  advanced_at_ = now;
  advance(*pending_);
}

result<std::optional<status_update>> stream_core::tick(clock::time_point now, bool reading) {
  pass_on(now);
  return feedback_.due(now, reading && !holding());
}

std::optional<status_update> stream_core::last_words() const noexcept {
  return feedback_.last_words();
}

clock::time_point stream_core::advance_due() const noexcept {
  return pending_ && !open_ ? advanced_at_ + options_.advance_interval : clock::time_point::max();
}

clock::time_point stream_core::deadline() const noexcept {
  return std::min(feedback_.deadline(), advance_due());
}

block_ptr stream_core::take_block() {
  if (out_.empty())
    return nullptr;
  ends_in_advance_ = false;
  feedback_.handed_out(passed_);
  return out_.take();
}

} // namespace cdc::sources::postgres
