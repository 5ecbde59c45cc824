"""Connections that break, servers that restart, targets that stall, processes that are killed."""

import signal
import sqlite3
import time

import pytest

from support.fault_proxy import through
from support.pipeline import eventually, section

T = section("t", table="public.t")


def test_a_killed_walsender_is_reconnected_by_the_same_process(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    pid = run.process.pid
    database.run(f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{run.slot}'",
                 "INSERT INTO public.t VALUES (5000, 'after')")
    run.until_equal("public.t")
    assert run.process.pid == pid and run.running


def test_connections_that_are_cut_at_any_byte_lose_nothing(database, pipeline, table, proxy):
    run = pipeline(T, url=through(database, proxy), source="reconnect_max = 100").start()
    run.until_equal("public.t")
    for i in range(12):
        proxy.cut_after(1 + i * 731)
        database.run(f"UPDATE public.t SET v = 'round {i}' WHERE id % 3 = {i % 3}")
        time.sleep(0.3)
    run.until_equal("public.t")


def test_B094_a_black_hole_is_noticed_within_five_seconds(database, pipeline, table, proxy):
    run = pipeline(T, url=through(database, proxy), source="reconnect_max = 100").start()
    run.until_equal("public.t")
    eventually(lambda: run.get("/readyz")[0] == 200)
    time.sleep(1)
    proxy.stalled = True
    began = time.monotonic()
    eventually(lambda: run.status()["pipelines"][0]["state"] != "streaming", within=10)
    assert time.monotonic() - began < 5.5
    proxy.stalled = False
    proxy.cut()
    database.run("INSERT INTO public.t VALUES (7000, 'after')")
    run.until_equal("public.t")


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_restart_is_survived(servers, pipeline, how):
    server = servers(15, "synchronous_commit=on", "wal_sender_timeout=20s")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 1000) i")
        run = pipeline(T, database=database, source="reconnect_max = 100").start()
        run.until_equal("public.t")
        server.restart(how)
        database.run("UPDATE public.t SET v = 'after'")
        run.until_equal("public.t")
        run.kill()
    finally:
        database.drop()


