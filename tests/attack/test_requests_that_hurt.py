"""Tests requests of an ordinary user that are to harm all others. The master's loop may be held for at most 50 ms of processor time, and
its memory may grow by at most 100 MB. Requests that bring files may need what their files need, which the largest body limits."""
import base64
import json
import os
import re
import socket
import subprocess

import pytest
from support import hostile
from support.cluster import BUILD, ROOT, SANITIZED, Cluster, error_of, wait_for
from support.costs import Costs, can_measure
from support.publishing import Publisher

MIB = 1024 * 1024
TURN_MAX_S = 0.05
GROWTH_MAX = 100 * 1000 * 1000
FILES_GROWTH_MAX = 3 * hostile.CREATE_MAX  # for the body, its files, and their archive
BRINGS_FILES = {"a configuration of 100 MB", "a hundred thousand files", "files that are empty objects", "a file of 95 MiB"}
WEIGHTS = 95 * MIB // 3 * 3 - 18
RELEASED = ROOT / ".venv-compat/bin/det"

pytestmark = pytest.mark.skipif(not can_measure(), reason="may not write /proc/PID/clear_refs, which begins the measurement of memory")


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("victim")) as c:
        c.start_master()
        c.login()
        yield hostile.Victim(c, experiments=50)


def check_cost(cost, growth_max=GROWTH_MAX):
    print(cost)
    if not SANITIZED:
        assert cost.turn_s <= TURN_MAX_S, str(cost)
        assert cost.grown_bytes <= growth_max, str(cost)


@pytest.mark.parametrize("name", hostile.SHAPES)
def test_one_request_holds_neither_the_loop_nor_much_memory(victim, name):
    with Costs(victim.cluster) as cost:
        reply = hostile.carry_out(victim, name)
    assert reply is None or reply.status < 500, reply
    check_cost(cost, FILES_GROWTH_MAX if name in BRINGS_FILES else GROWTH_MAX)
    assert victim.cluster.get("/api/v1/me").status == 200


# ---- configurations ----

def submit(c, config, **more):
    return c.post("/api/v1/experiments", {"config": config, "activate": False, **more})


def test_aliases_multiply_a_text_within_the_size_of_a_configuration(victim):
    text = "name: x\nentrypoint: x\nsearcher: {name: single, metric: loss}\ndata:\n  a: &a " + "x" * 900_000 + "\n  b:\n" + "  - *a\n" * 5000
    with Costs(victim.cluster) as cost:
        error = error_of(submit(victim.cluster, text))
    assert "line 15, column 5: the document is too large: more than 8388608 bytes of text" in error, error
    check_cost(cost)


def test_a_configuration_over_the_limit_is_refused_with_its_size(victim):
    c = victim.cluster
    config = c.experiment_config(data={"x": "x" * (1024 * 1024)})
    error = error_of(submit(c, json.dumps(config)))
    assert f"the configuration has {len(json.dumps(config))} bytes, at most 1048576 are allowed" in error and "limits.config_size" in error
    assert error_of(submit(c, json.dumps(config), validateOnly=True)) == error


def test_a_template_makes_a_configuration_too_large(victim):
    c = victim.cluster
    body = {"name": "large", "config": {"data": {"a": "x" * 700_000}}}
    assert c.post("/api/v1/templates/large", body).status == 200
    config = json.dumps(c.experiment_config(data={"b": "x" * 700_000}))
    assert "bytes with templates and defaults, as JSON; at most 1048576 are allowed" in error_of(submit(c, config, template="large"))
    body = {"name": "larger", "config": {"data": {"a": "x" * 1_100_000}}}
    assert "template 'larger' has 1100" in error_of(c.post("/api/v1/templates/larger", body))


def test_an_override_makes_a_configuration_too_large(victim):
    c = victim.cluster
    e = c.create()
    c.post(f"/api/v1/experiments/{e}/kill")
    c.wait_experiment(e)
    override = json.dumps({"data": {"b": "x" * 1_100_000}})
    assert "at most 1048576 are allowed" in error_of(c.post("/api/v1/experiments/continue", {"id": e, "overrideConfig": override}))


def test_the_limit_is_a_key_with_a_range(new_cluster):
    c = new_cluster(config={"limits": {"config_size": "64 KiB"}}).start_master()
    c.login()
    assert "at most 65536 are allowed" in error_of(submit(c, json.dumps(c.experiment_config(data={"x": "x" * 70_000}))))
    for size in (1, 2 * MIB + 1):
        (c.dir / "bad.yaml").write_text(json.dumps({"limits": {"config_size": size}}))
        checked = subprocess.run([BUILD / "determined-master", "config", "check", "--config-file", c.dir / "bad.yaml"], capture_output=True, text=True)
        assert checked.returncode != 0 and "limits.config_size" in checked.stdout + checked.stderr


