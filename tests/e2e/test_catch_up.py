"""A source that is far behind is read from a copy of its slot, and everything that may go wrong with that."""

import threading
import time

import pytest

from support.fault_proxy import through
from support.pipeline import eventually, section

T = section("t", table="public.t")
# Behind by anything at all is far behind, so that a backlog need not be large.
ALWAYS = "catch_up_bytes = 1\nreconnect_max = 1000"
NEVER = "catch_up_bytes = 0\nreconnect_max = 1000"


def backlog(run, transactions=40, rows=2500):
    """Stops the pipeline at a slot that is there, and writes what it then misses."""
    run.start()
    run.until_equal("public.t")
    run.stop()
    with run.database.session() as session:
        for i in range(transactions):
            session.run(f"INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series({10000 + i * rows}, {9999 + (i + 1) * rows}) i")
        session.run("UPDATE public.t SET v = 'changed' WHERE id % 10 = 0")
        session.run("DELETE FROM public.t WHERE id % 31 = 0")


def reading(run):
    try:
        return run.status()["pipelines"][0]["reading"]
    except (OSError, IndexError, ValueError):
        return {"mode": "none", "catch_ups": 0, "note": None}


def copies(database, slot):
    return database.value(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{slot}_catch_up'")


def streams_again(run):
    eventually(lambda: reading(run)["mode"] == "stream" and run.get("/readyz")[0] == 200)
    eventually(lambda: copies(run.database, run.slot) == 0, within=5)


def in_the_middle(run, within=10):
    """Waits until a call is under way at the server; false when there is none."""
    deadline = time.monotonic() + within
    with run.database.session() as session:
        while time.monotonic() < deadline:
            if session.rows("SELECT FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() "
                            f"AND query LIKE 'COPY%''{run.slot}_catch_up''%'"):
                return True
            time.sleep(0.002)
    return False


def test_a_backlog_is_read_from_a_copy_of_the_slot_and_then_the_stream_goes_on(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run)
    run.start()
    run.until_equal("public.t")
    streams_again(run)
    assert reading(run)["catch_ups"] == 1 and reading(run)["note"] is None
    database.run("INSERT INTO public.t VALUES (5000, 'after')")
    run.until_equal("public.t")
    eventually(lambda: database.value("SELECT confirmed_flush_lsn = pg_current_wal_lsn() OR active FROM pg_replication_slots "
                                      f"WHERE slot_name = '{run.slot}'"))
    assert run.stop() == 0


def test_it_is_left_alone_below_the_threshold_and_when_it_is_off(database, pipeline, table):
    for folder, setting in (("off", NEVER), ("below", "catch_up_bytes = 1000000000")):
        run = pipeline(T, source=setting, folder=folder)
        backlog(run, transactions=4)
        run.start()
        run.until_equal("public.t")
        assert reading(run)["catch_ups"] == 0
        assert run.stop() == 0
        database.run("DELETE FROM public.t WHERE id >= 10000")


def test_sigkill_in_the_middle_of_a_call_loses_and_repeats_nothing(database, pipeline, table):
    run = pipeline(T, source=ALWAYS, engine="checkpoint_interval_ms = 100")
    backlog(run)
    killed = 0
    for _ in range(8):
        run.start()
        if in_the_middle(run, within=3):
            time.sleep(0.01 * killed)
            killed += 1
        run.kill()
    assert killed >= 3
    run.start()
    run.until_equal("public.t")
    streams_again(run)
    # A backend that works on a call finds out within half a second that nobody waits for it.
    eventually(lambda: copies(database, run.slot) == 0, within=3)


def test_a_stop_in_the_middle_of_a_call_takes_no_time(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    run.start()
    run.until_equal("public.t")
    run.stop()
    database.run("INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(10000, 400000) i")
    run.start()
    assert in_the_middle(run)
    began = time.monotonic()
    assert run.stop() == 0
    assert time.monotonic() - began < 2
    eventually(lambda: copies(database, run.slot) == 0, within=1)
    run.start()
    run.until_equal("public.t")


def test_connections_that_are_cut_at_any_byte_of_a_call_lose_nothing(database, pipeline, table, proxy):
    run = pipeline(T, url=through(database, proxy), source=ALWAYS, engine="checkpoint_interval_ms = 100")
    backlog(run)
    run.start()
    for i in range(10):
        proxy.cut_after(20_000 + i * 300_007)
        time.sleep(0.5)
    run.until_equal("public.t")
    streams_again(run)


def test_a_black_hole_in_the_middle_of_a_call_is_noticed_within_five_seconds(database, pipeline, table, proxy):
    run = pipeline(T, url=through(database, proxy), source=ALWAYS)
    backlog(run, transactions=60)
    proxy.delay = 0.01
    run.start()
    assert in_the_middle(run)
    proxy.stalled = True
    began = time.monotonic()
    eventually(lambda: run.status()["pipelines"][0]["state"] not in ("starting", "streaming"), within=12)
    assert time.monotonic() - began < 7
    proxy.stalled, proxy.delay = False, 0
    proxy.cut()
    run.until_equal("public.t")


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_restart_in_the_middle_of_a_call_is_survived(servers, pipeline, how):
    server = servers(15, "synchronous_commit=on", "wal_sender_timeout=20s")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)")
        run = pipeline(T, database=database, source=ALWAYS)
        backlog(run)
        run.start()
        in_the_middle(run)
        server.restart(how)
        run.until_equal("public.t")
        assert copies(database, run.slot) == 0 or reading(run)["mode"] == "catch-up"
        run.kill()
    finally:
        database.drop()


def goes_on_without(run, reason):
    """The stream does the work, says once why, and the process does not fail for it."""
    run.start()
    run.until_equal("public.t")
    note = reading(run)["note"]
    assert note and reason in note, note
    assert reading(run)["mode"] == "stream"
    time.sleep(1)
    assert run.log().count("cannot catch up faster") == 1, run.log()
    pipeline = run.status()["pipelines"][0]
    assert pipeline["reconnects"] == 0 and pipeline["incarnation"] == 1
    assert run.stop() == 0


def test_without_a_free_slot_the_stream_goes_on(servers, pipeline):
    server = servers(15, "max_replication_slots=1")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)")
        run = pipeline(T, database=database, source=ALWAYS)
        backlog(run, transactions=4)
        goes_on_without(run, "all replication slots are in use")
    finally:
        database.drop()


