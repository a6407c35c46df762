"""The released task library inside our tasks: its Core API reports to our master and obeys it.

It needs /run/determined, which a task without a container has not: contexts/released/from_run_dir.py stands in for that mount.
It looks for shared_fs storage in /determined_shared_fs, another one, so checkpoints go to `directory` storage here.
"""
import json
import re

import pytest
from released import CONTEXTS, PYTHON
from support.cluster import wait_for


@pytest.fixture
def start(cluster):
    files = {path.name: path.read_text() for path in (CONTEXTS / "released").iterdir() if path.is_file()}

    def create(**hparams):
        return cluster.create(files=files, name="released", hyperparameters=hparams,
                              checkpoint_storage={"type": "directory", "container_path": str(cluster.storage)},
                              entrypoint=["env", "-u", "PYTHONPATH", str(PYTHON), "train.py"])
    return create


def facts(log):
    return json.loads(re.search(r"^facts (.*)$", log, re.M).group(1))


def test_core_api__reports_metrics_progress_and_checkpoints(cluster, start):
    experiment = start(steps=3, pause_s=0)
    shown = cluster.wait_experiment(experiment)
    [trial] = cluster.trial_ids(experiment)
    assert shown["state"] == "STATE_COMPLETED", cluster.trial_log(trial)
    told = facts(cluster.trial_log(trial))
    assert (told["trial"], told["experiment"], told["slots"], told["size"], told["config"]) == (trial, experiment, 1, 1, "released")
    assert told["metadata"]["steps_completed"] == 3 and told["master"] == cluster.url
    summary = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["summaryMetrics"]
    assert summary["avg_metrics"]["loss"]["count"] == summary["validation_metrics"]["loss"]["count"] == 3
    assert summary["inference"]["accuracy"]["last"] == 0.03
    checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
    assert len(checkpoints) == 3 and all("state.txt" in c["resources"] for c in checkpoints)
    assert (cluster.storage / checkpoints[0]["uuid"] / "state.txt").exists()


def test_preemption__pause_stops_it_and_it_goes_on_from_its_checkpoint(cluster, start):
    experiment = start(steps=60, pause_s=0.05)
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    wait_for("some steps", lambda: len(cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]) >= 2)
    assert cluster.post(f"/api/v1/experiments/{experiment}/pause").status == 200
    wait_for("the preempted trial's end", lambda: "allocation preempted" in cluster.trial_log(trial))
    assert cluster.post(f"/api/v1/experiments/{experiment}/activate").status == 200
    shown = cluster.wait_experiment(experiment)
    log = cluster.trial_log(trial)
    assert shown["state"] == "STATE_COMPLETED" and "preempted\n" in log, log
    starts = [tuple(map(int, found)) for found in re.findall(r"run (\d+) starts at step (\d+)", log)]
    assert [run for run, _ in starts] == [1, 2] and starts[0][1] == 0 and starts[1][1] >= 2, log
    assert facts(log.rpartition("starts at step")[2])["metadata"]["steps_completed"] == 60
