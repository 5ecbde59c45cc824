"""Keys, transactions, DDL, partitions and slots: histories that broke other tools."""

import time

import pytest

from support.pipeline import eventually, section


def test_B022_rows_behind_a_transactional_message_survive_a_restart(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (1, 'a')")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    with database.session() as session:
        session.transaction("SELECT pg_logical_emit_message(true, 'app', 'before')", "INSERT INTO public.t VALUES (2, 'b')")
    run.kill()
    with database.session() as session:
        session.transaction("INSERT INTO public.t VALUES (3, 'c')", "SELECT pg_logical_emit_message(true, 'app', 'mid')",
                            "INSERT INTO public.t VALUES (4, 'd')")
    run.start()
    run.until_equal("public.t")


def test_B023_one_transaction_of_sixty_thousand_growing_rows_leaves_memory_flat(database, pipeline):
    database.run("CREATE TABLE public.foo (id int PRIMARY KEY, a text)")
    run = pipeline(section("foo", table="public.foo")).start()
    run.until_equal("public.foo")
    before = run.rss_kb()
    database.run("INSERT INTO public.foo SELECT x, repeat('a', x / 10) FROM generate_series(1, 60000) x")
    highest = before
    def watched():
        nonlocal highest
        highest = max(highest, run.rss_kb())
        return run.target("SELECT count(*) FROM foo") == [(60000,)]
    eventually(watched, within=120)
    assert highest - before < 90_000, f"{before} kB grew to {highest} kB"
    run.until_equal("public.foo")


def test_B034_equal_rows_of_a_keyless_full_table_are_counted(database, pipeline):
    database.run("CREATE TABLE public.bag (v int, w text)", "ALTER TABLE public.bag REPLICA IDENTITY FULL",
                 "INSERT INTO public.bag SELECT i % 3, NULL FROM generate_series(1, 30) i")
    run = pipeline(section("bag", table="public.bag")).start()
    run.until_equal("public.bag")
    with database.session() as session:
        session.transaction("INSERT INTO public.bag VALUES (7, 'x'), (7, 'x')",
                            "UPDATE public.bag SET w = 'y' WHERE v = 1",
                            "DELETE FROM public.bag WHERE ctid IN (SELECT ctid FROM public.bag WHERE v = 2 LIMIT 3)")
    run.until_equal("public.bag")
    run.kill()
    database.run("DELETE FROM public.bag WHERE ctid IN (SELECT ctid FROM public.bag WHERE v = 7 LIMIT 1)")
    run.start()
    run.until_equal("public.bag")


def test_B035_names_with_capitals_hyphens_quotes_and_reserved_words(database, pipeline):
    database.run('CREATE SCHEMA "My-Schema"',
                 'CREATE TABLE "My-Schema"."Order ""X""" ("Select" int PRIMARY KEY, "a b" text, "ü" text, "from" int)',
                 'INSERT INTO "My-Schema"."Order ""X""" VALUES (1, \'x\', \'y\', 2)')
    run = pipeline('[sync.odd]\ntable = \'My-Schema.Order "X"\'\n').start()
    run.until_equal('"My-Schema"."Order ""X"""', target='Order "X"')
    database.run('UPDATE "My-Schema"."Order ""X""" SET "from" = 3', 'INSERT INTO "My-Schema"."Order ""X""" VALUES (2)')
    run.until_equal('"My-Schema"."Order ""X"""', target='Order "X"')


def test_B037_B115_a_generated_column_in_the_middle_is_left_out_in_both_phases(database, pipeline):
    database.run("CREATE TABLE public.g (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED, c text)",
                 "INSERT INTO public.g (id, a, c) SELECT i, i, 'c' FROM generate_series(1, 100) i")
    run = pipeline(section("g", table="public.g")).start()
    run.until_equal("public.g")
    database.run("UPDATE public.g SET a = a + 1", "INSERT INTO public.g (id, a, c) VALUES (1000, 1, NULL)")
    run.until_equal("public.g")


def test_B038_truncate_of_several_tables_in_one_transaction(database, pipeline):
    database.run("CREATE TABLE public.a (id int PRIMARY KEY)", "CREATE TABLE public.b (id int PRIMARY KEY, a int REFERENCES public.a)",
                 "INSERT INTO public.a SELECT generate_series(1, 100)", "INSERT INTO public.b SELECT i, i FROM generate_series(1, 100) i")
    run = pipeline(section("a", table="public.a"), section("b", table="public.b")).start()
    run.until_equal("public.a", "public.b")
    with database.session() as session:
        session.transaction("INSERT INTO public.a VALUES (500)", "TRUNCATE public.a RESTART IDENTITY CASCADE",
                            "INSERT INTO public.a VALUES (1)", "INSERT INTO public.b VALUES (1, 1)")
    run.until_equal("public.a", "public.b")


def test_B103_a_partition_root_is_loaded_once_and_streamed_under_its_own_name(database, pipeline):
    database.run("CREATE TABLE public.p (id int, r int, v text, PRIMARY KEY (id, r)) PARTITION BY RANGE (r)",
                 "CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10)",
                 "CREATE TABLE public.p2 PARTITION OF public.p FOR VALUES FROM (10) TO (20)",
                 "INSERT INTO public.p SELECT i, i % 20, 'v' FROM generate_series(1, 1000) i")
    run = pipeline(section("p", table="public.p")).start()
    run.until_equal("public.p")
    database.run("UPDATE public.p SET r = (r + 10) % 20 WHERE id <= 50", "DELETE FROM public.p WHERE id > 900",
                 "CREATE TABLE public.p3 PARTITION OF public.p FOR VALUES FROM (20) TO (30)",
                 "INSERT INTO public.p VALUES (5000, 25, 'new leaf')")
    run.until_equal("public.p")


def test_B032_what_the_log_does_not_say_of_partitions_is_said_at_the_start(database, pipeline):
    database.run("CREATE TABLE public.p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
                 "CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10)", "INSERT INTO public.p VALUES (1)")
    run = pipeline(section("p", table="public.p"))
    said = run.command("validate").stdout
    assert run.once() == 0
    for words in "public.p is partitioned", "ATTACH PARTITION", "DETACH PARTITION", "TRUNCATE":
        assert words in said and words in run.log()


def test_B026_a_prepared_transaction_arrives_when_it_commits_and_only_then(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY)")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    for name, row in ("kept", 1), ("dropped", 2), ("over a restart", 3):
        database.run(f"BEGIN; INSERT INTO public.t VALUES ({row}); PREPARE TRANSACTION '{database.name} {name}'")
    database.run("INSERT INTO public.t VALUES (4)")
    eventually(lambda: run.target("SELECT id FROM t") == [(4,)])

    database.run(f"COMMIT PREPARED '{database.name} kept'", f"ROLLBACK PREPARED '{database.name} dropped'")
    eventually(lambda: run.target("SELECT id FROM t ORDER BY id") == [(1,), (4,)])
    run.kill()
    run.start()
    database.run(f"COMMIT PREPARED '{database.name} over a restart'")
    run.until_equal("public.t")
    assert run.target("SELECT id FROM t ORDER BY id") == [(1,), (3,), (4,)]


def test_B109_a_keyless_load_that_is_killed_has_no_row_twice(database, pipeline):
    database.run("CREATE TABLE public.log (v int, w text)",
                 "INSERT INTO public.log SELECT i % 100, repeat('x', 50) FROM generate_series(1, 60000) i")
    run = pipeline(section("log", table="public.log", append_only=True), engine="load_max_rows_per_sec = 40000").start()
    eventually(lambda: run.target("SELECT count(*) FROM log")[:1] > [(1000,)] or not run.running, within=30)
    run.kill()
    database.run("INSERT INTO public.log VALUES (-1, 'late'), (-1, 'late')")
    run.start()
    run.until_equal("public.log", within=90)


def test_B112_tables_outside_public(database, pipeline):
    database.run("CREATE SCHEMA app", "CREATE TABLE app.t (id int PRIMARY KEY)", "INSERT INTO app.t VALUES (1)")
    run = pipeline(section("t", table="app.t")).start()
    run.until_equal("app.t")


def test_B118_an_always_identity_column(database, pipeline):
    database.run("CREATE TABLE public.t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text)",
                 "INSERT INTO public.t (v) SELECT 'v' FROM generate_series(1, 10)")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    database.run("UPDATE public.t SET v = 'w'")
    run.until_equal("public.t")


def test_B121_a_dropped_column_that_comes_back_with_another_type(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, c int)", "INSERT INTO public.t SELECT i, i FROM generate_series(1, 10) i")
    run = pipeline(section("t", table="public.t"),
                   target=None).start()
    run.until_equal("public.t")
    database.run("ALTER TABLE public.t DROP COLUMN c", "INSERT INTO public.t VALUES (100)",
                 "ALTER TABLE public.t ADD COLUMN c2 text", "INSERT INTO public.t VALUES (101, 'text')")
    run.until_equal("public.t", only=("id",))
    assert run.target("SELECT c FROM t WHERE id = 100") == [(None,)]


def test_the_same_row_twice_in_a_transaction_ends_with_the_last_value(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (71, 'a'), (72, 'b')")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    with database.session() as session:
        session.transaction("UPDATE public.t SET v = 'x' WHERE id = 71", "UPDATE public.t SET v = 'y' WHERE id = 71")
        session.transaction("UPDATE public.t SET id = -1 WHERE id = 71", "UPDATE public.t SET id = 71 WHERE id = 72",
                            "UPDATE public.t SET id = 72 WHERE id = -1")
    run.until_equal("public.t")


def test_B025_a_rolled_back_savepoint_leaves_nothing_and_takes_nothing_else(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY)")
    run = pipeline(section("t", table="public.t")).start()
    with database.session() as session:
        session.transaction("INSERT INTO public.t VALUES (1)", "SAVEPOINT s", "INSERT INTO public.t VALUES (2)", "ROLLBACK TO SAVEPOINT s",
                            "INSERT INTO public.t VALUES (3)")
    run.until_equal("public.t")
    assert run.target("SELECT id FROM t ORDER BY id") == [(1,), (3,)]


def test_identity_by_another_unique_index_and_full_identity(database, pipeline):
    database.run("CREATE TABLE public.u (code text NOT NULL, v text)", "CREATE UNIQUE INDEX u_code ON public.u (code)",
                 "ALTER TABLE public.u REPLICA IDENTITY USING INDEX u_code",
                 "CREATE TABLE public.f (id int PRIMARY KEY, big text, n int)", "ALTER TABLE public.f REPLICA IDENTITY FULL",
                 "ALTER TABLE public.f ALTER COLUMN big SET STORAGE EXTERNAL",
                 "INSERT INTO public.u SELECT 'c' || i, 'v' FROM generate_series(1, 50) i",
                 "INSERT INTO public.f SELECT i, repeat('z', 9000), 0 FROM generate_series(1, 20) i")
    run = pipeline(section("u", table="public.u", primary_key="code"), section("f", table="public.f")).start()
    run.until_equal("public.u", "public.f")
    database.run("UPDATE public.u SET code = code || 'x' WHERE code < 'c3'", "DELETE FROM public.u WHERE code = 'c5'",
                 "UPDATE public.f SET n = 1", "UPDATE public.f SET id = id + 100 WHERE id < 5", "DELETE FROM public.f WHERE id = 10")
    run.until_equal("public.u", "public.f")


def test_a_table_renamed_away_and_back_keeps_its_rows_and_goes_on(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY)", "INSERT INTO public.t VALUES (1)")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    database.run("ALTER TABLE public.t RENAME TO away", "INSERT INTO public.away VALUES (2)", "ALTER TABLE public.away RENAME TO t",
                 "INSERT INTO public.t VALUES (3)")
    run.until_equal("public.t")
    assert run.running
    database.run("ALTER TABLE public.t RENAME TO away", "INSERT INTO public.away VALUES (4)")
    eventually(lambda: "public.t is named public.away now" in run.log())
    run.kill()
    database.run("DELETE FROM public.away WHERE id = 1", "ALTER TABLE public.away RENAME TO t")
    run.start()
    run.until_equal("public.t")


def test_a_key_that_is_lost_later_is_named_or_lived_without(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (1, 'a')")
    run = pipeline(section("t", table="public.t")).start()
    run.until_equal("public.t")
    database.run("ALTER TABLE public.t REPLICA IDENTITY FULL", "ALTER TABLE public.t DROP CONSTRAINT t_pkey",
                 "UPDATE public.t SET v = 'b'")
    # Rows are no longer told apart by id, and the target's table is: that is named, not lost in silence.
    eventually(lambda: not run.running or run.target("SELECT v FROM t") == [("b",)])
    if not run.running:
        assert "public.t" in run.log() and run.process.returncode != 0


def test_a_column_added_on_the_way_is_added_to_the_target_when_asked(database, pipeline, tmp_path):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t VALUES (1, 'a')")
    run = pipeline(section("t", table="public.t"),
                   target=f'[target]\nflavor = "sqlite"\npath = "{tmp_path}/p/target.db"\nschema_changes = "add"\n').start()
    run.until_equal("public.t")
    database.run("ALTER TABLE public.t ADD COLUMN extra numeric", "INSERT INTO public.t VALUES (2, 'b', 1.50)",
                 "UPDATE public.t SET extra = 7 WHERE id = 1")
    run.until_equal("public.t")


def test_projection_renames_and_constants_are_the_same_in_load_and_stream(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, secret text, name text)", "INSERT INTO public.t VALUES (1, 'hidden', 'a')")
    run = pipeline('[sync.people]\ntable = "public.t"\ninto = "people"\nexclude_columns = ["secret"]\n'
                   'fields = { name = "full_name" }\nconstants = { origin = "{schema}.{table}", level = 3 }\n').start()
    eventually(lambda: run.target("SELECT id, full_name, origin, level FROM people") == [(1, "a", "public.t", 3)])
    database.run("INSERT INTO public.t VALUES (2, 'hidden', 'b')", "UPDATE public.t SET name = 'c' WHERE id = 1")
    eventually(lambda: run.target("SELECT id, full_name, origin, level FROM people ORDER BY id")
               == [(1, "c", "public.t", 3), (2, "b", "public.t", 3)])


def test_patterns_choose_many_tables_with_one_section(database, pipeline):
    database.run(*[f"CREATE TABLE public.t{i} (id int PRIMARY KEY, v text)" for i in range(30)],
                 "CREATE TABLE public.audit_x (id int PRIMARY KEY)",
                 *[f"INSERT INTO public.t{i} VALUES (1, 'a')" for i in range(30)])
    run = pipeline('[sync.all]\ntables = ["public.*", "!public.audit_*"]\n').start()
    run.until_equal(*[f"public.t{i}" for i in range(30)])
    with database.session() as session:
        session.transaction(*[f"INSERT INTO public.t{i} VALUES (2, 'b')" for i in range(30)])
    run.until_equal(*[f"public.t{i}" for i in range(30)])
    assert run.target("SELECT count(*) FROM sqlite_master WHERE name = 'audit_x'") == [(0,)]


def test_a_table_that_is_dropped_and_created_again_is_loaded_anew(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "CREATE TABLE public.u (id int PRIMARY KEY)",
                 "INSERT INTO public.t SELECT i, 'old' FROM generate_series(1, 200) i")
    run = pipeline(section("t", table="public.t"), section("u", table="public.u")).start()
    run.until_equal("public.t")
    run.kill()
    database.run("INSERT INTO public.t VALUES (300, 'old, and still in the log')", "DROP TABLE public.t",
                 "CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'new' FROM generate_series(1, 10) i", "INSERT INTO public.u VALUES (1)",
                 f'ALTER PUBLICATION "{run.slot}_pub" ADD TABLE public.t', "INSERT INTO public.t VALUES (50, 'added')")
    run.start()
    run.until_equal("public.t", "public.u")
    assert "public.t is another table" in run.log()


def test_tables_that_take_the_name_of_another_while_it_is_followed(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text)", "INSERT INTO public.t SELECT i, 'first' FROM generate_series(1, 50) i")
    run = pipeline(section("t", table="public.t"))
    database.run(f'CREATE PUBLICATION "{run.slot}_pub" FOR ALL TABLES WITH (publish_via_partition_root = true)')
    run.start()
    run.until_equal("public.t")
    database.run("DROP TABLE public.t", "CREATE TABLE public.t (id int PRIMARY KEY, v text)",
                 "INSERT INTO public.t SELECT i, 'second' FROM generate_series(40, 60) i")
    run.until_equal("public.t")
    with database.session() as session:
        session.run("CREATE TABLE public.next (id int PRIMARY KEY, v text)")
        session.run("INSERT INTO public.next VALUES (1, 'third')")
        session.transaction("ALTER TABLE public.t RENAME TO before", "ALTER TABLE public.next RENAME TO t")
        session.run("INSERT INTO public.t VALUES (2, 'third')")
    run.until_equal("public.t")
    assert run.running


def test_a_column_that_is_dropped_during_the_load(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, a text, b int)",
                 "INSERT INTO public.t SELECT i, 'a' || i, i FROM generate_series(1, 20000) i")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 1000", engine="load_max_rows_per_sec = 5000").start()
    eventually(lambda: run.target("SELECT 1 FROM t LIMIT 1"), what="the first rows")
    database.run("ALTER TABLE public.t DROP COLUMN b", "UPDATE public.t SET a = 'later' WHERE id % 100 = 0")
    run.until_equal("public.t")


def test_a_table_that_was_left_out_for_a_while_is_loaded_anew(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY)", "CREATE TABLE public.u (id int PRIMARY KEY)",
                 "INSERT INTO public.t SELECT generate_series(1, 100)", "INSERT INTO public.u VALUES (1)")
    both = pipeline(section("t", table="public.t"), section("u", table="public.u"))
    assert both.once() == 0
    one = pipeline(section("u", table="public.u"), slot=both.slot)
    database.run(f'ALTER PUBLICATION "{both.slot}_pub" DROP TABLE public.t')
    assert one.once() == 0
    database.run("DELETE FROM public.t WHERE id > 50", "INSERT INTO public.t VALUES (1000)", "INSERT INTO public.u VALUES (2)")
    assert one.once() == 0
    assert len(one.target("SELECT id FROM t")) == 100
    database.run(f'ALTER PUBLICATION "{both.slot}_pub" ADD TABLE public.t')
    both = pipeline(section("t", table="public.t"), section("u", table="public.u"), slot=both.slot)
    assert both.once() == 0
    assert both.equal("public.t") and both.equal("public.u")


