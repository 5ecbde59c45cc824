"""What is wrong is named: file:line:key, or server, object and fix. Nothing is lost, nothing crashes."""

import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

import pytest

from support.fault_proxy import FaultProxy
from support.pipeline import eventually, section
from support.server import Database, Server, Session

T = section("t", table="public.t")


@pytest.fixture
def table(database):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 500) i")


def ends(run, *words, status=1, within=30):
    """The process ends with `status` and its output names every word."""
    assert run.wait(within) == status, run.log()
    for word in words:
        assert word in run.log(), f"{word!r} is not in:\n{run.log()}"


# -- configuration ------------------------------------------------------------------------------------


def test_every_mistake_of_a_file_is_reported_at_once_and_nothing_is_touched(database, pipeline, table):
    run = pipeline(T + "colums = [\"id\"]\n", section("u", table="public.t", into="t"),
                   engine='batch_size = "many"\ncheckpoint_interval_ms = 500')
    run.start()
    ends(run, "cdc.toml:", "colums", "columns", "batch_size", "sync.u.table", status=2)
    assert not run.path.exists()
    assert database.value("SELECT count(*) FROM pg_publication") == 0


def test_a_missing_environment_variable_is_named(pipeline, table):
    run = pipeline(T)
    del run.environment["CDC_TEST_SOURCE"]
    run.start()
    ends(run, "CDC_TEST_SOURCE", status=2)


def test_a_file_that_is_not_there_or_not_toml(pipeline, table):
    run = pipeline(T)
    run.config.write_text("[source\nurl = 3")
    run.start()
    ends(run, "cdc.toml:1", status=2)
    run.config.unlink()
    run.start()
    ends(run, "cdc.toml", status=2)


# -- the source ---------------------------------------------------------------------------------------


def test_a_wrong_password_halts_at_once_and_never_shows_it(database, pipeline, table):
    run = pipeline(T, url=database.url.replace(":secret@", ":sesame@")).start()
    ends(run, "127.0.0.1", "password", within=20)
    assert "sesame" not in run.log()


def test_a_certificate_of_another_authority_is_refused(database, pipeline, table, tmp_path):
    other = tmp_path / "other.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-keyout",
                    tmp_path / "other.key", "-out", other], check=True, capture_output=True)
    run = pipeline(T, source=f'sslmode = "verify-ca"\nsslrootcert = "{other}"').start()
    ends(run, "127.0.0.1", "sslrootcert")


def test_a_certificate_for_another_name_is_refused(database, pipeline, table, server):
    own = pathlib.Path(server.folder) / "server.crt"
    settings = f'sslmode = "verify-full"\nsslrootcert = "{own}"'
    assert pipeline(T, source=settings, url=database.url.replace("127.0.0.1", "localhost")).once() == 0
    elsewhere = database.url.replace("127.0.0.1", "db.elsewhere") + "?hostaddr=127.0.0.1"
    ends(pipeline(T, source=settings, folder="q", url=elsewhere).start(), "db.elsewhere", "verify-ca")


def test_an_unknown_database_is_named(database, pipeline, table):
    run = pipeline(T, url=database.url.rsplit("/", 1)[0] + "/nowhere").start()
    ends(run, "nowhere", within=20)


def test_a_host_without_an_address_is_named(database, pipeline, table):
    run = pipeline(T, url=database.url.replace("127.0.0.1", "db.nowhere.invalid"), source="reconnect_max = 1").start()
    ends(run, "db.nowhere.invalid", within=60)


def test_another_server_under_the_same_address_is_refused_by_name(ground, database, pipeline, table):
    proxy = FaultProxy(database.server.port)
    run = pipeline(T, url=database.url.replace(str(database.server.port), str(proxy.port)))
    assert run.once() == 0
    other = Server(15, f"{ground}/another")
    try:
        with Session(other.url) as session:
            session.run(f'CREATE DATABASE "{database.name}"')
        Database(other, database.name).run("CREATE TABLE public.t (id int PRIMARY KEY, v text)")
        proxy.upstream = other.port
        run.start()
        ends(run, "another stream", "target.db", within=40)
        assert run.target("SELECT count(*) FROM t") == [(500,)]
        checked = run.command("validate")
        assert checked.returncode == 1 and "another stream" in checked.stdout
    finally:
        proxy.close()
        other.stop("immediate")


