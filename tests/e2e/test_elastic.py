"""Elastic pools on this machine: the provider `local` starts and ends real agents."""
import contextlib
import json
import os
import pathlib
import signal

import pytest
from support.cluster import BUILD, wait_for
from support.det import det
from support.experiments import log_of, shell, the_trial, wait_file, wait_line
from support.processes import alive

AGENT = BUILD / "determined-agent"


def elastic(new_cluster, name="default", security=None, start=True, **provider):
    provider = {"type": "local", "max_instances": 2, "max_idle_agent_period": "2s", "max_agent_starting_period": "100s",
                "agent_config_file_contents": {"container_runtime": "process", "allow_root_tasks": True, "pid_namespaces": False},
                **provider}
    cluster = new_cluster(config={"resource_pools": [{"pool_name": name, "agent_reconnect_wait": "2s", "provider": provider}],
                                  "resource_manager": {"type": "agent", "default_compute_resource_pool": name,
                                                       "default_aux_resource_pool": name}})
    if security:
        cluster.config["security"].update(security)
        cluster.trust_any()
    if start:
        cluster.start_master()
        cluster.login("admin")
    return cluster


def pool(cluster):
    [found] = cluster.get("/api/v1/resource-pools").json["resourcePools"]
    return found


def agents(cluster):
    return sorted(a["id"] for a in cluster.get("/api/v1/agents").json["agents"])


def instances(cluster):
    """Process ids of the agents (or what stands in for them), by their directories. A child looks like its parent until it
    has become another program."""
    found = {}
    for pid in sorted(int(entry.name) for entry in pathlib.Path("/proc").glob("[0-9]*")):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if "--data-dir" in words:
                directory = words[words.index("--data-dir") + 1]
                if directory.startswith(f"{cluster.dir}/data-instances/"):
                    found.setdefault(directory, pid)
    return found


def wait_no_instances(cluster):
    wait_for("the end of all instances", lambda: not instances(cluster))
    wait_for("their directories to go", lambda: not any((cluster.dir / "data-instances").glob("*/*")))


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_an_experiment_gets_an_agent_which_ends_when_it_idles(new_cluster):
    cluster = elastic(new_cluster, instance_slots=2)
    assert (pool(cluster)["minAgents"], pool(cluster)["maxAgents"], pool(cluster)["slotsPerAgent"]) == (0, 2, 2)
    assert pool(cluster)["provider"] == "local" and pool(cluster)["instances"] == 0
    experiment = shell(cluster, "echo ran", slots=2)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "ran" in log_of(cluster, experiment)
    [row] = json.loads(det(cluster, "resource-pool", "list", "--json"))
    assert row["provider"] == "local"
    assert "0 to 2" in det(cluster, "resource-pool", "list")
    wait_no_instances(cluster)
    wait_for("the agent to be forgotten", lambda: not agents(cluster))
    assert cluster.metric('det_pool_launches_total{pool="default"}') == 1
    wait_for("the count", lambda: cluster.metric('det_pool_terminations_total{pool="default"}') == 1)


def test_never_more_agents_than_the_most_and_all_experiments_run(new_cluster):
    cluster = elastic(new_cluster)
    experiments = [shell(cluster, "sleep 0.3") for _ in range(6)]
    most = 0
    for experiment in experiments:
        most = max(most, len(instances(cluster)))
        assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert 1 <= most <= 2
    wait_no_instances(cluster)


def test_a_provider_that_fails_is_tried_again(new_cluster, tmp_path):
    missing = tmp_path / "determined-agent"
    cluster = elastic(new_cluster, agent_program=str(missing))
    experiment = shell(cluster, "echo ran")
    problem = wait_for("the problem", lambda: pool(cluster).get("launchProblem"))
    assert problem == f"cannot run {missing}: No such file or directory"
    assert "cannot run" in det(cluster, "resource-pool", "list")
    [job] = cluster.get("/api/v1/job-queues?resourcePool=default").json["jobs"]
    assert job["summary"]["reason"] == f"pool default could not launch agents: {problem}"
    assert cluster.metric('det_pool_launch_failures_total{pool="default"}') >= 1
    assert cluster.experiment(experiment)["state"] in ("STATE_QUEUED", "STATE_ACTIVE")
    program(missing, f'exec {AGENT} "$@"')
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert not pool(cluster).get("launchProblem")
    assert "instance.launch_failed pool=default wanted=1" in cluster.master_log()


def test_nothing_is_decided_while_the_provider_cannot_tell_what_there_is(new_cluster):
    cluster = elastic(new_cluster, start=False, min_instances=1)
    in_the_way = cluster.dir / "data-instances" / "default"
    in_the_way.parent.mkdir()
    in_the_way.touch()
    cluster.start_master()
    cluster.login("admin")
    wait_for("two failures", lambda: cluster.master_log().count("instance.list_failed pool=default") >= 2)
    assert "instance.launched" not in cluster.master_log()
    assert pool(cluster)["instances"] == 0
    in_the_way.unlink()
    wait_for("an agent", lambda: len(agents(cluster)) == 1)


