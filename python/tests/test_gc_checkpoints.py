"""What tasks of type CHECKPOINT_GC run."""

import json
import os
import subprocess
import sys

import pytest

from determined import _storage
from determined.exec import gc_checkpoints

UUIDS = [f"00000000-0000-4000-8000-00000000000{n}" for n in range(3)]


@pytest.fixture
def task(cluster, tmp_path, monkeypatch):
    """Two checkpoints in the storage, a third that is gone already; runs the collector on them."""
    cluster.write(task_type="CHECKPOINT_GC")
    cluster.master.checkpoints.update({storage_id: {"resources": {}} for storage_id in UUIDS})
    for storage_id in UUIDS[:2]:
        (cluster.storage / storage_id / "logs").mkdir(parents=True)
        (cluster.storage / storage_id / "weights").write_text("12345")
        (cluster.storage / storage_id / "logs" / "a.log").write_text("x")
    tensorboard = cluster.storage / "the-cluster/tensorboard/experiment"
    for experiment in ("7", "70"):
        (tensorboard / experiment / "trial/1").mkdir(parents=True)
        (tensorboard / experiment / "trial/1/events").write_text("1")
    config = {"type": "shared_fs", "host_path": str(cluster.storage)}

    def run(globs=None, *more, storage=config):
        files = {"storage": storage, "delete": UUIDS, "globs": ["**/*"] if globs is None else globs}
        for name, value in files.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(value))
        argv = ["--experiment-id", "7", "--storage-config", str(tmp_path / "storage.json")]
        argv += ["--delete", str(tmp_path / "delete.json"), "--globs", str(tmp_path / "globs.json"), *more]
        return gc_checkpoints.main(argv)

    return run


def reported(cluster):
    return {
        c["uuid"]: c["resources"]["resources"]
        for body in cluster.master.bodies("PatchCheckpoints")
        for c in body["checkpoints"]
    }


def test_all_files_go_and_nothing_is_reported_left(cluster, task):
    assert task() == 0
    assert reported(cluster) == {storage_id: {} for storage_id in UUIDS}
    assert [p.name for p in cluster.storage.iterdir()] == ["the-cluster"]


def test_patterns_leave_the_rest_and_tell_it(cluster, task):
    assert task(["**/*.log"]) == 0
    assert reported(cluster) == {UUIDS[0]: {"weights": "5"}, UUIDS[1]: {"weights": "5"}, UUIDS[2]: {}}
    assert (cluster.storage / UUIDS[0] / "weights").exists() and not (cluster.storage / UUIDS[0] / "logs").exists()


def test_tensorboard_files_of_the_experiment_go_when_asked_for(cluster, task):
    files = cluster.storage / "the-cluster/tensorboard/experiment"
    assert task() == 0
    assert sorted(p.name for p in files.iterdir()) == ["7", "70"]
    assert task(None, "--delete-tensorboards") == 0
    assert [p.name for p in files.iterdir()] == ["70"]


def test_what_cannot_be_removed_is_not_reported_and_fails_the_task(cluster, task, monkeypatch, caplog):
    delete = _storage.DirectoryStorage.delete

    def failing(storage, storage_id, globs):
        if storage_id == UUIDS[0]:
            raise PermissionError("not yours")
        return delete(storage, storage_id, globs)

    monkeypatch.setattr(_storage.DirectoryStorage, "delete", failing)
    assert task() == 1
    assert reported(cluster) == {UUIDS[1]: {}, UUIDS[2]: {}}
    assert f"checkpoint {UUIDS[0]}: could not be removed: not yours" in caplog.text


def test_a_storage_that_is_not_mounted_passes_for_nothing_removed(cluster, task, tmp_path, caplog):
    assert task(storage={"type": "directory", "container_path": str(tmp_path / "unmounted")}) == 1
    assert reported(cluster) == {} and "is the checkpoint storage mounted?" in caplog.text


def test_secrets_of_the_storage_stay_out_of_the_log(cluster, task, caplog):
    assert task(storage={"type": "azure", "container": "c", "connection_string": "AccountKey=s3cr3t"}) == 1
    assert "s3cr3t" not in caplog.text and "********" in caplog.text


def test_off_the_cluster_it_does_nothing(tmp_path):
    (tmp_path / "storage.json").write_text("{}")
    argv = [sys.executable, "-m", "determined.exec.gc_checkpoints", "--experiment-id", "1"]
    argv += ["--storage-config", str(tmp_path / "storage.json")]
    env = {
        **os.environ,
        "DET_RUN_DIR": str(tmp_path),
        "PYTHONPATH": str(gc_checkpoints.__file__.split("/determined/")[0]),
    }
    result = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1 and "on a cluster only" in result.stderr
