"""Tests which checkpoints are removed and which are kept, on the disk as well as in the database."""
import json
import os
import pathlib
import signal
import urllib.parse
import uuid

import pytest
from support.cluster import wait_for
from support.det import run_det

# Each entry is a trial (0 or 1), and the searcher metric of the validation at the same step, or None. This is the example of the rules
# (docs/spec/lifecycle.md#checkpoints-that-are-kept), in which checkpoint n is the n-th of this list and the n-th step.
WORKED = [(0, None), (0, None), (0, 0.6), (0, 0.5), (0, 0.4), (1, None), (1, 0.2), (1, 0.3), (1, None), (1, None)]
TWO_TRIALS = {"name": "random", "metric": "loss", "max_trials": 2, "smaller_is_better": True}
HYPERPARAMETERS = {"lr": {"type": "double", "minval": 0.1, "maxval": 0.2}}


def policy(best, trial_best, latest):
    return {"save_experiment_best": best, "save_trial_best": trial_best, "save_trial_latest": latest}


def storage(c, **more):
    return {"type": "shared_fs", "host_path": str(c.storage), **more}


def store_checkpoint(c, trial, step, files=None, place=None):
    """Stores a checkpoint as a task does: first the files, then the report."""
    name = str(uuid.uuid4())
    place = pathlib.Path(place or c.storage) / name
    files = {"state": "abc", "code/model.py": "x = 1\n"} if files is None else files
    files = {**files, "metadata.json": json.dumps({"steps_completed": step})} if files else files
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    resources = {str(p.relative_to(place)) + "/" * p.is_dir(): 0 if p.is_dir() else p.stat().st_size for p in place.rglob("*")}
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    reply = c.report_checkpoint({"uuid": name, "taskId": task, "state": "STATE_COMPLETED",
                                           "resources": {k: str(v) for k, v in resources.items()},
                                           "metadata": {"steps_completed": step}})
    assert reply.status == 200, reply
    return name


def validate(c, trial, step, loss):
    assert c.post(f"/api/v1/trials/{trial}/metrics", {"group": "validation", "metrics": {
        "trialId": trial, "trialRunId": 0, "stepsCompleted": step, "metrics": {"avgMetrics": {"loss": loss}}}}).status == 200


def worked_experiment(c, rule):
    """Makes the example under `rule`, not yet over. Returns the checkpoints by their numbers in the example."""
    x = c.create(activate=False, searcher=TWO_TRIALS, hyperparameters=HYPERPARAMETERS, checkpoint_storage=storage(c, **rule))
    trials = sorted(c.trial_ids(x))
    numbered = {}
    for n, (trial, loss) in enumerate(WORKED, 1):
        if loss is not None:
            validate(c, trials[trial], n, loss)
        numbered[n] = store_checkpoint(c, trials[trial], n)
    return x, numbered


def small_experiment(c, **changed_storage):
    """Makes an experiment with one trial, of whose checkpoints none is removed when it ends."""
    x = c.create(activate=False, checkpoint_storage={**storage(c, **policy(0, 0, 9)), **changed_storage})
    [trial] = c.trial_ids(x)
    return x, trial


def end(c, x):
    assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
    c.wait_experiment(x)


def checkpoint(c, name):
    return c.get(f"/api/v1/checkpoints/{name}").json["checkpoint"]


def wait_state(c, name, state):
    wait_for(f"{state} of {name}", lambda: checkpoint(c, name)["state"] == state)


def kept(c, numbered):
    """Returns the numbers of the checkpoints that exist. Disk and database must agree, once nothing is being removed any more."""
    known = {n for n, name in numbered.items() if checkpoint(c, name)["state"] == "STATE_COMPLETED"}
    on_disk = {n for n, name in numbered.items() if (c.storage / name / "state").exists()}
    assert known == on_disk
    return sorted(known)


def wait_collected(c, x, numbered, expected):
    def count():
        return sum(checkpoint(c, name)["state"] == "STATE_COMPLETED" for name in numbered.values())
    wait_for(f"{len(expected)} checkpoints to be left of experiment {x}", lambda: count() <= len(expected))
    # Another removal begins after all others, so when it is done no other is still under way.
    y, trial = small_experiment(c)
    last = store_checkpoint(c, trial, 1)
    end(c, y)
    assert c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [last]}).status == 200
    wait_state(c, last, "STATE_DELETED")
    assert kept(c, numbered) == expected


@pytest.mark.parametrize("rule,expected", [((0, 0, 0), []), ((2, 0, 0), [7, 8]), ((2, 1, 1), [5, 7, 8, 10]),
                                           ((0, 0, 3), [3, 4, 5, 8, 9, 10])])
