"""Tests the model registry: models, versions, aliases, what is refused, and that registered checkpoints are kept."""
import concurrent.futures
import signal
import urllib.parse
import uuid

import pytest
from api.checkpoints.test_checkpoints import end, policy, small_experiment, storage, store_checkpoint
from support.cluster import client_hash, wait_for

MODELS = "/api/v1/models"


def path_of(*parts):
    return "/".join([MODELS, *(urllib.parse.quote(str(p), safe="") for p in parts)])


def make(c, name, **more):
    reply = c.post(MODELS, {"name": name, **more})
    assert reply.status == 200, reply
    return reply.json["model"]


def register(c, model, checkpoint, **more):
    reply = c.post(path_of(model, "versions"), {"checkpointUuid": checkpoint, **more})
    assert reply.status == 200, reply
    return reply.json["modelVersion"]


def refused(reply, status=400):
    assert reply.status == status, reply
    return reply.json["error"]["error"]


def names(c, query=""):
    reply = c.get(f"{MODELS}?{query}")
    assert reply.status == 200, reply
    return [m["name"] for m in reply.json["models"]]


@pytest.fixture(scope="module")
def trial(master):
    _, number = small_experiment(master)
    return number


@pytest.fixture(scope="module")
def other(master):
    """The token of a user who is no admin and owns nothing."""
    user = {"user": {"username": "other", "active": True}, "password": client_hash("Long-Enough-1"), "isHashed": True}
    assert master.post("/api/v1/users", user, token=master.admin_token()).status == 200
    return master.login("other", "Long-Enough-1", keep=False).json["token"]


# ---- models -------------------------------------------------------------------------------------------------------------

def test_a_model_comes_back_changes_and_goes(master):
    made = make(master, "first model", description="d", metadata={"a": {"b": [1, None]}}, labels=["x", "y", "x"], notes="# n")
    assert (made["name"], made["description"], made["labels"], made["notes"]) == ("first model", "d", ["x", "y"], "# n")
    assert (made["metadata"], made["numVersions"], made["archived"], made["workspaceId"]) == ({"a": {"b": [1, None]}}, 0, False, 1)
    assert made["username"] == "determined" and made["creationTime"] == made["lastUpdatedTime"]
    for name in ("first model", "FIRST MODEL", made["id"]):
        assert master.get(path_of(name)).json["model"] == made
    changed = master.patch(path_of("first model"), {"name": "renamed", "labels": [], "metadata": {"c": 1}, "notes": ""}).json["model"]
    assert (changed["name"], changed["labels"], changed["metadata"], changed["notes"]) == ("renamed", [], {"c": 1}, "")
    assert changed["description"] == "d" and changed["id"] == made["id"]
    assert refused(master.get(path_of("first model")), 404) == "model 'first model' not found"
    assert master.request("DELETE", path_of(made["id"])).status == 200
    assert master.request("DELETE", path_of("renamed")).status == 404
    assert make(master, "later")["id"] > made["id"]  # an id is never given again


@pytest.mark.parametrize("name, why", [
    ("", "blank"), ("   ", "blank"), ("12345", "digits"), ("a/b", "'/'"), ("a  b", "double spaces"), ("a\nb", "character 2 is U+000A"),
    ("a\u0000b", ""), (" a", "space"), ("a ", "space"), ("n" * 256, "at most 255 characters, this one has 256"), ("n" * 10000, "at most 255"),
    ("a\u200bb", "U+200B"), ("a\u202eb", "U+202E"), ("e\u0301", "U+0301"), ("\ufeffa", "U+FEFF"), ("a\u00a0b", "U+00A0")])
def test_a_name_that_cannot_be_used_is_refused(master, name, why):
    before = names(master)
    assert why in refused(master.post(MODELS, {"name": name}))
    there = make(master, f"renamed-{uuid.uuid4()}")
    assert why in refused(master.patch(path_of(there["id"]), {"name": name}))
    assert master.request("DELETE", path_of(there["id"])).status == 200
    assert names(master) == before


def test_names_are_unique_in_the_cluster_whatever_their_case(master):
    make(master, "Größe 文字-1.0_x")
    other = make(master, "another")
    for name in ("Größe 文字-1.0_x", "GRößE 文字-1.0_X"):
        assert "is named" in refused(master.post(MODELS, {"name": name}), 409)
        assert "is named" in refused(master.patch(path_of(other["id"]), {"name": name}), 409)
    assert master.patch(path_of("another"), {"name": "Another"}).json["model"]["name"] == "Another"


