"""init, validate, status, bootstrap and /synced on MariaDB and MySQL: what they say, and that they touch nothing."""

import json
import os
import subprocess
import time

import pytest

from support.pipeline import PROGRAM, eventually, free_port
from test_mysql import change, run, section, table  # noqa: F401
from test_synced import Api


def call(*words, within=60, **environment):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=within,
                          env=dict(os.environ, **environment))


def login(database, name, *grants):
    """The URL of a user that has these rights and no others."""
    user = f"{name}_{database.name[-6:]}"
    with database.server.session() as admin:
        admin.run(f"CREATE USER {user}@'%' IDENTIFIED BY 'secret'")
        for grant in grants:
            admin.run(f"GRANT {grant} TO {user}@'%'")
    return database.url.replace("//cdc:", f"//{user}:")


# -- init ---------------------------------------------------------------------------------------------


def test_what_init_writes_passes_validate_unedited(mysql_database, tmp_path):
    at = mysql_database
    at.run("CREATE TABLE orders (id int PRIMARY KEY, v text)", "CREATE TABLE events (v text)",
           "CREATE TABLE `Order \"X\" y.z` (`Id` int PRIMARY KEY)", "CREATE TABLE `odd` (id int PRIMARY KEY)",
           "CREATE TABLE uniquely (a int NOT NULL UNIQUE, b int)", "CREATE VIEW v AS SELECT 1",
           "CREATE TABLE flat (id int PRIMARY KEY) ENGINE = MyISAM")
    made = call("init", "--source", at.url, "--target", f"sqlite:{tmp_path}/shop.db", "-o", tmp_path / "cdc.toml")
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "cdc.toml").read_text()
    assert "secret" not in text and 'url_env = "CDC_SOURCE_URL"' in text and 'flavor = "mysql"' in text
    assert text.count("[sync.") == 5 and "append_only" not in text, text
    assert "# Without a key its rows are told apart by all their columns" in text
    assert f"# Left out: {at.name}.flat is stored by MyISAM" in text and "ENGINE = InnoDB" in text
    said = call("validate", tmp_path / "cdc.toml", CDC_SOURCE_URL=at.url)
    assert said.returncode == 0, text + said.stdout
    assert "5 tables will be written" in said.stdout


def test_init_leaves_out_what_the_user_may_not_read(mysql_database):
    at = mysql_database
    at.run("CREATE TABLE seen (id int PRIMARY KEY)", "CREATE TABLE unseen (id int PRIMARY KEY)")
    url = login(at, "poor", f"SELECT ON `{at.name}`.seen", f"INSERT ON `{at.name}`.unseen")
    made = call("init", CDC_SOURCE_URL=url)
    assert made.returncode == 0, made.stderr
    assert f'table = "{at.name}.seen"' in made.stdout and f'table = "{at.name}.unseen"' not in made.stdout
    assert "# Left out: " in made.stdout and f"GRANT SELECT ON `{at.name}`.`unseen` TO this user" in made.stdout


def test_init_takes_the_tables_that_are_named(mysql_database):
    at = mysql_database
    other = at.server.new_database()
    try:
        at.run("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)", "CREATE VIEW w AS SELECT 1")
        other.run("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE c (id int PRIMARY KEY)")
        made = call("init", "--source", at.url, "--table", "a", "--table", f"{other.name}.a", "--table", "c")
        assert made.returncode == 0 and made.stdout.count("[sync.") == 3, made.stderr
        everywhere = at.url.rsplit("/", 1)[0]
        wrong = call("init", "--source", everywhere, "--table", "a", "--table", "nothing")
        assert wrong.returncode == 1 and wrong.stdout == ""
        assert f"{at.name}.a" in wrong.stderr and f"{other.name}.a" in wrong.stderr and "no table nothing" in wrong.stderr
        view = call("init", "--source", at.url, "--table", "w")
        assert view.returncode == 1 and "is a VIEW" in view.stderr, view.stderr
        every = call("init", "--source", everywhere)
        assert f'"{at.name}.b"' in every.stdout and f'"{other.name}.c"' in every.stdout, every.stderr
    finally:
        other.drop()


def test_init_says_what_is_wrong_with_the_source(mysql_database, tmp_path):
    at = mysql_database
    at.run("CREATE TABLE t (id int PRIMARY KEY)")
    for url, words in ((at.url.replace(":secret@", ":sesame@"), "check user and password"),
                       (at.url.rsplit("/", 1)[0] + "/nowhere", "nowhere"),
                       (at.url.replace("127.0.0.1", "db.nowhere.invalid"), "db.nowhere.invalid"),
                       ("mysql://cdc:sesame@127.0.0.1:1/d", "check host and port"),
                       (at.url + f"?sslmode=verify-ca&sslrootcert={tmp_path}/none", "there is no such file"),
                       ("mysql://:sesame@127.0.0.1/d", "there is no user"),
                       ("oracle://u:sesame@h/d", "expected postgresql://… or mysql://…")):
        said = call("init", "--source", url)
        assert said.returncode in (1, 2) and said.stdout == "" and words in said.stderr, (url, said.stderr)
        assert "sesame" not in said.stderr


