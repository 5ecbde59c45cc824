"""PostgreSQL to a real OpenSearch: the load, the stream, restarts; every document compared."""

import os
import pathlib
import subprocess
import time

import pytest

from support import search
from support.fault_proxy import FaultProxy
from support.pipeline import PROGRAM, eventually, section
from support.search import until_equal

# One worker, so that there is one node.
pytestmark = pytest.mark.xdist_group("search")

T = section("t", table="public.t")


def test_the_load_and_the_stream(database, node, searching, table):
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("INSERT INTO public.t VALUES (5000, 'new')", "UPDATE public.t SET v = 'changed' WHERE id % 3 = 0",
                 "DELETE FROM public.t WHERE id % 5 = 0", "UPDATE public.t SET id = id + 100000 WHERE id % 7 = 0")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_the_example(database, node, tmp_path):
    if node.flavor != "opensearch":
        pytest.skip("the example names OpenSearch")
    database.run("CREATE TABLE public.products (id int PRIMARY KEY, name text)",
                 "CREATE TABLE public.orders (id int PRIMARY KEY, product int, note text)",
                 "INSERT INTO public.products SELECT i, 'p' || i FROM generate_series(1, 50) i",
                 "INSERT INTO public.orders SELECT i, i % 50, 'secret' FROM generate_series(1, 200) i")
    example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "opensearch.toml"
    done = subprocess.run([PROGRAM, "run", "--once", str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, CDC_SOURCE_URL=database.url, CDC_SEARCH_URL=node.url))
    assert done.returncode == 0, done.stderr
    assert node.count("products") == 50
    assert node.documents("shop_orders")["7"] == {"id": 7, "product": 7}
    status = subprocess.run([PROGRAM, "status", str(example)], capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, CDC_SOURCE_URL=database.url, CDC_SEARCH_URL=node.url))
    assert node.url in status.stdout and "caught up" in status.stdout, status.stdout


