"""What a search server does wrong, and what is seen of it: nothing is lost, memory stays flat, the state is named."""

import json
import pathlib
import socket
import threading
import time

import pytest

from support import search
from support.fault_proxy import FaultProxy
from support.pipeline import eventually, section
from support.search import until_equal

pytestmark = pytest.mark.xdist_group("search")

T = section("t", table="public.t")


def target(run):
    return run.status()["pipelines"][0]["sinks"][0]["target"]


def waits_for(run):
    return target(run)["waits_for"] or ""


def test_an_index_deleted_by_hand_is_made_and_loaded_anew(database, node, searching, table):
    database.run("CREATE TABLE public.u (id int PRIMARY KEY, v text)", "INSERT INTO public.u SELECT i, 'u' FROM generate_series(1, 300) i")
    run = searching(T, section("u", table="public.u"), engine="retry_max = 100").start()
    until_equal(run, node, "public.t", "public.u")
    mapping = node.demand("GET", "/t/_mapping")
    rows_of_u = run.get("/metrics")[1].count("x")  # the process is the same one throughout
    assert rows_of_u >= 0
    for change in ("DELETE FROM public.t WHERE id = 1", "UPDATE public.t SET v = 'after' WHERE id = 2"):
        node.demand("DELETE", "/t")
        database.run(change)
        eventually(lambda: node.ask("HEAD", "/t")[0] == 200)
        until_equal(run, node, "public.t", "public.u")
        assert node.demand("GET", "/t/_mapping") == mapping
    assert "index t is not the one that was loaded any more" in run.log()
    assert run.running and run.stop() == 0


def test_an_index_deleted_while_nothing_ran_is_loaded_anew(database, node, searching, table):
    run = searching(T)
    assert run.once() == 0
    node.demand("DELETE", "/t")
    # And made again by another, with what it thinks of the first document.
    node.demand("PUT", "/t/_doc/foreign", {"v": "x"})
    assert run.once() == 0
    assert {str(i) for i in range(1, 1001)} <= set(node.documents("t"))


def test_an_alias_of_the_users_is_written_by_its_name_and_may_move(database, node, searching, table):
    node.demand("PUT", "/t-1", {"settings": {"number_of_replicas": 0}, "aliases": {"t": {}}})
    run = searching(T, of_target="require_alias = true").start()
    until_equal(run, node, "public.t")
    node.demand("PUT", "/t-2", {"settings": {"number_of_replicas": 0}})
    node.demand("POST", "/_aliases", {"actions": [{"remove": {"index": "t-1", "alias": "t"}}, {"add": {"index": "t-2", "alias": "t"}}]})
    database.run("UPDATE public.t SET v = 'moved' WHERE id <= 3")
    eventually(lambda: node.count("t-2") == 3)
    assert run.stop() == 0


def test_the_switch_of_an_alias_and_what_it_refuses(database, node, searching, table):
    run = searching(section("t-2", table="public.t"))
    assert run.once() == 0
    node.demand("PUT", "/t-1", {"aliases": {"shown": {}}})
    said = run.command("switch-alias", "--alias", "shown")
    assert said.returncode == 0 and said.stdout == "shown is an alias of t-2 now; before: t-1\n", said
    assert node.count("shown") == 1000
    assert run.command("switch-alias", "--alias", "t-1").returncode == 1
    two = searching(T, section("u", table="public.u"), folder="two")
    assert two.command("switch-alias", "--alias", "shown").returncode == 2


def test_bootstrap_makes_everything_and_writes_nothing(database, node, searching, table):
    run = searching(T)
    said = run.command("bootstrap")
    assert said.returncode == 0 and f"slot {run.slot} are ready" in said.stdout, said
    assert node.count("t") == 0 and node.ask("HEAD", "/t")[0] == 200
    assert run.command("bootstrap").returncode == 0
    run.start()
    until_equal(run, node, "public.t")
    busy = run.command("bootstrap")
    assert busy.returncode == 1 and "in use by pid" in busy.stderr, busy
    assert run.running and "fenced" not in run.log() and run.stop() == 0
    settings = node.demand("GET", "/t/_settings?flat_settings=true")["t"]["settings"]
    assert settings.get("index.refresh_interval") != "-1"


