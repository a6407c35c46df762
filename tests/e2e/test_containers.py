"""Experiments and commands in containers of Docker, from the configuration to the log. The images are made here (tests/support/engines.py)."""
import pytest
from support import engines
from support.cluster import Cluster

# Python and its libraries of this machine, for an image that has none.
MACHINES_PYTHON = [{"host_path": place, "container_path": place, "read_only": True} for place in ("/usr", "/lib", "/lib64")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    try:
        engine = engines.start("docker")
    except engines.Missing as why:
        pytest.skip(str(why))
    with Cluster(tmp_path_factory.mktemp("containers")) as c:
        c.engine = engine
        c.start_master()
        c.login()
        c.start_agent(container_runtime="auto", container_socket=engine.socket)
        yield c


def ended(cluster, **changes):
    x = cluster.create(**changes)
    state = cluster.wait_experiment(x)["state"]
    return state, cluster.trial_log(cluster.trial_ids(x)[0])


def test_an_image_without_python_runs_commands_with_what_the_configuration_sets(cluster, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("of the data\n")
    state, log = ended(cluster, files={"run.sh": "cat /in-image data/file; df -k /dev/shm; echo $MINE; ls -l /dev/mine\n"}, entrypoint="sh run.sh",
                       environment={"image": engines.IMAGE, "environment_variables": ["MINE=mine"]},
                       resources={"slots_per_trial": 1, "shm_size": "32m", "devices": ["/dev/full:/dev/mine"]},
                       bind_mounts=[{"host_path": str(tmp_path / "data"), "container_path": "data", "read_only": True}])
    assert state == "STATE_COMPLETED", log
    assert "of the image\nof the data\n" in log and " 32768 " in log and "mine\n" in log


def test_a_trial_reports_through_the_library_that_is_mounted(cluster):
    state, log = ended(cluster, files={"train.py": (
        "import determined as det\n"
        "with det.core.init() as core:\n"
        "    core.train.report_validation_metrics(steps_completed=1, metrics={'loss': 0.5})\n"
        "    with core.checkpoint.store_path({'steps_completed': 1}) as (path, _):\n"
        "        (path / 'weights').write_text('w')\n"
        "    print('trained in', open('/in-image').read())\n")}, entrypoint="python3 train.py",
        environment={"image": engines.IMAGE}, bind_mounts=MACHINES_PYTHON)
    assert state == "STATE_COMPLETED" and "trained in of the image" in log, log


def test_a_trial_of_several_slots_is_told_the_network_of_the_machine(cluster):
    """The trial's port is reached by the address that the rendezvous names."""
    state, log = ended(cluster, entrypoint="cat /run/determined/info/rendezvous.json; hostname",
                       environment={"image": engines.IMAGE})
    assert state == "STATE_COMPLETED" and '"container_addrs":["127.0.0.1"]' in log, log


def test_an_image_that_does_not_exist_ends_the_experiment_with_the_cause(cluster):
    state, log = ended(cluster, entrypoint="true", environment={"image": "det-test/no-such-image:9"})
    assert state == "STATE_ERROR"
    assert "Pulling image det-test/no-such-image:9 with docker" in log and "cannot be pulled: docker says: " in log


def test_a_configuration_that_names_no_image_runs_as_a_process(cluster):
    state, log = ended(cluster, entrypoint="cat /in-image || echo no image")
    assert state == "STATE_COMPLETED" and "no image" in log


def test_a_command_runs_in_its_image(cluster):
    launched = cluster.post("/api/v1/commands", {"config": {"entrypoint": "cat /in-image", "environment": {"image": engines.IMAGE}}})
    assert launched.status == 200, launched
    task = launched.json["command"]["id"]
    lines = "".join(line["result"]["log"] for line in cluster.get(f"/api/v1/tasks/{task}/logs?follow=true").lines)
    assert "of the image" in lines
