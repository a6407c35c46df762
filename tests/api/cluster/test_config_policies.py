"""Tests configuration policies: setting them, what they do to new configurations, and to changes of what exists already."""
import json
import signal

import pytest
from support.cluster import client_hash, error_of
from support.launched import launch

GLOBAL = "/api/v1/config-policies/global/"
SLOTS = "submitted workload failed a resource constraint"
PRIORITY = "submitted workload failed priority constraint"


@pytest.fixture(scope="module")
def ruled(master):
    """A cluster with two workspaces: `mine` belongs to alice, `theirs` to the admin."""
    c = master
    c.login("admin")
    c.admin = c.token
    assert c.post("/api/v1/users", {"user": {"username": "alice", "active": True}, "password": client_hash("Long-Enough-1"), "isHashed": True}).status == 200
    c.alice = c.post("/api/v1/auth/login", {"username": "alice", "password": client_hash("Long-Enough-1"), "isHashed": True}, token=None).json["token"]
    c.mine = c.post("/api/v1/workspaces", {"name": "mine"}, token=c.alice).json["workspace"]["id"]
    c.theirs = c.post("/api/v1/workspaces", {"name": "theirs"}).json["workspace"]["id"]
    c.project = {w: c.post(f"/api/v1/workspaces/{w}/projects", {"name": f"p{w}", "workspaceId": w}).json["project"]["id"] for w in (c.mine, c.theirs)}
    return c


@pytest.fixture
def c(ruled):
    yield ruled
    ruled.token = ruled.admin
    for workload in ("EXPERIMENT", "NTSC"):
        for path in (GLOBAL, *(of(w) for w in (ruled.mine, ruled.theirs))):
            assert ruled.request("DELETE", path + workload).status == 200


def of(workspace):
    return f"/api/v1/config-policies/workspaces/{workspace}/"


def put(c, path, policy, token="", workload="EXPERIMENT"):
    text = policy if isinstance(policy, str) else json.dumps(policy)
    return c.request("PUT", path + workload, {"workloadType": workload, "configPolicies": text}, token=token)


def rule(c, path, workload="EXPERIMENT", **policy):
    reply = put(c, path, policy, workload=workload)
    assert reply.status == 200 and reply.json["configPolicies"] == policy, reply


def create(c, workspace=None, **config):
    return c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(**config)), "projectId": c.project[workspace or c.mine]})


def config_of(reply):
    assert reply.status == 200, reply
    return reply.json["experiment"]["config"]


def patch(c, experiment, **fields):
    return c.request("PATCH", f"/api/v1/experiments/{experiment}", {"id": experiment, **fields})


# ---- setting ----------------------------------------------------------------------------------------------------------

def test_a_policy_is_set_shown_replaced_and_removed(c):
    assert c.get(GLOBAL + "EXPERIMENT").json == {"configPolicies": {}}
    reply = put(c, GLOBAL, "constraints:\n  resources: {max_slots: 4}\n  priority_limit: 10\ninvariant_config:\n  debug: true\n")
    policy = {"constraints": {"resources": {"max_slots": 4}, "priority_limit": 10}, "invariant_config": {"debug": True}}
    assert reply.json["configPolicies"] == policy and c.get(GLOBAL + "EXPERIMENT").json["configPolicies"] == policy
    assert c.get(GLOBAL + "NTSC").json["configPolicies"] == {} and c.get(of(c.mine) + "EXPERIMENT").json["configPolicies"] == {}
    rule(c, GLOBAL, constraints={"priority_limit": 20})
    assert c.get(GLOBAL + "EXPERIMENT").json["configPolicies"] == {"constraints": {"priority_limit": 20}}, "replaced as a whole"
    rule(c, of(c.mine), invariant_config={"max_restarts": 0})
    assert c.request("DELETE", GLOBAL + "EXPERIMENT").status == 200
    assert c.get(GLOBAL + "EXPERIMENT").json["configPolicies"] == {}
    assert c.get(of(c.mine) + "EXPERIMENT").json["configPolicies"] == {"invariant_config": {"max_restarts": 0}}


