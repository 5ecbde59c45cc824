"""A running process, seen from outside: its metrics and its tree of actors."""

import json
import re
import shutil
import subprocess

import pytest

from support.pipeline import eventually, section

T = section("t", table="public.t")


@pytest.fixture
def table(database):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 500) i")


def series(metrics, name):
    """{labels: value} of one metric."""
    return {labels: float(value) for labels, value in re.findall(rf"^{name}(?:{{(.*?)}})? (\S+)$", metrics, re.M)}


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")
def test_metrics_of_a_running_process_pass_promtool(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    database.run("UPDATE public.t SET v = 'w'", "TRUNCATE public.t", "ALTER TABLE public.t ADD n int",
                 "INSERT INTO public.t VALUES (1, 'x', 2)")
    eventually(lambda: run.target("SELECT count(*) FROM t") == [(1,)])

    status, metrics = run.get("/metrics")
    assert status == 200
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True)
    assert checked.returncode == 0 and not checked.stdout + checked.stderr, checked.stdout + checked.stderr


def test_metrics_count_what_happened(servers, pipeline):
    server = servers(15, "max_slot_wal_keep_size=32MB", "max_wal_size=64MB", "min_wal_size=32MB")
    database = server.new_database()
    try:
        database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                     "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 500) i")
        run = pipeline(T, database=database).start()
        run.until_equal("public.t")
        database.run("INSERT INTO public.t VALUES (1000, 'x')", "TRUNCATE public.t", "ALTER TABLE public.t ADD n int",
                     "INSERT INTO public.t VALUES (1, 'x', 2)")
        eventually(lambda: run.target("SELECT count(*) FROM t") == [(1,)])

        metrics = run.get("/metrics")[1]
        assert sum(series(metrics, "cdc_load_rows_total").values()) == 500
        events = series(metrics, "cdc_events_total")
        assert [value for labels, value in events.items() if 'type="row"' in labels] == [2]
        assert [value for labels, value in events.items() if 'type="truncate"' in labels] == [1]
        assert list(series(metrics, "cdc_schema_drift_total").values()) == [1]
        rows, read = series(metrics, "cdc_rows_total"), series(metrics, "cdc_rows_read_total")
        for origin, count in ("load", 500), ("stream", 2):
            assert sum(value for labels, value in rows.items() if f'origin="{origin}"' in labels) == count
            assert sum(value for labels, value in read.items() if f'origin="{origin}"' in labels) == count
        safe = eventually(lambda: series(run.get("/metrics")[1], "cdc_slot_safe_wal_size_bytes"), within=30)
        assert 0 < next(iter(safe.values())) <= 64 << 20
        run.kill()
    finally:
        database.drop()


def test_the_actors_command_shows_the_tree_of_a_running_process(database, pipeline, table):
    run = pipeline(T)
    silent = run.command("actors")
    assert silent.returncode == 1 and str(run.port) in silent.stderr and not silent.stdout

    run.start()
    run.until_equal("public.t")
    shown = run.command("actors")
    assert shown.returncode == 0, shown.stderr
    for name in "source", "engine target", "sink target", "checkpoint", "load target":
        assert name in shown.stdout

    actors = json.loads(run.command("actors", "--json").stdout)["actors"]
    assert {actor["kind"] for actor in actors} >= {"root", "http"}


def test_the_actors_command_brings_the_token_of_the_file(database, pipeline, table):
    run = pipeline(T)
    run.config.write_text(run.config.read_text().replace("[metrics]\n", '[metrics]\ntoken_env = "CDC_TEST_TOKEN"\n'))
    run.environment["CDC_TEST_TOKEN"] = "planted-token-1"
    run.start()
    run.until_equal("public.t")
    assert run.get("/actors")[0] == 401
    assert run.command("actors").returncode == 0

    run.environment["CDC_TEST_TOKEN"] = "planted-token-2"
    wrong = run.command("actors")
    assert wrong.returncode == 1 and "token" in wrong.stderr and "planted" not in wrong.stderr