def test_truncate_empties_the_index(database, node, searching, table):
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("INSERT INTO public.t SELECT i, 'w' FROM generate_series(5000, 9000) i", "TRUNCATE public.t",
                 "INSERT INTO public.t VALUES (1, 'after')")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_sigkill_in_the_load_and_in_the_stream(database, node, searching):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(1, 40000) i", "ANALYZE")
    run = searching(T, source="load_chunk_rows = 5000\nload_workers = 2", engine="load_max_rows_per_sec = 15000").start()
    eventually(lambda: node.count("t") > 10000, within=30)
    run.kill()
    database.run("DELETE FROM public.t WHERE id % 10 = 0", "UPDATE public.t SET v = 'changed' WHERE id % 7 = 0",
                 "INSERT INTO public.t SELECT i, 'new' FROM generate_series(100000, 100100) i")
    run.start()
    until_equal(run, node, "public.t")
    for i in range(5):
        database.run(f"UPDATE public.t SET v = 'round {i}' WHERE id % 5 = {i}", f"DELETE FROM public.t WHERE id % 41 = {i}",
                     f"UPDATE public.t SET id = id + 1000000 WHERE id % 43 = {i}")
        run.kill()
        run.start()
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_unchanged_toast_keeps_what_the_document_has(database, node, searching):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n int, big text)",
                 "ALTER TABLE public.t ALTER big SET STORAGE EXTERNAL",
                 "INSERT INTO public.t SELECT i, i, repeat(md5(i::text), 200) FROM generate_series(1, 50) i")
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("UPDATE public.t SET n = n + 1", "UPDATE public.t SET id = id + 1000 WHERE id < 20",
                 "UPDATE public.t SET n = n * 2 WHERE id > 1000", "DELETE FROM public.t WHERE id = 30",
                 "UPDATE public.t SET id = 30 WHERE id = 31")
    until_equal(run, node, "public.t")
    with database.session() as session:
        session.run("BEGIN")
        for i in range(20):
            session.run(f"UPDATE public.t SET n = n + {i}, id = id + 5000 WHERE id = {35 + i % 10}")
            session.run(f"UPDATE public.t SET n = n + {i}, id = id - 5000 WHERE id = {5035 + i % 10}")
        session.run("COMMIT")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_every_type_is_a_document_value(database, node, searching):
    database.run(
        "CREATE TYPE public.mood AS ENUM ('sad', 'glad')",
        "CREATE TYPE public.pair AS (a int, b text)",
        """CREATE TABLE public.t (id bigint PRIMARY KEY, b bool, i2 smallint, i8 bigint, f4 real, f8 float8, n numeric, t text,
           c char(5), j json, jb jsonb, by bytea, d date, ti time, ts timestamp, tz timestamptz, iv interval, u uuid, ia int[],
           ta text[], na numeric[], box box[], ja jsonb[], e mood, p pair, bi bit(4), r int4range, inet inet)""",
        """INSERT INTO public.t VALUES
           (1, true, -1, 9223372036854775807, 1.5, 1e300, 12.3400, E'line\\nfeed "quoted" \\\\ ümlaut 🚀', 'ab', E'{"a": 1,\\n "b": [1,2]}',
            '{"x": 12345678901234567890123, "e": 1e400}', '\\x00ff10', '2026-11-30', '10:00:00', '2026-11-30 10:00:00.123456',
            '2026-11-30 10:00:00.5+02', '1 year 2 days', '00000000-0000-0000-0000-000000000001', '{1,NULL,3}',
            '{"a b",NULL,"NULL","q\\"uo\\\\te",""}', '{1.50,NULL}', '{(1,1),(0,0);(2,2),(1,1)}', '{"{\\"a\\": 1}"}', 'glad', '(1,x)',
            B'0101', '[1,5)', '10.0.0.1/8'),
           (2, false, NULL, NULL, 'NaN', '-Infinity', 'NaN', '', '', 'null', '"s"', '\\x', 'infinity', NULL, '0044-03-15 BC', '-infinity', NULL,
            NULL, '{}', '{}', '{}', NULL, '{}', NULL, NULL, NULL, 'empty', NULL),
           (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '15000-01-01', NULL, NULL, NULL, NULL, NULL,
            '[2:3][0:1]={{1,2},{3,4}}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""")
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("CREATE TABLE public.u (LIKE public.t)", "INSERT INTO public.u SELECT * FROM public.t", "DELETE FROM public.t")
    until_equal(run, node, "public.t")
    database.run("INSERT INTO public.t SELECT * FROM public.u")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_connections_that_are_cut_lose_nothing(database, node, searching, table):
    proxy = FaultProxy(node.port)
    try:
        run = searching(T, url=f"http://127.0.0.1:{proxy.port}", source="reconnect_max = 100", engine="retry_max = 1000\nretry_backoff_ms = 100").start()
        until_equal(run, node, "public.t")
        for i in range(12):
            proxy.cut_after(1 + i * 97)
            database.run(f"UPDATE public.t SET v = 'round {i}' WHERE id % 3 = {i % 3}")
            time.sleep(0.3)
        until_equal(run, node, "public.t")
        assert run.stop() == 0
    finally:
        proxy.close()


def test_an_index_is_made_from_the_catalogue_and_grows_with_it(database, node, searching):
    database.run("CREATE TABLE public.t (id bigint PRIMARY KEY, v text, d date, j jsonb, n numeric, a int[])",
                 "INSERT INTO public.t VALUES (1, 'Some Words', '2026-11-30', '{\"deep\": {\"er\": 1}}', 1.5, '{1,2}')")
    run = searching(T).start()
    until_equal(run, node, "public.t")
    fields = node.demand("GET", "/t/_mapping")["t"]["mappings"]
    assert str(fields["dynamic"]) == "false"
    assert {name: field["type"] for name, field in fields["properties"].items() if "type" in field} == {
        "id": "long", "v": "text", "d": "date", "n": "keyword", "a": "long", **({"j": "object"} if "type" in fields["properties"]["j"] else {})}
    hits = node.demand("POST", "/t/_search", {"query": {"bool": {"filter": [{"match": {"v": "words"}}, {"term": {"a": 2}},
                       {"range": {"d": {"gte": "2026-01-01"}}}, {"range": {"n.number": {"gt": 1}}}]}}})["hits"]["hits"]
    assert [hit["_id"] for hit in hits] == ["1"]
    database.run("ALTER TABLE public.t ADD COLUMN more int", "INSERT INTO public.t (id, more) VALUES (2, 7)")
    eventually(lambda: (node.documents("t").get("2") or {}).get("more") == 7)
    assert node.demand("GET", "/t/_mapping")["t"]["mappings"]["properties"]["more"] == {"type": "long"}
    assert run.stop() == 0


