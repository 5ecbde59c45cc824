#include "sinks/search/batch_run.hpp"

#include <algorithm>
#include <utility>

#include "messages/json.hpp"
#include "sinks/search/exchange.hpp"

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

} // namespace

document_writer* writing::writer_of(const target_table_ptr& table) {
  auto& made = writers[table.get()];
  if (!made)
    made = std::make_unique<document_writer>(table);
  return made.get();
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
  plan_->found(std::move(*found));
  write_segment();
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
    return next_segment();
  std::size_t bytes = 0;
  const auto sent = slice_end(bytes);
  http::request ask;
  ask.method = "POST";
  ask.target = bulk_path;
  if (with_.require_alias)
    ask.target += "&require_alias=true";
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
  with_.over.send(std::move(ask),
                  [self = shared_from_this(), sent, bytes](result<http::response> said) {
                    self->on_bulk(sent, bytes, std::move(said));
                  });
}

void batch_run::on_bulk(std::size_t sent, std::size_t bytes, result<http::response> said) {
  if (!said)
    return fail_with(std::move(said).error());
  if (said->status < 300) {
    const auto items = read_bulk_answer(said->body, sent);
    // Nobody knows what was written; the versions make it harmless to write it again.
    if (!items) {
      wait_again(verdict::again, items.error(), [this] { send_bulk(); });
      return;
    }
    return on_items(sent, *items);
  }
  const auto answer = read_error(said->status, said->body);
  const auto what = judge(answer);
  if (what == verdict::too_large && sent == 1) {
    refuse(items_[left_.front()], answer);
    left_.erase(left_.begin());
    return failed_ ? void() : send_bulk();
  }
  if (what == verdict::too_large) {
    with_.pace.too_large(bytes);
    return send_bulk();
  }
  if (what == verdict::halted || what == verdict::refused)
    return fail_with(error_of(answer, "POST /_bulk"));
  wait_again(what, error_of(answer, "POST /_bulk"), [this] { send_bulk(); });
}

void batch_run::on_items(std::size_t sent, const std::vector<item_answer>& items) {
  std::vector<std::uint32_t> again;
  std::optional<std::pair<verdict, item_answer>> worst;
  for (std::size_t i = 0; i < sent; ++i) {
    const auto& item = items_[left_[i]];
    const auto what = judge_item(items[i], item.is_delete);
    if (what == verdict::done)
      continue;
    if (what == verdict::halted)
      return fail_with(error_of(items[i], with_.to.all[plan_->keys().place(item.key)].index));
    if (what == verdict::refused) {
      refuse(item, items[i]);
      if (failed_)
        return;
      continue;
    }
    again.push_back(left_[i]);
    if (!worst || what == verdict::blocked)
      worst = {what, items[i]};
  }
  again.insert(again.end(), left_.begin() + static_cast<std::ptrdiff_t>(sent), left_.end());
  const auto is_progress = again.size() < left_.size();
  left_ = std::move(again);
  if (is_progress)
    wait_.reset();
  if (!worst) {
    with_.pace.succeeded();
    return send_bulk();
  }
  const auto where = with_.to.all[plan_->keys().place(items_[left_.front()].key)].index;
  wait_again(worst->first, error_of(worst->second, where), [this] { send_bulk(); });
}

void batch_run::refuse(const bulk_item& item, const item_answer& answer) {
  const auto& index = with_.to.all[plan_->keys().place(item.key)].index;
  fail_with({errc::row_refused, fmt::format("index {}, document {}: {}", index,
                                            plan_->keys().id(item.key), to_string(answer))});
}

// -- what may have to be done again ---------------------------------------------------------------

void batch_run::insist(std::string_view method, std::string target,
                       const std::shared_ptr<const std::string>& body,
                       std::function<void(const http::response&)> then) {
  http::request ask{.method = method, .target = target, .body = *body, .owner = body};
  with_.over.send(std::move(ask), [self = shared_from_this(), method, target = std::move(target),
                                   body, then = std::move(then)](result<http::response> said) {
    if (!said)
      return self->fail_with(std::move(said).error());
    if (said->status < 300)
      return then(*said);
    const auto answer = read_error(said->status, said->body);
    const auto what = judge(answer);
    const auto why = error_of(answer, fmt::format("{} {}", method, target));
    if (what == verdict::halted || what == verdict::refused || what == verdict::too_large)
      return self->fail_with(why);
    self->wait_again(what, why, [self, method, target, body, then] {
      self->insist(method, target, body, then);
    });
  });
}

bool batch_run::wait_again(verdict why, const error& last, std::function<void()> then) {
  if (why == verdict::busy)
    with_.pace.slow_down();
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
  if (truncation().version != 0)
    return next_segment();
  // Tombstones go with a refresh, once the node's clock has moved on from them.
  with_.over.after(tombstone_time, [self = shared_from_this()] {
    self->refresh([self] { self->set_gc_deletes("null", [self] { self->next_segment(); }); });
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
      if (what == verdict::halted || what == verdict::refused)
        return fail_with(error_of(each, "a truncate"));
      if (what != verdict::done)
        return void(wait_again(what, error_of(each, "a truncate"),
                               [=, this] { remove_page(body, documents); }));
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
