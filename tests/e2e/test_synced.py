"""/synced: waits until every target has what the source has."""

import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from support.pipeline import PROGRAM, eventually, free_port, section

T = section("t", table="public.t")
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


class Api:
    def __init__(self, port, token=None):
        self.url = f"http://127.0.0.1:{port}"
        self.token = token

    def get(self, path="/synced", method="GET", **parameters):
        """(HTTP status, parsed body)."""
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        request = urllib.request.Request(self.url + path + query, method=method)
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as answer:
            text = answer.read().decode()
            return answer.code, json.loads(text) if text.startswith("{") else text


def listening(make, *sections, token=None, more="", **settings):
    """A running pipeline with [api], and a client of it."""
    port = free_port()
    text = f'[api]\nenabled = true\nbind = "127.0.0.1:{port}"\n' + ('token_env = "CDC_TEST_API_TOKEN"\n' if token else "")
    run = make(*sections, more=text + more, **settings)
    if token:
        run.environment["CDC_TEST_API_TOKEN"] = token
    run.start()
    eventually(lambda: (_try(lambda: run.get("/readyz")) or (0,))[0] == 200)
    return run, Api(port, token)


@pytest.fixture
def synced(pipeline, table):
    return listening(pipeline, T)


def test_what_was_committed_is_there_once_it_says_so(database, synced):
    run, api = synced
    for i in range(20):
        database.run(f"UPDATE public.t SET v = 'round {i}' WHERE id = 1")
        status, said = api.get()
        assert status == 200 and said["synced"] is True, said
        assert run.target("SELECT v FROM t WHERE id = 1") == [(f"round {i}",)]
    assert set(said) == {"source", "synced", "requested", "confirmed", "waited_ms", "state"} and said["source"] == "cdc"


def test_a_position_is_waited_for_without_asking_the_source(database, synced):
    run, api = synced
    with database.session() as session:
        session.run("UPDATE public.t SET v = 'x' WHERE id = 2")
        ((at,),) = session.rows("SELECT pg_current_wal_insert_lsn()::text")
    status, said = api.get(position=at)
    assert status == 200 and said["requested"] == at
    assert run.target("SELECT v FROM t WHERE id = 2") == [("x",)]


def test_an_idle_source_is_passed_soon(database, synced):
    _, api = synced
    time.sleep(1)
    began = time.monotonic()
    assert api.get(timeout=20000)[0] == 200
    assert time.monotonic() - began < 5


def test_a_position_that_is_not_reached_in_time_is_408(synced):
    _, api = synced
    began = time.monotonic()
    status, said = api.get(position="FFFF/0", timeout=300)
    assert status == 408 and said["synced"] is False and said["requested"] == "FFFF/0"
    assert 0.25 < time.monotonic() - began < 5


@pytest.mark.parametrize("parameters, status", [
    ({"position": "nonsense"}, 400), ({"position": ""}, 400), ({"timeout": "soon"}, 400), ({"timeout": "-1"}, 400), ({"refresh": "yes"}, 400),
    ({"quux": "1"}, 400), ({"source": "other"}, 404), ({"source": "cdc"}, 200)])
def test_a_wrong_request_says_what_is_wrong(synced, parameters, status):
    _, api = synced
    got, said = api.get(**parameters)
    assert got == status and ("error" in said) == (status != 200), said


def test_other_paths_and_methods(synced):
    _, api = synced
    assert api.get("/status")[0] == 404
    assert api.get(method="POST")[0] == 405


def test_the_token_is_asked_for(pipeline, table):
    _, api = listening(pipeline, T, token="open-sesame")
    assert api.get()[0] == 200
    assert Api(int(api.url.rsplit(":", 1)[1])).get()[0] == 401
    assert Api(int(api.url.rsplit(":", 1)[1]), "open-sesam").get()[0] == 401