def test_settings_are_put_back_after_a_load_and_after_a_kill_in_it(database, node, searching):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(1, 12000) i", "ANALYZE")
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0, "refresh_interval": "7s"}})

    def setting():
        return node.demand("GET", "/t/_settings?flat_settings=true")["t"]["settings"].get("index.refresh_interval")

    run = searching(T, source="load_chunk_rows = 1000", engine="load_max_rows_per_sec = 4000").start()
    eventually(lambda: setting() == "-1" and node.count("t") > 2000)
    run.kill()
    assert setting() == "-1"
    run.start()
    until_equal(run, node, "public.t")
    eventually(lambda: setting() == "7s")
    assert run.stop() == 0


def test_a_mapping_file_makes_the_index(database, node, searching, table, tmp_path):
    file = tmp_path / "mapping.json"
    file.write_text('{"dynamic": "strict", "properties": {"id": {"type": "keyword"}, "v": {"type": "keyword"}}}')
    run = searching(section("t", table="public.t", mapping_file=str(file))).start()
    until_equal(run, node, "public.t")
    mapping = node.demand("GET", "/t/_mapping")["t"]["mappings"]
    assert mapping["dynamic"] == "strict" and mapping["properties"]["id"] == {"type": "keyword"}
    assert run.stop() == 0


def test_a_field_that_cannot_hold_its_column_is_named_at_validate_and_start(database, node, searching, table):
    node.demand("PUT", "/t", {"mappings": {"properties": {"v": {"type": "long"}}}})
    run = searching(T)
    for said in (run.command("validate").stdout, (run.once(), run.log())[1]):
        assert "index t: field v is mapped as long, and its column is text" in said
    assert run.process.returncode != 0
    assert node.count("t") == 0


def test_one_refused_document_halts_with_its_name_and_without_its_value(database, node, searching, table):
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"v": {"type": "ip"}}}})
    database.run("UPDATE public.t SET v = '10.0.0.' || id % 250", "UPDATE public.t SET v = 'planted-4711' WHERE id = 500")
    run = searching(T, source="load_chunk_rows = 100000")
    assert run.once() != 0
    assert "index t, document 500: mapper_parsing_exception: field [v] of type [ip]" in run.log().replace("document_parsing_exception", "mapper_parsing_exception")
    assert "planted" not in run.log()


def test_a_read_only_index_is_waited_for(database, node, searching, table):
    run = searching(T).start()
    until_equal(run, node, "public.t")
    node.demand("PUT", "/t/_settings", {"index.blocks.read_only_allow_delete": True})
    database.run("UPDATE public.t SET v = 'blocked' WHERE id % 2 = 0")
    time.sleep(3)
    assert run.running and "failed" not in run.log()
    node.demand("PUT", "/t/_settings", {"index.blocks.read_only_allow_delete": None})
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_a_small_server_is_given_less_at_a_time(database, nodes, pipeline):
    node = nodes("opensearch-2", "http.max_content_length=100kb", "thread_pool.write.queue_size=1", "thread_pool.write.size=1")
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, repeat(md5(i::text), 20) FROM generate_series(1, 5000) i", "ANALYZE")
    run = pipeline(T, target=f'[target]\nurl = "{node.url}"\n', engine="write_concurrency = 8").start()
    until_equal(run, node, "public.t")
    database.run("UPDATE public.t SET v = 'short'")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_a_fresh_start_leaves_nothing_of_what_was_there(database, node, searching, table):
    run = searching(T)
    assert run.once() == 0
    # As if the versions of the life before had been far ahead.
    lines = "".join(f'{{"index":{{"_index":"t","_id":"{i}","version":{2 ** 62},"version_type":"external_gte"}}}}\n{{"id":{i},"v":"old"}}\n'
                    for i in (1, 2, 99999))
    assert not node.demand("POST", "/_bulk", lines)["errors"]
    run.start("--fresh-slot-and-load")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


