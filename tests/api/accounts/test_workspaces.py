"""Tests workspaces and projects: creating, changing, archiving, pinning, moving and deleting them, what experiments get from them, and
the commands of det."""
import base64
import concurrent.futures
import json

import pytest
from support.cluster import error_of, wait_for
from support.det import run_det


def workspace(c, name, **more):
    reply = c.post("/api/v1/workspaces", {"name": name, **more})
    assert reply.status == 200, reply
    return reply.json["workspace"]


def project(c, workspace_id, name, **more):
    reply = c.post(f"/api/v1/workspaces/{workspace_id}/projects", {"name": name, **more})
    assert reply.status == 200, reply
    return reply.json["project"]


def as_admin(c):
    return c.login("admin", keep=False).json["token"]


def create_in(c, project_id, **changes):

    return c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(**changes)), "projectId": project_id, "activate": False})


def kill(c, x):
    assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
    c.wait_experiment(x)


def test_a_workspace_comes_back_as_it_was_made(master):
    made = workspace(master, "made", defaultComputePool="default", checkpointStorageConfig={"type": "shared_fs", "host_path": "/w"})
    assert (made["name"], made["username"], made["defaultComputePool"], made["defaultAuxPool"]) == ("made", "determined", "default", "")
    assert made["checkpointStorageConfig"] == {"type": "shared_fs", "host_path": "/w"}
    assert made["pinned"] and not made["immutable"] and not made["archived"], "whoever makes one wants to see it"
    assert master.get(f"/api/v1/workspaces/{made['id']}").json["workspace"] == made
    assert error_of(master.post("/api/v1/workspaces", {"name": "made"}), 409) == 'workspace "made" already exists'


@pytest.mark.parametrize("body, message", [
    ({}, "the name of a workspace must have 1 to 80 characters, it has 0"),
    ({"name": "x" * 81}, "the name of a workspace must have 1 to 80 characters, it has 81"),
    ({"name": "   "}, "the name of a workspace must not be blank"),
    ({"name": "a\nb"}, "the name of a workspace must not contain control characters"),
    ({"name": "p", "defaultComputePool": "gone"}, 'there is no resource pool "gone" (pools: default)'),
    ({"name": "p", "checkpointStorageConfig": {"type": "shared_fs"}}, '"host_path" must be set'),
    ({"name": "p", "checkpointStorageConfig": {"type": "tape"}}, "checkpoint_storage: type must be one of"),
    ({"name": "p", "clusterQuotaPairs": {"": 3}}, "no Kubernetes resource manager"),
])
def test_what_cannot_be_a_workspace(master, body, message):
    assert message in error_of(master.post("/api/v1/workspaces", body), 400)
    assert not [w for w in master.get("/api/v1/workspaces").json["workspaces"] if w["name"] == "p"]


def test_eighty_characters_of_two_bytes_are_a_name(master):
    assert workspace(master, "é" * 80)["name"] == "é" * 80


def test_changes_and_who_may_make_them(master):
    admin = as_admin(master)
    mine, other = workspace(master, "mine"), master.post("/api/v1/workspaces", {"name": "other"}, token=admin).json["workspace"]
    path = f"/api/v1/workspaces/{mine['id']}"
    assert master.patch(path, {"name": "renamed", "defaultAuxResourcePool": "default"}).json["workspace"]["defaultAuxPool"] == "default"
    assert master.patch(path, {"defaultAuxResourcePool": ""}).json["workspace"]["defaultAuxPool"] == ""
    assert master.get(path).json["workspace"]["name"] == "renamed"
    assert "belongs to user 'admin'" in error_of(master.patch(f"/api/v1/workspaces/{other['id']}", {"name": "x"}), 403)
    assert master.request("DELETE", f"/api/v1/workspaces/{other['id']}").status == 403
    assert master.post(f"/api/v1/workspaces/{other['id']}/archive").status == 403
    assert error_of(master.patch(path, {"name": "other"}), 409) == 'workspace "other" already exists'
    assert "immutable" in error_of(master.patch("/api/v1/workspaces/1", {"name": "x"}, token=admin), 400)
    assert "immutable" in error_of(master.request("DELETE", "/api/v1/workspaces/1", token=admin), 400)
    assert error_of(master.patch("/api/v1/workspaces/999", {"name": "x"}), 404) == "workspace '999' not found"