def test_the_end_of_an_experiment_leaves_what_its_policy_names(master, rule, expected):
    x, numbered = worked_experiment(master, policy(*rule))
    end(master, x)
    wait_collected(master, x, numbered, expected)
    gone = next(name for n, name in numbered.items() if n not in expected)
    assert checkpoint(master, gone)["resources"] == {} and not (master.storage / gone).exists()
    assert master.experiment(x)["checkpointCount"] == len(expected)


def test_a_new_policy_is_previewed_and_works_at_once(master):
    x, numbered = worked_experiment(master, policy(9, 9, 9))
    end(master, x)
    query = "save_experiment_best=2&save_trial_best=1&save_trial_latest=0"
    preview = master.get(f"/experiments/{x}/preview_gc?{query}").json
    number = {name: n for n, name in numbered.items()}
    assert preview["metric_name"] == "loss"
    assert sorted(number[c["UUID"]] for c in preview["checkpoints"]) == [1, 2, 3, 4, 6, 9, 10]
    third = next(c for c in preview["checkpoints"] if number[c["UUID"]] == 3)
    assert (third["StepsCompleted"], third["State"], third["ValidationMetrics"]) == (3, "COMPLETED", {"loss": 0.6})
    assert third["Resources"] == {"code/": 0, "code/model.py": 6, "metadata.json": 22, "state": 3} and third["ReportTime"]
    assert kept(master, numbered) == list(range(1, 11)), "a preview removes nothing"
    assert master.patch(f"/api/v1/experiments/{x}", {"checkpointStorage": {
        "saveExperimentBest": 2, "saveTrialBest": 1, "saveTrialLatest": 0}}).status == 200
    wait_collected(master, x, numbered, [5, 7, 8])


@pytest.mark.parametrize("query,why", [
    ("", "save_experiment_best"), ("save_experiment_best=1&save_trial_best=1", "save_trial_latest"),
    ("save_experiment_best=-1&save_trial_best=1&save_trial_latest=1", "'-1'"),
    ("save_experiment_best=1x&save_trial_best=1&save_trial_latest=1", "'1x'"),
    ("save_experiment_best=1&save_trial_best=99999999999&save_trial_latest=1", "99999999999")])
def test_a_preview_wants_three_numbers(master, query, why):
    x, _ = small_experiment(master)
    reply = master.get(f"/experiments/{x}/preview_gc?{query}")
    assert reply.status == 400 and why in reply.json["message"], reply


def test_a_preview_of_nothing_is_not_found(master):
    query = "save_experiment_best=1&save_trial_best=1&save_trial_latest=1"
    assert master.get(f"/experiments/99999/preview_gc?{query}").status == 404


def test_what_a_trial_goes_on_from_is_kept(master):
    x, trial = small_experiment(master)
    old, latest = store_checkpoint(master, trial, 1), store_checkpoint(master, trial, 2)
    assert master.patch(f"/api/v1/experiments/{x}", {"checkpointStorage": {
        "saveExperimentBest": 0, "saveTrialBest": 0, "saveTrialLatest": 0}}).status == 200
    wait_state(master, old, "STATE_DELETED")
    refused = master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [latest]})
    assert refused.status == 400 and f"trial {trial} " in refused.json["error"]["error"], refused
    assert checkpoint(master, latest)["state"] == "STATE_COMPLETED" and (master.storage / latest / "state").exists()
    end(master, x)
    wait_state(master, latest, "STATE_DELETED")


def test_a_warm_start_is_kept(master):
    x, trial = small_experiment(master)
    source, other = store_checkpoint(master, trial, 1), store_checkpoint(master, trial, 2)
    end(master, x)
    y = master.create(activate=False, searcher={"name": "single", "metric": "loss", "source_checkpoint_uuid": source})
    refused = master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [source]})
    assert refused.status == 400 and "in use" in refused.json["error"]["error"], refused
    assert master.patch(f"/api/v1/experiments/{x}", {"checkpointStorage": {
        "saveExperimentBest": 0, "saveTrialBest": 0, "saveTrialLatest": 0}}).status == 200
    wait_state(master, other, "STATE_DELETED")
    assert checkpoint(master, source)["state"] == "STATE_COMPLETED" and (master.storage / source / "state").exists()
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the refusal", lambda: master.experiment(x)["state"] == "STATE_DELETE_FAILED")
    end(master, y)
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)
    assert not (master.storage / source).exists()


def test_a_deleted_experiment_leaves_no_files(master):
    x, numbered = worked_experiment(master, policy(9, 9, 9))
    end(master, x)
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)
    assert not [name for name in numbered.values() if (master.storage / name).exists()]


