"""Tests that a GPU that fails disables its slot with the reason, and that only an administrator enables it again, whoever is restarted."""
import json
import os

import pytest
from support.cluster import Cluster, wait_for
from support.det import det
from support.gpu_stubs import NvidiaStub

REASON = "its driver reported Xid 79"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    place = tmp_path_factory.mktemp("failed")
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")}
    stub = NvidiaStub(place, "count=2 xid=79")
    with Cluster(place / "cluster", env={**env, **stub.environment}) as c:
        c.start_master()
        c.start_agent(slots=0)
        c.login("admin")
        yield c


def slot(cluster, number):
    return cluster.get(f"/api/v1/agents/agent0/slots/{number}").json["slot"]


def test_a_gpu_that_fails_takes_no_work_until_an_administrator_says_so(cluster):
    failed = wait_for("the failure", lambda: not (s := slot(cluster, 1))["enabled"] and s)
    assert failed["disabledReason"] == REASON and failed["draining"] and failed["device"]["uuid"] == "GPU-00000001-aaaa"
    assert slot(cluster, 0)["enabled"] and not slot(cluster, 0).get("disabledReason")
    [listed] = [s for s in json.loads(det(cluster, "slot", "list", "--json", user="admin")) if s["slot_id"] == "1"]
    assert listed["disabled_reason"] == REASON and listed["enabled"] is False
    assert REASON in det(cluster, "agent", "describe", "agent0", user="admin")
    assert REASON in (cluster.dir / "master.log").read_text()
    cluster.stop_master()
    cluster.start_master()
    cluster.login("admin")
    wait_for("the agent", lambda: cluster.agent_is_up("agent0"))
    assert slot(cluster, 1)["disabledReason"] == REASON
    det(cluster, "slot", "enable", "agent0", 1, user="admin")
    assert slot(cluster, 1)["enabled"] and not slot(cluster, 1).get("disabledReason")
    cluster.stop_master()
    cluster.start_master()
    cluster.login("admin")
    wait_for("the agent", lambda: cluster.agent_is_up("agent0"))
    assert slot(cluster, 1)["enabled"], "a failure that was told before disables nothing again"
