"""Questions about tasks: from the request to the user's first line, and how fast their output gets into the log."""
import base64
import http.client
import json
import subprocess
import sys
import time

from harness import ROOT, Row, fsync_ms, question, running_master, wall_ms
from support.cluster import wait_for

PYTHON = ROOT / ".venv/bin/python"
FIRST_LINE = "first line at "
SCRIPT = f"import time\nprint('{FIRST_LINE}%d' % time.time_ns())\n"
SHELL = ["sh", "-c", f"echo {FIRST_LINE}$(date +%s%N)"]
LINES = 400_000
LINE = "step %.0f loss 0.123456 accuracy 0.987654 learning_rate 0.001 on the way to the next of all epochs"


class Client:
    """Keep-alive connections to a master, one for requests and one for a log that is followed."""

    def __init__(self, cluster):
        self.headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
        self.port = cluster.port
        self.requests = http.client.HTTPConnection("127.0.0.1", self.port)

    def request(self, method, path, body=None):
        self.requests.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        reply = self.requests.getresponse()
        text = reply.read()
        assert reply.status == 200, text
        return json.loads(text)

    def first_line(self, trial_id):
        """Follows a trial's log until the user's line comes; returns what the line says, its writer's clock in ns."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"/api/v1/trials/{trial_id}/logs?follow=true", headers=self.headers)
        reply = connection.getresponse()
        try:
            for text in iter(reply.readline, b""):
                log = json.loads(text)["result"]["log"]
                if FIRST_LINE in log:
                    return int(log.split(FIRST_LINE)[1])
        finally:
            connection.close()
        raise RuntimeError(f"the log of trial {trial_id} ended without the line")


def create_and_follow(client, body):
    """One experiment. Milliseconds from the POST to its answer, to the clock of the user's program, to the line in the log."""
    begin, begin_ns = time.perf_counter(), time.time_ns()
    experiment = client.request("POST", "/api/v1/experiments", body)["experiment"]
    answered = time.perf_counter()
    trial = client.request("GET", f"/api/v1/experiments/{experiment['id']}/trials")["trials"][0]
    user_ns = client.first_line(trial["id"])
    return (answered - begin) * 1000, (user_ns - begin_ns) / 1e6, (time.perf_counter() - begin) * 1000, experiment["id"]


def experiment_body(cluster, entrypoint, **config):
    files = {"train.py": SCRIPT, **{f"module{i}.py": "x = 1\n" * 50 for i in range(5)}}
    context = [{"path": name, "type": 48, "content": base64.b64encode(text.encode()).decode(), "mtime": "0", "mode": 0o644,
                "uid": 0, "gid": 0} for name, text in files.items()]
    return {"config": json.dumps(cluster.experiment_config(entrypoint=entrypoint, **config)), "modelDefinition": context, "activate": True}


def run_experiments(cluster, entrypoint, runs):
    """(answered, user's clock, visible) of each run, the warm-up left out."""
    client, body, found = Client(cluster), experiment_body(cluster, entrypoint), []
    for _ in range(runs + 2):
        *times, experiment_id = create_and_follow(client, body)
        found.append(times)
        cluster.wait_experiment(experiment_id)
    return list(zip(*found[2:]))


@question
def first_line():
    """How long from the request that creates an experiment to its first line in the log (process runtime, warm)?"""
    runs = 20
    with running_master() as cluster:
        cluster.start_agent()
        disk = fsync_ms(cluster.dir)
        shell_alone = [wall_ms(["/bin/sh", "-c", SHELL[2]]) for _ in range(runs)]
        python_alone = [wall_ms([PYTHON, "-c", SCRIPT]) for _ in range(runs)]
        answered, started, visible = run_experiments(cluster, SHELL, runs)
        yield Row("create → POST answered", answered, "ms", "", "fsync of the disk", disk)
        yield Row("create → the user's shell runs", started, "ms", "", "the same shell alone", shell_alone)
        yield Row("create → first line of a shell in the log", visible, "ms", "≤ 150", "the same shell alone", shell_alone)
        _, started, visible = run_experiments(cluster, [str(PYTHON), "train.py"], runs)
        yield Row("create → the user's Python script runs", started, "ms", "", "python alone", python_alone)
        yield Row("create → first line of a Python script in the log", visible, "ms", "≤ 150", "python alone", python_alone)


@question
def agent_start():
    """What of that is the agent's part: from its order to the first line at the master?"""
    text = subprocess.run([sys.executable, ROOT / "bench/task_start.py", "20"], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        name, numbers = line.split(": median ")
        yield Row(name, [float(numbers.split(" ")[0])], "ms")


@question
def log_relay():
    """How many lines a second get from a task's output into the store, agent and master included?"""
    command = f"seq -f '{LINE}' {LINES}"
    rates, pipe = [], []
    with running_master() as cluster:
        cluster.start_agent()
        for _ in range(2):
            pipe.append(LINES / wall_ms(["/bin/sh", "-c", f"{command} | wc -l"]) * 1000)
            trial_id, seconds = relay(cluster, command)
            rates.append(LINES / seconds)
            check_complete(cluster, trial_id)
    yield Row("log lines of a task, from its output into the store", rates, "/s", "", "the same into wc -l", pipe)


def relay(cluster, command, shell="sh", **config):
    """Seconds from the task's first line to its last line in the store."""
    client = Client(cluster)
    body = experiment_body(cluster, [shell, "-c", f"echo {FIRST_LINE}$(date +%s%N); {command}"], **config)
    experiment = client.request("POST", "/api/v1/experiments", body)["experiment"]
    trial_id = client.request("GET", f"/api/v1/experiments/{experiment['id']}/trials")["trials"][0]["id"]
    begin_ns = client.first_line(trial_id)
    path = f"/api/v1/trials/{trial_id}/logs?orderBy=ORDER_BY_DESC&limit=20"
    wait_for("the last line", lambda: any(f"step {LINES} " in line["result"]["log"] for line in cluster.get(path).lines))
    return trial_id, (time.time_ns() - begin_ns) / 1e9


def check_complete(cluster, trial_id):
    stored = sum(1 for line in cluster.get(f"/api/v1/trials/{trial_id}/logs").body.splitlines() if b"accuracy" in line)
    assert stored == LINES, f"{stored} of {LINES} lines are stored"
