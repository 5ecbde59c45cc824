#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "sinks/ndjson/standard_output_target.hpp"
#include "sinks/ndjson/stored_state.hpp"
#include "sinks/threaded_sink.hpp"
#include "tests/contract/sink_contract.hpp"
#include "tests/contract/sink_contract_ndjson.hpp"

namespace cdc::contract {

namespace {

class ndjson_lines : public ::testing::Test {
protected:
  void start(std::uint64_t rotate_bytes = 0) {
    sink_.reset();
    auto target = ndjson_config(file());
    target.rotate_bytes = rotate_bytes;
    sink_ = std::move(*sinks::make_sink(target));
    state_ = sink_->open(orders_stream());
  }

  void write(batch_ptr work) {
    const auto report = contract::write(*sink_, std::move(work));
    ASSERT_TRUE(report) << report.error().detail;
  }

  [[nodiscard]] std::string content(const std::string& behind = "") const {
    std::ostringstream out;
    out << std::ifstream(file().string() + behind).rdbuf();
    return out.str();
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "t.ndjson"; }

  const target_table_ptr items = items_table();
  scratch_folder folder_;
  batches next_;
  std::unique_ptr<sinks::sink> sink_;
  result<sink_state> state_;
};

constexpr const char* tail =
    R"(,"position":9,"commit_time":"2025-11-30T17:00:00.123456Z","xid":700})"
    "\n";
constexpr const char* copied = R"(,"position":null,"commit_time":null,"xid":null})"
                               "\n";

TEST_F(ndjson_lines, say_what_happened_to_which_row_and_when) {
  start();
  write(next_.upsert(items, {"1", "a \"b\"", nullptr})
            .remove(items, {"2", nullptr, nullptr})
            .partial(items, {"3", absent, "x"})
            .move(items, {"4", nullptr, nullptr}, {"5", absent, "y"})
            .truncate(items)
            .forget(items, {"9", nullptr, nullptr})
            .commit());
  EXPECT_EQ(
      content(),
      std::string(R"({"op":"u","table":"items","key":{"id":1},"before":null,)"
                  R"("after":{"id":1,"a":"a \"b\"","b":null})") +
          tail + R"({"op":"d","table":"items","key":{"id":2},"before":{"id":2},"after":null)" +
          tail +
          R"({"op":"u","table":"items","key":{"id":3},"before":null,"after":{"id":3,"b":"x"})" +
          tail +
          R"({"op":"u","table":"items","key":{"id":5},"before":{"id":4},"after":{"id":5,"b":"y"})" +
          tail + R"({"op":"t","table":"items","key":null,"before":null,"after":null)" + tail);
}

TEST_F(ndjson_lines, tell_an_insert_from_an_update_where_the_source_did) {
  start();
  next_.upsert(items, {"1", "a", "b"}).upsert(items, {"2", "a", "b"});
  auto work = std::const_pointer_cast<batch>(next_.commit());
  work->changes[0].event = operation::insert;
  write(work);
  const auto lines = read_lines(file());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("op"), "c");
  EXPECT_EQ(lines[1].at("op"), "u");
}

TEST_F(ndjson_lines, of_copied_rows_have_no_transaction) {
  start();
  write(next_.copies().upsert(items, {"1", "a", "b"}).take());
  EXPECT_EQ(content(), std::string(R"({"op":"r","table":"items","key":{"id":1},"before":null,)"
                                   R"("after":{"id":1,"a":"a","b":"b"})") +
                           copied);
}

TEST_F(ndjson_lines, of_keyless_tables_have_whole_images_and_no_key) {
  start();
  const auto notes = notes_table();
  write(next_.insert(notes, {"a", nullptr}).erase(notes, {"a", nullptr}).commit());
  EXPECT_EQ(
      content(),
      std::string(
          R"({"op":"c","table":"notes","key":null,"before":null,"after":{"a":"a","b":null})") +
          tail +
          R"({"op":"d","table":"notes","key":null,"before":{"a":"a","b":null},"after":null)" +
          tail);
}

TEST_F(ndjson_lines, keep_the_digits_of_every_number) {
  start();
  const auto table = make_table("n", {{"i", kind::integer, true},
                                      {"d", kind::decimal},
                                      {"f", kind::floating},
                                      {"b", kind::boolean},
                                      {"u", kind::integer, false, true}});
  write(next_.upsert(table, {"-9223372036854775808", "1.50", "1e+20", "t", "18446744073709551615"})
            .upsert(table, {"0", "99999999999999999999999999.00", "-0", "f", "007"})
            .upsert(table, {"1", "NaN", "Infinity", nullptr, nullptr})
            .commit());
  EXPECT_NE(
      content().find(
          R"("after":{"i":-9223372036854775808,"d":1.50,"f":1e+20,"b":true,"u":18446744073709551615})"),
      std::string::npos)
      << content();
  EXPECT_NE(content().find(
                R"("after":{"i":0,"d":99999999999999999999999999.00,"f":-0,"b":false,"u":"007"})"),
            std::string::npos)
      << content();
  EXPECT_NE(content().find(R"("after":{"i":1,"d":"NaN","f":"Infinity","b":null,"u":null})"),
            std::string::npos)
      << content();
}

