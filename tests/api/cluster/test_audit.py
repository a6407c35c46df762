"""Tests the audit log: every route that changes something leaves a record, secrets are in none, and a check finds what was altered.

contract/audited.json says which tables are audited, and which routes leave no record and why. Every other served route that is not a GET has
an entry in CALLS, which changes something by that route."""
import base64
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import uuid

import pytest
from support.cluster import BUILD, Cluster, client_hash, wait_for
from support.det import det, run_det
from support.launched import launch_id

CONTRACT = pathlib.Path(__file__).resolve().parents[3] / "contract"
API = json.loads((CONTRACT / "api.json").read_text())
ROUTES = {r["rpc"]: r for r in API["routes"]}
SERVED = json.loads((CONTRACT / "served.json").read_text())
WITHOUT_EVENT = json.loads((CONTRACT / "audited.json").read_text())["routes_without_event"]
CHANGING = [name for name, row in SERVED.items()
            if (ROUTES[name]["method"] if name in ROUTES else name.split()[0]) != "GET" and row.get("person") != "no"]
CANARY = "CANARY-that-nobody-may-read"


class World:
    def __init__(self, c):
        self.c, self.n = c, 0
        c.login("admin")

    def call(self, rpc, body=None, query="", token="", expect=200, **params):
        route = ROUTES[rpc]
        path = re.sub(r"\{([\w.]+)\}", lambda m: str(params[m[1].replace(".", "_")]), route["path"])
        reply = self.c.request(route["method"], path + query, body, token=token)
        assert reply.status == expect, (rpc, reply)
        return reply.json

    def name(self):
        self.n += 1
        return f"n{self.n}"

    def records(self, query=""):
        return self.c.get(f"/api/v1/master/audit?limit=1000{query}").json["records"]

    def user(self, **more):
        return self.call("PostUser", {"user": {"username": self.name(), "active": True, **more}, "password": client_hash(CANARY), "isHashed": True})["user"]

    def token(self):
        user = self.call("GetMe")["user"]["id"]
        return self.call("PostAccessToken", {"userId": user})["tokenId"]

    def workspace(self):
        return self.call("PostWorkspace", {"name": self.name()})["workspace"]["id"]

    def project(self):
        return self.call("PostProject", {"name": self.name()}, workspaceId=self.workspace())["project"]["id"]

    def experiment(self):
        """An experiment that waits for slots that nobody has."""
        reply = self.call("CreateExperiment", {"config": json.dumps(self.c.experiment_config(resources={"slots_per_trial": 1})), "activate": False})
        return reply["experiment"]["id"]

    def job(self, x):
        return self.call("GetExperiment", experimentId=x)["experiment"]["jobId"]

    def ended(self):
        x = self.experiment()
        self.call("KillExperiment", id=x)
        wait_for("the end", lambda: self.call("GetExperiment", experimentId=x)["experiment"]["state"] == "STATE_CANCELED")
        return x

    def run(self, x):
        return self.call("GetExperimentTrials", experimentId=x)["trials"][0]["id"]

    def unmanaged(self):
        x = self.call("CreateExperiment", {"config": json.dumps(self.c.experiment_config()), "unmanaged": True})["experiment"]["id"]
        return x, self.call("CreateTrial", {"experimentId": x, "unmanaged": True})["trial"]

    def checkpoint(self):
        _, trial = self.unmanaged()
        made = str(uuid.uuid4())
        self.call("ReportCheckpoint", {"uuid": made, "taskId": trial["taskIds"][0], "resources": {"x": "1"}, "metadata": {"steps_completed": 1}})
        return made

    def model(self):
        name = self.name()
        self.call("PostModel", {"name": name})
        return name

    def version(self):
        name = self.model()
        self.call("PostModelVersion", {"checkpointUuid": self.checkpoint()}, modelName=name)
        return name

    def webhook(self):
        return self.call("PostWebhook", {"name": self.name(), "url": f"http://127.0.0.1:1/{CANARY}", "webhookType": "WEBHOOK_TYPE_DEFAULT",
                                         "mode": "WEBHOOK_MODE_WORKSPACE", "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]})["webhook"]["id"]

    def template(self):
        name = self.name()
        self.call("PostTemplate", {"name": name, "config": {"environment": {"registry_auth": {"password": CANARY}}}}, template_name=name)
        return name

    def agent(self):
        return self.call("GetAgents")["agents"][0]["id"]

    def waiting(self, kind):
        return launch_id(self.c, kind, resources={"slots": 64}, **({"experimentIds": [self.ended()]} if kind == "tensorboard" else {}))

    def generic(self):
        return self.call("CreateGenericTask", {"config": "entrypoint: ['true']\nresources: {slots: 64}\n", "noPause": False})["taskId"]


def bulk(w, x, **more):
    return {"experimentIds": [x], "projectId": 1, **more}


def runs(w, x, **more):
    return {"runIds": [w.run(x)], "projectId": 1, **more}


def archived(w, x):
    w.call("ArchiveExperiment", id=x)
    return x


def put_alias(w):
    name = w.version()
    w.call("PutModelAlias", {"version": 1}, modelName=name, alias="production")
    return name


def bind(w, rpc, workspace):
    w.call(rpc, {"workspaceIds": [workspace]}, resourcePoolName="other")
    return workspace


def launched(kind):
    name = kind.capitalize()
    return {
        f"Launch{name}": lambda w: w.waiting(kind),
        f"Set{name}Priority": lambda w: w.call(f"Set{name}Priority", {"priority": 7}, **{f"{kind}Id": w.waiting(kind)}),
        f"Kill{name}": lambda w: w.call(f"Kill{name}", **{f"{kind}Id": w.waiting(kind)}),
    }


def of_experiment(verb, make):
    return {
        f"{verb}Experiment": lambda w: w.call(f"{verb}Experiment", id=make(w)),
        f"{verb}Experiments": lambda w: w.call(f"{verb}Experiments", bulk(w, make(w)), projectId=1),
        f"{verb}Runs": lambda w: w.call(f"{verb}Runs", runs(w, make(w))),
    }


def active(w):
    x = w.experiment()
    w.call("ActivateExperiment", id=x)
    return x


def logged_in(w):
    name = w.user()["username"]
    reply = w.c.post("/api/v1/auth/login", {"username": name, "password": client_hash(CANARY), "isHashed": True}, token=None)
    assert reply.status == 200, reply
    return reply.json["token"]


def group(w, **more):
    return w.call("CreateGroup", {"name": w.name(), **more})["group"]["groupId"]


def role_of_user(w, user):
    return {"userRoleAssignments": [{"userId": user, "roleAssignment": {"role": {"roleId": 4}, "scopeCluster": True}}]}


def give_role(w):
    body = role_of_user(w, w.user()["id"])
    w.call("AssignRoles", body)
    return body


def put_policy(w, **place):
    verb = "PutWorkspaceConfigPolicies" if place else "PutGlobalConfigPolicies"
    policy = json.dumps({"invariant_config": {"environment": {"registry_auth": {"password": CANARY}}}})
    w.call(verb, {"configPolicies": policy}, workloadType="EXPERIMENT", **place)
    return place


def delete_policy(w, **place):
    w.call("DeleteWorkspaceConfigPolicies" if place else "DeleteGlobalConfigPolicies", workloadType="EXPERIMENT", **put_policy(w, **place))


def put_message(w):
    w.call("SetClusterMessage", {"message": w.name(), "startTime": "2026-01-01T00:00:00Z"})


def accept_agent(w):
    w.c.start_agent("far", wait=False, token_file="")
    asking = wait_for("the agent to ask", lambda: w.c.get("/api/v1/pending-agents").json["agents"])
    w.call("AcceptAgent", {"fingerprint": asking[0]["fingerprint"]}, agentId="far")


def device_logged_in(w):
    begun = w.call("StartDeviceLogin", {"device": "d"}, token=None)
    w.call("AnswerDeviceLogin", {"userCode": begun["userCode"], "allow": True})
    return w.call("PollDeviceLogin", {"deviceCode": begun["deviceCode"]}, token=None)["token"]


SCIM = {"username": "directory", "password": CANARY}


def scim(w, method, path, body):
    basic = base64.b64encode(f"{SCIM['username']}:{SCIM['password']}".encode()).decode()
    reply = w.c.request(method, f"/scim/v2/Users{path}", body, token=None, headers={"Authorization": f"Basic {basic}"})
    assert reply.status in (200, 201), reply
    return reply.json


def oauth(w, method, path, body=None, expect=200, **more):
    reply = w.c.request(method, f"/oauth2/{path}", body, **more)
    assert reply.status == expect, (path, reply)
    return reply.json if expect == 200 else None


def oauth_client(w):
    return oauth(w, "POST", "clients", {"name": w.name(), "domain": "https://directory.example.com/back"})


def oauth_token(w):
    client = oauth_client(w)
    form = f"grant_type=client_credentials&client_id={client['id']}&client_secret={client['secret']}"
    return oauth(w, "POST", "token", raw=form.encode(), token=None, headers={"Content-Type": "application/x-www-form-urlencoded"})


def scim_user(w):
    return scim(w, "POST", "", {"userName": w.name(), "displayName": w.name()})["id"]


CALLS = {
    "POST /oauth2/clients": lambda w: oauth_client(w),
    "DELETE /oauth2/clients/:id": lambda w: oauth(w, "DELETE", f"clients/{oauth_client(w)['id']}"),
    "POST /oauth2/authorize": lambda w: oauth(w, "POST", f"authorize?response_type=code&answer=allow&client_id={oauth_client(w)['id']}", expect=303),
    "POST /oauth2/token": lambda w: oauth_token(w),
    "POST /scim/v2/Users": scim_user,
    "PUT /scim/v2/Users/:id": lambda w: scim(w, "PUT", f"/{scim_user(w)}", {"userName": w.name()}),
    "PATCH /scim/v2/Users/:id": lambda w: scim(w, "PATCH", f"/{scim_user(w)}", {"Operations": [{"op": "replace", "value": {"active": False}}]}),
    "Login": logged_in,
    "PollDeviceLogin": device_logged_in,
    "Logout": lambda w: w.call("Logout", token=logged_in(w)),
    "PostUser": lambda w: w.user(),
    "PatchUser": lambda w: w.call("PatchUser", {"displayName": "d"}, userId=w.user()["id"]),
    "SetUserPassword": lambda w: w.call("SetUserPassword", client_hash(CANARY + "2"), userId=w.user()["id"]),
    "PatchUsers": lambda w: w.call("PatchUsers", {"userIds": [w.user()["id"]], "activate": False}),
    "PostAccessToken": lambda w: w.token(),
    "PatchAccessToken": lambda w: w.call("PatchAccessToken", {"description": "d", "setRevoked": True}, tokenId=w.token()),
    "DisableAgent": lambda w: w.call("DisableAgent", {"drain": True}, agentId=w.agent()),
    "EnableAgent": lambda w: w.call("EnableAgent", agentId=w.agent()),
    "DisableSlot": lambda w: w.call("DisableSlot", {}, agentId=w.agent(), slotId=0),
    "EnableSlot": lambda w: w.call("EnableSlot", agentId=w.agent(), slotId=0),
    "CreateExperiment": lambda w: w.experiment(),
    "PutExperiment": lambda w: w.call("PutExperiment", {"config": json.dumps(w.c.experiment_config()), "unmanaged": True},
                                      externalExperimentId=w.name()),
    "ContinueExperiment": lambda w: w.call("ContinueExperiment", {"id": w.ended()}),
    "PutExperimentRetainLogs": lambda w: w.call("PutExperimentRetainLogs", {"numDays": 7}, experimentId=w.ended()),
    "PutExperimentsRetainLogs": lambda w: w.call("PutExperimentsRetainLogs", bulk(w, w.ended(), numDays=7), projectId=1),
    **{k: v for k, v in of_experiment("Activate", lambda w: w.experiment()).items() if k in ROUTES},
    "ResumeRuns": lambda w: w.call("ResumeRuns", runs(w, w.experiment())),
    **of_experiment("Pause", active),
    **{k: v for k, v in of_experiment("Cancel", active).items() if k in ROUTES},
    **of_experiment("Kill", active),
    **of_experiment("Archive", lambda w: w.ended()),
    **of_experiment("Unarchive", lambda w: archived(w, w.ended())),
    "UnarchiveRuns": lambda w: (x := w.ended(), w.call("ArchiveRuns", runs(w, x)), w.call("UnarchiveRuns", runs(w, x))),
    "PatchExperiment": lambda w: w.call("PatchExperiment", {"name": "another"}, experiment_id=w.experiment()),
    "DeleteExperiment": lambda w: w.call("DeleteExperiment", experimentId=w.ended()),
    "DeleteExperiments": lambda w: w.call("DeleteExperiments", bulk(w, w.ended()), projectId=1),
    "DeleteRuns": lambda w: w.call("DeleteRuns", runs(w, w.ended())),
    "DeleteTensorboardFiles": lambda w: w.call("DeleteTensorboardFiles", experimentId=w.ended()),
    "PutExperimentLabel": lambda w: w.call("PutExperimentLabel", experimentId=w.experiment(), label="a"),
    "DeleteExperimentLabel": lambda w: (x := w.experiment(), w.call("PutExperimentLabel", experimentId=x, label="a"),
                                        w.call("DeleteExperimentLabel", experimentId=x, label="a")),
    "PutTrialRetainLogs": lambda w: w.call("PutTrialRetainLogs", {"numDays": 7}, trialId=w.run(w.experiment())),
    "CreateTrial": lambda w: w.unmanaged(),
    "PutTrial": lambda w: w.call("PutTrial", {"createTrialRequest": {"experimentId": w.unmanaged()[0], "unmanaged": True},
                                              "externalTrialId": w.name()}),
    "PatchTrial": lambda w: w.call("PatchTrial", {"state": "STATE_COMPLETED"}, trialId=w.unmanaged()[1]["id"]),
    "KillTrial": lambda w: w.call("KillTrial", id=w.run(active(w))),
    "UpdateJobQueue": lambda w: w.call("UpdateJobQueue", {"updates": [{"jobId": w.job(active(w)), "priority": 7}]}),
    "BindRPToWorkspace": lambda w: bind(w, "BindRPToWorkspace", w.workspace()),
    "OverwriteRPWorkspaceBindings": lambda w: bind(w, "OverwriteRPWorkspaceBindings", w.workspace()),
    "UnbindRPFromWorkspace": lambda w: bind(w, "UnbindRPFromWorkspace", bind(w, "BindRPToWorkspace", w.workspace())),
    "PutTemplate": lambda w: w.call("PutTemplate", {"config": {"name": "x"}}, template_name=w.name()),
    "PostTemplate": lambda w: w.template(),
    "PatchTemplateConfig": lambda w: w.call("PatchTemplateConfig", {"name": "y"}, templateName=w.template()),
    "PatchTemplateName": lambda w: w.call("PatchTemplateName", {"oldName": w.template(), "newName": w.name()}),
    "DeleteTemplate": lambda w: w.call("DeleteTemplate", templateName=w.template()),
    "CreateGenericTask": lambda w: w.generic(),
    "KillGenericTask": lambda w: w.call("KillGenericTask", {}, taskId=w.generic()),
    "PauseGenericTask": lambda w: w.call("PauseGenericTask", taskId=w.generic()),
    "UnpauseGenericTask": lambda w: (t := w.generic(), w.call("PauseGenericTask", taskId=t),
                                     wait_for("the pause", lambda: w.call("GetTask", taskId=t)["task"]["taskState"] == "GENERIC_TASK_STATE_PAUSED"),
                                     w.call("UnpauseGenericTask", taskId=t)),
    **{k: v for kind in ("command", "notebook", "shell", "tensorboard") for k, v in launched(kind).items()},
    "DeleteCheckpoints": lambda w: w.call("DeleteCheckpoints", {"checkpointUuids": [w.checkpoint()]}),
    "CheckpointsRemoveFiles": lambda w: w.call("CheckpointsRemoveFiles", {"checkpointUuids": [w.checkpoint()], "checkpointGlobs": ["x"]}),
    "PostCheckpointMetadata": lambda w: (u := w.checkpoint(), w.call("PostCheckpointMetadata", {"checkpoint": {"uuid": u, "metadata": {"a": 1}}},
                                                                       checkpoint_uuid=u)),
    "PatchCheckpoints": lambda w: w.call("PatchCheckpoints", {"checkpoints": [{"uuid": w.checkpoint(), "resources": {"resources": {"y": "2"}}}]}),
    "MoveExperiment": lambda w: w.call("MoveExperiment", {"destinationProjectId": w.project()}, experimentId=w.experiment()),
    "MoveExperiments": lambda w: w.call("MoveExperiments", bulk(w, w.experiment(), destinationProjectId=w.project()), projectId=1),
    "MoveRuns": lambda w: w.call("MoveRuns", {"runIds": [w.run(w.experiment())], "sourceProjectId": 1, "destinationProjectId": w.project()}),
    "PostRunMetadata": lambda w: w.call("PostRunMetadata", {"metadata": {"a": 1}}, runId=w.run(w.experiment())),
    "PostWorkspace": lambda w: w.workspace(),
    "PatchWorkspace": lambda w: w.call("PatchWorkspace", {"name": w.name()}, id=w.workspace()),
    "DeleteWorkspace": lambda w: w.call("DeleteWorkspace", id=w.workspace()),
    "ArchiveWorkspace": lambda w: w.call("ArchiveWorkspace", id=w.workspace()),
    "UnarchiveWorkspace": lambda w: (x := w.workspace(), w.call("ArchiveWorkspace", id=x), w.call("UnarchiveWorkspace", id=x)),
    "PostProject": lambda w: w.project(),
    "AddProjectNote": lambda w: w.call("AddProjectNote", {"name": "a", "contents": "b"}, projectId=w.project()),
    "PutProjectNotes": lambda w: w.call("PutProjectNotes", {"notes": [{"name": "a", "contents": "b"}]}, projectId=w.project()),
    "PatchProject": lambda w: w.call("PatchProject", {"description": "d"}, id=w.project()),
    "DeleteProject": lambda w: w.call("DeleteProject", id=w.project()),
    "ArchiveProject": lambda w: w.call("ArchiveProject", id=w.project()),
    "UnarchiveProject": lambda w: (x := w.project(), w.call("ArchiveProject", id=x), w.call("UnarchiveProject", id=x)),
    "MoveProject": lambda w: w.call("MoveProject", {"destinationWorkspaceId": w.workspace()}, projectId=w.project()),
    "PostModel": lambda w: w.model(),
    "PatchModel": lambda w: w.call("PatchModel", {"description": "d"}, modelName=w.model()),
    "ArchiveModel": lambda w: w.call("ArchiveModel", modelName=w.model()),
    "UnarchiveModel": lambda w: (x := w.model(), w.call("ArchiveModel", modelName=x), w.call("UnarchiveModel", modelName=x)),
    "MoveModel": lambda w: w.call("MoveModel", {"destinationWorkspaceId": w.workspace()}, modelName=w.model()),
    "DeleteModel": lambda w: w.call("DeleteModel", modelName=w.model()),
    "PostModelVersion": lambda w: w.version(),
    "PatchModelVersion": lambda w: w.call("PatchModelVersion", {"comment": "c"}, modelName=w.version(), modelVersionNum=1),
    "DeleteModelVersion": lambda w: w.call("DeleteModelVersion", modelName=w.version(), modelVersionNum=1),
    "PutModelAlias": put_alias,
    "DeleteModelAlias": lambda w: w.call("DeleteModelAlias", modelName=put_alias(w), alias="production"),
    "PostWebhook": lambda w: w.webhook(),
    "PatchWebhook": lambda w: w.call("PatchWebhook", {"url": f"http://127.0.0.1:2/{CANARY}"}, id=w.webhook()),
    "DeleteWebhook": lambda w: w.call("DeleteWebhook", id=w.webhook()),
    "CreateGroup": lambda w: group(w),
    "UpdateGroup": lambda w: w.call("UpdateGroup", {"name": w.name(), "addUsers": [w.user()["id"]]}, groupId=group(w)),
    "DeleteGroup": lambda w: w.call("DeleteGroup", groupId=group(w, addUsers=[w.user()["id"]])),
    "AssignMultipleGroups": lambda w: w.call("AssignMultipleGroups", {"userIds": [w.user()["id"]], "addGroups": [group(w)]}),
    "AssignRoles": give_role,
    "RemoveAssignments": lambda w: w.call("RemoveAssignments", give_role(w)),
    "PutGlobalConfigPolicies": put_policy,
    "DeleteGlobalConfigPolicies": delete_policy,
    "PutWorkspaceConfigPolicies": lambda w: put_policy(w, workspaceId=w.workspace()),
    "DeleteWorkspaceConfigPolicies": lambda w: delete_policy(w, workspaceId=w.workspace()),
    "SetClusterMessage": put_message,
    "DeleteClusterMessage": lambda w: (put_message(w), w.call("DeleteClusterMessage")),
    "SetQuota": lambda w: w.call("SetQuota", {"workspaceId": w.workspace(), "slots": 1, "limit": 2}),
    "SetResourceQuotas": lambda w: w.call("SetResourceQuotas", {"clusterQuotaPairs": {"": 3}}, id=w.workspace()),
    "PostJoinToken": lambda w: w.call("PostJoinToken", {"lifespan": "1h"}),
    "DeleteJoinToken": lambda w: w.call("DeleteJoinToken", tokenId=w.call("PostJoinToken", {"lifespan": "1h"})["joinToken"]["id"]),
    "AcceptAgent": accept_agent,
    # the changes of an agent come last: the calls above need the agent, too
    "LabelAgent": lambda w: w.call("LabelAgent", {"label": "rack 3"}, agentId=w.agent()),
    "RevokeAgentKey": lambda w: w.call("RevokeAgentKey", agentId=w.agent()),
    "RemoveAgent": lambda w: (w.c.stop_agent(signo=9), wait_for("the loss of the agent", lambda: w.call("GetAgents")["agents"][0].get("lostTime")),
                              w.call("RemoveAgent", agentId=w.agent())),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    config = {"scim": {"enabled": True, "auth": {"type": "basic", **SCIM}}, "resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "1s"}, {"pool_name": "other"}], "webhooks": {"signing_key": CANARY, "allowed_addresses": ["127.0.0.1"]}}
    with Cluster(tmp_path_factory.mktemp("audit"), config=config) as c:
        c.start_master()
        c.start_agent(slots=0)
        yield World(c)


def test_every_changing_route_leaves_a_record_or_says_why_not():
    assert set(CHANGING) == set(CALLS) | set(WITHOUT_EVENT), (
        "a route that changes something needs an entry in CALLS here, or in routes_without_event of contract/audited.json with its reason")
    assert not set(CALLS) & set(WITHOUT_EVENT)


def test_each_call_leaves_a_record_of_its_route(world):
    silent = []
    for rpc, call in CALLS.items():
        before = int(world.c.get("/api/v1/master/audit?limit=1").json["headSeq"])
        call(world)
        if not [r for r in world.records(f"&afterSeq={before}") if r["route"] == rpc]:
            silent.append(rpc)
    assert not silent


def test_no_record_has_a_secret(world):
    """The test above has sent passwords, addresses of webhooks and registry passwords with a canary in them."""
    text = json.dumps([world.c.get(f"/api/v1/master/audit?limit=1000&afterSeq={n}").json for n in (0, 1000)])
    assert "(hidden)" in text
    for secret in (CANARY, client_hash(CANARY), client_hash(CANARY + "2"), world.c.token, "$argon2"):
        assert secret not in text


def test_a_record_says_who_did_what_from_where(world):
    name = put_alias(world)
    record = world.records("&kind=model_alias")[-1]
    model = world.call("GetModel", modelName=name)["model"]["id"]
    assert record["objectId"] == f"{model}/production"
    assert (record["username"], record["via"], record["address"], record["route"], record["action"]) == (
        "admin", "session", "127.0.0.1", "PutModelAlias", "insert")
    assert json.loads(record["after"])["version"] == 1 and "before" not in record
    project = world.project()
    world.call("PatchProject", {"description": "new"}, id=project)
    record = world.records("&kind=project")[-1]
    assert (json.loads(record["before"]), json.loads(record["after"])) == ({"description": ""}, {"description": "new"})
    token = world.call("PostAccessToken", {"userId": world.call("GetMe")["user"]["id"]})["token"]
    world.call("PatchProject", {"description": "newer"}, id=project, token=token)
    assert world.records("&kind=project")[-1]["via"] == "access_token"


def test_what_was_refused_leaves_no_record(world):
    before = world.c.get("/api/v1/master/audit?limit=1").json["headSeq"]
    world.call("PatchProject", {"name": "x" * 1000}, id=world.project(), expect=400)
    assert [r["route"] for r in world.records(f"&afterSeq={before}")] == ["PostWorkspace", "PostProject"]


def test_only_admins_read_the_log(world):
    token = logged_in(world)
    reply = world.c.get("/api/v1/master/audit", token=token)
    assert reply.status == 403 and "only an admin may read the audit log" in reply.json["error"]["error"]


def test_det_exports_and_verifies(world):
    c = world.c
    lines = [json.loads(line) for line in det(c, "master", "audit", "export", user="admin").splitlines()]
    assert [int(r["seq"]) for r in lines] == list(range(1, len(lines) + 1))
    aliases = [json.loads(line) for line in det(c, "master", "audit", "export", "--kind", "model_alias", "--user", "admin", user="admin").splitlines()]
    assert aliases and {r["kind"] for r in aliases} == {"model_alias"}
    assert det(c, "master", "audit", "export", "--until", "2020-01-01T00:00:00Z", user="admin") == ""
    said = det(c, "master", "audit", "verify", user="admin")
    assert "complete and unaltered up to record" in said
    noted = f"{lines[9]['seq']}:{lines[9]['hash']}"
    det(c, "master", "audit", "verify", "--head", noted, user="admin")
    wrong = run_det(c, "master", "audit", "verify", "--head", f"10:{'0' * 64}", user="admin")
    assert wrong.returncode != 0 and "record 10 has the hash" in wrong.stderr
    later = run_det(c, "master", "audit", "verify", "--head", f"1000000:{'0' * 64}", user="admin")
    assert later.returncode != 0 and "record 1000000 was noted" in later.stderr
    assert run_det(c, "master", "audit", "verify", "--head", "x", user="admin").returncode != 0
    assert run_det(c, "master", "audit", "export").returncode != 0


def verify_at_rest(c):
    return subprocess.run([BUILD / "determined-master", "audit", "verify", "--config-file", c.dir / "master.yaml", "--data-dir",
                           c.dir / "data"], capture_output=True, text=True,
                          check=False, timeout=60)


def test_the_log_survives_a_crash_and_shows_what_was_altered(world):
    """This test comes last: it damages the log."""
    c = world.c
    head = int(c.get("/api/v1/master/audit?limit=1").json["headSeq"])
    made = world.project()
    c.stop_master(9)
    done = verify_at_rest(c)
    assert done.returncode == 0 and f"up to record {head + 2}:" in done.stdout, done
    if os.environ.get("DET_TEST_DB") == "postgres":
        return
    with sqlite3.connect(c.dir / "data" / "determined.db") as db:
        db.execute("DROP TRIGGER changes_stay")
        db.execute("UPDATE changes SET username = 'somebody else' WHERE kind = 'project' AND object_id = ?", (str(made),))
    db.close()
    done = verify_at_rest(c)
    assert done.returncode != 0 and f"record {head + 2}" in done.stderr
    c.start_master()
    c.login("admin")
    done = run_det(c, "master", "audit", "verify", user="admin")
    assert done.returncode != 0 and f"record {head + 2}, or the hash of the record before it, is not what was written" in done.stderr
