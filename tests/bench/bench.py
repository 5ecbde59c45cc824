"""Runs one benchmark against the limit measured in the same run, and prints a ratio as last line.

Server and clients live in a network namespace of their own with the `reno` congestion control: under
others the walsender's rate over TCP has two modes, and one pair says nothing. Limit and ours alternate.
"""

import argparse
import datetime
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from support.pipeline import Pipeline, eventually, section  # noqa: E402
from support.server import Server  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CDC_BUILD", HERE.parents[1] / "build" / "release"))
PG = "/usr/lib/postgresql/15/bin/"
COLUMNS = ("id bigint PRIMARY KEY, customer text, email text, city text, note text, "
           "amount numeric(12,2), quantity int, placed timestamptz, paid boolean, region int")


def rows_sql(first, last):
    return ("SELECT i, 'customer ' || i, 'c' || i || '@example.org', 'city ' || i % 1000, 'note ' || i % 97, "
            "i * 1.25, (i % 100)::int, '2026-01-01 00:00:00+00'::timestamptz + i * interval '1 second', i % 2 = 0, (i % 7)::int "
            f"FROM generate_series({first}::bigint, {last}::bigint) i")


# -- measuring ----------------------------------------------------------------------------------------


def cpu_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def segments():
    lines = [l.split() for l in pathlib.Path("/proc/net/snmp").read_text().splitlines() if l.startswith("Tcp:")]
    return int(lines[1][lines[0].index("OutSegs")])


def memory(pid):
    out = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(("VmRSS", "RssAnon", "VmHWM")):
            out[line.split(":")[0]] = int(line.split()[1]) / 1024
    return out


