"""Tests every served route with every kind of credential, for the user's own object and for another user's.

The table is contract/served.json, whose words contract/README.md explains. What is expected follows only from that. Each cell of the
table is one request with only as much in it as names the object, so an allowed request mostly ends with 400 or 404. What counts is
the class of the answer: 401, 403 or neither. An allowed request that does change something gets an object that was made for it.
"""
import contextlib
import http.client
import itertools
import json
import re
import urllib.parse
import uuid

import pytest
from support.cluster import CONTRACT, Cluster, Reply, client_hash, wait_for
from support.launched import KINDS as LAUNCHED
from support.launched import launch_id

PERSONS = ("alice", "bob")
PASSWORD = "Long-Enough-1"
COLLECTOR = "a-token-that-collectors-of-metrics-show"
# The task writes its environment, which has its tokens, to a file, and then sleeps until it is killed.
SCRIPT = """
import json, os, pathlib, time
told = pathlib.Path(os.environ["TOLD"])
told.with_suffix(".new").write_text(json.dumps(dict(os.environ)))
told.with_suffix(".new").rename(told)
time.sleep(3600)
"""


class Task:
    """What a running task knows of itself."""

    def __init__(self, environment):
        self.session, self.user_token = environment["DET_SESSION_TOKEN"], environment["DET_USER_TOKEN"]
        self.objects = {"experiment": int(environment["DET_EXPERIMENT_ID"]), "trial": int(environment["DET_TRIAL_ID"]),
                        "task": environment["DET_TASK_ID"], "allocation": environment["DET_ALLOCATION_ID"],
                        "resources": environment["DET_RESOURCES_ID"]}


