"""Tests unmanaged runs with our library (determined.experimental.core_v2), with and without a master that can be reached."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
from support.cluster import PASSWORD

ROOT = pathlib.Path(__file__).resolve().parents[3]

RUN = """
import json
from determined.experimental import core_v2
config = core_v2.Config(name="laptop", hparams={"lr": 0.1}, labels=["x"], checkpoint_storage="storage",
                        searcher={"name": "single", "metric": "loss", "smaller_is_better": True},
                        external_experiment_id="ours", external_trial_id="one")
core_v2.init(config=config)
first = core_v2.info.trial._steps_completed
for step in range(first + 1, first + 101):
    core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step}, batch_metrics=[{"loss": 1 / step}])
core_v2.train.report_validation_metrics(steps_completed=step, metrics={"loss": 1 / step})
core_v2.train.set_metadata({"host": "laptop"})
core_v2.train.report_progress(1.0)
with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
    (path / "state").write_text(str(step))
print(json.dumps([first, core_v2.info.trial.trial_id, uuid]))
"""


@pytest.fixture
def run(master, tmp_path):
    def run(*argv, url=None):
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "python"), "DET_RUN_DIR": str(tmp_path),
               "DET_MASTER": url or master.url, "DET_USER": "determined", "DET_PASS": PASSWORD}
        done = subprocess.run([sys.executable, *argv], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_runs_of_one_trial__go_on_from_each_other(master, run):
    first, trial, checkpoint = json.loads(run("-c", RUN))
    assert first == 0 and trial > 0
    got = master.get(f"/api/v1/trials/{trial}").json["trial"]
    assert got["state"] == "STATE_COMPLETED" and got["totalBatchesProcessed"] == 100
    again = json.loads(run("-c", RUN))
    assert again[:2] == [100, trial] and again[2] != checkpoint, "goes on from its checkpoint"
    assert master.get(f"/api/v1/trials/{trial}").json["trial"]["totalBatchesProcessed"] == 200


def test_what_was_kept__arrives_whole(master, run, tmp_path):
    code = RUN.replace('"ours"', '"offline"')
    json.loads(run("-c", code, url="http://127.0.0.1:9"))
    steps, _, second = json.loads(run("-c", code, url="http://127.0.0.1:9"))
    assert steps == 100, "the second run goes on from the first, of which no master knows yet"
    assert run("-m", "determined.experimental.core_v2").startswith("2 runs, ")
    [experiment] = [e for e in master.get("/api/v1/experiments?limit=50").json["experiments"] if e["externalExperimentId"] == "offline"]
    assert experiment["name"] == "laptop" and experiment["state"] == "STATE_COMPLETED" and experiment["labels"] == ["x"]
    [trial] = master.trial_ids(experiment["id"])
    got = master.get(f"/api/v1/trials/{trial}").json["trial"]
    assert got["totalBatchesProcessed"] == 200 and got["hparams"] == {"lr": 0.1} and got["checkpointCount"] == 2
    assert got["summaryMetrics"]["avg_metrics"]["loss"]["count"] == 200 and got["metadata"] == {"host": "laptop"}
    assert master.get(f"/api/v1/checkpoints/{second}").json["checkpoint"]["resources"]["state"] == "3"
    assert run("-m", "determined.experimental.core_v2") == "0 runs, 0 reports\n"