def child(*words):
    """Runs a program; (seconds, its CPU seconds, what it printed)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True)
    took = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, f"{words[0]}: {done.stderr}"
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def median(values):
    return statistics.median(values)


def spread(values):
    return f"{median(values):.3f} ({min(values):.3f}–{max(values):.3f})"


def k(rate):
    return f"{rate / 1000:.0f} k rows/s"


class Bench:
    def __init__(self, asked):
        self.asked = asked
        self.folder = tempfile.mkdtemp(prefix="cdc-bench.")
        pathlib.Path(self.folder).chmod(0o711)
        self.server = Server(15, self.folder + "/pg", "shared_buffers=256MB", "wal_sender_timeout=0",
                             "max_wal_size=8GB", "checkpoint_timeout=1h", "autovacuum=off")
        self.database = self.server.new_database()
        self.made = 0
        self.asking = None

    def close(self):
        self.server.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, unix=False):
        return self.over_unix(self.database.url) if unix else self.database.url + "?sslmode=disable"

    def over_unix(self, url):
        return re.sub(r"@127\.0\.0\.1:(\d+)/(\w+)", rf"@/\2?host={self.server.folder}&port=\1", url)

    def pipeline(self, target, unix=False, **settings):
        self.made += 1
        folder = pathlib.Path(self.folder) / f"p{self.made}"
        folder.mkdir()
        text = {"null": '[target]\nflavor = "null"\n', "sqlite": None}[target]
        return Pipeline(folder, self.database, [section("orders", table="public.orders")], target=text,
                        url=self.url(unix), **settings)

    def confirmed(self, run):
        """The position that the target took, in bytes of log."""
        found = re.search(r"^cdc_position_confirmed\{[^}]*\} (\S+)$", run.get("/metrics")[1], re.M)
        return float(found[1]) if found else 0.0

    def log_end(self):
        return int(self.database.value("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def value(self, query):
        """On one session that stays, for what is asked often; None without a row."""
        self.asking = self.asking or self.database.session()
        rows = self.asking.rows(query)
        return rows[0][0] if rows else None

    def backends_cpu(self):
        """CPU seconds of all backends that have ended."""
        pid = (pathlib.Path(self.server.folder) / "data" / "postmaster.pid").read_text().split()[0]
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def metric(self, run, name):
        return sum(float(v) for v in re.findall(rf"^{name}\{{[^}}]*\}} (\S+)$", run.get("/metrics")[1], re.M))


# -- the stream ---------------------------------------------------------------------------------------


def write_backlog(bench, kind, rows, first):
    """A backlog of `rows` changes; returns how many there are."""
    with bench.database.session() as session:
        if kind == "updates":
            step = 1000
            for at in range(1, rows + 1, step):
                session.run(f"UPDATE public.orders SET amount = amount + 1, note = 'u{first}' WHERE id BETWEEN {at} AND {at + step - 1}")
        elif kind == "single":
            session.run("CREATE OR REPLACE PROCEDURE public.singles(a bigint, b bigint) LANGUAGE plpgsql AS $$ BEGIN "
                        "FOR i IN a..b LOOP INSERT INTO public.orders (id, customer) VALUES (i, 'customer ' || i); COMMIT; END LOOP; END $$")
            session.run(f"CALL public.singles({first}, {first + rows - 1})")
        else:
            for at in range(first, first + rows, 1000):
                session.run(f"INSERT INTO public.orders {rows_sql(at, at + 999)}")
    return rows


def stream(bench, target, catch_up=False):
    asked = bench.asked
    kind = "updates" if asked.updates else "single" if asked.txn == 1 else "inserts"
    rows = asked.rows or {"updates": 300_000, "single": 200_000, "inserts": 2_000_000 if catch_up else 1_000_000}[kind]
    bench.database.run(f"CREATE TABLE public.orders ({COLUMNS})")
    if kind == "updates":
        bench.database.run(f"INSERT INTO public.orders {rows_sql(1, rows)}", "VACUUM ANALYZE public.orders")
    run = bench.pipeline(target, asked.unix, source="reconnect_max = 100\nload_chunk_rows = 1000000\n"
                         + ("" if catch_up else "catch_up_bytes = 0")).start()
    eventually(lambda: ready(run), within=120)
    # Whose connection the clock begins with.
    reader = f"{run.slot}_catch_up" if catch_up else run.slot
    publication = f"{run.slot}_pub"
    limits, ours, ratios, limit_cpu, our_cpu, limit_segments, our_segments = [], [], [], [], [], [], []
    limit_server, our_server = [], []
    first = 10_000_001
    for pair in range(asked.pairs):
        eventually(lambda: bench.confirmed(run) >= bench.log_end() - 65536, within=60)
        time.sleep(1)
        run.process.send_signal(19)
        # Whoever reads begins with a new connection: what socket buffers hold already is no head start.
        bench.database.run(f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{run.slot}'")
        eventually(lambda: bench.database.value(f"SELECT active_pid IS NULL FROM pg_replication_slots WHERE slot_name = '{run.slot}'"))
        bench.database.run(f"SELECT pg_copy_logical_replication_slot('{run.slot}', 'limit')")
        changes = write_backlog(bench, kind, rows, first)
        first += rows
        bench.database.run("SELECT pg_logical_emit_message(false, 'bench', 'end')", "CHECKPOINT")
        end = bench.database.value("SELECT pg_current_wal_insert_lsn()")

        def limit():
            before, server = segments(), bench.backends_cpu()
            took, cpu, _ = child(PG + "pg_recvlogical", "-d", bench.url(asked.unix), "--slot", "limit", "--start", "-f", "/dev/null",
                                 "-o", "proto_version=1", "-o", f"publication_names={publication}", "-o", "messages=true",
                                 "--endpos", end, "--no-loop", "-s", "1")
            bench.database.run("SELECT pg_drop_replication_slot('limit')")
            limit_segments.append(segments() - before)
            time.sleep(0.5)
            limit_server.append((bench.backends_cpu() - server) / changes * 1e6)
            return took, cpu

        def program():
            goal = int(bench.database.value(f"SELECT '{end}'::pg_lsn - '0/0'"))
            before, cpu, server = segments(), cpu_of(run.process.pid), bench.backends_cpu()
            run.process.send_signal(18)
            began = None
            while began is None:
                row = bench.value(f"SELECT extract(epoch FROM clock_timestamp() - a.backend_start)::float8 FROM pg_replication_slots s "
                                           f"LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid WHERE slot_name = '{reader}'")
                began = None if row is None else time.monotonic() - row
            while bench.confirmed(run) < goal:
                assert run.running, run.log()[-2000:]
                time.sleep(0.05)
            took = time.monotonic() - began
            our_segments.append(segments() - before)
            used = cpu_of(run.process.pid) - cpu
            if catch_up:
                eventually(lambda: bench.value(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{reader}'") == 0)
                time.sleep(0.5)
                our_server.append((bench.backends_cpu() - server) / changes * 1e6)
            return took, used

        (limit_took, cpu_l), (our_took, cpu_o) = limit(), program()
        limits.append(changes / limit_took), ours.append(changes / our_took), ratios.append(limit_took / our_took)
        limit_cpu.append(cpu_l / changes * 1e6), our_cpu.append(cpu_o / changes * 1e6)
        print(f"pair {pair + 1}: pg_recvlogical {k(limits[-1])}, ours {k(ours[-1])}, ratio {ratios[-1]:.3f}", flush=True)
    peak = memory(run.process.pid)["VmHWM"]
    run.stop()
    print(f"CPU seconds per 1 M rows: ours {spread(our_cpu)}, pg_recvlogical {spread(limit_cpu)}; "
          f"CPU ratio {median(our_cpu) / median(limit_cpu):.2f}")
    print(f"TCP segments: ours {median(our_segments):.0f}, pg_recvlogical {median(limit_segments):.0f}; peak RSS {peak:.0f} MB; ratio spread {spread(ratios)}")
    if catch_up:
        print(f"server's CPU seconds per 1 M rows: ours {spread(our_server)}, walsender {spread(limit_server)}; "
              f"ratio {median(our_server) / median(limit_server):.2f}")
    name = f"pg-{'catchup' if catch_up else 'stream'}-{target}" + (" --unix" if asked.unix else "") + (" --updates" if asked.updates else "") + (" --txn 1" if asked.txn == 1 else "")
    return f"{name} ratio {median(ratios):.2f} (ours {k(median(ours))}, pg_recvlogical {k(median(limits))})", median(our_cpu)


# -- the load -----------------------------------------------------------------------------------------


def load(bench, target):
    asked = bench.asked
    rows = asked.rows or (3_000_000 if target == "null" else 1_000_000)
    bench.database.run(f"CREATE TABLE public.orders ({COLUMNS})", f"INSERT INTO public.orders {rows_sql(1, rows)}", "VACUUM ANALYZE public.orders")
    half = rows // 2
    queries = ["SELECT * FROM public.orders"] if asked.workers == 1 else \
        [f"SELECT * FROM public.orders WHERE id <= {half}", f"SELECT * FROM public.orders WHERE id > {half}"]
    limits, bare, ours, ratios, our_cpu, peaks = [], [], [], [], [], []
    for pair in range(asked.pairs):
        took = float(child(BUILD / "tests" / "bare_copy", bench.url(), *queries)[2].split()[1])
        limits.append(rows / took)
        if target == "sqlite":
            bare.append(bare_sqlite(rows)[0])
        run = bench.pipeline(target, source=f"load_workers = {asked.workers}\nload_chunk_rows = {asked.chunk}")
        began = time.monotonic()
        run.start()
        eventually(lambda: ready(run), within=300)
        whole = time.monotonic() - began
        load_took = load_seconds(run)
        ours.append(rows / load_took)
        our_cpu.append(cpu_of(run.process.pid) / rows * 1e6)
        peaks.append(memory(run.process.pid)["VmHWM"])
        run.stop()
        bench.database.run(f"SELECT pg_drop_replication_slot('{run.slot}')", f"DROP PUBLICATION \"{run.slot}_pub\"")
        least = min([limits[-1], *bare[-1:]])
        ratios.append(ours[-1] / least)
        print(f"pair {pair + 1}: bare COPY {k(limits[-1])}" + (f", bare SQLite {k(bare[-1])}" if bare else "")
              + f", ours {k(ours[-1])} (whole process {k(rows / whole)}), ratio {ratios[-1]:.3f}", flush=True)
    print(f"CPU seconds per 1 M rows: {spread(our_cpu)}; peak RSS {max(peaks):.0f} MB; ratio spread {spread(ratios)}")
    name = f"pg-load-{target}" + (f" --workers {asked.workers}" if asked.workers != 1 else "")
    limit = median([min(pair) for pair in zip(limits, bare)] if bare else limits)
    return f"{name} ratio {median(ratios):.2f} (ours {k(median(ours))}, {'least bare' if bare else 'bare COPY'} {k(limit)})", median(our_cpu)


def bare_sqlite(rows):
    """(rows/s, CPU seconds per 1 M rows) of a prepared upsert loop with our batches and cache_size."""
    said = child(BUILD / "tests" / "sqlite_bench", "insert", str(rows), "1000", "1")[2]
    took, cpu_used = re.search(r"bare (\S+) s \((\S+) cpu\)", said).groups()
    return rows / float(took), float(cpu_used) / rows * 1e6


def ready(run):
    assert run.running, run.log()[-3000:]
    try:
        return run.get("/readyz")[0] == 200
    except OSError:
        return False


def load_seconds(run):
    """From the table's first range being opened to its progress being durable."""
    table, = run.status()["pipelines"][0]["load"]["tables"]
    at = [datetime.datetime.fromisoformat(table[key].replace("Z", "+00:00")) for key in ("started", "finished")]
    return (at[1] - at[0]).total_seconds()


