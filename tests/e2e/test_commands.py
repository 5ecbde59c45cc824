"""init, validate, status and completions: what they say of a real server, and that they touch nothing."""

import json
import os
import shutil
import sqlite3
import subprocess

import pytest

from support.pipeline import PROGRAM, eventually, section

T = section("t", table="public.t")


@pytest.fixture
def table(database):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 500) i")


def call(*words, within=60, **environment):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=within,
                          env=dict(os.environ, **environment))


def untouched(database, run):
    """No slot, no publication, no file was made."""
    return (database.value("SELECT count(*) FROM pg_publication") == 0
            and database.value(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{run.slot}'") == 0
            and not run.path.exists())


# -- validate -----------------------------------------------------------------------------------------


def test_a_right_file_passes_every_check_and_nothing_is_touched(database, pipeline, table):
    run = pipeline(T)
    said = run.command("validate")
    assert said.returncode == 0, said.stdout
    assert said.stdout.endswith("all checks passed\n") and "✗" not in said.stdout
    assert "✓ 1 table will be written" in said.stdout
    assert untouched(database, run)


def test_every_mistake_is_said_at_once(database, pipeline, table):
    database.run("CREATE TABLE public.k (v int)", "CREATE VIEW public.w AS SELECT 1")
    run = pipeline(T + 'exclude_columns = ["nothing"]\n', section("k", table="public.k"),
                   section("w", table="public.w"), section("n", table="public.nothing"),
                   target='[target]\nflavor = "sqlite"\npath = "/no/such/folder/x.db"\n')
    said = run.command("validate")
    assert said.returncode == 1
    for words in ("public.k", "append_only", "public.w", "public.nothing", "exclude_columns",
                  "/no/such/folder"):
        assert any(words in line for line in said.stdout.splitlines() if line.startswith("✗")), \
            f"{words}:\n{said.stdout}"
    assert said.stdout.endswith("1 of 1 pipeline failed\n")
    assert untouched(database, run)


def test_no_statement_publishes_a_table_that_is_refused(database, pipeline, table):
    database.run("CREATE TABLE public.k (v int)")
    run = pipeline(T, section("k", table="public.k"))
    said = run.command("validate").stdout
    assert 'would run: CREATE PUBLICATION' in said and 'FOR TABLE "public"."t" WITH' in said, said
    assert "will run" not in said
    database.run(f'CREATE PUBLICATION "{run.slot}_pub" FOR TABLE public.t')
    said = run.command("validate").stdout
    assert "ALTER PUBLICATION" not in said and "public.k" in said, said


def test_names_never_steer_the_terminal(database, pipeline, tmp_path):
    names = ("esc\x1b[31m", "line\nbreak", "one\u009b2J")
    database.run(*(f'CREATE TABLE public."{name}" (v int)' for name in names))
    run = pipeline(*(section(f"s{i}", table=f'public."{name}"') for i, name in enumerate(names)))
    for words in (["validate"], ["run"], ["status"]):
        said = run.command(*words)
        text = said.stdout + said.stderr
        assert "\x1b" not in text and "\u009b" not in text, repr(text)
        assert words == ["status"] or ("esc\\x1b[31m" in text and "one\\u009b2J" in text), repr(text)
    written = tmp_path / "init.toml"
    said = call("init", "--source", database.url, "--target", "sqlite:x.db", "-o", written)
    assert said.returncode == 0, said.stderr
    assert "\x1b" not in written.read_text()
    assert call("validate", written, CDC_SOURCE_URL=database.url).returncode == 0


def test_a_pipe_as_configuration_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "cdc.toml")
    for words in (["validate", tmp_path / "cdc.toml"], ["run", "--config-dir", tmp_path]):
        said = call(*words, within=10)
        assert said.returncode == 2 and "pipe" in said.stdout + said.stderr


def test_mistakes_of_a_file_end_with_status_2(pipeline, table):
    run = pipeline(T + "colums = 1\n", engine="batch_size = 0")
    said = run.command("validate")
    assert said.returncode == 2
    assert said.stdout.count("✗ ") == 2 and "did you mean sync.t.columns?" in said.stdout


def test_a_wrong_password_is_said_and_not_shown(database, pipeline, table):
    run = pipeline(T, url=database.url.replace(":secret@", ":sesame@"))
    said = run.command("validate")
    assert said.returncode == 1
    assert "✗" in said.stdout and "password" in said.stdout
    assert "sesame" not in said.stdout + said.stderr


def test_a_target_table_that_cannot_hold_the_rows_is_named(pipeline, table):
    run = pipeline(T)
    with sqlite3.connect(run.path) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    before = run.path.read_bytes()
    said = run.command("validate")
    assert said.returncode == 1
    assert any(line.startswith("✗") and '"v"' in line or " v" in line
               for line in said.stdout.splitlines()), said.stdout
    assert run.path.read_bytes() == before