@pytest.mark.parametrize("published", ["FOR TABLE public.t, public.u", "FOR TABLES IN SCHEMA public"])
def test_a_table_that_was_out_of_the_publication_for_a_while_is_loaded_anew(database, pipeline, published):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY)", "CREATE TABLE public.u (id int PRIMARY KEY)",
                 "INSERT INTO public.t SELECT generate_series(1, 100)", "INSERT INTO public.u VALUES (1)")
    run = pipeline(section("t", table="public.t"), section("u", table="public.u"))
    name = f'"{run.slot}_pub"'
    database.run(f"CREATE PUBLICATION {name} {published}")
    assert run.once() == 0
    what = "TABLES IN SCHEMA public" if "SCHEMA" in published else "TABLE public.t"
    database.run(f"ALTER PUBLICATION {name} DROP {what}", "DELETE FROM public.t WHERE id > 50",
                 "INSERT INTO public.t VALUES (1000)", f"ALTER PUBLICATION {name} ADD {what}",
                 "INSERT INTO public.t VALUES (2000)", "INSERT INTO public.u VALUES (2)")
    assert run.once() == 0
    assert run.equal("public.t") and run.equal("public.u")
    assert "public.t was taken out of the publication and put back" in run.log()
    assert run.once() == 0
    assert run.log().count("public.t was taken out") == 1
    assert ("public.u was taken out" in run.log()) == ("SCHEMA" in published)