def test_pg2osync_is_taken_over_in_place(database, node, searching, table):
    if node.flavor != "opensearch":
        pytest.skip("documents cannot be deleted by a query here")
    run = searching(T, slot="s_takeover")
    assert run.once() == 0
    stored = node.demand("GET", f"/{search.STATE}/_doc/postgres-s_takeover")["_source"]
    del stored["cdc_actors"]
    assert set(stored) == {"source", "stream", "slot_name", "publication", "position", "token", "instance_id", "updated_at_epoch", "schema_version"}
    node.demand("PUT", f"/{search.STATE}/_doc/postgres-s_takeover", stored)
    database.run("UPDATE public.t SET v = 'meanwhile' WHERE id <= 10", "DELETE FROM public.t WHERE id = 11")
    run.start()
    until_equal(run, node, "public.t")
    assert "going on from where it stopped" in run.log() or "rows read" not in run.log()
    assert run.stop() == 0
    # A load that it had not finished.
    stored = node.demand("GET", f"/{search.STATE}/_doc/postgres-s_takeover")["_source"]
    del stored["cdc_actors"]
    node.demand("PUT", f"/{search.STATE}/_doc/postgres-s_takeover", stored)
    node.demand("PUT", f"/{search.STATE}/_doc/load-postgres-s_takeover-public_t", {"done": [], "finished": False})
    node.demand("POST", "/t/_delete_by_query?refresh=true", {"query": {"range": {"id": {"gt": 900}}}})
    time.sleep(1)
    run.start()
    eventually(lambda: "initial load begins" in run.log().split("http.listening")[-1])
    assert run.stop() == 0


def test_another_streams_checkpoint_is_refused(database, node, searching, table):
    run = searching(T, slot="s_foreign")
    assert run.once() == 0
    stored = node.demand("GET", f"/{search.STATE}/_doc/postgres-s_foreign")["_source"]
    for change in ({"publication": "other"}, {"schema_version": 9}):
        node.demand("PUT", f"/{search.STATE}/_doc/postgres-s_foreign", {**stored, **change})
        assert run.once() != 0
        said = run.log()
        assert "belongs to slot" in said if "publication" in change else "newer version" in said


def test_a_second_process_fences_the_first(database, node, searching, table):
    first = searching(T, slot="s_twice", source="reconnect_max = 3").start()
    until_equal(first, node, "public.t")
    stored = node.demand("GET", f"/{search.STATE}/_doc/postgres-s_twice")
    node.demand("PUT", f"/{search.STATE}/_doc/postgres-s_twice",
                {**stored["_source"], "cdc_actors": {**stored["_source"]["cdc_actors"], "life": "another"}})
    database.run("UPDATE public.t SET v = 'after'")
    eventually(lambda: "a newer life of this pipeline, or another process" in first.log())


def test_append_only_rows_are_documents_of_what_they_hold(database, node, searching):
    database.run("CREATE TABLE public.t (v text, n int)", "INSERT INTO public.t SELECT 'e', i FROM generate_series(1, 100) i")
    run = searching(section("t", table="public.t", append_only=True)).start()
    eventually(lambda: node.count("t") == 100)
    database.run("INSERT INTO public.t VALUES ('more', 1), ('more', 1), ('more', 2)")
    eventually(lambda: node.count("t") == 102)
    run.kill()
    run.start()
    time.sleep(2)
    assert node.count("t") == 102 and run.stop() == 0