def test_policies_outlive_the_master(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login("admin")
    rule(c, GLOBAL, constraints={"priority_limit": 60})
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert PRIORITY in error_of(c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(resources={"priority": 50}))}), 400)


@pytest.mark.parametrize("text, says", [
    ("", "the policy sets nothing"),
    ("{}", "the policy sets nothing"),
    ("constraints: {}", "the policy sets nothing"),
    ("- a", "<policy>"),
    ("a: [", "not valid YAML"),
    ("constraints: 5", "<policy>.constraints"),
    ("constraint: {priority_limit: 3}", "constraint"),
    ("constraints: {priority_limit: 0}", "<policy>.constraints.priority_limit"),
    ("constraints: {priority_limit: 100}", "<policy>.constraints.priority_limit"),
    ("constraints: {priority_limit: high}", "<policy>.constraints.priority_limit"),
    ("constraints: {resources: {max_slots: -1}}", "<policy>.constraints.resources.max_slots"),
    ("constraints: {resources: {max_slots: 1.5}}", "<policy>.constraints.resources.max_slots"),
    ("constraints: {resources: {slots: 1}}", "<policy>.constraints.resources"),
    ("constraints: {resources: {priority_limit: 1}}", "belongs one level higher: constraints.priority_limit"),
    ("invariant_config: [1]", "<policy>.invariant_config"),
    ("invariant_config: {max_restart: 1}", "max_restart"),
    ("invariant_config: {max_restarts: many}", "<policy>.invariant_config.max_restarts"),
    ("invariant_config: {workspace: mine}", "cannot be set by a policy: the workspace decides"),
    ("{constraints: {priority_limit: 50}, invariant_config: {resources: {priority: 42}}}", "invariant_config contradicts constraints"),
    ("{constraints: {resources: {max_slots: 1}}, invariant_config: {resources: {slots_per_trial: 2}}}", "invariant_config contradicts constraints"),
])
def test_a_policy_with_a_mistake_changes_nothing(c, text, says):
    rule(c, GLOBAL, constraints={"priority_limit": 7})
    assert says in error_of(put(c, GLOBAL, text), 400)
    assert c.get(GLOBAL + "EXPERIMENT").json["configPolicies"] == {"constraints": {"priority_limit": 7}}


def test_wrong_places_and_types(c):
    for workload in ("experiment", "TASKS", "%20", "x" * 500):
        for method in ("GET", "DELETE"):
            assert "allowed are EXPERIMENT, and NTSC" in error_of(c.request(method, GLOBAL + workload), 400)
    assert put(c, of(99999), {"constraints": {"priority_limit": 5}}).status == 404
    assert c.get(of(99999) + "NTSC").status == 404
    assert "entrypoint" in error_of(put(c, GLOBAL, "invariant_config: {entrypoint: [ls]}", workload="NTSC"), 400)
    assert "max_restarts" in error_of(put(c, GLOBAL, "invariant_config: {max_restarts: 2}", workload="NTSC"), 400)


def test_who_may_set_and_who_sees_secrets(c):
    assert put(c, GLOBAL, {"constraints": {"priority_limit": 5}}, token=c.alice).status == 403
    assert c.request("DELETE", GLOBAL + "NTSC", token=c.alice).status == 403
    assert put(c, of(c.theirs), {"constraints": {"priority_limit": 5}}, token=c.alice).status == 403
    assert put(c, of(c.mine), {"constraints": {"priority_limit": 5}}, token=c.alice).status == 200, "the workspace's owner"
    secret = {"invariant_config": {"environment": {"registry_auth": {"username": "u", "password": "hush-hush"}}}}
    rule(c, GLOBAL, **secret)
    assert c.get(GLOBAL + "EXPERIMENT").json["configPolicies"] == secret
    shown = c.get(GLOBAL + "EXPERIMENT", token=c.alice)
    assert shown.status == 200 and b"hush-hush" not in shown.body and "registry_auth" in shown.body.decode()


