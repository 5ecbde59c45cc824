"""Seeded writers against a pipeline that is killed, cut off and starved at random.

Everything that happens follows from --seed as far as processes allow; in the end every row and every
value of every table is compared. The last line is
`kills N cuts C restarts R rows X differences D`.
"""

import argparse
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

import psycopg2

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from support import compare, search  # noqa: E402
from support.fault_proxy import FaultProxy, through  # noqa: E402
from support.pipeline import Pipeline, section  # noqa: E402
from support.server import Server, Session  # noqa: E402

TABLES = ["public.accounts", "public.documents", "public.events", "public.pairs", "public.parts",
          "public.bag", "public.words"]

SCHEMA = """
CREATE TABLE public.accounts (id bigint PRIMARY KEY, name text, balance numeric, note text);
CREATE TABLE public.documents (id int PRIMARY KEY, body text, version int NOT NULL DEFAULT 0, tag text);
ALTER TABLE public.documents ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.events (id bigserial PRIMARY KEY, kind text, at timestamptz DEFAULT clock_timestamp());
CREATE TABLE public.pairs (a int, b int, v text, PRIMARY KEY (a, b));
CREATE TABLE public.parts (id int, region int, v text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE public.parts_0 PARTITION OF public.parts FOR VALUES IN (0);
CREATE TABLE public.parts_1 PARTITION OF public.parts FOR VALUES IN (1);
CREATE TABLE public.parts_2 PARTITION OF public.parts FOR VALUES IN (2);
CREATE TABLE public.bag (v int, w text);
ALTER TABLE public.bag REPLICA IDENTITY FULL;
CREATE TABLE public.words (word text PRIMARY KEY, seen int);
"""

SEED_ROWS = """
INSERT INTO public.accounts SELECT i, 'n' || i, i, NULL FROM generate_series(1, {n}) i;
INSERT INTO public.documents SELECT i, repeat(md5(i::text), 200), 0, 't' FROM generate_series(1, {small}) i;
INSERT INTO public.pairs SELECT i % 50, i, 'p' FROM generate_series(1, {n}) i;
INSERT INTO public.parts SELECT i, i % 3, 'q' FROM generate_series(1, {n}) i;
INSERT INTO public.bag SELECT i % 10, 'w' FROM generate_series(1, 200) i;
INSERT INTO public.words SELECT md5(i::text), i FROM generate_series(1, {n}) i;
"""


def statements(pick):
    """One random transaction: a list of statements."""
    k, key, other = pick.random, pick.randint(1, 4000), pick.randint(1, 4000)
    doc, number = pick.randint(1, 300), pick.randint(0, 10 ** 6)
    menu = [
        lambda: [f"INSERT INTO public.accounts VALUES ({key}, 'x{number}', {number}, NULL) "
                 "ON CONFLICT (id) DO UPDATE SET name = excluded.name, note = 'again'"],
        lambda: [f"UPDATE public.accounts SET balance = balance + 1, note = CASE WHEN note IS NULL "
                 f"THEN '' ELSE NULL END WHERE id = {key}"],
        lambda: [f"DELETE FROM public.accounts WHERE id = {key}"],
        lambda: [f"UPDATE public.accounts SET id = {key} + 100000 WHERE id = {key} AND NOT EXISTS "
                 f"(SELECT FROM public.accounts WHERE id = {key} + 100000)"],
        lambda: [f"UPDATE public.accounts SET id = id - 100000 WHERE id = {key} + 100000 AND NOT EXISTS "
                 f"(SELECT FROM public.accounts WHERE id = {key})"],
        lambda: [f"UPDATE public.documents SET version = version + 1 WHERE id = {doc}"],
        lambda: [f"UPDATE public.documents SET version = version + 1 WHERE id = {doc}"],
        lambda: [f"UPDATE public.documents SET id = {doc} + 1000 WHERE id = {doc} AND NOT EXISTS "
                 f"(SELECT FROM public.documents WHERE id = {doc} + 1000)"],
        lambda: [f"UPDATE public.documents SET id = id - 1000, tag = 'back' WHERE id = {doc} + 1000 AND "
                 f"NOT EXISTS (SELECT FROM public.documents WHERE id = {doc})"],
        lambda: [f"DELETE FROM public.documents WHERE id = {doc}",
                 f"INSERT INTO public.documents VALUES ({doc}, repeat('{number}', 3000), 1, 'new') "
                 "ON CONFLICT DO NOTHING"],
        lambda: [f"INSERT INTO public.events (kind) SELECT 'k{number}' FROM generate_series(1, {pick.randint(1, 40)})"],
        lambda: [f"DELETE FROM public.events WHERE id % 97 = {number % 97}"],
        lambda: [f"UPDATE public.pairs SET a = {number % 50}, v = 'm{number}' WHERE b = {key}"],
        lambda: [f"DELETE FROM public.pairs WHERE b = {key}",
                 f"INSERT INTO public.pairs VALUES ({number % 50}, {key}, 'again')"],
        lambda: [f"UPDATE public.parts SET region = {number % 3} WHERE id = {key} AND NOT EXISTS "
                 f"(SELECT FROM public.parts WHERE id = {key} AND region = {number % 3})"],
        lambda: [f"UPDATE public.parts SET v = 'v{number}' WHERE id = {key}"],
        lambda: [f"INSERT INTO public.bag VALUES ({number % 10}, NULL), ({number % 10}, NULL)"],
        lambda: [f"DELETE FROM public.bag WHERE ctid IN (SELECT ctid FROM public.bag WHERE v = {number % 10} LIMIT 1)"],
        lambda: [f"UPDATE public.bag SET w = 'u{number % 5}' WHERE ctid IN "
                 f"(SELECT ctid FROM public.bag WHERE v = {number % 10} LIMIT 2)"],
        lambda: [f"UPDATE public.words SET seen = {number} WHERE word = md5('{key}')"],
        lambda: [f"UPDATE public.words SET word = md5('{key}') || '-moved' WHERE word = md5('{key}') AND NOT EXISTS "
                 f"(SELECT FROM public.words WHERE word = md5('{key}') || '-moved')"],
    ]
    chosen = [s for _ in range(pick.choice((1, 1, 1, 2, 5))) for s in pick.choice(menu)()]
    if k() < 0.15:
        inner = pick.choice(menu)()
        chosen += ["SAVEPOINT s", *inner, "ROLLBACK TO SAVEPOINT s" if k() < 0.6 else "RELEASE SAVEPOINT s"]
        chosen += pick.choice(menu)()
    if k() < 0.004:
        chosen.append("TRUNCATE public.events, public.bag")
    if k() < 0.004:
        chosen.append(f"INSERT INTO public.events (kind) SELECT 'bulk' FROM generate_series(1, 50000)")
    if k() < 0.01:
        chosen.append("UPDATE public.pairs SET v = v || '.' WHERE a < 10")
    return chosen


