"""A real OpenSearch or Elasticsearch node, and a comparison of every document with its row.

What a document must hold is said here once more, independently of the program, from docs/types.md.
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from . import compare
from .server import Unobtainable

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "servers" / "search"
STATE = ".pg2osync_meta"


class Node:
    def __init__(self, which, folder, *settings):
        self.folder = pathlib.Path(folder)
        self.which = which
        self.flavor = which.split("-")[0]
        self.headers = {"Content-Type": "application/json"}
        started = subprocess.run([SCRIPT, "start", which, folder, *settings], capture_output=True, text=True, timeout=600)
        if started.returncode == 3:
            raise Unobtainable(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        self.url = started.stdout.strip()
        self.port = int((self.folder / "port").read_text())
        self.context = None
        if self.url.startswith("https"):
            self.context = ssl.create_default_context(cafile=self.folder / "config" / "node.pem")
            self.headers["Authorization"] = "Basic " + base64.b64encode(b"admin:admin-pass").decode()

    def kill(self):
        os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def stop(self):
        subprocess.run([SCRIPT, "stop", self.folder], check=True, timeout=90)

    def restart(self):
        subprocess.run([SCRIPT, "restart", self.folder], check=True, timeout=180)

    def ask(self, method, path, body=None):
        """(status, parsed answer)."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as answer:
            text = answer.read()
            return answer.code, json.loads(text) if text else None

    def demand(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status < 300, (method, path, status, answer)
        return answer

    def count(self, index):
        self.ask("POST", f"/{index}/_refresh")
        status, answer = self.ask("GET", f"/{index}/_count")
        return answer["count"] if status < 300 else 0

    def documents(self, index):
        """{_id: document}, numbers as they are spelled; None while there is no such index."""
        status, _ = self.ask("POST", f"/{index}/_refresh")
        if status == 404:
            return None
        out = {}
        page = self.demand("POST", f"/{index}/_search?scroll=1m", {"size": 2000, "sort": ["_doc"]})
        while page["hits"]["hits"]:
            for hit in page["hits"]["hits"]:
                out[hit["_id"]] = hit["_source"]
            page = self.demand("POST", "/_search/scroll", {"scroll": "1m", "scroll_id": page["_scroll_id"]})
        self.ask("DELETE", "/_search/scroll", {"scroll_id": page["_scroll_id"]})
        return out

    def empty(self):
        """Removes every index, ours too."""
        for index in self.demand("GET", "/_cat/indices?format=json&expand_wildcards=all&h=index"):
            if not index["index"].startswith((".opendistro", ".plugins", ".kibana", ".security")):
                self.ask("DELETE", "/" + index["index"])


def _array(text, delimiter, element):
    at = text.index("=") + 1 if text.startswith("[") else 0

    def parse():
        nonlocal at
        assert text[at] == "{"
        at += 1
        items = []
        while text[at] != "}":
            if text[at] == delimiter:
                at += 1
            if text[at] == "{":
                items.append(parse())
                continue
            quoted = text[at] == '"'
            at += quoted
            value = ""
            while text[at] != '"' if quoted else text[at] not in delimiter + "}":
                at += text[at] == "\\"
                value += text[at]
                at += 1
            at += quoted
            items.append(None if not quoted and value.upper() == "NULL" else element(value))
        at += 1
        return items

    return parse()


def _value(text, base):
    """What a document holds for a value; `base` is the type's name, `_name` for an array of it."""
    if text is None:
        return None
    if base.startswith("_"):
        return _array(text, ";" if base == "_box" else ",", lambda each: _value(each, base[1:]))
    if base == "bool":
        return text == "t"
    if base in ("int2", "int4", "int8", "oid"):
        return int(text)
    if base in ("float4", "float8"):
        return text if text in ("NaN", "Infinity", "-Infinity") else float(text)
    if base in ("json", "jsonb"):
        return json.loads(text)
    if base == "bytea":
        return base64.b64encode(bytes.fromhex(text[2:])).decode()
    return text


def _id(key):
    def word(value):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if len(key) == 1:
        made = word(next(iter(key.values()))) or "__empty__"
    else:
        made = ",".join(f"{name}={word(value)}" for name, value in sorted(key.items()))
    return made if len(made.encode()) <= 512 else hashlib.sha256(made.encode()).hexdigest()


def source_documents(database, table, only=None):
    with database.session() as session:
        for setting in compare.PINNED:
            session.run(setting)
        chosen = [c for c in compare.columns(session, table) if only is None or c[0] in only]
        key = [name for (name,) in session.rows(
            "SELECT attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (indkey) "
            "WHERE indrelid = %s::regclass AND indisprimary", (table,))]
        names = ", ".join('"' + name.replace('"', '""') + '"' for name, _ in chosen)
        out = io.BytesIO()
        with session.connection.cursor() as cursor:
            cursor.copy_expert(f"COPY (SELECT {names} FROM {table}) TO STDOUT", out)
    documents = {}
    for line in out.getvalue().split(b"\n")[:-1]:
        document = {}
        for field, (name, base) in zip(line.split(b"\t"), chosen):
            value = compare._unescape(field)
            document[name] = _value(None if value is None else value.decode(), base)
        documents[_id({name: document[name] for name in key})] = document
    return documents


def differences(database, table, node, index=None, only=None):
    """(ids missing, ids too many, ids that differ); all empty: equal."""
    source = source_documents(database, table, only)
    held = node.documents(index or table.split(".")[-1])
    if held is None:
        return ["no index"], [], []
    if only:
        held = {i: {name: value for name, value in document.items() if name in only} for i, document in held.items()}
    return (sorted(source.keys() - held.keys()), sorted(held.keys() - source.keys()),
            sorted(i for i in source.keys() & held.keys() if source[i] != held[i]))


def until_equal(run, node, *tables, within=60):
    for table in tables:
        deadline = time.monotonic() + within
        pause = 0.3
        while True:
            missing, extra, other = differences(run.database, table, node)
            if not (missing or extra or other):
                break
            assert run.running or run.process.returncode == 0, \
                f"the process ended with {run.process.returncode}:\n{run.log()[-4000:]}"
            assert time.monotonic() < deadline, \
                f"{table}: missing {missing[:5]} ({len(missing)}), too many {extra[:5]} ({len(extra)}), " \
                f"different {other[:5]} ({len(other)})\n{run.log()[-3000:]}"
            # Reading everything costs the node more than writing it.
            time.sleep(pause)
            pause = min(pause * 2, 5)