def test_secrets_are_not_shown_and_stars_are_none(master):
    storage = {"type": "s3", "bucket": "b", "access_key": "A", "secret_key": "S"}
    made = workspace(master, "secret", checkpointStorageConfig=storage)
    shown = made["checkpointStorageConfig"]
    assert shown == {**storage, "access_key": "********", "secret_key": "********"}
    assert "secret itself" in error_of(master.patch(f"/api/v1/workspaces/{made['id']}", {"checkpointStorageConfig": shown}), 400)
    assert master.patch(f"/api/v1/workspaces/{made['id']}", {"checkpointStorageConfig": {}}).json["workspace"].get(
        "checkpointStorageConfig") is None


def test_pins_are_everybodys_own(master):
    admin = as_admin(master)
    w = workspace(master, "pinned")["id"]
    assert master.post(f"/api/v1/workspaces/{w}/unpin").status == 200
    assert not master.get(f"/api/v1/workspaces/{w}").json["workspace"]["pinned"]
    assert master.post(f"/api/v1/workspaces/{w}/pin", token=admin).status == 200
    names = lambda token: [x["id"] for x in master.get("/api/v1/workspaces?pinned=true", token=token).json["workspaces"]]  # noqa: E731
    assert w in names(admin) and w not in names("")
    assert master.post("/api/v1/workspaces/999/pin").status == 404


def test_the_account_of_tasks_is_the_admins_affair(master):
    group = {"agentUid": 77, "agentUser": "lab"}
    assert master.post("/api/v1/workspaces", {"name": "lab", "agentUserGroup": group}).status == 403
    made = master.post("/api/v1/workspaces", {"name": "lab", "agentUserGroup": group}, token=as_admin(master)).json["workspace"]
    assert {k: v for k, v in made["agentUserGroup"].items() if v is not None} == group


def test_experiments_take_storage_and_pool_from_their_workspace(new_cluster):
    c = new_cluster(config={"resource_pools": [{"pool_name": "default"}, {"pool_name": "slow"}]})
    c.start_master()
    c.login()
    w = workspace(c, "w", defaultComputePool="slow", checkpointStorageConfig={"type": "directory", "container_path": "/ours"})["id"]
    p = project(c, w, "p")["id"]
    config = create_in(c, p).json["config"]
    assert config["resources"]["resource_pool"] == "slow"
    assert (config["checkpoint_storage"]["type"], config["checkpoint_storage"]["container_path"]) == ("directory", "/ours")
    assert "host_path" not in config["checkpoint_storage"], "what another kind of storage needs does not come along"
    assert config["checkpoint_storage"]["save_trial_latest"] == 1000, "common members come from the cluster"
    by_name = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(workspace="w", project="p")), "activate": False})
    assert by_name.json["config"]["resources"]["resource_pool"] == "slow"
    own = create_in(c, p, resources={"resource_pool": "default"}, checkpoint_storage={"type": "shared_fs", "host_path": "/mine"}).json["config"]
    assert (own["resources"]["resource_pool"], own["checkpoint_storage"]["host_path"]) == ("default", "/mine")
    assert create_in(c, 1).json["config"]["resources"]["resource_pool"] == "default"