# -- latency and memory -------------------------------------------------------------------------------


def latency(bench):
    asked = bench.asked
    samples = str(asked.rows or 2000)
    bench.database.run("CREATE TABLE public.orders (id bigint PRIMARY KEY)", "CREATE PUBLICATION bare FOR TABLE public.orders")
    run = bench.pipeline("sqlite").start()
    eventually(lambda: ready(run), within=60)
    probe = BUILD / "tests" / "latency_probe"
    ours = child(probe, "ours", bench.url(), "public.orders", run.path, samples, "50")[2].split()
    run.stop()
    bench.database.run("SELECT pg_create_logical_replication_slot('bare', 'pgoutput')")
    bare = child(probe, "bare", bench.url(), "public.orders", "bare", "bare", bench.folder + "/bare.db", samples, "50")[2].split()
    print(f"commit to visible, µs (p50 p99 max): ours {ours}, bare walsender + bare SQLite commit {bare}")
    return (f"pg-latency-sqlite ratio {float(ours[0]) / float(bare[0]):.2f} (ours p50 {int(ours[0]) / 1000:.2f} ms, "
            f"p99 {int(ours[1]) / 1000:.2f} ms; bare p50 {int(bare[0]) / 1000:.2f} ms)"), 0.0


def memory_use(bench):
    bench.database.run(f"CREATE TABLE public.orders ({COLUMNS})")
    run = bench.pipeline("sqlite").start()
    eventually(lambda: ready(run), within=60)
    time.sleep(3)
    idle = memory(run.process.pid)

    def peak_while(work, until):
        highest = 0.0
        work()
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            highest = max(highest, memory(run.process.pid)["VmRSS"])
            if until():
                return highest
            time.sleep(0.02)
        raise AssertionError("did not come to an end")

    count = lambda n: (lambda: run.target("SELECT count(*) FROM orders") == [(n,)])
    streamed = peak_while(lambda: write_backlog(bench, "inserts", 300_000, 1), count(300_000))
    large = peak_while(lambda: bench.database.run(f"INSERT INTO public.orders {rows_sql(1_000_001, 3_000_000)}"), count(2_300_000))
    run.stop()
    run = bench.pipeline("sqlite", source="load_workers = 2")
    loaded = peak_while(run.start, lambda: run.running and count(2_300_000)())
    run.stop()
    return (f"pg-memory idle {idle['VmRSS']:.0f} MB (anonymous {idle['RssAnon']:.0f}), load {loaded:.0f} MB, "
            f"stream {streamed:.0f} MB, one 2 M-row transaction {large:.0f} MB"), 0.0


