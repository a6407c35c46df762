"""Launchers in real tasks: ranks in the log, exit statuses, launchers within launchers, what is left of them."""
import os
import sys

import pytest
from support.cluster import Cluster
from support.experiments import the_trial, wait_slots_free
from support.ports import free_port

LAUNCH = "python3 -m determined.launch"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster whose tasks find the Python of these tests, which has PyTorch."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    with Cluster(tmp_path_factory.mktemp("cluster"), env={"PATH": path, "OMP_NUM_THREADS": "1"}) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login()
        yield c


def lines(cluster, trial):
    """(rank, text) of what the task has printed."""
    answer = cluster.get(f"/api/v1/trials/{trial}/logs").lines
    return sorted((r["result"].get("rankId"), r["result"]["log"].rstrip("\n")) for r in answer if r["result"].get("source") == "task")


def run(cluster, entrypoint, slots=2, state="STATE_COMPLETED", files=None):
    """Runs a trial to its end; returns its number."""
    # Not the master's choice: other clusters may run on this machine.
    environment = {"environment_variables": [f"C10D_PORT={free_port()}"]}
    experiment = cluster.create(entrypoint=entrypoint, files=files, resources={"slots_per_trial": slots}, max_restarts=0,
                                environment=environment)
    trial = the_trial(cluster, experiment)["id"] if cluster.wait_experiment(experiment, timeout_s=300) else None
    assert cluster.experiment(experiment)["state"] == state, cluster.trial_log(trial)
    return trial


def test_torch_distributed__prints_under_its_ranks(cluster):
    script = "import os; print('I am', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], flush=True)"
    trial = run(cluster, f"{LAUNCH}.torch_distributed python3 work.py", files={"work.py": script})
    assert {(0, "I am 0 of 2"), (1, "I am 1 of 2")} <= set(lines(cluster, trial)), cluster.trial_log(trial)


def test_a_worker_that_fails__gives_the_task_its_status(cluster):
    trial = run(cluster, [*f"{LAUNCH}.torch_distributed sh -c".split(), "[ $RANK = 1 ] && exit 7; exec sleep 600"], state="STATE_ERROR")
    log = cluster.trial_log(trial)
    assert "worker 1 (process" in log and "ended with status 7" in log and "non-zero exit code: container failed with non-zero exit code: 7" in log, log
    wait_slots_free(cluster)


def test_launchers_within_launchers__three_deep(cluster):
    # What stands before the first -- are options for the framework's launcher, so each has its own.
    launchers = f"{LAUNCH}.torch_distributed -- {LAUNCH}.autohorovod -- {LAUNCH}.wrap_rank 5 -- sh -c"
    entrypoint = [*launchers.split(), "echo deep $USE_TORCH_DISTRIBUTED $DET_CHIEF_IP"]
    trial = run(cluster, entrypoint, slots=1)
    assert "deep True" in cluster.trial_log(trial)
    failing = run(cluster, [*entrypoint[:-1], "exit 9"], slots=1, state="STATE_ERROR")
    assert "ended with status 9" in cluster.trial_log(failing)
