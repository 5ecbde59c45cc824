#include "sinks/search/batch_run.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "messages/json.hpp"
#include "sinks/search/exchange.hpp"
#include "sinks/search/state_document.hpp"

namespace cdc::sinks::search {

namespace {

constexpr std::string_view lines = "application/x-ndjson";
// Only of what failed does the answer say more than a status.
constexpr auto bulk_path =
    "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason";
// What a pipeline's own retries are for, a restart with them; a target that only has much to do
// gets some minutes here.
constexpr unsigned tries_max = 12;
constexpr std::chrono::milliseconds tombstone_time{1000};

/// Of the verdicts on the items of one request, which one decides what comes next.
int rank(verdict what) noexcept {
  switch (what) {
    case verdict::halted:
      return 4;
    case verdict::missing:
      return 3;
    case verdict::blocked:
      return 2;
    case verdict::busy:
      return 1;
    case verdict::again:
    case verdict::done:
    case verdict::too_large:
    case verdict::refused:
      return 0;
  }
  return 0;
}

// What a version is made of: engine/batcher.hpp.
constexpr unsigned version_bits = 12;

std::int64_t epoch_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

document_writer* writing::writer_of(const target_table_ptr& table) {
  auto& made = writers[table.get()];
  if (!made)
    made = std::make_unique<document_writer>(table);
  return made.get();
}

std::chrono::steady_clock::time_point writing::opened() {
  const auto now = std::chrono::steady_clock::now();
  open.insert(now);
  show_open();
  return now;
}

void writing::closed(std::chrono::steady_clock::time_point since, write_result how) {
  open.erase(open.find(since));
  show_open();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  shown->latency[static_cast<std::size_t>(how)].observe(took.count());
}

void writing::show_open() const {
  shown->open = static_cast<std::uint32_t>(open.size());
  shown->oldest_open = open.empty() ? 0 : open.begin()->time_since_epoch().count();
}

void writing::show_pace() const {
  shown->requests_now = static_cast<std::uint32_t>(pace.requests());
  shown->requests_max = static_cast<std::uint32_t>(pace.requests_max());
  shown->items_now = pace.items();
  shown->items_max = pace.items_max();
  shown->bytes_now = pace.bytes();
  shown->bytes_max = pace.bytes_max();
  shown->quarantined = quarantine.size();
}

batch_run::batch_run(writing& with, batch_ptr work, completion done)
    : with_(with), work_(std::move(work)), done_(std::move(done)) {
  report_.batch = work_->number;
  divide();
  // Its keys are compared with those of the batches before.
  if (!segments_.empty())
    plan_segment();
}

/// A truncate stands alone, and so does what follows a change of a table's shape.
void batch_run::divide() {
  std::map<std::string_view, std::uint16_t> shapes;
  for (std::size_t i = 0; i < work_->changes.size(); ++i) {
    const auto& it = work_->changes[i];
    if (it.what == action::truncate) {
      segments_.push_back({i, i + 1, true});
      shapes.clear();
      continue;
    }
    const auto [known, is_new] = shapes.try_emplace(work_->tables[it.table]->name, it.table);
    const auto is_reshaped = !is_new && known->second != it.table;
    if (is_reshaped) {
      shapes.clear();
      shapes.emplace(work_->tables[it.table]->name, it.table);
    }
    if (segments_.empty() || segments_.back().is_truncate || is_reshaped)
      segments_.push_back({i, i, false});
    segments_.back().last = i + 1;
  }
  is_alone_ = segments_.size() > 1 || (segments_.size() == 1 && segments_.front().is_truncate);
}

bool batch_run::meets(const batch_run& other) const noexcept {
  return plan_ && other.plan_ && plan_->keys().meets(other.plan_->keys());
}

// -- segments -------------------------------------------------------------------------------------

void batch_run::plan_segment() {
  const auto& of = segments_[at_];
  if (of.is_truncate)
    return plan_.reset();
  std::vector<document_writer*> writers;
  std::vector<std::uint16_t> to;
  for (const auto& table : work_->tables) {
    writers.push_back(with_.writer_of(table));
    to.push_back(with_.to.of(*table));
  }
  plan_ = std::make_unique<work_plan>(*work_, of.first, of.last, std::move(writers), std::move(to));
}

void batch_run::start(std::function<void()> over) {
  over_ = std::move(over);
  if (segments_.empty())
    return finish();
  begin_segment();
}

void batch_run::next_segment() {
  if (++at_ == segments_.size())
    return finish();
  plan_segment();
  begin_segment();
}

void batch_run::begin_segment() {
  if (segments_[at_].is_truncate)
    return truncate();
  if (plan_->wants().empty())
    return write_segment();
  read_documents();
}

void batch_run::read_documents() {
  std::string body;
  json::writer to{body};
  to.begin_object().key("docs").begin_array();
  for (const auto key : plan_->wants())
    to.begin_object()
        .member("_index", with_.to.all[plan_->keys().place(key)].index)
        .member("_id", plan_->keys().id(key))
        .end_object();
  to.end_array().end_object();
  insist("POST", "/_mget", std::make_shared<const std::string>(std::move(body)),
         [this](const http::response& said) { on_documents(said); });
}

void batch_run::on_documents(const http::response& said) {
  auto found = search::read_documents(said.body, plan_->wants().size());
  if (!found) {
    wait_again(verdict::again, found.error(), [this] { read_documents(); });
    return;
  }
  wait_.reset();
  if (!with_.quarantine.empty())
    for (std::size_t i = 0; i < found->size(); ++i)
      drop_overtaken(plan_->wants()[i], (*found)[i]);
  plan_->found(std::move(*found));
  write_segment();
}

/// What was refused is newer than what is there, so that no change can be completed from it.
void batch_run::drop_overtaken(std::uint32_t key, found_document& found) const {
  if (found.is_there &&
      with_.quarantine.is_overtaken(index_of(key), plan_->keys().id(key), found.version))
    found.is_there = false;
}

void batch_run::write_segment() {
  plan_->resolve(report_.answers);
  body_ = std::make_shared<json_writer>();
  items_.clear();
  plan_->write(with_.to, *body_, items_);
  left_.clear();
  for (std::uint32_t i = 0; i < items_.size(); ++i)
    left_.push_back(i);
  send_bulk();
}

// -- bulk requests --------------------------------------------------------------------------------

std::size_t batch_run::end_of(std::size_t item) const noexcept {
  return item + 1 < items_.size() ? items_[item + 1].begin : body_->size();
}

/// How many of what is left go into the next request; at least one.
std::size_t batch_run::slice_end(std::size_t& bytes) const {
  std::size_t count = 0;
  bytes = 0;
  while (count < left_.size() && count < with_.pace.items()) {
    const auto size = end_of(left_[count]) - items_[left_[count]].begin;
    if (count > 0 && bytes + size > with_.pace.bytes())
      break;
    bytes += size;
    ++count;
  }
  return count;
}

void batch_run::send_bulk() {
  if (left_.empty())
    return settle_refused();
  std::size_t bytes = 0;
  const auto sent = slice_end(bytes);
  http::request ask;
  ask.method = "POST";
  ask.target = bulk_path;
  ask.content_type = lines;
  const auto is_in_one_piece = left_[sent - 1] - left_[0] + 1 == sent;
  if (is_in_one_piece) {
    ask.body = body_->text().substr(items_[left_[0]].begin, bytes);
    ask.owner = body_;
  } else {
    auto copy = std::make_shared<json_writer>();
    for (std::size_t i = 0; i < sent; ++i) {
      const auto begin = items_[left_[i]].begin;
      copy->raw(body_->text().substr(begin, end_of(left_[i]) - begin));
    }
    ask.body = copy->text();
    ask.owner = copy;
  }
  with_.over.send(std::move(ask), [self = shared_from_this(), sent, bytes,
                                   since = with_.opened()](result<http::response> said) {
    self->on_bulk(sent, bytes, since, std::move(said));
  });
}

void batch_run::on_bulk(std::size_t sent, std::size_t bytes,
                        std::chrono::steady_clock::time_point since, result<http::response> said) {
  if (said && said->status < 300) {
    const auto items = read_bulk_answer(said->body, sent);
    if (items) {
      with_.closed(since, on_items(sent, bytes, *items));
      with_.show_pace();
      return go_on();
    }
    // Nobody knows what was written; the versions make it harmless to write it again.
    with_.closed(since, write_result::failed);
    wait_again(verdict::again, items.error(), [this] { send_bulk(); });
    return;
  }
  with_.closed(since, write_result::failed);
  if (!said)
    return fail_with(std::move(said).error());
  const auto answer = read_error(said->status, said->body);
  const auto what = judge(answer);
  if (what == verdict::too_large && sent == 1) {
    refuse(left_.front(), answer);
    left_.erase(left_.begin());
    return failed_ ? finish() : send_bulk();
  }
  if (what == verdict::too_large) {
    with_.pace.too_large(bytes);
    with_.show_pace();
    return send_bulk();
  }
  if (what == verdict::halted || what == verdict::refused)
    return fail_with(error_of(answer, "POST /_bulk"));
  wait_again(what, answer, "POST /_bulk", [this] { send_bulk(); });
}

write_result batch_run::on_items(std::size_t sent, std::size_t bytes,
                                 const std::vector<item_answer>& items) {
  std::vector<std::uint32_t> again;
  std::size_t taken = 0;
  worst_.reset();
  for (std::size_t i = 0; i < sent; ++i) {
    const auto& item = items_[left_[i]];
    const auto what = judge_item(items[i], item.is_delete);
    if (what == verdict::done) {
      ++taken;
      if (!with_.quarantine.empty())
        note_written(item);
      continue;
    }
    if (what == verdict::refused) {
      refuse(left_[i], items[i]);
      continue;
    }
    again.push_back(left_[i]);
    if (!worst_ || rank(what) > rank(worst_->first))
      worst_ = {what, items[i]};
  }
  with_.shown->documents += taken;
  with_.shown->retried += again.size();
  if (taken > 0)
    with_.shown->bytes += bytes;
  again.insert(again.end(), left_.begin() + static_cast<std::ptrdiff_t>(sent), left_.end());
  if (again.size() < left_.size())
    wait_.reset();
  left_ = std::move(again);
  return taken == sent ? write_result::taken
         : taken > 0   ? write_result::partly
                       : write_result::failed;
}

/// After a bulk answer.
void batch_run::go_on() {
  if (failed_)
    return finish();
  if (!worst_) {
    with_.shown->waits({});
    with_.pace.succeeded();
    return send_bulk();
  }
  const auto& [what, answer] = *worst_;
  const auto where = fmt::format("index {}", index_of(items_[left_.front()].key));
  if (what == verdict::halted || what == verdict::missing)
    return fail_with(error_of(answer, where));
  wait_again(what, answer, where, [this] { send_bulk(); });
}

std::string_view batch_run::index_of(std::uint32_t key) const {
  return with_.to.all[plan_->keys().place(key)].index;
}

void batch_run::refuse(std::uint32_t item, const item_answer& answer) {
  if (with_.quarantine.is_on())
    return refused_.push_back({item, to_string(answer)});
  if (failed_)
    return;
  const auto key = items_[item].key;
  failed_ = {errc::row_refused,
             fmt::format("index {}, document {}: {}; change the mapping or the row, or put such "
                         "documents aside with on_permanent_rejection = \"quarantine\"",
                         index_of(key), plan_->keys().id(key), to_string(answer))};
}

// -- refused documents ----------------------------------------------------------------------------

void batch_run::note_written(const bulk_item& item) {
  const auto id = plan_->keys().id(item.key);
  const auto* known = with_.quarantine.find(index_of(item.key), id);
  if (known != nullptr && known->version <= plan_->version(item.key))
    outdated_.push_back({std::string{index_of(item.key)}, std::string{id}});
}

/// Before the batch counts as written.
void batch_run::settle_refused() {
  if (refused_.empty())
    return forget_next([this] { next_segment(); });
  std::size_t more = 0;
  for (const auto& each : refused_) {
    const auto key = items_[each.item].key;
    more += with_.quarantine.find(index_of(key), plan_->keys().id(key)) == nullptr ? 1 : 0;
  }
  if (more == 0 || with_.quarantine.size() + more <= with_.quarantine.most())
    return put_aside_next(true);
  // Some may have been replayed, or removed by hand.
  insist("POST", fmt::format("/{}/_refresh", rejects_index), std::make_shared<const std::string>(),
         [this, more](const http::response&) {
           insist("GET", fmt::format("/{}/_count", rejects_index),
                  std::make_shared<const std::string>(), [this, more](const http::response& said) {
                    const auto held = read_count(said.body);
                    if (held && *held + more <= with_.quarantine.most())
                      return put_aside_next(true);
                    const auto& first = refused_.front();
                    const auto key = items_[first.item].key;
                    fail_with({errc::row_refused,
                               fmt::format("index {}, document {}: {}; and max_rejects = {} "
                                           "documents are put aside already: look at them with "
                                           "`cdc-actors rejects`",
                                           index_of(key), plan_->keys().id(key), first.reason,
                                           with_.quarantine.most())});
                  });
         });
}

reject_record batch_run::record_of(const refused_item& it, bool with_document) const {
  const auto& item = items_[it.item];
  const auto id = plan_->keys().id(item.key);
  reject_record out;
  out.id = with_.quarantine.id_for(index_of(item.key), id);
  out.version = plan_->version(item.key);
  out.what.index = index_of(item.key);
  out.what.document = id;
  out.what.reason = it.reason;
  out.what.position = spelled({out.version >> version_bits}, with_.source);
  out.what.action = item.is_delete ? "delete" : "index";
  out.what.at = epoch_seconds();
  out.pipeline = item.is_delete ? "" : with_.to.all[plan_->keys().place(item.key)].pipeline;
  if (!with_document || item.is_delete)
    return out;
  const auto whole = body_->text().substr(item.begin, end_of(it.item) - item.begin);
  const auto line = whole.find('\n') + 1;
  out.document = whole.substr(line, whole.size() - line - 1);
  return out;
}

/// The last of refused_. One that is too large, or too strange, is kept without its document.
void batch_run::put_aside_next(bool with_document) {
  const auto record = record_of(refused_.back(), with_document);
  insist(
      "PUT", reject_path(record.id), std::make_shared<const std::string>(to_json(record)),
      [this](const http::response&) { on_put_aside(); },
      [this, with_document](const item_answer& answer) {
        if (with_document)
          return put_aside_next(false);
        fail_with({errc::row_refused, fmt::format("a document could not be put aside in {}: {}",
                                                  rejects_index, to_string(answer))});
      });
}

void batch_run::on_put_aside() {
  const auto& it = refused_.back();
  const auto key = items_[it.item].key;
  const auto id = plan_->keys().id(key);
  with_.quarantine.add(index_of(key), id,
                       {with_.quarantine.id_for(index_of(key), id), plan_->version(key)});
  with_.show_pace();
  report_.refused.push_back(
      {.number = plan_->change_number(key),
       .reason = fmt::format("index {}, document {}: {}", index_of(key), id, it.reason),
       .is_quarantined = true});
  refused_.pop_back();
  refused_.empty() ? forget_next([this] { next_segment(); }) : put_aside_next(true);
}

void batch_run::forget_next(std::function<void()> then) {
  if (outdated_.empty())
    return then();
  const auto it = outdated_.back();
  outdated_.pop_back();
  const auto* known = with_.quarantine.find(it.index, it.id);
  if (known == nullptr)
    return forget_next(std::move(then));
  const auto gone = [this, it, then](const auto&) {
    with_.quarantine.erase(it.index, it.id);
    with_.show_pace();
    forget_next(then);
  };
  insist("DELETE", reject_path(known->id), std::make_shared<const std::string>(), gone, gone);
}

// -- what may have to be done again ---------------------------------------------------------------

void batch_run::insist(std::string_view method, std::string target,
                       const std::shared_ptr<const std::string>& body,
                       std::function<void(const http::response&)> then) {
  insist(method, std::move(target), body, std::move(then), {});
}

void batch_run::insist(std::string_view method, std::string target,
                       const std::shared_ptr<const std::string>& body,
                       std::function<void(const http::response&)> then,
                       std::function<void(const item_answer&)> otherwise) {
  http::request ask{.method = method, .target = target, .body = *body, .owner = body};
  with_.over.send(std::move(ask), [self = shared_from_this(), method, target = std::move(target),
                                   body, then = std::move(then),
                                   otherwise = std::move(otherwise)](result<http::response> said) {
    if (!said)
      return self->fail_with(std::move(said).error());
    if (said->status < 300)
      return then(*said);
    const auto answer = read_error(said->status, said->body);
    const auto what = judge(answer);
    const auto why = error_of(answer, fmt::format("{} {}", method, target));
    if (otherwise && (what == verdict::refused || what == verdict::too_large))
      return otherwise(answer);
    if (what == verdict::halted || what == verdict::refused || what == verdict::too_large)
      return self->fail_with(why);
    ++self->with_.shown->retried;
    const auto where = fmt::format("{} {}", method, target);
    self->wait_again(what, answer, where, [self, method, target, body, then, otherwise] {
      self->insist(method, target, body, then, otherwise);
    });
  });
}

bool batch_run::wait_again(verdict why, const item_answer& last, const std::string& where,
                           std::function<void()> then) {
  with_.shown->waits(waiting_for(last, where));
  return wait_again(why, error_of(last, where), std::move(then));
}

bool batch_run::wait_again(verdict why, const error& last, std::function<void()> then) {
  if (why == verdict::busy)
    with_.pace.slow_down();
  with_.show_pace();
  // A block ends by itself, or by a person's hand: there is no use in giving up.
  if (why != verdict::blocked && wait_.count() >= tries_max) {
    fail_with({errc::target_unavailable, last.detail});
    return false;
  }
  with_.over.after(wait_.next(), [self = shared_from_this(), then = std::move(then)] { then(); });
  return true;
}

void batch_run::fail_with(error why) {
  failed_ = std::move(why);
  finish();
}

void batch_run::finish() {
  is_finished_ = true;
  // Not from inside start(): who starts it must not find itself called.
  with_.over.run([self = shared_from_this()] { self->over_(); });
}

// -- truncate -------------------------------------------------------------------------------------

const change& batch_run::truncation() const {
  return work_->changes[segments_[at_].first];
}

std::string batch_run::truncated(std::string_view action) const {
  return fmt::format("/{}/{}", in_path(work_->tables[truncation().table]->name), action);
}

// A truncate of the log has a version, and what is newer stays. The one with which a stream begins
// anew has none: versions may then start lower than what was here, so that no tombstone may be
// left.
void batch_run::truncate() {
  if (truncation().version == 0)
    return set_gc_deletes(R"("0s")", [this] { open_scroll(); });
  open_scroll();
}

void batch_run::set_gc_deletes(std::string_view value, std::function<void()> then) {
  insist("PUT", truncated("_settings"),
         std::make_shared<const std::string>(fmt::format(R"({{"index.gc_deletes":{}}})", value)),
         [then = std::move(then)](const http::response&) { then(); });
}

// A scroll sees the index as it is, and nothing is written meanwhile.
void batch_run::open_scroll() {
  refresh([this] {
    insist("POST", truncated("_search?scroll=5m"),
           std::make_shared<const std::string>(
               R"({"size":1000,"sort":["_doc"],"_source":false,"version":true})"),
           [this](const http::response& said) { on_page(said); });
  });
}

void batch_run::refresh(std::function<void()> then) {
  insist("POST", truncated("_refresh"), std::make_shared<const std::string>(),
         [then = std::move(then)](const http::response&) { then(); });
}

void batch_run::end_truncate() {
  const auto& it = truncation();
  const auto& index = work_->tables[it.table]->name;
  constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  for (auto& id : with_.quarantine.documents_of(index, it.version == 0 ? all : it.version))
    outdated_.push_back({index, std::move(id)});
  if (it.version != 0)
    return forget_next([this] { next_segment(); });
  // Tombstones go with a refresh, once the node's clock has moved on from them.
  with_.over.after(tombstone_time, [self = shared_from_this()] {
    self->refresh([self] {
      self->set_gc_deletes("null", [self] { self->forget_next([self] { self->next_segment(); }); });
    });
  });
}

void batch_run::on_page(const http::response& said) {
  const auto& it = truncation();
  const auto page = read_page(said.body);
  if (!page)
    return fail_with({errc::target_unavailable, page.error().detail});
  scroll_ = page->scroll;
  std::string end;
  json::writer{end}.begin_object().member("scroll_id", scroll_).end_object();
  if (page->documents.empty())
    return insist("DELETE", "/_search/scroll", std::make_shared<const std::string>(end),
                  [this](const http::response&) { end_truncate(); });
  auto body = std::make_shared<std::string>();
  for (const auto& each : page->documents) {
    json::writer to{*body};
    to.begin_object().key("delete").begin_object().member("_index", each.index);
    to.member("_id", each.id).member("version_type", "external_gte");
    to.member("version", it.version == 0 ? each.version : it.version).end_object().end_object();
    *body += '\n';
  }
  remove_page(body, page->documents.size());
}

void batch_run::remove_page(const std::shared_ptr<const std::string>& body, std::size_t documents) {
  const auto then = [this, body, documents](const http::response& said) {
    const auto items = read_bulk_answer(said.body, documents);
    if (!items)
      return void(
          wait_again(verdict::again, items.error(), [=, this] { remove_page(body, documents); }));
    for (const auto& each : *items) {
      const auto what = judge_item(each, true);
      if (what == verdict::halted || what == verdict::refused || what == verdict::missing)
        return fail_with(error_of(each, "a truncate"));
      if (what != verdict::done)
        return void(
            wait_again(what, each, "a truncate", [=, this] { remove_page(body, documents); }));
    }
    wait_.reset();
    next_page();
  };
  insist("POST", bulk_path, body, then);
}

void batch_run::next_page() {
  std::string more;
  json::writer{more}
      .begin_object()
      .member("scroll", "5m")
      .member("scroll_id", scroll_)
      .end_object();
  insist("POST", "/_search/scroll", std::make_shared<const std::string>(more),
         [this](const http::response& next) { on_page(next); });
}

} // namespace cdc::sinks::search
