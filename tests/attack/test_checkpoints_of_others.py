"""Tests checkpoints of other users: reported again, reported into their trials, changed and removed by a user who may not do so."""
import json
import threading
import uuid

import pytest
from attack.checkpoints import body, files, report, running_trial, seen, sentence, told, unmanaged_trial, with_users
from support.cluster import PASSWORD, Cluster, wait_for


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Returns (a cluster with an agent, ann's token, bob's token)."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        c.start_agent(slots=4)
        ann, bob = with_users(c)
        yield c, ann, bob


@pytest.fixture(scope="module")
def tasks(world):
    """Returns two running trials, ann's and bob's, each as (experiment, trial, task, session)."""
    c, ann, bob = world
    return running_trial(c, ann), running_trial(c, bob)


@pytest.fixture
def anns(world):
    """Returns a checkpoint of ann's, as the API shows it."""
    c, ann, _ = world
    _, _, task = unmanaged_trial(c, ann)
    name = files(c.storage)
    assert report(c, ann, task, name).status == 200
    return name, seen(c, name)


def test_a_person_reports_anothers_checkpoint_again_and_owns_it(world, anns):
    c, _, bob = world
    name, before = anns
    _, trial, task = unmanaged_trial(c, bob)
    assert "was reported by another trial" in sentence(report(c, bob, task, name, step=9), 409)
    assert seen(c, name) == before
    assert c.get(f"/api/v1/trials/{trial}", token=bob).json["trial"]["checkpointCount"] == 0
    assert c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}, token=bob).status == 403
    assert (c.storage / name / "w").exists()


def test_a_task_reports_anothers_checkpoint_as_its_own_and_restarts_from_it(world, tasks, anns):
    c, _, bob = world
    _, (x, trial, task, session) = tasks
    name, before = anns
    assert "was reported by another trial" in sentence(report(c, session, task, name, step=1000), 409)
    assert seen(c, name) == before
    runs = len(told(c, trial, "latest"))
    assert c.post(f"/api/v1/experiments/{x}/pause", token=bob).status == 200
    wait_for("the pause", lambda: c.experiment(x)["state"] == "STATE_PAUSED")
    assert c.post(f"/api/v1/experiments/{x}/activate", token=bob).status == 200
    assert told(c, trial, "latest", runs + 1)[-1] != name


def test_a_task_reports_a_checkpoint_into_anothers_trial(world, tasks):
    c, _, _ = world
    _, anns_trial, anns_task, _ = tasks[0]
    session = told(c, tasks[1][1], "token")[-1]
    assert report(c, session, anns_task, step=1000).status == 403
    assert c.get(f"/api/v1/trials/{anns_trial}/checkpoints", token=c.admin_token()).json["checkpoints"] == []


def test_a_task_names_another_allocation_than_its_own(world, tasks):
    c, _, _ = world
    _, _, task, session = tasks[0]
    refused = report(c, session, task, allocationId=f"{tasks[1][2]}.1")
    assert "is no allocation of task" in sentence(refused, 400)


@pytest.mark.parametrize("managed", [True, False])
def test_a_person_reports_a_checkpoint_into_anothers_trial(world, tasks, managed):
    c, ann, bob = world
    task = tasks[0][2] if managed else unmanaged_trial(c, ann)[2]
    assert report(c, bob, task).status == 403
    assert c.get(f"/api/v1/tasks/{task}", token=ann).status == 200


def test_a_person_reports_a_checkpoint_into_a_trial_that_the_cluster_runs(world, tasks):
    c, ann, _ = world
    assert "reported by its own task" in sentence(report(c, ann, tasks[0][2]), 403)


def test_two_trials_report_one_uuid_at_the_same_moment(world, tasks):
    """Two trials report the same UUID. The first gets the checkpoint, the other gets an error, and only the first goes on from it."""
    c = world[0]
    sessions = [told(c, t[1], "token")[-1] for t in tasks]
    for step in range(2000, 2040):
        name, start, status = str(uuid.uuid4()), threading.Barrier(2), [None, None]

        def send(i, name=name, start=start, status=status, step=step):
            start.wait()
            status[i] = report(c, sessions[i], tasks[i][2], name, step=step).status

        threads = [threading.Thread(target=send, args=(i,)) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sorted(status) == [200, 409]
        winner = status.index(200)
        assert seen(c, name)["taskId"] == tasks[winner][2]
        # The latest checkpoint that the core holds for either trial is the trial's own.
        for t in tasks:
            latest = c.get(f"/api/v1/trials/{t[1]}", token=c.admin_token()).json["trial"].get("latestCheckpoint") or {}
            assert not latest or seen(c, latest["uuid"])["taskId"] == t[2]


def test_a_task_repeats_its_report(world, tasks):
    """A reply may be lost; the library then sends the request again."""
    c = world[0]
    x, trial, task, _ = tasks[0]
    session = told(c, trial, "token")[-1]
    said = body(task, step=3000)
    assert c.post("/api/v1/checkpoints", said, token=session).status == 200
    n = c.experiment(x)["checkpointCount"]
    assert c.post("/api/v1/checkpoints", {**said, "resources": {"w": "7"}}, token=session).status == 200
    assert c.experiment(x)["checkpointCount"] == n and seen(c, said["uuid"])["resources"] == {"w": "7"}


CHANGES = {
    "metadata": lambda c, name, token: c.post(f"/api/v1/checkpoints/{name}/metadata", {"uuid": name, "metadata": {"mine": 1}}, token=token),
    "state": lambda c, name, token: c.patch("/api/v1/checkpoints", {"checkpoints": [{"uuid": name, "resources": {"resources": {}}}]},
                                            token=token),
    "files": lambda c, name, token: c.post("/api/v1/checkpoints/rm", {"checkpointUuids": [name], "checkpointGlobs": ["w"]}, token=token),
    "all": lambda c, name, token: c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}, token=token),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("who", ["person", "task", "own task of another trial"])
