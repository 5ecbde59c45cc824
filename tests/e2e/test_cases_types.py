"""Values that broke other tools. Each arrives by load, by stream, and after a SIGKILL in between."""

import pytest

from support.pipeline import eventually, section


def walk(database, pipeline, setup, columns, rows, within=60):
    """Writes `rows` (SQL value lists) to a table in all three ways and compares every value."""
    database.run(*setup, f"CREATE TABLE public.t (id int PRIMARY KEY, {columns})")

    def insert(first):
        for i, values in enumerate(rows):
            database.run(f"INSERT INTO public.t VALUES ({first + i}, {values})")

    insert(0)
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t", within=within)
    insert(1000)
    database.run("UPDATE public.t SET id = id + 5000 WHERE id = 1000")
    run.until_equal("public.t", within=within)
    run.kill()
    insert(2000)
    run.start()
    run.until_equal("public.t", within=within)
    return run


def test_B001_B064_infinite_timestamps_arrive_as_they_are(database, pipeline):
    run = walk(database, pipeline, [], "at timestamp, atz timestamptz, d date",
               ["'-infinity', 'infinity', '-infinity'", "'infinity', '-infinity', 'infinity'", "now(), now(), now()"])
    assert run.target("SELECT at, atz, d FROM t WHERE id = 0") == [("-infinity", "infinity", "-infinity")]


def test_B002_each_row_of_a_batch_binds_by_itself(database, pipeline):
    walk(database, pipeline, [], "at timestamptz", ["now()", "'-infinity'", "now()", "NULL", "'infinity'", "now()"])


def test_B004_times_before_1970_are_the_same_in_load_and_stream(database, pipeline):
    walk(database, pipeline, [], "at timestamptz, b timestamp, d date, t time, tz timetz, i interval",
         ["'1969-12-31 23:59:59.999999+00', '0001-01-01', '0044-03-15 BC', '23:59:59.999999', '12:00+05:30', '-1 year 2 mons -3 days 04:05:06.7'",
          "'4713-01-01 00:00:00+00 BC', '294276-12-31 23:59:59.999999', '5874897-12-31', '24:00', '00:00:00.1-15:59', 'P1Y'"])


def test_B005_not_a_number_and_infinities_never_stop_the_stream(database, pipeline):
    run = walk(database, pipeline, [], "a float8, b float4, n numeric",
               ["'NaN', '-Infinity', 'NaN'", "'Infinity', 'NaN', '-Infinity'", "'-0', '-0', '-0.00'",
                "'1e-307', '1.17549e-38', '1e-16383'", "'1.7976931348623157e308', '3.4028235e38', 12345678901234567890.123456789012345678901234567890",
                "0.1, 0.1, 0.10"])
    assert run.target("SELECT a, b, n FROM t WHERE id = 0") == [("NaN", "-Infinity", "NaN")]


def test_B007_a_null_array_of_composites_stays_null_and_an_unchanged_large_one_stays(database, pipeline):
    database.run("CREATE TYPE public.pair AS (a int, b text)",
                 "CREATE TABLE public.t (id int PRIMARY KEY, p public.pair[], n int)",
                 "ALTER TABLE public.t ALTER COLUMN p SET STORAGE EXTERNAL",
                 "INSERT INTO public.t VALUES (1, NULL, 0)",
                 "INSERT INTO public.t SELECT 2, array_agg(ROW(i, repeat('x', 50))::public.pair), 0 FROM generate_series(1, 300) i")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    database.run("UPDATE public.t SET n = n + 1")
    run.until_equal("public.t")
    assert run.target("SELECT p, n FROM t WHERE id = 1") == [(None, 1)]


def test_B008_null_is_null_and_not_empty(database, pipeline):
    run = walk(database, pipeline, [], "a text, b int, c timestamptz, d bytea, e jsonb",
               ["NULL, NULL, NULL, NULL, NULL", "'', 0, now(), '', '\"\"'"])
    assert run.target("SELECT a, b, c, d, e FROM t WHERE id = 0") == [(None,) * 5]
    assert run.target("SELECT a, d FROM t WHERE id = 1") == [("", b"")]


