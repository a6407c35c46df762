"""Checkpoints in an object store and in directories of agents only: stored by trials, removed by tasks, with a real agent and moto."""
import os
import signal

import pytest
from support import object_stores
from support.cluster import ROOT, wait_for

TRAIN = """
import time
import determined as det
from determined import core
with core.init() as context:
    for step in range(1, 4):
        with context.checkpoint.store_path({"steps_completed": step}) as (path, storage_id):
            (path / "weights").write_text(str(step))
            (path / "logs").mkdir()
            (path / "logs" / "a.log").write_text("x")
        (context.train.get_tensorboard_path() / "events.out.tfevents.1").write_text("curve")
        context.train.report_validation_metrics(step, {"loss": 1 / step})
"""


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    with object_stores.s3(tmp_path_factory.mktemp("s3"), prefix="our/prefix") as server:
        yield server


def start(cluster, **agent):
    cluster.start_master()
    cluster.start_agent(python_path=str(ROOT / "python"), **agent)
    cluster.login("admin")
    return cluster


def train(c, storage, **config):
    """Three checkpoints; the experiment keeps what `storage` says."""
    environment = {"environment_variables": [f"PATH={ROOT}/.venv/bin:{os.environ['PATH']}", "AWS_DEFAULT_REGION=us-east-1"]}
    x = c.create(files={"train.py": TRAIN}, entrypoint="python3 train.py", environment=environment, checkpoint_storage=storage, **config)
    ended = c.wait_experiment(x)
    assert ended["state"] == "STATE_COMPLETED", c.trial_log(c.trial_ids(x)[0])
    return x


def checkpoints(c, x):
    """(step, state) of each, and their ids, by step."""
    found = c.get(f"/api/v1/experiments/{x}/checkpoints").json["checkpoints"]
    rows = sorted((r["metadata"]["steps_completed"], r["state"], r["uuid"]) for r in found)
    return [row[:2] for row in rows], [row[2] for row in rows]


def explain(c):
    return c.master_log()[-3000:] + "".join(p.read_text(errors="replace")[-3000:] for p in c.dir.glob("agent*.log"))


def wait_states(c, x, expected):
    names = [(n + 1, f"STATE_{state}") for n, state in enumerate(expected)]
    try:
        wait_for(f"{names} of experiment {x}", lambda: checkpoints(c, x)[0] == names)
    except AssertionError as e:
        raise AssertionError(f"{e}: {checkpoints(c, x)[0]}\n{explain(c)}") from None


def test_the_end_of_an_experiment_leaves_in_s3_what_its_policy_names(new_cluster, s3):
    c = start(new_cluster())
    x = train(c, {**s3.config, "save_trial_latest": 1, "save_trial_best": 0})
    wait_states(c, x, ["DELETED", "DELETED", "COMPLETED"])
    ids = checkpoints(c, x)[1]
    assert [bool(s3.keys(f"our/prefix/{name}/")) for name in ids] == [False, False, True]
    [cluster_id] = {key.split("/")[2] for key in s3.keys("our/prefix/") if "/tensorboard/" in key}
    assert s3.keys(f"our/prefix/{cluster_id}/tensorboard/experiment/{x}/trial/")


def test_patterns_and_deletion_reach_s3(new_cluster, s3):
    c = start(new_cluster())
    x = train(c, {**s3.config, "save_trial_latest": 9})
    ids = checkpoints(c, x)[1]
    body = {"checkpointUuids": ids[:2], "checkpointGlobs": ["**/*.log"]}
    assert c.post("/api/v1/checkpoints/rm", body).status == 200
    wait_states(c, x, ["PARTIALLY_DELETED", "PARTIALLY_DELETED", "COMPLETED"])
    assert s3.keys(f"our/prefix/{ids[0]}/") == [f"our/prefix/{ids[0]}/{name}" for name in ("metadata.json", "weights")]
    left = c.get(f"/api/v1/checkpoints/{ids[0]}").json["checkpoint"]["resources"]
    assert sorted(left) == ["metadata.json", "weights"]
    of_another = [key for key in s3.keys() if not any(name in key for name in ids)]
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)
    assert not any(name in key for key in s3.keys() for name in ids)
    assert not [key for key in s3.keys() if f"/tensorboard/experiment/{x}/" in key and key in of_another and c_id(c) in key]


def c_id(c):
    return c.get("/api/v1/master", token=None).json["clusterId"]


def test_a_removal_goes_on_after_kill_9_of_the_master(new_cluster, s3):
    """At moments all over: before the task is asked for, while it runs, and while it reports."""
    c = start(new_cluster())
    experiments = [train(c, {**s3.config, "save_trial_latest": 9}) for _ in range(2)]
    for x in experiments:
        body = {"checkpoint_storage": {"save_experiment_best": 0, "save_trial_best": 0, "save_trial_latest": 1}}
        assert c.patch(f"/api/v1/experiments/{x}", body).status == 200
    objects = len(s3.keys())
    moments = [lambda: True, lambda: "checkpoint.task_started" in c.master_log(), lambda: len(s3.keys()) < objects]
    for n, moment in enumerate(moments):
        wait_for(f"moment {n}", moment)
        c.stop_master(signal.SIGKILL)
        c.start_master()
        c.login("admin")
    for x in experiments:
        wait_states(c, x, ["DELETED", "DELETED", "COMPLETED"])
        ids = checkpoints(c, x)[1]
        assert [bool(s3.keys(f"our/prefix/{name}/")) for name in ids] == [False, False, True]


