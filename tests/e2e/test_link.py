"""The same actors in two processes: the source in one, engine and sink in the other."""

import os
import pathlib
import random
import signal
import subprocess
import time

import pytest
from support.pipeline import PROGRAM, free_port, section
from support.writers import Writers

NODE = os.environ.get("CDC_LINK_NODE") or str(pathlib.Path(PROGRAM).with_name("link_node"))
ROWS = 20_000


class Node:
    """One of the two processes."""

    def __init__(self, role, run, port, log):
        self.words = [NODE, role, str(run.config), str(port)]
        self.environment = run.environment
        self.log = open(log, "ab")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=self.log, stderr=self.log,
                                        env=self.environment)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.mark.skipif(not os.path.exists(NODE), reason="link_node is not built")
def test_either_process_may_be_killed_at_any_time(database, pipeline, tmp_path):
    database.run("CREATE TABLE public.t (id bigint PRIMARY KEY, n int, v text)",
                 f"INSERT INTO public.t SELECT i, 0, repeat('v', 50) FROM generate_series(1, {ROWS}) i", "ANALYZE")
    run = pipeline(section("t", table="public.t"), source="load_chunk_rows = 2000\nreconnect_max = 100000")
    port = free_port()
    nodes = [Node(role, run, port, tmp_path / f"{role}.log") for role in ("source", "target")]
    for node in nodes:
        node.start()
    choose = random.Random(int(os.environ.get("CDC_SEED", "1")))
    try:
        with Writers(database, ROWS, 7):
            for _ in range(20):
                time.sleep(choose.uniform(0.2, 2.5))
                node = choose.choice(nodes)
                node.kill()
                time.sleep(choose.uniform(0, 0.5))
                node.start()
        deadline = time.monotonic() + 120
        while not run.equal("public.t"):
            assert all(node.process.poll() is None for node in nodes), "a process ended by itself"
            assert time.monotonic() < deadline, (tmp_path / "target.log").read_text()[-3000:]
            time.sleep(0.2)
    finally:
        for node in nodes:
            node.kill()