def test_files_are_removed_by_pattern(master):
    x, trial = small_experiment(master)
    files = {"model.pt": "12345", "optimizer/a.pt": "1", "optimizer/deep/b.pt": "22", "optimizer/notes": "n", "log.txt": "l"}
    name = store_checkpoint(master, trial, 1, files)
    end(master, x)

    def remove(*globs):
        reply = master.post("/api/v1/checkpoints/rm", {"checkpointUuids": [name], "checkpointGlobs": list(globs)})
        assert reply.status == 200, reply

    remove("optimizer/*.pt", "nothing/**/*")
    wait_state(master, name, "STATE_PARTIALLY_DELETED")
    left = {"model.pt": "5", "optimizer/": "0", "optimizer/deep/": "0", "optimizer/deep/b.pt": "2", "optimizer/notes": "1",
            "log.txt": "1", "metadata.json": "22"}
    assert checkpoint(master, name)["resources"] == left
    assert master.experiment(x)["checkpointSize"] == "31"
    (master.storage / name / "log.txt").write_text("longer")
    remove()  # there is nothing to remove, but the storage is looked at again
    left["log.txt"] = "6"
    wait_for("a look at the storage", lambda: checkpoint(master, name)["resources"] == left)
    remove("optimizer/**/*.pt")
    left = {k: v for k, v in left.items() if "deep" not in k}
    wait_for("the second removal", lambda: checkpoint(master, name)["resources"] == left)
    assert sorted(p.name for p in (master.storage / name).rglob("*")) == ["log.txt", "metadata.json", "model.pt", "notes", "optimizer"]
    remove("**/*")
    wait_state(master, name, "STATE_DELETED")
    assert not (master.storage / name).exists()
    remove("**/*")  # a second removal is no error
    assert checkpoint(master, name)["state"] == "STATE_DELETED"


@pytest.mark.parametrize("globs,why", [(["/etc/*"], "/etc/*"), ([""], "''"), (["**/**/**/**/**/a"], "**")])
def test_bad_patterns_are_refused(master, globs, why):
    reply = master.post("/api/v1/checkpoints/rm", {"checkpointUuids": [str(uuid.uuid4())], "checkpointGlobs": globs})
    assert reply.status == 400 and why in reply.json["error"]["error"], reply


def test_links_in_a_checkpoint_lead_nowhere(master):
    outside = master.dir / "outside"
    outside.mkdir()
    (outside / "precious").write_text("p")
    x, trial = small_experiment(master)
    name = store_checkpoint(master, trial, 1)
    (master.storage / name / "directory").symlink_to(outside)
    (master.storage / name / "file").symlink_to(outside / "precious")
    linked = store_checkpoint(master, trial, 2, files={})
    (master.storage / linked).symlink_to(outside)
    end(master, x)
    assert master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}).status == 200
    wait_state(master, name, "STATE_DELETED")
    assert not os.path.lexists(master.storage / name)
    assert master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [linked]}).status >= 400
    assert (outside / "precious").read_text() == "p"


def test_files_that_are_gone_already_are_no_failure(master):
    x, trial = small_experiment(master)
    name = store_checkpoint(master, trial, 1)
    end(master, x)
    (master.storage / name).rename(master.dir / "taken-away")
    assert master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}).status == 200
    wait_state(master, name, "STATE_DELETED")


def test_deleting_names_what_is_wrong(master):
    def error_of(*names):
        reply = master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": list(names)})
        return reply.status, reply.json["error"]["error"]

    unknown = str(uuid.uuid4())
    assert error_of() == (400, "checkpoint_uuids is empty; name at least one checkpoint")
    assert error_of(unknown) == (404, f"checkpoint '{unknown}' not found")


@pytest.mark.parametrize("place", [{"type": "s3", "bucket": "b"}, {"type": "directory", "container_path": "/un/mounted"}])
def test_what_is_stored_elsewhere_waits_for_an_agent(new_cluster, place):
    """Only an agent can reach the storage. The mark waits, also across a restart, and only one task is asked for."""
    c = new_cluster()
    c.start_master()
    c.login()
    x = c.create(activate=False, checkpoint_storage={**place, "save_trial_latest": 9})
    [trial] = c.trial_ids(x)
    name = store_checkpoint(c, trial, 1)
    end(c, x)
    assert c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}).status == 200
    wait_for("a task", lambda: "checkpoint.task_started" in c.master_log())
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}).status == 200
    assert checkpoint(c, name)["state"] == "STATE_COMPLETED"
    assert c.get("/api/v1/tasks").json["allocationIdToSummary"] == {}
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the other task, for TensorBoard's files", lambda: c.master_log().count("checkpoint.task_started") == 2)
    assert c.get(f"/api/v1/experiments/{x}").json["experiment"]["state"] == "STATE_DELETING"


def test_other_users_checkpoints_stay(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login("admin")
    x, trial = small_experiment(c)
    name = store_checkpoint(c, trial, 1)
    end(c, x)
    c.login()
    refused = c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]})
    assert refused.status == 403 and "belongs to user 'admin'" in refused.json["error"]["error"], refused