def test_B010_json_null_is_not_sql_null(database, pipeline):
    run = walk(database, pipeline, [], "j jsonb, k json", ["'null', 'null'", "NULL, NULL", "'{\"a\": 1e400}', '[12345678901234567890]'"])
    assert run.target("SELECT j, k FROM t WHERE id = 0") == [("null", "null")]


def test_B011_a_delete_by_a_key_with_an_enum_is_applied(database, pipeline):
    database.run("CREATE TYPE public.colour AS ENUM ('red', 'green')",
                 "CREATE TABLE public.t (c public.colour, n int, v text, PRIMARY KEY (c, n))",
                 "INSERT INTO public.t SELECT (ARRAY['red','green'])[1 + i % 2]::public.colour, i, 'v' FROM generate_series(1, 50) i")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    database.run("DELETE FROM public.t WHERE c = 'red' AND n < 20", "UPDATE public.t SET c = 'red' WHERE n = 30 - 1")
    run.until_equal("public.t")


def test_B013_bit_strings_of_any_length(database, pipeline):
    walk(database, pipeline, [], "a bit(1), b bit(8), c bit(9), d bit(64), e varbit(200)",
         ["B'1', B'10000001', B'100000001', (-1)::bigint::bit(64), B''",
          "B'0', B'00000000', B'000000001', 1::bigint::bit(64), repeat('10', 100)::varbit"])


def test_B014_two_enums_of_one_name_in_two_schemas(database, pipeline):
    walk(database, pipeline, ["CREATE SCHEMA other", "CREATE TYPE public.mood AS ENUM ('good')", "CREATE TYPE other.mood AS ENUM ('bad')"],
         "a public.mood, b other.mood", ["'good', 'bad'", "NULL, 'bad'"])


def test_B016_domains_are_their_base_type(database, pipeline):
    run = walk(database, pipeline,
               ["CREATE DOMAIN public.small AS int CHECK (VALUE < 1000000)", "CREATE DOMAIN public.smaller AS public.small",
                "CREATE DOMAIN public.vector_text AS tsvector", "CREATE DOMAIN public.bits AS varbit(100)", "CREATE DOMAIN public.raw AS bytea"],
               "a public.smaller, b public.vector_text, c public.bits, d public.raw",
               ["1, 'a fat cat', B'101', '\\x00ff'", "NULL, NULL, NULL, NULL"])
    assert run.target("SELECT typeof(a), typeof(d) FROM t WHERE id = 0") == [("integer", "blob")]


def test_B017_array_delimiters_and_domain_values(database, pipeline):
    walk(database, pipeline, ["CREATE TYPE public.mood AS ENUM ('sad', 'happy')", "CREATE DOMAIN public.whole AS int"],
         "a public.mood[], b box[], c public.whole, d int[], e text[][]",
         ["'{sad,happy}', '{(1,1),(0,0);(2,2),(1,1)}', 7, '[0:1]={1,2}', '{{a,b},{c,NULL}}'", "'{}', '{}', NULL, '{NULL}', NULL"])


def test_B019_no_far_future_date_costs_any_row(database, pipeline):
    run = walk(database, pipeline, [], "d date, at timestamptz",
               ["'9999-12-31', '9999-12-31 23:59:59+00'", "'10000-01-01', '10000-01-01+00'", "'2026-01-01', '2026-01-01+00'",
                "'5874897-12-31', '294276-12-31 23:59:59.999999+00'", "'21026-01-01', '20260-11-30 12:00+00'"])
    assert run.target("SELECT count(*), count(d), count(at) FROM t") == [(15, 15, 15)]


def test_B067_an_empty_array_is_not_an_array_of_an_empty_string(database, pipeline):
    run = walk(database, pipeline, [], "a text[]", ["'{}'", "'{\"\"}'", "'{\"NULL\",NULL,\"a,b\",\"q\\\"q\",\"back\\\\slash\"}'"])
    assert run.target("SELECT a FROM t WHERE id < 2 ORDER BY id") == [("{}",), ('{""}',)]


