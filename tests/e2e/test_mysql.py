"""MariaDB and MySQL to a database file and to lines: every row arrives, whatever is stopped meanwhile."""

import json
import time
import urllib.parse

import pytest

from support.fault_proxy import FaultProxy
from support.pipeline import Pipeline, eventually


def section(database, table="t", more=""):
    return f'[sync.{table}]\ntable = "{database.name}.{table}"\n{more}\n'


@pytest.fixture
def table(mysql_database):
    """t with a thousand rows."""
    mysql_database.run("CREATE TABLE t (id int PRIMARY KEY, v varchar(100), n decimal(10,2))",
                       "INSERT INTO t WITH RECURSIVE i AS (SELECT 1 n UNION ALL SELECT n + 1 FROM i "
                       "WHERE n < 1000) SELECT n, concat('v', n), n / 4 FROM i")
    return mysql_database


class MysqlPipeline(Pipeline):
    """The same, with a MySQL source."""

    def __init__(self, folder, database, *, number, url=None, target=None, source="", sections=None, more=""):
        super().__init__(folder, database, sections or [section(database)], url=url, target=target, more=more)
        text = self.config.read_text()
        head, rest = text.split("\n\n", 1)
        self.config.write_text(f'[source]\nflavor = "mysql"\nurl_env = "CDC_TEST_SOURCE"\nserver_id = {number}\n'
                               f"reconnect_backoff_ms = 200\n{source}\n\n{rest}")

    def rows(self, table="t"):
        return self.target(f'SELECT id, v, CAST(n AS TEXT) FROM "{table}" ORDER BY id')

    def until_same(self, table="t", within=60):
        def same():
            assert self.running, f"it ended with {self.process.returncode}:\n{self.log()[-4000:]}"
            with self.database.session() as session:
                wanted = [(i, v, None if n is None else str(n)) for i, v, n in
                          session.rows(f"SELECT id, v, n FROM `{table}` ORDER BY id")]
            return self.rows(table) == wanted
        eventually(same, within, f"{table} equal")


@pytest.fixture
def run(mysql_database, tmp_path):
    """run(**settings) makes a pipeline of t; every process it started is killed at the end."""
    made = []

    def make(folder="p", **settings):
        (tmp_path / folder).mkdir(exist_ok=True)
        made.append(MysqlPipeline(tmp_path / folder, mysql_database, number=7000 + len(made), **settings))
        return made[-1]

    yield make
    for each in made:
        each.kill()


def change(database, seed):
    database.run(f"INSERT INTO t VALUES ({2000 + seed}, 'new {seed}', NULL)",
                 f"UPDATE t SET v = concat(v, '-{seed}') WHERE id % 10 = {seed % 10}",
                 f"DELETE FROM t WHERE id = {seed * 3 + 1}",
                 f"UPDATE t SET id = {5000 + seed} WHERE id = {seed * 3 + 2}")


def test_a_table_is_loaded_and_followed(table, run):
    pipeline = run().start()
    pipeline.until_same()
    for seed in range(5):
        change(table, seed)
    pipeline.until_same()
    table.run("TRUNCATE TABLE t", "INSERT INTO t VALUES (1, 'last', 1.5)")
    pipeline.until_same()
    assert pipeline.stop() == 0


def test_kills_lose_nothing(table, run):
    pipeline = run()
    for seed in range(8):
        pipeline.start()
        change(table, seed)
        time.sleep(0.4 + seed * 0.15)
        change(table, seed + 20)
        pipeline.kill()
        change(table, seed + 40)
    pipeline.start().until_same()


def test_a_connection_that_is_cut_is_made_again(table, run):
    proxy = FaultProxy(table.server.port)
    pipeline = run(url=table.url.replace(str(table.server.port), str(proxy.port))).start()
    pipeline.until_same()
    for seed in range(3):
        proxy.cut()
        change(table, seed)
        pipeline.until_same()
    proxy.close()


def test_the_log_goes_on_in_other_files(table, run):
    pipeline = run().start()
    pipeline.until_same()
    for seed in range(3):
        change(table, seed)
        with table.server.session() as admin:
            admin.run("FLUSH BINARY LOGS")
    change(table, 9)
    pipeline.until_same()


def test_a_server_that_is_restarted_is_found_again(table, run):
    pipeline = run(source="reconnect_max = 100").start()
    pipeline.until_same()
    change(table, 1)
    table.server.restart("fast")
    change(table, 2)
    pipeline.until_same(within=90)


def test_columns_that_come_and_go_while_it_is_down(table, run):
    pipeline = run().start()
    pipeline.until_same()
    pipeline.kill()
    table.run("INSERT INTO t VALUES (3001, 'old shape', 1)", "ALTER TABLE t DROP COLUMN n, ADD COLUMN n decimal(10,2)",
              "INSERT INTO t VALUES (3002, 'new shape', 2)")
    pipeline.start()
    eventually(lambda: {(3001, "old shape"), (3002, "new shape")} <= {row[:2] for row in pipeline.rows()}, 60)


def test_lines_tell_every_change(table, run, tmp_path):
    out = tmp_path / "out.ndjson"
    pipeline = run(target=f'[target]\nflavor = "ndjson"\npath = "{out}"\n').start()
    lines = lambda: [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    eventually(lambda: len(lines()) >= 1000, 60)
    table.run("UPDATE t SET v = 'x' WHERE id = 1")
    eventually(lambda: lines()[-1]["op"] == "u", 30)


# -- bad input ----------------------------------------------------------------------------------------


def ends(pipeline, *words, within=40):
    assert pipeline.wait(within) != 0
    for word in words:
        assert word in pipeline.log(), f"{word!r} is not in:\n{pipeline.log()}"


def test_a_wrong_password_halts_at_once_and_never_shows_it(table, run):
    pipeline = run(url=table.url.replace(":secret@", ":sesame@")).start()
    ends(pipeline, "127.0.0.1", "check user and password", within=20)
    assert "sesame" not in pipeline.log()


def test_a_log_that_was_purged_is_refused_with_the_ways_on(table, run):
    pipeline = run().start()
    pipeline.until_same()
    pipeline.kill()
    table.server.purge()
    ends(pipeline.start(), "purged", "--fresh-start-and-load")


def test_a_server_without_a_log_says_how_to_turn_it_on(run, mysql_servers, request, tmp_path):
    which = request.node.callspec.params["mysql_database"]
    other = mysql_servers(which, "skip-log-bin").new_database()
    other.run("CREATE TABLE t (id int PRIMARY KEY, v varchar(100), n decimal(10,2))")
    (tmp_path / "off").mkdir()
    pipeline = MysqlPipeline(tmp_path / "off", other, number=7100).start()
    ends(pipeline, "log_bin")


def test_another_server_is_refused(table, run, mysql_servers, request):
    pipeline = run().start()
    pipeline.until_same()
    pipeline.kill()
    which = request.node.callspec.params["mysql_database"]
    other = mysql_servers(which, "max_connections=50")
    with other.session() as admin:
        admin.run(f"CREATE DATABASE IF NOT EXISTS `{table.name}`")
        admin.run(f"CREATE TABLE `{table.name}`.t (id int PRIMARY KEY, v varchar(100), n decimal(10,2))")
    at = urllib.parse.urlsplit(other.url)
    pipeline.environment["CDC_TEST_SOURCE"] = table.url.replace(str(table.server.port), str(at.port))
    ends(pipeline.start(), "another")
