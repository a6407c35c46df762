"""Tests which workspaces may use which resource pools."""
import json
import signal

import pytest

POOLS = {"resource_pools": [{"pool_name": "default"}, {"pool_name": "shared"}, {"pool_name": "own"}]}


@pytest.fixture
def bound(new_cluster):
    """Starts a cluster in which the pool `own` is bound to the workspace `mine`."""
    c = new_cluster(config=POOLS)
    c.start_master()
    c.login("admin")
    c.mine, c.theirs = (c.post("/api/v1/workspaces", {"name": name}).json["workspace"]["id"] for name in ("mine", "theirs"))
    c.project = {w: c.post(f"/api/v1/workspaces/{w}/projects", {"name": f"p{w}", "workspaceId": w}).json["project"]["id"] for w in (c.mine, c.theirs)}
    assert bindings(c, "POST", "own", workspaceIds=[c.mine]).status == 200
    return c


def bindings(c, method, pool, **body):
    return c.request(method, f"/api/v1/resource-pools/{pool}/workspace-bindings", {"resourcePoolName": pool, **body})


def workspaces_of(c, pool):
    return c.get(f"/api/v1/resource-pools/{pool}/workspace-bindings").json["workspaceIds"]


def pools_of(c, workspace):
    return c.get(f"/api/v1/workspaces/{workspace}/available-resource-pools").json["resourcePools"]


def create(c, workspace, pool):
    config = c.experiment_config(resources={"resource_pool": pool})
    return c.post("/api/v1/experiments", {"config": json.dumps(config), "projectId": c.project[workspace], "activate": True})


def test_bindings_are_added_removed_and_replaced(bound):
    c = bound
    assert workspaces_of(c, "own") == [c.mine] and workspaces_of(c, "shared") == []
    assert bindings(c, "POST", "own", workspaceNames=["theirs", "mine"]).status == 200, "what is bound stays bound"
    assert workspaces_of(c, "own") == [c.mine, c.theirs]
    assert bindings(c, "DELETE", "own", workspaceNames=["mine"]).status == 200
    assert workspaces_of(c, "own") == [c.theirs]
    assert bindings(c, "PUT", "own", workspaceIds=[c.mine]).status == 200
    assert workspaces_of(c, "own") == [c.mine]
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert workspaces_of(c, "own") == [c.mine]
    assert bindings(c, "PUT", "own").status == 200
    assert pools_of(c, c.theirs) == ["default", "shared", "own"], "bound to none: there for all"


def test_lists_know_of_bindings(bound):
    c = bound
    assert pools_of(c, c.mine) == ["default", "shared", "own"]
    assert pools_of(c, c.theirs) == ["default", "shared"]
    assert [p["name"] for p in c.get("/api/v1/resource-pools?unbound=true").json["resourcePools"]] == ["default", "shared"]
    assert len(c.get("/api/v1/resource-pools").json["resourcePools"]) == 3
    page = c.get(f"/api/v1/workspaces/{c.mine}/available-resource-pools?limit=1&offset=1").json
    assert page["resourcePools"] == ["shared"] and page["pagination"]["total"] == 3
    assert c.get("/api/v1/workspaces/999/available-resource-pools").status == 404
    assert c.get("/api/v1/resource-pools/nowhere/workspace-bindings").status == 404


def test_a_launch_from_elsewhere_is_refused(bound):
    c = bound
    refused = create(c, c.theirs, "own")
    assert refused.status == 400
    assert f"resource pool own does not exist or is not available to workspace id {c.theirs}" in refused.json["error"]["error"]
    assert c.get("/api/v1/experiments").json["experiments"] == []
    assert create(c, c.mine, "own").status == 200 and create(c, c.theirs, "shared").status == 200