def test_without_the_right_to_the_function_the_stream_goes_on(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run, transactions=4)
    role = "r_" + run.slot
    database.run(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'secret'", f"GRANT SELECT ON public.t TO {role}",
                 "REVOKE EXECUTE ON FUNCTION pg_copy_logical_replication_slot(name, name, boolean) FROM public")
    try:
        run.environment["CDC_TEST_SOURCE"] = database.url.replace("postgres:secret", f"{role}:secret")
        goes_on_without(run, "permission denied")
    finally:
        run.kill()
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_with_too_little_room_for_temporary_files_the_stream_goes_on(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run)
    database.run(f"ALTER DATABASE {database.name} SET temp_file_limit = '64kB'",
                 f"ALTER DATABASE {database.name} SET work_mem = '64kB'")
    goes_on_without(run, "temp_file_limit")


def test_one_large_transaction_is_caught_up_with_in_flat_memory(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    run.start()
    run.until_equal("public.t")
    before = run.rss_kb()
    run.stop()
    database.run("INSERT INTO public.t SELECT i, repeat(md5(i::text), 8) FROM generate_series(10000, 400000) i")
    run.start()
    most = [0]

    def watch():
        while run.running and not finished.is_set():
            most[0] = max(most[0], run.rss_kb())
            time.sleep(0.02)

    finished = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    run.until_equal("public.t")
    finished.set()
    watcher.join()
    assert reading(run)["catch_ups"] == 1
    assert most[0] < before + 60_000, f"{before} kB, then {most[0]} kB"


def test_a_stream_that_falls_behind_goes_over_while_it_runs(database, pipeline, table):
    run = pipeline(T, source="catch_up_bytes = 2000000\nreconnect_max = 1000").start()
    run.until_equal("public.t")
    run.process.send_signal(19)  # SIGSTOP: what is written meanwhile is a backlog.
    with database.session() as session:
        for i in range(60):
            session.run(f"INSERT INTO public.t SELECT i, repeat('x', 200) FROM generate_series({10000 + i * 5000}, {14999 + i * 5000}) i")
    run.process.send_signal(18)
    run.until_equal("public.t", within=90)
    streams_again(run)


def test_a_second_reader_of_the_slot_is_refused_while_the_first_catches_up(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run, transactions=60)
    second = pipeline(T, source="catch_up_bytes = 1\nreconnect_max = 1", folder="second", slot=run.slot)
    run.start()
    assert in_the_middle(run)
    run.process.send_signal(19)  # SIGSTOP: its connection stays, and with it the copy.
    second.start()
    eventually(lambda: "is in use" in second.log(), within=20)
    second.kill()
    run.process.send_signal(18)
    run.until_equal("public.t")


def test_status_names_the_copy_as_ours(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run)
    run.start()
    seen = ""
    while not run.equal("public.t") and "catch-up" not in seen:
        seen = run.command("status", "--max-retained-mb", "100000").stdout
    assert "catch-up" in seen or run.equal("public.t"), seen
    run.until_equal("public.t")