# ---- new configurations -----------------------------------------------------------------------------------------------

def test_invariants_win_and_the_clusters_over_the_workspaces(c):
    rule(c, GLOBAL, invariant_config={"max_restarts": 1, "labels": ["ruled"], "environment": {"environment_variables": ["A=cluster"]}})
    rule(c, of(c.mine), invariant_config={"max_restarts": 2, "debug": True, "environment": {"environment_variables": ["A=workspace", "B=workspace"]},
                                          "data": {"where": "here"}})
    config = config_of(create(c, max_restarts=3, debug=False, labels=["own"], data={"where": "there", "what": "x"},
                              environment={"environment_variables": ["A=own", "B=own", "C=own"]}))
    assert (config["max_restarts"], config["debug"], config["labels"]) == (1, True, ["own", "ruled"])
    assert config["data"] == {"where": "here", "what": "x"}
    variables = dict(v.split("=") for v in config["environment"]["environment_variables"]["cpu"])
    assert variables == {"A": "cluster", "B": "workspace", "C": "own"}, "the last one counts"
    elsewhere = config_of(create(c, c.theirs, max_restarts=3))
    assert (elsewhere["max_restarts"], elsewhere["debug"]) == (1, False)


def test_the_same_policy_again_changes_nothing(c):
    rule(c, GLOBAL, invariant_config={"environment": {"environment_variables": ["A=1", "B=2"]}, "data": {"list": [1, 2]},
                                      "bind_mounts": [{"host_path": "/h", "container_path": "c"}]})
    once = config_of(create(c, data={"list": [0]}))
    assert once["data"]["list"] == [0, 1, 2]
    again = config_of(c.post("/api/v1/experiments", {"config": json.dumps(once), "projectId": c.project[c.mine]}))
    for key in ("environment", "data", "bind_mounts"):
        assert again[key] == once[key]


def test_an_invariant_that_does_not_fit_is_named(c):
    rule(c, of(c.mine), invariant_config={"searcher": {"name": "grid"}})
    says = error_of(create(c, hyperparameters={"x": {"type": "double", "minval": 0, "maxval": 1}}), 400)
    assert 'a grid search needs "count" here' in says and "with the configuration policy of workspace 'mine' merged" in says


def test_slots_beyond_the_limit_are_refused(c):
    rule(c, GLOBAL, constraints={"resources": {"max_slots": 4}})
    rule(c, of(c.mine), constraints={"resources": {"max_slots": 2}, "priority_limit": 30})
    says = error_of(create(c, resources={"slots_per_trial": 5}), 400)
    assert says.startswith(f"requested resources.slots_per_trial [5] exceeds limit set by admin [4]: {SLOTS}")
    assert "policy of the cluster (constraints.resources.max_slots) allows 0 to 4" in says
    says = error_of(create(c, resources={"slots_per_trial": 1, "max_slots": 5}), 400)
    assert says.startswith(f"requested resources.max_slots [5] exceeds limit set by admin [4]: {SLOTS}")
    assert config_of(create(c, resources={"slots_per_trial": 4}))["resources"]["max_slots"] == 4, "the cluster's limit counts, and holds for all trials together"
    assert config_of(create(c, resources={"slots_per_trial": 1, "max_slots": 3}))["resources"]["max_slots"] == 3
    says = error_of(create(c, resources={"priority": 29}), 400)
    assert f"requested priority [29] exceeds limit set by admin [30]: {PRIORITY}" in says and "workspace 'mine'" in says and "30 to 99" in says
    assert config_of(create(c, resources={"priority": 30}))["resources"]["priority"] == 30
    rule(c, GLOBAL, constraints={"resources": {"max_slots": 0}})
    assert SLOTS in error_of(create(c), 400) and create(c, resources={"slots_per_trial": 0}).status == 200


def test_a_priority_that_nobody_asked_for_fits(c):
    assert config_of(create(c))["resources"]["priority"] in (None, 42)
    rule(c, GLOBAL, constraints={"priority_limit": 60})
    assert config_of(create(c))["resources"]["priority"] == 60