def test_tls_and_users(database, nodes, pipeline, tmp_path):
    node = nodes("opensearch-2-secure")
    authority = node.folder / "config" / "node.pem"
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 100) i")

    def run_with(name, index="ok-t", user="writer", password="writer-pass", tls=f'sslrootcert = "{authority}"'):
        target = f'[target]\nurl = "{node.url}"\nusername = "{user}"\npassword_env = "CDC_TEST_PASSWORD"\n{tls}\n'
        run = pipeline(section(index, table="public.t"), target=target, folder=name, source="reconnect_max = 1", engine="retry_max = 1")
        run.environment["CDC_TEST_PASSWORD"] = password
        return run

    good = run_with("good")
    assert good.once() == 0, good.log()
    assert node.count("ok-t") == 100
    wrong = run_with("wrong", password="nonsense-8412")
    assert wrong.once() != 0 and "does not accept the credentials (401)" in wrong.log()
    assert "nonsense" not in wrong.log() and "writer-pass" not in good.log()
    forbidden = run_with("forbidden", index="no-t")
    assert forbidden.once() != 0 and "forbids it (403" in forbidden.log()
    stranger = run_with("stranger", tls="")
    assert stranger.once() != 0 and "the TLS handshake failed" in stranger.log()
    blind = run_with("blind", tls="tls_verify = false")
    assert blind.once() == 0


def test_B106_a_uuid_key_is_its_canonical_text(database, node, searching):
    database.run("CREATE TABLE public.t (id uuid PRIMARY KEY, v text)",
                 "INSERT INTO public.t VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'load')")
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("INSERT INTO public.t VALUES ('{00000000-0000-0000-0000-00000000000f}', 'stream')")
    until_equal(run, node, "public.t")
    run.kill()
    database.run("UPDATE public.t SET v = v || ' again'")
    run.start()
    until_equal(run, node, "public.t")
    assert node.documents("t") == {
        key: {"id": key, "v": v} for key, v in (("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "load again"),
                                                ("00000000-0000-0000-0000-00000000000f", "stream again"))}
    assert run.stop() == 0


def test_V013_requests_of_a_dead_process_that_arrive_late_change_nothing(database, node, searching, table):
    late = FaultProxy(int(node.url.rsplit(":", 1)[1]))
    url = f"http://127.0.0.1:{late.port}"
    try:
        run = searching(T, url=url, engine="batch_size = 100").start()
        until_equal(run, node, "public.t")
        # Keys move away and come back with other rows, in batches that are cut between their answers.
        for i in range(6):
            with database.session() as session:
                session.transaction(f"UPDATE public.t SET id = id + 1000000, v = 'moved {i}' WHERE id % 7 = {i} AND id < 1000000",
                                    f"INSERT INTO public.t SELECT j, 'again {i}' FROM generate_series(1, 1000) j WHERE j % 7 = {i}",
                                    f"DELETE FROM public.t WHERE id % 11 = {i}")
            time.sleep(0.02 * i)
            late.holding = True
            database.run(f"UPDATE public.t SET v = 'late {i}' WHERE id % 5 = {i % 5}", f"DELETE FROM public.t WHERE id % 13 = {i}",
                         f"UPDATE public.t SET id = id + 2000000 WHERE id % 17 = {i} AND id < 1000000")
            eventually(lambda: late.sent > late.asked, what="a request that is held back")
            run.kill()
            direct = searching(T, slot=run.slot, folder="direct").start()
            database.run(f"DELETE FROM public.t WHERE id % 3 = {i % 3} AND id > 1000", f"UPDATE public.t SET v = 'newer {i}' WHERE id % 2 = 0")
            until_equal(direct, node, "public.t")
            before = late.asked
            late.holding = False
            eventually(lambda: late.asked > before, what="the dead process's request at the node")
            time.sleep(0.3)
            until_equal(direct, node, "public.t")
            assert direct.stop() == 0
            run.start()
        until_equal(run, node, "public.t")
        assert run.stop() == 0
    finally:
        late.close()