def test_bodies_are_compressed_if_asked_for(database, node, searching, table):
    database.run("UPDATE public.t SET v = repeat('same ', 500)")
    sizes = {}
    for name, of_target in (("plain", ""), ("gzip", "gzip = true")):
        proxy = FaultProxy(node.port)
        node.ask("DELETE", "/t")
        run = searching(T, url=f"http://127.0.0.1:{proxy.port}", of_target=of_target, folder=name)
        assert run.once() == 0, run.log()
        assert node.count("t") == 1000 and not any(search.differences(database, "public.t", node))
        sizes[name] = proxy.sent
        proxy.close()
    assert sizes["gzip"] * 10 < sizes["plain"], sizes


def test_another_server_takes_over_when_one_cannot_be_reached(database, node, pipeline, table):
    first, second = FaultProxy(node.port), FaultProxy(node.port)
    urls = json.dumps([f"http://127.0.0.1:{p.port}" for p in (first, second)])
    run = pipeline(T, target=f'[target]\nflavor = "{node.flavor}"\nurl = {urls}\n', engine="retry_max = 50\nretry_backoff_ms = 100").start()
    until_equal(run, node, "public.t")
    first.close()
    database.run("UPDATE public.t SET v = 'second' WHERE id % 2 = 0")
    until_equal(run, node, "public.t")
    assert second.sent > 0 and run.running
    assert run.stop() == 0
    second.close()


def test_settings_are_put_back_at_an_orderly_stop_in_the_load(database, node, searching):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(1, 12000) i", "ANALYZE")
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0, "refresh_interval": "7s"}})

    def setting():
        return node.demand("GET", "/t/_settings?flat_settings=true")["t"]["settings"].get("index.refresh_interval")

    run = searching(T, source="load_chunk_rows = 1000", engine="load_max_rows_per_sec = 2000").start()
    eventually(lambda: setting() == "-1" and node.count("t") > 1000)
    assert run.stop() == 0
    assert setting() == "7s"
    run.start()
    until_equal(run, node, "public.t")
    eventually(lambda: setting() == "7s")
    assert run.stop() == 0


def test_validate_names_what_is_in_the_way_at_the_target(database, node, searching, table):
    def said(*sections, **settings):
        done = searching(*sections, **settings).command("validate")
        return done.returncode, done.stdout

    assert said(T)[0] == 0
    other = "elasticsearch" if node.flavor == "opensearch" else "opensearch"
    run = searching(T, folder="flavor")
    run.config.write_text(run.config.read_text().replace(f'"{node.flavor}"', f'"{other}"'))
    done = run.command("validate")
    assert done.returncode == 1 and f'set flavor = "{node.flavor}"' in done.stdout, done
    if node.which.startswith("opensearch"):
        status, text = said(section("t", table="public.t", pipeline="none-such"))
        assert status == 1 and "there is no ingest pipeline none-such" in text
    node.demand("PUT", "/t", {})
    status, text = said(T, of_target="require_alias = true")
    assert status == 1 and "t is an index; with require_alias it has to be an alias" in text


@pytest.mark.parametrize("url, words", [
    ("https://search.eu-west-1.aoss.amazonaws.com", "Serverless"), ("http://127.0.0.1:9200/path", "path"),
    ("http://user:planted-77@127.0.0.1:9200", "username"), ("ftp://127.0.0.1", "http")])
def test_a_url_that_cannot_be_is_named_with_its_key(pipeline, database, table, url, words):
    run = pipeline(T, target=f'[target]\nurl = "{url}"\n')
    done = run.command("validate")
    assert done.returncode == 2 and "target.url" in done.stdout and words in done.stdout, done
    assert "planted" not in done.stdout + done.stderr


def test_a_server_that_is_too_old_is_named(pipeline, database, table):
    with Canned('{"version":{"number":"1.3.20","distribution":"opensearch"}}') as old:
        run = pipeline(T, target=f'[target]\nurl = "{old.url}"\n')
        done = run.command("validate")
        assert done.returncode == 1 and "is OpenSearch 1.3.20; at least 2.0 is needed" in done.stdout, done
        assert run.once() != 0 and "at least 2.0 is needed" in run.log()


class Canned:
    """A server that gives everyone one answer."""

    def __init__(self, body):
        self.body = body.encode()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "
                               + str(len(self.body)).encode() + b"\r\n\r\n" + self.body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@pytest.mark.parametrize("change, words", [({"publication": "other"}, "belongs to slot"), ({"schema_version": 9}, "newer version"),
                                           ({"cdc_actors": {"version": 99}}, "newer version"), ({"cdc_actors": {"version": 1}}, "damaged"),
                                           ({"slot_name": None}, "damaged")])
