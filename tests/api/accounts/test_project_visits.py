"""Tests the list of projects that a user has looked at, and the routes about namespaces of Kubernetes, which this master does not have."""
import pytest
from support.cluster import client_hash, error_of

VISITS = "/api/v1/users/activity"
RECENT = "/api/v1/user/projects/activity"


@pytest.fixture(scope="module")
def c(master):
    master.login("admin")
    workspace = master.post("/api/v1/workspaces", {"name": "visited"}).json["workspace"]["id"]
    master.workspace = workspace
    master.projects = [master.post(f"/api/v1/workspaces/{workspace}/projects", {"name": f"v{i}", "workspaceId": workspace}).json["project"]["id"]
                       for i in range(7)]
    return master


def visit(c, project, **body):
    return c.post(VISITS, {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT", "entityId": project, **body})


def recent(c, query="", **options):
    reply = c.get(RECENT + query, **options)
    assert reply.status == 200, reply
    return [p["id"] for p in reply.json["projects"]]


def test_projects_are_listed_by_the_users_last_visit(c):
    assert recent(c) == []
    for project in c.projects:
        assert visit(c, project).status == 200
    assert recent(c) == c.projects[:1:-1], "the five last ones"
    assert visit(c, c.projects[0]).status == 200
    assert recent(c, "?limit=3") == [c.projects[0], *c.projects[:4:-1]]
    assert recent(c, "?limit=100") == [c.projects[0], *c.projects[:0:-1]], "each once"
    user = {"user": {"username": "visitor", "active": True}, "password": client_hash("Long-Enough-1"), "isHashed": True}
    assert c.post("/api/v1/users", user).status == 200
    token = c.post("/api/v1/auth/login", {"username": "visitor", "password": client_hash("Long-Enough-1"), "isHashed": True}, token=None).json["token"]
    assert recent(c, token=token) == [], "of one's own"
    assert c.request("DELETE", f"/api/v1/projects/{c.projects[0]}").status == 200
    assert c.projects[0] not in recent(c)


def test_bad_visits(c):
    before = recent(c, "?limit=100")
    assert visit(c, 99999).status == 404
    for body in ({"activityType": "ACTIVITY_TYPE_UNSPECIFIED"}, {"entityType": "ENTITY_TYPE_UNSPECIFIED"}):
        assert "only visits of projects are kept" in error_of(visit(c, c.projects[1], **body), 400)
    assert visit(c, c.projects[1], entityType="ENTITY_TYPE_USER").status == 400
    for limit in (-1, 101):
        assert "allowed is 0" in error_of(c.get(f"{RECENT}?limit={limit}"), 400)
    assert recent(c, "?limit=100") == before
    assert c.get(RECENT, token=None).status == 401


def test_there_are_no_namespaces(c):
    path = f"/api/v1/workspaces/{c.workspace}"
    assert c.get(f"{path}/list-namespace-bindings").json == {"namespaceBindings": {}}
    assert c.get("/api/v1/workspaces/99999/list-namespace-bindings").status == 404
    assert c.get("/api/v1/k8s-resource-managers").json["resourceManagers"] == []
    assert c.get("/api/v1/namespace-bindings/workspace-ids-with-default-bindings").status == 200
    wanted = {"workspaceId": c.workspace, "clusterNamespaceMeta": {"a": {"workspaceId": c.workspace, "namespace": "n"}}}
    says = "this cluster has no Kubernetes resource manager"
    assert says in error_of(c.post(f"{path}/namespace-bindings", wanted), 400)
    assert says in error_of(c.request("DELETE", f"{path}/namespace-bindings?clusterNames=a"), 400)
    assert says in error_of(c.post("/api/v1/namespace-bindings/bulk-auto-create", {"workspaceIds": [c.workspace]}), 400)
