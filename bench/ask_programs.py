"""Questions about programs: how fast they start, how large they are, what a command costs."""
import http.client
import json
import os
import statistics
import subprocess
import time

from harness import (
    BUILD,
    ROOT,
    Cluster,
    Row,
    built,
    cpu_ms,
    directory,
    fsync_ms,
    question,
    running_master,
    settled_pss_mb,
    wall_ms,
)

PROGRAMS = ("determined-master", "determined-agent", "determined-task", "det")
PYTHON = ROOT / ".venv/bin/python"


def until_health(cluster):
    """Milliseconds from the start of the master until /health answers."""
    begin = time.perf_counter()
    cluster.start_master(wait=False)
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", cluster.port)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return (time.perf_counter() - begin) * 1000
        except OSError:
            if cluster.master.poll() is not None:
                raise RuntimeError(cluster.master_log()) from None
            time.sleep(0.0002)
        finally:
            connection.close()


@question
def start():
    """How long does the master take on an empty directory until /health answers?"""
    empty, again, disk = [], [], []
    for _ in range(7):
        with directory() as path, Cluster(path) as cluster:
            empty.append(until_health(cluster))
            cluster.stop_master()
            again.append(until_health(cluster))
            disk += fsync_ms(path, runs=5)
    yield Row("master: start on an empty directory until /health answers", empty, "ms", "≤ 50", "fsync of the disk", disk)
    yield Row("… on a directory that it knows", again, "ms", "", "fsync of the disk", disk)


@question
def memory():
    """How much memory does an idle master hold, its database included?"""
    runs = []
    for _ in range(3):
        with running_master() as cluster:
            runs.append(settled_pss_mb(cluster.master.pid))
    yield Row("master: idle memory (PSS), database included", runs, "MB", "≤ 20")


@question
def size():
    """How large are the programs?"""
    with directory() as path:
        for program in PROGRAMS:
            subprocess.run(["strip", "-o", path / program, BUILD / program], check=True)
            yield Row(f"{program}, stripped", [(path / program).stat().st_size / 2**20], "MB", "≤ 5")


@question
def login():
    """What does a login cost? (It should cost something: 50 to 100 ms of CPU, against guessing.)"""
    cpu, wall = [], []
    with running_master() as cluster:
        for _ in range(15):
            before, begin = cpu_ms(cluster.master.pid), time.perf_counter()
            assert cluster.login().status == 200
            wall.append((time.perf_counter() - begin) * 1000)
            cpu.append(cpu_ms(cluster.master.pid) - before)
    yield Row("a login, CPU of the master (aim: 50 to 100)", cpu, "ms", "≤ 100")
    yield Row("… as the client waits for it", wall, "ms")


@question
def det():
    """What does a command cost that reads something from a master on this machine?"""
    runs = 30
    with running_master() as cluster:
        for i in range(20):
            cluster.create(activate=False, name=f"experiment {i}")
        env = {"PATH": os.environ["PATH"], "DET_MASTER": cluster.url, "DET_USER": "determined", "DET_USER_TOKEN": cluster.token,
               "DET_DEBUG_CONFIG_PATH": str(cluster.dir / "config"), "HOME": str(cluster.dir)}
        empty = built("empty_start")
        for words, most in ((["experiment", "list"], 6), (["version"], 6), (["user", "whoami"], 6), (["--help"], 3)):
            bare, ours = [], []
            for _ in range(runs):
                bare.append(wall_ms([empty]))
                ours.append(wall_ms([BUILD / "det", *words], env))
            yield Row(f"det {' '.join(words)}, wall clock", ours, "ms", f"≤ {most}", "an empty program", bare)


@question
def cluster_up():
    """How long does it take to start a cluster on this machine, and to stop it?"""
    up, down = [], []
    for _ in range(3):
        with directory() as path, Cluster(path) as ports:
            env = {**os.environ, "HOME": str(path), "XDG_DATA_HOME": str(path / "data"), "DET_DEBUG_CONFIG_PATH": str(path / "config"),
                   "DET_MASTER": ports.url}
            words = [BUILD / "det", "deploy", "local"]
            name = ["--cluster-name", f"bench-{ports.port}"]
            try:
                up.append(wall_ms([*words, "cluster-up", "--master-port", ports.port, *name], env) / 1000)
            finally:
                down.append(wall_ms([*words, "cluster-down", "--delete-db", *name], env) / 1000)
    yield Row("det deploy local cluster-up: master and agent, ready", up, "s", "≤ 1")
    yield Row("det deploy local cluster-down", down, "s")


@question
def library():
    """What does `import determined` cost, beyond Python's own start?"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    bare, ours = [], []
    for _ in range(15):
        bare.append(wall_ms([PYTHON, "-c", "pass"], env))
        ours.append(wall_ms([PYTHON, "-c", "import determined"], env))
    loaded = subprocess.run([PYTHON, "-c", "import sys, json, determined; print(json.dumps(sorted(sys.modules)))"], env=env,
                            check=True, capture_output=True, text=True).stdout
    frameworks = {"torch", "numpy", "tensorflow"} & set(json.loads(loaded))
    assert not frameworks, f"import determined loads {frameworks}"
    base = statistics.median(bare)
    yield Row("import determined, beyond python's own start", [t - base for t in ours], "ms", "≤ 50", "start of python", bare)
