"""Sessions that write while the pipeline works."""

import random
import threading
import time


class Writers:
    """Changes rows of `public.t (id, n, v)` in every way, one thread a seed, until the end of the block."""

    def __init__(self, database, rows, *seeds):
        self.database = database
        self.rows = rows
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(seed,), daemon=True) for seed in seeds]

    def write(self, seed):
        choose = random.Random(seed)
        with self.database.session() as session:
            while not self.stop.is_set():
                key = choose.randrange(self.rows)
                session.run(choose.choice([
                    f"UPDATE public.t SET n = n + 1 WHERE id = {key}",
                    f"UPDATE public.t SET v = repeat('{key % 10}', 3000) WHERE id = {key}",
                    f"DELETE FROM public.t WHERE id = {key}",
                    f"INSERT INTO public.t VALUES ({key}, 0, 'again') ON CONFLICT (id) DO UPDATE SET n = -1",
                    f"UPDATE public.t SET id = id + 1000000 WHERE id = {key} AND NOT EXISTS "
                    f"(SELECT FROM public.t other WHERE other.id = {key + 1000000})",
                    f"UPDATE public.t SET n = n + 1 WHERE id BETWEEN {key} AND {key + 200}",
                ]))
                time.sleep(0.005)

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
