"""A source that is far behind is read from a copy of its slot, and everything that may go wrong with that."""

import os
import pathlib
import subprocess
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


def halted(run):
    assert run.wait(within=30) != 0
    return run.log()


def test_a_failover_to_another_server_in_the_middle_of_a_call_is_refused_by_name(servers, database, pipeline, table, proxy):
    other = servers(15, "synchronous_commit=on", "wal_sender_timeout=20s").new_database(database.name)
    try:
        run = pipeline(T, url=through(database, proxy), source=ALWAYS)
        backlog(run, transactions=60)
        other.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", f'CREATE PUBLICATION "{run.slot}_pub" FOR TABLE public.t',
                  f"SELECT pg_create_logical_replication_slot('{run.slot}', 'pgoutput')")
        proxy.delay = 0.01
        run.start()
        assert in_the_middle(run)
        proxy.upstream = other.server.port
        proxy.cut()
        proxy.delay = 0
        assert "system identifier" in halted(run)
        assert other.value(f"SELECT NOT active FROM pg_replication_slots WHERE slot_name = '{run.slot}'")
        run.kill()
        # What the target holds is a beginning of the right log: back at the right server it goes on.
        proxy.upstream = database.server.port
        run.start()
        run.until_equal("public.t")
        run.kill()
    finally:
        other.drop()


def test_a_slot_that_is_dropped_in_the_middle_of_a_call_halts_by_name_and_loads_nothing_anew(database, pipeline, table):
    run = pipeline(T, source=ALWAYS)
    backlog(run, transactions=60)
    run.start()
    assert in_the_middle(run)
    # It is free while its copy is read.
    database.run(f"SELECT pg_drop_replication_slot('{run.slot}')")
    log = halted(run)
    assert f"slot {run.slot}" in log and "dropped" in log, log
    assert database.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name LIKE '" + run.slot + "%'") == 0


def test_a_slot_that_the_server_invalidates_in_the_middle_of_a_call_halts_by_name(servers, pipeline):
    server = servers(15, "max_slot_wal_keep_size=64MB", "max_wal_size=64MB", "min_wal_size=32MB", "checkpoint_timeout=1h")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "CREATE TABLE public.aside (v text)")
        run = pipeline(T, database=database, source=ALWAYS)
        backlog(run)
        run.start()
        assert in_the_middle(run)
        run.process.send_signal(19)  # SIGSTOP: nothing moves the slot while the log grows.
        for _ in range(6):
            database.run("INSERT INTO public.aside SELECT repeat('x', 1000) FROM generate_series(1, 40000)", "SELECT pg_switch_wal()", "CHECKPOINT")
        assert database.value(f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{run.slot}'") == "lost"
        run.process.send_signal(18)
        assert "max_slot_wal_keep_size" in halted(run)
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
    database.run("INSERT INTO public.t SELECT i, repeat(md5(i::text), 4) FROM generate_series(10001, 1010000) i")
    run.start()
    most = [0]

    def watch():
        while run.running and not finished.is_set():
            most[0] = max(most[0], run.rss_kb())
            time.sleep(0.02)

    finished = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(1_001_000,)], within=120)
    finished.set()
    watcher.join()
    run.until_equal("public.t")
    assert reading(run)["catch_ups"] == 1
    assert most[0] < before + 60_000, f"{before} kB, then {most[0]} kB"


def test_a_stream_that_falls_behind_goes_over_while_it_runs(database, pipeline, table, proxy):
    run = pipeline(T, url=through(database, proxy), source="catch_up_bytes = 2000000\nreconnect_max = 1000").start()
    run.until_equal("public.t")
    proxy.delay = 0.05  # So slow that what is written would take it far longer than ten seconds.
    with database.session() as session:
        for i in range(60):
            session.run(f"INSERT INTO public.t SELECT i, repeat('x', 200) FROM generate_series({10000 + i * 5000}, {14999 + i * 5000}) i")
    eventually(lambda: reading(run)["mode"] == "catch-up", within=30)
    proxy.delay = 0
    run.until_equal("public.t", within=90)
    streams_again(run)
    assert run.status()["pipelines"][0]["reconnects"] == 0


def test_what_piled_up_in_the_middle_of_a_load_is_read_from_a_copy_of_the_slot(database, pipeline, table):
    database.run("INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(2000, 20999) i", "ANALYZE public.t")
    run = pipeline(T, source="catch_up_bytes = 1000000\nload_chunk_rows = 1000", engine="load_max_rows_per_sec = 4000\ncheckpoint_interval_ms = 100").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(2000,)])
    run.kill()
    with database.session() as session:
        for i in range(30):
            session.run(f"INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series({100000 + i * 500}, {100499 + i * 500}) i")
            session.run(f"UPDATE public.t SET v = 'round {i}' WHERE id % 30 = {i} AND id < 100000")
    run.start()
    eventually(lambda: reading(run)["catch_ups"] > 0 and reading(run)["mode"] == "load", within=20)
    assert not run.status()["pipelines"][0]["load"]["finished"]
    run.until_equal("public.t", within=90)


@pytest.fixture
def recording_syncs(tmp_path):
    library = tmp_path / "record_syncs.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).parent / "support" / "record_syncs.c"], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.mark.parametrize("source", [ALWAYS, NEVER], ids=["catch_up", "stream"])
def test_V005_a_power_cut_at_the_target_loses_nothing_of_a_backlog_that_the_source_was_told(database, pipeline, table, recording_syncs, source):
    run = pipeline(T, source=source, engine="checkpoint_interval_ms = 100")
    run.environment.update(recording_syncs)
    backlog(run, transactions=200, rows=50)
    wal = run.path.with_name(run.path.name + "-wal")
    last_sync = run.path.with_name(run.path.name + "-wal.synced")
    before, lost = 0, 0
    for life, kept in enumerate((0.0, 0.3, 0.8)):
        last_sync.unlink(missing_ok=True)
        run.start()
        for i in range(60):
            database.run(f"INSERT INTO public.t VALUES ({5000 + life * 100 + i}, 'x')")
            time.sleep(0.01)
        eventually(lambda: run.target("SELECT count(*) FROM t WHERE id = ?", 5059 + life * 100) == [(1,)])
        run.kill()
        told = int(database.value(f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{run.slot}'"))
        assert told > before
        synced, size = int(last_sync.read_text()), wal.stat().st_size
        lost += size - synced
        # What else was in memory is gone with the power.
        wal.with_name(run.path.name + "-shm").unlink()
        os.truncate(wal, synced + int((size - synced) * kept))
        found = subprocess.run(["sqlite3", run.path, "SELECT resume FROM _cdc_checkpoint"], capture_output=True, text=True, check=True)
        assert int(found.stdout) >= told
        before = told
        database.run(*[f"INSERT INTO public.t VALUES ({6000 + life * 100 + i}, 'backlog')" for i in range(50)])
    assert lost > 0
    run.start()
    run.until_equal("public.t")
    assert (reading(run)["catch_ups"] > 0) == (source == ALWAYS)


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
