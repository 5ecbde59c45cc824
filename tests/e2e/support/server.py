"""A real PostgreSQL of a given version, started by tests/servers/postgres."""

import pathlib
import subprocess
import uuid

import psycopg2
import psycopg2.extensions

from .session import SqlSession

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "servers" / "postgres"


class Unobtainable(Exception):
    """This version cannot be had on this machine."""


class Server:
    def __init__(self, version, folder, *settings):
        self.folder = folder
        self.version = version
        started = subprocess.run([SCRIPT, "start", str(version), folder, *settings],
                                 capture_output=True, text=True, timeout=300)
        if started.returncode == 3:
            raise Unobtainable(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        self.url = started.stdout.strip()
        self.port = int((pathlib.Path(folder) / "port").read_text())

    def stop(self, how="fast"):
        subprocess.run([SCRIPT, "stop", self.folder, how], check=True, timeout=90)

    def restart(self, how="fast"):
        subprocess.run([SCRIPT, "restart", self.folder, how], check=True, timeout=90)

    def log(self):
        return (pathlib.Path(self.folder) / "log").read_text(errors="replace")

    def new_database(self, name=None):
        name = name or "d_" + uuid.uuid4().hex[:12]
        with Session(self.url) as admin:
            admin.run(f'CREATE DATABASE "{name}"')
        return Database(self, name)


class Database:
    """One database of a server: a test's own world. Its slots are dropped with it."""

    def __init__(self, server, name):
        self.server = server
        self.name = name
        self.url = server.url.rsplit("/", 1)[0] + "/" + name

    def session(self):
        return Session(self.url)

    def run(self, *statements):
        with self.session() as session:
            for statement in statements:
                session.run(statement)

    def value(self, query):
        with self.session() as session:
            return session.rows(query)[0][0]

    def drop(self):
        with Session(self.server.url) as admin:
            admin.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                      f"WHERE datname = '{self.name}' AND pid <> pg_backend_pid()")
            for (slot,) in admin.rows("SELECT slot_name FROM pg_replication_slots "
                                      f"WHERE database = '{self.name}'"):
                admin.run(f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
                          f"WHERE slot_name = '{slot}' AND active_pid IS NOT NULL")
                for _ in range(50):
                    try:
                        admin.run(f"SELECT pg_drop_replication_slot('{slot}')")
                        break
                    except psycopg2.errors.UndefinedObject:
                        break  # a temporary one that went with its session
                    except psycopg2.errors.ObjectInUse:
                        admin.run("SELECT pg_sleep(0.1)")
            admin.run(f'DROP DATABASE "{self.name}" WITH (FORCE)')


class Session(SqlSession):
    """One connection; every statement commits by itself unless `transaction()` is used."""

    def __init__(self, url):
        super().__init__(psycopg2.connect(url))
        self.connection.autocommit = True

    def transaction(self, *statements):
        with self.connection.cursor() as cursor:
            cursor.execute("BEGIN")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("COMMIT")