def test_a_checkpoint_that_is_not_ours_is_refused_and_nothing_written(database, node, searching, table, change, words):
    run = searching(T, slot="s_refused")
    assert run.once() == 0
    path = f"/{search.STATE}/_doc/postgres-s_refused"
    stored = node.demand("GET", path)["_source"]
    node.demand("PUT", path, {**stored, **change})
    before = node.demand("GET", path)
    database.run("UPDATE public.t SET v = 'unwritten'")
    assert run.once() != 0 and words in run.log()
    assert node.demand("GET", path) == before
    assert node.demand("GET", "/t/_doc/1")["_source"]["v"] == "v"


def test_an_outage_is_named_at_each_step_and_loses_nothing(database, nodes, pipeline, ground):
    """The server is stopped, slow, read-only, and has too much to do, with writers all the while."""
    node = nodes("opensearch-2", "thread_pool.write.size=1", "thread_pool.write.queue_size=1")
    node.empty()
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t SELECT i, md5(i::text) FROM generate_series(1, 3000) i")
    proxy = FaultProxy(node.port)
    run = pipeline(T, target=f'[target]\nurl = "http://127.0.0.1:{proxy.port}"\n', source="reconnect_max = 1000",
                   engine="write_concurrency = 4\nretry_max = 1000\nretry_backoff_ms = 100\nbatch_size = 200").start()
    until_equal(run, node, "public.t")
    stop = threading.Event()

    def write():
        with database.session() as session:
            i = 0
            while not stop.is_set():
                i += 1
                session.run(f"UPDATE public.t SET v = md5('{i}' || id) WHERE id % 20 = {i % 20}")
                time.sleep(0.05)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        time.sleep(2)
        at_rest = run.rss_kb()
        node.demand("PUT", "/t/_settings", {"index.blocks.read_only_allow_delete": True})
        eventually(lambda: waits_for(run).startswith("cluster block: index t"))
        time.sleep(4)
        node.demand("PUT", "/t/_settings", {"index.blocks.read_only_allow_delete": None})
        eventually(lambda: waits_for(run) == "")
        node.kill()
        eventually(lambda: run.status()["pipelines"][0]["state"] == "reconnecting")
        assert "127.0.0.1" in json.dumps(run.status()["pipelines"][0]["last_error"])
        time.sleep(4)
        node.restart()
        eventually(lambda: run.status()["pipelines"][0]["state"] == "streaming", within=120)
        node.demand("PUT", "/_cluster/settings", {"transient": {"network.breaker.inflight_requests.limit": "1kb"}})
        eventually(lambda: waits_for(run).startswith("busy: "), within=60)
        assert target(run)["pace"]["requests"] < 4
        node.restart()
        eventually(lambda: run.status()["pipelines"][0]["state"] == "streaming" and waits_for(run) == "", within=120)
        assert run.rss_kb() < at_rest + 60_000
    finally:
        stop.set()
        writer.join()
    until_equal(run, node, "public.t", within=120)
    assert run.running and run.stop() == 0
    proxy.close()


def test_rotated_credentials_and_a_wrong_certificate_are_named(database, nodes, pipeline, tmp_path):
    node = nodes("opensearch-2-secure")
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t SELECT i, 'v' FROM generate_series(1, 100) i")
    authority = pathlib.Path(node.folder) / "config" / "node.pem"
    tls = f'sslrootcert = "{authority}"'
    run = pipeline(section("ok-r", table="public.t"), engine="retry_max = 3\nretry_backoff_ms = 100",
                   target=f'[target]\nurl = "{node.url}"\nusername = "writer"\npassword_env = "CDC_TEST_PASSWORD"\n{tls}\n')
    run.environment["CDC_TEST_PASSWORD"] = "writer-pass"
    assert run.once() == 0, run.log()
    run.environment["CDC_TEST_PASSWORD"] = "rotated-5511"
    assert run.once() != 0 and "does not accept the credentials (401)" in run.log() and "rotated-5511" not in run.log()
    run.environment["CDC_TEST_PASSWORD"] = "writer-pass"
    text = run.config.read_text()
    run.config.write_text(text.replace(tls, ""))
    assert run.once() != 0 and "the TLS handshake failed" in run.log()
    run.config.write_text(text)
    database.run("UPDATE public.t SET v = 'after'")
    assert run.once() == 0
    assert all(d["v"] == "after" for d in node.documents("ok-r").values())