def test_bad_members_of_a_request_change_nothing(master):
    m = make(master, "members")
    for body in ({"labels": ["a", 1]}, {"labels": [""]}, {"labels": ["x" * 1001]}, {"labels": [str(i) for i in range(1001)]}, {"metadata": [1]},
                 {"metadata": "x"}, {"workspaceId": 4711}, {"workspaceName": "none"}, {"workspaceId": 1, "workspaceName": "Uncategorized"}):
        assert master.patch(path_of("members"), body).status in (400, 404), body
        assert master.post(MODELS, {"name": "never", **body}).status in (400, 404), body
    assert master.patch(path_of("members"), None).status == 400
    assert master.get(path_of("members")).json["model"] == m and names(master, "name=never") == []


def test_a_change_of_what_somebody_else_has_changed_meanwhile_is_refused(master, trial):
    m = make(master, "edited")
    version = register(master, "edited", store_checkpoint(master, trial, 1))
    first = master.patch(path_of("edited"), {"description": "1", "ifLastUpdatedTime": master.get(path_of("edited")).json["model"]["lastUpdatedTime"]})
    assert first.status == 200
    why = refused(master.patch(path_of("edited"), {"description": "2", "ifLastUpdatedTime": m["lastUpdatedTime"]}), 409)
    assert "model \"edited\" was changed at" in why
    assert master.get(path_of("edited")).json["model"]["description"] == "1"
    one = path_of("edited", "versions", 1)
    assert master.patch(one, {"name": "v", "ifLastUpdatedTime": version["lastUpdatedTime"]}).status == 200
    assert "version 1" in refused(master.patch(one, {"name": "w", "ifLastUpdatedTime": version["lastUpdatedTime"]}), 409)


def test_lists_have_filters_orders_and_pages(master, other, trial):
    workspace = master.post("/api/v1/workspaces", {"name": "List of models"}).json["workspace"]["id"]
    make(master, "list-b", description="Alpha", labels=["red", "round"], workspaceId=workspace)
    make(master, "list-a", description="beta", labels=["red"], workspaceName="List of models")
    assert master.post(MODELS, {"name": "LIST-c", "labels": ["round"]}, token=other).status == 200
    me = master.get("/api/v1/me").json["user"]["id"]
    register(master, "list-a", store_checkpoint(master, trial, 2))
    assert master.post(path_of("list-b", "archive")).status == 200
    q = lambda query: names(master, f"name=list-&{query}")  # noqa: E731
    assert q("") == ["list-b", "list-a", "LIST-c"] and q("sortBy=SORT_BY_NAME") == ["LIST-c", "list-a", "list-b"]
    assert q("sortBy=SORT_BY_DESCRIPTION") == ["LIST-c", "list-b", "list-a"] and q("sortBy=SORT_BY_NUM_VERSIONS&orderBy=ORDER_BY_DESC")[0] == "list-a"
    assert q("sortBy=SORT_BY_WORKSPACE")[0] == "LIST-c" and q("sortBy=SORT_BY_LAST_UPDATED_TIME")[-1] == "list-b"
    assert q("sortBy=SORT_BY_CREATION_TIME&orderBy=ORDER_BY_DESC") == ["LIST-c", "list-a", "list-b"]
    assert q("archived=true") == ["list-b"] and q("archived=false") == ["list-a", "LIST-c"]
    assert q("labels=red") == ["list-b", "list-a"] and q("labels=red&labels=round") == ["list-b"] and q("labels=RED") == []
    assert q("description=ALPHA") == ["list-b"] and q("users=other") == ["LIST-c"] and q(f"userIds={me}") == ["list-b", "list-a"]
    assert q(f"workspaceIds={workspace}") == ["list-b", "list-a"] == q("workspaceNames=List%20of%20models")
    assert q("workspaceNames=Uncategorized") == ["LIST-c"] and q("workspaceIds=4711") == []
    assert q(f"id={master.get(path_of('LIST-c')).json['model']['id']}") == ["LIST-c"] and q("id=4711") == []
    assert q("limit=2") == ["list-b", "list-a"] and q("offset=2") == ["LIST-c"] and q("offset=-1") == ["LIST-c"]
    assert master.get(f"{MODELS}?name=list-&limit=1").json["pagination"] == {"offset": 0, "limit": 1, "startIndex": 0, "endIndex": 1, "total": 3}
    for query in ("offset=99", "limit=-1", "sortBy=3", "sortBy=SORT_BY_NONE", "archived=x"):
        assert master.get(f"{MODELS}?name=list-&{query}").status == 400, query
    labels = master.get(f"/api/v1/model/labels?workspaceId={workspace}").json["labels"]
    assert labels == ["red", "round"] and set(labels) <= set(master.get("/api/v1/model/labels").json["labels"])
    assert master.get("/api/v1/model/labels?workspaceId=4711").json["labels"] == []