def test_a_job_goes_to_no_pool_that_its_workspace_may_not_use(bound):
    c = bound
    x = {w: create(c, w, "shared").json["experiment"] for w in (c.mine, c.theirs)}

    def move(*workspaces):
        return c.post("/api/v1/job-queues", {"updates": [{"jobId": x[w]["jobId"], "resourcePool": "own"} for w in workspaces]})
    refused = move(c.mine, c.theirs)
    assert refused.status == 400 and f"not available to workspace id {c.theirs}" in refused.json["error"]["error"]
    assert c.experiment(x[c.mine]["id"])["resourcePool"] == "shared", "all or nothing"
    assert move(c.mine).status == 200
    assert c.experiment(x[c.mine]["id"])["resourcePool"] == "own"


def test_nothing_goes_to_a_workspace_that_may_not_use_its_pool(bound):
    c = bound
    waits, free = (create(c, c.mine, pool).json["experiment"]["id"] for pool in ("own", "shared"))
    to = {"destinationProjectId": c.project[c.theirs]}
    says = f"experiment {waits} is not over, and its resource pool own does not exist or is not available to workspace id {c.theirs}"

    def move_project(workspace):
        return c.post(f"/api/v1/projects/{c.project[c.mine]}/move", {"projectId": c.project[c.mine], "destinationWorkspaceId": workspace})
    refused = move_project(c.theirs)
    assert refused.status == 400 and refused.json["error"]["error"].startswith(says)
    assert c.get(f"/api/v1/projects/{c.project[c.mine]}").json["project"]["workspaceId"] == c.mine
    assert move_project(c.mine).status == 200, "it stays where it is"

    refused = c.post(f"/api/v1/experiments/{waits}/move", {"experimentId": waits, **to})
    assert refused.status == 400 and refused.json["error"]["error"].startswith(says)
    several = c.post(f"/api/v1/projects/{c.project[c.mine]}/experiments/move",
                     {"experimentIds": [waits, free], "projectId": c.project[c.mine], **to}).json["results"]
    assert [(r["id"], bool(r["error"])) for r in sorted(several, key=lambda r: r["id"])] == [(waits, True), (free, False)]
    assert [c.experiment(x)["projectId"] for x in (waits, free)] == [c.project[c.mine], c.project[c.theirs]]

    c.post(f"/api/v1/experiments/{waits}/kill")
    c.wait_experiment(waits)
    assert move_project(c.theirs).status == 200, "what is over asks for nothing"


def test_what_goes_on_elsewhere_is_refused_too(bound):
    c = bound
    x = create(c, c.mine, "own").json["experiment"]["id"]
    c.post(f"/api/v1/experiments/{x}/kill")
    c.wait_experiment(x)
    assert bindings(c, "PUT", "own", workspaceIds=[c.theirs]).status == 200
    refused = c.post("/api/v1/experiments/continue", {"id": x})
    assert refused.status == 400 and "is not available to workspace id" in refused.json["error"]["error"]


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
def test_what_cannot_be_bound_changes_nothing(bound, method):
    c = bound
    for pool, body, status, says in (("nowhere", {"workspaceIds": [1]}, 404, 'resource pool "nowhere" does not exist'),
                                     ("own", {"workspaceIds": [c.mine, 999]}, 404, "999"),
                                     ("own", {"workspaceNames": ["mine", "nobody"]}, 404, "workspace 'nobody' not found"),
                                     ("default", {"workspaceIds": [c.mine]}, 400, "default resource pool default cannot be bound")):
        refused = bindings(c, method, pool, **body)
        assert (refused.status, says in refused.json["error"]["error"]) == (status, True), refused
    assert workspaces_of(c, "own") == [c.mine]
    c.login()
    assert bindings(c, method, "own", workspaceIds=[c.theirs]).status == 403


def test_a_workspace_that_goes_takes_its_bindings_along(bound):
    c = bound
    assert c.request("DELETE", f"/api/v1/workspaces/{c.mine}").status == 200
    assert workspaces_of(c, "own") == []