# -- status -------------------------------------------------------------------------------------------


def test_status_before_the_first_run(table, run):
    pipeline = run()
    said = pipeline.command("status")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "no checkpoint yet" in said.stdout and "log at bin.0" in said.stdout
    assert "nothing of it is needed yet" in said.stdout
    assert pipeline.command("status", "--caught-up").returncode == 1
    assert not pipeline.path.exists()


def test_status_says_when_the_target_has_caught_up(table, run):
    pipeline = run().start()
    pipeline.until_same()
    table.run("INSERT INTO t SELECT id + 10000, 'w', NULL FROM t")
    said = pipeline.command("status", "--caught-up", "--timeout", "30")
    assert said.returncode == 0, said.stdout
    assert said.stdout.endswith("caught up\n")
    assert pipeline.target("SELECT count(*) FROM t") == [(2000,)]
    assert pipeline.stop() == 0, pipeline.log()


def test_status_tells_how_far_behind_a_stopped_pipeline_is(table, run):
    pipeline = run().start()
    pipeline.until_same()
    assert pipeline.stop() == 0
    table.run("INSERT INTO t SELECT id + 10000, repeat('w', 90), NULL FROM t")
    with table.server.session() as admin:
        admin.run("FLUSH BINARY LOGS")
    table.run("INSERT INTO t VALUES (3, 'last', NULL) ON DUPLICATE KEY UPDATE v = 'last'")
    one = json.loads(pipeline.command("status", "--json").stdout)["pipelines"][0]
    target = one["targets"][0]
    assert 90_000 < target["behind_bytes"] < 1_000_000 and 0 <= target["behind_seconds"] < 60, one
    assert target["position"].startswith("bin.0") and not one["caught_up"]
    log = one["log"]
    assert log["status"] == "reserved" and log["needed_from"] == target["position"] and log["files"] >= 2
    assert log["needed_bytes"] == target["behind_bytes"]
    said = pipeline.command("status").stdout
    assert "behind, the oldest change" in said and f"needed from {target['position']} on" in said, said
    assert pipeline.command("status", "--caught-up").returncode == 1
    late = pipeline.command("status", "--max-retained-mb", "0")
    assert late.returncode == 1 and "still need" in late.stderr
    assert pipeline.command("status", "--max-retained-mb", "1000").returncode == 0


def test_a_look_at_the_log_disturbs_no_reader(table, run):
    pipeline = run().start()
    pipeline.until_same()
    for seed in range(5):
        change(table, seed)
        assert pipeline.command("status").returncode == 0
    pipeline.until_same()
    assert pipeline.status()["pipelines"][0]["reconnects"] == 0


def test_status_says_that_what_is_needed_was_purged(table, run):
    pipeline = run().start()
    pipeline.until_same()
    pipeline.kill()
    last = table.server.purge()
    said = pipeline.command("status").stdout
    assert "was purged" in said and "--fresh-start-and-load" in said, said
    one = json.loads(pipeline.command("status", "--json").stdout)["pipelines"][0]
    assert one["log"]["status"] == "lost" and one["log"]["oldest_file"] == last


def test_status_names_what_cannot_be_read(table, run):
    pipeline = run()
    assert pipeline.once() == 0
    for url, words in (("mysql://cdc:sesame@127.0.0.1:1/d", "check host and port"),
                       (table.url.replace(":secret@", ":sesame@"), "check user and password"),
                       (login(table, "blind", f"SELECT ON `{table.name}`.*", "REPLICATION SLAVE ON *.*"), "GRANT"),
                       (table.url.rsplit("/", 1)[0] + "/nowhere", "nowhere")):
        pipeline.environment["CDC_TEST_SOURCE"] = url
        said = pipeline.command("status")
        assert said.returncode == 1 and words in said.stdout and "sqlite" in said.stdout, (url, said.stdout)
        assert "sesame" not in said.stdout + said.stderr


def test_status_of_targets_that_keep_no_checkpoint(table, run):
    pipeline = run(target='[target]\nflavor = "null"\n')
    said = pipeline.command("status")
    assert said.returncode == 0 and "known to the running process only" in said.stdout, said.stdout
    assert pipeline.command("status", "--caught-up").returncode == 1


# -- a running process --------------------------------------------------------------------------------


