"""Every example runs as it stands, against a database with the tables it speaks of."""

import json
import os
import pathlib
import sqlite3
import subprocess

import pytest

from support.pipeline import PROGRAM

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def shop(database):
    database.run(
        "CREATE TABLE public.products (id int PRIMARY KEY, name text)",
        "CREATE TABLE public.orders (id int PRIMARY KEY, product int, note text)",
        "CREATE TABLE public.events (what text)",
        "CREATE TABLE public.audit_log (id int PRIMARY KEY)",
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.customers (id int PRIMARY KEY, mail text, password_hash text)",
        "INSERT INTO public.products SELECT i, 'p' || i FROM generate_series(1, 50) i",
        "INSERT INTO public.orders SELECT i, i % 50, 'n' FROM generate_series(1, 200) i",
        "INSERT INTO public.events SELECT 'e' FROM generate_series(1, 30)",
        "INSERT INTO public.audit_log VALUES (1)",
        "INSERT INTO sales.customers SELECT i, i || '@example.org', 'hash' FROM generate_series(1, 20) i")
    return database


@pytest.fixture
def run_example(shop, tmp_path):
    """run_example(name) runs it once in a folder of its own and returns that and what it printed."""

    def run(name, *before):
        shop.run(*before)
        done = subprocess.run([PROGRAM, "run", "--once", str(EXAMPLES / name)], cwd=tmp_path,
                              capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, CDC_SOURCE_URL=shop.url))
        assert done.returncode == 0, done.stderr
        return tmp_path, done.stdout

    return run


def count(file, table):
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_quick_start(run_example):
    folder, _ = run_example("quickstart.toml", "DROP TABLE public.events")
    assert count(folder / "shop.db", "orders") == 200 and count(folder / "shop.db", "products") == 50


def test_lines_to_a_pipe(run_example):
    _, said = run_example("ndjson.toml")
    rows = [line for line in lines(said) if line["op"] == "r"]
    assert len(rows) == 200 and all("note" not in row["after"] for row in rows)


def test_two_sinks(run_example):
    folder, _ = run_example("two-sinks.toml")
    assert count(folder / "shop.db", "orders") == 200
    assert len([1 for line in lines((folder / "changes.ndjson").read_text()) if line["op"] == "r"]) == 250


def test_many_tables(run_example):
    folder, _ = run_example("many-tables.toml")
    db = sqlite3.connect(f"file:{folder / 'everything.db'}?mode=ro", uri=True)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
              if not name.startswith("_cdc_")}
    assert tables == {"products", "orders", "events", "people"}
    assert db.execute("SELECT email, origin FROM people WHERE id = 7").fetchall() == [("7@example.org", "sales.customers")]
    assert [row[1] for row in db.execute("PRAGMA table_info(people)")] == ["id", "email", "origin"]
    assert count(folder / "everything.db", "events") == 30
    db.close()
