"""Tests slots that are parts of the machine's cores, and what the agent says of its powers at its start."""

import json
import os
import signal

import pytest
from support.control_groups import cgroup_has
from support.fake_master.agents import Agent

CORES = sorted(os.sched_getaffinity(0))
AFFINITY = ["python3 -c 'import os, json; print(json.dumps(sorted(os.sched_getaffinity(0))))'"]


@pytest.fixture
def agent(master, place):
    a = Agent(master, place / "agent", slot_type="cpu", cpu_slots=2)
    yield a
    if a.process and a.process.poll() is None:
        a.kill(signal.SIGTERM)


@pytest.mark.skipif(len(CORES) < 2, reason="this machine has one core")
@pytest.mark.skipif(os.geteuid() != 0 or not cgroup_has("cpuset"), reason="this machine gives no control group for cores")
def test_a_task_runs_on_the_cores_of_its_slots(master, agent):
    agent.start()
    master.wait_agent()
    devices = master.hellos[0][1]["devices"]
    assert [d["id"] for d in devices] == [0, 1] and len({d["uuid"] for d in devices}) == 2
    got = []
    for ids in ([0], [1], [0, 1], []):
        c = master.start(AFFINITY, deviceIds=ids)
        master.finish(c)
        got.append(json.loads(master.text(c, "stdout")))
    assert got[0] and got[1] and not set(got[0]) & set(got[1])
    assert sorted(got[0] + got[1]) == got[2] == got[3] == CORES


def test_more_slots_than_cores_end_the_agent_with_a_sentence(master, agent):
    agent.keys["cpu_slots"] = len(CORES) + 1
    assert agent.start().process.wait(60) != 0
    assert f"cpu_slots is {len(CORES) + 1}, but the agent may use {len(CORES)} core" in agent.log_text()


def test_the_agent_says_at_its_start_what_it_can_do_and_what_not_and_why(master, agent):
    agent.keys["pid_namespaces"] = False
    agent.keys["cpu_slots"] = 1
    agent.start()
    master.wait_agent()
    lines = [line for line in agent.log_text().splitlines() if "agent.has what=" in line or "agent.lacks what=" in line]
    said = {line.split("what=")[1].split()[0]: "agent.has" in line for line in lines}
    assert set(said) == {"memory_limit", "cpu_limit", "cpuset", "process_limit", "own_user", "no_new_privs", "mount_namespace", "pid_namespace"}
    assert len(lines) == 8 and said["no_new_privs"] and not said["pid_namespace"]
    assert all("cause=" in line for line in lines if "agent.lacks" in line)
    if os.geteuid() == 0:
        assert said["own_user"] and "pid_namespaces is false" in next(line for line in lines if "what=pid_namespace" in line)
        assert said["cpuset"] == cgroup_has("cpuset") and said["memory_limit"] == cgroup_has("memory")