def test_a_server_that_is_down_is_retried_and_then_given_up(database, pipeline, table):
    proxy = FaultProxy(database.server.port)
    proxy.refusing = True
    run = pipeline(T, url=database.url.replace(str(database.server.port), str(proxy.port)),
                   source="reconnect_max = 2").start()
    ends(run, str(proxy.port), within=40)
    proxy.close()


def test_a_server_that_comes_up_later_is_found(database, pipeline, table):
    proxy = FaultProxy(database.server.port)
    proxy.refusing = True
    run = pipeline(T, url=database.url.replace(str(database.server.port), str(proxy.port)),
                   source="reconnect_max = 50").start()
    time.sleep(1)
    proxy.refusing = False
    run.until_equal("public.t")
    proxy.close()


def test_a_table_that_is_missing_is_named(pipeline, table):
    run = pipeline(T, section("u", table="public.nothing")).start()
    ends(run, "public.nothing")


def test_a_table_without_a_key_is_refused_with_both_ways_on(database, pipeline, table):
    database.run("CREATE TABLE public.k (v int)")
    run = pipeline(T, section("k", table="public.k")).start()
    ends(run, "public.k", "append_only", "REPLICA IDENTITY")
    assert database.value("SELECT count(*) FROM pg_publication_tables WHERE tablename = 'k'") == 0


def test_replica_identity_nothing_is_refused(database, pipeline, table):
    database.run("ALTER TABLE public.t REPLICA IDENTITY NOTHING")
    run = pipeline(T).start()
    ends(run, "public.t", "REPLICA IDENTITY")


def test_a_role_without_select_is_told_the_grant(database, pipeline, table):
    database.run("DROP ROLE IF EXISTS poor", "CREATE ROLE poor LOGIN REPLICATION PASSWORD 'secret'")
    run = pipeline(T, url=database.url.replace("postgres:secret", "poor:secret")).start()
    ends(run, "GRANT")


def test_publication_members_that_differ_are_printed_with_the_alter(database, pipeline, table):
    database.run("CREATE TABLE public.u (id int PRIMARY KEY)")
    run = pipeline(T)
    assert run.once() == 0
    more = pipeline(T, section("u", table="public.u"), slot=run.slot).start()
    ends(more, "ALTER PUBLICATION", "public", "u")
    database.run(f'ALTER PUBLICATION "{run.slot}_pub" ADD TABLE public.u', "INSERT INTO public.u VALUES (1)")
    more.start()
    more.until_equal("public.t", "public.u")


def test_a_publication_that_the_log_was_written_without_is_named_with_the_way_on(database, pipeline, table):
    database.run("CREATE TABLE public.l (v text)", "INSERT INTO public.l VALUES ('a')")
    sections = (T, section("l", table="public.l", append_only=True))
    run = pipeline(T).start()
    run.until_equal("public.t")
    more = pipeline(*sections, slot=run.slot, folder="q", target=f'[target]\nflavor = "sqlite"\npath = "{run.path}"\n')
    more.path = run.path
    run.stop()
    database.run("UPDATE public.t SET v = 'between'")
    more.start()
    ends(more, f"{run.slot}_pub_append", "status --caught-up", "CREATE PUBLICATION")

    run.start()
    database.run(f"CREATE PUBLICATION \"{run.slot}_pub_append\" FOR TABLE public.l "
                 "WITH (publish_via_partition_root = true, publish = 'insert, truncate')", "UPDATE public.t SET v = 'after'")
    run.until_equal("public.t")
    assert run.command("status", "--caught-up", "--timeout", "30").returncode == 0
    run.stop()
    more.start()
    more.until_equal("public.t", "public.l")
    more.kill()

    database.run(f'DROP PUBLICATION "{run.slot}_pub_append"', f'DROP PUBLICATION "{run.slot}_pub"')
    more.start()
    ends(more, f"{run.slot}_pub", "un --fresh-slot-and-load")
    checked = more.command("validate")
    assert checked.returncode == 1 and "un --fresh-slot-and-load" in checked.stdout


def test_a_slot_of_another_plugin_is_refused(database, pipeline, table):
    run = pipeline(T)
    database.run(f"SELECT pg_create_logical_replication_slot('{run.slot}', 'test_decoding')")
    run.start()
    ends(run, "test_decoding", run.slot)