def test_archived_places_stay_as_they_are(master):
    w = workspace(master, "archive")["id"]
    p = project(master, w, "p")["id"]
    for _ in range(2):
        assert master.post(f"/api/v1/workspaces/{w}/archive").status == 200
    assert master.get(f"/api/v1/workspaces/{w}").json["workspace"]["archived"]
    assert "archived" in error_of(master.patch(f"/api/v1/workspaces/{w}", {"name": "x"}), 400)
    assert "archived" in error_of(master.post(f"/api/v1/workspaces/{w}/projects", {"name": "q"}), 400)
    assert "archived" in error_of(master.patch(f"/api/v1/projects/{p}", {"name": "x"}), 400)
    assert "archived" in error_of(create_in(master, p), 400)
    assert "archived" in error_of(master.post(f"/api/v1/projects/{p}/archive"), 400)
    assert master.post(f"/api/v1/workspaces/{w}/unarchive").status == 200
    assert master.post(f"/api/v1/projects/{p}/archive").status == 200
    assert "archived" in error_of(master.post(f"/api/v1/projects/{p}/move", {"destinationWorkspaceId": 1}), 400)
    assert master.post(f"/api/v1/projects/{p}/unarchive").status == 200
    assert master.patch(f"/api/v1/projects/{p}", {"name": "x"}).status == 200


def test_projects_have_keys_of_their_own(master):
    w = workspace(master, "keys")["id"]
    keys = [project(master, w, name)["key"] for name in ("vision one", "vision two", "vis", "… x!", "!!")]
    assert keys[:4] == ["VIS", "VIS1", "VIS2", "X"] and keys[4][0] == "P"
    assert project(master, w, "own", key="OWN5")["key"] == "OWN5"
    assert error_of(master.post(f"/api/v1/workspaces/{w}/projects", {"name": "other", "key": "OWN5"}), 409) == (
        'a project with the key "OWN5" already exists')
    assert "must be 1 to 5 upper-case letters and digits" in error_of(master.post(f"/api/v1/workspaces/{w}/projects", {"name": "o", "key": "own"}), 400)
    assert error_of(master.post(f"/api/v1/workspaces/{w}/projects", {"name": "own"}), 409) == f'project "own" already exists in workspace {w}'
    assert master.get("/api/v1/projects/key/OWN5").json["project"]["name"] == "own"


def test_projects_change_and_move_with_their_notes(master):
    w, there = workspace(master, "from")["id"], workspace(master, "to")["id"]
    p = project(master, w, "p", description="d")["id"]
    assert master.patch(f"/api/v1/projects/{p}", {"description": "e", "key": "ZZZ"}).json["project"]["key"] == "ZZZ"
    assert master.request("PUT", f"/api/v1/projects/{p}/notes", {"notes": [{"name": "a", "contents": "1"}]}).json["notes"] == [
        {"name": "a", "contents": "1"}]
    assert len(master.post(f"/api/v1/projects/{p}/notes", {"name": "b\"", "contents": "é\n"}).json["notes"]) == 2
    assert master.post(f"/api/v1/projects/{p}/move", {"destinationWorkspaceId": there}).status == 200
    moved = master.get(f"/api/v1/projects/{p}").json["project"]
    assert (moved["workspaceId"], moved["description"], moved["notes"][1]) == (there, "e", {"name": "b\"", "contents": "é\n"})
    assert master.post(f"/api/v1/projects/{p}/move", {"destinationWorkspaceId": 999}).status == 404


def test_the_second_of_two_who_change_a_place_at_once_is_told(master):
    w = workspace(master, "at once")["id"]
    p = project(master, w, "at once")["id"]
    for path, name, key in ((f"/api/v1/workspaces/{w}", "workspace", "name"), (f"/api/v1/projects/{p}", "project", "name")):
        seen = master.get(path).json[name]["modifiedAt"]
        changed = master.patch(path, {key: "first", "ifModifiedAt": seen})
        assert changed.status == 200 and changed.json[name]["modifiedAt"] > seen, changed
        why = error_of(master.patch(path, {key: "second", "ifModifiedAt": seen}), 409)
        assert f'{name} "first" was changed at ' in why and "since you read it" in why
        now = master.get(path).json[name]
        assert now["name"] == "first" and now == changed.json[name]
        assert master.patch(path, {key: "third", "ifModifiedAt": now["modifiedAt"]}).status == 200
        assert master.patch(path, {key: "fourth"}).status == 200
        assert master.patch(path, {key: "x", "ifModifiedAt": "yesterday"}).status == 400
        before = master.get(path).json[name]["modifiedAt"]
        assert master.post(f"{path}/archive").status == 200 and master.post(f"{path}/unarchive").status == 200
        assert master.get(path).json[name]["modifiedAt"] > before
    seen = master.get(f"/api/v1/projects/{p}").json["project"]["modifiedAt"]
    notes = f"/api/v1/projects/{p}/notes"
    assert master.request("PUT", notes, {"projectId": p, "notes": [{"name": "a", "contents": "1"}], "ifModifiedAt": seen}).status == 200
    error_of(master.request("PUT", notes, {"projectId": p, "notes": [], "ifModifiedAt": seen}), 409)
    assert [n["name"] for n in master.get(f"/api/v1/projects/{p}").json["project"]["notes"]] == ["a"]


