"""Commits that the log shows before anybody can see them, and rows copied in that moment.

`synchronous_standby_names = 'nobody'` makes a commit hang after it was logged (and streamed) and
before it is visible. A load that trusted log positions would copy the old row over the new one.
"""

import threading
import time

import pytest

from support.pipeline import eventually, section
from support.server import Session


class Hidden:
    """Transactions that hang at commit until release()."""

    def __init__(self, server, database):
        self.server, self.database, self.threads = server, database, []

    def _names(self, value):
        with Session(self.server.url) as admin:
            admin.run(f"ALTER SYSTEM SET synchronous_standby_names = '{value}'")
            admin.run("SELECT pg_reload_conf()")

    def commit(self, *statements):
        """Runs them in one transaction whose commit hangs; returns once it does."""
        self._names("nobody")
        eventually(lambda: self.database.value("SHOW synchronous_standby_names") == "nobody")
        before = self._waiting()

        def work():
            with self.database.session() as session:
                session.run("SET synchronous_commit = on")
                session.transaction(*statements)

        self.threads.append(threading.Thread(target=work, daemon=True))
        self.threads[-1].start()
        eventually(lambda: self._waiting() > before, what="a hanging commit")

    def _waiting(self):
        return self.database.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
                                   "AND datname = current_database()")

    def release(self):
        self._names("")
        for thread in self.threads:
            thread.join(timeout=30)
        self.threads = []


@pytest.fixture
def sync_server(servers):
    return servers(15, "synchronous_commit=local")


@pytest.fixture
def database(sync_server):
    made = sync_server.new_database()
    yield made
    made.drop()


@pytest.fixture
def hidden(sync_server, database):
    made = Hidden(sync_server, database)
    yield made
    made.release()


def prepared(database, pipeline, *tables, **settings):
    """A pipeline whose slot exists (its creation would wait for hanging commits), and whose tables are
    published but not yet loaded: the next start loads them."""
    database.run("CREATE TABLE public.other (id int PRIMARY KEY)")
    first = pipeline(section("other", table="public.other"), **settings)
    assert first.once() == 0
    for table in tables:
        database.run(f'ALTER PUBLICATION "{first.slot}_pub" ADD TABLE {table}')
    return pipeline(section("other", table="public.other"),
                    *[section(t.split(".")[1], table=t) for t in tables], slot=first.slot, **settings)


def streamed(run, database):
    """Waits until the stream has passed everything that is in the log now."""
    number = int(time.time() * 1000) % 2_000_000_000
    database.run(f"INSERT INTO public.other VALUES ({number})")
    eventually(lambda: run.target("SELECT count(*) FROM other WHERE id = ?", number) == [(1,)])


def big_rows(rows=200):
    return ["CREATE TABLE public.t (id int PRIMARY KEY, n int, big text)",
            "ALTER TABLE public.t ALTER COLUMN big SET STORAGE EXTERNAL",
            f"INSERT INTO public.t SELECT i, 0, repeat(md5(i::text), 200) FROM generate_series(1, {rows}) i"]


def test_V001_a_hidden_commit_before_the_load_is_not_overwritten_by_the_old_row(database, pipeline, hidden):
    database.run(*big_rows())
    run = prepared(database, pipeline, "public.t")
    hidden.commit("UPDATE public.t SET n = 1 WHERE id = 1")
    run.start()
    time.sleep(2)
    hidden.release()
    run.until_equal("public.t")
    assert run.target("SELECT n FROM t WHERE id = 1") == [(1,)]


def test_V001_the_same_while_the_log_is_read_from_a_copy_of_the_slot(database, pipeline, hidden):
    database.run(*big_rows(1000), "ANALYZE")
    run = prepared(database, pipeline, "public.t", source="catch_up_bytes = 1\nload_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 400")
    database.run(*[f"INSERT INTO public.other VALUES ({-i})" for i in range(1, 200)])
    hidden.commit("UPDATE public.t SET n = 1 WHERE id IN (1, 500, 999)")
    run.start()
    eventually(lambda: run.target("SELECT count(*) FROM other") >= [(199,)])
    assert run.status()["pipelines"][0]["reading"]["catch_ups"] > 0
    time.sleep(2)
    hidden.release()
    run.until_equal("public.t", "public.other")
    assert run.target("SELECT n FROM t WHERE id IN (1, 500, 999)") == [(1,)] * 3