def test_B026_a_slot_with_two_phase_is_refused(database, pipeline, table):
    run = pipeline(T)
    database.run(f"SELECT pg_create_logical_replication_slot('{run.slot}', 'pgoutput', false, true)")
    run.start()
    ends(run, "two_phase", run.slot)


def test_B100_a_standby_is_refused_and_not_waited_for(ground, pipeline):
    server = Server(15, f"{ground}/standby")
    try:
        server.stop()
        data = pathlib.Path(server.folder) / "data"
        (data / "standby.signal").touch()
        shutil.chown(data / "standby.signal", data.owner(), data.group())
        server.restart()
        run = pipeline(T, database=Database(server, "postgres")).start()
        ends(run, "is a standby", "primary")
    finally:
        server.stop("immediate")


def test_a_slot_that_was_dropped_is_not_recreated_in_silence(database, pipeline, table):
    run = pipeline(T)
    assert run.once() == 0
    database.run(f"SELECT pg_drop_replication_slot('{run.slot}')")
    run.start()
    ends(run, run.slot)
    assert database.value("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()") == 0


def test_a_slot_in_use_names_the_pid(database, pipeline, table):
    first = pipeline(T).start()
    first.until_equal("public.t")
    pid = database.value(f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{first.slot}'")
    second = pipeline(T, slot=first.slot, folder="q", source="reconnect_max = 1").start()
    ends(second, str(pid), within=40)
    assert first.running


def test_B028_B091_a_lost_slot_is_named_and_not_reloaded_in_silence(servers, pipeline, tmp_path):
    server = servers(15, "max_slot_wal_keep_size=32MB", "max_wal_size=64MB", "min_wal_size=32MB")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (1, 'a')")
        run = pipeline(T, database=database)
        assert run.once() == 0
        for _ in range(6):
            database.run("SELECT pg_logical_emit_message(false, 'fill', repeat('x', 1000000)) FROM generate_series(1, 14)",
                         "SELECT pg_switch_wal()", "CHECKPOINT")
        shutil.copy(run.path, tmp_path / "copy.db")
        run.start()
        ends(run, run.slot, "lost", "run --fresh-slot-and-load", within=40)
        # A copy from before points at the same slot: no better, and no loop.
        shutil.copy(tmp_path / "copy.db", run.path)
        run.start()
        ends(run, run.slot, "lost", "run --fresh-slot-and-load", within=40)
        assert "lost" in run.command("validate").stdout
        database.run("DELETE FROM public.t", "INSERT INTO public.t VALUES (2, 'b')")
        run.start("--fresh-slot-and-load")
        run.until_equal("public.t")
        assert run.stop() == 0
        assert run.once() == 0
    finally:
        database.drop()


# -- the target ---------------------------------------------------------------------------------------


def test_a_target_older_than_the_slot_is_refused_by_name(database, pipeline, table, tmp_path):
    run = pipeline(T)
    assert run.once() == 0
    shutil.copy(run.path, tmp_path / "copy.db")
    database.run("INSERT INTO public.t VALUES (1000, 'later')")
    assert run.once() == 0
    for left in pathlib.Path(run.folder).glob("target.db*"):
        left.unlink()
    shutil.copy(tmp_path / "copy.db", run.path)
    run.start()
    ends(run, run.slot, "/", "run --fresh-slot-and-load")


def test_a_target_file_that_is_no_database(pipeline, table):
    run = pipeline(T)
    run.path.write_text("this is no database, but it is long enough to look like a file" * 20)
    run.start()
    ends(run, "target.db", "database")


def test_a_target_of_another_stream_is_refused(database, pipeline, table):
    first = pipeline(T)
    assert first.once() == 0
    other = pipeline(T)
    other.start()
    ends(other, first.slot, other.slot)


def test_a_folder_that_is_not_there(pipeline, table, tmp_path):
    run = pipeline(T, target=f'[target]\nflavor = "sqlite"\npath = "{tmp_path}/no/such/folder/x.db"\n').start()
    ends(run, "no/such/folder")


def test_an_existing_table_of_another_shape_is_refused_column_by_column(pipeline, table):
    run = pipeline(T)
    with sqlite3.connect(run.path) as file:
        file.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, other TEXT)")
    run.start()
    ends(run, "t", "v")