def test_what_is_created_with_a_template_or_continued_is_ruled_too(c):
    assert c.post("/api/v1/templates/t", {"name": "t", "config": {"resources": {"priority": 5}}}).status == 200
    before = config_of(create(c, resources={"slots_per_trial": 3}))
    ended = c.get("/api/v1/experiments?sortBy=SORT_BY_ID&orderBy=ORDER_BY_DESC&limit=1").json["experiments"][0]["id"]
    assert before["resources"]["slots_per_trial"] == 3
    c.post(f"/api/v1/experiments/{ended}/kill")
    c.wait_experiment(ended)
    rule(c, GLOBAL, constraints={"priority_limit": 40, "resources": {"max_slots": 2}}, invariant_config={"max_restarts": 4})
    body = {"config": json.dumps(c.experiment_config()), "projectId": c.project[c.mine], "template": "t"}
    assert PRIORITY in error_of(c.post("/api/v1/experiments", body), 400)
    assert SLOTS in error_of(c.post("/api/v1/experiments/continue", {"id": ended}), 400)
    reply = c.post("/api/v1/experiments/continue", {"id": ended, "overrideConfig": "resources: {slots_per_trial: 2, max_slots: 2}"})
    assert config_of(reply)["max_restarts"] == 4 and config_of(reply)["resources"]["slots_per_trial"] == 2


@pytest.mark.parametrize("kind", ["command", "notebook", "shell"])
def test_tasks_are_ruled(c, kind):
    rule(c, of(c.mine), "NTSC", constraints={"resources": {"max_slots": 1}, "priority_limit": 20},
         invariant_config={"environment": {"environment_variables": ["RULED=yes"]}, "idle_timeout": "30m"})
    reply = launch(c, kind, expect=400, workspaceId=c.mine, resources={"slots": 2})
    assert f"requested resources.slots [2] exceeds limit set by admin [1]: {SLOTS}" in reply.json["error"]["error"]
    reply = launch(c, kind, expect=400, workspaceId=c.mine, resources={"slots": 0, "priority": 19})
    assert PRIORITY in reply.json["error"]["error"]
    config = launch(c, kind, workspaceId=c.mine, resources={"slots": 0}).json["config"]
    assert config["environment"]["environment_variables"]["cpu"] == ["RULED=yes"] and config["idle_timeout"] == "30m0s"
    assert launch(c, kind, workspaceId=c.theirs, resources={"slots": 64}).status == 200
    rule(c, GLOBAL, "NTSC", invariant_config={"resources": {"slots": 1}})
    assert launch(c, kind, workspaceId=c.theirs, resources={"slots": 64}).json["config"]["resources"]["slots"] == 1


def test_a_generic_task_and_a_tensorboard_are_ruled(c):
    rule(c, GLOBAL, "NTSC", constraints={"priority_limit": 20}, invariant_config={"debug": True})
    reply = c.post("/api/v1/generic-tasks", {"config": "entrypoint: [sleep 1]\nresources: {slots: 0, priority: 3}\n", "contextDirectory": [],
                                             "projectId": c.project[c.mine]})
    assert PRIORITY in error_of(reply, 400)
    made = c.post("/api/v1/generic-tasks", {"config": "entrypoint: [sleep 1]\nresources: {slots: 64}\n", "contextDirectory": []})
    assert made.status == 200 and json.loads(c.get(f"/api/v1/tasks/{made.json['taskId']}").json["task"]["config"])["debug"] is True
    experiment = create(c).json["experiment"]["id"]
    assert "warnings" not in launch(c, "tensorboard", experimentIds=[experiment]).json["config"]
    assert PRIORITY in launch(c, "tensorboard", expect=400, experimentIds=[experiment], resources={"priority": 1}).json["error"]["error"]


# ---- changes ----------------------------------------------------------------------------------------------------------

