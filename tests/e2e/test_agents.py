"""Agents that join when they should not, or come back as others, and what an administrator switches off, with real agents."""
import pathlib
import signal
import subprocess

import pytest
from support.cluster import BUILD, wait_for
from support.det import det
from support.experiments import log_of, shell, the_trial, wait_file, wait_no_supervisors
from support.machine_pids import machine_pids  # noqa: F401
from support.processes import alive

POOLS = {"resource_pools": [{"pool_name": "default"}, {"pool_name": "b"}]}


def holding(cluster, place, slots=1, **config):
    """An experiment that writes the ids of its processes and waits for the file `go`."""
    return shell(cluster, f"echo $$ >>{place}/pids; while [ ! -e {place}/go ]; do sleep 0.05; done", slots=slots, **config)


def runs(place):
    return [int(pid) for pid in (place / "pids").read_text().split()] if (place / "pids").exists() else []


def agent(cluster, name="agent0"):
    return next((a for a in cluster.get("/api/v1/agents").json["agents"] if a["id"] == name), None)


def agent_log(cluster, name):
    return (cluster.dir / f"{name}.log").read_text(errors="replace")


def end_well(cluster, place, experiment):
    (place / "go").touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert the_trial(cluster, experiment)["restarts"] == 0


@pytest.fixture
def two_slots(new_cluster):
    cluster = new_cluster(config=POOLS).start_master()
    cluster.start_agent(slots=2)
    cluster.login("admin")
    return cluster


# ---- joining ----