def test_an_archived_model_is_not_changed(master, trial):
    make(master, "archived")
    checkpoint = store_checkpoint(master, trial, 3)
    register(master, "archived", checkpoint)
    for _ in range(2):
        assert master.post(path_of("archived", "archive")).status == 200
    assert master.get(path_of("archived")).json["model"]["archived"] is True
    for reply in (master.patch(path_of("archived"), {"description": "x"}), master.post(path_of("archived", "move"), {"destinationWorkspaceId": 1}),
                  master.post(path_of("archived", "versions"), {"checkpointUuid": checkpoint}),
                  master.patch(path_of("archived", "versions", 1), {"name": "x"}),
                  master.request("PUT", path_of("archived", "aliases", "best"), {"version": 1})):
        assert "model \"archived\" is archived" in refused(reply)
    assert master.post(path_of("archived", "unarchive")).status == 200
    assert master.patch(path_of("archived"), {"description": "x"}).status == 200


def test_a_model_moves_to_workspaces_that_are_open(master):
    make(master, "moving")
    to = master.post("/api/v1/workspaces", {"name": "Destination"}).json["workspace"]["id"]
    assert master.post(path_of("moving", "move"), {"destinationWorkspaceId": to}).status == 200
    assert master.get(path_of("moving")).json["model"]["workspaceId"] == to
    assert master.patch(path_of("moving"), {"workspaceName": "Uncategorized"}).json["model"]["workspaceId"] == 1
    assert master.post(path_of("moving", "move"), {"destinationWorkspaceId": 4711}).status == 404
    assert master.post(path_of("moving", "move"), {"destinationWorkspaceId": to}).status == 200
    why = refused(master.request("DELETE", f"/api/v1/workspaces/{to}"))
    assert "has 1 models in the model registry" in why
    assert master.post(f"/api/v1/workspaces/{to}/archive").status == 200
    assert "is archived" in refused(master.post(MODELS, {"name": "never", "workspaceId": to}))
    assert master.post(path_of("moving", "move"), {"destinationWorkspaceId": 1}).status == 200
    assert "is archived" in refused(master.post(path_of("moving", "move"), {"destinationWorkspaceId": to}))
    assert master.post(f"/api/v1/workspaces/{to}/unarchive").status == 200
    assert master.request("DELETE", f"/api/v1/workspaces/{to}").status == 200


def test_only_owners_and_admins_change_and_delete(master, other, trial):
    make(master, "mine")
    checkpoint = store_checkpoint(master, trial, 4)
    register(master, "mine", checkpoint)
    tries = [("PATCH", path_of("mine"), {"description": "x"}), ("POST", path_of("mine", "archive"), None), ("DELETE", path_of("mine"), None),
             ("POST", path_of("mine", "move"), {"destinationWorkspaceId": 1}), ("POST", path_of("mine", "versions"), {"checkpointUuid": checkpoint}),
             ("PATCH", path_of("mine", "versions", 1), {"name": "x"}), ("DELETE", path_of("mine", "versions", 1), None),
             ("PUT", path_of("mine", "aliases", "best"), {"version": 1}), ("DELETE", path_of("mine", "aliases", "best"), None)]
    for method, path, body in tries:
        assert "belongs to user 'determined'" in refused(master.request(method, path, body, token=other), 403)
    assert master.get(path_of("mine"), token=other).json["model"]["numVersions"] == 1
    assert master.patch(path_of("mine"), {"description": "by an admin"}, token=master.admin_token()).status == 200
    assert master.request("DELETE", path_of("mine"), token=master.admin_token()).status == 200


# ---- versions -----------------------------------------------------------------------------------------------------------

