"""Documents that the target refuses: put aside, seen, counted, written again."""

import json

import pytest

from support import search
from support.pipeline import eventually, section
from support.search import until_equal

pytestmark = pytest.mark.xdist_group("search")

T = section("t", table="public.t")
REJECTS = ".pg2osync_rejects"
QUARANTINE = 'on_permanent_rejection = "quarantine"'


@pytest.fixture
def addresses(database, node):
    """public.t whose v are addresses, and an index that takes nothing else."""
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"v": {"type": "ip"}}}})
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n int, v text)",
                 "INSERT INTO public.t SELECT i, i, '10.0.0.' || i % 250 FROM generate_series(1, 5000) i")


def rejects(node):
    return node.documents(REJECTS) or {}


def modern(reason):
    return reason.replace("document_parsing_exception", "mapper_parsing_exception")


def test_one_of_five_thousand_is_put_aside_and_the_others_are_in(database, node, searching, addresses):
    database.run("UPDATE public.t SET v = 'planted-4711' WHERE id = 2500")
    run = searching(T, engine=f"{QUARANTINE}\nbatch_size = 5000")
    assert run.once() == 0, run.log()
    assert node.count("t") == 4999 and "2500" not in node.documents("t")
    (held,) = rejects(node).items()
    assert held[0] == "t-2500"
    assert set(held[1]) == {"index", "doc_id", "reason", "position", "action", "version", "at_epoch", "routing", "pipeline", "document"}
    assert held[1]["document"] == {"id": 2500, "n": 2500, "v": "planted-4711"}
    assert modern(held[1]["reason"]) == "mapper_parsing_exception: field [v] of type [ip]"
    assert "index t, document 2500: mapper_parsing_exception: field [v] of type [ip]" in modern(run.log())
    assert "planted" not in run.log()
    said = run.command("rejects")
    assert said.returncode == 0 and said.stdout.startswith("t/2500 at ") and "1 put aside" in said.stdout
    assert "planted" not in said.stdout
    # Nothing has changed, so that it is refused once more.
    again = run.command("rejects", "--replay")
    assert again.returncode == 1 and "replayed 0, still refused 1" in again.stdout, again
    assert json.loads(run.command("rejects", "--json").stdout)[0]["total"] == 1
    assert "1 documents are put aside" in run.command("validate").stdout.replace("1 of max_rejects = 100", "1")


def test_one_of_five_thousand_halts_unless_it_may_be_put_aside(database, node, searching, addresses):
    database.run("UPDATE public.t SET v = 'planted-4711' WHERE id = 2500")
    run = searching(T, engine="batch_size = 5000", source="load_chunk_rows = 100000")
    assert run.once() != 0
    assert "index t, document 2500: mapper_parsing_exception: field [v] of type [ip]" in modern(run.log())
    assert "planted" not in run.log() and "on_permanent_rejection" in run.log()
    assert node.count("t") == 4999


def test_what_is_put_aside_is_counted(database, node, searching, addresses):
    run = searching(T, engine=QUARANTINE).start()
    until_equal(run, node, "public.t")
    database.run("UPDATE public.t SET v = 'no address' WHERE id IN (1, 2, 3)")
    eventually(lambda: len(rejects(node)) == 3)
    def rows():
        return run.status()["pipelines"][0]["sinks"][0]
    eventually(lambda: rows()["accounting"]["stream"]["quarantined"] == 3)
    stream = rows()["accounting"]["stream"]
    assert stream["read"] == sum(stream[kind] for kind in ("written", "filtered", "superseded", "quarantined"))
    assert rows()["rejected"] == 3 and rows()["target"]["quarantined"] == 3
    metrics = run.get("/metrics")[1]
    assert any(line.startswith("cdc_rejected_total{") and line.endswith(" 3") for line in metrics.splitlines())
    assert any(line.startswith("cdc_target_quarantined{") and line.endswith(" 3") for line in metrics.splitlines())
    # The old document stays until its row changes to something that is taken, or goes.
    assert node.documents("t")["1"]["v"] == "10.0.0.1"
    database.run("UPDATE public.t SET v = '10.1.1.1' WHERE id = 1", "DELETE FROM public.t WHERE id = 2")
    eventually(lambda: set(rejects(node)) == {"t-3"})
    assert node.documents("t")["1"]["v"] == "10.1.1.1" and "2" not in node.documents("t")
    assert run.stop() == 0