def test_an_empty_place_goes_at_once_and_its_number_does_not_come_again(master):
    w = workspace(master, "empty")["id"]
    p = project(master, w, "p")["id"]
    assert master.request("DELETE", f"/api/v1/projects/{p}").json == {"completed": True}
    assert project(master, w, "p")["id"] > p
    assert master.request("DELETE", f"/api/v1/workspaces/{w}").json == {"completed": True}
    assert master.get(f"/api/v1/workspaces/{w}").status == 404
    assert workspace(master, "empty")["id"] > w


def test_a_place_goes_with_all_that_is_in_it(master):
    w = workspace(master, "full")["id"]
    p, q = project(master, w, "p")["id"], project(master, w, "q")["id"]
    x, y = (create_in(master, place).json["experiment"]["id"] for place in (p, q))
    assert "has 2 experiments that are not over" in error_of(master.request("DELETE", f"/api/v1/workspaces/{w}"), 400)
    kill(master, x)
    kill(master, y)
    assert master.request("DELETE", f"/api/v1/workspaces/{w}").json == {"completed": False}
    wait_for("the deletion", lambda: master.get(f"/api/v1/workspaces/{w}").status == 404)
    assert [master.get(f"/api/v1/projects/{place}").status for place in (p, q)] == [404, 404]
    assert [master.get(f"/api/v1/experiments/{e}").status for e in (x, y)] == [404, 404]


def test_a_workspace_with_a_launched_task_that_is_not_over_is_not_deleted(master):
    w = workspace(master, "with a shell")["id"]
    made = master.post("/api/v1/commands", {"workspaceId": w, "config": {"entrypoint": ["true"], "resources": {"slots": 64}}}).json["command"]["id"]
    text = error_of(master.request("DELETE", f"/api/v1/workspaces/{w}"), 400)
    assert f"workspace {w} has 1 commands, notebooks, shells, TensorBoards or generic tasks that are not over: kill them" in text
    assert master.get(f"/api/v1/workspaces/{w}").json["workspace"]["state"] != "WORKSPACE_STATE_DELETING"
    assert master.post(f"/api/v1/commands/{made}/kill", {}).status == 200
    wait_for("its end", lambda: master.get(f"/api/v1/commands/{made}").json["command"]["state"] == "STATE_TERMINATED")
    assert master.request("DELETE", f"/api/v1/workspaces/{w}").json == {"completed": True}
    # what is over can still be looked at, though its workspace is gone
    assert master.get(f"/api/v1/commands/{made}").status == 200 and master.get("/api/v1/commands").status == 200


def test_what_belongs_to_others_is_deleted_by_admins_only(master):
    admin = as_admin(master)
    w = workspace(master, "shared")["id"]
    p = project(master, w, "p")["id"]
    theirs = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "projectId": p,
                                                 "activate": False}, token=admin).json["experiment"]["id"]
    assert master.post(f"/api/v1/experiments/{theirs}/kill", token=admin).status == 200
    assert "belongs to other users" in error_of(master.request("DELETE", f"/api/v1/projects/{p}"), 403)
    assert "belongs to other users" in error_of(master.request("DELETE", f"/api/v1/workspaces/{w}"), 403)
    assert master.request("DELETE", f"/api/v1/projects/{p}", token=admin).status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/projects/{p}").status == 404)


