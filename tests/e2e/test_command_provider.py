"""Pools whose machines a program launches: the provider `command`, with the program of examples/provider_command."""
import json
import subprocess
import sys

import pytest
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


def machines(tmp_path, where="machines"):
    return sorted(tmp_path.glob(f"{where}/default/*"))


def records(cluster):
    return sorted(cluster.dir.glob("data/providers/default.*.json"))


def end_all(cluster, tmp_path):
    wait_for("the end of all machines", lambda: not machines(tmp_path))
    wait_for("the agents to be forgotten", lambda: not agents(cluster))


def test_an_experiment_gets_a_machine_which_ends_when_it_idles(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path)
    assert (pool(cluster)["provider"], pool(cluster)["maxAgents"], pool(cluster)["slotsPerAgent"]) == ("command", 2, 1)
    experiment = shell(cluster, "echo ran")
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "ran" in log_of(cluster, experiment)
    [record] = records(cluster)
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
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path))
    wait_for("the record to go", lambda: not records(cluster))
    wait_for("the reason in the log", lambda: 'reason="its pool has no provider any more"' in cluster.master_log())


def take_provider_away(cluster):
    cluster.stop_master()
    cluster.config["resource_pools"] = [{"pool_name": "default"}]
    cluster.start_master()


def change_settings(cluster, **settings):
    """Starts the master with other settings of the pool's program."""
    cluster.stop_master()
    cluster.config["resource_pools"][0]["provider"]["settings"].update(settings)
    cluster.start_master()


def test_machines_that_only_older_settings_find_are_taken_back_and_new_ones_take_over(new_cluster, tmp_path):
    """A directory of this program is what a region or zone is to others: machines are found in one only."""
    cluster = start(new_cluster, tmp_path, min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [first] = machines(tmp_path)
    experiment = shell(cluster, f"if [ -e {tmp_path}/second ]; then echo went on; else touch {tmp_path}/second; echo began; "
                                "python3 -c 'import determined.core as c, time\n"
                                "with c.init() as x:\n  while not x.preempt.should_preempt(): time.sleep(0.1)\n'; fi")
    wait_line(cluster, experiment, "began")
    [record] = records(cluster)
    change_settings(cluster, directory=str(tmp_path / "elsewhere"))
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    log = log_of(cluster, experiment)
    assert "went on" in log and the_trial(cluster, experiment)["restarts"] == 0
    assert f"{first.name} is taken back by its provider: it was launched with other settings of its pool" in log
    wait_for("the end of the first machine", lambda: not machines(tmp_path))
    assert len(machines(tmp_path, "elsewhere")) == 1
    wait_for("its record to go", lambda: record not in records(cluster) and len(records(cluster)) == 1)
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path, "elsewhere"))
    wait_for("all records to go", lambda: not records(cluster))


def test_machines_that_old_and_new_settings_find_go_on(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path, min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [machine], [record] = machines(tmp_path), records(cluster)
    change_settings(cluster, flavour="large")
    wait_for("the record to go", lambda: not record.exists())
    wait_for("the machine in the list", lambda: pool(cluster)["instances"] == 1)
    assert machines(tmp_path) == [machine] and not (machine / "ending").exists()
    cluster.login("admin")
    assert cluster.wait_experiment(shell(cluster, "echo ran"))["state"] == "STATE_COMPLETED"
    assert machines(tmp_path) == [machine] and "instance.terminated" not in cluster.master_log()
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path))


def record_of_no_program(record, digits):
    """Writes beside a record another one, of settings whose program cannot be run, and returns its path."""
    settings = json.loads(record.read_text())
    settings["provider"]["command"] = ["/no/such/program"]
    path = record.parent / f"default.{digits}.json"
    path.write_text(json.dumps(settings))
    return path


def test_older_settings_whose_program_fails_hold_nothing_up(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path, min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [record] = records(cluster)
    cluster.stop_master()
    older = record_of_no_program(record, "0123456789abcdef")
    (record.parent / "default.broken.json").write_text("{")
    cluster.start_master()
    wait_for("the failure in the log", lambda: "instance.older_list_failed pool=default" in cluster.master_log())
    assert "instance.record_unread" in cluster.master_log()
    assert cluster.wait_experiment(shell(cluster, "echo ran"))["state"] == "STATE_COMPLETED"
    assert older.exists()  # there may be machines
    assert not pool(cluster).get("launchProblem")
    older.unlink()
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path))


def test_a_record_that_cannot_be_asked_does_not_keep_the_machines_of_others_running(new_cluster, tmp_path):
    cluster = start(new_cluster, tmp_path, min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [record] = records(cluster)
    others = [record_of_no_program(record, digit * 16) for digit in "0f"]
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path))
    wait_for("the record to go", lambda: records(cluster) == others)  # there may be machines of the others
    assert "instance.older_list_failed pool=default" in cluster.master_log()