class World:
    """A cluster on which Alice, Bob and an admin run one task each."""

    def __init__(self, cluster):
        self.c, self.names = cluster, itertools.count(1)
        cluster.login("admin")
        self.admin = cluster.token
        self.login = {name: self.new_person(name) for name in PERSONS}
        self.login["admin"] = self.admin
        self.user_id = {name: self.get_json("/api/v1/me", self.login[name])["user"]["id"] for name in self.login}
        self.experiment = {name: self.run(name) for name in self.login}
        self.task = {name: self.told(name) for name in self.login}
        self.job = {name: self.get_json(f"/api/v1/experiments/{x}", self.admin)["experiment"]["jobId"]
                    for name, x in self.experiment.items()}
        self.checkpoint = {name: self.report(self.task[name]) for name in PERSONS}
        self.launched = {kind: self.launch(kind, "alice") for kind in LAUNCHED}
        self.token = {(name, scope): self.new_token(name, scope) for name in self.login for scope in ("read", "submit", "all")}
        self.submitted = self.submit("alice")
        self.logged_out = self.new_login("alice")
        assert cluster.post("/api/v1/auth/logout", token=self.logged_out).status == 200
        self.agent_token = (cluster.dir / "data/agent.token").read_text().strip()

    def get_json(self, path, token):
        reply = self.c.get(path, token=token)
        assert reply.status == 200, reply
        return reply.json

    def new_login(self, name):
        reply = self.c.post("/api/v1/auth/login", {"username": name, "password": client_hash(PASSWORD), "isHashed": True}, token=None)
        assert reply.status == 200, reply
        return reply.json["token"]

    def new_person(self, name):
        reply = self.c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(PASSWORD),
                                              "isHashed": True}, token=self.admin)
        assert reply.status == 200, reply
        return self.new_login(name)

    def new_token(self, name, scope):
        reply = self.c.post("/api/v1/tokens", {"userId": self.user_id[name], "scope": f"TOKEN_SCOPE_{scope.upper()}"}, token=self.login[name])
        assert reply.status == 200, reply
        return reply.json["token"]

    def create(self, name, activate=False, token=None, **changes):
        reply = self.c.post("/api/v1/experiments", {"config": json.dumps(self.c.experiment_config(**changes)), "activate": activate},
                            token=token or self.login[name])
        assert reply.status == 200, reply
        return reply.json["experiment"]

    def submit(self, name):
        """A task of an experiment that a token with the scope submit has started."""
        self.run(name, f"{name}-by-token", self.token[name, "submit"])
        return self.told(f"{name}-by-token")

    def run(self, name, teller=None, token=None):
        told = self.c.storage / f"told-by-{teller or name}"
        return self.create(name, activate=True, token=token, entrypoint=["python3", "-c", SCRIPT],
                           environment={"environment_variables": [f"TOLD={told}"]})["id"]

    def launch(self, kind, name):
        """A task that waits for slots that nobody has."""
        more = {"experimentIds": [self.experiment[name]]} if kind == "tensorboard" else {}
        more |= {"entrypoint": ["true"]} if kind == "command" else {}
        return launch_id(self.c, kind, token=self.login[name], resources={"slots": 64}, **more)

    def told(self, name):
        path = self.c.storage / f"told-by-{name}"
        wait_for(f"the task of {name}", path.exists)
        return Task(json.loads(path.read_text()))

    def report(self, task):
        made = str(uuid.uuid4())
        reply = self.c.post("/api/v1/checkpoints", {"uuid": made, "taskId": task.objects["task"], "metadata": {"steps_completed": 1},
                                                    "allocationId": task.objects["allocation"], "resources": {"x": "1"}},
                            token=task.session)
        assert reply.status == 200, reply
        return made

    # ---- objects: those of a running task, and new ones that nothing else needs ----

    def running(self, name):
        objects = self.task[name].objects
        return {**objects, **self.launched, "run": objects["trial"], "job": self.job[name], "checkpoint": self.checkpoint[name],
                "user": self.user_id[name]}

    def new_objects(self, name, kind=None):
        token, number = self.login[name], next(self.names)
        if kind in LAUNCHED:
            return {**self.running(name), kind: self.launch(kind, name)}
        x = self.create(name)
        trial = self.get_json(f"/api/v1/experiments/{x['id']}/trials", token)["trials"][0]
        workspace = self.c.post("/api/v1/workspaces", {"name": f"w{number}"}, token=token).json["workspace"]["id"]
        project = self.c.post(f"/api/v1/workspaces/{workspace}/projects", {"name": f"p{number}"}, token=token).json["project"]["id"]
        template = f"t{number}"
        assert self.c.post(f"/api/v1/templates/{template}", {"name": template, "config": {"name": "x"}}, token=token).status == 200
        checkpoint, model = self.report(self.task[name]), f"m{number}"
        if kind == "model":
            assert self.c.post("/api/v1/models", {"name": model}, token=token).status == 200
            assert self.c.post(f"/api/v1/models/{model}/versions", {"checkpointUuid": checkpoint}, token=token).status == 200
        webhook = self.new_webhook(name, workspace) if kind == "webhook" else None
        return {**self.running(name), "experiment": x["id"], "trial": trial["id"], "run": trial["id"], "task": trial["taskIds"][0],
                "webhook": webhook, "job": x["jobId"], "workspace": workspace, "project": project, "template": template, "model": model,
                "checkpoint": checkpoint}

    def new_webhook(self, name, workspace):
        reply = self.c.post("/api/v1/webhooks", {
            "name": "w", "url": "http://127.0.0.1:1/", "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_SPECIFIC",
            "workspaceId": workspace, "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}, token=self.login[name])
        assert reply.status == 200, reply
        return reply.json["webhook"]["id"]

    def unmanaged(self, name):
        token = self.login[name]
        reply = self.c.post("/api/v1/experiments", {"config": json.dumps(self.c.experiment_config()), "unmanaged": True}, token=token)
        x = reply.json["experiment"]["id"]
        trial = self.c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True}, token=token).json["trial"]
        return {**self.running(name), "experiment": x, "trial": trial["id"], "task": trial["taskIds"][0]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    directory = tmp_path_factory.mktemp("credentials")
    (directory / "collector.token").write_text(COLLECTOR + "\n")
    with Cluster(directory / "cluster", config={"observability": {"token_file": str(directory / "collector.token")}}) as c:
        c.start_master()
        c.start_agent(slots=4)
        yield World(c)


# ---- the table ----------------------------------------------------------------------------------------------------------

CREDENTIALS = ("none", "person", "user_token", "admin", "task", "agent", "collector")


class Rule:
    def __init__(self, text):
        self.word, self.object, self.may_be_missing, self.at = re.fullmatch(
            r"([a-z-]+)(?::([a-z]+)(\?)?(?:@([\w.]+))?)?", text).groups()

    @property
    def owners_only(self):
        return self.word.startswith(("own", "each"))


def rules_of(row):
    """Derives the rules as contract/README.md says it, not as the generator does."""
    if row.get("none") == "open":
        return {credential: Rule("any" if credential != "none" else "open") for credential in CREDENTIALS}
    person = row["person"]
    limited = person == "admin" or Rule(person).owners_only
    found = {"none": "no", "agent": "no", "collector": "no", "user_token": "no" if person == "admin" else person,
             "admin": "any" if limited else person, **{k: row[k] for k in CREDENTIALS if k in row}}
    return {credential: Rule(found[credential]) for credential in CREDENTIALS}


# ---- the request of a cell ----------------------------------------------------------------------------------------------

# The values of path parameters whose names alone do not say what they stand for.
PARAMETERS = {"externalExperimentId": "none-such", "externalTrialId": "none-such", "agentId": "none-such", "slotId": "0",
              "resourcePoolName": "none-such", "label": "x", "key": "none-such", "username": "alice", "projectId": "-1",
              "service": None, "uuid": None}
KINDS = {"experiment": r"experiments/$|experimentId$|experiment\.id$", "trial": r"trials/$|[tT]rialId$",
         "run": r"runs/$|runId$", "allocation": "allocationId$", "resources": "resourcesId$", "task": "taskId$",
         "checkpoint": r"checkpoints/$|checkpointUuid$|checkpoint\.uuid$", "workspace": r"workspaces/$|workspaceId$",
         **{kind: f"{kind}Id$" for kind in LAUNCHED}, "project": "projects/$", "template": r"templateName$|template\.name$", "model": "modelName$",
         "webhook": "webhooks/$",
         "user": "userId$"}


def value_of(path, parameter, objects):
    """Returns a value for a parameter. For {id} the path's segment before it says what kind of id it is."""
    before = path.split("{" + parameter + "}")[0]
    name = before.rsplit("/", 2)[-2] + "/" if parameter == "id" else parameter
    for kind, pattern in KINDS.items():
        if re.search(pattern, name) and kind in objects:
            return objects[kind]
    return PARAMETERS.get(parameter, 1)


def path_of(path, objects, rule):
    def replace(match):
        return urllib.parse.quote(str(value_of(path, match.group(1), objects)), safe="")
    if rule.object == "project":  # in other routes -1 stands for any project
        path = path.replace("{projectId}", str(objects["project"]))
    return re.sub(r"\{([\w.]+)\}", replace, path)


def raw_path_of(path, objects):
    kinds = {":id": objects["experiment"], ":uuid": objects["checkpoint"], ":service": f"{objects['task']}:1"}
    return "/".join(str(kinds.get(part, part)) for part in path.split("/"))


NOW = "2026-01-02T03:04:05Z"
BODIES = {  # bodies of requests that name several objects; all others have {}
    "experiments": lambda o: {"experimentIds": [o["experiment"]], "destinationProjectId": 1, "projectId": -1},
    "runs": lambda o: {"runIds": [o["run"]], "destinationProjectId": 1},
    "CreateGenericTask": lambda o: {"config": "", "parentId": o["task"]},
    "UpdateJobQueue": lambda o: {"updates": [{"jobId": o["job"], "priority": 50}]},
    "PostTrialProfilerMetricsBatch": lambda o: {"batches": [{
        "values": [1.5], "batches": [0], "timestamps": [NOW],
        "labels": {"trialId": o["trial"], "name": "x", "metricType": "PROFILER_METRIC_TYPE_TIMING"}}]},
    "SetUserPassword": lambda o: "",
    "PostTaskLogs": lambda o: {"logs": [{"taskId": o["task"], "log": "x", "timestamp": NOW}]},
    "POST /task-logs": lambda o: [{"taskId": o["task"], "log": "x", "timestamp": NOW}],
    "PatchCheckpoints": lambda o: {"checkpoints": [{"uuid": o["checkpoint"], "resources": {"resources": {"x": "1"}}}]},
    "DeleteCheckpoints": lambda o: {"checkpointUuids": [o["checkpoint"]]},
    "CheckpointsRemoveFiles": lambda o: {"checkpointUuids": [o["checkpoint"]], "checkpointGlobs": ["none-such"]},
    "AllocationAllGather": lambda o: {"requestUuid": "r", "numPeers": 1},
    "ReportGangProbe": lambda o: {"report": "x"},
    "AllocationRendezvousInfo": lambda o: None,
    "MarkAllocationResourcesDaemon": lambda o: {"resourcesId": "none-such"},
}
EXPERIMENTS = re.compile(r"(Activate|Pause|Cancel|Kill|Archive|Unarchive|Delete|Move)Experiments|PutExperimentsRetainLogs")
RUNS = re.compile(r"(Move|Kill|Archive|Unarchive|Pause|Resume|Delete)Runs")


def body_of(name, route, rule, objects):
    if EXPERIMENTS.fullmatch(name):
        return BODIES["experiments"](objects)
    if RUNS.fullmatch(name):
        return BODIES["runs"](objects)
    if name in BODIES:
        return BODIES[name](objects)
    if not rule.at or not route.get("body"):
        return {} if route.get("body") else None
    at = rule.at.split(".")
    body = objects[rule.object]
    for part in reversed(at if route["body"] == "*" else at[1:]):
        body = {part: body}
    return body


def ask(c, method, path, body, token, stream):
    """Sends a request. Of a stream only the beginning is read, since some streams have no end."""
    connection = http.client.HTTPConnection("127.0.0.1", c.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with contextlib.closing(connection):
        connection.request(method, path, body=json.dumps(body) if body is not None else None, headers=headers)
        reply = connection.getresponse()
        return Reply(reply.status, reply.headers, b"" if stream and reply.status == 200 else reply.read())


def verdict(name, reply):
    """Returns 401, 403 or "allowed". A request for several objects has one answer for each."""
    if reply.status in (401, 403):
        return reply.status
    if reply.status == 200 and (EXPERIMENTS.fullmatch(name) or RUNS.fullmatch(name)):
        return 403 if any(r["error"].startswith("forbidden") for r in reply.json["results"]) else "allowed"
    assert reply.status < 500 or reply.status in (501, 502), (name, reply)
    return "allowed"


SCOPES = ("read", "submit", "all", "login")  # least first


# ---- the credentials ----------------------------------------------------------------------------------------------------

# name: the kind of the credential, its token, and whether it may do what the owner Alice may do with her objects
ASKING = {
    "nobody": ("none", lambda w: None, False),
    "a login that has ended": ("none", lambda w: w.logged_out, False),
    "the agents' token": ("agent", lambda w: w.agent_token, False),
    "the token of collectors": ("collector", lambda w: COLLECTOR, False),
    "another person": ("person", lambda w: w.login["bob"], False),
    "a login of another one's task": ("user_token", lambda w: w.task["bob"].user_token, False),
    "a login of an admin's task": ("user_token", lambda w: w.task["admin"].user_token, False),
    "another task": ("task", lambda w: w.task["bob"].session, False),
    "an admin's task": ("task", lambda w: w.task["admin"].session, False),
    "the task itself": ("task", lambda w: w.task["alice"].session, True),
    "the owner": ("person", lambda w: w.login["alice"], True),
    "a login of the owner's task": ("user_token", lambda w: w.task["alice"].user_token, True),
    "an admin": ("admin", lambda w: w.admin, False),
    **{f"a token of the owner's with the scope {scope}": ("person", lambda w, scope=scope: w.token["alice", scope], True) for scope in SCOPES[:-1]},
    **{f"a token of an admin's with the scope {scope}": ("admin", lambda w, scope=scope: w.token["admin", scope], False) for scope in SCOPES[:-1]},
    "a token of another person's with the scope all": ("person", lambda w: w.token["bob", "all"], False),
    "the login of a task that a token with the scope submit has started": ("user_token", lambda w: w.submitted.user_token, True),
}


def scope_of(who, kind):
    """The scope of a credential's token, as the name of the credential says; a login has the last one, which has all rights."""
    if kind == "user_token":
        return "submit" if "scope submit" in who else "all"
    return who.rsplit(" ", 1)[1] if "with the scope" in who else "login"


def needed_scope(row):
    """Derives the scope that a route needs as contract/README.md says it."""
    return row.get("scope", "read" if row.get("none") == "open" or row["person"] == "read" else "all")


def within_scope(row, who, kind):
    judged = kind in ("person", "admin", "user_token") and row.get("none") != "open"
    return not judged or SCOPES.index(scope_of(who, kind)) >= SCOPES.index(needed_scope(row))


def expected(rule, kind, owns):
    if rule.word in ("open", "read", "any"):
        return "allowed"
    if rule.word == "no":
        return 401 if kind in ("none", "agent", "collector") else 403
    return "allowed" if rule.owners_only and owns else 403


def needs_new_objects(row):
    """Whether the effect of a request on an object is final, or prevents other requests from having the same effect."""
    return Rule(row.get("person", "no")).owners_only and row["task"] == "no"


# Logout comes last: it ends the session that the other requests need
ROWS = sorted(CONTRACT.served.items(), key=lambda item: item[0] == "Logout")


@pytest.mark.parametrize("name,row", ROWS, ids=[name for name, _ in ROWS])
def test_each_credential_may_do_what_the_table_says_and_nothing_else(world, name, row):
    route = CONTRACT.routes.get(name) or {"method": name.split(" ")[0].replace("ANY", "GET"), "path": name.split(" ")[1], "body": "*"}
    rules, objects = rules_of(row), None
    faults = []
    for who, (kind, token, owns) in ASKING.items():
        rule, is_new = rules[kind], needs_new_objects(row)
        wanted = expected(rule, kind, owns and not (kind == "task" and rule.object in LAUNCHED))  # the task is a trial's
        wanted = wanted if within_scope(row, who, kind) else 403
        if objects is None:
            objects = world.new_objects("alice", Rule(row.get("person", "no")).object) if is_new else world.running("alice")
        mine = world.unmanaged("alice") if name == "ReportCheckpoint" and kind in ("person", "user_token") else objects
        id_rule = rule if rule.object else next((r for r in rules.values() if r.object), rule)
        path = raw_path_of(route["path"], mine) if " " in name else path_of(route["path"], mine, id_rule)
        body = None if route["method"] == "GET" else body_of(name, route, id_rule, mine)
        if name == "Logout" and wanted == "allowed" and kind != "user_token" and "token" not in who:
            secret = world.new_login("alice") if kind == "person" else None
            secret = secret or world.c.login("admin", keep=False).json["token"]
        else:
            secret = token(world)
        reply = ask(world.c, route["method"], path, body, secret, route.get("stream"))
        got = verdict(name, reply)
        if got != wanted:
            faults.append(f"{who}: {rule.word}:{rule.object} expects {wanted}, but {route['method']} {path} {body} gives {reply}")
        if got == "allowed" and is_new:
            objects = None
    assert not faults, "\n".join(faults)


def test_the_tasks_still_run(world):
    """None of the requests of strangers has changed the objects."""
    for name, task in world.task.items():
        x = world.get_json(f"/api/v1/experiments/{task.objects['experiment']}", world.admin)["experiment"]
        assert x["state"] == "STATE_RUNNING", name


def test_a_route_without_a_row_is_not_served(world):
    assert world.c.request("POST", "/api/v1/no-such-route", token=world.admin).status == 501
    assert all("person" in row and "task" in row or row.get("none") == "open" for row in CONTRACT.served.values())
