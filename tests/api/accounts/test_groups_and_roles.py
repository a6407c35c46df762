"""Groups of users, the predefined roles, and who has which: made, listed, changed, kept over a restart."""
import itertools

from support.attackers import admin_token, new_user, token_of
from support.cluster import PASSWORD, error_of

NUMBER = itertools.count(1)
CLUSTER_ADMIN, WORKSPACE_ADMIN, WORKSPACE_CREATOR, VIEWER, EDITOR = 1, 2, 3, 4, 5


def call(cluster, method, path, body=None, token=None):
    return cluster.request(method, path, body, token=token or admin_token(cluster))


def done(cluster, method, path, body=None, token=None):
    reply = call(cluster, method, path, body, token)
    assert reply.status == 200, reply
    return reply.json


def person(cluster):
    """A new user's id and token."""
    name = f"person{next(NUMBER)}"
    return new_user(cluster, name, PASSWORD), token_of(cluster, name, PASSWORD)


def group(cluster, *users, name=None):
    return done(cluster, "POST", "/api/v1/groups", {"name": name or f"group{next(NUMBER)}", "addUsers": list(users)})["group"]


def workspace(cluster):
    return done(cluster, "POST", "/api/v1/workspaces", {"name": f"w{next(NUMBER)}"})["workspace"]["id"]


def assignment(role, workspace_id=None):
    return {"role": {"roleId": role}, **({"scopeWorkspaceId": workspace_id} if workspace_id else {"scopeCluster": True})}


def change(cluster, verb, role, workspace_id=None, user=None, of_group=None, token=None):
    body = {"userRoleAssignments": [{"userId": user, "roleAssignment": assignment(role, workspace_id)}]} if user else \
        {"groupRoleAssignments": [{"groupId": of_group, "roleAssignment": assignment(role, workspace_id)}]}
    return call(cluster, "POST", f"/api/v1/roles/{verb}-assignments", body, token)


def summary(cluster, token):
    reply = done(cluster, "GET", "/api/v1/permissions/summary", token=token)
    assert [r["roleId"] for r in reply["roles"]] == [a["roleId"] for a in reply["assignments"]]
    return {a["roleId"]: ("cluster" if a["scopeCluster"] else a["scopeWorkspaceIds"]) for a in reply["assignments"]}


# ---- groups ----------------------------------------------------------------------------------------------------------------

def test_groups_are_made_listed_changed_and_deleted(master):
    (ann, _), (ben, _) = person(master), person(master)
    g = group(master, ann, name="Vision")
    path = f"/api/v1/groups/{g['groupId']}"
    assert g["name"] == "Vision" and [u["id"] for u in g["users"]] == [ann]
    assert done(master, "GET", path)["group"] == g

    def found(**by):
        return [(x["group"]["name"], x["numMembers"]) for x in done(master, "POST", "/api/v1/groups/search", {"limit": 100, **by})["groups"]]

    assert found(name="Vision") == [("Vision", 1)] and found(name="vis") == [] and found(userId=ann) == [("Vision", 1)]
    assert found(userId=ben) == []
    changed = done(master, "PUT", path, {"groupId": g["groupId"], "name": "Sight", "addUsers": [ben], "removeUsers": [ann]})["group"]
    assert changed["name"] == "Sight" and [u["id"] for u in changed["users"]] == [ben]
    assert done(master, "PUT", path, {"groupId": g["groupId"], "addUsers": [ben]})["group"] == changed  # who is in it stays in it
    done(master, "PATCH", "/api/v1/users/assignments", {"userIds": [ann, ben], "addGroups": [g["groupId"]], "removeGroups": []})
    assert found(name="Sight") == [("Sight", 2)]
    done(master, "PATCH", "/api/v1/users/assignments", {"userIds": [ann, ben], "addGroups": [], "removeGroups": [g["groupId"]]})
    assert found(name="Sight") == [("Sight", 0)]
    done(master, "DELETE", path)
    assert call(master, "GET", path).status == 404 and call(master, "DELETE", path).status == 404 and found(name="Sight") == []


