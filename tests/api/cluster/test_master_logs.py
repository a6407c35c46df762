"""Tests the master's own log in the API: the last lines, which are in memory, by number and followed; only for admins, and without
secrets."""
import http.client
import json

import pytest
from support.cluster import wait_for

URL = "/api/v1/master/logs"


def lines(c, query=""):
    reply = c.get(URL + query)
    assert reply.status == 200, reply
    return [line["result"]["logEntry"] for line in reply.lines]


@pytest.fixture
def admin(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login("admin")
    return c


def test_all_lines_some_lines_and_the_last_ones(admin):
    admin.login(keep=False)  # a login makes a line
    found = lines(admin)
    assert [e["id"] for e in found] == list(range(len(found))) and len(found) >= 3
    [ready] = [e for e in found if e["message"].startswith("master.ready ")]
    assert ready["level"] == "LOG_LEVEL_INFO" and ready["timestamp"].endswith("Z")
    assert f"{ready['timestamp'][:19]}" in admin.master_log()
    assert lines(admin, "?offset=1&limit=2") == found[1:3]
    assert [e["id"] for e in lines(admin, "?offset=-2")] == [len(found) - 2, len(found) - 1]
    assert lines(admin, "?offset=-100000&limit=1") == found[:1] and lines(admin, "?offset=100000") == []


@pytest.mark.parametrize("query, part", [("?limit=-1", "limit is -1"), ("?limit=3&follow=true", "has no limit"), ("?offset=x", "offset")])
def test_bad_queries(admin, query, part):
    reply = admin.get(URL + query)
    assert reply.status == 400 and part in json.dumps(reply.json), reply


def test_only_admins_read_it(admin):
    admin.login("determined")
    for query in ("?limit=10", "?follow=false", "?offset=-1&follow=true"):
        assert admin.get(URL + query).status == 403 and admin.get(URL + query, token=None).status == 401
    assert admin.get(URL, token=None).status == 401


def test_a_request_without_parameters_gives_others_a_line_that_says_why_there_is_no_log(admin):
    """Release 0.38.1 sends this request for a support bundle. If it failed, no bundle would be made."""
    admin.login("determined")
    [line] = lines(admin)
    assert line["message"] == "Left out: only an admin may read the master's log, and user 'determined' is not an admin."


def test_a_follower_gets_new_lines(admin):
    connection = http.client.HTTPConnection("127.0.0.1", admin.port, timeout=60)
    connection.request("GET", URL + "?offset=-1&follow=true", headers={"Authorization": f"Bearer {admin.token}"})
    stream = connection.getresponse()
    first = json.loads(stream.readline())["result"]["logEntry"]
    admin.start_agent("follow-me")
    def next_line():
        return json.loads(stream.readline())["result"]["logEntry"]
    entry = wait_for("the agent's line", lambda: (lambda e: e if "follow-me" in e["message"] else None)(next_line()))
    assert entry["id"] > first["id"]
    connection.close()


def test_secrets_are_not_in_it(new_cluster):
    c = new_cluster(config={"log": {"level": "trace"}})
    c.start_master()
    secrets = [c.password, c.login("admin").json["token"], (c.dir / "data/agent.token").read_text().strip()]
    c.start_agent()
    c.wait_experiment(c.create(environment={"registry_auth": {"username": "u", "password": "geheim77"}}))
    assert c.post("/api/v1/users", {"user": {"username": "new", "active": True}, "password": "geheim88", "isHashed": False}).status == 200
    text = "\n".join(e["message"] for e in lines(c))
    assert "master.ready" in text
    for secret in [*secrets, "geheim77", "geheim88"]:
        assert secret and secret not in text


def test_the_level_of_the_log_changes_while_the_master_runs(admin):
    def patch(paths, status=200, **log):
        reply = admin.patch("/api/v1/master/config", {"config": {"log": log}, "fieldMask": {"paths": paths}})
        assert reply.status == status, reply
        return reply

    def shown():
        return admin.get("/api/v1/master/config").json["config"]["log"]

    before = shown()
    for paths, log in (([], {"level": "LOG_LEVEL_DEBUG"}), (["log.level"], {}), (["log.format"], {}), (["security"], {}), (["log.level", "port"], {"level": "LOG_LEVEL_DEBUG"})):
        assert patch(paths, 400, **log).json["error"]["error"]
    assert shown() == before and before["level"] == "info"
    patch(["log.level"], level="LOG_LEVEL_CRITICAL", color=not before["color"])
    assert shown() == {**before, "level": "fatal"}  # the colour was not named
    admin.login(keep=False)
    patch(["log"], level="LOG_LEVEL_DEBUG", color=False)
    assert shown() == {**before, "level": "debug", "color": False}
    log = admin.master_log()
    changes = [i for i, line in enumerate(log.splitlines()) if " master.log_changed " in line]
    assert len(changes) == 2 and "level=fatal" in log and "before=info," in log and "by=admin" in log
    assert "api.login" not in "\n".join(log.splitlines()[changes[0]:changes[1]])
    assert admin.patch("/api/v1/master/config", {"fieldMask": {"paths": ["log"]}}, token=admin.login("determined", keep=False).json["token"]).status == 403
