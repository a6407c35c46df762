"""Pools whose machines a program launches: the provider `command`, with the program of examples/provider_command."""
import json
import subprocess
import sys

from e2e.test_elastic import agents, pool
from support.cluster import BUILD, ROOT, wait_for
from support.det import det
from support.experiments import log_of, shell, the_trial, wait_line

MACHINES = ROOT / "examples" / "provider_command" / "machines.py"


def start(new_cluster, tmp_path, command=None, **provider):
    provider = {"type": "command", "command": command or [sys.executable, str(MACHINES)], "max_instances": 2,
                "max_idle_agent_period": "2s", "max_agent_starting_period": "100s",
                "settings": {"directory": str(tmp_path / "machines"), "agent_program": str(BUILD / "determined-agent")},
                "agent_config_file_contents": {"artificial_slots": 1, "container_runtime": "process", "allow_root_tasks": True,
                                               "pid_namespaces": False},
                **provider}
    cluster = new_cluster(config={"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "2s", "provider": provider}]})
    cluster.start_master()
    cluster.login("admin")
    return cluster


def machines(tmp_path):
    return sorted(tmp_path.glob("machines/default/*"))


def end_all(cluster, tmp_path):
    wait_for("the end of all machines", lambda: not machines(tmp_path))
    wait_for("the agents to be forgotten", lambda: not agents(cluster))


def test_an_experiment_gets_a_machine_which_ends_when_it_idles(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path)
    assert (pool(cluster)["provider"], pool(cluster)["maxAgents"], pool(cluster)["slotsPerAgent"]) == ("command", 2, 1)
    experiment = shell(cluster, "echo ran")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "ran" in log_of(cluster, experiment)
    record = cluster.dir / "data" / "providers" / "default.json"
    assert record.stat().st_mode & 0o777 == 0o600
    end_all(cluster, tmp_path)
    assert cluster.metric('det_pool_launches_total{pool="default"}') == 1


def test_a_machine_that_is_taken_back_ends_with_a_checkpoint_and_without_a_restart(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path)
    # The first run waits for the request to save a checkpoint and end, and the second one ends at once.
    experiment = shell(cluster, f"if [ -e {tmp_path}/second ]; then echo went on; else touch {tmp_path}/second; echo began; "
                                "python3 -c 'import determined.core as c, time\n"
                                "with c.init() as x:\n  while not x.preempt.should_preempt(): time.sleep(0.1)\n'; fi")
    wait_line(cluster, experiment, "began")
    [first] = machines(tmp_path)
    (first / "ending").touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "went on" in log_of(cluster, experiment)
    assert f"(reason: {first.name} is taken back by its provider: someone pays more)" in log_of(cluster, experiment)
    assert the_trial(cluster, experiment)["restarts"] == 0
    end_all(cluster, tmp_path)
    assert 'reason="taken back by its provider: someone pays more"' in cluster.master_log()


def test_what_the_program_refuses_is_told_and_tried_again(new_cluster, tmp_path):
    script = tmp_path / "provider"
    script.write_text(f"""#!{sys.executable}
import json, pathlib, sys
sys.path.insert(0, {str(MACHINES.parent)!r})
import machines
def refuse(self, question):
    if pathlib.Path({str(tmp_path / 'open')!r}).exists():
        return real(self, question)
    print('the cloud is full', file=sys.stderr)
    raise RuntimeError('no machines to be had')
real, machines.Machines.launch = machines.Machines.launch, refuse
machines.main()
""")
    script.chmod(0o755)
    cluster = start(new_cluster, tmp_path, command=[str(script)])
    experiment = shell(cluster, "echo ran")
    problem = wait_for("the problem", lambda: pool(cluster).get("launchProblem"))
    assert problem == "RuntimeError: no machines to be had"
    assert "no machines to be had" in det(cluster, "resource-pool", "list")
    assert 'provider.remark name=default text="the cloud is full"' in cluster.master_log()
    assert cluster.metric('det_pool_launch_failures_total{pool="default"}') >= 1
    (tmp_path / "open").touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert not pool(cluster).get("launchProblem")
    end_all(cluster, tmp_path)


def test_a_program_that_does_not_answer_is_ended_and_the_pool_says_so(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path, command=["sleep", "1000"], request_timeout="300ms")
    problem = wait_for("the problem", lambda: pool(cluster).get("launchProblem"))
    assert problem == "the provider cannot list its machines: sleep has not answered within 0.3 s, and was ended"
    wait_for("another try", lambda: cluster.master_log().count("instance.list_failed pool=default") >= 2)


def test_machines_of_a_pool_without_a_provider_are_found_and_ended(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path, min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    cluster.stop_master()
    cluster.config["resource_pools"] = [{"pool_name": "default"}]
    cluster.start_master()
    wait_for("the end of all machines", lambda: not machines(tmp_path))
    wait_for("the record to go", lambda: not (cluster.dir / "data" / "providers" / "default.json").exists())
    wait_for("the reason in the log", lambda: 'reason="its pool has no provider any more"' in cluster.master_log())


def test_the_example_answers_by_hand(tmp_path):
    """As its README says: questions on standard input."""
    questions = [{"id": 1, "do": "open", "tags": {"determined-resource-pool": "p"}, "provider": {"settings": {"directory": str(tmp_path)}}},
                 {"id": 2, "do": "list"}, {"id": 3, "do": "nonsense"}]
    answers = subprocess.run([sys.executable, str(MACHINES)], input="".join(json.dumps(q) + "\n" for q in questions), text=True,
                             capture_output=True, check=True).stdout.splitlines()
    assert [json.loads(a) for a in answers[:2]] == [{"id": 1}, {"id": 2, "instances": []}]
    assert "nonsense" in json.loads(answers[2])["error"]
