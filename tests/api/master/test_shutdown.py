"""Tests SIGTERM while requests of all kinds are served. The master must end by itself with status 0 (75 would mean that writes are
left). What it has acknowledged must be in its store, and its log must hold no sanitizer's report (tests/support/cluster.py looks at
the log)."""
import contextlib
import http.client
import json
import signal
import socket
import threading

from support.cluster import client_hash, wait_for

GOODBYE = (OSError, http.client.HTTPException)


class Client(threading.Thread):
    """Sends requests of the same kind on one connection until the master is gone, and keeps those that were acknowledged."""

    def __init__(self, cluster, request, keep=lambda number, text: number):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {cluster.token}"}
        self.request, self.keep = request, keep
        self.acknowledged, self.odd = [], []
        self.start()

    def run(self):
        number = 0
        with contextlib.suppress(*GOODBYE):
            while True:
                method, path, body = self.request(number)
                self.connection.request(method, path, json.dumps(body) if body else None, self.headers)
                reply = self.connection.getresponse()
                text = reply.read()
                if reply.status == 200:
                    self.acknowledged.append(self.keep(number, text))
                elif reply.status != 503:
                    self.odd.append((reply.status, text[:300]))
                number += 1
        self.connection.close()


def raw(cluster, text):
    sock = socket.create_connection(("127.0.0.1", cluster.port))
    sock.sendall(text.replace("\n", "\r\n").replace("TOKEN", cluster.token).encode())
    return sock


def get(path):
    return f"GET {path} HTTP/1.1\nHost: x\nAuthorization: Bearer TOKEN\n\n"


def those_who_wait(cluster, trial, allocation):
    """Opens connections whose requests do not end by themselves."""
    poll = get(f"/api/v1/allocations/{allocation}/signals/preemption?timeoutSeconds=600")
    follow = get(f"/api/v1/trials/{trial['id']}/logs?follow=true")
    fields = get(f"/api/v1/tasks/{trial['taskId']}/logs/fields?follow=true")
    half = "POST /api/v1/task/logs HTTP/1.1\nHost: x\nAuthorization: Bearer TOKEN\nContent-Length: 1000\n\n{\"logs\""
    return [raw(cluster, text) for text in [poll] * 8 + [follow] * 8 + [fields] * 2 + [half] * 2 + ["GET /api/v1/m", ""] * 2]


def those_who_work(cluster, trial):
    """Starts clients that keep the loop, the readers, the workers and the writer busy."""
    config = json.dumps(cluster.experiment_config(name="x" * 100))
    padding = " " * 40000  # makes the body so large that a worker decodes it

    def log(number, who):
        return "POST", "/api/v1/task/logs", {"logs": [{"taskId": trial["taskId"], "log": f"{who}:{number}\n"}]}

    def create(number):
        return "POST", "/api/v1/experiments", {"config": config + padding, "activate": False}

    def login(number):
        return "POST", "/api/v1/auth/login", {"username": "admin", "password": client_hash(cluster.password), "isHashed": True}

    loggers = [Client(cluster, lambda n, who=who: log(n, who), lambda n, text, who=who: f"{who}:{n}\n") for who in range(3)]
    creators = [Client(cluster, create, lambda n, text: json.loads(text)["experiment"]["id"]) for _ in range(3)]
    others = [Client(cluster, login), Client(cluster, lambda n: ("GET", "/api/v1/experiments?limit=100", None)),
              Client(cluster, lambda n: ("GET", f"/api/v1/trials/{trial['id']}/logs", None)),
              Client(cluster, lambda n: ("GET", "/api/v1/agents", None))]
    return loggers, creators, others


def test_a_busy_master_ends_by_itself_and_keeps_what_it_acknowledged(new_cluster, tmp_path):
    cluster = new_cluster().start_master()
    cluster.start_agent(slots=2)
    cluster.login()
    gate = tmp_path / "gate"
    script = f"i=0; while [ ! -e {gate} ]; do echo task $i; i=$((i+1)); sleep 0.01; done; echo last $i"
    x = cluster.create(entrypoint=["sh", "-c", script])
    trial = cluster.get(f"/api/v1/trials/{cluster.trial_ids(x)[0]}").json["trial"]
    wait_for("the task's lines", lambda: "task 3" in cluster.trial_log(trial["id"]))
    [allocation] = cluster.get(f"/api/v1/tasks/{trial['taskId']}").json["task"]["allocations"]

    waiting = those_who_wait(cluster, trial, allocation["allocationId"])
    loggers, creators, others = those_who_work(cluster, trial)
    wait_for("work of all kinds", lambda: all(len(c.acknowledged) >= 5 for c in loggers + creators + others))
    assert cluster.stop_master() == 0
    for client in loggers + creators + others:
        client.join(60)
        assert not client.is_alive() and not client.odd, client.odd
    for sock in waiting:
        sock.close()

    cluster.start_master()
    stored = cluster.trial_log(trial["id"]).splitlines(keepends=True)
    experiments = {e["id"]: e for e in cluster.get("/api/v1/experiments?limit=-1").json["experiments"]}
    for client in loggers:
        assert [line for line in client.acknowledged if stored.count(line) != 1] == []
    for client in creators:
        assert [i for i in client.acknowledged if experiments[i]["name"] != "x" * 100] == []
    gate.touch()
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    lines = [line for line in cluster.trial_log(trial["id"]).splitlines() if line.startswith(("task ", "last "))]
    assert [line.split()[1] for line in lines] == [str(i) for i in range(len(lines))] and lines[-1].startswith("last")


def test_a_master_that_is_asked_to_end_during_its_first_start_starts_well_afterwards(new_cluster):
    cluster = new_cluster()
    for signo in (signal.SIGTERM, signal.SIGINT) * 2:
        cluster.start_master(expect_accounts=False)
        assert cluster.stop_master(signo) == 0
    cluster.start_master()
    assert cluster.login().status == 200


def test_agents_come_back_to_the_next_master(new_cluster):
    cluster = new_cluster().start_master()
    for i in range(3):
        cluster.start_agent(f"agent{i}", slots=1)
    for _ in range(2):
        assert cluster.stop_master() == 0
        cluster.start_master()
        wait_for("all agents", lambda: len(cluster.get("/api/v1/agents").json["agents"]) == 3)
