"""PostgreSQL to a real OpenSearch: the load, the stream, restarts; every document compared."""

import time

import pytest

from support import search
from support.fault_proxy import FaultProxy
from support.pipeline import eventually, section
from support.server import Unobtainable

# One worker, so that there is one node.
pytestmark = pytest.mark.xdist_group("search")

T = section("t", table="public.t")


@pytest.fixture(scope="session")
def nodes(ground):
    """nodes(which, *settings) starts one once per session."""
    running = {}

    def start(which="opensearch-2", *settings):
        key = (which, settings)
        if key not in running:
            try:
                running[key] = search.Node(which, f"{ground}/{which}-{len(running)}", *settings)
            except Unobtainable as why:
                pytest.skip(f"{which}: {why}")
        return running[key]

    yield start
    for node in running.values():
        node.stop()


@pytest.fixture(params=["opensearch-2"])
def node(request, nodes):
    made = nodes(request.param)
    made.empty()
    return made


@pytest.fixture
def searching(pipeline, node):
    """searching(*sections, **settings): a pipeline into the node."""

    def make(*sections, url=None, of_target="", **settings):
        target = f'[target]\nflavor = "{node.flavor}"\nurl = "{url or node.url}"\n{of_target}\n'
        return pipeline(*sections, target=target, **settings)

    return make


def until_equal(run, node, *tables, within=60):
    for table in tables:
        deadline = time.monotonic() + within
        pause = 0.3
        while True:
            missing, extra, other = search.differences(run.database, table, node)
            if not (missing or extra or other):
                break
            assert run.running or run.process.returncode == 0, \
                f"the process ended with {run.process.returncode}:\n{run.log()[-4000:]}"
            assert time.monotonic() < deadline, \
                f"{table}: missing {missing[:5]} ({len(missing)}), too many {extra[:5]} ({len(extra)}), " \
                f"different {other[:5]} ({len(other)})\n{run.log()[-3000:]}"
            # Reading everything costs the node more than writing it.
            time.sleep(pause)
            pause = min(pause * 2, 5)


@pytest.fixture
def table(database):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 1000) i")


def test_the_load_and_the_stream(database, node, searching, table):
    run = searching(T).start()
    until_equal(run, node, "public.t")
    database.run("INSERT INTO public.t VALUES (5000, 'new')", "UPDATE public.t SET v = 'changed' WHERE id % 3 = 0",
                 "DELETE FROM public.t WHERE id % 5 = 0", "UPDATE public.t SET id = id + 100000 WHERE id % 7 = 0")
    until_equal(run, node, "public.t")
    assert run.stop() == 0


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
