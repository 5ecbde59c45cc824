#include <string>

#include <gtest/gtest.h>

#include "sinks/search/answers.hpp"
#include "sinks/search/index_guard.hpp"
#include "sinks/search/index_shape.hpp"
#include "sinks/search/pace.hpp"
#include "sinks/search/quarantine.hpp"
#include "sinks/search/server_version.hpp"
#include "sinks/search/state_document.hpp"
#include "sinks/search/verdict.hpp"
#include "tests/contract/sink_contract_batches.hpp"

namespace cdc::sinks::search {

// -- refused documents ----------------------------------------------------------------------------

TEST(reject_record, reads_as_it_was_written_with_its_document_byte_for_byte) {
  reject_record record;
  record.id = "t-1";
  record.what = {"t", "1", "mapper_parsing_exception", "0/1", "index", 7};
  record.version = 1'234;
  record.document = R"({"a":1e400,"b":12345678901234567890123})";
  const auto stored = read_reject(R"({"_id":"t-1","_seq_no":3,"_primary_term":2,"found":true,)"
                                  R"("_source":)" +
                                  to_json(record) + "}");
  ASSERT_TRUE(stored) << stored.error().detail;
  EXPECT_EQ(stored->record.document, record.document);
  EXPECT_EQ(stored->record.version, record.version);
  EXPECT_EQ(stored->record.what.reason, record.what.reason);
  EXPECT_EQ(stored->at, (stored_at{3, 2}));
}

TEST(reject_record, of_another_shape_is_refused) {
  for (const auto* text :
       {"", "[]", "{}", R"({"_id":"x"})", R"({"_id":"x","_source":{}})",
        R"({"_id":"x","_source":{"index":"t","doc_id":{}}})", R"({"_id":"x","_source":3})"})
    EXPECT_FALSE(read_reject(text)) << text;
}

TEST(quarantine, knows_which_documents_are_too_old_to_be_completed) {
  quarantine known{true, 10};
  known.add("t", "1", {"t-1", 50});
  EXPECT_TRUE(known.is_overtaken("t", "1", 49));
  EXPECT_FALSE(known.is_overtaken("t", "1", 50));
  EXPECT_FALSE(known.is_overtaken("u", "1", 1));
  EXPECT_EQ(known.documents_of("t", 49).size(), 0U);
  EXPECT_EQ(known.documents_of("t", 50).size(), 1U);
}

TEST(quarantine, gives_no_two_documents_one_record) {
  quarantine known{true, 10};
  known.add("a", "b-c", {known.id_for("a", "b-c"), 1});
  EXPECT_EQ(known.find("a", "b-c")->id, "a-b-c");
  EXPECT_NE(known.id_for("a-b", "c"), "a-b-c");
  EXPECT_EQ(known.id_for("a", std::string(600, 'x')).size(), 64U);
}

TEST(index_guard, tells_an_index_from_an_alias) {
  const auto ours = read_named(R"({"t":{"aliases":{"t.CDC":{}}}})", "t");
  EXPECT_TRUE(ours->is_there && ours->is_guarded && !ours->is_alias);
  const auto bare = read_named(R"({"t":{"aliases":{}}})", "t");
  EXPECT_TRUE(bare->is_there && !bare->is_guarded && !bare->is_alias);
  const auto alias = read_named(R"({"t-1":{"aliases":{"t":{},"t-1.CDC":{}}}})", "t");
  EXPECT_TRUE(alias->is_there && alias->is_alias);
  EXPECT_FALSE(read_named("[", "t"));
}

TEST(verdicts, know_an_index_that_is_gone_by_the_name_we_write) {
  for (const auto is_delete : {false, true})
    EXPECT_EQ(judge_item({400, "invalid_index_name_exception", ""}, is_delete), verdict::missing);
  EXPECT_EQ(judge_item({404, "", ""}, true), verdict::done);
  EXPECT_EQ(judge({503, "unavailable_shards_exception", ""}), verdict::blocked);
  EXPECT_EQ(waiting_for({429, "cluster_block_exception", ""}, "index t"),
            "cluster block: index t: cluster_block_exception");
}

// -- bulk answers ---------------------------------------------------------------------------------

TEST(bulk_answer, says_of_each_item_what_became_of_it) {
  const auto items = read_bulk_answer(
      R"({"errors":true,"items":[{"index":{"status":201}},{"delete":{"status":404}},)"
      R"({"index":{"status":400,"error":{"type":"mapper_parsing_exception","reason":)"
      R"("failed to parse field [n] of type [integer] in document with id '1'. Preview of field's value: 'secret'"}}}]})",
      3);
  ASSERT_TRUE(items);
  EXPECT_EQ(items->at(0).status, 201U);
  EXPECT_EQ(items->at(1).status, 404U);
  EXPECT_EQ(to_string(items->at(2)), "mapper_parsing_exception: field [n] of type [integer]");
}

TEST(bulk_answer, is_refused_when_it_is_not_whole) {
  const std::string good = R"({"errors":false,"items":[{"index":{"status":200}}]})";
  EXPECT_TRUE(read_bulk_answer(good, 1));
  EXPECT_FALSE(read_bulk_answer(good, 2));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_bulk_answer(std::string_view{good}.substr(0, size), 1)) << size;
  for (const auto* text : {"[]", R"({"items":3})", R"({"items":[{}]})",
                           R"({"items":[{"index":{}}]})", R"({"items":[3]})", "<html>"})
    EXPECT_FALSE(read_bulk_answer(text, 1)) << text;
}