def test_an_agent_that_ends_at_its_start_is_a_failed_launch_with_its_last_words(new_cluster, tmp_path):
    cluster = elastic(new_cluster, agent_program=program(tmp_path / "agent", "echo out of luck; exit 1"))
    shell(cluster, "true")
    problem = wait_for("the problem", lambda: pool(cluster).get("launchProblem"))
    assert problem.endswith("ended before its agent had connected: out of luck")
    assert len(list((cluster.dir / "data-instances" / "default").glob("*"))) <= 1


def test_one_whose_agent_never_comes_is_ended(new_cluster, tmp_path):
    path = tmp_path / "agent"
    cluster = elastic(new_cluster, max_agent_starting_period="2s", agent_program=program(path, "while :; do sleep 0.1; done"))
    experiment = shell(cluster, "echo ran")
    wait_for("its end", lambda: 'reason="not connected within 2s"' in cluster.master_log())
    program(path, f'exec {AGENT} "$@"')
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    wait_no_instances(cluster)


@pytest.fixture
def gated(new_cluster, tmp_path):
    """A cluster whose instances wait for the file `gate` before they become agents; one has been launched, the master is dead."""
    cluster = elastic(new_cluster, agent_program=program(
        tmp_path / "agent", f'while [ ! -e {tmp_path}/gate ]; do sleep 0.05; done; exec {AGENT} "$@"'))
    cluster.experiment_id = shell(cluster, "echo ran")
    wait_for("an instance", lambda: instances(cluster))
    cluster.stop_master(signal.SIGKILL)
    cluster.gate = tmp_path / "gate"
    return cluster


def test_one_launched_by_a_master_that_died_is_found_and_used(gated):
    [directory] = instances(gated)
    gated.start_master()
    wait_for("the instance in the list", lambda: pool(gated)["instances"] == 1 and pool(gated)["startingInstances"] == 1)
    gated.gate.touch()
    assert gated.wait_experiment(gated.experiment_id)["state"] == "STATE_COMPLETED"
    assert agents(gated) == [pathlib.Path(directory).name]
    wait_no_instances(gated)


def test_one_launched_by_a_master_that_died_is_ended_when_its_pool_is_not_elastic_any_more(gated):
    gated.config["resource_pools"] = [{"pool_name": "default"}]
    gated.start_master()
    wait_no_instances(gated)
    wait_for("the reason in the log", lambda: 'reason="its pool has no provider any more"' in gated.master_log())
    assert pool(gated)["maxAgents"] == 0


def test_one_that_dies_is_replaced_and_its_trial_runs_again(new_cluster, tmp_path):
    cluster = elastic(new_cluster)
    experiment = shell(cluster, f"echo $$ >>{tmp_path}/pids; echo began; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo ran")
    task = int(wait_file(tmp_path / "pids"))
    wait_line(cluster, experiment, "began")
    [(first, pid)] = instances(cluster).items()
    os.kill(pid, signal.SIGKILL)
    wait_for("the end of the task on it", lambda: not alive(task))
    wait_for("its second run", lambda: len((tmp_path / "pids").read_text().split()) == 2)
    assert first not in instances(cluster)
    (tmp_path / "go").touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert the_trial(cluster, experiment)["restarts"] == 0
    wait_no_instances(cluster)


def test_a_master_that_ends_leaves_its_instances_running(new_cluster, tmp_path):
    cluster = elastic(new_cluster)
    experiment = shell(cluster, f"echo began; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done")
    wait_line(cluster, experiment, "began")
    before = instances(cluster)
    cluster.stop_master()
    assert instances(cluster) == before
    cluster.start_master()
    (tmp_path / "go").touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert the_trial(cluster, experiment)["restarts"] == 0
    assert list(instances(cluster)) in ([], list(before))


def test_agents_trust_a_master_that_speaks_tls(new_cluster):
    cluster = elastic(new_cluster, security={"tls": {"self_signed": True}}, min_instances=1)
    wait_for("the least number of agents", lambda: len(agents(cluster)) == 1)
    experiment = shell(cluster, "echo ran")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"


@pytest.mark.parametrize("slots, needs", [
    (5, "needs 5 slots: pool default launches agents of 2; use a multiple of 2 or ≤ 2"),
    (6, "needs 6 slots: pool default launches at most 2 agents of 2"),
])
def test_what_no_agents_of_it_can_hold_is_told_at_once(new_cluster, slots, needs):
    cluster = elastic(new_cluster, instance_slots=2)
    experiment = shell(cluster, "true", slots=slots)
    [job] = cluster.get("/api/v1/job-queues-v2").json["jobs"]
    assert job["full"]["summary"]["reason"] == needs
    cluster.post(f"/api/v1/experiments/{experiment}/kill")


def test_tasks_without_slots_in_a_pool_of_any_name(new_cluster):
    name = "../a pool / für Ä"
    cluster = elastic(new_cluster, name=name, instance_slots=0)
    experiment = shell(cluster, "echo ran", slots=0)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    [found] = cluster.get("/api/v1/agents").json["agents"]
    assert (found["resourcePools"], found["slots"]) == ([name], {})
    assert len(list((cluster.dir / "data-instances").glob("*/*"))) == 1
    wait_no_instances(cluster)
