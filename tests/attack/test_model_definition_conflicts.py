"""Tests that a model definition that no agent can unpack is refused when it is sent, and not launched on one agent after the other."""
import base64
import json

import pytest
from support.cluster import Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("conflicts")) as c:
        c.start_master()
        c.login("determined")
        yield c


def entry(path, type=48, content=b"x"):
    return {"path": path, "type": type, "content": base64.b64encode(b"" if type == 53 else content).decode(), "mtime": "0",
            "mode": 0o755 if type == 53 else 0o644, "uid": 0, "gid": 0}


REFUSED = {
    "a file and a directory": [entry("a"), entry("a", 53)],
    "a file with a file below it": [entry("a"), entry("a-b"), entry("a/b")],
    "a file with a directory below it": [entry("a/b/c", 53), entry("a")],
    "a file twice": [entry("a"), entry("b"), entry("a")],
    "a file twice, spelled otherwise": [entry("d/a"), entry("./d//a")],
    "an absolute path": [entry("/etc/passwd")],
    "a path out of it": [entry("a/../../b")],
    "a symbolic link": [entry("a", 50)],
    "a hard link": [entry("a", 49)],
    "a device": [entry("a", 51)],
    "a path too long": [entry("/".join(["d" * 200] * 30))],
    "a name too long": [entry("d" * 300)],
    "a file too deep": [entry("a"), entry("d/" * 100 + "f")],
    "a directory too deep": [entry("./" + "d//" * 101, 53)],
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_model_definition_that_cannot_be_unpacked(cluster, what):
    body = {"config": json.dumps(cluster.experiment_config()), "modelDefinition": REFUSED[what], "activate": True}
    before = cluster.get("/api/v1/experiments?limit=-2").json["pagination"]["total"]
    reply = cluster.post("/api/v1/experiments", body)
    assert reply.status == 400 and reply.json["error"]["error"].startswith("model definition: "), reply
    assert cluster.get("/api/v1/experiments?limit=-2").json["pagination"]["total"] == before


def test_a_model_definition_deeper_than_agents_unpack(cluster):
    for path, status in (("d/" * 99 + "f", 200), ("d/" * 100 + "f", 400)):
        body = {"config": json.dumps(cluster.experiment_config()), "modelDefinition": [entry(path)], "activate": False}
        reply = cluster.post("/api/v1/experiments", body)
        assert reply.status == status, reply
    assert "'d/d/d/" in reply.json["error"]["error"] and "101 names lead to it, and agents unpack at most 100" in reply.json["error"]["error"]


def test_directories_named_twice_or_late_are_taken(cluster):
    files = [entry("a/b/c"), entry("a", 53), entry("a/b", 53), entry("a/", 53), entry("ab"), entry("a.b")]
    body = {"config": json.dumps(cluster.experiment_config()), "modelDefinition": files, "activate": False}
    assert cluster.post("/api/v1/experiments", body).status == 200