class Writer(threading.Thread):
    def __init__(self, url, seed, busy):
        super().__init__(daemon=True)
        self.url, self.pick, self.busy = url, random.Random(seed), busy
        self.stopping = threading.Event()
        self.waiting = threading.Event()
        self.transactions = 0

    def run(self):
        session = None
        while not self.stopping.is_set():
            if self.waiting.is_set():
                time.sleep(0.05)
                continue
            try:
                session = session or Session(self.url)
                for statement in ["BEGIN", *statements(self.pick),
                                  "ROLLBACK" if self.pick.random() < 0.05 else "COMMIT"]:
                    session.run(statement)
                self.transactions += 1
                time.sleep(self.pick.random() * self.busy)
            except psycopg2.Error as problem:
                # A restart of the server, a deadlock, a duplicate key: the transaction is gone.
                if session and session.connection.closed or isinstance(problem, psycopg2.OperationalError):
                    session = None
                    time.sleep(0.2)
                else:
                    session.run("ROLLBACK")


def behind(database, slot):
    """Bytes of log that the pipeline has not confirmed; none while the server restarts."""
    try:
        return int(database.value("SELECT pg_current_wal_lsn() - confirmed_flush_lsn FROM pg_replication_slots "
                                  f"WHERE slot_name = '{slot}'") or 0)
    except (psycopg2.Error, IndexError):
        return 0


def settle(database, run, target, table, only):
    """Waits until a table is equal, for as long as the pipeline gets on; (rows, differing, which)."""
    least, deadline = None, time.monotonic() + 120
    while True:
        found = target.rows(database, run, table, only)
        left = behind(database, run.slot)
        if least is None or left < least - 1_000_000:
            least, deadline = left, time.monotonic() + 120
        if not found[1] or time.monotonic() > deadline:
            return found
        time.sleep(0.3)


class Sqlite:
    """The target's file: nothing of it can be hurt but by killing who writes it."""

    tables = TABLES
    toml = None

    def __init__(self, folder, which):
        pass

    def rows(self, database, run, table, only):
        lacks, extra = compare.differences(database, table, run.path, only=only)
        return (sum(compare.source_rows(database, table)[1].values()), sum(lacks.values()) + sum(extra.values()),
                f"missing {str(list(lacks)[:3])[:400]} too many {str(list(extra)[:3])[:400]}")

    def hurt(self, pick, counts):
        return False

    def close(self):
        pass


class Searching:
    """A search node behind a proxy; it is killed and cut off too."""

    tables = [t for t in TABLES if t != "public.bag"]  # which has no key

    def __init__(self, folder, which):
        self.node = search.Node(which, folder + "/search")
        self.proxy = FaultProxy(self.node.port)
        self.toml = f'[target]\nflavor = "{self.node.flavor}"\nurl = "http://127.0.0.1:{self.proxy.port}"\n'

    def rows(self, database, run, table, only):
        missing, extra, other = search.differences(database, table, self.node, only=only)
        return (len(search.source_documents(database, table)), len(missing) + len(extra) + len(other),
                f"missing {missing[:3]} too many {extra[:3]} different {other[:3]}")

    def hurt(self, pick, counts):
        what = pick.random()
        if what < 0.12:
            self.proxy.cut() if pick.random() < 0.5 else self.proxy.cut_after(pick.randint(1, 4000))
            counts["cuts"] += 1
        elif what < 0.14:
            self.node.kill()
            self.node.restart()
            counts["restarts"] += 1
        return what < 0.14

    def close(self):
        self.proxy.close()
        self.node.stop()