def test_a_place_whose_experiment_cannot_be_deleted_says_why(new_cluster):
    """A trial that runs outside of the cluster starts from a checkpoint in the workspace, so the checkpoint has to stay."""
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    w = workspace(c, "kept")["id"]
    p = project(c, w, "p")["id"]
    code = ("import determined as det\nwith det.core.init() as c:\n    with c.checkpoint.store_path({'steps_completed': 1}) as (p, u):\n"
            "        (p / 'f').write_text('x')\n    print('UUID', u)\n")


    from support.cluster import ROOT
    files = [{"path": "t.py", "type": 48, "content": base64.b64encode(code.encode()).decode(), "mtime": "0", "mode": 0o644,
              "uid": 0, "gid": 0}]
    config = c.experiment_config(entrypoint=["python3", "t.py"], environment={"environment_variables": [f"PYTHONPATH={ROOT / 'python'}"]})
    x = c.post("/api/v1/experiments", {"config": json.dumps(config), "modelDefinition": files, "projectId": p, "activate": True}).json["experiment"]["id"]
    c.wait_experiment(x)
    [uuid] = [k["uuid"] for k in c.get(f"/api/v1/experiments/{x}/checkpoints").json["checkpoints"]]
    heir = create_in(c, 1, searcher={"name": "single", "metric": "loss", "source_checkpoint_uuid": uuid}).json["experiment"]["id"]
    assert c.request("DELETE", f"/api/v1/workspaces/{w}").json == {"completed": False}
    failed = wait_for("the failure", lambda: (lambda s: s if s["state"] == "WORKSPACE_STATE_DELETE_FAILED" else None)(
        c.get(f"/api/v1/workspaces/{w}").json["workspace"]))
    assert f"experiment {x} could not be deleted" in failed["errorMessage"]
    assert "is being deleted" in error_of(create_in(c, p), 400) and "is being deleted" in error_of(
        c.post(f"/api/v1/experiments/{heir}/move", {"destinationProjectId": p}), 400)
    kill(c, heir)
    assert c.request("DELETE", f"/api/v1/experiments/{heir}").status == 200
    wait_for("the heir's deletion", lambda: c.get(f"/api/v1/experiments/{heir}").status == 404)
    assert c.request("DELETE", f"/api/v1/workspaces/{w}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/workspaces/{w}").status == 404)


def test_nothing_is_created_in_a_workspace_while_it_is_deleted(master):
    """Either the deletion finds what was created and is refused, or the creation is refused. The master goes on in both cases."""
    config = json.dumps(master.experiment_config())

    def create(p, _):
        return master.post("/api/v1/experiments", {"config": config, "projectId": p, "activate": False})

    def launch(_, w):
        return master.post("/api/v1/commands", {"config": {"entrypoint": ["true"]}, "workspaceId": w})

    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        for n in range(30):
            w = workspace(master, f"deleted-{n}")["id"]
            p = project(master, w, "p")["id"]
            created, launched = threads.submit(create, p, w), threads.submit(launch, p, w)
            deleted = threads.submit(master.request, "DELETE", f"/api/v1/workspaces/{w}").result()
            made = [reply for reply in (created.result(), launched.result()) if reply.status == 200]
            refused = [error_of(reply, reply.status) for reply in (created.result(), launched.result()) if reply.status in (400, 404)]
            assert len(made) + len(refused) == 2, (created.result(), launched.result())
            assert deleted.status == (400 if made else 200), (deleted, made)
            assert all("is being deleted" in text or "not found" in text for text in refused), refused


@pytest.fixture
def det(master, tmp_path):
    def run(*words, stdin="", fails=False):
        done = run_det(master, *words, stdin=stdin, HOME=tmp_path, DET_DEBUG_CONFIG_PATH=tmp_path)
        assert (done.returncode != 0) == fails, done
        return done.stderr if fails else done.stdout
    return run