TEST(reasons, keep_what_they_name_and_lose_what_they_quote) {
  EXPECT_EQ(without_values("no such index [orders]"), "no such index [orders]");
  EXPECT_EQ(without_values("For input string: \"secret\""), "");
  EXPECT_EQ(without_values("index [orders] blocked by: [FORBIDDEN/8/index write (api)];"),
            "index [orders]: it is read-only");
}

TEST(documents, are_read_in_the_order_they_were_asked_for) {
  const auto found = read_documents(
      R"({"docs":[{"_index":"i","_id":"1","_version":7,"found":true,"_source":{"a":1e400}},)"
      R"({"_index":"i","_id":"2","found":false},{"_index":"j","_id":"3","error":{"type":"x"}}]})",
      3);
  ASSERT_TRUE(found) << found.error().detail;
  EXPECT_TRUE(found->at(0).is_there);
  EXPECT_EQ(found->at(0).version, 7U);
  EXPECT_EQ(found->at(0).source, R"({"a":1e400})");
  EXPECT_FALSE(found->at(1).is_there);
  EXPECT_FALSE(found->at(2).is_there);
  EXPECT_FALSE(read_documents(R"({"docs":[]})", 1));
  EXPECT_FALSE(read_documents("{", 0));
}

// -- verdicts -------------------------------------------------------------------------------------

TEST(verdict, of_an_item_is_success_where_the_target_is_further) {
  EXPECT_EQ(judge_item({200}, false), verdict::done);
  EXPECT_EQ(judge_item({409, "version_conflict_engine_exception"}, false), verdict::done);
  EXPECT_EQ(judge_item({404}, true), verdict::done);
  EXPECT_EQ(judge_item({404, "index_not_found_exception"}, true), verdict::missing);
}

TEST(verdict, tells_what_passes_from_what_does_not) {
  EXPECT_EQ(judge_item({429, "rejected_execution_exception"}, false), verdict::busy);
  EXPECT_EQ(judge_item({429, "cluster_block_exception"}, false), verdict::blocked);
  EXPECT_EQ(judge_item({403, "cluster_block_exception"}, false), verdict::blocked);
  EXPECT_EQ(judge_item({403, "security_exception"}, false), verdict::halted);
  EXPECT_EQ(judge_item({503, "unavailable_shards_exception"}, false), verdict::blocked);
  EXPECT_EQ(judge_item({503, "node_closed_exception"}, false), verdict::again);
  EXPECT_EQ(judge_item({404, "index_not_found_exception"}, false), verdict::missing);
  EXPECT_EQ(judge_item({400, "mapper_parsing_exception"}, false), verdict::refused);
  EXPECT_EQ(judge({413}), verdict::too_large);
  EXPECT_EQ(judge({401}), verdict::halted);
  EXPECT_EQ(judge({502}), verdict::again);
}

TEST(verdict, that_ends_the_writing_says_what_to_do) {
  EXPECT_EQ(error_of({401}, "x").code, errc::permission_denied);
  EXPECT_NE(error_of({401}, "x").detail.find("password_env"), std::string::npos);
  EXPECT_EQ(error_of({403, "security_exception"}, "x").code, errc::permission_denied);
  EXPECT_EQ(error_of({404, "index_not_found_exception"}, "x").code, errc::target_unavailable);
  EXPECT_EQ(error_of({503}, "x").code, errc::target_unavailable);
}