def test_B070_text_search_vectors(database, pipeline):
    walk(database, pipeline, [], "v tsvector, q tsquery", ["to_tsvector('english', 'The Fat Rats'), 'fat & (rat | !cat)'", "'', ''"])


def test_B073_sparse_vectors(database, pipeline):
    if not database.value("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"):
        pytest.skip("the vector extension is not installed on this server")
    walk(database, pipeline, ["CREATE EXTENSION vector SCHEMA public"], "v public.sparsevec(5)", ["'{}/5'", "'{1:1}/5'"])


def test_B076_money_of_the_servers_locale(database, pipeline):
    walk(database, pipeline, [], "m money", ["'-1234.5'", "NULL", "'92233720368547758.07'"])


def test_B079_a_row_of_uuid_date_time_and_json_is_whole(database, pipeline):
    walk(database, pipeline, [], "u uuid, d date, t time, j jsonb", ["gen_random_uuid(), now(), now(), '{\"a\": [1, null, \"ü\"]}'"])


EXTREMES = (
    ["CREATE TYPE public.pair AS (a int, b text)", "CREATE DOMAIN public.d1 AS public.pair"],
    "a smallint, b integer, c bigint, d oid, e \"char\", f char(5), g varchar(9), h text, i name, j inet, k cidr, l macaddr, "
    "m macaddr8, n point, o lseg, p path, q polygon, r circle, s line, t int4range, u nummultirange, v tstzrange, w xml, x pg_lsn, "
    "y public.pair, z public.d1, aa jsonpath, bb bytea, cc boolean, dd int2vector, ee txid_snapshot, ff daterange[]",
    ["-32768, -2147483648, -9223372036854775808, 4294967295, 'x', 'ab', 'ü€😀', E'tab\\t nl\\n cr\\r bs\\\\ q'' \"', 'n', '::1/64', '10.0.0.0/8', "
     "'08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '(1.5,-2)', '[(0,0),(1,1)]', '[(0,0),(1,1)]', '((0,0),(1,1))', '<(0,0),1>', '{1,2,3}', "
     "'[1,10)', '{[1,2),(5,)}', '[2026-01-01,)', '<a>&lt;</a>', '16/B374D848', ROW(1,'a,\"b'), ROW(NULL,''), '$.a[*]', '\\x0001ff', true, '1 2 3', '10:20:10,14', "
     "'{\"[2026-01-01,2026-02-01)\",empty}'",
     "32767, 2147483647, 9223372036854775807, 0, '', '', '', '', '', '0.0.0.0', '::/0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'empty', '{}', 'empty', "
     "'', '0/0', NULL, NULL, NULL, '', false, '', NULL, '{}'",
     ", ".join(["NULL"] * 32)])


def test_cross_test_1_every_built_in_type_at_its_extremes(database, pipeline):
    walk(database, pipeline, *EXTREMES)


def test_extensions_of_contrib_arrive_as_their_text(database, pipeline):
    wanted = ["hstore", "citext", "ltree"]
    if database.value("SELECT count(*) FROM pg_available_extensions WHERE name IN ('hstore', 'citext', 'ltree')") < 3:
        pytest.skip("hstore, citext or ltree is not installed on this server")
    run = walk(database, pipeline, [f"CREATE EXTENSION {name} SCHEMA public" for name in wanted],
               "h public.hstore, c public.citext, l public.ltree", ["'a=>1, b=>NULL', 'MiXed', 'Top.Child'", "NULL, NULL, NULL"])
    assert run.target("SELECT c FROM t WHERE id = 0") == [("MiXed",)]


def test_a_value_of_40_megabytes_arrives_whole(database, pipeline):
    walk(database, pipeline, [], "v text, b bytea", ["repeat('0123456789abcdef', 2500000), NULL", "'small', decode(repeat('00ff', 4000000), 'hex')"], within=120)