def test_a_source_that_cannot_be_asked_is_503(database, pipeline, table, proxy):
    run, api = listening(pipeline, T, url=database.url.replace(str(database.server.port), str(proxy.port)))
    assert api.get()[0] == 200
    proxy.close()
    status, said = api.get(timeout=1000)
    assert status == 503 and "position cannot be read" in said["error"], said


def test_several_sources_have_to_be_named(database, pipeline, table, tmp_path):
    database.run("CREATE TABLE public.u (id int PRIMARY KEY)")
    port = free_port()
    api_text = f'[api]\nenabled = true\nbind = "127.0.0.1:{port}"\n'
    one = pipeline(T, folder="one", more=api_text)
    two = pipeline(section("u", table="public.u"), folder="two")
    folder = tmp_path / "both"
    folder.mkdir()
    for run, name in ((one, "one"), (two, "two")):
        text = run.config.read_text()
        (folder / f"{name}.toml").write_text(text.replace(str(two.port), str(one.port)))
    process = subprocess.Popen([PROGRAM, "run", "--config-dir", folder], env=one.environment, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: "streaming" in str(_try(lambda: one.get("/healthz/two"))) and "streaming" in str(_try(lambda: one.get("/healthz/one"))))
        api = Api(port)
        status, said = api.get()
        assert status == 400 and "one" in said["error"] and "two" in said["error"], said
        assert api.get(source="one")[0] == 200 and api.get(source="two")[0] == 200
    finally:
        process.terminate()
        process.wait(timeout=20)


def _try(call):
    try:
        return call()
    except OSError:
        return None


def test_many_wait_at_once_and_none_keeps_the_end_up(database, synced):
    run, api = synced
    statuses = []
    waiting = [threading.Thread(target=lambda: statuses.append(api.get(position="FFFF/0", timeout=1500)[0])) for _ in range(40)]
    for each in waiting:
        each.start()
    time.sleep(0.3)
    assert api.get()[0] == 200
    for each in waiting:
        each.join()
    assert statuses == [408] * 40
    late = threading.Thread(target=lambda: _try(lambda: api.get(position="FFFF/0", timeout=20000)))
    late.start()
    time.sleep(0.3)
    assert run.stop() == 0
    late.join()


def test_the_examples(database, synced):
    run, api = synced
    database.run("UPDATE public.t SET v = 'by example' WHERE id = 3")
    done = subprocess.run([EXAMPLES / "synced.py", "--api", api.url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["synced"] is True, done.stderr
    assert run.target("SELECT v FROM t WHERE id = 3") == [("by example",)]
    done = subprocess.run([EXAMPLES / "synced.sh", api.url], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["synced"] is True, done.stderr
    late = subprocess.run([EXAMPLES / "synced.py", "--api", api.url, "--position", "FFFF/0", "--timeout", "200"], capture_output=True, timeout=60)
    assert late.returncode == 1
    none = subprocess.run([EXAMPLES / "synced.py", "--api", api.url, "--source", "none"], capture_output=True, timeout=60)
    assert none.returncode == 2


@pytest.mark.xdist_group("search")
def test_a_refresh_shows_what_was_written_to_searches(database, node, searching, table):
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0, "refresh_interval": "1h"}})
    run, api = listening(searching, T)
    for i in range(5):
        database.run(f"UPDATE public.t SET v = 'shown{i}' WHERE id = 7")
        assert api.get(refresh="true")[0] == 200
        found = node.demand("POST", "/t/_search", {"query": {"match": {"v": f"shown{i}"}}})
        assert [hit["_id"] for hit in found["hits"]["hits"]] == ["7"]
    database.run("UPDATE public.t SET v = 'hidden' WHERE id = 7")
    assert api.get()[0] == 200
    assert node.demand("POST", "/t/_search", {"query": {"match": {"v": "hidden"}}})["hits"]["hits"] == []
    assert node.demand("GET", "/t/_doc/7")["_source"]["v"] == "hidden"
    assert run.stop() == 0