def test_V001_B020_B082_eight_writers_with_small_ranges_and_no_setting(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n int)", "INSERT INTO public.t SELECT i, 0 FROM generate_series(1, 20000) i", "ANALYZE")
    stop = threading.Event()

    def write(first):
        with database.session() as session:
            i = first
            while not stop.is_set():
                session.run(f"UPDATE public.t SET n = n + 1 WHERE id = {1 + i * 37 % 20000}")
                i += 8

    threads = [threading.Thread(target=write, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 200\nload_workers = 2").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(20000,)], within=90)
    stop.set()
    for thread in threads:
        thread.join()
    run.until_equal("public.t")


def test_V003_an_update_before_the_copy_and_the_unchanged_large_value_make_one_whole_row(database, pipeline):
    database.run(*big_rows(2000), "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 800").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(0,)])
    database.run("UPDATE public.t SET n = n + 1")
    run.until_equal("public.t")


@pytest.mark.parametrize("forth", [True, False])
def test_V004_a_key_moves_between_ranges_with_an_unchanged_large_value(database, pipeline, forth):
    database.run(*big_rows(2000), "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 800").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(0,)])
    moves = [f"UPDATE public.t SET id = {-i if forth else 5000 + i}, n = 9 WHERE id = {2001 - i if forth else i}" for i in range(1, 60)]
    database.run(*moves)
    run.until_equal("public.t")


def test_V007_a_hot_row_with_a_large_value_does_not_keep_the_load_from_ending(database, pipeline):
    database.run(*big_rows(3000), "ANALYZE")
    stop = threading.Event()

    def heat():
        with database.session() as session:
            while not stop.is_set():
                session.run("UPDATE public.t SET n = n + 1 WHERE id = 1500")
                time.sleep(0.002)

    thread = threading.Thread(target=heat, daemon=True)
    thread.start()
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 200",
                   engine="load_max_rows_per_sec = 1000").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(3000,)], within=60)
    stop.set()
    thread.join()
    run.until_equal("public.t")


def test_V008_a_hidden_commit_between_two_waves(database, pipeline, hidden):
    database.run(*big_rows(1000), "ANALYZE")
    run = prepared(database, pipeline, "public.t", source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 400")
    run.start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(50,)])
    hidden.commit("UPDATE public.t SET n = 1 WHERE id IN (1, 500, 999)")
    streamed(run, database)
    time.sleep(2)
    hidden.release()
    run.until_equal("public.t")


def test_V009_sigkill_while_a_commit_hangs(database, pipeline, hidden):
    database.run(*big_rows(1000), "ANALYZE")
    run = prepared(database, pipeline, "public.t", source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 400\ncheckpoint_interval_ms = 100")
    run.start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(50,)])
    hidden.commit("UPDATE public.t SET n = 1 WHERE id IN (1, 500, 999)")
    streamed(run, database)
    run.kill()
    run.start()
    time.sleep(2)
    hidden.release()
    run.until_equal("public.t")


def test_V009_a_writer_that_stays_open_does_not_hold_the_load(database, pipeline):
    database.run(*big_rows(1000), "ANALYZE", "CREATE TABLE public.aside (id int)")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 400\ncheckpoint_interval_ms = 100").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(50,)])
    with database.session() as writer:
        writer.run("BEGIN")
        writer.run("INSERT INTO public.aside VALUES (1)")
        database.run("UPDATE public.t SET n = n + 1 WHERE id % 3 = 0")
        run.kill()
        run.start()
        run.until_equal("public.t", within=30)
        writer.run("ROLLBACK")