def test_a_storage_that_says_no_is_tried_again_and_named(new_cluster, s3, tmp_path):
    c = start(new_cluster())
    x = train(c, {**s3.config, "save_trial_latest": 9})
    [first, *_] = checkpoints(c, x)[1]
    # Somebody takes the bucket away: deletion fails, with the reason, and nothing is forgotten.
    for key in s3.keys():
        s3.client.delete_object(Bucket=s3.config["bucket"], Key=key)
    s3.client.delete_bucket(Bucket=s3.config["bucket"])
    try:
        assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
        wait_for("the failure", lambda: c.experiment(x)["state"] == "STATE_DELETE_FAILED")
        assert "ended without having removed it" in c.master_log(), explain(c)
        assert c.get(f"/api/v1/checkpoints/{first}").json["checkpoint"]["state"] == "STATE_COMPLETED"
    finally:
        s3.client.create_bucket(Bucket=s3.config["bucket"])
    # What is gone already is no failure.
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)


def test_a_host_path_of_the_experiments_own_is_cleaned_by_a_task(new_cluster, tmp_path):
    """As the predecessor's users write it into every experiment: it runs and saves; the master keeps off."""
    c = start(new_cluster())
    place = tmp_path / "anywhere"
    place.mkdir()
    place.chmod(0o777)
    x = train(c, {"type": "shared_fs", "host_path": str(place), "save_trial_latest": 1, "save_trial_best": 0})
    wait_states(c, x, ["DELETED", "DELETED", "COMPLETED"])
    ids = checkpoints(c, x)[1]
    assert [(place / name).exists() for name in ids] == [False, False, True]
    assert "checkpoint.handed_over" in c.master_log() and "checkpoint.removed" not in c.master_log()
    refused = c.get(f"/checkpoints/{ids[2]}")
    assert refused.status == 400 and "--mode direct" in refused.json["message"], refused
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)
    assert not [path for path in place.rglob("*") if path.is_file()]


def test_a_directory_that_only_agents_have_is_cleaned_by_a_task(new_cluster, tmp_path):
    """The agent runs where the directory is: in a mount namespace of its own, as on another machine."""
    hidden = tmp_path / "only-there"
    hidden.mkdir()
    behind = tmp_path / "behind"
    behind.mkdir()
    script = f'mount --make-rprivate / && mount --bind "{behind}" "{hidden}" && exec "$@"'
    c = new_cluster()
    c.start_master()
    c.start_agent(python_path=str(ROOT / "python"), prefix=["unshare", "-m", "sh", "-c", script, "sh"])
    c.login("admin")
    x = train(c, {"type": "directory", "container_path": str(hidden / "storage"), "save_trial_latest": 1, "save_trial_best": 0})
    wait_states(c, x, ["DELETED", "DELETED", "COMPLETED"])
    left = {path.name for path in (behind / "storage").iterdir()}
    assert checkpoints(c, x)[1][2] in left and not set(checkpoints(c, x)[1][:2]) & left
    assert not list(hidden.iterdir())
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)
    assert not [path for path in (behind / "storage").rglob("*") if path.is_file()]


READ_ONLY = 'mount --make-rprivate / && mount --bind "{0}" "{0}" && mount -o remount,bind,ro "{0}" && exec "$@"'


@pytest.mark.skipif(os.geteuid() != 0, reason="takes rights away from a master of root")
@pytest.mark.parametrize("how, why", [("read-only", "Read-only file system"), ("no capabilities", "Permission denied")])
def test_what_the_master_is_denied_on_its_own_machine_is_removed_by_a_task(new_cluster, how, why):
    """As under the packaged unit: ProtectSystem=strict shows the storage read-only, and its account has no right over what tasks write."""
    c = new_cluster()
    prefixes = {"read-only": ["unshare", "-m", "sh", "-c", READ_ONLY.format(c.storage), "sh"],
                "no capabilities": ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]}
    c.start_master(prefix=prefixes[how])
    c.start_agent(python_path=str(ROOT / "python"))
    c.login("admin")
    x = train(c, {"type": "shared_fs", "host_path": str(c.storage), "save_trial_latest": 9})
    if how == "no capabilities":
        for path in [*c.storage.rglob("*")]:
            os.chown(path, 65534, 65534)
    ids = checkpoints(c, x)[1]
    assert c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": ids[:2]}).status == 200
    wait_states(c, x, ["DELETED", "DELETED", "COMPLETED"])
    assert [(c.storage / name).exists() for name in ids] == [False, False, True]
    log = c.master_log()
    assert "checkpoint.remove_failed" not in log and "the master's account may not remove it" in log and why in log, log
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)
    assert not [path for path in c.storage.rglob("*") if path.is_file()]
