"""What an NDJSON file says of each change of a real server."""

import json

from support.pipeline import eventually, section


def test_lines_carry_what_the_log_knew_of_the_old_row(database, pipeline, tmp_path):
    database.run("CREATE TABLE public.t (id int PRIMARY KEY, n numeric, v text)", "INSERT INTO public.t VALUES (1, 1.50, 'a')",
                 "CREATE TABLE public.whole (id int PRIMARY KEY, v text)", "ALTER TABLE public.whole REPLICA IDENTITY FULL")
    file = tmp_path / "out.ndjson"
    run = pipeline('[sync.t]\ntable = "public.t"\nconstants = { level = 3 }\n', section("whole", table="public.whole"),
                   target=f'[target]\nflavor = "ndjson"\npath = "{file}"\n').start()
    eventually(lambda: file.exists() and file.read_text().count("\n") == 1)
    changes = ["UPDATE public.t SET n = 2.00", "UPDATE public.t SET id = 7", "DELETE FROM public.t",
               "INSERT INTO public.whole VALUES (1, 'a')", "UPDATE public.whole SET v = NULL",
               "DELETE FROM public.whole", "TRUNCATE public.whole"]
    for change in changes:
        database.run(change)

    def lines():
        return [json.loads(line, parse_float=str) for line in file.read_text().splitlines()]

    eventually(lambda: len(lines()) == 9)
    assert [(line["op"], line["table"], line["key"], line["before"], line["after"]) for line in lines()] == [
        ("r", "t", {"id": 1}, None, {"id": 1, "n": "1.50", "v": "a", "level": 3}),
        ("u", "t", {"id": 1}, None, {"id": 1, "n": "2.00", "v": "a", "level": 3}),
        ("d", "t", {"id": 1}, {"id": 1}, None),
        ("u", "t", {"id": 7}, None, {"id": 7, "n": "2.00", "v": "a", "level": 3}),
        ("d", "t", {"id": 7}, {"id": 7}, None),
        ("c", "whole", {"id": 1}, None, {"id": 1, "v": "a"}),
        ("u", "whole", {"id": 1}, {"id": 1, "v": "a"}, {"id": 1, "v": None}),
        ("d", "whole", {"id": 1}, {"id": 1, "v": None}, None),
        ("t", "whole", None, None, None)]
    assert run.stop() == 0
