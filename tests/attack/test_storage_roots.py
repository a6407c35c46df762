"""Tests paths that a configuration names as checkpoint storage, and files in a checkpoint's directory. An attacker wants the master,
which may read more than the attacker, to send or to remove such files."""
import io
import json
import os
import pathlib
import signal
import subprocess
import tarfile

import pytest
from attack.checkpoints import files, report, running_trial, seen, sentence, unmanaged_trial, with_users
from support.cluster import Cluster, wait_for


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Returns (a cluster of the default set-up, ann's token, bob's token). Its checkpoint_storage is the only root."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as c:
        c.start_master()
        ann, bob = with_users(c)
        yield c, ann, bob


@pytest.fixture
def private(world, request):
    """Makes a directory that is below none of the roots, with files that look like a checkpoint, and returns (the directory, the
    checkpoint's UUID)."""
    place = world[0].dir / "private" / request.node.name.translate(str.maketrans("/[]{} ", "______"))
    return place, files(place, content="precious")


def claim(c, token, name, storage, **more):
    """Reports the UUID as a checkpoint of an experiment with this storage; returns the experiment."""
    x, _, task = unmanaged_trial(c, token, checkpoint_storage=storage)
    reply = report(c, token, task, name, **more)
    assert reply.status == 200, reply
    return x


def download(c, token, name):
    return c.get(f"/checkpoints/{name}", token=token)


def remove(c, token, name):
    return c.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [name]}, token=token)


def is_handed_over(c, name):
    return any(name in line for line in c.master_log().splitlines() if "checkpoint.handed_over" in line)


def check_untouched(c, token, place, name):
    """Neither downloads nor removals by the master may reach the files. The removal waits for a task with the owner's rights."""
    reply = download(c, token, name)
    assert reply.status == 400, reply
    assert "cannot be downloaded through the master" in reply.json["message"] and "--mode direct" in reply.json["message"]
    assert remove(c, token, name).status == 200
    wait_for("a task to be asked for", lambda: is_handed_over(c, name))
    assert (pathlib.Path(place) / name / "w").read_text() == "precious"
    return reply.json["message"]


# ---- storages that a configuration names ----

def test_an_experiment_names_a_directory_of_others(world, private):
    c, _, bob = world
    place, name = private
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(place)})
    assert "security.checkpoint_roots" in check_untouched(c, bob, place, name)


@pytest.mark.parametrize("storage", [
    {"type": "shared_fs", "host_path": "{root}/../{private}"}, {"type": "shared_fs", "host_path": "/", "storage_path": "{place}"},
    {"type": "shared_fs", "host_path": "/", "storage_path": "{relative}"}, {"type": "directory", "container_path": "{place}"},
    {"type": "directory", "container_path": "{root}/../{private}"}, {"type": "shared_fs", "host_path": "{root}-beside"},
    {"type": "shared_fs", "host_path": "{root}/link"}, {"type": "shared_fs", "host_path": "{root}", "storage_path": "link"},
    {"type": "shared_fs", "host_path": "{root}/deep/link/"}], ids=json.dumps)
def test_a_configuration_leads_out_of_a_root(world, tmp_path, storage):
    c, _, bob = world
    place = pathlib.Path(f"{c.storage}-beside")
    place.mkdir(exist_ok=True)
    name = files(place, content="precious")
    for link in (c.storage / "link", c.storage / "deep/link"):
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(place)
    names = {"root": c.storage, "place": place, "private": place.name, "relative": str(place)[1:]}
    claim(c, bob, name, {key: value.format(**names) for key, value in storage.items()})
    check_untouched(c, bob, place, name)


@pytest.mark.parametrize("storage", [{"type": "directory", "container_path": "{root}/../{private}"},
                                     {"type": "shared_fs", "host_path": "{place}"}])
def test_a_registered_storage_leads_out_of_a_root(world, private, storage):
    """Storages that trials register are not checked against the schema of configurations."""
    c, _, bob = world
    place, name = private
    names = {"root": c.storage, "place": place, "private": place.relative_to(c.dir)}
    _, trial, task = unmanaged_trial(c, bob)
    storage = {key: value.format(**names) for key, value in storage.items()}
    made = c.post("/api/v1/runs/start", {"runId": trial, "checkpointStorage": storage}, token=bob)
    assert report(c, bob, task, name, storageId=made.json["storageId"]).status == 200
    check_untouched(c, bob, place, name)


