"""Compares every row and every value of a PostgreSQL table with its copy in SQLite.

The source's text is COPY's, that is the type's own output function; what SQLite must hold for it is
said here once more, independently of the program, from docs/types.md.
"""

import collections
import contextlib
import io
import re
import sqlite3

PINNED = ("SET TimeZone = 'UTC'", "SET DateStyle = 'ISO'", "SET IntervalStyle = 'postgres'",
          "SET extra_float_digits = 3", "SET bytea_output = 'hex'", "SET lc_monetary = 'C'")
ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def _unescape(field):
    if field == rb"\N":
        return None
    if b"\\" not in field:
        return field
    return re.sub(rb"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), field, flags=re.S)


def _expected(value, base):
    if value is None:
        return None
    if base == "bool":
        return 1 if value == b"t" else 0
    if base in ("int2", "int4", "int8", "oid"):
        return int(value)
    if base in ("float4", "float8"):
        number = float(value)
        return value if value in (b"NaN", b"Infinity", b"-Infinity") else repr(number).encode()
    if base == "bytea":
        return bytes.fromhex(value[2:].decode())
    return value


def _held(value):
    if isinstance(value, float):
        return repr(value).encode()
    return value


def columns(session, table):
    """[(name, base type)] in column order, domains resolved, generated columns left out."""
    return session.rows("""
        WITH RECURSIVE base AS (
          SELECT a.attname, a.attnum, t.oid, t.typtype, t.typbasetype, t.typname
            FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
           WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
             AND a.attgenerated = ''
          UNION ALL
          SELECT b.attname, b.attnum, t.oid, t.typtype, t.typbasetype, t.typname
            FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd')
        SELECT attname, typname FROM base WHERE typtype <> 'd' ORDER BY attnum""", (table,))


def source_rows(database, table, only=None):
    """The table's rows as a multiset of tuples of what SQLite must hold."""
    with database.session() as session:
        for setting in PINNED:
            session.run(setting)
        chosen = [c for c in columns(session, table) if only is None or c[0] in only]
        names = ", ".join('"' + name.replace('"', '""') + '"' for name, _ in chosen)
        out = io.BytesIO()
        with session.connection.cursor() as cursor:
            cursor.copy_expert(f"COPY (SELECT {names} FROM {table}) TO STDOUT", out)
    rows = collections.Counter()
    for line in out.getvalue().split(b"\n")[:-1]:
        fields = line.split(b"\t")
        rows[tuple(_expected(_unescape(f), base) for f, (_, base) in zip(fields, chosen))] += 1
    return [name for name, _ in chosen], rows


def target_rows(path, target, names):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as connection:
        connection.text_factory = bytes
        listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        quoted = '"' + target.replace('"', '""') + '"'
        return collections.Counter(tuple(_held(v) for v in row)
                                   for row in connection.execute(f"SELECT {listed} FROM {quoted}"))


def differences(database, table, path, target=None, only=None):
    """(rows the target lacks, rows it has too many), as multisets. Both empty: equal."""
    names, source = source_rows(database, table, only)
    target = target or re.sub(r'^.*\.', "", table).strip('"').replace('""', '"')
    try:
        held = target_rows(path, target, names)
    except sqlite3.OperationalError as problem:
        return collections.Counter({(str(problem),): 1}), collections.Counter()
    return source - held, held - source