def test_V010_V011_moves_and_reinserts_ahead_of_the_stream(database, pipeline):
    database.run(*big_rows(1500), "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 600").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(0,)])
    with database.session() as session:
        for i in range(1, 40):
            low, high = 10 * i, 1500 - 10 * i
            session.transaction(f"UPDATE public.t SET id = {10000 + i} WHERE id = {low}",
                                f"INSERT INTO public.t VALUES ({low}, 5, 'fresh') ON CONFLICT (id) DO NOTHING")
            if high != low:
                session.transaction(f"DELETE FROM public.t WHERE id = {high}",
                                    f"UPDATE public.t SET id = {high}, n = 7 WHERE id = {high - 1}")
    run.until_equal("public.t")


def test_V012_the_refetch_list_survives_sigkill(database, pipeline):
    database.run(*big_rows(1500), "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 600\ncheckpoint_interval_ms = 100").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(300,)])
    for i in range(20):
        # A row not yet copied moves to a key whose range is done: the target has nothing to move.
        database.run(f"UPDATE public.t SET id = {-1 - i} WHERE id = {1490 - i}")
        if i % 5 == 4:
            run.kill()
            run.start()
    database.run("DELETE FROM public.t WHERE id = -3")
    run.until_equal("public.t")


def test_V014_truncate_while_copied_rows_wait(database, pipeline):
    database.run(*big_rows(1500), "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 600").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(0,)])
    database.run("TRUNCATE public.t", "INSERT INTO public.t VALUES (3, 1, 'after')")
    run.until_equal("public.t")


def test_V015_tuples_that_move_between_pages_during_the_load(database, pipeline):
    database.run("CREATE TABLE public.t (a text, b text, n int, PRIMARY KEY (a, b)) WITH (fillfactor = 50)",
                 "INSERT INTO public.t SELECT md5(i::text), 'b', 0 FROM generate_series(1, 20000) i", "ANALYZE")
    stop = threading.Event()

    def write():
        with database.session() as session:
            i = 0
            while not stop.is_set():
                i += 1
                session.run(f"UPDATE public.t SET n = n + 1 WHERE a = md5('{1 + i * 17 % 20000}')")

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 500\nload_workers = 2").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(20000,)], within=90)
    stop.set()
    thread.join()
    run.until_equal("public.t")


def test_V016_a_hanging_commit_that_no_snapshot_lists_yet(database, pipeline, hidden):
    database.run(*big_rows(400), "ANALYZE")
    run = prepared(database, pipeline, "public.t", source="load_chunk_rows = 100",
                   engine="load_max_rows_per_sec = 300\ncheckpoint_interval_ms = 100")
    run.start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(50,)])
    hidden.commit("UPDATE public.t SET id = 9000, n = 1 WHERE id = 399", "UPDATE public.t SET n = 2 WHERE id = 398")
    time.sleep(0.5)
    run.kill()
    run.start()
    time.sleep(2)
    hidden.release()
    run.until_equal("public.t")


@pytest.mark.parametrize("kind", ["full", "append"])
def test_V017_keyless_tables_keep_their_multiset(database, pipeline, hidden, kind):
    database.run("CREATE TABLE public.t (v int, w text)",
                 *(["ALTER TABLE public.t REPLICA IDENTITY FULL"] if kind == "full" else []),
                 "INSERT INTO public.t SELECT i % 50, 'w' FROM generate_series(1, 5000) i",
                 "CREATE TABLE public.other (id int PRIMARY KEY)")
    sections = [section("t", table="public.t", **({"append_only": True} if kind == "append" else {})),
                section("other", table="public.other")]
    run = pipeline(*sections, engine="load_max_rows_per_sec = 1500\ncheckpoint_interval_ms = 100").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(200,)] or "halted" in run.log())
    hidden.commit("INSERT INTO public.t VALUES (7, 'hidden'), (7, 'hidden')")
    run.kill()
    if kind == "full":
        database.run("DELETE FROM public.t WHERE ctid IN (SELECT ctid FROM public.t WHERE v = 3 LIMIT 5)")
    run.start()
    time.sleep(1)
    hidden.release()
    database.run("INSERT INTO public.t VALUES (8, NULL), (8, NULL)")
    run.kill()
    run.start()
    run.until_equal("public.t", within=90)
