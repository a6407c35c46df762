"""The authorisation matrix with roles (security.authz.type: rbac): every served route, raw paths, streams, WebSockets and the proxy included,
is asked by everybody in ASKING for objects of one workspace. What is expected follows from the route's row in contract/served.json alone,
whose words contract/README.md explains; OTHERWISE has the routes for which it does not, each with the reason.

As in test_credentials.py, a request has only as much in it as names the object, so that an allowed one mostly ends with 400, 404 or 501. What
counts is the class of the answer: 401, 403, "hidden" (404, as if there were no such object) or "allowed"."""
import json
import re
import time
import urllib.parse
import uuid

import pytest
from api.cluster.test_updates import Stream
from support.cluster import CONTRACT, PASSWORD, ROOT, Cluster, client_hash, wait_for
from support.launched import KINDS as LAUNCHED
from support.launched import launch_id
from test_credentials import BODIES, EXPERIMENTS, RUNS, SCRIPT, Rule, Task, ask, path_of, rules_of

PERSON_PASSWORD = "Long-Enough-1"
PERMISSIONS = json.loads((ROOT / "contract/permissions.json").read_text())
ROLES = json.loads((ROOT / "contract/roles.json").read_text())
MEMBERS = {"viewer": "Viewer", "editor": "Editor", "workspace admin": "WorkspaceAdmin"}
HINT = "please check your permissions."

# Who asks. The role counts in the workspace whose objects are asked for; an admin has the role ClusterAdmin without being given it. The
# person "other" may edit another workspace, in which "another task" runs.
ASKING = ("nobody", "expired", "other", "viewer", "editor", "workspace admin", "cluster admin", "task", "another task", "agent")
KIND = {"nobody": "none", "expired": "none", "agent": "agent", "task": "task", "another task": "task", "cluster admin": "admin"}

# Routes whose answers do not follow from their rows: {who: answer}, and why.
OTHERWISE = {
    "GetWorkspaceProjects": ({"other": "hidden", "another task": "hidden"},
                             "the list of one workspace is the workspace's, and hidden with it; the list of all workspaces leaves it out"),
    "ANY /proxy/:service/*": ({"nobody": 401, "expired": 401, "agent": 401, "other": "hidden", "viewer": "hidden", "another task": 401, "task": 401},
                              "the row is open because the handler itself finds out who asks; sessions of tasks are nobody there, and a "
                              "visitor who may not run something in the task is told that there is no such service"),
}


def permissions_of(who):
    role = {"cluster admin": "ClusterAdmin", "task": "Editor", **MEMBERS}.get(who)
    if not role:
        return set()
    given = ROLES[role]["permissions"]
    return set(PERMISSIONS) if given == "all" else set(given)


