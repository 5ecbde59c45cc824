#include "sources/postgres/conninfo.hpp"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace cdc::sources::postgres {

namespace {

config::source_config source(std::string url) {
  config::source_config out;
  out.name = "shop";
  out.url = config::secret{std::move(url)};
  out.url_from = "$SHOP_URL";
  return out;
}

std::map<std::string, std::string> parameters(const conninfo& of) {
  std::map<std::string, std::string> out;
  const auto keys = of.keywords();
  const auto values = of.values();
  for (std::size_t i = 0; keys[i]; ++i)
    out[keys[i]] = values[i];
  return out;
}

std::map<std::string, std::string> parameters(const config::source_config& of,
                                              purpose use = purpose::query) {
  return parameters(conninfo::make(of, use, "load").value());
}

TEST(conninfo, reads_urls_and_key_value_texts) {
  const auto url = parameters(source("postgresql://ann:pw@db.example:5433/shop?sslmode=require"));
  const auto text =
      parameters(source("host=db.example port=5433 dbname=shop user=ann password=pw"));

  for (const auto& each : {url, text}) {
    EXPECT_EQ(each.at("host"), "db.example");
    EXPECT_EQ(each.at("port"), "5433");
    EXPECT_EQ(each.at("dbname"), "shop");
    EXPECT_EQ(each.at("user"), "ann");
    EXPECT_EQ(each.at("password"), "pw");
  }
  EXPECT_EQ(url.at("sslmode"), "require");
}

TEST(conninfo, lets_the_files_tls_keys_win_over_the_url) {
  auto from = source("postgresql://db.example/shop?sslmode=disable&sslrootcert=/old");
  from.sslmode = config::ssl_mode::verify_full;
  from.sslrootcert = "/ca.pem";
  from.sslcert = "/me.pem";
  from.sslkey = "/me.key";

  const auto out = parameters(from);

  EXPECT_EQ(out.at("sslmode"), "verify-full");
  EXPECT_EQ(out.at("sslrootcert"), "/ca.pem");
  EXPECT_EQ(out.at("sslcert"), "/me.pem");
  EXPECT_EQ(out.at("sslkey"), "/me.key");
}

TEST(conninfo, pins_what_values_depend_on_behind_the_users_own_options) {
  const auto out = parameters(source("postgresql://db/shop?options=-c%20TimeZone%3DAsia/Tokyo"));

  const auto& options = out.at("options");
  EXPECT_EQ(options.find("-c TimeZone=Asia/Tokyo"), 0U);
  for (const auto* each :
       {"TimeZone=UTC", "DateStyle=ISO", "IntervalStyle=postgres", "extra_float_digits=3",
        "bytea_output=hex", "lc_monetary=C", "search_path=", "statement_timeout=0",
        "lock_timeout=0", "idle_in_transaction_session_timeout=0", "standard_conforming_strings=on",
        "row_security=off", "synchronous_commit=local"})
    EXPECT_NE(options.rfind(std::string{" -c "} + each), std::string::npos) << each;
  EXPECT_EQ(out.at("client_encoding"), "UTF8");
  EXPECT_EQ(out.at("application_name"), "cdc-actors shop load");
}

TEST(conninfo, notices_a_dead_peer_unless_told_otherwise) {
  const auto usual = parameters(source("postgresql://db/shop"));
  const auto patient = parameters(source("postgresql://db/shop?tcp_user_timeout=60000"));

  EXPECT_EQ(usual.at("tcp_user_timeout"), "4000");
  EXPECT_EQ(usual.at("keepalives"), "1");
  EXPECT_EQ(patient.at("tcp_user_timeout"), "60000");
}

TEST(conninfo, asks_for_the_walsender_only_where_it_is_meant) {
  EXPECT_FALSE(parameters(source("postgresql://db/shop?replication=true&host=x"), purpose::query)
                   .contains("replication"));
  EXPECT_EQ(parameters(source("postgresql://db/shop"), purpose::replication).at("replication"),
            "database");
}

TEST(conninfo, takes_the_admin_url_for_what_is_created) {
  auto from = source("postgresql://reader@db/shop");

  EXPECT_EQ(parameters(from, purpose::admin).at("user"), "reader");
  from.admin_url = config::secret{"postgresql://owner@db/shop"};
  EXPECT_EQ(parameters(from, purpose::admin).at("user"), "owner");
  EXPECT_EQ(parameters(from, purpose::admin_replication).at("replication"), "database");
  EXPECT_EQ(parameters(from, purpose::query).at("user"), "reader");
}

TEST(conninfo, wants_the_primary_of_several_hosts) {
  EXPECT_EQ(parameters(source("postgresql://a,b/shop")).at("target_session_attrs"), "read-write");
  EXPECT_FALSE(parameters(source("postgresql://a/shop")).contains("target_session_attrs"));
}

TEST(conninfo, describes_itself_without_the_password) {
  const auto out = conninfo::make(source("postgresql://ann:pw-s3cret@db.example:5433/shop"),
                                  purpose::query, "load");

  EXPECT_EQ(out.value().describe(), "db.example:5433/shop as ann");
}

TEST(conninfo, never_repeats_a_text_it_does_not_understand) {
  for (const auto* text :
       {"s3cret", "host=db password=s3cret s3cret", "postgresql://ann:s3cret%zz@db/shop",
        "postgresql://db/shop?s3cret", "postgresql://ann:s3cret@[::1/shop", "host='s3cret",
        "postgresql://db/shop?nonsense=s3cret"}) {
    const auto out = conninfo::make(source(text), purpose::query, "load");

    ASSERT_FALSE(out) << text;
    EXPECT_EQ(out.error().code, errc::invalid_config);
    EXPECT_NE(out.error().detail.find("$SHOP_URL"), std::string::npos);
    EXPECT_EQ(out.error().detail.find("s3cret"), std::string::npos) << out.error().detail;
  }
}

TEST(conninfo, takes_the_timeout_as_libpq_does) {
  const auto timeout = [](const char* text) {
    return conninfo::make(source(text), purpose::query, "load").value().connect_timeout();
  };

  EXPECT_EQ(timeout("host=db"), std::chrono::seconds{10});
  EXPECT_EQ(timeout("host=db connect_timeout=1"), std::chrono::seconds{2});
  EXPECT_EQ(timeout("host=db connect_timeout=7"), std::chrono::seconds{7});
  EXPECT_GT(timeout("host=db connect_timeout=0"), std::chrono::seconds{60});
}

} // namespace

} // namespace cdc::sources::postgres
