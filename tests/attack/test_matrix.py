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
    tasks = need.object in ("task", "allocation")  # those that the matrix asks for are of an experiment
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
