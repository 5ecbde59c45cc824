"""The path everybody walks first: load, stream, stop, come back."""

from support.pipeline import section

ORDERS = section("orders", table="public.orders")


def seed(database, rows=2000):
    database.run(
        "CREATE TABLE public.orders (id bigint PRIMARY KEY, customer text, amount numeric(12,2), "
        "paid boolean, at timestamptz DEFAULT now())",
        "INSERT INTO public.orders SELECT i, 'customer ' || i, i * 1.25, i % 2 = 0 "
        f"FROM generate_series(1, {rows}) i")


def test_copies_the_rows_that_are_there_and_follows_every_change(database, pipeline):
    seed(database)
    run = pipeline(ORDERS).start()
    run.until_equal("public.orders")

    database.run("INSERT INTO public.orders VALUES (5000, 'new', 1, true)",
                 "UPDATE public.orders SET customer = 'changed' WHERE id <= 10",
                 "DELETE FROM public.orders WHERE id BETWEEN 20 AND 30",
                 "UPDATE public.orders SET id = 6000 WHERE id = 31")
    run.until_equal("public.orders")


def test_resumes_after_sigkill_with_what_was_written_meanwhile(database, pipeline):
    seed(database)
    run = pipeline(ORDERS).start()
    run.until_equal("public.orders")
    run.kill()

    database.run("UPDATE public.orders SET amount = amount + 1", "DELETE FROM public.orders WHERE id % 7 = 0")
    run.start()
    run.until_equal("public.orders")


def test_stops_on_sigterm_with_exit_status_zero(database, pipeline):
    seed(database)
    run = pipeline(ORDERS).start()
    run.until_equal("public.orders")

    assert run.stop(within=4) == 0
    assert not run.path.with_name("target.db-wal").exists(), "the file alone does not hold everything"


def test_run_once_loads_catches_up_and_exits(database, pipeline):
    seed(database)
    run = pipeline(ORDERS)
    assert run.once() == 0
    assert run.equal("public.orders")

    database.run("DELETE FROM public.orders WHERE id < 100")
    assert run.once() == 0
    assert run.equal("public.orders")


def test_truncate_empties_the_target_and_later_rows_arrive(database, pipeline):
    seed(database)
    run = pipeline(ORDERS).start()
    run.until_equal("public.orders")

    database.run("TRUNCATE public.orders", "INSERT INTO public.orders VALUES (1, 'after', 1, true)")
    run.until_equal("public.orders")
    assert run.target("SELECT count(*) FROM orders") == [(1,)]