def test_somebody_changes_anothers_checkpoint(world, tasks, anns, what, who):
    c, _, bob = world
    name, before = anns
    token = {"person": bob, "task": told(c, tasks[1][1], "token")[-1], "own task of another trial": told(c, tasks[0][1], "token")[-1]}[who]
    assert CHANGES[what](c, name, token).status == 403
    assert seen(c, name) == before and (c.storage / name / "w").exists()


@pytest.mark.parametrize("what", CHANGES)
def test_its_owner_changes_a_checkpoint(world, anns, what):
    c, ann, _ = world
    assert CHANGES[what](c, anns[0], ann).status == 200


def test_one_of_several_is_anothers_and_none_is_removed(world, anns):
    c, _, bob = world
    _, _, task = unmanaged_trial(c, bob)
    mine = files(c.storage)
    assert report(c, bob, task, mine).status == 200
    body_of = {"checkpointUuids": [mine, anns[0]]}
    assert c.request("DELETE", "/api/v1/checkpoints", body_of, token=bob).status == 403
    patched = [{"uuid": name, "resources": {"resources": {}}} for name in body_of["checkpointUuids"]]
    assert c.patch("/api/v1/checkpoints", {"checkpoints": patched}, token=bob).status == 403
    assert seen(c, mine)["state"] == "STATE_COMPLETED"


@pytest.mark.parametrize("name", ["../../../../../../../etc/aaaaaaaaaaa", "0a1b2c3d-1111-4222-8333-44445555666/", "-" * 36,
                                  "0A1B2C3D-1111-4222-8333-444455556666", "0a1b2c3d11114222833344445555666600000"])
def test_a_uuid_is_none(world, name):
    c, ann, _ = world
    _, _, task = unmanaged_trial(c, ann)
    assert "is not a UUID" in sentence(report(c, ann, task, name), 400)


def test_a_checkpoint_names_anothers_storage_and_its_credentials(world):
    c, ann, bob = world
    secret = {"type": "s3", "bucket": "anns", "access_key": "key", "secret_key": "secret"}
    _, trial, anns_task = unmanaged_trial(c, ann)
    storage = c.post("/api/v1/runs/start", {"runId": trial, "checkpointStorage": secret}, token=ann).json["storageId"]
    _, mine, task = unmanaged_trial(c, bob)
    assert f"is no storage of trial {mine}" in sentence(report(c, bob, task, storageId=storage), 400)
    assert c.post("/api/v1/runs/start", {"runId": trial, "checkpointStorage": {"type": "s3", "bucket": "bobs"}}, token=bob).status == 403
    assert report(c, ann, anns_task, storageId=storage).status == 200


def test_a_trial_starts_from_a_checkpoint_that_nobody_reported(world):
    c, _, bob = world
    for unknown in (str(uuid.uuid4()), "../../etc"):
        config = c.experiment_config(searcher={"name": "single", "metric": "loss", "source_checkpoint_uuid": unknown})
        reply = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": False}, token=bob)
        assert 400 <= reply.status < 500 and "source_checkpoint_uuid" in sentence(reply, reply.status)


def test_somebody_removes_anothers_files_where_everybody_changes_everything(new_cluster):
    c = new_cluster(config={"security": {"initial_user_password": PASSWORD, "sharing": "open"}})
    c.start_master()
    ann, bob = with_users(c)
    _, _, task = unmanaged_trial(c, ann)
    name = files(c.storage)
    assert report(c, ann, task, name).status == 200
    said = {what: CHANGES[what](c, name, bob).status for what in ("files", "all", "metadata", "state")}
    assert said == {"files": 403, "all": 403, "metadata": 200, "state": 200}
    assert (c.storage / name / "w").exists()