def test_a_file_that_is_no_database_is_named(pipeline, table):
    run = pipeline(T)
    run.path.write_text("hello " * 1000)
    said = run.command("validate")
    assert said.returncode == 1 and "✗ target" in said.stdout, said.stdout


def test_each_of_several_files_is_checked(database, pipeline, table):
    good = pipeline(T)
    bad = pipeline(section("n", table="public.nothing"), folder="q")
    bad.config.write_text(bad.config.read_text().replace("[source]", '[source]\nname = "bad"'))
    bad.config.write_text(bad.config.read_text().replace(str(bad.port), str(good.port)))
    said = call("validate", good.config, bad.config, CDC_TEST_SOURCE=database.url)
    assert said.returncode == 1
    assert said.stdout.endswith("1 of 2 pipelines failed\n"), said.stdout


# -- init ---------------------------------------------------------------------------------------------


def test_what_init_writes_passes_validate_unedited(database, tmp_path):
    database.run("CREATE TABLE public.orders (id int PRIMARY KEY, v text)",
                 "CREATE TABLE public.events (v text)",
                 "CREATE TABLE public.full_log (v text)", "ALTER TABLE public.full_log REPLICA IDENTITY FULL",
                 "CREATE TABLE public.quiet (id int PRIMARY KEY)",
                 "ALTER TABLE public.quiet REPLICA IDENTITY NOTHING",
                 "CREATE SCHEMA \"My.Schema\"", "CREATE TABLE \"My.Schema\".\"Order \"\"X\"\"\" (\"Id\" int PRIMARY KEY)",
                 "CREATE TABLE \"My.Schema\".orders (id int PRIMARY KEY)",
                 "CREATE TABLE public.parts (id int, at int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
                 "CREATE TABLE public.parts_1 PARTITION OF public.parts FOR VALUES FROM (0) TO (10)",
                 "CREATE VIEW public.v AS SELECT 1", "CREATE UNLOGGED TABLE public.u (id int PRIMARY KEY)")
    made = call("init", "--source", database.url, "--target", f"sqlite:{tmp_path}/shop.db",
                "-o", tmp_path / "cdc.toml")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "cdc.toml").read_text()
    assert "secret" not in text and 'url_env = "CDC_SOURCE_URL"' in text
    assert text.count("append_only = true") == 2, text
    assert text.count("[sync.") == 7, text
    said = call("validate", tmp_path / "cdc.toml", CDC_SOURCE_URL=database.url)
    assert said.returncode == 0, text + said.stdout
    assert "7 tables will be written" in said.stdout


def test_init_leaves_out_what_the_role_may_not_read(database, tmp_path):
    database.run("DROP ROLE IF EXISTS poor_init", "CREATE ROLE poor_init LOGIN REPLICATION PASSWORD 'secret'",
                 "CREATE TABLE public.seen (id int PRIMARY KEY)", "CREATE TABLE public.unseen (id int PRIMARY KEY)",
                 "GRANT SELECT ON public.seen TO poor_init")
    poor = database.url.replace("postgres:secret", "poor_init:secret")
    made = call("init", CDC_SOURCE_URL=poor)
    database.run("REVOKE SELECT ON public.seen FROM poor_init", "DROP ROLE poor_init")
    assert made.returncode == 0, made.stderr
    assert 'table = "public.seen"' in made.stdout
    assert "# Left out: " in made.stdout and "GRANT SELECT" in made.stdout
    assert 'table = "public.unseen"' not in made.stdout


def test_init_takes_the_tables_that_are_named(database):
    database.run("CREATE TABLE public.a (id int PRIMARY KEY)", "CREATE TABLE public.b (id int PRIMARY KEY)",
                 "CREATE SCHEMA s", "CREATE TABLE s.a (id int PRIMARY KEY)")
    made = call("init", "--source", database.url, "--table", "b", "--table", "s.a")
    assert made.returncode == 0 and made.stdout.count("[sync.") == 2, made.stderr
    wrong = call("init", "--source", database.url, "--table", "a", "--table", "nothing")
    assert wrong.returncode == 1 and wrong.stdout == ""
    assert "public.a" in wrong.stderr and "s.a" in wrong.stderr and "nothing" in wrong.stderr


def test_init_overwrites_nothing_unless_forced(database, table, tmp_path):
    file = tmp_path / "cdc.toml"
    file.write_text("mine")
    assert call("init", "--source", database.url, "-o", file).returncode == 1
    assert file.read_text() == "mine"
    assert call("init", "--source", database.url, "-o", file, "--force").returncode == 0
    assert "[sync.t]" in file.read_text()


def test_init_works_without_a_database(tmp_path):
    made = call("init", "--table", "public.orders", CDC_SOURCE_URL="")
    assert made.returncode == 0 and 'table = "public.orders"' in made.stdout


# -- status -------------------------------------------------------------------------------------------