def test_bad_groups_change_nothing(master):
    taken = group(master, name="Taken")
    before = done(master, "POST", "/api/v1/groups/search", {"limit": 500})["pagination"]["total"]
    for name in ("", " ", " x", "x" * 256, "a\tb", "personDeterminedPersonalGroup"):
        assert call(master, "POST", "/api/v1/groups", {"name": name}).status == 400, name
    assert call(master, "POST", "/api/v1/groups", {"name": "tAKEN"}).status == 409
    assert "user '9999'" in error_of(call(master, "POST", "/api/v1/groups", {"name": "with nobody", "addUsers": [9999]}), 404)
    path = f"/api/v1/groups/{taken['groupId']}"
    assert "is not in group" in error_of(call(master, "PUT", path, {"name": "Renamed", "removeUsers": [1]}), 404)
    assert done(master, "GET", path)["group"]["name"] == "Taken"
    for limit in (0, -1, 501):
        assert "limit is required and must be <= 500" in error_of(call(master, "POST", "/api/v1/groups/search", {"limit": limit}), 400)
    assert done(master, "POST", "/api/v1/groups/search", {"limit": 500})["pagination"]["total"] == before


def test_only_admins_change_groups(master):
    user, token = person(master)
    g = group(master)
    path = f"/api/v1/groups/{g['groupId']}"
    for method, where, body in (("POST", "/api/v1/groups", {"name": "mine"}), ("PUT", path, {"addUsers": [user]}), ("DELETE", path, None),
                                ("PATCH", "/api/v1/users/assignments", {"userIds": [user], "addGroups": [g["groupId"]], "removeGroups": []})):
        assert "only an admin may" in error_of(call(master, method, where, body, token), 403)
    assert done(master, "GET", path, token=token)["group"] == g


# ---- roles -----------------------------------------------------------------------------------------------------------------

def test_the_predefined_roles(master):
    def roles(path, **body):
        return {r["name"]: r for r in done(master, "POST", f"/api/v1/roles/search{path}", {"limit": 0, **body})["roles"]}

    everything = roles("")
    assert {name: r["roleId"] for name, r in everything.items()} == {
        "ClusterAdmin": 1, "WorkspaceAdmin": 2, "WorkspaceCreator": 3, "Viewer": 4, "Editor": 5, "ModelRegistryViewer": 6,
        "EditorRestricted": 7, "GenAIUser": 8, "EditorProjectRestricted": 9, "TokenCreator": 10}
    assert roles("/by-assignability") == everything
    assert set(roles("/by-assignability", workspaceId=1)) == set(everything) - {"ClusterAdmin", "WorkspaceCreator", "GenAIUser", "TokenCreator"}
    ids = {name: {p["id"] for p in r["permissions"]} for name, r in everything.items()}
    assert ids["Viewer"] < ids["Editor"] < ids["WorkspaceAdmin"] < ids["ClusterAdmin"]
    assert ids["Editor"] - ids["EditorRestricted"] == {"PERMISSION_TYPE_CREATE_NSC", "PERMISSION_TYPE_UPDATE_NSC"}
    assert {"id": "PERMISSION_TYPE_CREATE_WORKSPACE", "name": "create workspace", "scopeTypeMask": {"cluster": True, "workspace": False}} \
        in everything["WorkspaceCreator"]["permissions"]
    page = done(master, "POST", "/api/v1/roles/search", {"offset": 3, "limit": 2})
    assert [r["name"] for r in page["roles"]] == ["Viewer", "Editor"] and page["pagination"]["total"] == 10
    assert call(master, "POST", "/api/v1/roles/search/by-ids", {"roleIds": [4, 99]}).status == 404