def test_versions_are_counted_shown_changed_and_deleted(master, trial):
    make(master, "versions")
    checkpoints = [store_checkpoint(master, trial, n) for n in (11, 12, 13)]
    first = register(master, "versions", checkpoints[0], name="one", comment="c", metadata={"k": 1}, labels=["l"], notes="n")
    assert (first["version"], first["name"], first["comment"], first["metadata"], first["labels"], first["notes"]) == (1, "one", "c", {"k": 1}, ["l"], "n")
    assert first["checkpoint"]["uuid"] == checkpoints[0] and first["model"]["name"] == "versions" and first["aliases"] == []
    assert first["model"]["numVersions"] == 1 and first["username"] == "determined"
    register(master, "versions", checkpoints[1][:8])  # the beginning of a UUID
    assert register(master, "versions", checkpoints[2])["version"] == 3
    for named in (1, "1", "001"):
        assert master.get(path_of("versions", "versions", named)).json["modelVersion"]["checkpoint"] == first["checkpoint"]
    assert master.get(path_of("versions", "versions", -1)).json["modelVersion"]["version"] == 3
    listed = master.get(path_of("versions", "versions") + "?orderBy=ORDER_BY_DESC&limit=2").json
    assert [v["version"] for v in listed["modelVersions"]] == [3, 2] and listed["pagination"]["total"] == 3
    assert [v["checkpoint"]["uuid"] for v in listed["modelVersions"]] == [checkpoints[2], checkpoints[1]]
    assert listed["model"]["numVersions"] == 3
    changed = master.patch(path_of("versions", "versions", 2), {"name": "two", "labels": ["a"], "metadata": {}, "comment": "", "notes": "m"})
    assert changed.status == 200 and changed.json["modelVersion"]["name"] == "two" and changed.json["modelVersion"]["labels"] == ["a"]
    assert master.request("DELETE", path_of("versions", "versions", 2)).status == 200
    assert [v["version"] for v in master.get(path_of("versions", "versions")).json["modelVersions"]] == [1, 3]
    assert master.get(path_of("versions")).json["model"]["numVersions"] == 2
    for named in (2, 0, 4, -2, "x", "1.5", "99999999999"):
        for method in ("GET", "PATCH", "DELETE"):
            assert master.request(method, path_of("versions", "versions", named), {} if method == "PATCH" else None).status == 404, named
    assert master.request("DELETE", path_of("versions")).status == 200


def test_what_cannot_be_registered_is_refused(master, trial):
    make(master, "refusing")
    versions = path_of("refusing", "versions")
    assert "checkpointUuid is missing" in refused(master.post(versions, {}))
    assert refused(master.post(versions, {"checkpointUuid": str(uuid.uuid4())}), 404)
    assert refused(master.post(versions, {"checkpointUuid": "no uuid '\""}), 404)
    assert refused(master.post(path_of("none", "versions"), {"checkpointUuid": store_checkpoint(master, trial, 21)}), 404) == "model 'none' not found"
    gone = store_checkpoint(master, trial, 22)
    there = store_checkpoint(master, trial, 23)  # the trial would go on from the newest, so that it is in use
    assert master.request("DELETE", "/api/v1/checkpoints", {"checkpointUuids": [gone]}).status == 200
    assert gone in refused(master.post(versions, {"checkpointUuid": gone}))
    wait_for("the removal", lambda: master.get(f"/api/v1/checkpoints/{gone}").json["checkpoint"]["state"] == "STATE_DELETED")
    assert refused(master.post(versions, {"checkpointUuid": gone})) == \
        f"checkpoint {gone} is in DELETED state; checkpoints for model versions must be in a COMPLETED state"
    register(master, "refusing", there)
    assert "cannot be changed" in refused(master.patch(path_of("refusing", "versions", 1), {"checkpoint": {"uuid": gone}}))
    assert master.get(path_of("refusing")).json["model"]["numVersions"] == 1