def test_a_second_agent_of_the_same_id_is_turned_away_and_the_first_one_works_on(two_slots, tmp_path):
    cluster = two_slots
    experiment = holding(cluster, tmp_path)
    wait_file(tmp_path / "pids")
    config = (cluster.dir / "agent0.yaml").read_text().replace(f"{cluster.dir}/agent0", f"{cluster.dir}/rival")
    (cluster.dir / "rival.yaml").write_text(config)
    with open(cluster.dir / "rival.log", "ab") as log:
        cluster.agents["rival"] = subprocess.Popen([BUILD / "determined-agent", "run", "--config-file", cluster.dir / "rival.yaml"],
                                                   stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    wait_for("its refusal", lambda: "agent 'agent0' is connected already" in agent_log(cluster, "rival"))
    assert cluster.agents["rival"].poll() is None  # the rival goes on trying: the first agent may be about to go
    end_well(cluster, tmp_path, experiment)
    cluster.stop_agent("agent0")
    wait_for("the second one to take its place", lambda: "link.up" in agent_log(cluster, "rival"))


def test_an_agent_of_an_unknown_pool_ends_and_says_which_there_are(two_slots):
    cluster = two_slots
    cluster.start_agent("lost", wait=False, resource_pool="c")
    assert cluster.agents.pop("lost").wait(60) != 0
    assert r'resource pool \"c\" does not exist (pools: default, b)' in agent_log(cluster, "lost")
    assert agent(cluster, "lost") is None


@pytest.mark.parametrize("change", [{"resource_pool": "b"}, {"slots": 1}], ids=["another pool", "fewer slots"])
def test_an_agent_that_comes_back_as_another_one_gives_up_what_it_ran(two_slots, tmp_path, change):
    cluster = two_slots
    experiment = holding(cluster, tmp_path, slots=2)
    first = int(wait_file(tmp_path / "pids"))
    cluster.stop_agent(signo=signal.SIGKILL)
    wait_for("its absence", lambda: "agent.disconnected" in cluster.master_log())
    cluster.start_agent(**{"slots": 2, **change})
    wait_for("the end of what ran there", lambda: not alive(first))
    wait_no_supervisors(cluster)
    assert cluster.experiment(experiment)["state"] == "STATE_QUEUED"
    found = agent(cluster)
    assert found["resourcePools"] == [change.get("resource_pool", "default")] and len(found["slots"]) == change.get("slots", 2)
    assert not any(s["container"] for s in found["slots"].values())
    assert "the agent came back" in log_of(cluster, experiment)
    cluster.start_agent("other", slots=2)
    wait_for("its second run", lambda: len(runs(tmp_path)) == 2)
    end_well(cluster, tmp_path, experiment)


def test_an_agent_that_comes_back_with_fewer_slots_keeps_what_fits(two_slots, tmp_path):
    cluster = two_slots
    experiment = holding(cluster, tmp_path, slots=1)
    first = int(wait_file(tmp_path / "pids"))
    cluster.stop_agent(signo=signal.SIGKILL)
    cluster.start_agent(slots=1)
    wait_for("its task", lambda: any(s["container"] for s in agent(cluster)["slots"].values()))
    end_well(cluster, tmp_path, experiment)
    assert runs(tmp_path) == [first]


# ---- what an administrator switches off ----


def test_a_disabled_slot_loses_its_task_to_another_and_is_left_alone(two_slots, tmp_path):
    cluster = two_slots
    experiment = holding(cluster, tmp_path)
    first = int(wait_file(tmp_path / "pids"))
    [busy] = [s["id"] for s in agent(cluster)["slots"].values() if s["container"]]
    det(cluster, "slot", "disable", "agent0", busy, user="admin")
    wait_for("its second run", lambda: len(runs(tmp_path)) == 2)
    assert not alive(first)
    [now] = [s["id"] for s in agent(cluster)["slots"].values() if s["container"]]
    assert now != busy
    det(cluster, "slot", "enable", "agent0", busy, user="admin")
    end_well(cluster, tmp_path, experiment)


def test_a_drained_slot_finishes_its_task_and_gets_no_other(two_slots, tmp_path):
    cluster = two_slots
    experiment = holding(cluster, tmp_path, slots=2)
    wait_file(tmp_path / "pids")
    assert cluster.post("/api/v1/agents/agent0/slots/0/disable", {"drain": True}).status == 200
    end_well(cluster, tmp_path, experiment)
    assert len(runs(tmp_path)) == 1
    wide = shell(cluster, "true", slots=2)
    narrow = shell(cluster, "echo $DET_SLOT_IDS")
    assert cluster.wait_experiment(narrow)["state"] == "STATE_COMPLETED"
    assert "[1]" in log_of(cluster, narrow)
    assert cluster.experiment(wide)["state"] == "STATE_QUEUED"
    det(cluster, "slot", "enable", "agent0", "0", user="admin")
    assert cluster.wait_experiment(wide)["state"] == "STATE_COMPLETED"


def test_what_is_switched_off_stays_off_across_restarts_of_master_and_agent(two_slots):
    cluster = two_slots
    cluster.start_agent("agent1")
    det(cluster, "slot", "disable", "agent0", "1", user="admin")
    det(cluster, "agent", "disable", "agent1", "--drain", user="admin")
    cluster.stop_agent("agent0")
    cluster.stop_agent("agent1")
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    cluster.start_agent("agent0", slots=2)
    cluster.start_agent("agent1")
    states = {pathlib.PurePath(name).name: s["enabled"] for name, s in agent(cluster)["slots"].items()}
    assert states == {"0": True, "1": False}
    assert (agent(cluster, "agent1")["enabled"], agent(cluster, "agent1")["draining"]) == (False, True)
    experiment = shell(cluster, "echo on $DET_AGENT_ID $DET_SLOT_IDS")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "on agent0 [0]" in log_of(cluster, experiment)


def test_an_agent_that_is_away_cannot_be_switched_and_says_so(two_slots):
    cluster = two_slots
    cluster.stop_agent("agent0")
    for path in ("disable", "enable", "slots/0/disable"):
        reply = cluster.post(f"/api/v1/agents/agent0/{path}", {})
        assert reply.status == 400 and b"agent disconnected, wait for recovery" in reply.body, reply


def test_an_agent_whose_host_fails_three_tasks_goes_into_quarantine_until_it_is_enabled(new_cluster):
    cluster = new_cluster().start_master()
    cluster.start_agent(container_runtime="docker", container_socket="/nonexistent/docker.sock")
    cluster.login("admin")
    experiment = shell(cluster, "echo ran", environment={"image": "x"})
    reason = wait_for("the quarantine", lambda: agent(cluster).get("disabledReason"))
    assert reason.startswith("quarantine: tasks failed here 3 times within an hour, the last: agent failed to launch the container")
    assert not agent(cluster)["enabled"] and agent(cluster)["draining"]
    assert "agent agent0 goes into quarantine" in log_of(cluster, experiment)
    assert "quarantine: tasks failed here 3 times" in det(cluster, "agent", "list", "--json")
    cluster.stop_master(signal.SIGKILL)
    cluster.start_master()
    wait_for("the agent", lambda: cluster.agent_is_up("agent0"))
    assert agent(cluster)["disabledReason"] == reason
    cluster.stop_agent()
    cluster.start_agent()
    det(cluster, "agent", "enable", "agent0", user="admin")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert not agent(cluster).get("disabledReason")
