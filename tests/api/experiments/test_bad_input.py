"""Tests wrong input to the master: it gets a clear error (docs/spec/wire.md#errors), and nothing is changed."""
import base64
import json
import socket

import pytest
from support.cluster import error_of


def entry(path, content=b"x", type=48):
    return {"path": path, "type": type, "content": base64.b64encode(content).decode(), "mtime": "0", "mode": 0o644, "uid": 0, "gid": 0}


def experiments(master):
    return master.get("/api/v1/experiments").json["pagination"]["total"]


def create(master, config=None, files=(), **more):
    config = master.experiment_config() if config is None else config
    return master.post("/api/v1/experiments", {"config": config if isinstance(config, str) else json.dumps(config),
                                               "modelDefinition": list(files), **more})


@pytest.mark.parametrize("body, part", [
    (b"{bad", "expected"), (b"[]", "object"), (b"{\"config\": 7}", "config"), (b"{\"activate\": \"perhaps\"}", "activate"),
    (b"{\"modelDefinition\": [{\"path\": 1}]}", "modelDefinition[0].path"), (b"{} x", ""), (b"\xff\xfe", ""),
    (b"{\"config\": \"a\\ud800\"}", ""), (b"[" * 5000, ""),
    (b"{\"modelDefinition\": [{\"path\": \"a\", \"content\": \"!!!\"}]}", "content"),
])
def test_malformed_json(master, body, part):
    before = experiments(master)
    assert part in error_of(master.request("POST", "/api/v1/experiments", raw=body), 400)
    assert experiments(master) == before


@pytest.mark.parametrize("query, part", [
    ("limit=abc", "limit"), ("states=ACTIVE", "states"), ("archived=1", "archived"), ("sortBy=SORT_BY_NOTHING", "sortBy"),
    ("experimentIdFilter.lt=x", "experimentIdFilter"), ("offset=99999999999", "offset"), ("limit=%zz", ""),
])
def test_bad_queries(master, query, part):
    assert part in error_of(master.get(f"/api/v1/experiments?{query}"), 400)


@pytest.mark.parametrize("path", ["/api/v1/experiments/abc", "/api/v1/trials/99999999999", "/api/v1/experiments/1.5"])
def test_bad_path_parameters(master, path):
    error_of(master.get(path), 400)


@pytest.mark.parametrize("path, text", [
    ("/api/v1/experiments/999", "experiment '999' not found"), ("/api/v1/trials/999", "trial '999' not found"),
    ("/api/v1/checkpoints/11111111-2222-4333-8444-555555555555", "not found"), ("/api/v1/tasks/7.x", "not found"),
    ("/api/v1/agents/none", "agent 'none' not found"), ("/api/v1/workspaces/99", "not found"), ("/api/v1/users/99", "not found"),
    ("/api/v1/projects/99", "not found"), ("/api/v1/experiments/999/model_def", "not found"),
])
def test_what_is_not_there_is_named(master, path, text):
    assert text in error_of(master.get(path), 404)


@pytest.mark.parametrize("config, parts", [
    ("a: [1\nb: 2", ["line 2"]),
    ("name: x\nname: y", ["line 2", "name"]),
    ("{entrypoint: a, searcher: {name: single, metric: m}, slots: 3}", ["slots"]),
    ("{entrypoint: a, searcher: {name: single, metric: m}, max_restarts: many}", ["max_restarts", "many"]),
    ("{entrypoint: a, searcher: {name: single, metric: m, smaller: 1}, resources: {slots_per_trial: -1, priorty: 3}}",
     ["<config>.searcher ", '"smaller"', "slots_per_trial", '"priorty"', "line 1"]),
    ("{searcher: {name: single, metric: m}}", ["entrypoint"]),
    ("{entrypoint: a}", ["searcher"]),
    ("{entrypoint: a, searcher: {name: custom, metric: m}}", ["custom"]),
    ("{entrypoint: a, searcher: {name: single, metric: m}, resources: {resource_pool: moon}}", ["moon", "default"]),
    ("{entrypoint: a, searcher: {name: single, metric: m}, checkpoint_storage: {type: tape}}", ["tape"]),
    ("", ["searcher"]), ("just text", []), ("[1, 2]", []),
])
def test_bad_configurations_name_every_mistake_and_make_nothing(master, config, parts):
    before = experiments(master)
    text = error_of(create(master, config), 400)
    for part in parts:
        assert part in text
    assert experiments(master) == before


@pytest.mark.parametrize("files, part", [
    ([entry("../evil")], "../evil"), ([entry("a/../../b")], "a/../../b"), ([entry("/etc/passwd")], "/etc/passwd"),
    ([entry("link", type=50)], "link"), ([entry("hard", type=49)], "hard"), ([entry("dev", type=51)], "dev"), ([entry("")], "no name"),
])
def test_hostile_model_definitions(master, files, part):
    before = experiments(master)
    assert part in error_of(create(master, files=files), 400)
    assert experiments(master) == before


def test_a_model_definition_over_the_limit_is_refused(master):
    before = experiments(master)
    big = entry("big", b"\0" * (49 * 1024 * 1024))
    reply = create(master, files=[big, {**big, "path": "big2"}])
    assert reply.status == 413, reply
    assert experiments(master) == before


def test_a_body_over_the_limit_is_413_and_the_master_lives_on(master):
    with socket.create_connection(("127.0.0.1", master.port)) as s:
        s.sendall(f"POST /api/v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {master.token}\r\n"
                  f"Content-Length: {200 * 1024 * 1024}\r\n\r\n".encode())
        reply = s.recv(4096)
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b'{"error":{"code":8,"reason":"ResourceExhausted"' in reply
    assert master.get("/api/v1/me").status == 200


def test_strangers_may_not_send_much(master):
    reply = master.request("POST", "/api/v1/auth/login", raw=b'{"username": "' + b"x" * 300000 + b'"}', token=None)
    assert reply.status == 413


@pytest.mark.parametrize("group, metrics, part", [
    ("", {"a": 1}, "group"), ("a.b", {"a": 1}, "a.b"),
])
def test_bad_metric_groups(master, group, metrics, part):
    experiment = master.create(activate=False)
    [trial] = master.trial_ids(experiment)
    reply = master.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
        "trialId": trial, "trialRunId": 0, "stepsCompleted": 1, "metrics": {"avgMetrics": metrics}}})
    assert part in error_of(reply, 400)


@pytest.mark.parametrize("logs", [[], [{"taskId": "a", "log": "x"}, {"taskId": "b", "log": "y"}], [{"taskId": "a", "id": 3, "log": "x"}]])
def test_bad_task_logs(master, logs):
    error_of(master.post("/api/v1/task/logs", {"logs": logs}), 400)


@pytest.mark.parametrize("raw", [b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
                                 b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20000])
def test_broken_http_is_answered_or_closed_and_does_no_harm(master, raw):
    with socket.create_connection(("127.0.0.1", master.port), timeout=20) as s:
        try:
            s.sendall(raw)
            reply = s.recv(4096)
        except ConnectionError:
            reply = b""
    assert reply == b"" or reply.startswith(b"HTTP/1.1 4") or reply.startswith(b"HTTP/1.1 5")
    assert master.get("/api/v1/me").status == 200