@pytest.mark.parametrize("who", ["owner", "admin"])
def test_a_workspace_names_a_directory_of_others(world, private, who):
    """A storage that an admin has set for a workspace is a root. One that the workspace's owner has set is not."""
    c, _, bob = world
    place, name = private
    w = c.post("/api/v1/workspaces", {"name": f"of {who}"}, token=bob).json["workspace"]["id"]
    p = c.post(f"/api/v1/workspaces/{w}/projects", {"name": "p", "workspaceId": w}, token=bob).json["project"]["id"]
    storage = {"type": "shared_fs", "host_path": str(place)}
    changed = c.patch(f"/api/v1/workspaces/{w}", {"checkpointStorageConfig": storage}, token=bob if who == "owner" else c.admin_token())
    assert changed.status == 200
    config = c.experiment_config()
    del config["entrypoint"]
    made = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "projectId": p}, token=bob)
    trial = c.post("/api/v1/trials", {"experimentId": made.json["experiment"]["id"], "unmanaged": True}, token=bob).json["trial"]
    assert report(c, bob, trial["taskId"], name).status == 200
    if who == "owner":
        check_untouched(c, bob, place, name)
        return
    assert download(c, bob, name).status == 200
    assert remove(c, bob, name).status == 200
    wait_for("the removal", lambda: not (place / name).exists())
    # The owner changes the storage. From then on it is set by the owner, and no longer by the admin.
    other = files(place, content="precious")
    assert c.patch(f"/api/v1/workspaces/{w}", {"checkpointStorageConfig": storage}, token=bob).status == 200
    assert report(c, bob, trial["taskId"], other).status == 200
    check_untouched(c, bob, place, other)


def test_tensorboard_files_are_removed_from_a_directory_of_others(new_cluster, tmp_path):
    c = new_cluster()
    c.start_master()
    _, bob = with_users(c)
    cluster_id = c.get("/api/v1/master", token=None).json["clusterId"]
    x, trial, _ = unmanaged_trial(c, bob, checkpoint_storage={"type": "shared_fs", "host_path": str(tmp_path / "private")})
    target = tmp_path / "private" / cluster_id / "tensorboard/experiment" / str(x)
    target.mkdir(parents=True)
    (target / "events").write_text("precious")
    assert c.post(f"/api/v1/trials/{trial}/start", {}, token=bob).status == 200
    assert c.patch(f"/api/v1/trials/{trial}", {"trialId": trial, "state": "STATE_COMPLETED"}, token=bob).status == 200
    assert c.request("DELETE", f"/api/v1/experiments/{x}/tensorboard-files", token=bob).status == 200
    wait_for("a task to be asked for", lambda: f"checkpoint.task_started exp={x} " in c.master_log())
    assert (target / "events").read_text() == "precious"


# ---- files below a root ----

def own(c, token, content="w"):
    """Makes a checkpoint in the cluster's storage."""
    _, _, task = unmanaged_trial(c, token)
    name = files(c.storage, content=content)
    assert report(c, token, task, name).status == 200
    return name


def members(reply):
    assert reply.status == 200, reply
    with tarfile.open(fileobj=io.BytesIO(reply.body)) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers() if m.isfile()}


def test_a_checkpoints_directory_is_a_link(world, private):
    c, _, bob = world
    place, name = private
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(c.storage)})
    (c.storage / name).symlink_to(place / name)
    assert "a link or a file" in sentence(download(c, bob, name), 400)
    assert "a link or a file" in sentence(remove(c, bob, name), 400)
    assert (place / name / "w").read_text() == "precious"


def test_a_checkpoint_holds_links_and_pipes(world, private):
    c, _, bob = world
    place, other = private
    name = own(c, bob)
    (c.storage / name / "directory").symlink_to(place / other)
    (c.storage / name / "file").symlink_to(place / other / "w")
    os.mkfifo(c.storage / name / "pipe")
    assert set(members(download(c, bob, name))) == {"metadata.json", "w"}
    assert remove(c, bob, name).status == 200
    wait_for("the removal", lambda: not (c.storage / name).exists())
    assert (place / other / "w").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own files as two accounts")
def test_a_hard_link_brings_in_a_file_of_another_account(world, private):
    c, _, bob = world
    place, other = private
    name = own(c, bob)
    os.link(place / other / "w", c.storage / name / "theirs")
    os.link(c.storage / name / "w", c.storage / name / "mine")
    for path in [c.storage / name, c.storage / name / "w", c.storage / name / "metadata.json"]:
        os.chown(path, 12345, 12345)
    assert set(members(download(c, bob, name))) == {"metadata.json", "w", "mine"}
    assert remove(c, bob, name).status == 200
    wait_for("the removal", lambda: not (c.storage / name).exists())
    assert (place / other / "w").read_text() == "precious"


def test_a_directory_below_a_root_is_no_checkpoint(world):
    """Tests other directories whose name is a UUID."""
    c, _, bob = world
    name = files(c.storage, content="precious")
    (c.storage / name / "metadata.json").unlink()
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(c.storage)})
    assert "has no metadata.json" in check_untouched(c, bob, c.storage, name)
    (c.storage / name / "metadata.json").symlink_to("w")
    assert "has no metadata.json" in sentence(download(c, bob, name), 400)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to own files as two accounts")
