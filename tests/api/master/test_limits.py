"""Tests many clients that send nothing, or that do not read what they asked for: memory stays bounded, and all others are served."""
import contextlib
import json
import os
import resource
import socket

import pytest
from support.cluster import SANITIZED, wait_for
from support.processes import memory_kib

KIB_PER_CONNECTION = 16


@pytest.fixture(autouse=True, scope="module")
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 5000:
        pytest.skip(f"needs 5000 open files, {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def connections(cluster, n, request=""):
    with contextlib.ExitStack() as all_of_them:
        made = []
        for _ in range(n):
            sock = all_of_them.enter_context(socket.socket())
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(120)
            sock.connect(("127.0.0.1", cluster.port))
            sock.sendall(request.encode())
            made.append(sock)
        yield made


def get(cluster, path):
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {cluster.token}\r\n\r\n"



def check_memory(cluster, before_kib, allowed_kib):
    if not SANITIZED:
        grown = memory_kib(cluster.master.pid) - before_kib
        assert grown < allowed_kib, f"the master grew by {grown} KiB"


def check_served(cluster):
    assert cluster.get("/api/v1/me").status == 200
    x = cluster.create(activate=False)
    assert cluster.experiment(x)["state"] == "STATE_PAUSED"


def test_two_thousand_silent_connections(cluster):
    before = memory_kib(cluster.master.pid)
    with connections(cluster, 1000), connections(cluster, 1000, "GET /api/v1/m"):
        check_served(cluster)
        check_memory(cluster, before, 2000 * KIB_PER_CONNECTION)
    check_served(cluster)


def running_trial(cluster):
    x = cluster.create(entrypoint=["sleep", "1000"], resources={"slots_per_trial": 1})
    trial = cluster.get(f"/api/v1/trials/{cluster.trial_ids(x)[0]}").json["trial"]
    # an experiment that does not run yet would be killed at once, without being asked
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    return x, trial


def body_of(sock):
    with sock.makefile("rb") as stream:
        text = stream.read()
    return text.split(b"\r\n\r\n", 1)[1]


def test_five_hundred_idle_long_polls_are_answered_when_it_happens(cluster):
    x, trial = running_trial(cluster)
    [allocation] = cluster.get(f"/api/v1/tasks/{trial['taskId']}").json["task"]["allocations"]
    poll = get(cluster, f"/api/v1/allocations/{allocation['allocationId']}/signals/preemption?timeoutSeconds=600")
    before = memory_kib(cluster.master.pid)
    with connections(cluster, 500, poll) as polls:
        check_served(cluster)
        check_memory(cluster, before, 500 * KIB_PER_CONNECTION)
        assert cluster.post(f"/api/v1/experiments/{x}/cancel").status == 200
        assert [body for body in (json.loads(body_of(sock)) for sock in polls) if body != {"preempt": True}] == []
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    cluster.wait_experiment(x)


def chunks_joined(body):
    out = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        out, body = out + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    return out


def test_two_hundred_followers_that_do_not_read_get_everything_in_the_end(cluster):
    x = cluster.create(activate=False)
    trial = cluster.get(f"/api/v1/trials/{cluster.trial_ids(x)[0]}").json["trial"]
    before = memory_kib(cluster.master.pid)
    follow = get(cluster, f"/api/v1/trials/{trial['id']}/logs?follow=true")
    with connections(cluster, 100, follow) as early, contextlib.ExitStack() as late:
        for i in range(10):  # 10 MB, more than a socket holds
            logs = [{"taskId": trial["taskId"], "log": f"{i}.{j} " + "x" * 10000 + "\n"} for j in range(100)]
            assert cluster.post("/api/v1/task/logs", {"logs": logs}).status == 200
        followers = early + late.enter_context(connections(cluster, 100, follow))
        check_served(cluster)
        check_memory(cluster, before, 200 * 256)
        assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
        expected = [f"{i}.{j}" for i in range(10) for j in range(100)]
        for sock in followers[:2] + followers[-2:]:  # the other followers leave without having read
            lines = [json.loads(line)["result"]["log"].split()[0] for line in chunks_joined(body_of(sock)).splitlines()]
            assert lines == expected
    check_served(cluster)


def test_with_few_file_descriptors_connections_leave_some_to_the_store(new_cluster):
    cluster = new_cluster().start_master(prefix=["prlimit", "--nofile=600:600"])
    cluster.login()
    with connections(cluster, 1) as [early], connections(cluster, 700) as silent:
        early.sendall(get(cluster, "/api/v1/me").encode())
        assert b'"username":"determined"' in body_of(early).replace(b" ", b"")
        refused = [sock for sock in silent[-300:] if refusal(sock)]
        assert len(refused) == 300
    wait_for("room", lambda: room_again(cluster))
    check_served(cluster)
    assert os.path.exists(f"/proc/{cluster.master.pid}")


def refusal(sock):
    """Whether the server has refused the connection with a reply, or has just closed it."""
    try:
        text = sock.recv(4096)
    except ConnectionError:
        return True
    return text == b"" or b" 503 " in text


def room_again(cluster):
    with contextlib.suppress(OSError):
        return cluster.get("/api/v1/me").status == 200
    return False
