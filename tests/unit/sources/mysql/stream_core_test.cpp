#include "sources/mysql/stream_core.hpp"

#include <gtest/gtest.h>

#include "sources/mysql/catalogue.hpp"
#include "tests/support/block_text.hpp"

namespace cdc::sources::mysql {

namespace {

using fed = stream_core::fed;
using lines_of = std::vector<std::string>;

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (auto i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
  return out;
}

/// A log of MariaDB's without checksums, event by event, fed to a core that follows d.t.
class log {
public:
  log() : core_(start(), {}) {
    (void)feed(event_type::rotate, little(at, 8) + "bin.000002", flag_artificial);
  }

  result<fed> feed(event_type type, const std::string& body, std::uint16_t flags = 0) {
    const auto size = event_header_size + body.size();
    if (flags == 0)
      at += size;
    bytes = little(1000, 4) + static_cast<char>(type) + little(9, 4) + little(size, 4) +
            little(flags == 0 ? at : 0, 4) + little(flags, 2) + body;
    return core_.feed(std::as_bytes(std::span{bytes}), now);
  }

  result<fed> begin() { return feed(event_type::mariadb_gtid, gtid(0)); }
  result<fed> begin_standalone() { return feed(event_type::mariadb_gtid, gtid(1)); }
  result<fed> query(const std::string& text) {
    return feed(event_type::query, little(1, 4) + little(0, 4) + little(1, 1) + little(0, 2) +
                                       little(0, 2) + std::string{"d\0", 2} + text);
  }
  result<fed> table(const std::string& name = "t") {
    return feed(event_type::table_map, little(17, 6) + little(1, 2) + std::string{"\1d\0", 3} +
                                           static_cast<char>(name.size()) + name +
                                           std::string{"\0\1\3\0\0", 5});
  }
  result<fed> insert(int id) {
    return feed(event_type::write_rows_v1, little(17, 6) + little(1, 2) +
                                               std::string{"\1\xff\0", 3} +
                                               little(static_cast<std::uint64_t>(id), 4));
  }
  result<fed> xid() { return feed(event_type::xid, little(5, 8)); }
  result<fed> prepare(bool one_phase) {
    return feed(event_type::xa_prepare,
                little(one_phase ? 1 : 0, 1) + little(1, 4) + little(1, 4) + little(0, 4) + "x");
  }

  static relation_ptr shape() {
    relation out;
    out.table = {"d", "t"};
    out.oid = oid_of(out.table);
    const auto type = type_from_catalogue({.data_type = "int", .column_type = "int"}).value();
    out.columns.push_back(make_column("id", type));
    out.key = {0};
    auto detail = std::make_shared<logged_table>();
    detail->types = {type};
    out.detail = detail;
    return std::make_shared<const relation>(out);
  }

  /// Without the positions.
  lines_of taken() {
    lines_of out;
    for (auto& line : tests::lines(core_.take_block()))
      out.push_back(line.starts_with("begin") || line.starts_with("commit")
                        ? line.substr(0, line.find(' '))
                        : line);
    std::erase_if(out, [](const auto& line) { return line.starts_with("advance"); });
    return out;
  }

  stream_core* operator->() { return &core_; }

  std::uint64_t at = 4;
  clock::time_point now{};
  std::string bytes;

private:
  static stream_start start() {
    auto in = coordinates::starting_in("bin.000002").value();
    const auto from = in.token("bin.000002", 4).value();
    return {.at = std::move(in), .resume = from, .takes = [](const table_id& table) {
              return table == table_id{"d", "t"};
            }};
  }
  static std::string gtid(int flags) {
    return little(1, 8) + little(0, 4) + little(static_cast<std::uint64_t>(flags), 1) +
           std::string(6, '\0');
  }

