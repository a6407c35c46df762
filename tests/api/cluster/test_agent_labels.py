"""Tests the names that admins give agents, for people."""
import json

import pytest
from support.cluster import error_of
from support.det import det, run_det


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster("labels")
    c.start_master()
    c.login("admin")
    c.start_agent("node7")
    return c


def agent(c):
    return c.get("/api/v1/agents/node7").json["agent"]


def test_a_label_is_shown_kept_changed_and_removed(cluster):
    assert "label" not in agent(cluster)
    assert "Agent node7 is labelled 'Raum 3 – der laute'." in run_det(cluster, "agent", "label", "node7", "Raum 3 – der laute", user="admin").stderr
    assert "Raum 3 – der laute" in det(cluster, "agent", "describe", "node7")
    assert json.loads(det(cluster, "agent", "list", "--json"))[0]["label"] == "Raum 3 – der laute"
    cluster.stop_agent("node7")
    cluster.stop_master()
    cluster.start_master()
    cluster.login("admin")
    cluster.start_agent("node7")
    assert agent(cluster)["label"] == "Raum 3 – der laute"
    assert cluster.post("/api/v1/agents/node7/label", {"label": ""}).json["agent"].get("label") is None
    assert "label" not in agent(cluster)


@pytest.mark.parametrize("label, words", [("x" * 64, "label: at most 63 bytes, found 64"), ("a\nb", "one line of text"), ("\x1b[31m", "control characters")])
def test_labels_that_would_spoil_a_table_are_refused(cluster, label, words):
    cluster.post("/api/v1/agents/node7/label", {"label": "before"})
    assert words in error_of(cluster.post("/api/v1/agents/node7/label", {"label": label}), 400)
    assert agent(cluster)["label"] == "before"


def test_only_admins_label_agents_that_are_there(cluster):
    assert "'node8' not found" in error_of(cluster.post("/api/v1/agents/node8/label", {"label": "x"}), 404)
    mine = cluster.login("determined", keep=False).json["token"]
    assert "only an admin may label agents" in error_of(cluster.request("POST", "/api/v1/agents/node7/label", {"label": "x"}, token=mine), 403)
    assert "label" not in agent(cluster)