// -- pace -----------------------------------------------------------------------------------------

TEST(pace, is_halved_by_refusals_and_comes_back_step_by_step) {
  pace at(8, 800, 1000000);
  at.slow_down();
  EXPECT_EQ(at.requests(), 4U);
  at.slow_down();
  at.slow_down();
  EXPECT_EQ(at.requests(), 1U);
  at.slow_down();
  EXPECT_EQ(at.items(), 400U);
  for (int i = 0; i < 20; ++i)
    at.slow_down();
  EXPECT_EQ(at.items(), pace::items_min);
  for (int i = 0; i < 4; ++i)
    at.succeeded();
  EXPECT_EQ(at.items(), pace::items_min + 100);
  for (int i = 0; i < 1000; ++i)
    at.succeeded();
  EXPECT_EQ(at.items(), 800U);
  EXPECT_EQ(at.requests(), 8U);
}

TEST(pace, never_sends_as_much_again_as_was_too_large) {
  pace at(1, 10, 1000);
  at.too_large(600);
  EXPECT_EQ(at.bytes(), 300U);
  for (int i = 0; i < 100; ++i)
    at.succeeded();
  EXPECT_EQ(at.bytes(), 300U);
  for (int i = 0; i < 100; ++i)
    at.too_large(1);
  EXPECT_EQ(at.bytes(), 1U);
}

TEST(growing_wait, doubles_up_to_half_a_minute) {
  growing_wait wait{std::chrono::milliseconds{100}};
  EXPECT_EQ(wait.next().count(), 100);
  EXPECT_EQ(wait.next().count(), 200);
  for (int i = 0; i < 20; ++i)
    (void)wait.next();
  EXPECT_EQ(wait.next(), growing_wait::most);
  wait.reset();
  EXPECT_EQ(wait.next().count(), 100);
}

// -- the checkpoint -------------------------------------------------------------------------------

namespace {

const stream_identity shop{"postgres", "73", "cdc slot", "shop", "pub"};

state_document whole_state() {
  state_document out;
  out.kept.stream = shop;
  out.kept.epoch = 7;
  out.kept.resume = checkpoint{{0x1'0000'0abcULL}, {99}};
  out.kept.records = {{"progress/a", "load 1\nrange to\n"}, {"bytes", std::string("\0\xff", 2)}};
  out.kept.listed = {{"a", std::string("\0\0\0\1x", 5)}};
  out.life = "abc";
  out.written_at = 1'764'522'000'123'456;
  out.relaxed = {{"a", {"5s", std::nullopt}}, {"b", {std::nullopt, "1"}}};
  return out;
}

} // namespace

TEST(state_document, reads_what_it_writes) {
  const auto state = whole_state();
  const auto read = read_state(to_json(state));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(*read, state);
  state_document none;
  none.kept.stream = shop;
  EXPECT_EQ(read_state(to_json(none)).value(), none);
}

TEST(state_document, has_the_fields_that_pg2osync_reads) {
  const auto json = to_json(whole_state());
  for (const auto* part :
       {R"("source":"postgres")", R"("slot_name":"cdc slot")", R"("publication":"pub")",
        R"("position":"1/ABC")", R"("token":4294970044)", R"("schema_version":2)"})
    EXPECT_NE(json.find(part), std::string::npos) << part;
  EXPECT_EQ(state_id(shop), "postgres-cdc_slot");
}

TEST(state_document, takes_over_what_pg2osync_wrote) {
  const auto state = read_state(
      R"({"source":"postgres","stream":"s","slot_name":"s","publication":"p","position":"0/ABC",)"
      R"("token":2748,"instance_id":"x","updated_at_epoch":1764522000,"schema_version":2})");
  ASSERT_TRUE(state) << state.error().detail;
  EXPECT_TRUE(state->is_foreign);
  EXPECT_EQ(state->kept.resume, (checkpoint{{2748}, {2748}}));
  EXPECT_TRUE(check_stream(*state, {"postgres", "any", "s", "any", "p"}, "x"));
  const auto first = read_state(R"({"slot_name":"s","publication":"p","confirmed_lsn":"1/0"})");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kept.resume->resume.token, std::uint64_t{1} << 32U);
}

