"""Tests tasks that take all the memory, all the processes or all the disk that they can get: they end with a reason, and others go on."""
import os
import tempfile

import pytest
from support.cluster import Cluster, wait_for
from support.control_groups import cgroup_has

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make control groups without systemd's help")
MIB = 1 << 20


def lines_of(cluster, experiment):
    [trial] = cluster.trial_ids(experiment)
    return [line["result"]["log"].rstrip("\n") for line in cluster.get(f"/api/v1/trials/{trial}/logs").lines]


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        with Cluster(directory) as c:
            c.start_master()
            c.start_agent(slots=2, allow_root_tasks=False, task_limits={"max_memory": "256 MiB", "processes": 64, "max_disk": 64 * MIB})
            c.login()
            yield c


@pytest.fixture
def neighbour(cluster):
    """Runs another task of the same agent, which has to end well."""
    x = cluster.create(entrypoint=["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done; echo CAME-THROUGH"])
    wait_for("the neighbour", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    agent = cluster.agents["agent0"].pid
    yield x
    assert cluster.agents["agent0"].pid == agent and cluster.agents["agent0"].poll() is None
    for path in cluster.dir.glob("agent0/tasks/*/run/workdir"):
        (path / "go").touch()
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    assert any("CAME-THROUGH" in line for line in lines_of(cluster, x))


def ends_with(cluster, reason, **config):
    x = cluster.create(**config)
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    said = lines_of(cluster, x)
    assert any(line == reason for line in said), said
    assert any("crashed" in line and reason in line for line in said), said


@pytest.mark.skipif(not cgroup_has("memory"), reason="this machine gives no control group for memory")
@pytest.mark.parametrize("resources, limit", [({"memory_limit": "64 MiB"}, "64 MiB"), ({"memory_limit": "1 TiB"}, "256 MiB"), ({}, "256 MiB")])
def test_a_task_takes_all_memory(cluster, neighbour, resources, limit):
    grow = "b = []\nwhile True:\n    b.append(bytearray(8 << 20))"
    ends_with(cluster, f"killed: out of memory: the task used {limit}, its limit", entrypoint=["python3", "-c", grow],
              resources={"slots_per_trial": 1, **resources})


@pytest.mark.skipif(not cgroup_has("memory"), reason="this machine gives no control group for memory")
def test_a_process_of_a_task_takes_all_memory_and_the_task_notices(cluster, neighbour):
    grow = "b = []\nwhile True: b.append(bytearray(8 << 20))"
    ends_with(cluster, "killed: out of memory: the task used 64 MiB, its limit", entrypoint=["sh", "-c", f'python3 -c "exec({grow!r})"; echo it ended with $?; exit 3'],
              resources={"slots_per_trial": 1, "memory_limit": 64 * MIB})


@pytest.mark.skipif(not cgroup_has("pids"), reason="this machine gives no control group for processes")
@pytest.mark.parametrize("resources, limit", [({}, 64), ({"process_limit": 20}, 20)])
def test_a_fork_bomb(cluster, neighbour, resources, limit):
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    ends_with(cluster, f"killed: the task's limit of {limit} processes was reached", entrypoint=["python3", "-c", bomb],
              resources={"slots_per_trial": 1, **resources})


@pytest.mark.parametrize("script, says", [
    ("dd if=/dev/zero of=big bs=1M count=200 2>/dev/null; sleep 600", "200"),
    ("mkdir d; cd d; for i in $(seq 40); do dd if=/dev/zero of=$i bs=1M count=5 2>/dev/null; ln $i ../$i; chmod 0 $i; done; cd ..; "
     "chmod 0 d; sleep 600", "200"),
])
def test_a_task_fills_the_disk(cluster, neighbour, script, says):
    x = cluster.create(entrypoint=["sh", "-c", script])
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    [reason] = [line for line in lines_of(cluster, x) if line.startswith("killed: the task has stored")]
    assert says in reason and reason.endswith("its limit is 64 MiB"), reason


def test_directories_deeper_than_there_are_descriptors_hide_nothing_from_the_measurement(cluster, neighbour):
    dig = ("import os, time\n"
           "for i in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
           "open('big', 'wb').write(bytes(100 << 20))\ntime.sleep(600)")
    x = cluster.create(entrypoint=["python3", "-c", dig])
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    assert any("killed: the task has stored" in line for line in lines_of(cluster, x)), lines_of(cluster, x)


@pytest.mark.parametrize("resources, says", [
    ({"memory_limit": 5}, "memory_limit"), ({"memory_limit": "much"}, "memory_limit"), ({"process_limit": 0}, "process_limit"),
    ({"disk_limit": -1}, "disk_limit"),
])
def test_limits_that_are_none_are_refused_at_creation(cluster, resources, says):
    import json
    reply = cluster.post("/api/v1/experiments", {"config": json.dumps(cluster.experiment_config(resources=resources)), "modelDefinition": []})
    assert reply.status == 400 and says in reply.json["error"]["error"], reply


def test_a_configuration_without_limits_has_no_key_that_the_predecessor_lacks(cluster):
    x = cluster.create(activate=False)
    assert not {"memory_limit", "process_limit", "disk_limit"} & set(cluster.experiment(x)["config"]["resources"])