TEST_F(ndjson_lines, carry_constants_as_what_they_are) {
  start();
  auto table = *items;
  const auto add = [&](const char* name, const char* text, kind what) {
    table.columns.push_back({.name = name, .source = std::nullopt, .constant = text, .what = what});
  };
  add("level", "3", kind::integer);
  add("live", "t", kind::boolean);
  add("from", "public.items", kind::text);
  write(next_.upsert(std::make_shared<const target_table>(std::move(table)), {"1", "a", "b"})
            .commit());
  EXPECT_NE(content().find(R"("level":3,"live":true,"from":"public.items"},)"), std::string::npos)
      << content();
}

TEST_F(ndjson_lines, carry_documents_and_arrays_as_their_text) {
  start();
  const auto table = make_table(
      "n", {{"i", kind::integer, true}, {"j", kind::json}, {"a", kind::array}, {"b", kind::bytes}});
  write(next_.upsert(table, {"1", "null", "{\"\"}", "\\x00ff"})
            .upsert(table, {"2", "{\"a\":\n 1}", "{}", nullptr})
            .upsert(table, {"3", nullptr, nullptr, "\\x"})
            .commit());
  const auto lines = read_lines(file());
  ASSERT_EQ(lines.size(), 3U) << "a document's line feed ended a line";
  const auto value = [&](std::size_t line, const char* column) {
    return *lines[line].find("after")->find(column);
  };
  EXPECT_EQ(value(0, "j").text, "null");
  EXPECT_TRUE(value(0, "j").is_string) << "JSON null is not NULL";
  EXPECT_EQ(value(2, "j").text, std::nullopt);
  EXPECT_EQ(value(1, "j").text, "{\"a\":\n 1}");
  EXPECT_EQ(value(0, "a").text, "{\"\"}");
  EXPECT_EQ(value(1, "a").text, "{}");
  EXPECT_EQ(value(0, "b").text, "\\x00ff");
}

TEST_F(ndjson_lines, of_someone_else_are_not_cut) {
  std::ofstream(file()) << "{\"mine\":true}\n";
  start();
  ASSERT_FALSE(state_);
  EXPECT_EQ(state_.error().code, errc::target_misconfigured);
  EXPECT_EQ(content(), "{\"mine\":true}\n");
}

TEST_F(ndjson_lines, that_were_acknowledged_and_are_gone_are_noticed) {
  start();
  write(next_.upsert(items, {"1", "a", "b"}).commit());
  sink_.reset();
  std::filesystem::resize_file(file(), 10);
  start();
  ASSERT_FALSE(state_);
  EXPECT_EQ(state_.error().code, errc::target_misconfigured);
  EXPECT_NE(state_.error().detail.find("10 bytes"), std::string::npos);
}

TEST_F(ndjson_lines, of_a_torn_checkpoint_are_refused_by_its_name) {
  start();
  sink_.reset();
  std::filesystem::resize_file(file().string() + ".checkpoint", 40);
  start();
  ASSERT_FALSE(state_);
  EXPECT_EQ(state_.error().code, errc::target_misconfigured);
  EXPECT_NE(state_.error().detail.find(".checkpoint"), std::string::npos) << state_.error().detail;
}

TEST_F(ndjson_lines, go_on_in_a_new_file_when_one_is_full) {
  start(100);
  write(next_.upsert(items, {"1", std::string(200, 'x'), "b"}).commit());
  write(next_.upsert(items, {"2", std::string(200, 'x'), "b"}).piece());
  write(next_.upsert(items, {"3", std::string(200, 'x'), "b"}).commit());
  write(next_.upsert(items, {"4", "x", "b"}).commit_at(500));
  EXPECT_EQ(read_lines(file().string() + ".000001").size(), 1U);
  EXPECT_EQ(read_lines(file().string() + ".000002").size(), 2U) << "a transaction was torn apart";
  EXPECT_EQ(read_lines(file()).size(), 1U);
  start(100);
  ASSERT_TRUE(state_);
  EXPECT_EQ(state_->resume, (checkpoint{{500}, {499}}));
}

TEST_F(ndjson_lines, are_in_place_again_after_a_rotation_that_was_not_finished) {
  start();
  write(next_.upsert(items, {"1", "x", "b"}).commit_at(100));
  sink_.reset();
  const auto before = content();
  // Put aside, a new file begun, and then the process died.
  std::filesystem::rename(file(), file().string() + ".000001");
  std::ofstream(file()) << "";
  start();
  ASSERT_TRUE(state_) << state_.error().detail;
  EXPECT_EQ(state_->resume, (checkpoint{{100}, {99}}));
  EXPECT_EQ(content(), before);
  EXPECT_FALSE(std::filesystem::exists(file().string() + ".000001"));
}