@pytest.mark.parametrize("changes, sentence", [
    ({"environment": {"environment_variables": [f"V{i}=1" for i in range(1001)]}}, "environment_variables has 1001 entries, at most 1000 are allowed"),
    ({"environment": {"environment_variables": ["V=" + "x" * 131072]}}, "has 131074 bytes, at most 102400 are allowed"),
    ({"environment": {"environment_variables": {"cpu": [f"V{i}=" + "x" * 99000 for i in range(6)]}}}, "environment.environment_variables (cpu) have 5940"),
    ({"entrypoint": ["sh", "-c", "x" * 131072]}, "entrypoint[2] has 131072 bytes, at most 102400 are allowed"),
    ({"environment": {"proxy_ports": [{"proxy_port": i + 1} for i in range(201)]}}, "proxy_ports has 201 entries, at most 200 are allowed"),
    ({"bind_mounts": [{"host_path": "/x", "container_path": f"c{i}"} for i in range(201)]}, "bind_mounts has 201 entries, at most 200 are allowed"),
    ({"labels": [f"l{i}" for i in range(101)]}, "labels has 101 entries, at most 100 are allowed"),
    ({"log_policies": [{"name": "p", "pattern": "x" * 4097}]}, "pattern has 4097 bytes, at most 4096 are allowed"),
    ({"hyperparameters": {"a": {"type": "categorical", "vals": list(range(10001))}}}, "vals has 10001 entries, at most 10000 are allowed"),
    ({"hyperparameters": {"a": "x" * 102400}}, "<config>.hyperparameters: 1024"),
    ({"hyperparameters": {"a": {"type": "int", "minval": 0, "maxval": 9}},
      "searcher": {"name": "random", "metric": "x", "max_length": 1, "max_trials": 3001, "max_concurrent_trials": 0}},
     "3001 trials would begin at once, at most 3000 can"),
    ({"hyperparameters": {"a": "x" * 100_000},
      "searcher": {"name": "random", "metric": "x", "max_length": 1, "max_trials": 100, "max_concurrent_trials": 100}},
     "100 trials would begin at once, each with up to 1000"),
], ids=lambda v: "" if isinstance(v, dict) else v[:24])
def test_lists_without_end_are_refused_with_a_sentence(victim, changes, sentence):
    c = victim.cluster
    error = error_of(submit(c, json.dumps(c.experiment_config(**changes))))
    assert sentence in re.sub(r" \(line \d+, column \d+\):", "", error), error


def test_labels_and_names_stay_short_when_they_are_changed(victim):
    c = victim.cluster
    path = f"/api/v1/experiments/{c.create(activate=False)}"
    assert "labels has 101 entries" in error_of(c.patch(path, {"labels": [f"l{i}" for i in range(101)]})).replace(":", "")
    assert "labels: 4" in error_of(c.patch(path, {"labels": ["x"] * 100_000}))
    assert "has 1025 bytes, at most 1024 are allowed" in error_of(c.patch(path, {"name": "x" * 1025}))
    assert c.patch(path, {"labels": [f"l{i}" for i in range(100)]}).status == 200
    assert "labels has 101 entries" in error_of(c.request("PUT", path + "/labels/one-more")).replace(":", "")


def test_gets_of_the_largest_configurations_stay_cheap(victim):
    c = victim.cluster
    ids = [submit(c, json.dumps(c.experiment_config(data={"x": "\"" * 500_000}))).json["experiment"]["id"] for _ in range(3)]
    with Costs(c) as cost:
        for e in ids:
            assert c.get(f"/api/v1/experiments/{e}").status == 200
        assert c.get("/api/v1/experiments?limit=50").status == 200
    check_cost(cost)


# ---- what is sent to an agent and a task ----

def test_a_configuration_cannot_drop_the_agents_link(cluster):
    """In a message each < takes six bytes, so 11 MiB of them were more than an agent accepts in one message."""
    before = (cluster.dir / "agent0.log").read_text()
    reply = cluster.post("/api/v1/experiments", {"config": json.dumps(cluster.experiment_config(data={"x": "<" * (11 * MIB)})), "activate": True})
    assert "at most 1048576 are allowed" in error_of(reply)
    e = cluster.create(data={"x": "<" * 1_000_000}, entrypoint="true")
    assert cluster.wait_experiment(e)["state"] == "STATE_COMPLETED"
    assert (cluster.dir / "agent0.log").read_text()[len(before):].count("link.lost") == 0


LOOK = """
import json, os
from determined._info import get_cluster_info
config = get_cluster_info().trial._config
assert len(config["data"]["x"]) == 600000 and "DET_EXPERIMENT_CONFIG" not in os.environ
assert json.load(open(os.environ["DET_EXPERIMENT_CONFIG_FILE"])) == config
print("found it all")
"""