def test_sigkill_in_the_middle_of_the_load_rereads_at_most_a_wave(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(1, 60000) i", "ANALYZE")
    run = pipeline(T, source="load_chunk_rows = 5000\nload_workers = 2", engine="load_max_rows_per_sec = 20000").start()
    eventually(lambda: run.target("SELECT count(*) FROM t") > [(25000,)], within=30)
    run.kill()
    database.run("DELETE FROM public.t WHERE id % 10 = 0", "UPDATE public.t SET v = 'changed' WHERE id % 7 = 0",
                 "INSERT INTO public.t SELECT i, 'new' FROM generate_series(100000, 100100) i")
    run.start()
    run.until_equal("public.t")


def test_V005_a_power_cut_at_the_target_loses_nothing_the_source_was_told(database, pipeline, table):
    run = pipeline(T, engine="checkpoint_interval_ms = 100").start()
    run.until_equal("public.t")
    for i in range(50):
        database.run(f"INSERT INTO public.t VALUES ({10000 + i}, 'x')")
        time.sleep(0.01)
    run.kill()
    wal = run.path.with_name(run.path.name + "-wal")
    size = wal.stat().st_size
    # What was synced survives; of what came later any part of the tail may be gone. Half a frame less
    # than everything is a tail that no sync protected, or the checkpoint's own commit otherwise.
    confirmed = database.value(f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{run.slot}'")
    durable = run.target("SELECT resume FROM _cdc_checkpoint")
    assert confirmed and durable
    with open(wal, "r+b") as file:
        file.truncate(max(size - 2000, 0))
    run.start()
    run.until_equal("public.t")


def test_V006_B085_one_large_transaction_is_all_or_nothing_and_costs_no_memory(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    before = run.rss_kb()
    database.run("INSERT INTO public.t SELECT i, 'bulk bulk bulk bulk bulk' FROM generate_series(100000, 500000) i")
    time.sleep(0.4)
    run.kill()
    assert run.target("SELECT count(*) FROM t WHERE id >= 100000") in ([(0,)], [(400001,)])
    run.start()
    highest = 0

    def done():
        nonlocal highest
        highest = max(highest, run.rss_kb())
        return run.target("SELECT count(*) FROM t WHERE id >= 100000") == [(400001,)]

    eventually(done, within=90)
    assert highest - before < 90_000, f"{before} kB grew to {highest} kB"
    run.until_equal("public.t")


@pytest.mark.parametrize("seconds", [6, pytest.param(60, marks=pytest.mark.long)])
def test_a_stalled_target_stops_the_reading_and_memory_stays_flat(database, pipeline, table, seconds):
    run = pipeline(T, engine="retry_max = 1000").start()
    run.until_equal("public.t")
    foreign = sqlite3.connect(run.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    try:
        with database.session() as session:
            for i in range(20):
                session.run(f"INSERT INTO public.t SELECT i, repeat('y', 200) FROM generate_series({100000 + i * 10000}, {109999 + i * 10000}) i")
        time.sleep(3)
        full = highest = run.rss_kb()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)
            highest = max(highest, run.rss_kb())
        print(f"{full} kB with full windows, at most {highest - full} kB more in {seconds} s")
        assert highest - full < 2048
    finally:
        foreign.execute("ROLLBACK")
        foreign.close()
    run.until_equal("public.t", within=90)


def test_sigterm_ends_within_two_seconds_with_a_stalled_target(database, pipeline, table):
    run = pipeline(T, engine="retry_max = 1000").start()
    run.until_equal("public.t")
    foreign = sqlite3.connect(run.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    try:
        database.run("INSERT INTO public.t SELECT i, 'z' FROM generate_series(100000, 150000) i")
        time.sleep(0.5)
        began = time.monotonic()
        assert run.stop(within=6) == 0
        assert time.monotonic() - began < 3
    finally:
        foreign.execute("ROLLBACK")
        foreign.close()
    run.start()
    run.until_equal("public.t")


def test_sigterm_inside_a_large_transaction_rolls_it_back(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    database.run("INSERT INTO public.t SELECT i, 'bulk' FROM generate_series(100000, 700000) i")
    time.sleep(0.5)
    assert run.stop(within=6) == 0
    assert run.target("SELECT count(*) FROM t WHERE id >= 100000") in ([(0,)], [(600001,)])
    run.start()
    run.until_equal("public.t", within=90)


def test_B097_an_idle_slot_keeps_moving(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    database.run("CREATE TABLE public.unrelated AS SELECT i FROM generate_series(1, 50000) i")
    end = database.value("SELECT pg_current_wal_lsn()")
    eventually(lambda: database.value(f"SELECT confirmed_flush_lsn >= '{end}' FROM pg_replication_slots WHERE slot_name = '{run.slot}'"),
               within=20, what="the slot's confirmed position")


def test_B031_an_open_transaction_that_blocks_the_slot_is_named(database, pipeline, table):
    with database.session() as writer:
        writer.run("BEGIN")
        writer.run("INSERT INTO public.t VALUES (99999, 'open')")
        pid = writer.rows("SELECT pg_backend_pid()")[0][0]
        run = pipeline(T).start()
        eventually(lambda: str(pid) in run.log(), within=20, what="a word about the transaction that blocks")
        writer.run("COMMIT")
    run.until_equal("public.t")


def test_B029_a_slow_target_never_lets_the_server_time_out(servers, pipeline):
    server = servers(15, "wal_sender_timeout=1s")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)")
        run = pipeline(T, database=database, engine="retry_max = 1000").start()
        run.until_equal("public.t")
        pid = database.value("SELECT active_pid FROM pg_replication_slots WHERE database = current_database()")
        foreign = sqlite3.connect(run.path, isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        database.run("INSERT INTO public.t SELECT i, repeat('x', 500) FROM generate_series(1, 60000) i")
        time.sleep(4)
        assert database.value("SELECT active_pid FROM pg_replication_slots WHERE database = current_database()") == pid
        foreign.execute("ROLLBACK")
        foreign.close()
        run.until_equal("public.t")
        run.kill()
    finally:
        database.drop()


def test_two_sinks_of_one_source_and_one_that_is_added_later(database, pipeline, table, tmp_path):
    target = (f'[[sink]]\nname = "a"\nflavor = "sqlite"\npath = "{tmp_path}/p/target.db"\n'
              f'[[sink]]\nname = "lines"\nflavor = "ndjson"\npath = "{tmp_path}/p/out.ndjson"\n')
    run = pipeline(T, target=target).start()
    run.until_equal("public.t")
    database.run("DELETE FROM public.t WHERE id = 1")
    run.until_equal("public.t")
    eventually(lambda: (tmp_path / "p" / "out.ndjson").read_text().count("\n") == 1001)
    assert run.stop() == 0

    third = target + f'[[sink]]\nname = "b"\nflavor = "sqlite"\npath = "{tmp_path}/p/second.db"\n'
    more = pipeline(T, target=third, slot=run.slot).start()
    more.path = tmp_path / "p" / "second.db"
    more.until_equal("public.t")
    database.run("INSERT INTO public.t VALUES (4000, 'both')")
    more.until_equal("public.t")
    more.path = tmp_path / "p" / "target.db"
    more.until_equal("public.t")


def test_no_secret_and_no_value_is_ever_said(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (1, 'planted-value-8412')")
    run = pipeline(T, more='[log]\nlevel = "trace"\n').start()
    run.until_equal("public.t")
    database.run("UPDATE public.t SET v = 'planted-value-8413'", "ALTER TABLE public.t ADD COLUMN w text DEFAULT 'planted-value-8414'",
                 "INSERT INTO public.t VALUES (2, 'planted-value-8415')")
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(2,)])
    said = run.log() + "".join(run.get(path)[1] for path in ("/status", "/actors", "/metrics", "/readyz", "/healthz"))
    assert "planted-value" not in said
    assert ":secret@" not in said and "'secret'" not in said


def test_a_metrics_port_in_use_never_stops_a_pipeline(database, pipeline, table):
    import socket
    run = pipeline(T)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", run.port))
        taken.listen()
        run.start()
        run.until_equal("public.t")
        assert str(run.port) in run.log()


def test_ctrl_c_twice_forces(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGINT)
    run.wait(5)


def test_sighup_drains_like_sigterm_and_stays_ignored_under_nohup(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    database.run("INSERT INTO public.t SELECT i, 'w' FROM generate_series(100000, 120000) i")
    run.process.send_signal(signal.SIGHUP)
    assert run.wait(6) == 0
    was = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run.start()
    finally:
        signal.signal(signal.SIGHUP, was)
    run.until_equal("public.t")
    run.process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    database.run("INSERT INTO public.t VALUES (130000, 'after')")
    run.until_equal("public.t")
    assert run.running and run.stop() == 0
