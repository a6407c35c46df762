"""Tests fifty agents on WebSockets of their own (bench/agents_load.c) and ten times as many tasks. bench/run.py does the same with
thousands."""
import re
import subprocess

import pytest
from support.cluster import BUILD, wait_for

AGENTS, SLOTS, EXPERIMENTS, TRIALS = 50, 4, 5, 100
RUN_MS = 200


def queue(cluster, slots=1):
    return cluster.create(hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}}, resources={"slots_per_trial": slots},
                          searcher={"name": "random", "metric": "loss", "max_trials": TRIALS, "max_concurrent_trials": TRIALS})


def run_agents(cluster, tasks, pool="default", agents=AGENTS):
    """Returns (exit status, output). The program itself checks that no task is placed twice, and that no slot is given to two tasks."""
    done = subprocess.run([BUILD / "bench/agents_load", str(cluster.port), cluster.dir / "data/agent.token", str(agents), str(SLOTS),
                           str(tasks), str(RUN_MS), pool], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def ran(master):
    """Runs the experiments, and returns them with what the agents have printed."""
    experiments = [queue(master, slots=1 + i % 2) for i in range(EXPERIMENTS)]
    status, text = run_agents(master, EXPERIMENTS * TRIALS)
    assert status == 0, text
    return experiments, {what: float(number) for what, number in re.findall(r"^(\S.*?)\s{2,}([\d.]+) \S+$", text, re.MULTILINE)}


def test_every_task_is_placed_once_and_ends(master, ran):
    experiments, found = ran
    assert found["tasks placed"] == EXPERIMENTS * TRIALS
    assert found["tasks at the same time"] <= AGENTS * SLOTS
    for x in experiments:
        assert master.wait_experiment(x)["state"] == "STATE_COMPLETED"
        trials = master.get(f"/api/v1/experiments/{x}/trials?limit={TRIALS}").json["trials"]
        assert len(trials) == TRIALS and {t["state"] for t in trials} == {"STATE_COMPLETED"}
        assert {(t["restarts"], len(t["taskIds"])) for t in trials} == {(0, 1)}
        task = master.get(f"/api/v1/tasks/{trials[0]['taskId']}").json["task"]
        assert len(task["allocations"]) == 1


def test_nothing_is_held_afterwards(master, ran):
    assert master.get("/api/v1/tasks").json["allocationIdToSummary"] == {}
    assert master.get("/api/v1/job-queues-v2").json["jobs"] == []
    agents = master.get("/api/v1/agents").json["agents"]
    assert len(agents) == AGENTS
    assert all(slot.get("container") is None for agent in agents for slot in agent["slots"].values())
    [pool] = master.get("/api/v1/resource-pools").json["resourcePools"]
    assert pool["slotsUsed"] == 0 and pool["auxContainersRunning"] == 0


def all_away(cluster):
    wait_for("the agents to be away", lambda: cluster.metric("det_agents") == 0)


def test_agents_that_were_away_come_again_and_work(master, ran):
    all_away(master)
    x = queue(master)
    status, text = run_agents(master, TRIALS)
    assert status == 0, text
    assert master.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert len(master.get("/api/v1/agents").json["agents"]) == AGENTS


def test_an_agent_of_an_unknown_pool_is_turned_away(master, ran):
    all_away(master)
    status, text = run_agents(master, 1, pool="nowhere", agents=1)
    assert status == 1 and 'resource pool "nowhere" does not exist (pools: default)' in text