class World:
    """A cluster with roles. The workspace W has a viewer, an editor and an admin, and the workspace V another person as its editor. The editor's
    task runs in W, the other person's in V."""

    def __init__(self, cluster):
        self.c, self.n = cluster, 0
        cluster.login("admin")
        self.admin = cluster.token
        self.workspace, self.project = self.new_place("W")
        self.elsewhere, self.project_elsewhere = self.new_place("V")
        self.login, self.user_id = {"cluster admin": self.admin}, {}
        for who, role in {**MEMBERS, "other": "Editor"}.items():
            self.new_person(who, role, self.elsewhere if who == "other" else self.workspace)
        self.task = {"task": self.run("editor", "W"), "another task": self.run("other", "V")}
        expired = self.new_login("viewer")
        assert cluster.post("/api/v1/auth/logout", token=expired).status == 200
        self.tokens = {**self.login, "nobody": None, "expired": expired, "agent": (cluster.dir / "data/agent.token").read_text().strip(),
                       **{who: task.session for who, task in self.task.items()}}
        self.standing = self.objects_of_the_task()
        assert self.post("/api/v1/groups", {"name": "group"})["group"]["groupId"] == 1

    def post(self, path, body, token=None):
        reply = self.c.post(path, body, token=token or self.admin)
        assert reply.status == 200, (path, body, reply)
        return reply.json

    def get(self, path, token=None):
        reply = self.c.get(path, token=token or self.admin)
        assert reply.status == 200, (path, reply)
        return reply.json

    def new_place(self, name):
        workspace = self.post("/api/v1/workspaces", {"name": name})["workspace"]["id"]
        return workspace, self.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "P"})["project"]["id"]

    def new_login(self, who):
        body = {"username": who.replace(" ", "-"), "password": client_hash(PERSON_PASSWORD), "isHashed": True}
        return self.c.post("/api/v1/auth/login", body, token=None).json["token"]

    def new_person(self, who, role, workspace):
        user = {"username": who.replace(" ", "-"), "active": True}
        made = self.post("/api/v1/users", {"user": user, "password": client_hash(PERSON_PASSWORD), "isHashed": True})["user"]["id"]
        self.post("/api/v1/roles/add-assignments", {"userRoleAssignments": [{"userId": made, "roleAssignment": {
            "role": {"roleId": ROLES[role]["id"]}, "scopeWorkspaceId": workspace}}]})
        self.login[who], self.user_id[who] = self.new_login(who), made

    def config(self, workspace="W", **changes):
        return {**self.c.experiment_config(**changes), "workspace": workspace, "project": "P"}

    def create(self, who="editor", workspace="W", activate=False, **changes):
        return self.post("/api/v1/experiments", {"config": json.dumps(self.config(workspace, **changes)), "activate": activate},
                         self.login[who])["experiment"]

    def run(self, who, workspace):
        told = self.c.storage / f"told-by-{who}"
        self.create(who, workspace, activate=True, entrypoint=["python3", "-c", SCRIPT],
                    environment={"environment_variables": [f"TOLD={told}"]})
        wait_for(f"the task of {who}", told.exists)
        return Task(json.loads(told.read_text()))

    def report_checkpoint(self):
        task, made = self.task["task"], str(uuid.uuid4())
        self.post("/api/v1/checkpoints", {"uuid": made, "taskId": task.objects["task"], "metadata": {"steps_completed": 1},
                                          "allocationId": task.objects["allocation"], "resources": {"x": "1"}}, task.session)
        return made

    def objects_of_the_task(self):
        running = self.task["task"].objects
        job = self.get(f"/api/v1/experiments/{running['experiment']}")["experiment"]["jobId"]
        objects = {**running, "run": running["trial"], "job": job, "workspace": self.workspace, "project": self.project,
                   "user": self.user_id["editor"], "checkpoint": self.report_checkpoint()}
        for kind in ("template", "model", "webhook", *LAUNCHED):
            objects[kind] = self.make(kind, objects)
        return objects

    def make(self, kind, objects):
        """A new object of one kind in W, which nothing else needs."""
        self.n += 1
        name, editor = f"{kind}{self.n}", self.login["editor"]
        if kind in LAUNCHED:
            more = {"experimentIds": [objects["experiment"]]} if kind == "tensorboard" else {}
            more |= {"entrypoint": ["true"]} if kind == "command" else {}
            return launch_id(self.c, kind, token=editor, workspaceId=self.workspace, resources={"slots": 64}, **more)
        if kind == "template":
            self.post(f"/api/v1/templates/{name}", {"name": name, "config": {"name": "x"}, "workspaceId": self.workspace}, editor)
            return name
        if kind == "model":
            self.post("/api/v1/models", {"name": name, "workspaceId": self.workspace}, editor)
            self.post(f"/api/v1/models/{name}/versions", {"checkpointUuid": objects["checkpoint"]}, editor)
            return name
        if kind == "webhook":
            return self.post("/api/v1/webhooks", {
                "name": name, "url": "http://127.0.0.1:1/", "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_SPECIFIC",
                "workspaceId": self.workspace, "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}, editor)["webhook"]["id"]
        assert kind == "project", kind
        return self.post(f"/api/v1/workspaces/{self.workspace}/projects", {"name": name}, editor)["project"]["id"]

    def fresh(self, kind):
        """The objects, of which those of this kind are new."""
        if kind in ("experiment", "trial", "run", "task", "job"):
            x = self.create()
            trial = self.get(f"/api/v1/experiments/{x['id']}/trials")["trials"][0]
            return {**self.standing, "experiment": x["id"], "trial": trial["id"], "run": trial["id"], "task": trial["taskIds"][0],
                    "job": x["jobId"]}
        if kind == "user":
            return self.standing
        if kind == "checkpoint":
            return {**self.standing, "checkpoint": self.report_checkpoint()}
        if kind == "workspace":
            self.n += 1
            made, project = self.new_place(f"w{self.n}")
            for who, role in MEMBERS.items():
                self.post("/api/v1/roles/add-assignments", {"userRoleAssignments": [{"userId": self.user_id[who], "roleAssignment": {
                    "role": {"roleId": ROLES[role]["id"]}, "scopeWorkspaceId": made}}]})
            return {**self.standing, "workspace": made, "project": project}
        return {**self.standing, kind: self.make(kind, self.standing)}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    config = {"security": {"initial_user_password": PASSWORD, "authz": {"type": "rbac"}}}
    with Cluster(tmp_path_factory.mktemp("matrix") / "cluster", config=config) as c:
        c.start_master()
        c.start_agent(slots=4)
        yield World(c)


# ---- the request of a cell ----------------------------------------------------------------------------------------------

INSIDE = {  # requests that create something in W
    "CreateExperiment": lambda w, o: {"config": json.dumps(w.config()), "validateOnly": True},
    "PutExperiment": lambda w, o: {"config": json.dumps(w.config()), "unmanaged": True},
    "LaunchCommand": lambda w, o: {"workspaceId": w.workspace, "config": {"resources": {"slots": 64}, "entrypoint": ["true"]}},
    **{f"Launch{kind}": lambda w, o: {"workspaceId": w.workspace, "config": {"resources": {"slots": 64}}} for kind in ("Notebook", "Shell")},
    "LaunchTensorboard": lambda w, o: {"workspaceId": w.workspace, "experimentIds": [o["experiment"]], "config": {"resources": {"slots": 64}}},
    "PostTemplate": lambda w, o: {"name": f"new-{time.monotonic_ns()}", "config": {"name": "x"}, "workspaceId": w.workspace},
    "PutTemplate": lambda w, o: {"name": o["template"], "config": {"name": "x"}},
    "PostModel": lambda w, o: {"name": f"new-{time.monotonic_ns()}", "workspaceId": w.workspace},
    "PostProject": lambda w, o: {"name": f"new-{time.monotonic_ns()}"},
    "PostWebhook": lambda w, o: {"workspaceId": w.workspace},
    "PostModelVersion": lambda w, o: {"checkpointUuid": o["checkpoint"]},
    "CreateTrial": lambda w, o: {"experimentId": o["experiment"]},
    "PutTrial": lambda w, o: {"createTrialRequest": {"experimentId": o["experiment"]}},
    "PostUserActivity": lambda w, o: {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT", "entityId": o["project"]},
    "MoveExperiment": lambda w, o: {"destinationProjectId": w.project},
    "MoveModel": lambda w, o: {"destinationWorkspaceId": w.workspace},
    "MoveProject": lambda w, o: {"destinationWorkspaceId": w.workspace},
    "PostAccessToken": lambda w, o: {"userId": o["user"]},
    "AssignRoles": lambda w, o: {"userRoleAssignments": [{"userId": o["user"], "roleAssignment": {
        "role": {"roleId": 4}, "scopeWorkspaceId": w.workspace}}]},
    "RemoveAssignments": lambda w, o: {"userRoleAssignments": [{"userId": o["user"], "roleAssignment": {
        "role": {"roleId": 9}, "scopeWorkspaceId": w.workspace}}]},
}
PLACES = ("anywhere", "handler", "live")


class Need:
    """A permission that a row names; as contract/README.md says it, not as the generator does."""

    def __init__(self, text):
        self.name, self.other, place, self.missing, self.at = re.fullmatch(
            r"([a-z_]+)(?:\|([a-z_]+))?(?::([a-z]+)(\?)?(?:@([\w.]+))?)?", text).groups()
        self.place = place if place in PLACES else "object" if place else "cluster"
        self.object = place if self.place == "object" else None


def needs_of(row):
    given = row["permission"] if isinstance(row["permission"], list) else [row["permission"]]
    return [Need(text) for text in given if text != "none"]


def bulk(name):
    return EXPERIMENTS.fullmatch(name) or RUNS.fullmatch(name)


def body_of(world, name, route, row, objects):
    if route["method"] == "GET":
        return None
    if bulk(name):
        ids = {"runIds": [objects["run"]]} if RUNS.fullmatch(name) else {"experimentIds": [objects["experiment"]], "projectId": -1}
        return {**ids, **({"destinationProjectId": world.project} if "Move" in name else {})}
    if name in INSIDE:
        return INSIDE[name](world, objects)
    if name in BODIES:
        return BODIES[name](objects)
    if not route.get("body"):
        return None
    body = {}
    for text in [row.get("person", ""), row["task"] if "task" in row else "", *([row["permission"]] if isinstance(row["permission"], str) else row["permission"])]:
        parsed = re.fullmatch(r"[a-z_|-]+:([a-z]+)\??@([\w.]+)", text)
        if not parsed or parsed[1] not in objects:
            continue
        at = parsed[2].split(".")
        made = objects[parsed[1]]
        for part in reversed(at if route["body"] == "*" else at[1:]):
            made = {part: made}
        body.update(made if isinstance(made, dict) else {})
    return body


def request_of(world, name, row, objects):
    route = CONTRACT.routes.get(name)
    if not route:
        method, path = name.split(" ")
        named = {":id": objects["experiment"], ":uuid": objects["checkpoint"], ":service": objects["notebook"]}
        route = {"method": method.replace("ANY", "GET"), "path": path, "body": "*"}
        return route, "/".join(str(named.get(part, part)) for part in path.split("/")), body_of(world, name, route, row, objects)
    rule = next((r for r in rules_of(row).values() if r.object), Rule("no"))
    path = path_of(route["path"].replace("{projectId}", str(objects["project"])), objects, rule)
    if route["path"] in ("/api/v1/projects/{id}", "/api/v1/projects/{id}/columns"):
        path = route["path"].replace("{id}", str(objects["project"]))
    path = path.replace("users/alice/", "users/editor/")
    if route["method"] == "GET":
        query = {n.at: objects[n.object] for n in needs_of(row) if n.at and n.object in objects and "{" + n.at + "}" not in route["path"]}
        path += "?" + urllib.parse.urlencode(query) if query else ""
    return route, path, body_of(world, name, route, row, objects)


# ---- what is expected ---------------------------------------------------------------------------------------------------

VIEW = {"experiment": "view_experiment_metadata", "trial": "view_experiment_metadata", "checkpoint": "view_experiment_metadata",
        "task": "view_experiment_metadata", "allocation": "view_experiment_metadata", "workspace": "view_workspace", "project": "view_project",
        "template": "view_templates", "model": "view_model_registry", "webhook": "view_webhooks", **{kind: "view_nsc" for kind in LAUNCHED}}
# What a route concerns whose permission the handler asks for.
CONCERNS = {"create_experiment": "workspace", "create_nsc": "workspace", "create_templates": "workspace", "update_templates": "template",
            "create_model_registry": "workspace", "assign_roles": "workspace", "update_experiment": "experiment",
            "update_experiment_metadata": "experiment", "delete_experiment": "experiment", "delete_model_version": "model", "update_nsc": "task"}


def judged(who, need):
    """The answer to somebody who acts as a person, by one permission of the row."""
    has = permissions_of(who)
    tasks = need.object in ("task", "allocation")  # the tasks that the matrix asks for are of an experiment
    needed = need.other if need.other and (tasks or need.object == "user" and who != "editor") else need.name
    if need.object == "user":
        return "allowed" if needed == "none" or who == "cluster admin" else 403
    if need.place == "cluster":
        return "allowed" if who == "cluster admin" else 403
    if need.place == "anywhere":
        return "allowed" if needed in has | (permissions_of("editor") if who in ("other", "another task") else set()) else 403
    if need.place in ("handler", "live") and need.name.startswith("view_"):
        return "allowed"  # lists leave out what is not visible, so that everybody may ask
    concerned = need.object or CONCERNS[need.name]
    if need.other and concerned == "task":
        needed = need.other
    if need.object == "model" and need.other:
        needed = need.name if who == "editor" else need.other  # the editor has made the models
    if VIEW[concerned] not in has or (needed.startswith("view_") and needed not in has):
        return "hidden"
    return "allowed" if needed in has else 403


def expected(name, row, who):
    special = OTHERWISE.get(name, ({}, ""))[0]
    if who in special:
        return special[who]
    if row.get("none") == "open":
        return "allowed"
    rule = rules_of(row)[KIND.get(who, "person")]
    if rule.word == "no":
        return 401 if KIND.get(who) in ("none", "agent") else 403
    if KIND.get(who) == "agent":
        return "allowed"
    if KIND.get(who) == "task" and rule.word not in ("read", "any"):
        return "allowed" if who == "task" and rule.object not in LAUNCHED else 403
    if who == "cluster admin":
        return "allowed"
    answers = [judged(who, need) for need in needs_of(row)]
    if who == "task" and all(need.object in ("experiment", "trial", "task", "allocation") for need in needs_of(row)):
        return "allowed"
    return next((answer for answer in answers if answer != "allowed"), "allowed")


def verdict(name, reply):
    if reply.status in (401, 403):
        return reply.status
    if reply.status == 200 and bulk(name):
        said = " ".join(r["error"] for r in reply.json["results"])
        return 403 if "forbidden" in said else "hidden" if "not found" in said else "allowed"
    if reply.status == 404 and HINT.encode() in reply.body:
        return "hidden"
    assert reply.status < 500 or reply.status in (501, 502, 503), (name, reply)
    return "allowed"


# Requests that name something besides their object that there is not, so that even an allowed one ends with 404.
MISSING = ("none-such", "/aliases/", "/modelversions/", "/agents/", "/resource-pools", "tokens/1", "/groups/", "quota")


def is_final(row):
    """Whether the effect of a request on an object is final, or keeps other requests from having the same effect."""
    return Rule(row.get("person", "no")).owners_only and row["task"] == "no"


ROWS = sorted(CONTRACT.served.items(), key=lambda item: item[0] in ("DeleteGroup", "Logout"))


@pytest.mark.parametrize("name,row", ROWS, ids=[name for name, _ in ROWS])
def test_everybody_may_do_what_their_role_permits_and_nothing_else(world, name, row):
    objects, faults = None, []
    kind = next((n.object or CONCERNS.get(n.name) for n in needs_of(row)), None)
    for who in ASKING:
        wanted = expected(name, row, who)
        if objects is None or wanted == "allowed" and is_final(row):
            objects = world.fresh(kind) if is_final(row) and kind else world.standing
        route, path, body = request_of(world, name, row, objects)
        token = world.tokens[who]
        if name == "Logout" and wanted == "allowed":
            token = world.new_login("viewer")
        reply = ask(world.c, route["method"], path, body, token, route.get("stream"))
        got = verdict(name, reply)
        if got == "hidden" and wanted == "allowed" and (who == "cluster admin" or any(m in path for m in MISSING)):
            got = "allowed"
        if got != wanted:
            faults.append(f"{who} expects {wanted}, but {route['method']} {path} {body} gives {reply}")
    assert not faults, "\n".join(faults)


def test_each_exception_has_a_reason_and_a_route():
    assert set(OTHERWISE) <= set(CONTRACT.served) and all(len(why) > 20 for _, why in OTHERWISE.values())


# ---- what lists show ----------------------------------------------------------------------------------------------------

# path: where the ids are in the reply, and which objects of W must be among them
LISTS = {
    "/api/v1/experiments": ("experiments", "id", "experiment"),
    "/api/v1/workspaces": ("workspaces", "id", "workspace"),
    "/api/v1/workspaces/0/projects": ("projects", "id", "project"),
    "/api/v1/models": ("models", "name", "model"),
    "/api/v1/templates": ("templates", "name", "template"),
    "/api/v1/webhooks": ("webhooks", "id", "webhook"),
    **{f"/api/v1/{kind}s": (f"{kind}s", "id", kind) for kind in LAUNCHED},
    "/api/v1/job-queues?resourcePool=default": ("jobs", "jobId", "job"),
    "/api/v1/user/projects/activity": ("projects", "id", "project"),
}


def shown(world, path, who):
    at, key, _ = LISTS[path]
    return {item[key] for item in world.get(path, world.tokens[who])[at]}


@pytest.mark.parametrize("path", LISTS)
def test_a_list_that_shows_what_is_in_other_workspaces(world, path):
    here = {**world.fresh("experiment"), **world.objects_of_the_task()}
    for who in ("viewer", "other"):
        world.c.post("/api/v1/users/activity", {"activityType": "ACTIVITY_TYPE_GET", "entityType": "ENTITY_TYPE_PROJECT", "entityId": world.project},
                     token=world.tokens[who])
    wanted = here[LISTS[path][2]]
    assert wanted in shown(world, path, "viewer") and wanted not in shown(world, path, "other")
    assert shown(world, path, "other") <= shown(world, path, "cluster admin") or "activity" in path
    page = world.get(path, world.tokens["other"]).get("pagination")
    assert not page or page["total"] == len(shown(world, path, "other")), "the total counts what is not shown"


def test_jobs_of_other_workspaces_are_shortened(world):
    """The queue is one for everybody: whoever waits sees what stands before, and neither whose it is nor why it waits."""
    name = "secret-of-this-workspace"
    x = world.create(name=name, description=name)
    world.post(f"/api/v1/experiments/{x['id']}/activate", {})
    path = "/api/v1/job-queues-v2?resourcePool=default&limit=1000"
    for order in ("", "&orderBy=ORDER_BY_DESC"):
        queue = {who: world.get(path + order, world.tokens[who]) for who in ("viewer", "other", "cluster admin")}
        ids = {who: [(j.get("full") or j["limited"])["jobId"] for j in reply["jobs"]] for who, reply in queue.items()}
        assert ids["viewer"] == ids["other"] == ids["cluster admin"] and x["jobId"] in ids["other"]
        assert all(reply["pagination"]["total"] == len(reply["jobs"]) for reply in queue.values())
    of = {who: next(j for j in reply["jobs"] if (j.get("full") or j["limited"])["jobId"] == x["jobId"]) for who, reply in queue.items()}
    assert of["viewer"]["full"]["name"] == of["cluster admin"]["full"]["name"] == name and not of["viewer"].get("limited")
    limited = of["other"]["limited"]
    assert not of["other"].get("full") and limited["workspaceId"] == world.workspace and limited["type"] == "TYPE_EXPERIMENT"
    assert limited["requestedSlots"] == of["viewer"]["full"]["requestedSlots"] and limited["priority"] == of["viewer"]["full"]["priority"]
    assert set(limited["summary"]) <= {"state", "jobsAhead"}, "why a job waits may name other people's work"
    assert name not in json.dumps(queue["other"])
    world.post(f"/api/v1/experiments/{x['id']}/kill", {})


def test_a_registered_checkpoint_is_published_where_its_model_is(world):
    """Whoever sees the model sees what its version is made of, and reaches neither the experiment nor the files."""
    name = f"published-{time.monotonic_ns()}"
    checkpoint = world.standing["checkpoint"]
    world.post("/api/v1/models", {"name": name, "workspaceId": world.elsewhere})
    world.post(f"/api/v1/models/{name}/versions", {"modelName": name, "checkpointUuid": checkpoint})
    token = world.tokens["other"]
    assert world.get(f"/api/v1/models/{name}/versions/1", token)["modelVersion"]["checkpoint"]["uuid"] == checkpoint
    assert world.c.get(f"/api/v1/models/{name}/versions/1/metrics", token=token).status == 200
    for path in (f"checkpoints/{checkpoint}", f"experiments/{world.standing['experiment']}"):
        assert world.c.get(f"/api/v1/{path}", token=token).status == 404, path
    assert world.c.get(f"/checkpoints/{checkpoint}", token=token).status == 404
    viewer = world.tokens["viewer"]
    assert world.c.get(f"/api/v1/models/{name}/versions/1", token=viewer).status == 404
    assert world.c.request("DELETE", f"/api/v1/models/{name}", token=world.admin).status == 200


def test_searches_that_find_what_is_in_other_workspaces(world):
    x, trial = world.standing["experiment"], world.standing["trial"]
    for who, seen in (("viewer", True), ("other", False), ("another task", False), ("cluster admin", True)):
        token = world.tokens[who]
        found = world.c.post("/api/v1/experiments-search", {"limit": -1}, token=token)
        runs = world.c.post("/api/v1/runs", {"limit": -1}, token=token)
        assert (x in {e["experiment"]["id"] for e in found.json["experiments"]}) == seen, who
        assert (trial in {r["id"] for r in runs.json["runs"]}) == seen, who
        named = world.c.post("/api/v1/experiments-search", {"projectId": world.project, "limit": -1}, token=token)
        assert bool(named.json["experiments"]) == seen
        allocations = world.get("/api/v1/tasks", token)["allocationIdToSummary"]
        assert (world.standing["allocation"] in allocations) == seen, who


def test_labels_that_tell_of_other_workspaces(world):
    x = world.create(labels=["secret-label"])["id"]
    world.post("/api/v1/models", {"name": "labelled", "labels": ["secret-of-a-model"], "workspaceId": world.workspace}, world.login["editor"])
    for who, seen in (("viewer", True), ("other", False)):
        assert ("secret-label" in world.get("/api/v1/experiment/labels", world.tokens[who])["labels"]) == seen, x
        assert ("secret-of-a-model" in world.get("/api/v1/model/labels", world.tokens[who])["labels"]) == seen


def test_a_filter_that_reaches_into_other_workspaces(world):
    """An action on all experiments that a filter finds leaves those alone that the user may not see, and does not name them."""
    x = world.create()["id"]
    reply = world.c.post("/api/v1/projects/-1/experiments/archive", {"filters": {"name": ""}}, token=world.tokens["other"])
    assert reply.status == 200 and x not in {r["id"] for r in reply.json["results"]}, reply
    assert not world.get(f"/api/v1/experiments/{x}")["experiment"]["archived"]


def test_agents_that_tell_of_containers_in_other_workspaces(world):
    container, slots = None, {}
    for who in ("viewer", "other"):
        agent = world.get("/api/v1/agents", world.tokens[who])["agents"][0]
        slots[who] = [s["container"]["id"] for s in agent["slots"].values() if s["container"]]
        assert agent["containers"] and agent["addresses"] == ["********"], agent
    container = next(c for c in slots["viewer"] if c != "********")
    assert container not in slots["other"] and "********" in slots["other"]
    assert len(slots["viewer"]) == len(slots["other"]) == 2, slots
    everything = world.get("/api/v1/agents")["agents"][0]
    assert container in everything["containers"] and everything["addresses"] != ["********"]


# ---- updates ------------------------------------------------------------------------------------------------------------

def test_updates_that_tell_of_other_workspaces(world):
    streams = {who: Stream(world.c, world.tokens[who]) for who in ("viewer", "other")}
    asked = {"projects": {"workspace_ids": [world.workspace, world.elsewhere]}, "models": {"workspace_ids": [world.workspace, world.elsewhere]}}
    for who, place in (("viewer", world.workspace), ("other", world.elsewhere)):
        told = streams[who].subscribe(**asked)
        places = {next(iter(m.values()))["workspace_id"] for m in told}
        assert places == {place}, (who, told)
    here = world.post(f"/api/v1/workspaces/{world.workspace}/projects", {"name": "seen here"})["project"]["id"]
    there = world.post(f"/api/v1/workspaces/{world.elsewhere}/projects", {"name": "seen there"})["project"]["id"]
    assert streams["viewer"].next()["project"]["id"] == here
    assert streams["other"].next()["project"]["id"] == there
    # a project that moves out of sight leaves, and comes into sight where it goes
    world.post(f"/api/v1/projects/{here}/move", {"destinationWorkspaceId": world.elsewhere})
    assert streams["viewer"].next() == {"projects_deleted": str(here)}
    assert streams["other"].next()["project"]["id"] == here
    for s in streams.values():
        s.ws.close()


# ---- ports of tasks -----------------------------------------------------------------------------------------------------

def test_ports_of_tasks_for_whoever_may_change_them(world):
    """A TensorBoard is looked at; in a notebook a visitor runs what they like."""
    for kind, allowed in (("tensorboard", {"viewer", "editor", "workspace admin", "cluster admin"}),
                          ("notebook", {"editor", "workspace admin", "cluster admin"})):
        for who in ("other", "viewer", "editor", "workspace admin", "cluster admin"):
            for path in (f"/proxy/{world.standing[kind]}/", f"/proxy/{world.standing[kind]}/?token=wrong"):
                reply = ask(world.c, "GET", path, None, world.tokens[who], False)
                assert (verdict(path, reply) == "allowed") == (who in allowed), (kind, who, reply)


# ---- roles that come and go ---------------------------------------------------------------------------------------------

def change_roles(world, what, who, role, workspace=None):
    scope = {"scopeWorkspaceId": workspace} if workspace else {"scopeCluster": True}
    world.post(f"/api/v1/roles/{what}-assignments", {"userRoleAssignments": [{"userId": world.user_id[who], "roleAssignment": {
        "role": {"roleId": ROLES[role]["id"]}, **scope}}]})


def test_a_role_counts_from_the_moment_on_when_it_is_given_and_taken(world):
    x = f"/api/v1/experiments/{world.standing['experiment']}"
    status = [world.c.get(x, token=world.tokens["other"]).status]
    change_roles(world, "add", "other", "Viewer", world.workspace)
    status.append(world.c.get(x, token=world.tokens["other"]).status)
    change_roles(world, "remove", "other", "Viewer", world.workspace)
    assert status + [world.c.get(x, token=world.tokens["other"]).status] == [404, 200, 404]


def test_a_role_of_a_group_counts_for_its_members(world):
    group = world.post("/api/v1/groups", {"name": "readers", "addUsers": [world.user_id["other"]]})["group"]["groupId"]
    x = f"/api/v1/experiments/{world.standing['experiment']}"
    world.post("/api/v1/roles/add-assignments", {"groupRoleAssignments": [{"groupId": group, "roleAssignment": {
        "role": {"roleId": ROLES["Viewer"]["id"]}, "scopeCluster": True}}]})
    assert world.c.get(x, token=world.tokens["other"]).status == 200
    assert world.c.request("PUT", f"/api/v1/groups/{group}", {"groupId": group, "removeUsers": [world.user_id["other"]]}, token=world.admin).status == 200
    assert world.c.get(x, token=world.tokens["other"]).status == 404


def test_the_role_clusteradmin_makes_an_admin_and_its_end_ends_that(world):
    config = {"token": world.tokens["other"]}
    before = world.c.get("/api/v1/master/config", **config).status
    change_roles(world, "add", "other", "ClusterAdmin")
    made = world.c.post("/api/v1/users", {"user": {"username": "made-by-a-role", "active": True}}, **config)
    during = world.c.get("/api/v1/master/config", **config).status
    task = world.c.get("/api/v1/master/config", token=world.task["another task"].user_token).status
    change_roles(world, "remove", "other", "ClusterAdmin")
    assert (before, during, task) == (403, 200, 403) and made.status == 200, made
    assert world.c.get("/api/v1/master/config", **config).status == 403


def test_whoever_makes_a_workspace_is_its_admin_and_nobody_else_sees_it(world):
    change_roles(world, "add", "other", "WorkspaceCreator")
    made = world.post("/api/v1/workspaces", {"name": "made by another"}, world.tokens["other"])["workspace"]["id"]
    path, mine = f"/api/v1/workspaces/{made}", world.tokens["other"]
    assert world.c.patch(path, {"id": made, "defaultComputePool": "default"}, token=mine).status == 200
    assert world.c.get(path, token=world.tokens["editor"]).status == 404
    world.post("/api/v1/roles/add-assignments", {"userRoleAssignments": [{"userId": world.user_id["editor"], "roleAssignment": {
        "role": {"roleId": ROLES["Editor"]["id"]}, "scopeWorkspaceId": made}}]}, mine)
    assert world.c.get(path, token=world.tokens["editor"]).status == 200
    # an editor changes the workspace, but neither its pools nor its storage
    changes = ({"name": "new name"}, {"defaultComputePool": "default"}, {"checkpointStorageConfig": {"type": "directory", "container_path": "/x"}})
    assert [world.c.patch(path, {"id": made, **change}, token=world.tokens["editor"]).status for change in changes] == [200, 403, 403]
    summary = world.get("/api/v1/permissions/summary", mine)
    assert {"WorkspaceAdmin", "WorkspaceCreator", "Editor"} <= {role["name"] for role in summary["roles"]}
    change_roles(world, "remove", "other", "WorkspaceCreator")


def test_a_workspace_admin_gives_no_role_elsewhere(world):
    admin, body = world.tokens["workspace admin"], {"userId": world.user_id["viewer"]}
    for scope, wanted in (({"scopeWorkspaceId": world.elsewhere}, 404), ({"scopeCluster": True}, 403), ({"scopeWorkspaceId": world.workspace}, 200)):
        given = {"userRoleAssignments": [{**body, "roleAssignment": {"role": {"roleId": ROLES["ModelRegistryViewer"]["id"]}, **scope}}]}
        assert world.c.post("/api/v1/roles/add-assignments", given, token=admin).status == wanted, scope


def test_nobody_gives_or_takes_a_role_that_permits_more_than_they_may_do(world):
    """A WorkspaceAdmin of the whole cluster may give roles in it, but cannot become ClusterAdmin by that."""
    change_roles(world, "add", "other", "WorkspaceAdmin")
    verdicts = []
    for role in ("ClusterAdmin", "WorkspaceCreator", "Viewer"):
        given = {"userRoleAssignments": [{"userId": world.user_id["other"], "roleAssignment": {
            "role": {"roleId": ROLES[role]["id"]}, "scopeCluster": True}}]}
        verdicts += [world.c.post(f"/api/v1/roles/{what}-assignments", given, token=world.tokens["other"]).status for what in ("add", "remove")]
    change_roles(world, "remove", "other", "WorkspaceAdmin")
    assert verdicts == [403, 403, 403, 403, 200, 200]


def test_the_address_of_a_webhook_is_for_those_who_may_change_it(world):
    """The address may be a secret. A viewer sees that there is a webhook."""
    shown = [{w["id"]: w["url"] for w in world.get("/api/v1/webhooks", world.tokens[who])["webhooks"]}[world.standing["webhook"]]
             for who in ("viewer", "workspace admin")]
    assert shown[0] == "********" and shown[1].startswith("http://127.0.0.1"), shown


def test_assignments_in_a_workspace_that_may_not_be_seen_are_not_shown(world):
    """Who may give roles in one workspace asks who has a role, and is not told of other workspaces."""
    change_roles(world, "add", "viewer", "Editor", world.elsewhere)
    replies = [world.post("/api/v1/roles/search/by-ids", {"roleIds": [ROLES["Editor"]["id"]]}, token)["roles"][0]
               for token in (world.tokens["workspace admin"], world.admin)]
    change_roles(world, "remove", "viewer", "Editor", world.elsewhere)
    shown = [{a["roleAssignment"].get("scopeWorkspaceId") for a in reply["userRoleAssignments"]} for reply in replies]
    assert world.elsewhere not in shown[0] and world.elsewhere in shown[1]


def test_what_is_copied_or_started_from_an_object_that_may_not_be_seen(world):
    mine, config = world.tokens["other"], world.config("V")
    x, trial, checkpoint = (world.standing[kind] for kind in ("experiment", "trial", "checkpoint"))
    wanted = [{"config": json.dumps(config), "parentId": x}, {"config": json.dumps(config), "template": world.standing["template"]},
              {"config": json.dumps({**config, "searcher": {**config["searcher"], "source_trial_id": trial}})},
              {"config": json.dumps({**config, "searcher": {**config["searcher"], "source_checkpoint_uuid": checkpoint}})}]
    for body in wanted:
        assert world.c.post("/api/v1/experiments", body, token=mine).status == 404, body
    shown = {"experimentIds": [x], "workspaceId": world.elsewhere}
    assert world.c.post("/api/v1/tensorboards", shown, token=mine).status == 404


def test_an_object_that_may_not_be_seen_looks_like_one_that_does_not_exist(world):
    for path, there in (("/api/v1/experiments/{}", world.standing["experiment"]), ("/api/v1/models/{}", world.standing["model"]),
                        ("/api/v1/workspaces/{}", world.workspace), ("/api/v1/commands/{}", world.standing["command"])):
        missing = 99999 if isinstance(there, int) else "x" * len(there)
        replies = [world.c.get(path.format(i), token=world.tokens["other"]) for i in (there, missing)]
        said = [r.body.replace(str(i).encode(), b"") for r, i in zip(replies, (there, missing), strict=True)]
        assert replies[0].status == replies[1].status == 404 and said[0] == said[1] and HINT.encode() in said[0]


def test_tokens_stay_narrower_than_roles(world):
    """A token with the scope read of an editor reads what the editor sees, and changes nothing."""
    change_roles(world, "add", "editor", "TokenCreator")
    token = world.post("/api/v1/tokens", {"userId": world.user_id["editor"], "scope": "TOKEN_SCOPE_READ"}, world.login["editor"])["token"]
    x, own = world.standing["experiment"], world.task["task"]
    assert world.c.get(f"/api/v1/experiments/{x}", token=token).status == 200
    assert world.c.post(f"/api/v1/experiments/{x}/pause", {}, token=token).status == 403
    hidden = world.create("other", "V")["id"]
    for secret in (token, own.session, own.user_token):
        assert world.c.get(f"/api/v1/experiments/{hidden}", token=secret).status == 404


def test_a_master_without_roles_becomes_one_with_roles(tmp_path):
    """The admin can still do everything, an ordinary user nothing until a role is given."""
    with Cluster(tmp_path / "c") as c:
        c.start_master()
        c.login()
        x = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config()), "activate": False}).json["experiment"]["id"]
        assert c.get("/api/v1/master").json["rbacEnabled"] is False
        c.stop_master()
        c.config["security"] = {**c.config["security"], "authz": {"type": "rbac"}}
        c.start_master()
        assert c.get("/api/v1/master").json["rbacEnabled"] is True
        c.login()
        assert c.get(f"/api/v1/experiments/{x}").status == 404
        c.login("admin")
        assert c.get(f"/api/v1/experiments/{x}").status == 200 and c.get("/api/v1/master/config").status == 200
        assert c.get("/api/v1/permissions/summary").json["roles"][0]["name"] == "ClusterAdmin"