def hurt(pick, run, proxy, server, target, counts):
    """One fault. Mostly SIGKILL."""
    if target.hurt(pick, counts):
        return
    what = pick.random()
    if what < 0.15:
        proxy.cut() if pick.random() < 0.5 else proxy.cut_after(pick.randint(1, 400_000))
        counts["cuts"] += 1
        return
    if what < 0.2:
        proxy.stalled = True
        time.sleep(pick.random() * 6)
        proxy.stalled = False
        counts["cuts"] += 1
        return
    if what < 0.23:
        server.restart(pick.choice(("fast", "immediate")))
        counts["restarts"] += 1
        return
    run.kill()
    counts["kills"] += 1
    if pick.random() < 0.2:
        time.sleep(pick.random())
    run.start()


def main():
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--source", default="postgres", choices=["postgres"])
    parser.add_argument("--sink", default="sqlite",
                        choices=["sqlite", "opensearch-2", "opensearch-3", "elasticsearch-7", "elasticsearch-8", "elasticsearch-9"])
    parser.add_argument("--kills", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rows", type=int, default=4000, help="rows of each large table at the start")
    parser.add_argument("--version", type=int, default=15, help="PostgreSQL's")
    parser.add_argument("--catch-up", action="store_true", help="catch up from a copy of the slot at every chance")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and target")
    asked = parser.parse_args()

    pick = random.Random(asked.seed)
    folder = tempfile.mkdtemp(prefix="cdc-chaos.")
    pathlib.Path(folder).chmod(0o711)
    server = Server(asked.version, folder + "/pg")
    database = server.new_database()
    with database.session() as session:
        session.run(SCHEMA)
        session.run(SEED_ROWS.format(n=asked.rows, small=min(300, asked.rows)))
    proxy = FaultProxy(server.port)
    url = through(database, proxy)
    target = (Sqlite if asked.sink == "sqlite" else Searching)(folder, asked.sink)
    sections = [section(t.split(".")[1], table=t) for t in target.tables]
    run = Pipeline(folder, database, sections, url=url, target=target.toml,
                   source="load_workers = 2\nload_chunk_rows = 500\nreconnect_max = 1000"
                          + ("\ncatch_up_bytes = 1" if asked.catch_up else ""),
                   engine="batch_size = 200\ncheckpoint_interval_ms = 100\nload_max_rows_per_sec = 20000\n"
                          + ("" if asked.sink == "sqlite" else "write_concurrency = 3\nretry_max = 1000\nretry_backoff_ms = 100"))
    writers = [Writer(database.url, asked.seed * 100 + i, 0.004) for i in range(3)]
    counts = {"kills": 0, "cuts": 0, "restarts": 0}
    failed = True
    try:
        run.start()
        for writer in writers:
            writer.start()
        added = 0
        while counts["kills"] < asked.kills:
            time.sleep(pick.choice((0.05, 0.3, 0.6, 1.0, 2.0, 5.0)) * (0.3 + pick.random()))
            # Writers that were never waited for would be an hour ahead in the end.
            for writer in writers:
                writer.waiting.set() if behind(database, run.slot) > 64_000_000 else writer.waiting.clear()
            assert run.process.poll() is None, f"ended with {run.process.returncode}:\n{run.log()[-4000:]}"
            hurt(pick, run, proxy, server, target, counts)
            if pick.random() < 0.02 and added < 3:
                added += 1
                database.run(f"ALTER TABLE public.accounts ADD COLUMN extra_{added} int DEFAULT {added}")
        for writer in writers:
            writer.stopping.set()
        for writer in writers:
            writer.join(timeout=120)
        proxy.stalled = False
        # Columns added on the way stay out of the comparison where the target has been told to report only.
        only = {"public.accounts": ("id", "name", "balance", "note")}
        rows, wrong = 0, 0
        for table in target.tables:
            held, differ, what = settle(database, run, target, table, only.get(table))
            if differ:
                print(f"{table}: {what}")
            wrong += differ
            rows += held
        status = run.stop() if run.running else run.process.returncode
        failed = bool(wrong) or status != 0
        if status != 0:
            print(f"the last stop ended with {status}:\n{run.log()[-3000:]}")
        print(f"seed {asked.seed}, {sum(w.transactions for w in writers)} transactions")
        print(f"kills {counts['kills']} cuts {counts['cuts']} restarts {counts['restarts']} rows {rows} differences {wrong}")
    finally:
        run.kill()
        proxy.close()
        target.close()
        server.stop("immediate")
        if failed or asked.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
