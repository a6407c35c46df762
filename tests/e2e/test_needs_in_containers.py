"""Requests for cores and memory (resources.cpus, resources.memory) in containers of real engines: the container's control groups have them as
limits, and a task that uses more memory is told so in its log."""
import contextlib
import json
import os
import pathlib

import pytest
from support import engines
from support.cluster import BUILD, Cluster, wait_for
from support.control_groups import cgroup_has
from support.experiments import log_of
from support.launched import launch_id, wait_state
from support.launched import log_of as log_of_task

HOG = "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo CAME-THROUGH"
MIB = 1 << 20
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not cgroup_has("memory"), reason="limits of memory need an engine of root and a control group")


@pytest.fixture(scope="module", params=["docker", "podman"])
def cluster(request, tmp_path_factory):
    try:
        engine = engines.start(request.param)
        supervisor = engines.static_supervisor(BUILD)
    except engines.Missing as why:
        pytest.skip(str(why))
    with Cluster(tmp_path_factory.mktemp("needs")) as c:
        c.engine = engine
        c.start_master()
        c.login()
        c.start_agent(slots=2, container_runtime=request.param, container_socket=engine.socket, task_program=supervisor)
        yield c


def container_of(cluster):
    """What the engine tells of its only container, once it runs."""
    [one] = wait_for("the container", lambda: [c for c in cluster.engine.containers() if c["State"] == "running"])
    status, body = cluster.engine.request("GET", f"/v1.40/containers/{one['Id']}/json")
    assert status == 200, body
    return json.loads(body)


def control_group(pid, controller):
    """The directory of the control group of this process that has the controller's limits."""
    paths = {}
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        paths.update(dict.fromkeys(names.split(","), path))
    v1 = pathlib.Path("/sys/fs/cgroup") / controller
    return pathlib.Path(f"{v1}{paths[controller]}") if v1.is_dir() else pathlib.Path(f"/sys/fs/cgroup{paths['']}")


def first_of(directory, *names):
    for name in names:
        with contextlib.suppress(OSError):
            return (directory / name).read_text().split()
    raise AssertionError(f"{directory} has none of {names}: {sorted(p.name for p in directory.iterdir())}")


def memory_limit(pid):
    return int(first_of(control_group(pid, "memory"), "memory.max", "memory.limit_in_bytes")[0])


def cores_limit(pid):
    group = control_group(pid, "cpu")
    quota, *period = first_of(group, "cpu.max", "cpu.cfs_quota_us")
    return int(quota) / int(period[0] if period else first_of(group, "cpu.cfs_period_us")[0])


def test_the_control_groups_of_a_container_have_what_its_task_has_asked_for(cluster):
    task = launch_id(cluster, entrypoint=["sh", "-c", "echo ready; sleep 600"], environment={"image": engines.IMAGE},
                     resources={"slots": 0, "cpus": 0.5, "memory": "200 MiB"})
    wait_for("its first line", lambda: "ready" in log_of_task(cluster, task))
    pid = container_of(cluster)["State"]["Pid"]
    assert memory_limit(pid) == 200 * MIB
    if cgroup_has("cpu"):
        assert cores_limit(pid) == 0.5
    [agent] = cluster.get("/api/v1/agents").json["agents"]
    assert (agent["cpusUsed"], int(agent["memoryUsedBytes"])) == (0.5, 200 * MIB)
    assert cluster.post(f"/api/v1/commands/{task}/kill").status == 200
    wait_state(cluster, task, "TERMINATED")


def test_a_trial_that_uses_more_memory_than_it_asked_for_is_told_so_in_its_log(cluster):
    x = cluster.create(entrypoint=HOG, environment={"image": engines.IMAGE}, resources={"slots_per_trial": 1, "memory": "100 MiB"}, max_restarts=0)
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"
    log = log_of(cluster, x)
    assert "out of memory: the task used 100 MiB, all that it asked for (resources.memory)" in log and "CAME-THROUGH" not in log, log


def test_the_neighbour_of_a_task_without_memory_goes_on(cluster):
    """A task that asks for nothing has no limit of memory from its neighbour's request."""
    x = cluster.create(entrypoint="echo begun; while [ ! -e /tmp/go ]; do sleep 0.1; done", environment={"image": engines.IMAGE},
                       resources={"slots_per_trial": 1}, max_restarts=0)
    wait_for("its first line", lambda: "begun" in log_of(cluster, x))
    pid = container_of(cluster)["State"]["Pid"]
    task = launch_id(cluster, entrypoint=["sh", "-c", HOG], environment={"image": engines.IMAGE}, resources={"slots": 0, "memory": "100 MiB"})
    wait_state(cluster, task, "TERMINATED")
    assert "out of memory" in "\n".join(log_of_task(cluster, task))
    assert os.path.exists(f"/proc/{pid}") and cluster.experiment(x)["state"] == "STATE_RUNNING"
    assert memory_limit(pid) > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2, "a task that asks for nothing may use nine tenths"
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)