@pytest.mark.parametrize("change", ["other settings", "no provider"])
def test_the_record_of_older_settings_stays_until_their_machines_have_ended(new_cluster, tmp_path, change):
    """Clouds answer at once that they end a machine, which takes them minutes."""
    slow, ordered = tmp_path / "slow", tmp_path / "ordered"
    script = tmp_path / "provider"
    script.write_text(f"""#!{sys.executable}
import pathlib, sys
sys.path.insert(0, {str(MACHINES.parent)!r})
import machines
slow, ordered = pathlib.Path({str(slow)!r}), pathlib.Path({str(ordered)!r})
class Slow(machines.Machines):
    def terminate(self, question):
        ordered.write_text(question['instance'])
        return {{}}
    def list(self, question):
        if ordered.exists() and (self.directory / ordered.read_text()).exists() and not slow.exists():
            super().terminate({{'instance': ordered.read_text()}})
        with open(self.directory.parent.with_suffix('.lists'), 'a') as f:
            f.write('x' if ordered.exists() else '')
        return super().list(question)
machines.Machines = Slow
machines.main()
""")
    script.chmod(0o755)
    slow.touch()
    cluster = start(new_cluster, tmp_path, command=[str(script)], min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [first], [record] = machines(tmp_path), records(cluster)
    if change == "other settings":
        change_settings(cluster, directory=str(tmp_path / "elsewhere"))
    else:
        take_provider_away(cluster)
    wait_for("the order to end the machine", lambda: ordered.exists() and ordered.read_text() == first.name)
    wait_for("two lists after that", lambda: len((tmp_path / "machines.lists").read_text()) >= 2)
    assert record.exists() and first.exists()
    slow.unlink()
    wait_for("the record to go", lambda: not record.exists())
    assert not first.exists()
    if change == "other settings":
        take_provider_away(cluster)
        wait_for("the end of all machines", lambda: not machines(tmp_path, "elsewhere"))


def test_a_machine_that_the_present_settings_find_is_ended_by_their_program(new_cluster, tmp_path):
    """The older program, which finds the machine as well, has failed since."""
    script = tmp_path / "provider"
    script.write_text(f"""#!{sys.executable}
import pathlib, sys
sys.path.insert(0, {str(MACHINES.parent)!r})
import machines
class Broken(machines.Machines):
    def __getattribute__(self, name):
        if name in ('list', 'terminate') and pathlib.Path(sys.argv[1]).exists():
            raise RuntimeError('its credentials are not valid any more')
        return super().__getattribute__(name)
machines.Machines = Broken
machines.main()
""")
    script.chmod(0o755)
    old_fails, new_fails = tmp_path / "old-fails", tmp_path / "new-fails"
    cluster = start(new_cluster, tmp_path, command=[str(script), str(old_fails)], min_instances=1)
    wait_for("an agent", lambda: len(agents(cluster)) == 1)
    [first], [record] = machines(tmp_path), records(cluster)
    cluster.stop_master()
    new_fails.touch()
    cluster.config["resource_pools"][0]["provider"]["command"] = [str(script), str(new_fails)]
    cluster.start_master()
    wait_for("the failure of the present program", lambda: "instance.list_failed pool=default" in cluster.master_log())
    old_fails.touch()
    wait_for("the failure of the older one", lambda: "instance.older_list_failed pool=default" in cluster.master_log())
    new_fails.unlink()
    wait_for("the machine in the list", lambda: pool(cluster)["instances"] == 1)
    assert record.exists()
    (first / "ending").touch()
    wait_for("the end of the machine", lambda: not first.exists())
    old_fails.unlink()
    take_provider_away(cluster)
    wait_for("the end of all machines", lambda: not machines(tmp_path))


def test_the_example_answers_by_hand(tmp_path):
    """As its README says: questions on standard input."""
    questions = [{"id": 1, "do": "open", "tags": {"determined-resource-pool": "p"}, "provider": {"settings": {"directory": str(tmp_path)}}},
                 {"id": 2, "do": "list"}, {"id": 3, "do": "nonsense"}]
    answers = subprocess.run([sys.executable, str(MACHINES)], input="".join(json.dumps(q) + "\n" for q in questions), text=True,
                             capture_output=True, check=True).stdout.splitlines()
    assert [json.loads(a) for a in answers[:2]] == [{"id": 1}, {"id": 2, "instances": []}]
    assert "nonsense" in json.loads(answers[2])["error"]