def test_B160_children_that_came_while_nobody_ran_are_all_there(database, pipeline):
    database.run("CREATE TABLE public.parent (id int PRIMARY KEY)",
                 "CREATE TABLE public.child (id int PRIMARY KEY, parent int REFERENCES public.parent)",
                 "INSERT INTO public.parent SELECT generate_series(1, 20)")
    sections = section("parent", table="public.parent"), section("child", table="public.child")
    run = pipeline(*sections)
    assert run.once() == 0
    database.run("INSERT INTO public.child SELECT i, i FROM generate_series(1, 20) i")
    run.start()
    run.until_equal("public.parent", "public.child")
    assert run.target("SELECT count(*) FROM parent JOIN child ON child.parent = parent.id") == [(20,)]


def test_B160_B163_documents_of_several_tables_are_refused_by_name_and_never_half_built(database, pipeline):
    database.run("CREATE TABLE public.parent (id int PRIMARY KEY)",
                 "CREATE TABLE public.child (id int PRIMARY KEY, parent int, seen int)")
    run = pipeline(section("parent", table="public.parent")
                   + '[[sync.parent.children]]\ntable = "public.child"\nforeign_key = "parent"\n')
    assert run.start().wait() == 2
    assert "sync.parent.children" in run.log() and "not supported yet" in run.log()
    assert not run.path.exists() and database.value("SELECT count(*) FROM pg_publication") == 0


