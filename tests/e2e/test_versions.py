"""The paths that a server's version may change, on every PostgreSQL beside the one of the other tests."""

import pytest

from support.pipeline import eventually, section
from support.writers import Writers
from test_cases_types import EXTREMES, walk

ROWS = 20_000
T = section("t", table="public.t")


@pytest.fixture(params=[14, 16, 17, 18], ids="postgres{}".format)
def server(servers, request):
    return servers(request.param)


def test_loads_follows_truncates_and_keeps_large_values_that_stay(database, pipeline):
    database.run("CREATE TABLE public.t (id bigint PRIMARY KEY, n int, v text)",
                 "ALTER TABLE public.t ALTER v SET STORAGE EXTERNAL",
                 "INSERT INTO public.t SELECT i, 0, repeat('v', 5000) FROM generate_series(1, 300) i")
    run = pipeline(T).start()
    run.until_equal("public.t")

    database.run("UPDATE public.t SET n = n + 1 WHERE id <= 200", "UPDATE public.t SET id = id + 1000 WHERE id <= 100",
                 "DELETE FROM public.t WHERE id BETWEEN 150 AND 160")
    run.until_equal("public.t")
    assert run.target("SELECT min(length(v)) FROM t") == [(5000,)]

    database.run("TRUNCATE public.t", "INSERT INTO public.t VALUES (1, 2, 'after')")
    run.until_equal("public.t")
    assert run.stop(within=4) == 0
    database.run("DELETE FROM public.t")
    assert run.once() == 0
    assert run.equal("public.t")


def test_every_built_in_type_at_its_extremes(database, pipeline):
    walk(database, pipeline, *EXTREMES)


def test_a_load_under_writes_survives_sigkill(database, pipeline):
    database.run("CREATE TABLE public.t (id bigint PRIMARY KEY, n int, v text)",
                 f"INSERT INTO public.t SELECT i, 0, repeat('v', 50) FROM generate_series(1, {ROWS}) i", "ANALYZE")
    run = pipeline(T, source="load_chunk_rows = 2000\nload_workers = 2", engine="load_max_rows_per_sec = 15000")
    with Writers(database, ROWS, 1, 2):
        for wanted in (3000, 9000, 15000):
            run.kill()
            run.start()
            eventually(lambda: run.target("SELECT count(*) FROM t") > [(wanted,)], within=30)
    run.until_equal("public.t")


def test_catches_up_from_a_copy_of_the_slot_with_all_that_a_log_may_hold(database, pipeline):
    database.run("CREATE TABLE public.t (id bigint PRIMARY KEY, n int, v text)", "ALTER TABLE public.t ALTER v SET STORAGE EXTERNAL",
                 "INSERT INTO public.t SELECT i, 0, repeat('v', 5000) FROM generate_series(1, 300) i")
    run = pipeline(T, source="catch_up_bytes = 1").start()
    run.until_equal("public.t")
    assert run.stop() == 0
    with database.session() as session:
        for i in range(30):
            session.run(f"INSERT INTO public.t SELECT i, {i}, 'bulk' FROM generate_series({1000 + i * 3000}, {3999 + i * 3000}) i")
        session.run("UPDATE public.t SET n = n + 1 WHERE id <= 200")
        session.run("UPDATE public.t SET id = id - 1000 WHERE id <= 100")
        session.run("BEGIN")
        for statement in ("INSERT INTO public.t VALUES (500, 1, 'in')", "SAVEPOINT a", "INSERT INTO public.t VALUES (501, 1, 'gone')",
                          "ROLLBACK TO a", "SELECT pg_logical_emit_message(true, 'm', 'in')", "SAVEPOINT b",
                          "UPDATE public.t SET n = 9 WHERE id = 500", "RELEASE b", f"PREPARE TRANSACTION '{database.name}'"):
            session.run(statement)
        session.run("SELECT pg_logical_emit_message(false, 'm', 'out')")
        session.run("UPDATE public.t SET n = 7 WHERE id = 150")
        session.run(f"COMMIT PREPARED '{database.name}'")
        session.run("ALTER TABLE public.t ADD extra numeric")
        session.run("INSERT INTO public.t VALUES (600, 1, 'wider', 1.50)")
        session.run("ALTER TABLE public.t DROP extra")
        session.run("DELETE FROM public.t WHERE id % 31 = 0")
    run.start()
    run.until_equal("public.t")
    reading = run.status()["pipelines"][0]["reading"]
    assert reading["catch_ups"] > 0 and reading["note"] is None, reading
    database.run("TRUNCATE public.t", "INSERT INTO public.t VALUES (1, 2, 'after')")
    run.until_equal("public.t")