def test_metrics_of_a_version_are_those_of_the_trials_that_use_it(master, trial):
    m = make(master, "used")
    checkpoint = store_checkpoint(master, trial, 31)
    register(master, "used", checkpoint)
    _, user = small_experiment(master)
    info = {"trialId": user, "checkpointUuid": checkpoint, "modelId": m["id"], "modelVersion": 1, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
    assert master.post("/api/v1/trial-source-info", {"trialSourceInfo": info}).status == 200
    assert master.post(f"/api/v1/trials/{user}/metrics", {"group": "inference", "metrics": {
        "trialId": user, "trialRunId": 0, "stepsCompleted": 1, "metrics": {"avgMetrics": {"acc": 0.5}}}}).status == 200
    metrics = path_of("used", "versions", 1, "metrics")
    [report] = master.get(metrics).json["metrics"]
    assert (report["trialId"], report["group"]) == (user, "inference") and report["metrics"]["avg_metrics"] == {"acc": 0.5}
    assert master.get(f"{metrics}?metricGroup=other").json["metrics"] == []
    assert len(master.get(f"{metrics}?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_INFERENCE&metricGroup=inference").json["metrics"]) == 1
    assert master.get(f"{metrics}?trialSourceInfoType=TRIAL_SOURCE_INFO_TYPE_FINE_TUNING").json["metrics"] == []
    assert master.get(path_of("used", "versions", 2, "metrics")).status == 404
    # a later version with the same number has nothing of it
    assert master.request("DELETE", path_of("used", "versions", 1)).status == 200
    register(master, "used", store_checkpoint(master, trial, 32))
    assert master.get(metrics).json["metrics"] == []


# ---- aliases ------------------------------------------------------------------------------------------------------------

def test_an_alias_stands_for_a_version_wherever_one_is_named(master, trial):
    make(master, "aliased")
    for n in (41, 42):
        register(master, "aliased", store_checkpoint(master, trial, n))
    alias = path_of("aliased", "aliases", "production")
    got = master.request("PUT", alias, {"version": 1}).json["alias"]
    assert (got["name"], got["version"], got["username"]) == ("production", 1, "determined")
    assert master.request("PUT", path_of("aliased", "aliases", "a"), {"version": 1}).status == 200
    assert [(a["name"], a["version"]) for a in master.get(path_of("aliased", "aliases")).json["aliases"]] == [("a", 1), ("production", 1)]
    named = path_of("aliased", "versions", "production")
    assert master.get(named).json["modelVersion"]["version"] == 1
    assert master.get(path_of("aliased", "versions", 1)).json["modelVersion"]["aliases"] == ["a", "production"]
    assert master.get(named + "/metrics").json["metrics"] == []
    assert master.request("PUT", alias, {"version": 2}).json["alias"]["version"] == 2
    assert master.patch(named, {"name": "by alias"}).json["modelVersion"]["version"] == 2
    assert [v["aliases"] for v in master.get(path_of("aliased", "versions")).json["modelVersions"]] == [["a"], ["production"]]
    for version in ("production", 2):
        assert "has the alias 'production'" in refused(master.request("DELETE", path_of("aliased", "versions", version)))
    assert master.request("DELETE", alias).status == 200
    assert refused(master.request("DELETE", alias), 404) == "alias 'production' of the model not found"
    assert refused(master.get(named), 404) == "model 'aliased' version 'production' not found"
    assert master.request("DELETE", path_of("aliased")).status == 200  # with the alias that is left


@pytest.mark.parametrize("alias", ["1", "1a", "-1", "Production", "a b", "é", "a" * 65, "_", "a%2Fb", "a\n"])
def test_an_alias_that_could_be_taken_for_something_else_is_refused(master, trial, alias):
    if "odd" not in names(master):
        make(master, "odd")
        register(master, "odd", store_checkpoint(master, trial, 43))
    path = path_of("odd", "aliases", "") + urllib.parse.quote(alias, safe="%")
    reply = master.request("PUT", path, {"version": 1})
    assert reply.status in (400, 501), reply  # "/" divides a path
    assert master.get(path_of("odd", "aliases")).json["aliases"] == []


def test_an_alias_of_no_version_is_refused(master, trial):
    make(master, "empty")
    alias = path_of("empty", "aliases", "best")
    for version, status in ((1, 404), (0, 400), (-1, 400), (None, 400)):
        assert master.request("PUT", alias, {"version": version}).status == status
    assert master.request("PUT", path_of("none", "aliases", "best"), {"version": 1}).status == 404
    register(master, "empty", store_checkpoint(master, trial, 44))
    for n in range(100):
        assert master.request("PUT", path_of("empty", "aliases", f"a{n}"), {"version": 1}).status == 200
    assert "has 100 aliases" in refused(master.request("PUT", alias, {"version": 1}))
    assert master.request("PUT", path_of("empty", "aliases", "a0"), {"version": 1}).status == 200


# ---- registered checkpoints are kept ------------------------------------------------------------------------------------

def state(c, checkpoint):
    return c.get(f"/api/v1/checkpoints/{checkpoint}").json["checkpoint"]["state"]


def test_a_collection_keeps_registered_checkpoints(master):
    x = master.create(activate=False, checkpoint_storage=storage(master, **policy(0, 0, 1)))
    [t] = master.trial_ids(x)
    old, kept, newest = (store_checkpoint(master, t, n) for n in (1, 2, 3))
    make(master, "kept")
    register(master, "kept", kept)
    end(master, x)
    wait_for("the collection", lambda: state(master, old) == "STATE_DELETED")
    assert state(master, kept) == state(master, newest) == "STATE_COMPLETED" and (master.storage / kept / "state").exists()
    preview = master.get(f"/experiments/{x}/preview_gc?save_experiment_best=0&save_trial_best=0&save_trial_latest=0").json["checkpoints"]
    assert [c["UUID"] for c in preview] == [newest]
    # once it is not registered any more, the next collection takes it
    assert master.request("DELETE", path_of("kept")).status == 200
    assert master.patch(f"/api/v1/experiments/{x}", {"checkpointStorage": policy(0, 0, 0)}).status == 200
    wait_for("the next collection", lambda: state(master, kept) == "STATE_DELETED")


def test_nobody_deletes_a_registered_checkpoint(master):
    x, t = small_experiment(master)
    checkpoint, free, _ = (store_checkpoint(master, t, n) for n in (1, 2, 3))
    make(master, "needed")
    register(master, "needed", checkpoint)
    wanted = f"checkpoint {checkpoint} is in the model registry, as version 1 of model \"needed\", and cannot be "
    both = {"checkpointUuids": [free, checkpoint]}
    assert wanted + "deleted" in refused(master.request("DELETE", "/api/v1/checkpoints", both))
    assert wanted + "deleted" in refused(master.post("/api/v1/checkpoints/rm", {**both, "checkpointGlobs": ["state"]}))
    patch = {"checkpoints": [{"uuid": checkpoint, "resources": {"resources": {"state": "3"}}}]}
    assert wanted + "patched" in refused(master.patch("/api/v1/checkpoints", patch, token=master.admin_token()))
    assert state(master, free) == state(master, checkpoint) == "STATE_COMPLETED"
    end(master, x)
    deletion = f"checkpoints are registered as model versions; checkpoint {checkpoint} is version 1 of model \"needed\""
    assert deletion in refused(master.request("DELETE", f"/api/v1/experiments/{x}"))
    results = master.request("DELETE", "/api/v1/projects/-1/experiments/delete", {"experimentIds": [x]}).json["results"]
    assert deletion in results[0]["error"]
    results = master.post("/api/v1/runs/delete", {"runIds": [t]}).json["results"]
    assert deletion in results[0]["error"] and master.experiment(x)["state"] == "STATE_CANCELED"
    assert master.request("DELETE", path_of("needed", "versions", 1)).status == 200
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)


