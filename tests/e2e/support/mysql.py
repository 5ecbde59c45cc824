"""A real MariaDB or MySQL server, started by tests/servers/mariadb or tests/servers/mysql."""

import pathlib
import subprocess
import urllib.parse
import uuid

import pymysql

from .pipeline import eventually
from .server import Unobtainable
from .session import SqlSession

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "servers"
PASSWORD = "secret"


class MysqlServer:
    """`which` is the product and its version: mariadb-10.11, mysql-9.7."""

    def __init__(self, which, folder, *settings):
        self.product, self.version = which.split("-", 1)
        self.folder = pathlib.Path(folder)
        started = subprocess.run([SCRIPTS / self.product, "start", self.version, folder, *settings],
                                 capture_output=True, text=True, timeout=300)
        if started.returncode == 3:
            raise Unobtainable(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        self.url = started.stdout.strip()
        self.port = int((self.folder / "port").read_text())
        self.certificate = self.folder / "server.crt"

    @property
    def mariadb(self):
        return self.product == "mariadb"

    def stop(self, how="fast"):
        subprocess.run([SCRIPTS / self.product, "stop", self.folder, how], check=True, timeout=90)

    def restart(self, how="fast"):
        subprocess.run([SCRIPTS / self.product, "restart", self.folder, how], check=True, timeout=90)

    def log(self):
        return (self.folder / "log.err").read_text(errors="replace")

    def session(self, **options):
        return MysqlSession(self.url, **options)

    def purge(self):
        """Begins a new file and drops all before it; returns its name."""
        with self.session() as admin:
            admin.run("FLUSH BINARY LOGS")
            admin.run("FLUSH BINARY LOGS")
            last = admin.rows("SHOW BINARY LOGS")[-1][0]

            def purged():  # A file that someone still reads is left alone: a killed one's, for a moment.
                admin.run(f"PURGE BINARY LOGS TO '{last}'")
                return admin.rows("SHOW BINARY LOGS")[0][0] == last
            eventually(purged, 30)
        return last

    def new_database(self):
        name = "d_" + uuid.uuid4().hex[:12]
        with self.session() as admin:
            admin.run(f"CREATE DATABASE `{name}`")
        return MysqlDatabase(self, name)


class MysqlDatabase:
    """One database of a server: a test's own world."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.admin_url = server.url.rsplit("/", 1)[0] + "/" + name
        # What a pipeline logs in with: a user that may read and be a replica, no more.
        self.url = self.admin_url.replace("//app:", "//cdc:")

    def session(self, **options):
        return MysqlSession(self.admin_url, **options)

    def run(self, *statements):
        with self.session() as session:
            for statement in statements:
                session.run(statement)

    def value(self, query):
        with self.session() as session:
            return session.rows(query)[0][0]

    def drop(self):
        with self.server.session() as admin:
            admin.run(f"DROP DATABASE IF EXISTS `{self.name}`")


class MysqlSession(SqlSession):
    """One connection; every statement commits by itself unless `transaction()` is used."""

    def __init__(self, url, **options):
        at = urllib.parse.urlsplit(url)
        super().__init__(pymysql.connect(host=at.hostname, port=at.port, user=at.username, password=at.password,
                                         database=at.path.lstrip("/") or None, charset="utf8mb4", autocommit=True,
                                         **options))

    def transaction(self, *statements):
        self.run("BEGIN")
        for statement in statements:
            self.run(statement)
        self.run("COMMIT")