def test_two_processes_never_write_one_file(database, pipeline, table):
    first = pipeline(T).start()
    first.until_equal("public.t")
    second = pipeline(T, folder="q", source="reconnect_max = 0", engine="retry_max = 1",
                      target=f'[target]\nflavor = "sqlite"\npath = "{first.path}"\n').start()
    ends(second, "target.db", str(first.process.pid), within=40)
    assert first.running


def acknowledged(run):
    """What the source was told is durable, and what the target holds."""
    told = run.database.value(f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{run.slot}'")
    return tuple(int(half, 16) for half in told.split("/"))


def test_a_target_that_may_not_be_written_is_named_and_nothing_is_acknowledged(database, pipeline, tmp_path, table):
    folder = tmp_path / "sealed"
    folder.mkdir()
    if os.system(f"mount -t tmpfs -o size=20m tmpfs {folder} 2>/dev/null") != 0:
        pytest.skip("no right to mount a file system")
    try:
        run = pipeline(T, target=f'[target]\nflavor = "sqlite"\npath = "{folder}/x.db"\n')
        run.path = folder / "x.db"
        assert run.once() == 0
        before = acknowledged(run)
        database.run("INSERT INTO public.t VALUES (3000, 'kept')")
        os.system(f"mount -o remount,ro {folder}")
        assert "x.db" in [line for line in run.command("validate").stdout.splitlines() if line.startswith("✗")][0]
        run.start()
        ends(run, "x.db", "ead-only")
        assert acknowledged(run) == before
        os.system(f"mount -o remount,rw {folder}")
        run.start()
        run.until_equal("public.t")
        assert run.stop() == 0
        (folder / "x.db").unlink()
        os.system(f"mount -o remount,ro {folder}")
        empty = pipeline(T, folder="q", target=f'[target]\nflavor = "sqlite"\npath = "{folder}/new.db"\n').start()
        ends(empty, "new.db", "ead-only")
    finally:
        run.kill()
        os.system(f"umount {folder}")


def test_a_target_that_is_locked_for_long_is_named_and_nothing_is_acknowledged(database, pipeline, table):
    run = pipeline(T, engine="retry_max = 1000").start()
    run.until_equal("public.t")
    foreign = sqlite3.connect(run.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    written = run.target("SELECT resume FROM _cdc_checkpoint")
    database.run("INSERT INTO public.t VALUES (2000, 'waits')")
    end = database.value("SELECT pg_current_wal_lsn()")
    eventually(lambda: "keeps the database locked" in run.log(), within=60, what="a word about the lock")
    assert run.running and run.target("SELECT resume FROM _cdc_checkpoint") == written
    assert acknowledged(run) < tuple(int(half, 16) for half in end.split("/"))
    foreign.execute("ROLLBACK")
    foreign.close()
    run.until_equal("public.t")


def test_a_target_that_is_locked_by_a_foreign_writer_is_waited_for(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    foreign = sqlite3.connect(run.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    database.run("INSERT INTO public.t VALUES (2000, 'waits')")
    time.sleep(1)
    foreign.execute("ROLLBACK")
    foreign.close()
    run.until_equal("public.t")


def test_a_disk_that_is_full_loses_nothing(database, pipeline, tmp_path, table):
    small = tmp_path / "small"
    small.mkdir()
    if os.system(f"mount -t tmpfs -o size=3m tmpfs {small} 2>/dev/null") != 0:
        pytest.skip("no right to mount a small file system")
    try:
        run = pipeline(T, target=f'[target]\nflavor = "sqlite"\npath = "{small}/x.db"\n', source="reconnect_max = 100")
        run.path = small / "x.db"
        run.start()
        run.until_equal("public.t")
        database.run("INSERT INTO public.t SELECT i, repeat('x', 2000) FROM generate_series(10000, 12500) i")
        end = database.value("SELECT pg_current_wal_lsn()")
        eventually(lambda: "full" in run.log() or "space" in run.log(), within=60, what="a word about the disk")
        assert acknowledged(run) < tuple(int(half, 16) for half in end.split("/"))
        os.system(f"mount -o remount,size=60m {small}")
        if not run.running:
            run.start()
        run.until_equal("public.t")
        run.stop()
    finally:
        run.kill()
        os.system(f"umount {small}")