def test_a_configuration_beyond_what_execve_takes_starts(cluster):
    e = cluster.create(files={"look.py": LOOK}, entrypoint="python3 look.py", data={"x": "x" * 600_000})
    assert cluster.wait_experiment(e)["state"] == "STATE_COMPLETED", cluster.trial_log(cluster.trial_ids(e)[0])
    assert "found it all" in cluster.trial_log(cluster.trial_ids(e)[0])


def test_the_released_library_finds_a_configuration_beyond_what_execve_takes(cluster):
    [site] = RELEASED.parent.parent.glob("lib/python3*/site-packages")
    look = LOOK.replace("determined._info", "determined").replace("found it all", "found by the released one")
    e = cluster.create(files={"look.py": look}, data={"x": "x" * 600_000},
                       entrypoint=["env", f"PYTHONPATH={site}", str(RELEASED.parent / "python3"), "look.py"])
    cluster.wait_experiment(e)
    assert "found by the released one" in cluster.trial_log(cluster.trial_ids(e)[0])


# ---- bodies ----

@pytest.mark.parametrize("method, path, allowed", [
    ("POST", "/api/v1/experiments", 144 * MIB), ("POST", "/api/v1/task/logs", 24 * MIB), ("POST", "/task-logs", 24 * MIB),
    ("POST", "/api/v1/experiments/continue", 8 * MIB), ("POST", "/api/v1/runs/kill", MIB), ("PATCH", "/api/v1/experiments/1", MIB),
    ("POST", "/api/v1/no-such-route", MIB)])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_its_routes_limit_is_413(victim, method, path, allowed, chunked):
    c = victim.cluster
    if chunked and allowed > 32 * MIB:
        pytest.skip("the same code as for smaller ones, at the price of sending it")
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {allowed + 1}"
    with socket.create_connection(("127.0.0.1", c.port), timeout=60) as s:
        s.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {c.token}\r\n{framing}\r\n\r\n".encode())
        if chunked:
            try:
                for _ in range(allowed // MIB + 1):
                    s.sendall(b"100000\r\n" + b" " * MIB + b"\r\n")
            except OSError:
                pass
        reply = s.recv(4096).decode()
    assert reply.startswith("HTTP/1.1 413"), reply
    assert f"at most {allowed} are allowed" in reply, reply


@pytest.fixture(scope="module")
def full_context(tmp_path_factory):
    """As many bytes of files as clients allow, which is 95 MiB, since they count the size in base64. The bytes cannot be compressed."""
    directory = tmp_path_factory.mktemp("context")
    (directory / "train.py").write_text("print('trained')\n\n")
    with open(directory / "weights", "wb") as f:
        f.write(os.urandom(WEIGHTS))
    return directory


@pytest.mark.parametrize("program", [BUILD / "det", RELEASED], ids=["ours", "released"])
def test_95_mib_of_files_go_through(cluster, full_context, tmp_path, program):
    (tmp_path / "e.yaml").write_text(json.dumps(cluster.experiment_config(entrypoint=f"test $(stat -c %s weights) = {WEIGHTS} && python3 train.py")))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DET_MASTER": cluster.url, "DET_USER": "determined", "DET_PASS": cluster.password}
    with Costs(cluster) as cost:
        made = subprocess.run([program, "experiment", "create", tmp_path / "e.yaml", full_context], capture_output=True, text=True, env=env, timeout=600)
    assert made.returncode == 0, made.stdout + made.stderr
    e = int(next(line for line in made.stdout.splitlines() if line.startswith("Created experiment")).split()[-1])
    assert cluster.wait_experiment(e)["state"] == "STATE_COMPLETED", cluster.trial_log(cluster.trial_ids(e)[0])
    check_cost(cost, FILES_GROWTH_MAX)


# ---- WebSockets ----

def test_a_flood_of_pings_on_a_tunnel_is_ended(cluster, tmp_path):
    key = base64.b64encode(b"0123456789abcdef").decode()
    with Publisher(cluster, tmp_path, BUILD / "det") as p:
        p.wait_serving()
        [trial] = cluster.trial_ids(p.experiment)
        task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
        with Costs(cluster) as cost, socket.create_connection(("127.0.0.1", cluster.port), timeout=60) as s:
            s.sendall((f"GET /proxy/{task}:{p.port}/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nConnection: Upgrade\r\n"
                       f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
            assert s.recv(4096).startswith(b"HTTP/1.1 101")
            pings = (b"\x89\xfd\0\0\0\0" + b"p" * 125) * 500
            s.settimeout(60)
            sent = 0
            try:
                while sent < 200 * MIB:  # sends, and reads nothing
                    sent += s.send(pings)
            except OSError:
                pass
        assert sent < 200 * MIB, "the master took them all"
        check_cost(cost, 10 * 1000 * 1000)
        wait_for("a line about it", lambda: "ws.cut_off" in cluster.master_log())
        with p.connect() as other:
            other.sendall(b"still here")
            assert other.recv(99) == b"still here"