  stream_core core_;
};

} // namespace

TEST(mysql_stream_core, makes_a_transaction_of_a_group) {
  log in;
  in->provide(log::shape());
  const auto began = in.at;
  for (const auto& done : {in.begin(), in.table(), in.insert(7), in.insert(8), in.xid()})
    EXPECT_EQ(done.value(), fed::taken);
  const auto block = in->take_block();

  ASSERT_TRUE(block);
  const auto& ended = block->transactions.back();
  EXPECT_EQ(ended.final.token, (std::uint64_t{2} << 32) + began + 1);
  EXPECT_EQ(ended.end.token, (std::uint64_t{2} << 32) + in.at);
  EXPECT_EQ(ended.id, ended.final.token);
  EXPECT_EQ(block->text(block->cells[1]), "8");
}

TEST(mysql_stream_core, waits_for_a_shape_and_then_goes_on) {
  log in;
  (void)in.begin();
  EXPECT_EQ(in.table().value(), fed::held);
  ASSERT_EQ(in->unknown_relation(), oid_of({"d", "t"}));
  EXPECT_TRUE(in->busy());

  in->provide(log::shape());
  EXPECT_EQ(in->go_on(in.now).value(), fed::taken);
  (void)in.insert(1);
  (void)in.xid();
  EXPECT_EQ(in.taken(), (lines_of{"begin", "insert d.t [1]", "commit"}));
}

TEST(mysql_stream_core, leaves_nothing_of_a_group_without_rows_of_ours_but_a_position) {
  log in;
  (void)in.begin();
  (void)in.table("u");
  (void)in.insert(1);
  (void)in.xid();

  EXPECT_TRUE(in.taken().empty());
  in.now += std::chrono::seconds{1};
  in->pass_on(in.now);
  EXPECT_EQ(in->passed().token, (std::uint64_t{2} << 32) + in.at);
}

TEST(mysql_stream_core, ends_a_group_at_commit_and_a_standalone_one_at_its_statement) {
  log in;
  in->provide(log::shape());
  (void)in.begin();
  (void)in.table();
  (void)in.insert(1);
  (void)in.query("SAVEPOINT `a`");
  (void)in.query("COMMIT");
  (void)in.begin_standalone();
  (void)in.query("TRUNCATE TABLE t");

  EXPECT_EQ(in.taken(),
            (lines_of{"begin", "insert d.t [1]", "commit", "begin", "truncate d.t", "commit"}));
}

TEST(mysql_stream_core, halts_where_it_cannot_know_what_became_of_rows) {
  log prepared;
  prepared->provide(log::shape());
  (void)prepared.begin();
  (void)prepared.table();
  (void)prepared.insert(1);
  const auto halted = prepared.prepare(false);
  ASSERT_FALSE(halted);
  EXPECT_EQ(halted.error().code, errc::source_misconfigured);
  EXPECT_NE(halted.error().detail.find("d.t"), std::string::npos);
  EXPECT_NE(halted.error().detail.find("bin.000002:"), std::string::npos);

  log rolled_back;
  rolled_back->provide(log::shape());
  (void)rolled_back.begin();
  (void)rolled_back.table();
  (void)rolled_back.insert(1);
  EXPECT_FALSE(rolled_back.query("ROLLBACK"));
}

TEST(mysql_stream_core, takes_an_xa_transaction_of_one_phase_and_any_without_rows_of_ours) {
  log in;
  in->provide(log::shape());
  (void)in.begin();
  (void)in.table();
  (void)in.insert(1);
  EXPECT_TRUE(in.prepare(true));
  (void)in.begin();
  EXPECT_TRUE(in.prepare(false));
  (void)in.begin();
  EXPECT_TRUE(in.query("ROLLBACK"));

  EXPECT_EQ(in.taken(), (lines_of{"begin", "insert d.t [1]", "commit"}));
}

TEST(mysql_stream_core, refuses_a_statement_that_changes_a_table_of_ours_and_no_other) {
  log in;
  (void)in.begin();
  EXPECT_TRUE(in.query("INSERT INTO u VALUES (1)"));
  const auto refused = in.query("INSERT INTO t VALUES (1)");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("binlog_format = ROW"), std::string::npos);
}

TEST(mysql_stream_core, asks_the_catalogue_again_after_a_definition) {
  log in;
  in->provide(log::shape());
  (void)in.begin_standalone();
  EXPECT_TRUE(in.query("ALTER TABLE t ADD KEY (id)"));
  (void)in.begin();

  EXPECT_EQ(in.table().value(), fed::held);
  EXPECT_EQ(in->unknown_relation(), oid_of({"d", "t"}));
}

TEST(mysql_stream_core, refuses_what_is_out_of_place) {
  log twice;
  (void)twice.begin();
  EXPECT_FALSE(twice.begin());
  log nowhere;
  EXPECT_FALSE(nowhere.xid());
  log undescribed;
  (void)undescribed.begin();
  EXPECT_FALSE(undescribed.insert(1));
}

} // namespace cdc::sources::mysql
