"""Questions about the API under load: wrk on the same machine, so both share its cores."""
import json
import re
import subprocess

from harness import Row, built, fsync_ms, pss_mb, question, running_master, settled_pss_mb, wrk

TINY_FILE = {"path": "train.py", "type": 48, "content": "cHJpbnQoMSkK", "mtime": "0", "mode": 0o644, "uid": 0, "gid": 0}


def write_script(path, body, method="POST"):
    """A wrk script that sends the same body each time."""
    path.write_text(f"wrk.method = '{method}'\n"
                    "wrk.headers['Content-Type'] = 'application/json'\n"
                    f"wrk.body = [==[{json.dumps(body)}]==]\n")
    return path


def credentials(cluster):
    return [f"Authorization: Bearer {cluster.token}"]


def paused_experiment(cluster):
    return {"config": json.dumps(cluster.experiment_config()), "modelDefinition": [TINY_FILE], "activate": False}


def make_experiments(cluster, wanted):
    """At least `wanted` paused experiments, by the load client."""
    script = write_script(cluster.dir / "create.lua", paused_experiment(cluster))
    while experiment_count(cluster) < wanted:
        wrk(cluster.url + "/api/v1/experiments", 32, 1, credentials(cluster), script)


def experiment_count(cluster):
    return cluster.get("/api/v1/experiments?limit=1").json["pagination"]["total"]


def floor_rates(program):
    """Requests a second of net/http/http.h and of bare evhttp with nothing behind them."""
    text = subprocess.run([program, "64", "1"], check=True, capture_output=True, text=True).stdout
    return ([float(r) for r in re.findall(r"^net/http/http\.h\s.*?(\d+) requests/s", text, re.MULTILINE)],
            [float(r) for r in re.findall(r"^evhttp\s.*?(\d+) requests/s", text, re.MULTILINE)])


@question
def requests():
    """How many small reads does the master answer, 64 keep-alive connections?"""
    ours, evhttp = floor_rates(built("http_floor"))
    yield Row("floor: net/http/http.h with nothing behind it, 64 connections", ours, "/s", "", "bare evhttp", evhttp)
    with running_master() as cluster:
        for path in ("/api/v1/master", "/api/v1/me"):
            loads = [wrk(cluster.url + path, 64, 2, credentials(cluster)) for _ in range(3)]
            yield Row(f"GET {path}, 64 connections", [load.per_s for load in loads], "/s", "≥ 20000", "floor", ours)
            yield Row("… p99", [load.p99_ms for load in loads], "ms", "≤ 10")


@question
def lists():
    """How many lists of 50 of 1,000 experiments?"""
    with running_master() as cluster:
        for i in range(1000):
            cluster.create({"train.py": "print(1)\n"}, activate=False, name=f"experiment {i}")
        text = subprocess.run([built("store_list")], check=True, capture_output=True, text=True).stdout
        store = float(re.search(r"with configurations.*?(\d+) /s", text).group(1))
        loads = [wrk(cluster.url + "/api/v1/experiments?limit=50", 64, 2, credentials(cluster)) for _ in range(3)]
        yield Row("GET /api/v1/experiments?limit=50 of 1,000, 64 connections", [load.per_s for load in loads], "/s", "≥ 2000",
                  "the store alone, one thread", [store])
        yield Row("… p99", [load.p99_ms for load in loads], "ms")


@question
def creates():
    """How many experiments can be created, paused, with a tiny context, by 32 clients?"""
    with running_master() as cluster:
        script = write_script(cluster.dir / "create.lua", paused_experiment(cluster))
        disk = [1000 / t for t in fsync_ms(cluster.dir)]
        loads = [wrk(cluster.url + "/api/v1/experiments", 32, 2, credentials(cluster), script) for _ in range(3)]
        yield Row("experiments created (paused, tiny context), 32 clients", [load.per_s for load in loads], "/s", "≥ 1000",
                  "fsyncs of the disk", disk)
        yield Row("… p99", [load.p99_ms for load in loads], "ms")


@question
def deep_queue():
    """What does it cost that 5,000 experiments wait for slots?"""
    with running_master() as cluster:
        def get_one():
            return wrk(cluster.url + "/api/v1/experiments/1", 32, 1, credentials(cluster)).per_s

        script = write_script(cluster.dir / "queue.lua", {**paused_experiment(cluster), "activate": True})
        cluster.create({"train.py": "print(1)\n"})
        alone, creations = [get_one() for _ in range(3)], []
        while experiment_count(cluster) < 5000:
            creations.append(wrk(cluster.url + "/api/v1/experiments", 32, 1, credentials(cluster), script).per_s)
        deep = [get_one() for _ in range(3)]
        yield Row("creations with up to 5,000 experiments waiting", creations[-1:], "/s", "", "… the first thousands", creations[:1])
        yield Row("GET of one experiment with 5,000 waiting, 32 connections", deep, "/s", "", "with none waiting", alone)


@question
def paused():
    """How much memory do 5,000 paused experiments take?"""
    with running_master() as cluster:
        before = settled_pss_mb(cluster.master.pid)
        make_experiments(cluster, 5000)
        count, after = experiment_count(cluster), settled_pss_mb(cluster.master.pid)
        yield Row("master: memory (PSS) with 5,000 paused experiments", [before + (after - before) * 5000 / count], "MB", "≤ 100")


GROWTH_REQUESTS = {
    "GET /health": None,
    "GET /api/v1/master": None,
    "GET /api/v1/me": None,
    "GET /api/v1/users": None,
    "GET /api/v1/agents": None,
    "GET /api/v1/resource-pools": None,
    "GET /api/v1/workspaces": None,
    "GET /api/v1/experiments?limit=5": None,
    "GET /api/v1/experiments/1": None,
    "GET /api/v1/experiments/1/trials": None,
    "GET /api/v1/trials/1": None,
    "GET /api/v1/trials/1/logs": None,
    "GET /api/v1/tasks": None,
    "GET /metrics": None,
    "POST /api/v1/experiments/1/pause": {},
    "PUT /api/v1/experiments/1/labels/label": {},
    "POST /api/v1/trials/1/metrics": {"trialId": 1, "group": "training", "stepsCompleted": 1, "trialRunId": 0,
                                      "metrics": {"avgMetrics": {"loss": 0.5}}},
}


@question
def growth():
    """Does the master's memory grow with the number of requests? (10,000 of each kind, after as many to warm up)"""
    with running_master() as cluster:
        cluster.create({"train.py": "print(1)\n"}, activate=False)
        worst = []
        for request, body in GROWTH_REQUESTS.items():
            method, path = request.split(" ")
            reply = cluster.request(method, path, body)
            assert reply.status == 200, f"{request}: {reply}"
            script = write_script(cluster.dir / "write.lua", body, method) if body is not None else None
            worst.append((growth_of(cluster, path, script), request))
        mb, request = max(worst)
        yield Row(f"master: growth of memory by 10,000 more requests, worst kind ({request})", [mb], "MB", "≤ 1")


def growth_of(cluster, path, script):
    """MB by 10,000 requests. What grows is looked at again: caches of the store fill once, a leak goes on."""
    send_requests(cluster, path, script)
    for _ in range(5):
        before = pss_mb(cluster.master.pid)
        sent = send_requests(cluster, path, script)
        grown = (pss_mb(cluster.master.pid) - before) * 10000 / sent
        if grown < 0.2:
            break
    return max(grown, 0.0)


def send_requests(cluster, path, script, wanted=10000):
    sent = 0.0
    while sent < wanted:
        sent += wrk(cluster.url + path, 64, 1, credentials(cluster), script).per_s
    return sent