def test_status_before_the_first_run(database, pipeline, table):
    run = pipeline(T)
    said = run.command("status")
    assert said.returncode == 0, said.stderr
    assert "no checkpoint yet" in said.stdout and f"slot {run.slot} (ours): is not there yet" in said.stdout
    assert run.command("status", "--caught-up").returncode == 1
    assert untouched(database, run)


def test_status_says_when_the_target_has_caught_up(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    database.run("INSERT INTO public.t SELECT i, 'w' FROM generate_series(501, 2000) i")
    said = run.command("status", "--caught-up", "--timeout", "30")
    assert said.returncode == 0, said.stdout
    assert run.target("SELECT count(*) FROM t") == [(2000,)]
    assert run.stop() == 0, run.log()


def test_status_as_json(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    one = json.loads(run.command("status", "--json").stdout)["pipelines"][0]
    assert one["targets"][0]["flavor"] == "sqlite" and "/" in one["targets"][0]["position"]
    ours = [s for s in one["slots"] if s["ours"]]
    assert [s["name"] for s in ours] == [run.slot]
    assert ours[0]["active"] and ours[0]["wal_status"] == "reserved"
    assert run.stop() == 0, run.log()
    eventually(lambda: not [s for s in json.loads(run.command("status", "--json").stdout)
                            ["pipelines"][0]["slots"] if s["ours"]][0]["active"], within=20)


def test_status_reads_every_sink(database, pipeline, table, tmp_path):
    run = pipeline(T, target=f'[[sink]]\nname = "rows"\nflavor = "sqlite"\npath = "{tmp_path}/p/target.db"\n'
                             f'[[sink]]\nname = "lines"\nflavor = "ndjson"\npath = "{tmp_path}/p/out.ndjson"\n'
                             f'[[sink]]\nname = "nothing"\nflavor = "null"\n')
    said = run.command("validate")
    assert said.returncode == 0 and "sink nothing: it keeps no checkpoint" in said.stdout, said.stdout
    run.start()
    run.until_equal("public.t")
    database.run("DELETE FROM public.t WHERE id > 100")
    said = run.command("status", "--caught-up", "--timeout", "30")
    assert said.returncode == 0, said.stdout
    lines = [line for line in (tmp_path / "p" / "out.ndjson").read_text().splitlines() if '"op":"d"' in line]
    assert len(lines) == 400
    targets = json.loads(run.command("status", "--json").stdout)["pipelines"][0]["targets"]
    assert [t["name"] for t in targets] == ["rows", "lines", "nothing"]
    assert targets[0]["position"] and targets[1]["position"] and not targets[2]["position"]


def test_status_works_while_the_source_is_down_or_the_pipeline_is(pipeline, table):
    run = pipeline(T)
    assert run.once() == 0
    assert run.command("status").returncode == 0
    run.environment["CDC_TEST_SOURCE"] = "postgresql://u:sesame@127.0.0.1:1/d"
    said = run.command("status")
    assert said.returncode == 1 and "127.0.0.1" in said.stdout and "sqlite" in said.stdout
    assert "sesame" not in said.stdout + said.stderr


def test_B088_B181_status_fails_when_a_slot_retains_too_much(database, pipeline, table):
    run = pipeline(T)
    assert run.once() == 0
    database.run("INSERT INTO public.t SELECT i, repeat('x', 100) FROM generate_series(501, 20000) i")
    said = run.command("status", "--max-retained-mb", "0")
    assert said.returncode == 1 and run.slot in said.stderr
    assert run.command("status", "--max-retained-mb", "1048576").returncode == 0


def test_a_target_that_is_an_older_copy_is_named(database, pipeline, table):
    run = pipeline(T).start()
    run.until_equal("public.t")
    run.stop()
    copy = run.path.with_suffix(".copy")
    with sqlite3.connect(run.path) as db, sqlite3.connect(copy) as other:
        db.backup(other)
    before = database.value(f"SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '{run.slot}'")
    database.run("INSERT INTO public.t SELECT i, 'w' FROM generate_series(501, 900) i")
    run.start()
    run.until_equal("public.t")
    eventually(lambda: database.value("SELECT confirmed_flush_lsn > %s FROM pg_replication_slots WHERE slot_name = '%s'"
                                      % (f"'{before}'", run.slot)), within=20)
    run.stop()
    for suffix in ("-wal", "-shm"):
        run.path.with_name(run.path.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, run.path)
    said = run.command("validate")
    assert said.returncode == 1 and "older copy" in said.stdout, said.stdout


# -- the arguments ------------------------------------------------------------------------------------


def test_usage_mistakes_end_with_status_2():
    for words in ((), ("runn",), ("run",), ("run", "--onse", "x"), ("status", "a", "--config-dir", "b")):
        said = call(*words)
        assert said.returncode == 2 and said.stderr and not said.stdout, words


def test_completions_are_valid_scripts():
    for shell in ("bash", "zsh"):
        script = call("completions", shell)
        assert script.returncode == 0
        if shutil.which(shell):
            assert subprocess.run([shell, "-n"], input=script.stdout, text=True).returncode == 0