def test_det_makes_changes_and_deletes_workspaces_and_projects(master, det, tmp_path):
    storage = tmp_path / "storage.yaml"
    storage.write_text("type: shared_fs\nhost_path: /det\n")
    made = det("workspace", "create", "cli", "--default-compute-pool", "default", "--checkpoint-storage-config-file", storage)
    assert "| cli " in made and '"host_path": "/det"' in made
    assert "Checkpoint Storage Config" in det("w", "edit", "cli", "--name", "cli2", "--checkpoint-storage-config", "{}")
    assert "/det" not in det("workspace", "describe", "cli2")
    assert "must be a JSON object" in det("w", "edit", "cli2", "--checkpoint-storage-config", "[", fails=True)
    assert "Kubernetes" in det("w", "create", "k", "--namespace", "n", fails=True)
    assert "| CLI " in det("project", "create", "cli2", "p", "--description", "words", "--key", "CLI")
    assert "| q " in det("project", "edit", "cli2", "p", "--new_name", "q", "--description", "other")
    assert det("project", "archive", "cli2", "q") == "Successfully archived project q.\n"
    assert det("project", "unarchive", "cli2", "q") == "Successfully un-archived project q.\n"
    assert det("workspace", "archive", "cli2") == "Successfully archived workspace cli2.\n"
    assert det("workspace", "unarchive", "cli2") == "Successfully un-archived workspace cli2.\n"
    assert det("project", "delete", "cli2", "q", stdin="n\n").endswith("Aborting project deletion.\n")
    [w] = [w for w in master.get("/api/v1/workspaces?nameCaseSensitive=cli2").json["workspaces"]]
    p = project(master, w["id"], "r")["id"]
    x = create_in(master, p).json["experiment"]["id"]
    assert "not over" in det("project", "delete", "--yes", "cli2", "r", fails=True)
    kill(master, x)
    out = det("project", "delete", "--yes", "cli2", "r")
    assert out.startswith("Started deletion of project r...\n") and out.endswith("Project deleted successfully.\n")
    assert det("project", "delete", "--yes", "cli2", "q") == "Successfully deleted project q.\n"
    assert det("workspace", "delete", "--yes", "cli2") == "Successfully deleted workspace cli2.\n"
    assert "not found" in det("workspace", "delete", "--yes", "cli2", fails=True)


def test_what_lies_in_an_archived_place_is_archived(master):
    w = workspace(master, "archived-place")["id"]
    p = project(master, w, "p")["id"]
    x = create_in(master, p).json["experiment"]["id"]
    kill(master, x)
    listed = lambda query: x in {e["id"] for e in master.get(f"/api/v1/experiments?{query}").json["experiments"]}  # noqa: E731
    assert listed("archived=false") and not listed("archived=true")
    for place in (f"projects/{p}", f"workspaces/{w}"):
        assert master.post(f"/api/v1/{place}/archive").status == 200
        assert not listed("archived=false") and listed("")
        assert master.get(f"/api/v1/projects/{p}").json["project"]["archived"]
        shown = lambda value: [q["id"] for q in  # noqa: E731
                               master.get(f"/api/v1/workspaces/{w}/projects?archived={value}").json["projects"]]
        assert shown("true") == [p] and shown("false") == []
        assert master.post(f"/api/v1/{place}/unarchive").status == 200
    assert listed("archived=false") and not master.get(f"/api/v1/projects/{p}").json["project"]["archived"]


def test_the_default_workspace_keeps_its_one_project(master):
    assert "default workspace" in error_of(master.post("/api/v1/workspaces/1/projects", {"name": "q"}), 400)
    p = project(master, workspace(master, "not-default")["id"], "p")["id"]
    assert "default workspace" in error_of(master.post(f"/api/v1/projects/{p}/move", {"destinationWorkspaceId": 1}), 400)
    token = as_admin(master)
    w = workspace(master, "no-target")["id"]
    for change in (lambda: master.request("PATCH", "/api/v1/projects/1", {"name": "x"}, token=token),
                   lambda: master.request("POST", "/api/v1/projects/1/move", {"destinationWorkspaceId": w}, token=token),
                   lambda: master.request("POST", "/api/v1/projects/1/archive", token=token)):
        assert "immutable" in error_of(change(), 400)
    assert [q["id"] for q in master.get("/api/v1/workspaces/1/projects").json["projects"]] == [1]
