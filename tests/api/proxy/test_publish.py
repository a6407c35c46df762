"""Tests ports of running trials on this machine: det experiment create --publish, and the WebSocket that carries their data."""
import base64
import contextlib
import os
import socket
import time

import pytest
from support.cluster import BUILD, SANITIZED, error_of, wait_for
from support.det import run_det
from support.ports import free_port
from support.processes import memory_kib
from support.publishing import Publisher, configuration, exchange, read_all

UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode()}


@pytest.fixture(scope="module")
def served(cluster, tmp_path_factory):
    with Publisher(cluster, tmp_path_factory.mktemp("served"), BUILD / "det") as p:
        p.wait_serving()
        yield p


def proxy(c, service, upgrade=True, **options):
    return c.request("GET", f"/proxy/{service}/", headers=UPGRADE if upgrade else {}, **options)


def task_of(c, experiment):
    [trial] = c.trial_ids(experiment)
    return c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]


def test_a_port_of_the_trial_answers_on_this_machine(served):
    assert f"Port {served.port} of the first trial is published at 127.0.0.1:{served.local}" in served.text()
    with served.connect() as one, served.connect() as other:
        one.sendall(b"hello")
        other.sendall(b"there")
        assert (one.recv(99), other.recv(99)) == (b"hello", b"there")
    with served.connect() as again:
        again.sendall(b"give 3")
        assert read_all(again) == b"xxx", "the task's end of it ends ours, after the last byte"


def test_much_goes_both_ways_unharmed(served):
    data = os.urandom(3_000_000)
    with served.connect() as c:
        assert exchange(c, data) == data


def test_who_does_not_read_holds_the_trial_back_and_fills_no_memory(cluster, served):
    before = {pid: memory_kib(pid) for pid in (cluster.master.pid, served.process.pid)}
    with served.connect() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        lazy.sendall(b"give 100000000")
        time.sleep(1)  # meanwhile the trial sends, and whatever would fill the memory does
        with served.connect() as c:
            c.sendall(b"others are served")
            assert c.recv(99) == b"others are served"
        grown = {pid: memory_kib(pid) - before[pid] for pid in before}
        assert SANITIZED or all(kib < 50_000 for kib in grown.values()), grown
        assert len(read_all(lazy)) == 100_000_000


def test_a_client_that_leaves_leaves_nothing_behind(cluster, served):
    def descriptors():
        return len(os.listdir(f"/proc/{cluster.master.pid}/fd"))

    before = descriptors()
    for _ in range(20):
        with served.connect() as c:
            c.sendall(b"x")
            assert c.recv(1) == b"x"
    wait_for("the connections to go", lambda: descriptors() <= before)


def test_what_cannot_be_reached_says_why(cluster, served):
    task = task_of(cluster, served.experiment)
    assert "none of environment.proxy_ports of its configuration has default_service_id" in error_of(proxy(cluster, task), 404)
    assert "it must be TASK or TASK:PORT" in error_of(proxy(cluster, f"{task}:99999"), 404)
    assert "there is no such task" in error_of(proxy(cluster, "nobody:80"), 404)
    assert "not among environment.proxy_ports" in error_of(proxy(cluster, f"{task}:{cluster.port}"), 404)
    assert "is a WebSocket" in error_of(proxy(cluster, f"{task}:{served.port}", upgrade=False), 400)
    assert proxy(cluster, f"{task}:{served.port}", token=None).status == 401
    waits = cluster.create(config=configuration(cluster, 8888), activate=False)
    assert "is paused" in error_of(proxy(cluster, f"{task_of(cluster, waits)}:8888"), 503)
    cluster.post(f"/api/v1/experiments/{waits}/kill")


def test_a_port_at_which_nobody_listens_is_a_bad_gateway(cluster):
    port = free_port()
    config = configuration(cluster, port)
    config["entrypoint"] = "echo up; sleep 600"
    x = cluster.create(config=config)
    [trial] = cluster.trial_ids(x)
    wait_for("the trial", lambda: "up" in cluster.trial_log(trial))
    assert f"no program answers at its port {port}" in error_of(proxy(cluster, f"{task_of(cluster, x)}:{port}"), 502)
    assert cluster.post(f"/api/v1/experiments/{x}/kill").status == 200
    cluster.wait_experiment(x)


def test_only_the_owner_and_admins_reach_a_trials_port(cluster, served):
    service = f"{task_of(cluster, served.experiment)}:{served.port}"
    owner = cluster.token
    try:
        cluster.login("admin")
        user = {"user": {"username": "stranger", "active": True}, "password": "long enough 1", "isHashed": False}
        assert cluster.post("/api/v1/users", user).status == 200
        assert "is a WebSocket" in error_of(proxy(cluster, service, upgrade=False), 400), "an admin comes as far as that"
        assert cluster.login("stranger", password="long enough 1").status == 200
        assert error_of(proxy(cluster, service), 404) == f"service '{service}' not found"
    finally:
        cluster.token = owner


@pytest.mark.parametrize("spec", ["x", "0", "70000", "1:2:3", "80:", ":80", "-1", "80x"])
def test_a_bad_port_creates_nothing(master, tmp_path, spec):
    (tmp_path / "c.yaml").write_text("entrypoint: 'true'\nsearcher: {name: single, metric: m}\n")
    done = run_det(master, "experiment", "create", tmp_path / "c.yaml", "-f", f"--publish={spec}")
    assert done.returncode == 2 and "it must be PORT or LOCAL_PORT:PORT" in done.stderr and "Created" not in done.stdout


def test_a_port_that_is_taken_creates_nothing(master, tmp_path):
    (tmp_path / "c.yaml").write_text("entrypoint: 'true'\nsearcher: {name: single, metric: m}\n")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = run_det(master, "experiment", "create", tmp_path / "c.yaml", "-f", "-p", port)
    assert done.returncode == 1 and f"port {port} of this machine is in use" in done.stderr and "Created" not in done.stdout


def test_a_port_that_will_not_work_is_a_warning(cluster, tmp_path):
    (tmp_path / "c.yaml").write_text("entrypoint: 'true'\nsearcher: {name: single, metric: m}\n")
    done = run_det(cluster, "experiment", "create", tmp_path / "c.yaml", "-f", "-p", free_port())
    assert done.returncode == 0 and "environment.proxy_ports with proxy_tcp: true" in done.stderr
    done = run_det(cluster, "experiment", "create", tmp_path / "c.yaml", "--paused", "-p", "8000")
    assert done.returncode == 0 and "--publish does nothing" in done.stderr
