"""Runs the program on one config file, and waits for what it does."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
import uuid

from . import compare

PROGRAM = os.environ.get("CDC_ACTORS") or str(
    pathlib.Path(__file__).resolve().parents[3] / "build" / "release" / "cdc-actors")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def eventually(true, within=60.0, what="the condition"):
    """Polls until `true()` gives something true, and returns it."""
    deadline = time.monotonic() + within
    pause = 0.02
    while True:
        last = true()
        if last:
            return last
        assert time.monotonic() < deadline, f"{what} did not come true within {within} s"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


class Pipeline:
    """One config file and the process that runs it. `sections` are TOML texts of [sync.*]."""

    def __init__(self, folder, database, sections, *, source="", target=None, engine="", more="",
                 url=None, slot=None):
        self.folder = pathlib.Path(folder)
        self.database = database
        self.slot = slot or "s_" + uuid.uuid4().hex[:10]
        self.path = self.folder / "target.db"
        self.port = free_port()
        self.config = self.folder / "cdc.toml"
        self.environment = dict(os.environ, CDC_TEST_SOURCE=url or database.url)
        self.process = None
        self.logs = 0
        target = target or f'[target]\nflavor = "sqlite"\npath = "{self.path}"\n'
        self.config.write_text(
            f'[source]\nurl_env = "CDC_TEST_SOURCE"\nslot_name = "{self.slot}"\n'
            f'publication = "{self.slot}_pub"\nreconnect_backoff_ms = 200\n{source}\n\n{target}\n'
            f'[engine]\n{engine}\n\n[metrics]\nbind = "127.0.0.1:{self.port}"\n\n{more}\n'
            + "\n".join(sections) + "\n")

    # -- the process ------------------------------------------------------------------------------

    def start(self, *arguments):
        assert self.process is None or self.process.poll() is not None, "it runs already"
        self.logs += 1
        log = open(self.folder / f"log.{self.logs}", "wb")
        self.process = subprocess.Popen([PROGRAM, "run", *arguments, str(self.config)], stdout=log,
                                        stderr=subprocess.STDOUT, env=self.environment,
                                        start_new_session=True)
        log.close()
        return self

    def once(self, within=120):
        """`run --once`; returns the exit status."""
        return self.start("--once").wait(within)

    def command(self, *words, within=60):
        return subprocess.run([PROGRAM, *words, str(self.config)], capture_output=True, text=True,
                              env=self.environment, timeout=within)

    def wait(self, within=60):
        return self.process.wait(timeout=within)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(timeout=30)

    def stop(self, within=10):
        """SIGTERM; returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=within)

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        """What every life wrote so far."""
        return "".join((self.folder / f"log.{i}").read_text(errors="replace")
                       for i in range(1, self.logs + 1))

    def rss_kb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    # -- what it says -----------------------------------------------------------------------------

    def get(self, path, within=5):
        """(HTTP status, body)."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=within) as r:
                return r.status, r.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def status(self):
        return json.loads(self.get("/status")[1])

    # -- what it wrote ----------------------------------------------------------------------------

    def target(self, query, *values):
        """The rows of a query; none while the file or the table is not there yet."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30)) as file:
                return file.execute(query, values).fetchall()
        except sqlite3.OperationalError:
            return []

    def equal(self, table, **how):
        return not any(compare.differences(self.database, table, self.path, **how))

    def until_equal(self, *tables, within=60, **how):
        """Waits until each table is equal row by row and value by value; says what differs if not."""
        deadline = time.monotonic() + within
        for table in tables:
            pause = 0.03
            while not self.equal(table, **how):
                assert self.running or self.process.returncode == 0, \
                    f"the process ended with {self.process.returncode}:\n{self.log()[-4000:]}"
                if time.monotonic() > deadline:
                    lacks, extra = compare.differences(self.database, table, self.path, **how)
                    raise AssertionError(
                        f"{table}: {sum(lacks.values())} rows missing, {sum(extra.values())} too many"
                        f"\nmissing: {list(lacks)[:3]}\ntoo many: {list(extra)[:3]}"
                        f"\n{self.log()[-3000:]}")
                time.sleep(pause)
                pause = min(pause * 1.5, 1.0)


def section(key, **settings):
    """The TOML of one [sync.*] section."""
    def text(value):
        return json.dumps(value) if not isinstance(value, bool) else str(value).lower()
    return f"[sync.{key}]\n" + "".join(f"{k} = {text(v)}\n" for k, v in settings.items())
