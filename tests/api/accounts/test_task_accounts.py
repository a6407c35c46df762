"""Tests accounts that tasks run as and that may not write to a directory of checkpoints: this is reported when the account is set, and
when an experiment is created."""
import json
import os

import pytest

STRANGER = 64123
LINK = {"agentUid": STRANGER, "agentUser": "lab", "agentGid": STRANGER, "agentGroup": "lab"}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the directories belong to root, whom only root can be")


@pytest.fixture
def cluster(new_cluster):
    """A cluster whose storage belongs to root, and to which nobody else may write."""
    c = new_cluster()
    c.start_master()
    c.login("admin")
    c.storage.chmod(0o755)
    return c


def refused(reply, directory):
    """Checks that the reply is one sentence that names the account's user, the directory, and what to do."""
    assert reply.status == 400, reply
    text = reply.json["error"]["error"]
    assert text.startswith(f"the account that tasks run as, lab (uid {STRANGER}), may not write to the checkpoint directory {directory}: "), text
    assert "belongs to uid 0 and gid 0 and has mode 0755" in text
    assert f"chown {STRANGER} {directory}, or chmod 1777 {directory} for all" in text and "checkpoint_storage" in text
    assert "\n" not in text


def warnings(reply):
    assert reply.status == 200, reply
    return [w for w in reply.json.get("configWarnings") or [] if w.startswith("checkpoints can't be stored: ")]


def create(c, **more):
    return c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config()), "activate": False, **more})


def link(c, name):
    users = c.get("/api/v1/users").json["users"]
    user = next(u["id"] for u in users if u["username"] == name)
    return c.patch(f"/api/v1/users/{user}", {"agentUserGroup": LINK})


def test_a_workspaces_account__has_to_write_to_its_storage(cluster):
    refused(cluster.post("/api/v1/workspaces", {"name": "w", "agentUserGroup": LINK}), cluster.storage)
    w = cluster.post("/api/v1/workspaces", {"name": "w"}).json["workspace"]["id"]
    refused(cluster.patch(f"/api/v1/workspaces/{w}", {"agentUserGroup": LINK}), cluster.storage)
    assert not cluster.get(f"/api/v1/workspaces/{w}").json["workspace"].get("agentUserGroup"), "nothing was changed"
    cluster.storage.chmod(0o1777)
    assert cluster.patch(f"/api/v1/workspaces/{w}", {"agentUserGroup": LINK}).status == 200


def test_a_workspaces_storage__has_to_be_open_to_its_account(cluster, tmp_path):
    (tmp_path / "ours").mkdir(mode=0o755)
    storage = {"checkpointStorageConfig": {"type": "shared_fs", "host_path": str(tmp_path / "ours")}}
    cluster.storage.chmod(0o1777)
    w = cluster.post("/api/v1/workspaces", {"name": "w", "agentUserGroup": LINK}).json["workspace"]["id"]
    refused(cluster.patch(f"/api/v1/workspaces/{w}", storage), tmp_path / "ours")
    (tmp_path / "ours").chmod(0o1777)
    cluster.storage.chmod(0o755)
    assert cluster.patch(f"/api/v1/workspaces/{w}", storage).status == 200, "the cluster's storage is none of its concern"


def test_a_users_account__has_to_write_to_the_clusters_storage(cluster):
    refused(link(cluster, "determined"), cluster.storage)
    user = {"username": "ann", "active": True, "agentUserGroup": LINK}
    refused(cluster.post("/api/v1/users", {"user": user}), cluster.storage)
    assert "ann" not in [u["username"] for u in cluster.get("/api/v1/users").json["users"]]
    os.chown(cluster.storage, STRANGER, 0)
    assert link(cluster, "determined").status == 200


@pytest.mark.parametrize("storage", [
    {"type": "shared_fs", "host_path": "/no/such/place"},
    {"type": "directory", "container_path": "/no/such/place"},
    {"type": "s3", "bucket": "b"},
])
def test_what_the_master_cannot_know__is_not_refused(cluster, storage):
    group = {"name": "w", "agentUserGroup": LINK, "checkpointStorageConfig": storage}
    assert cluster.post("/api/v1/workspaces", group).status == 200


def test_root_and_an_account_without_a_uid__are_for_the_agent_to_decide(cluster):
    made = cluster.post("/api/v1/workspaces", {"name": "w", "agentUserGroup": {"agentGid": STRANGER, "agentGroup": "lab"}})
    assert made.status == 200, made
    assert warnings(create(cluster)) == [], "nobody is linked: each owner has a uid of their own"


def test_an_experiment__is_created_with_a_warning(cluster):
    cluster.storage.chmod(0o1777)
    assert link(cluster, "admin").status == 200
    assert warnings(create(cluster)) == []
    cluster.storage.chmod(0o755)
    for more in ({}, {"validateOnly": True}):
        (warning,) = warnings(create(cluster, **more))
        assert f"lab (uid {STRANGER}), may not write to the checkpoint directory {cluster.storage}" in warning
    made = create(cluster, activate=True).json["experiment"]["id"]
    (warning,) = warnings(create(cluster, parentId=made))
    cluster.post(f"/api/v1/experiments/{made}/kill")
    cluster.wait_experiment(made)
    (trial,) = cluster.trial_ids(made)
    assert warning in cluster.trial_log(trial), "whoever looks into the log learns it, too"
    continued = cluster.post("/api/v1/experiments/continue", {"id": made})
    assert warnings(continued) == [warning]
    cluster.post(f"/api/v1/experiments/{made}/kill")


def test_a_missing_directory__is_looked_for_in_the_nearest_one(cluster):
    cluster.storage.chmod(0o1777)
    assert link(cluster, "admin").status == 200
    below = cluster.experiment_config(checkpoint_storage={"storage_path": "a/b"})
    assert warnings(create(cluster, config=json.dumps(below))) == []
    cluster.storage.chmod(0o755)
    (warning,) = warnings(create(cluster, config=json.dumps(below)))
    assert f"may not make the checkpoint directory {cluster.storage}/a/b: on the master's machine {cluster.storage} belongs to uid 0" in warning


def test_a_directory_that_a_mount_brings__is_not_judged_by_ours(cluster):
    cluster.storage.chmod(0o1777)
    assert link(cluster, "admin").status == 200
    cluster.storage.chmod(0o755)
    config = {"checkpoint_storage": {"type": "directory", "container_path": str(cluster.storage)}}
    assert len(warnings(create(cluster, config=json.dumps(cluster.experiment_config(**config))))) == 1
    mount = {"bind_mounts": [{"host_path": "/", "container_path": str(cluster.dir)}]}
    assert warnings(create(cluster, config=json.dumps(cluster.experiment_config(**config, **mount)))) == []