def test_a_project_with_registered_checkpoints_is_not_deleted(master):
    workspace = master.post("/api/v1/workspaces", {"name": "With a project"}).json["workspace"]["id"]
    project = master.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "P"}).json["project"]["id"]
    x = master.create(activate=False, workspace="With a project", project="P", checkpoint_storage=storage(master, **policy(0, 0, 9)))
    [t] = master.trial_ids(x)
    make(master, "in a project")
    checkpoint = store_checkpoint(master, t, 1)
    register(master, "in a project", checkpoint)
    end(master, x)
    for path in (f"/api/v1/projects/{project}", f"/api/v1/workspaces/{workspace}"):
        assert f"checkpoint {checkpoint} is version 1" in refused(master.request("DELETE", path))
    assert state(master, checkpoint) == "STATE_COMPLETED"


def test_of_a_deletion_and_a_registration_at_one_moment_one_is_refused(master):
    _, t = small_experiment(master)
    make(master, "raced")
    store_checkpoint(master, t, 99)  # the trial would go on from this one
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for step in range(1, 21):
            checkpoint = store_checkpoint(master, t, step, files={"state": "x"})
            deletion = pool.submit(master.request, "DELETE", "/api/v1/checkpoints", {"checkpointUuids": [checkpoint]})
            registration = pool.submit(master.post, path_of("raced", "versions"), {"checkpointUuid": checkpoint})
            statuses = {deletion.result().status, registration.result().status}
            assert statuses == {200, 400}, (deletion.result(), registration.result())
            if registration.result().status == 200:
                assert state(master, checkpoint) == "STATE_COMPLETED" and (master.storage / checkpoint / "state").exists()


def test_the_registry_survives_a_crash(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    _, t = small_experiment(c)
    make(c, "durable", labels=["x"])
    register(c, "durable", store_checkpoint(c, t, 1))
    assert c.request("PUT", path_of("durable", "aliases", "best"), {"version": 1}).status == 200
    before = c.get(path_of("durable", "versions", "best")).json
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert c.get(path_of("durable", "versions", "best")).json == before