/// After a power loss the recent checkpoint may be anything, and of the lines behind the durable
/// one any byte may be missing.
TEST_F(ndjson_lines, cases_V005_reach_back_to_the_durable_checkpoint_after_a_power_loss) {
  start();
  write(next_.upsert(items, {"1", "x", "b"}).durable().commit_at(100));
  const auto durable = content();
  write(next_.upsert(items, {"2", "x", "b"}).commit_at(200));
  sink_.reset();
  const auto recent = file().string() + ".checkpoint.recent";
  ASSERT_TRUE(std::filesystem::exists(recent));
  auto text = content(".checkpoint.recent");

  for (const auto& found :
       {std::string(), text.substr(0, text.size() / 2), std::string(text.size(), '\0')}) {
    std::ofstream(recent) << found;
    std::ofstream(file()) << durable << std::string(60, '\0');
    start();
    ASSERT_TRUE(state_) << state_.error().detail;
    EXPECT_EQ(state_->resume, (checkpoint{{100}, {99}}));
    EXPECT_EQ(content(), durable);
    sink_.reset();
  }
}

TEST_F(ndjson_lines, of_another_boot_count_only_as_far_as_they_were_durable) {
  start();
  write(next_.upsert(items, {"1", "x", "b"}).durable().commit_at(100));
  write(next_.upsert(items, {"2", "x", "b"}).commit_at(200));
  sink_.reset();
  auto text = content(".checkpoint.recent");
  auto state = sinks::ndjson::parse_state(text);
  ASSERT_TRUE(state);
  ASSERT_FALSE(state->boot.empty());
  state->boot = "another";
  std::ofstream(file().string() + ".checkpoint.recent") << to_text(*state);
  start();
  ASSERT_TRUE(state_);
  EXPECT_EQ(state_->resume, (checkpoint{{100}, {99}}));
  EXPECT_EQ(read_lines(file()).size(), 1U);
}

// -- standard output
// --------------------------------------------------------------------------------

class pipe_ends {
public:
  pipe_ends() { EXPECT_EQ(::pipe2(ends_, O_CLOEXEC), 0); }
  ~pipe_ends() {
    close(0);
    close(1);
  }
  pipe_ends(const pipe_ends&) = delete;
  pipe_ends& operator=(const pipe_ends&) = delete;

  void close(int end) {
    if (ends_[end] >= 0)
      ::close(ends_[end]);
    ends_[end] = -1;
  }
  [[nodiscard]] int in() const { return ends_[1]; }
  std::string read_all() {
    std::string out;
    char part[4096];
    pollfd has{ends_[0], POLLIN, 0};
    while (::poll(&has, 1, 0) > 0) {
      const auto size = ::read(ends_[0], part, sizeof part);
      if (size <= 0)
        break;
      out.append(part, static_cast<std::size_t>(size));
    }
    return out;
  }

private:
  int ends_[2] = {-1, -1};
};

std::unique_ptr<sinks::sink> start_on(const pipe_ends& pipe, const std::string& name,
                                      sink_state& state) {
  auto sink = std::make_unique<sinks::threaded_sink>(
      std::make_unique<sinks::ndjson::standard_output_target>(name, pipe.in()));
  const auto opened = sink->open(orders_stream());
  EXPECT_TRUE(opened);
  state = *opened;
  return sink;
}

TEST(ndjson_output, carries_lines_and_resumes_within_the_process) {
  pipe_ends pipe;
  batches next;
  sink_state state;
  const auto items = items_table();
  auto sink = start_on(pipe, "one", state);
  EXPECT_FALSE(state.resume);
  ASSERT_TRUE(
      write(*sink, next.upsert(items, {"1", "a", "b"}).record("r", "x").durable().commit_at(100)));
  ASSERT_TRUE(write(*sink, next.upsert(items, {"2", "a", "b"}).record("r", "y").piece()));
  sink.reset();
  sink = start_on(pipe, "one", state);
  EXPECT_EQ(state.resume, (checkpoint{{100}, {99}}));
  ASSERT_EQ(state.records.size(), 1U);
  EXPECT_EQ(state.records[0].second, "x") << "an open transaction's record was kept";
  const auto text = pipe.read_all();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(ndjson_output, that_nobody_reads_is_stopped_by_a_cancellation) {
  pipe_ends pipe;
  batches next;
  sink_state state;
  const auto items = items_table();
  const auto sink = start_on(pipe, "stalled", state);
  std::promise<result<write_report>> done;
  sink->submit(next.upsert(items, {"1", std::string(1 << 20, 'x'), "b"}).commit(),
               [&](result<write_report> report) { done.set_value(std::move(report)); });
  sink->cancel();
  const auto report = done.get_future().get();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::cancelled);
}

TEST(ndjson_output, whose_reader_has_gone_is_an_error_and_no_signal) {
  pipe_ends pipe;
  batches next;
  sink_state state;
  const auto items = items_table();
  const auto sink = start_on(pipe, "gone", state);
  pipe.close(0);
  const auto report = write(*sink, next.upsert(items, {"1", "a", "b"}).commit());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::target_misconfigured);
}

} // namespace

} // namespace cdc::contract