def test_B163_an_update_of_a_column_that_is_not_written_changes_nothing(database, pipeline):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, v text, seen int)",
                 "ALTER TABLE public.t ALTER v SET STORAGE EXTERNAL",
                 "INSERT INTO public.t SELECT i, repeat('v', 5000), 0 FROM generate_series(1, 50) i")
    run = pipeline(section("t", table="public.t", exclude_columns=["seen"])).start()
    run.until_equal("public.t", only=("id", "v"))
    database.run(*(f"UPDATE public.t SET seen = {i}" for i in range(20)), "INSERT INTO public.t VALUES (100, 'after', 0)")
    run.until_equal("public.t", only=("id", "v"))
    assert run.target("SELECT name FROM pragma_table_info('t')") == [("id",), ("v",)]


def test_a_column_that_takes_another_type_names_the_option_that_helps(database, pipeline, tmp_path):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n int)", "INSERT INTO public.t VALUES (1, 7)")
    run = pipeline(section("t", table="public.t"))
    assert run.once() == 0
    database.run("ALTER TABLE public.t ALTER n TYPE text", "INSERT INTO public.t VALUES (2, 'seven')")
    checked = run.command("validate")
    assert checked.returncode == 1 and 'schema_changes = "add"' in checked.stdout, checked.stdout
    assert run.once() == 1 and 'schema_changes = "add"' in run.log()
    run = pipeline(section("t", table="public.t"), slot=run.slot,
                   target=f'[target]\nflavor = "sqlite"\npath = "{run.path}"\nschema_changes = "add"\n')
    assert run.once() == 0
    assert run.target("SELECT n FROM t WHERE id = 2") == [("seven",)]