def test_a_replay_writes_what_is_taken_now_and_nothing_over_newer_rows(database, node, searching, addresses):
    run = searching(T, engine=QUARANTINE).start()
    until_equal(run, node, "public.t")
    database.run("UPDATE public.t SET v = 'first' WHERE id IN (10, 11)")
    eventually(lambda: len(rejects(node)) == 2)
    held = rejects(node)["t-11"]
    database.run("UPDATE public.t SET v = '10.9.9.9' WHERE id = 11")
    eventually(lambda: set(rejects(node)) == {"t-10"})
    # As if its record had outlived it.
    node.demand("PUT", f"/{REJECTS}/_doc/t-11?refresh=true", held)
    assert run.stop() == 0
    node.demand("DELETE", "/t")
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"v": {"type": "keyword"}}}})
    line = {"index": {"_index": "t", "_id": "11", "version": held["version"] + 1, "version_type": "external"}}
    node.demand("POST", "/_bulk?refresh=true", json.dumps(line) + '\n{"v":"10.9.9.9"}\n')
    said = run.command("rejects", "--replay")
    assert said.returncode == 0 and "replayed 2, still refused 0" in said.stdout, said
    assert node.documents("t")["10"]["v"] == "first" and node.documents("t")["11"]["v"] == "10.9.9.9"
    assert rejects(node) == {}


def test_the_limit_halts_and_counts_what_is_there(database, node, searching, addresses):
    run = searching(T, engine=f"{QUARANTINE}\nmax_rejects = 2").start()
    until_equal(run, node, "public.t")
    database.run("UPDATE public.t SET v = 'a' WHERE id = 1", "UPDATE public.t SET v = 'b' WHERE id = 2")
    eventually(lambda: len(rejects(node)) == 2)
    database.run("UPDATE public.t SET v = 'c' WHERE id = 1")  # the same document takes no more room
    eventually(lambda: rejects(node)["t-1"]["document"]["v"] == "c")
    database.run("UPDATE public.t SET v = 'd' WHERE id = 3")
    assert run.wait() != 0
    assert "max_rejects = 2 documents are put aside already" in run.log() and len(rejects(node)) == 2
    # Room was made by hand; the count is the store's.
    node.demand("DELETE", f"/{REJECTS}/_doc/t-2?refresh=true")
    run.start()
    eventually(lambda: set(rejects(node)) == {"t-1", "t-3"})
    assert run.stop() == 0


def test_no_change_is_completed_from_a_document_that_was_overtaken(database, node, searching):
    node.demand("PUT", "/t", {"settings": {"number_of_replicas": 0}, "mappings": {"properties": {"v": {"type": "ip"}, "n": {"type": "integer"}, "big": {"type": "text"}}}})
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n int, v text, big text)", "ALTER TABLE public.t ALTER big SET STORAGE EXTERNAL",
                 "INSERT INTO public.t SELECT i, i, '10.0.0.1', repeat(md5(i::text), 200) FROM generate_series(1, 20) i")
    run = searching(T, engine=QUARANTINE).start()
    until_equal(run, node, "public.t")
    # The new `big` is in the refused document alone; the next change does not carry it.
    database.run("UPDATE public.t SET v = 'no address', big = repeat(md5('new'), 200) WHERE id = 5")
    eventually(lambda: set(rejects(node)) == {"t-5"})
    database.run("UPDATE public.t SET v = '10.0.0.2' WHERE id = 5")
    until_equal(run, node, "public.t")
    eventually(lambda: rejects(node) == {})
    assert run.stop() == 0


def test_rejects_of_pg2osync_are_shown_and_replayed(database, node, searching, table):
    run = searching(T, engine=QUARANTINE)
    assert run.once() == 0
    theirs = {"index": "t", "doc_id": "x/1", "reason": "mapper_parsing_exception: failed", "position": "0/16B3748", "action": "index",
              "document": {"id": 77777, "v": "theirs", "n": 12345678901234567890123}, "version": 23799624, "at_epoch": 1790000000,
              "routing": None, "pipeline": None}
    node.demand("PUT", f"/{REJECTS}/_doc/t-x%2F1?refresh=true", theirs)
    assert "t/x/1 at 0/16B3748: mapper_parsing_exception: failed" in run.command("rejects").stdout
    said = run.command("rejects", "--replay")
    assert said.returncode == 0 and "replayed 1" in said.stdout, said
    assert node.documents("t")["x/1"]["v"] == "theirs"
    assert node.demand("GET", "/t/_doc/x%2F1")["_version"] == 23799624


def test_rejects_of_a_file_without_document_targets_is_a_mistake(pipeline, database, table):
    run = pipeline(T)
    said = run.command("rejects")
    assert said.returncode == 2 and "opensearch" in said.stderr