def cpu(bench):
    _, streamed = stream(bench, "null")
    bench.database.run("DROP TABLE public.orders")
    _, to_sqlite = stream(bench, "sqlite")
    bench.database.run("DROP TABLE public.orders")
    _, loaded = load(bench, "null")
    bare = bare_sqlite(1_000_000)[1]
    return (f"cpu seconds per 1 M rows: stream to null {streamed:.2f}, stream to SQLite less the bare loop {to_sqlite - bare:.2f} "
            f"(whole {to_sqlite:.2f}, bare loop {bare:.2f}), load to null {loaded:.2f}"), 0.0


BENCHES = {
    "pg-load-null": (lambda b: load(b, "null"), "the initial load against bare COPY (--workers 2)"),
    "pg-stream-null": (lambda b: stream(b, "null"), "a backlog against pg_recvlogical (--unix, --txn 1, --updates)"),
    "pg-catchup-null": (lambda b: stream(b, "null", True), "a backlog from a copy of the slot against pg_recvlogical (--updates)"),
    "pg-catchup-sqlite": (lambda b: stream(b, "sqlite", True), "the same into SQLite (--updates)"),
    "pg-load-sqlite": (lambda b: load(b, "sqlite"), "the load into SQLite against the slower of bare COPY and bare upserts"),
    "pg-stream-sqlite": (lambda b: stream(b, "sqlite"), "a backlog into SQLite against pg_recvlogical (--updates)"),
    "pg-latency-sqlite": (latency, "commit to visible in SQLite, idle pipeline"),
    "pg-memory": (memory_use, "resident memory idle, loading, streaming, in one large transaction"),
    "cpu": (cpu, "our CPU seconds per million rows"),
}


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
                                     epilog="benchmarks:\n" + "\n".join(f"  {n:20} {t}" for n, (_, t) in BENCHES.items()))
    parser.add_argument("name", nargs="?", choices=BENCHES)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=0, help="rows (samples for latency); 0: the benchmark's own")
    parser.add_argument("--workers", type=int, default=1, choices=[1, 2])
    parser.add_argument("--chunk", type=int, default=500_000, help="load_chunk_rows")
    parser.add_argument("--unix", action="store_true", help="over a Unix socket")
    parser.add_argument("--updates", action="store_true")
    parser.add_argument("--txn", type=int, default=1000, choices=[1, 1000], help="rows per transaction")
    asked = parser.parse_args()
    if not asked.name:
        parser.print_help()
        return 0
    if not os.environ.get("CDC_BENCH_NAMESPACE"):
        return in_namespace()
    bench = Bench(asked)
    try:
        print(BENCHES[asked.name][0](bench)[0])
    finally:
        bench.close()
    return 0


def in_namespace():
    name = f"cdcb{os.getpid()}"
    inside = f"ip link set lo up && sysctl -qw net.ipv4.tcp_congestion_control=reno && exec {sys.executable} " + \
        " ".join(f"'{word}'" for word in sys.argv)
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        return subprocess.run(["ip", "netns", "exec", name, "sh", "-c", inside], env=dict(os.environ, CDC_BENCH_NAMESPACE=name)).returncode
    finally:
        subprocess.run(["ip", "netns", "del", name])


if __name__ == "__main__":
    sys.exit(main())
