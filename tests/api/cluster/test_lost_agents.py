"""Tests that an agent that ends without notice is listed as lost, with the time, until it comes back or an admin removes it."""
import os
import signal
import subprocess
import sys

import pytest
from support.attackers import in_store
from support.cluster import BUILD, ROOT, Cluster, wait_for

sys.path.insert(0, str(ROOT / "tests/compat"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pools = [{"pool_name": "default", "agent_reconnect_wait": "1s"}]
    with Cluster(tmp_path_factory.mktemp("lost"), config={"resource_pools": pools}) as c:
        c.start_master()
        c.login("admin")
        yield c


def listed(cluster, name):
    return next((a for a in cluster.get("/api/v1/agents").json["agents"] if a["id"] == name), None)


def lose(cluster, name):
    cluster.start_agent(name)
    cluster.stop_agent(name, signal.SIGKILL)
    return wait_for(f"{name} to be lost", lambda: (listed(cluster, name) or {}).get("lostTime"))


def det(cluster, *words, program=BUILD / "det"):
    env = {**os.environ, "DET_MASTER": cluster.url, "DET_USER": "admin", "DET_USER_TOKEN": cluster.token, "HOME": str(cluster.dir)}
    return subprocess.run([program, *words], capture_output=True, text=True, env=env, timeout=60)


def test_a_dead_agent_is_lost_and_counted_and_that_survives_the_master(cluster):
    since = lose(cluster, "gone")
    agent = listed(cluster, "gone")
    assert agent["registeredTime"] is None and not agent["enabled"] and agent["slots"] == {}
    assert cluster.metric('det_agents_by_state{state="lost"}') == 1
    assert cluster.metric('det_agents_by_state{state="away"}') == 0
    assert cluster.get("/api/v1/agents/gone").json["agent"]["lostTime"] == since
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    assert listed(cluster, "gone")["lostTime"] == since
    assert cluster.metric('det_agents_by_state{state="lost"}') == 1


def test_a_lost_agent_that_comes_back_is_an_agent_again(cluster):
    lose(cluster, "back")
    cluster.start_agent("back")
    agent = listed(cluster, "back")
    assert "lostTime" not in agent and agent["enabled"] and agent["registeredTime"]
    cluster.stop_agent("back")


def test_agents_that_only_an_older_version_has_seen_are_not_on_the_list(new_cluster):
    """The old version kept the row of every agent that it had ever seen. After the upgrade each of them was waited for, and then became
    lost."""
    c = new_cluster(config={"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "1s"}]})
    c.start_master()
    c.login("admin")
    c.start_agent("removed-long-ago")
    c.start_agent("stays")
    c.stop_agent("removed-long-ago")
    c.stop_agent("stays")
    c.stop_master()
    in_store(c, "UPDATE agents SET listed = 0, lost_us = NULL")
    c.start_master()
    assert c.get("/api/v1/agents").json["agents"] == []
    assert c.metric('det_agents_by_state{state="away"}') == 0
    log = c.dir / "stays.log"
    greetings = log.read_text().count("link.up")
    c.start_agent("stays")
    wait_for("the greeting that follows the commit", lambda: log.read_text().count("link.up") > greetings)
    c.stop_agent("stays", signal.SIGKILL)
    c.stop_master(signal.SIGKILL)
    c.start_master()
    wait_for("what was there under this version to be lost", lambda: (listed(c, "stays") or {}).get("lostTime"))
    assert listed(c, "removed-long-ago") is None


def test_only_admins_take_agents_off_the_list_and_only_lost_ones(cluster):
    lose(cluster, "off")
    user = cluster.login("determined", keep=False).json["token"]
    assert cluster.request("DELETE", "/api/v1/agents/off", token=user).status == 403
    cluster.start_agent("here")
    refused = cluster.request("DELETE", "/api/v1/agents/here")
    assert refused.status == 400 and "is connected" in refused.json["error"]["error"]
    assert cluster.request("DELETE", "/api/v1/agents/nobody").status == 404
    assert cluster.request("DELETE", "/api/v1/agents/off").status == 200
    assert listed(cluster, "off") is None
    cluster.stop_master()
    cluster.start_master()
    assert listed(cluster, "off") is None
    # For a minute the new master lists an agent that has not come back yet as one that is away.
    wait_for("the agent to be back", lambda: cluster.agent_is_up("here"))
    cluster.stop_agent("here")


def test_det_names_lost_agents_and_removes_them(cluster):
    lose(cluster, "told")
    done = det(cluster, "agent", "list")
    assert done.returncode == 0 and "told" in done.stdout
    assert "Agent told is lost since " in done.stderr and "'det agent remove told'" in done.stderr
    assert '"lost_since": "' in det(cluster, "agent", "list", "--json").stdout
    assert det(cluster, "agent", "disable", "--all").returncode == 0  # what an admin sets for a lost agent is kept
    assert det(cluster, "agent", "enable", "--all").returncode == 0
    assert det(cluster, "agent", "remove", "told").returncode == 0
    assert "told" not in det(cluster, "agent", "list").stdout


def test_the_released_client_lists_lost_agents(cluster):
    released = ROOT / ".venv-compat/bin/det"
    if not released.exists():
        pytest.skip("the released client is not installed (.venv-compat)")
    lose(cluster, "released")
    for words in (["agent", "list"], ["agent", "list", "--csv"], ["agent", "list", "--json"], ["slot", "list"],
                  ["agent", "disable", "--all"], ["agent", "enable", "--all"]):
        done = det(cluster, *words, program=released)
        assert done.returncode == 0, done
        assert "slot" in words or "able" in words[1] or "released" in done.stdout