def test_roles_are_given_to_users_and_groups_and_taken(master):
    user, token = person(master)
    g, w = group(master, user), workspace(master)
    assert summary(master, token) == {}
    assert change(master, "add", VIEWER, user=user).status == 200
    assert change(master, "add", EDITOR, w, of_group=g["groupId"]).status == 200
    assert summary(master, token) == {VIEWER: "cluster", EDITOR: [w]}

    assigned = done(master, "GET", f"/api/v1/roles/search/by-user/{user}")["roles"]
    assert [(r["role"]["name"], [a["userId"] for a in r["userRoleAssignments"]], [a["groupId"] for a in r["groupRoleAssignments"]])
            for r in assigned] == [("Viewer", [user], []), ("Editor", [], [g["groupId"]])]
    of_group = done(master, "GET", f"/api/v1/roles/search/by-group/{g['groupId']}")
    assert [r["name"] for r in of_group["roles"]] == ["Editor"] and of_group["assignments"][0]["scopeWorkspaceIds"] == [w]
    by_id = done(master, "POST", "/api/v1/roles/search/by-ids", {"roleIds": [EDITOR]})["roles"][0]
    assert g["groupId"] in [a["groupId"] for a in by_id["groupRoleAssignments"] if a["roleAssignment"].get("scopeWorkspaceId") == w]
    assert change(master, "add", WORKSPACE_ADMIN, w, user=user).status == 200
    members = done(master, "GET", f"/api/v1/roles/workspace/{w}")
    assert [x["groupId"] for x in members["groups"]] == [g["groupId"]] and [u["id"] for u in members["usersAssignedDirectly"]] == [user]
    assert sorted(r["role"]["name"] for r in members["assignments"]) == ["Editor", "WorkspaceAdmin"]
    assert done(master, "GET", f"/api/v1/roles/workspace/{w}?name=no-such")["usersAssignedDirectly"] == []

    assert change(master, "remove", VIEWER, user=user).status == 200
    done(master, "DELETE", f"/api/v1/groups/{g['groupId']}")
    assert summary(master, token) == {WORKSPACE_ADMIN: [w]}
    done(master, "DELETE", f"/api/v1/workspaces/{w}")
    assert summary(master, token) == {}


def test_bad_assignments_change_nothing(master):
    user, token = person(master)
    g, w = group(master), workspace(master)
    for role in (CLUSTER_ADMIN, WORKSPACE_CREATOR):
        assert "the whole cluster" in error_of(change(master, "add", role, w, user=user), 400)
    assert change(master, "add", 99, user=user).status == 404
    assert change(master, "add", VIEWER, user=9999).status == 404
    assert change(master, "add", VIEWER, of_group=9999).status == 404
    assert change(master, "add", VIEWER, 9999, user=user).status == 404
    assert change(master, "add", VIEWER, -1, user=user).status == 400
    assert change(master, "remove", VIEWER, user=user).status == 404
    for body in ({}, {"userRoleAssignments": [{"userId": user}]},
                 {"userRoleAssignments": [{"userId": user, "roleAssignment": {**assignment(VIEWER, w), "scopeCluster": True}}]}):
        assert call(master, "POST", "/api/v1/roles/add-assignments", body).status == 400, body
    # of two, the second fails: neither is stored
    both = {"userRoleAssignments": [{"userId": user, "roleAssignment": assignment(VIEWER, w)}],
            "groupRoleAssignments": [{"groupId": g["groupId"], "roleAssignment": assignment(VIEWER, 9999)}]}
    assert call(master, "POST", "/api/v1/roles/add-assignments", both).status == 404 and summary(master, token) == {}
    assert change(master, "add", VIEWER, w, user=user).status == 200
    assert change(master, "add", VIEWER, w, user=user).status == 409
    assert summary(master, token) == {VIEWER: [w]}


def test_only_admins_give_roles_and_see_those_of_others(master):
    (user, token), (other, _) = person(master), person(master)
    assert "assign roles" in error_of(change(master, "add", CLUSTER_ADMIN, user=user, token=token), 403)
    assert "assign roles" in error_of(change(master, "remove", VIEWER, user=other, token=token), 403)
    assert done(master, "GET", f"/api/v1/roles/search/by-user/{user}", token=token)["roles"] == []
    assert call(master, "GET", f"/api/v1/roles/search/by-user/{other}", token=token).status == 403


def test_an_admin_is_cluster_admin_without_an_assignment(master):
    admin = done(master, "GET", "/api/v1/users/admin/by-username")["user"]["id"]
    assert summary(master, admin_token(master)) == {CLUSTER_ADMIN: "cluster"}
    assert "because the user is an admin" in error_of(change(master, "remove", CLUSTER_ADMIN, user=admin), 400)


def test_groups_and_roles_survive_a_restart(new_cluster):
    cluster = new_cluster()
    cluster.start_master()
    user, token = person(cluster)
    g = group(cluster, user)
    assert change(cluster, "add", VIEWER, of_group=g["groupId"]).status == 200
    cluster.stop_master()
    cluster.start_master()
    assert summary(cluster, token) == {VIEWER: "cluster"} and done(cluster, "GET", f"/api/v1/groups/{g['groupId']}")["group"] == g