TEST(state_document, refuses_what_it_cannot_understand) {
  EXPECT_FALSE(read_state("{"));
  EXPECT_FALSE(read_state("{}"));
  EXPECT_FALSE(read_state(R"({"slot_name":"s","publication":"p"})"));
  const auto newer =
      read_state(R"({"slot_name":"s","publication":"p","token":1,"schema_version":3})");
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().detail.find("newer version"), std::string::npos);
}

TEST(state_document, refuses_another_stream_and_names_both) {
  for (const auto& other : {stream_identity{"postgres", "74", "cdc slot", "shop", "pub"},
                            stream_identity{"postgres", "73", "cdc slot", "shop2", "pub"},
                            stream_identity{"postgres", "73", "cdc slot", "shop", "pub2"}}) {
    const auto good = check_stream(whole_state(), other, "http://h:9200");
    ASSERT_FALSE(good);
    EXPECT_EQ(good.error().code, errc::foreign_stream);
    EXPECT_NE(good.error().detail.find("cdc slot"), std::string::npos);
  }
}

// -- servers and indices --------------------------------------------------------------------------

TEST(server_version, is_that_of_the_flavor_and_not_too_old) {
  const auto answer = [](std::string version, bool is_elasticsearch = false) {
    return http::response{200, is_elasticsearch, R"({"version":)" + version + "}"};
  };
  const auto opensearch = [&](const char* number) {
    return answer(std::string(R"({"distribution":"opensearch","number":")") + number + "\"}");
  };
  const auto elasticsearch = [&](const char* number) {
    return answer(std::string(R"({"number":")") + number + "\"}", true);
  };
  EXPECT_TRUE(check_version(opensearch("2.19.6"), false, "x"));
  EXPECT_TRUE(check_version(opensearch("3.5.0"), false, "x"));
  EXPECT_FALSE(check_version(opensearch("1.3.20"), false, "x"));
  EXPECT_FALSE(check_version(opensearch("2.19.6"), true, "x"));
  EXPECT_TRUE(check_version(elasticsearch("7.17.29"), true, "x"));
  EXPECT_TRUE(check_version(elasticsearch("9.2.0"), true, "x"));
  EXPECT_FALSE(check_version(elasticsearch("7.10.2"), true, "x"));
  EXPECT_FALSE(check_version(elasticsearch("8.19.0"), false, "x"));
  EXPECT_TRUE(check_version({405, true, ""}, true, "x")) << "named by its header alone";
  EXPECT_FALSE(check_version({405, true, ""}, false, "x"));
  EXPECT_FALSE(check_version({200, false, "<html>"}, false, "x"));
}

TEST(index_shape, refuses_a_field_that_cannot_hold_its_column_and_names_both_types) {
  const auto table =
      contract::make_table("t", {{"id", kind::integer, true}, {"v", kind::text}, {"w"}});
  const auto live = read_mapping(
      R"({"t":{"mappings":{"properties":{"id":{"type":"long"},"v":{"type":"long"}}}}})");
  ASSERT_TRUE(live);
  const auto wrong = compare(*table, *live);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, errc::target_misconfigured);
  EXPECT_NE(wrong.error().detail.find("field v is mapped as long, and its column is text"),
            std::string::npos);
}

TEST(index_shape, names_the_columns_that_an_index_does_not_know) {
  const auto table = contract::make_table("t", {{"id", kind::integer, true}, {"v"}, {"w"}});
  const auto live = read_mapping(R"({"t":{"mappings":{"properties":{"id":{"type":"integer"}}}}})");
  EXPECT_EQ(compare(*table, live.value()).value(), (std::vector<std::uint16_t>{1, 2}));
  const auto strict = read_mapping(R"({"t":{"mappings":{"dynamic":"strict","properties":{}}}})");
  EXPECT_FALSE(compare(*table, strict.value()));
  EXPECT_EQ(mapping_of(*table, {0}), R"({"properties":{"id":{"type":"long"}}})");
}

TEST(index_shape, knows_the_names_an_index_may_have) {
  for (const auto* name : {"a", "orders", "o-1_x"})
    EXPECT_TRUE(check_index_name(name)) << name;
  for (const auto* name : {"", "A", "1", "_a", "-a", "a.b", "a b", ".pg2osync_meta", "ä"})
    EXPECT_FALSE(check_index_name(name)) << name;
}

} // namespace cdc::sinks::search
