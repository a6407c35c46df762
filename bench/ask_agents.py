"""Questions about many agents: a real master, two thousand agents on WebSockets of their own, a queue that is longer than they are.

bench/agents_load.c is the agents, and says what it reports.
"""
import http.client
import os
import re
import statistics
import subprocess
import threading
import time

from ask_logs import engines, master_on
from harness import Row, built, cpu_ms, pss_mb, question

# 1: 2,000 agents and 20,000 tasks.
SCALE = float(os.environ.get("DET_BENCH_SCALE", "1"))
AGENTS, SLOTS, EXPERIMENTS = max(1, int(2000 * SCALE)), 8, max(1, int(100 * SCALE))
TRIALS = 200  # of each experiment
RUN_MS = 1000
PAUSE_S = 0.04


def queue(cluster):
    """Experiments whose trials wait all at once; nobody is there to run them yet."""
    return [cluster.create({"train.py": "print(1)\n"}, name=f"queued {i}", hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}},
                           searcher={"name": "random", "metric": "loss", "max_trials": TRIALS, "max_concurrent_trials": TRIALS})
            for i in range(EXPERIMENTS)]


class Reader(threading.Thread):
    """Somebody who looks, without haste, at what people look at, while the master is busy; notes how long each answer took, and how
    large the master is."""

    def __init__(self, cluster, experiments):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.paths = [path for x in experiments[:50] for path in
                      (f"/api/v1/experiments/{x}", "/api/v1/job-queues-v2", "/api/v1/agents", "/api/v1/experiments?limit=50")]
        self.took_ms, self.pss_mb, self.stopping, self.fault = {}, [], threading.Event(), None

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port)
        headers = {"Authorization": f"Bearer {self.cluster.token}"}
        try:
            while not self.stopping.is_set():
                for path in self.paths:
                    begin = time.perf_counter()
                    connection.request("GET", path, headers=headers)
                    reply = connection.getresponse()
                    length = len(reply.read())
                    assert reply.status == 200 and length > 0, f"{path}: {reply.status}"
                    kind = re.sub(r"/\d+$", "/ID", path)
                    self.took_ms.setdefault(kind, []).append((time.perf_counter() - begin) * 1000)
                    self.pss_mb.append(pss_mb(self.cluster.master.pid))
                    if self.stopping.wait(PAUSE_S):
                        break
        except Exception as fault:
            self.fault = fault

    def stop(self):
        self.stopping.set()
        self.join()
        if self.fault:
            raise self.fault


def p99(values):
    return statistics.quantiles(values, n=100, method="inclusive")[98] if len(values) > 1 else values[0]


def join(cluster, tasks):
    """What bench/agents_load.c prints: {what: number}."""
    done = subprocess.run([built("agents_load"), str(cluster.port), str(cluster.dir / "data" / "agent.token"), str(AGENTS), str(SLOTS),
                           str(tasks), str(RUN_MS)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return {what: float(number) for what, number in re.findall(r"^(\S.*?)\s{2,}([\d.]+) \S+$", done.stdout, re.MULTILINE)}


def ask_agents(name, engine):
    with master_on(engine) as cluster:
        experiments = queue(cluster)
        tasks = len(experiments) * TRIALS
        waiting_mb, before_ms = pss_mb(cluster.master.pid), cpu_ms(cluster.master.pid)
        reader = Reader(cluster, experiments)
        reader.start()
        found = join(cluster, tasks)
        reader.stop()
        cpu = (cpu_ms(cluster.master.pid) - before_ms) * 1000 / tasks
        assert found["tasks placed"] == tasks, found
        yield Row(f"{AGENTS:,} agents join, {name}", [found["agents joined after"]], "s")
        yield Row(f"… and get {tasks:,} waiting tasks of 1 s on {AGENTS * SLOTS:,} slots, all placed", [found["tasks placed after"]], "s",
                  "≤ 120")
        yield Row("… all ended", [found["tasks ended after"]], "s")
        yield Row("… at the same time", [found["tasks at the same time"]], "tasks")
        yield Row("… CPU of the master a task", [cpu], "µs")
        yield Row("… its memory (PSS) with the queue, before", [waiting_mb], "MiB")
        yield Row("… its memory (PSS) at most", [max(reader.pss_mb)], "MiB", "≤ 500")
        yield Row("… p99 of what somebody reads meanwhile", [p99([ms for took in reader.took_ms.values() for ms in took])], "ms", "≤ 50")
        for kind, took in reader.took_ms.items():
            yield Row(f"… … GET {kind} ({len(took)} times)", [p99(took)], "ms")


@question
def agents_load():
    """How soon do two thousand agents get twenty thousand waiting tasks, and what do others notice of it?"""
    for name, engine in engines():
        yield from ask_agents(name, engine)
