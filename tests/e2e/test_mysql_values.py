"""Load = stream, on the real servers: what the decoders make of a binlog's rows is what they make of a
SELECT of the same rows, byte for byte, for every type."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
STATEMENTS = ROOT / "tests/mysql"
ESCAPES = {b"t": b"\t", b"n": b"\n", b"0": b"\0", b"\\": b"\\"}
COLUMN = "data_type, column_type, character_set_name, character_octet_length"


def tool():
    for build in (os.environ.get("CDC_BUILD"), ROOT / "build/release", ROOT / "build/dev"):
        if build and (pathlib.Path(build) / "mysql_values").exists():
            return str(pathlib.Path(build) / "mysql_values")
    pytest.skip("mysql_values is not built")


class Database:
    def __init__(self, product, version, folder, *settings):
        self.folder = folder
        self.name = f"{product}-{version}"
        self.script = ROOT / "tests/servers" / product
        if not self.script.exists():
            pytest.skip(f"no {self.script}")
        started = subprocess.run([self.script, "start", version, folder, *settings], capture_output=True)
        if started.returncode == 3:
            pytest.skip(f"{product} {version}: {started.stderr.decode().strip()}")
        assert started.returncode == 0, started.stderr.decode()

    def run(self, sql):
        """Rows as bytes: values come in their column's character set."""
        done = subprocess.run(["mariadb", "-uapp", "-psecret", "-S", f"{self.folder}/s.sock", "-N", "-B",
                               "--default-character-set=binary", "d"], input=sql.encode(), capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return [line.split(b"\t") for line in done.stdout.split(b"\n")[:-1]]

    def columns(self, table):
        return [[field.decode() for field in row] for row in self.run(
            f"SET NAMES utf8mb4; SELECT column_name, {COLUMN} FROM information_schema.columns "
            f"WHERE table_schema = 'd' AND table_name = '{table}' ORDER BY ordinal_position")]

    def log(self):
        self.run("FLUSH LOGS")
        files = sorted(path for path in pathlib.Path(self.folder, "data").iterdir() if re.search(r"\.\d{6}$", path.name))
        return b"\xfebin" + b"".join(path.read_bytes()[4:] for path in files)

    def stop(self):
        subprocess.run([self.script, "stop", self.folder, "kill"], check=False)


# What a TABLE_MAP leaves out comes from the catalogue.
@pytest.fixture(params=["mariadb-10.5-FULL", "mariadb-10.11-FULL", "mariadb-10.11-NO_LOG", "mariadb-10.11-MINIMAL",
                        "mariadb-11.8-FULL", "mysql-9.7-FULL", "mysql-9.7-MINIMAL"])
def database(request, ground):
    product, version, metadata = request.param.split("-")
    made = Database(product, version, f"{ground}/{request.param}", f"binlog_row_metadata={metadata}")
    yield made
    made.stop()


def unescaped(value):
    return re.sub(rb"\\(.)", lambda it: ESCAPES[it[1]], value, flags=re.S)


def selected(database, table):
    columns = database.columns(table)
    # As select_expression() has it.
    names = ", ".join(f"`{it[0]}`*1e0" if it[1] in ("float", "double") else f"`{it[0]}`" for it in columns)
    rows = database.run(f"SET time_zone = '+00:00', character_set_results = NULL; SELECT {names} FROM {table} ORDER BY id")
    lines = [str(len(columns)), *("\t".join(it[1:]) for it in columns)]
    lines += ["\t".join("NULL" if it == b"NULL" else "=" + unescaped(it).hex() for it in row) for row in rows]
    done = subprocess.run([tool(), "selected"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def streamed(database, tables, folder):
    (folder / "log").write_bytes(database.log())
    (folder / "catalogue").write_text("".join("\t".join([table, *it[1:]]) + "\n"
                                              for table in tables for it in database.columns(table)))
    done = subprocess.run([tool(), "log", folder / "log", folder / "catalogue"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = {table: [] for table in tables}
    for line in done.stdout.splitlines():
        _, table, what, _, *cells = line.split("\t")
        if table in rows:
            assert what == "insert"
            rows[table].append(cells)
    return rows


def by_id(rows):
    return sorted(rows, key=lambda row: int(bytes.fromhex(row[0][1:])))


def test_every_type_is_the_same_text_from_the_log_and_from_a_select(database, tmp_path):
    text = (STATEMENTS / "text.sql").read_text()
    for mark, names in (("__E__", [f"'e{i}'" for i in range(1, 301)]), ("__S__", [f"'s{i}'" for i in range(1, 65)]),
                        ("__A__", [f"s{i}" for i in range(1, 65)])):
        text = text.replace(mark, ",".join(names))
    database.run((STATEMENTS / "numbers_and_times.sql").read_text())
    database.run(text)
    tables = ["t_num", "t_time", "t_str", "t_str2"]
    if database.script.name == "mysql":
        database.run((STATEMENTS / "mysql_json.sql").read_text())
        tables.append("t_json")
    elif database.name != "mariadb-10.5":  # which has neither UUID nor INET4
        database.run((STATEMENTS / "mariadb_types.sql").read_text())
        tables += ["t_m", "t_oldt"]
    made_by = {"mysql-9.7": "to_vector", "mariadb-11.8": "vec_fromtext"}.get(database.name)
    if made_by:
        database.run(f"CREATE TABLE t_vec (id int PRIMARY KEY, v vector(3)); INSERT INTO t_vec VALUES (1, {made_by}"
                     f"('[1,-2.5,0.1]')), (2, {made_by}('[0,1000000,0.001]')), (3, NULL), (4, {made_by}('[0,0,0]')), (5, NULL)")
        tables.append("t_vec")
    stream = streamed(database, tables, tmp_path)
    for table in tables:
        load = by_id(selected(database, table))
        assert len(load) > 4
        assert by_id(stream[table]) == load, table
