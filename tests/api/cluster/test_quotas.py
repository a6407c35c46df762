"""Tests quotas of workspaces and users: limits, borrowing and giving back, changes while jobs run, restarts of the master."""
import pytest
from support.cluster import Cluster, error_of, wait_for
from support.det import det, run_det

SLEEP = ["sh", "-c", "sleep 1000"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two slots, with preemption, and two workspaces with a project each."""
    config = {"resource_manager": {"type": "agent", "scheduler": {"type": "priority", "preemption": True}}}
    with Cluster(tmp_path_factory.mktemp("cluster"), config) as c:
        c.start_master()
        c.login()
        c.admin = c.login("admin", keep=False).json["token"]
        c.start_agent(slots=2)
        c.workspace, c.project = {}, {}
        for name in ("vision", "speech"):
            c.workspace[name] = c.post("/api/v1/workspaces", {"name": name}).json["workspace"]["id"]
            c.project[name] = c.post(f"/api/v1/workspaces/{c.workspace[name]}/projects", {"name": "p"}).json["project"]["id"]
        yield c


@pytest.fixture(autouse=True)
def nothing_left(cluster):
    cluster.started = []
    yield
    for x in cluster.started:
        cluster.post(f"/api/v1/experiments/{x}/kill")
        cluster.wait_experiment(x)
    for q in quotas(cluster):
        set_quota(cluster, workspaceId=q["workspaceId"], userId=q["userId"], remove=True)


def quotas(cluster):
    return cluster.get("/api/v1/quotas").json["quotas"]


def set_quota(cluster, **quota):
    reply = cluster.post("/api/v1/quotas", quota, token=cluster.admin)
    assert reply.status == 200, reply


def start(cluster, workspace, project="p", **resources):
    x = cluster.create(entrypoint=SLEEP, project=project, workspace=workspace, resources={"slots_per_trial": 1, **resources}, preemption_timeout=1)
    cluster.started.append(x)
    return x


def state(cluster, x):
    return cluster.experiment(x)["state"]


def runs(cluster, x):
    wait_for(f"experiment {x} to run", lambda: state(cluster, x) == "STATE_RUNNING")


def reason(cluster, x):
    summary = cluster.get(f"/api/v1/experiments/{x}").json["jobSummary"]
    return summary.get("reason") or ""


def test_a_workspace_gets_no_more_than_its_quota_and_is_told_so(cluster):
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=1)
    first = start(cluster, "vision")
    runs(cluster, first)
    second = start(cluster, "vision")
    wait_for("the reason", lambda: "quota of workspace vision allows 1 slot, and 1 is in use" in reason(cluster, second))
    third = start(cluster, "speech")
    runs(cluster, third)  # nobody waits for the one that waits for its quota
    assert state(cluster, second) == "STATE_QUEUED"
    [quota] = quotas(cluster)
    assert (quota["slots"], quota["limit"], quota["used"], quota["borrowed"]) == (1, 1, 1, 0)


def test_what_is_idle_is_borrowed_and_given_back_to_its_owner(cluster):
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=1, limit=2)
    mine, borrowed = start(cluster, "vision"), start(cluster, "vision")
    runs(cluster, mine)
    runs(cluster, borrowed)
    assert quotas(cluster)[0]["borrowed"] == 1
    owner = start(cluster, "speech", priority=90)  # less important than both, but it need not borrow
    runs(cluster, owner)
    wait_for("the borrower to wait", lambda: state(cluster, borrowed) == "STATE_QUEUED")
    assert state(cluster, mine) == "STATE_RUNNING" and quotas(cluster)[0]["borrowed"] == 0


def test_a_change_counts_at_once_and_a_restart_changes_nothing(cluster):
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=1)
    first = start(cluster, "vision")
    runs(cluster, first)
    second = start(cluster, "vision")
    wait_for("the reason", lambda: "quota" in reason(cluster, second))
    cluster.stop_master()
    cluster.start_master()
    wait_for("the agent", lambda: state(cluster, first) == "STATE_RUNNING")
    assert [(q["name"], q["used"]) for q in quotas(cluster)] == [("workspace vision", 1)]
    assert state(cluster, second) == "STATE_QUEUED"
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=2)
    runs(cluster, second)


def test_an_experiment_that_is_moved_counts_where_it_is_now(cluster):
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=1)
    first = start(cluster, "vision")
    runs(cluster, first)
    second = start(cluster, "vision")
    wait_for("the reason", lambda: "quota of workspace vision" in reason(cluster, second))
    reply = cluster.post(f"/api/v1/experiments/{first}/move", {"destinationProjectId": cluster.project["speech"]})
    assert reply.status == 200, reply
    runs(cluster, second)  # what runs in the other workspace does not count in this one any more
    assert state(cluster, first) == "STATE_RUNNING"
    third = start(cluster, "vision")
    wait_for("the reason", lambda: "quota of workspace vision" in reason(cluster, third))
    many = {"experimentIds": [second], "destinationProjectId": cluster.project["speech"]}
    reply = cluster.post(f"/api/v1/projects/{cluster.project['vision']}/experiments/move", many)
    assert reply.status == 200 and not reply.json["results"][0]["error"], reply
    wait_for("the reason", lambda: "quota" not in reason(cluster, third))  # both slots are in use


def test_a_project_that_is_moved_counts_where_it_is_now(cluster):
    set_quota(cluster, workspaceId=cluster.workspace["vision"], slots=0)
    project = cluster.post(f"/api/v1/workspaces/{cluster.workspace['vision']}/projects", {"name": "moves"}).json["project"]["id"]
    x = start(cluster, "vision", project="moves")
    wait_for("the reason", lambda: "quota of workspace vision" in reason(cluster, x))
    reply = cluster.post(f"/api/v1/projects/{project}/move", {"destinationWorkspaceId": cluster.workspace["speech"]}, token=cluster.admin)
    assert reply.status == 200, reply
    runs(cluster, x)


def test_the_reason_names_workspace_and_user_as_they_are_called_now(cluster):
    called = cluster.post("/api/v1/workspaces", {"name": "old-name"}).json["workspace"]["id"]
    cluster.post(f"/api/v1/workspaces/{called}/projects", {"name": "p"})
    user = cluster.post("/api/v1/users", {"user": {"username": "old-user", "active": True}}, token=cluster.admin).json["user"]["id"]
    set_quota(cluster, workspaceId=called, slots=0)
    set_quota(cluster, workspaceId=called, userId=user, slots=0)
    x = start(cluster, "old-name")
    wait_for("the reason", lambda: "quota of workspace old-name" in reason(cluster, x))
    assert cluster.patch(f"/api/v1/workspaces/{called}", {"name": "new-name"}, token=cluster.admin).status == 200
    assert cluster.patch(f"/api/v1/users/{user}", {"username": "new-user"}, token=cluster.admin).status == 200
    assert "quota of workspace new-name" in reason(cluster, x)
    assert sorted(q["name"] for q in quotas(cluster)) == ["user new-user in workspace new-name", "workspace new-name"]


def test_a_user_has_a_quota_in_all_workspaces(cluster):
    me = cluster.get("/api/v1/me").json["user"]["id"]
    set_quota(cluster, userId=me, slots=1)
    first = start(cluster, "vision")
    runs(cluster, first)
    second = start(cluster, "speech")
    wait_for("the reason", lambda: "quota of user determined" in reason(cluster, second))
    set_quota(cluster, userId=me, remove=True)
    runs(cluster, second)


@pytest.mark.parametrize("quota,words", [
    ({"slots": 1}, "of a workspace, of a user"),
    ({"workspaceId": 1, "slots": -1}, "is -1 slots"),
    ({"workspaceId": 1, "slots": 4, "limit": 3}, "limit of 3 slots is below"),
    ({"workspaceId": 99999, "slots": 1}, "99999"),
    ({"userId": 99999, "slots": 1}, "99999"),
    ({"workspaceId": 1, "remove": True}, "has no quota"),
    ({"workspaceId": 1, "slots": 2 ** 40}, ""),
])
def test_wrong_quotas_are_refused_and_change_nothing(cluster, quota, words):
    assert words in error_of(cluster.post("/api/v1/quotas", quota, token=cluster.admin))
    assert quotas(cluster) == []


def test_only_an_admin_sets_quotas(cluster):
    assert cluster.post("/api/v1/quotas", {"workspaceId": 1, "slots": 1}).status == 403
    assert cluster.post("/api/v1/workspaces/1/set-resource-quota", {"id": 1, "clusterQuotaPairs": {"": 1}}).status == 403


def test_det_sets_shows_and_removes_quotas(cluster):
    assert det(cluster, "workspace", "resource-quota", "set", "vision", 4, user="admin").startswith("Resource quota 4 is set on workspace vision")
    det(cluster, "workspace", "resource-quota", "set", "speech", 2, "--limit", 6, user="admin")
    det(cluster, "user", "resource-quota", "set", "determined", 3, user="admin")
    lines = [[cell.strip() for cell in line.split("|")] for line in det(cluster, "workspace", "resource-quota", "show").splitlines()[2:]]
    assert sorted(line[:3] for line in lines) == [["user determined", "3", "3"], ["workspace speech", "2", "6"], ["workspace vision", "4", "4"]]
    page = cluster.get(f"/api/v1/workspaces/{cluster.workspace['vision']}/get-k8s-resource-quotas").json["resourceQuotas"]
    assert list(page.values()) == [4]
    det(cluster, "workspace", "resource-quota", "remove", "vision", user="admin")
    assert "workspace vision" not in det(cluster, "workspace", "resource-quota", "show")
    refused = run_det(cluster, "workspace", "resource-quota", "set", "vision", 4, "--cluster-name", "west", user="admin")
    assert refused.returncode != 0 and "west" in refused.stderr