def test_the_status_of_a_running_process_speaks_of_the_binlog(table, run):
    pipeline = run().start()
    pipeline.until_same()
    change(table, 1)
    pipeline.until_same()

    def shown():
        one = pipeline.status()["pipelines"][0]
        return one if one["slots"] and one["tokens"]["confirmed"] == one["tokens"]["current"] else None
    one = eventually(shown, 30)
    assert one["source"] == "mysql" and one["positions"]["current"].startswith("bin.0"), one
    assert one["tokens"]["confirmed"] >= one["sinks"][0]["tokens"]["acknowledged"] > 1 << 32
    assert one["sinks"][0]["acknowledged"].startswith("bin.0")
    assert one["slots"][0]["slot"] == "binlog" and one["slots"][0]["wal_status"] == "reserved"
    assert one["slots"][0]["retained_bytes"] < 1 << 20


# -- /synced ------------------------------------------------------------------------------------------


@pytest.fixture
def synced(table, run):
    port = free_port()
    pipeline = run(more=f'[api]\nenabled = true\nbind = "127.0.0.1:{port}"\n').start()
    pipeline.until_same()
    return pipeline, Api(port)


def test_what_was_committed_is_there_once_it_says_so(table, synced):
    pipeline, api = synced
    for i in range(20):
        table.run(f"UPDATE t SET v = 'round {i}' WHERE id = 1")
        status, said = api.get()
        assert status == 200 and said["synced"] is True, said
        assert pipeline.target("SELECT v FROM t WHERE id = 1") == [(f"round {i}",)]
    assert said["requested"].startswith("bin.0") and said["confirmed"].startswith("bin.0")


def test_a_place_in_the_log_is_waited_for(table, synced):
    pipeline, api = synced
    table.run("UPDATE t SET v = 'x' WHERE id = 2")
    with table.server.session() as admin:
        show = "SHOW MASTER STATUS" if table.server.mariadb else "SHOW BINARY LOG STATUS"
        file, offset = admin.rows(show)[0][:2]
    status, said = api.get(position=f"{file}:{offset}")
    assert status == 200 and said["requested"] == f"{file}:{offset}", said
    assert pipeline.target("SELECT v FROM t WHERE id = 2") == [("x",)]
    status, said = api.get(position=f"{file}:4000000000", timeout=300)
    assert status == 408 and said["synced"] is False
    for wrong in ("nonsense", "bin:7", "bin.000001:x", "0/15", ""):
        assert api.get(position=wrong)[0] == 400, wrong


def test_an_idle_server_is_passed_soon(table, synced):
    _, api = synced
    time.sleep(2)
    began = time.monotonic()
    assert api.get(timeout=20000)[0] == 200
    table.run("CREATE TABLE IF NOT EXISTS elsewhere (id int PRIMARY KEY)", "INSERT INTO elsewhere VALUES (1)")
    assert api.get(timeout=20000)[0] == 200
    assert time.monotonic() - began < 6


def test_a_server_that_is_down_is_503(table, synced):
    _, api = synced
    table.server.stop("fast")
    try:
        status, said = api.get(timeout=1000)
        assert status == 503 and "position cannot be read" in said["error"], said
    finally:
        table.server.restart("fast")


# -- bootstrap and a fresh start ------------------------------------------------------------------------


def test_bootstrap_makes_the_tables_and_writes_no_row(table, run):
    pipeline = run()
    said = pipeline.command("bootstrap")
    assert said.returncode == 0, said.stdout + said.stderr
    assert "ready to be followed by server_id 7000" in said.stdout and "1 table of target ready" in said.stdout
    assert pipeline.target("SELECT count(*) FROM t") == [(0,)]
    pipeline.start().until_same()


def test_bootstrap_says_what_is_in_the_way(table, run):
    pipeline = run(sections=[section(table), section(table, "nothing")])
    said = pipeline.command("bootstrap")
    assert said.returncode == 1 and "nothing" in said.stderr and not pipeline.path.exists(), said.stderr
    pipeline = run("q", url=table.url.replace(":secret@", ":sesame@"))
    said = pipeline.command("bootstrap")
    assert said.returncode == 1 and "check user and password" in said.stderr and "sesame" not in said.stderr
    pipeline = run("r", url=login(table, "reader", f"SELECT ON `{table.name}`.*"))
    said = pipeline.command("bootstrap")
    assert said.returncode == 1 and "REPLICATION SLAVE" in said.stderr, said.stderr


@pytest.mark.parametrize("option", ["--fresh-start-and-load", "--fresh-slot-and-load"])
def test_a_fresh_start_loads_anew_what_the_log_has_lost(table, run, option):
    pipeline = run().start()
    pipeline.until_same()
    pipeline.kill()
    change(table, 1)
    table.server.purge()
    pipeline.start()
    assert pipeline.wait(40) == 1 and "--fresh-start-and-load" in pipeline.log(), pipeline.log()
    pipeline.start(option).until_same()
    change(table, 2)
    pipeline.until_same()