def test_a_checkpoint_that_is_being_written_is_reported_by_somebody_else_first(world):
    c, ann, bob = world
    anns_id, bobs_id = (c.get("/api/v1/me", token=token).json["user"]["id"] for token in (ann, bob))
    name = files(c.storage, content="precious")
    os.chown(c.storage / name, 2_000_000 + anns_id, 2_000_000 + anns_id)
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(c.storage)})
    assert "made by a task of another user" in check_untouched(c, bob, c.storage, name)
    mine = own(c, bob)
    os.chown(c.storage / mine, 2_000_000 + bobs_id, 2_000_000 + bobs_id)
    assert set(members(download(c, bob, mine))) == {"metadata.json", "w"}


def test_a_removal_by_pattern_keeps_what_a_checkpoint_is_recognised_by(world):
    c, _, bob = world
    name = own(c, bob)

    def remove_files(*globs):
        body = {"checkpointUuids": [name], "checkpointGlobs": list(globs)}
        assert c.post("/api/v1/checkpoints/rm", body, token=bob).status == 200

    remove_files("*.json")
    remove_files("nothing")
    assert remove(c, bob, own(c, bob)).status == 200
    assert set(members(download(c, bob, name))) == {"metadata.json", "w"}
    remove_files("*")
    wait_for("the removal", lambda: not (c.storage / name).exists())


# ---- roots that an admin names ----

@pytest.fixture
def rooted(new_cluster, tmp_path):
    """Starts a cluster whose admin has named, by a link, the directory with all files of the cluster as a root."""
    (tmp_path / "root").symlink_to(tmp_path / "cluster")
    c = new_cluster(config={"security": {"initial_user_password": "Test-Passw0rd", "checkpoint_roots": [f"{tmp_path}/root"]}})
    c.start_master()
    return c, tmp_path / "root", *with_users(c)


def test_a_root_is_a_link_and_what_is_below_it_is_served(rooted):
    c, root, _, bob = rooted
    name = files(root / "deep/er")
    claim(c, bob, name, {"type": "shared_fs", "host_path": f"{root}/./deep//er/"})
    assert set(members(download(c, bob, name))) == {"metadata.json", "w"}
    assert remove(c, bob, name).status == 200
    wait_for("the removal", lambda: not (root / "deep/er" / name).exists())


@pytest.mark.parametrize("below", ["", "/sub"])
def test_the_masters_data_directory_is_below_a_root(rooted, below):
    c, root, _, bob = rooted
    place = pathlib.Path(f"{root}/data{below}")
    name = files(place, content="precious")
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(place)})
    assert "the master's own data directory" in check_untouched(c, bob, place, name)


def test_the_specification_of_a_running_task_is_below_a_root(rooted):
    """The name of the agent's directory of a task is a UUID. In an earlier version the task's tokens were sent to whoever reported it as
    a checkpoint."""
    c, root, ann, bob = rooted
    c.start_agent()
    running_trial(c, ann)
    [directory] = [p for p in (c.dir / "agent0/tasks").iterdir() if p.is_dir()]
    place = root / "agent0/tasks"
    claim(c, bob, directory.name, {"type": "shared_fs", "host_path": str(place)})
    held = sorted(str(p) for p in directory.rglob("*"))
    assert "has no metadata.json" in sentence(download(c, bob, directory.name), 400)
    c.stop_agent(signo=signal.SIGKILL)  # else a task with the rights of its owner would try the removal
    assert remove(c, bob, directory.name).status == 200
    wait_for("a task to be asked for", lambda: is_handed_over(c, directory.name))
    assert set(held) <= {str(p) for p in directory.rglob("*")}


@pytest.mark.parametrize("root", ["/", "//.", "relative", "/a/../b", ""])
def test_a_root_is_the_whole_machine_or_a_riddle(world, root):
    config = json.dumps({"security": {"checkpoint_roots": [root]}})
    path = world[0].dir / "roots.yaml"
    path.write_text(config)
    done = subprocess.run([world[0].programs / "determined-master", "config", "check", "--config-file", path], capture_output=True, text=True)
    assert done.returncode != 0 and "must be the absolute path of a directory below /" in done.stdout + done.stderr, done


def test_the_whole_machine_is_the_clusters_storage(new_cluster, tmp_path):
    """The predecessor accepted such a configuration, and so does this master. The master removes nothing there."""
    c = new_cluster(config={"checkpoint_storage": {"type": "shared_fs", "host_path": "/"}})
    c.start_master()
    _, bob = with_users(c)
    name = files(tmp_path / "elsewhere", content="precious")
    claim(c, bob, name, {"type": "shared_fs", "host_path": str(tmp_path / "elsewhere")})
    check_untouched(c, bob, tmp_path / "elsewhere", name)
    assert "checkpoint.root_ignored" in c.master_log()
    assert seen(c, name)["state"] == "STATE_COMPLETED"