def test_changes_of_an_experiment_are_checked(c):
    rule(c, GLOBAL, constraints={"priority_limit": 20, "resources": {"max_slots": 4}},
         invariant_config={"resources": {"weight": 2}, "checkpoint_storage": {"save_trial_best": 3}})
    x = create(c).json["experiment"]["id"]
    assert PRIORITY in error_of(patch(c, x, resources={"priority": 19}), 400)
    assert SLOTS in error_of(patch(c, x, resources={"maxSlots": 5}), 400)
    assert "cannot be removed" in error_of(patch(c, x, resources={}), 400)
    assert "weight cannot be modified: the configuration policy of the cluster (invariant_config) sets it to 2" in error_of(patch(c, x, resources={"weight": 3}), 400)
    kept = {"saveExperimentBest": 0, "saveTrialBest": 1, "saveTrialLatest": 1}
    assert "save_trial_best cannot be modified" in error_of(patch(c, x, checkpointStorage=kept), 400)
    assert patch(c, x, checkpointStorage={**kept, "saveTrialBest": 3}).status == 200
    assert patch(c, x, resources={"priority": 20, "maxSlots": 4}).status == 200
    job = c.experiment(x)["jobId"]
    before = c.experiment(x)["config"]

    def update(**change):
        return c.post("/api/v1/job-queues", {"updates": [{"jobId": job, **change}]})
    assert PRIORITY in error_of(update(priority=1), 400)
    assert "weight cannot be modified" in error_of(update(weight=7.5), 400)
    assert c.experiment(x)["config"] == before
    assert update(priority=21).status == 200


def test_changes_of_a_tasks_priority_are_checked(c):
    rule(c, GLOBAL, "NTSC", constraints={"priority_limit": 20})
    task = launch(c, resources={"slots": 64}, workspaceId=c.mine).json["command"]
    path = f"/api/v1/commands/{task['id']}/set_priority"
    assert PRIORITY in error_of(c.post(path, {"commandId": task["id"], "priority": 19}), 400)
    assert c.post(path, {"commandId": task["id"], "priority": 20}).status == 200
    assert PRIORITY in error_of(c.post("/api/v1/job-queues", {"updates": [{"jobId": task["jobId"], "priority": 2}]}), 400)


def test_what_is_not_over_moves_only_where_it_fits(c):
    wide, narrow = (create(c, resources={"slots_per_trial": n, "max_slots": n}).json["experiment"]["id"] for n in (3, 1))
    rule(c, of(c.theirs), constraints={"resources": {"max_slots": 2}}, invariant_config={"max_restarts": 5})

    def move(x):
        return c.post(f"/api/v1/experiments/{x}/move", {"experimentId": x, "destinationProjectId": c.project[c.theirs]})
    says = error_of(move(wide), 400)
    assert says.startswith(f"experiment {wide} is not over and cannot move to this workspace: requested resources.slots_per_trial [3]")
    assert "demands another value of max_restarts" in error_of(move(narrow), 400)
    project = c.project[c.mine]
    refused = c.post(f"/api/v1/projects/{project}/move", {"projectId": project, "destinationWorkspaceId": c.theirs})
    assert "is not over and cannot move" in error_of(refused, 400) and c.get(f"/api/v1/projects/{project}").json["project"]["workspaceId"] == c.mine
    rule(c, of(c.theirs), constraints={"resources": {"max_slots": 2}},
         invariant_config={"environment": {"environment_variables": []}, "labels": []})
    assert move(narrow).status == 200, "it has all that is demanded"
    c.post(f"/api/v1/experiments/{wide}/kill")
    c.wait_experiment(wide)
    assert move(wide).status == 200, "what is over asks for nothing"


def test_a_workspace_that_goes_takes_its_policies_along(c):
    w = c.post("/api/v1/workspaces", {"name": "short-lived"}).json["workspace"]["id"]
    rule(c, of(w), constraints={"priority_limit": 60})
    assert c.request("DELETE", f"/api/v1/workspaces/{w}").status == 200
    assert c.get(of(w) + "EXPERIMENT").status == 404