def test_a_removal_that_was_cut_short_goes_on_with_the_next_master(new_cluster):
    """The master is killed again and again while checkpoints are removed. In the end exactly those are left that the rule keeps."""
    c = new_cluster()
    c.start_master()
    c.login()
    experiments = [worked_experiment(c, policy(2, 1, 1)) for _ in range(3)]
    for x, _ in experiments:
        end(c, x)
        c.stop_master(signal.SIGKILL)
        c.start_master()
    for x, numbered in experiments:
        wait_collected(c, x, numbered, [5, 7, 8, 10])


def test_an_unmanaged_experiment_that_ends_is_thinned_out(master):
    config = master.experiment_config(checkpoint_storage=storage(master, **policy(0, 0, 1)))
    del config["entrypoint"]
    x = master.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True}).json["experiment"]["id"]
    trial = master.post("/api/v1/trials", {"experimentId": x, "unmanaged": True}).json["trial"]["id"]
    assert master.post(f"/api/v1/trials/{trial}/start", {}).status == 200
    old, new = store_checkpoint(master, trial, 1), store_checkpoint(master, trial, 2)
    assert master.patch(f"/api/v1/trials/{trial}", {"state": "STATE_COMPLETED"}).status == 200
    wait_state(master, old, "STATE_DELETED")
    assert not (master.storage / old).exists() and (master.storage / new / "state").exists()


def test_a_deleted_experiment_takes_its_tensorboard_files_along(master):
    cluster_id = master.get("/api/v1/master", token=None).json["clusterId"]
    files = master.storage / cluster_id / "tensorboard/experiment"
    x, trial = small_experiment(master)
    for experiment in (x, x * 100 + 7):
        (files / f"{experiment}/trial/{trial}/plugins").mkdir(parents=True)
        (files / f"{experiment}/trial/{trial}/plugins/events").write_text("1")
    end(master, x)
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)
    assert [p.name for p in files.iterdir()] == [f"{x * 100 + 7}"]


# ---- directories of checkpoints on a shared file system ----

@pytest.mark.parametrize("storage_path, place", [(None, "."), ("of/ours", "of/ours"), ("{host}/below/it", "below/it"), ("{host}", ".")])
def test_checkpoints_lie_where_storage_path_says(master, tmp_path, storage_path, place):
    """The checkpoints must be found there by a collection, by downloads through the master, and by det where the file system is mounted."""
    below = {"storage_path": storage_path.format(host=master.storage)} if storage_path else {}
    x, trial = small_experiment(master, **policy(0, 0, 1), **below)
    old, new = (store_checkpoint(master, trial, step, place=master.storage / place) for step in (1, 2))
    for mode in ("direct", "master"):
        to = tmp_path / mode
        done = run_det(master, "checkpoint", "download", "-q", "--mode", mode, "-o", to, new)
        assert done.returncode == 0 and (to / "code/model.py").read_text() == "x = 1\n", done
    end(master, x)
    wait_state(master, old, "STATE_DELETED")
    assert [(master.storage / place / name).exists() for name in (old, new)] == [False, True]
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)
    assert not (master.storage / place / new).exists()


@pytest.mark.parametrize("storage_path, why", [("../elsewhere", 'must not contain ".."'), ("/elsewhere", "must be relative or below host_path"),
                                               ("{host}-beside", "must be relative or below host_path")])
def test_a_storage_path_that_leads_out_is_refused(master, storage_path, why):
    config = master.experiment_config(checkpoint_storage=storage(master, storage_path=storage_path.format(host=master.storage)))
    reply = master.post("/api/v1/experiments", {"config": json.dumps(config), "modelDefinition": [], "activate": False})
    assert reply.status == 400 and why in reply.json["error"]["error"], reply


def test_a_checkpoint_is_found_by_a_unique_beginning_of_its_id(master):
    x, trial = small_experiment(master)
    first, second = store_checkpoint(master, trial, 1), store_checkpoint(master, trial, 2)
    n = next(i for i in range(4, 36) if first[:i] != second[:i])
    assert checkpoint(master, first[:max(n, 12)])["uuid"] == first and checkpoint(master, second)["uuid"] == second
    for beginning in (first[:3], "ffff-ffff", "%", first[:8] + "%"):
        assert master.get(f"/api/v1/checkpoints/{urllib.parse.quote(beginning)}").status == 404
    twin = first[:-1] + ("0" if first[-1] != "0" else "1")
    task = master.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    assert master.report_checkpoint({"uuid": twin, "taskId": task, "state": "STATE_COMPLETED", "resources": {},
                                     "metadata": {"steps_completed": 3}}).status == 200
    reply = master.get(f"/api/v1/checkpoints/{first[:20]}")
    assert reply.status == 400 and first in reply.json["error"]["error"] and twin in reply.json["error"]["error"]
    end(master, x)
