"""A master for clients that only gives answers: enough of the API for det.

Replies are made from the contract (contract/api.json): `message("experiment.v1.Experiment", id=1)` has every field that a real reply
has, so that the released client can be tested against the same master, too.
"""
import hashlib
import json
import re
import urllib.parse

from support.fake_master import tunnel
from support.fake_master.launched import LaunchedTasks
from support.fake_master.messages import message, page
from support.fake_master.server import BrokenOff, FakeMaster, Refusal

PASSWORD = "Secret123"
PASSWORD_HASH = hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" + PASSWORD.encode()).hexdigest()  # the form in which the password is sent
TOKEN = "token-of-determined"
CHECKPOINT, GONE_CHECKPOINT = "0d0e5b0a-7a41-4c6e-9a39-6f6d6b1f0001", "0d0e5b0a-7a41-4c6e-9a39-6f6d6b1f0002"


def user(uid, name, **more):
    return message("user.v1.User", id=uid, username=name, active=True, modifiedAt="2026-11-21T07:00:00Z", **more)


def experiment(eid, **more):
    given = dict(id=eid, name="digits", username="determined", userId=2, state="STATE_COMPLETED", startTime="2026-11-21T07:12:01.123456Z",
                 resourcePool="default", searcherType="single", jobId="j" * 8 + str(eid), projectId=1, workspaceId=1, projectName="Uncategorized",
                 workspaceName="Uncategorized", numTrials=1, config=CONFIG, originalConfig="name: digits\n", projectOwnerId=1)
    given.update(more)
    return message("experiment.v1.Experiment", **given)


CONFIG = {"name": "digits", "searcher": {"name": "single", "metric": "accuracy"}, "hyperparameters": {"lr": 0.1},
          "checkpoint_storage": {"type": "shared_fs", "host_path": "/nonexistent"}}


def metrics(**values):
    return message("common.v1.Metrics", avgMetrics=values)


def trial(tid, **more):
    given = dict(id=tid, experimentId=1, state="STATE_COMPLETED", startTime="2026-11-21T07:12:02Z", endTime="2026-11-21T07:13:02Z",
                 hparams={"lr": 0.1, "nested": {"width": 3}}, totalBatchesProcessed=100, summaryMetrics={"avg_metrics": {"loss": {"last": 0.5}}},
                 taskId=f"1.task-{tid}", taskIds=[f"1.task-{tid}"])
    given.update(more)
    return message("trial.v1.Trial", **given)


def workload_metrics(batches, time, **values):
    return message("trial.v1.MetricsWorkload", totalBatches=batches, endTime=time, metrics=metrics(**values))


def checkpoint(uuid, host_path, **more):
    config = dict(CONFIG, checkpoint_storage={"type": "shared_fs", "host_path": str(host_path)})
    training = message("checkpoint.v1.CheckpointTrainingMetadata", trialId=1, experimentId=1, experimentConfig=config, hparams={"lr": 0.1},
                       trainingMetrics=metrics(), validationMetrics=metrics(accuracy=0.9625, loss=0.25))
    given = dict(uuid=uuid, taskId="1.task-1", reportTime="2026-11-21T07:13:00Z", state="STATE_COMPLETED", training=training,
                 resources={"state_dict.pth": "2048", "metadata.json": "20"}, metadata={"steps_completed": 100, "framework": "torch"})
    given.update(more)
    return message("checkpoint.v1.Checkpoint", **given)


def log_line(i, text, **more):
    return message("api.v1.TrialLogsResponse", id=str(i), timestamp=f"2026-11-21T07:12:{i % 60:02d}Z", trialId=1, level="LOG_LEVEL_INFO",
                   message=f"[2026-11-21T07:12:{i % 60:02d}.000000Z] 12345678 || INFO: {text}\n", log=text, **more)


class Master(LaunchedTasks, FakeMaster):
    """State and handlers. `requests` records (method, path, query, body) of each request."""

    def __init__(self, storage="/nonexistent", certificate=None):
        self.requests = []
        self.failures = {}  # path prefix → Refusal
        self.created = []
        self.patches = []
        self.storage = storage
        self.lines = [log_line(i, f"line {i}") for i in range(1, 6)]
        self.drop_after = None  # after so many lines a followed log stream breaks off once
        self.states = ["STATE_RUNNING", "STATE_COMPLETED"]
        self.failure = None  # why experiments have ended in error
        self.every_experiment = None
        self.no_trial_yet = False
        self.trial_state = "STATE_COMPLETED"
        self.trial_more = {}   # further fields of one trial, and of the trials of an experiment
        self.trials_more = {}
        self.every_agent = self.every_trial = None
        self.progress = 1.0  # of one experiment
        self.job_name = "digits"
        self.series = {}  # what trials have reported: "GROUP.NAME" → [(batches, value), …]
        self.checkpoint_beginning = None
        self.plain_passwords = False  # whether it wants passwords as they are, for a directory
        self.prepare_launched()
        self.stall = None  # an event that a followed log waits for at its end
        self.tokens = {TOKEN: "determined", "token-of-admin": "admin"}
        self.users = [user(1, "admin", admin=True), user(2, "determined", displayName="Det Ermined",
                      agentUserGroup={"agentUid": 1000, "agentGid": 1000, "agentUser": "det", "agentGroup": "det"})]
        super().__init__(certificate=certificate)

    # handlers: (method, path pattern, function(self, match, query, body) → reply)
    def login(self, match, query, body):
        if body["username"] not in ("determined", "admin") or (body["password"], body["isHashed"]) not in ((PASSWORD_HASH, True), (PASSWORD, False)):
            raise Refusal(401, "invalid credentials")
        return {"token": f"token-of-{body['username']}", "user": self.users[1]}

    def me(self, match, query, body):
        return {"user": self.users[1]}

    def get_master(self, match, query, body):
        return message("api.v1.GetMasterResponse", version="0.38.1", masterId="m", clusterId="c", clusterName="test", branding="determined",
                       product="PRODUCT_UNSPECIFIED")

    def get_users(self, match, query, body):
        return {"users": self.users, "pagination": page(len(self.users))}

    def user_by_name(self, match, query, body):
        for u in self.users:
            if u["username"] == match[1]:
                return {"user": u}
        raise Refusal(404, f"user '{match[1]}' not found")

    def post_user(self, match, query, body):
        self.created.append(body)
        return {"user": user(3, body["user"]["username"])}

    def patch_user(self, match, query, body):
        self.patches.append(body)
        return {"user": self.users[1]}

    def agents(self, match, query, body):
        slot = message("agent.v1.Slot", id="/agents/b/slots/0", enabled=True, device=message("device.v1.Device", id=0, brand="CPU × 2", uuid="x", type="TYPE_CPU"),
                       container=message("container.v1.Container", id="cont-1", state="STATE_RUNNING"))
        free = message("agent.v1.Slot", id="/agents/a/slots/0", enabled=True, device=message("device.v1.Device", id=0, brand="GPU", uuid="y", type="TYPE_CUDA"))
        stats = message("agent.v1.SlotStats")
        return {"agents": self.every_agent or [
            message("agent.v1.Agent", id="b", version="0.1.0", enabled=True, registeredTime="2026-11-21T07:00:00Z", addresses=["127.0.0.1"],
                    resourcePools=["default"], slots={"/agents/b/slots/0": slot}, slotStats=stats),
            message("agent.v1.Agent", id="a", version="0.1.0", enabled=True, registeredTime="2026-11-21T07:00:01.5Z", addresses=["10.0.0.1", "::1"],
                    resourcePools=["default", "gpu"], slots={"/agents/a/slots/0": free}, slotStats=stats)], "pagination": page(2)}

    def tasks(self, match, query, body):
        summary = message("task.v1.AllocationSummary", taskId="1.task-1", allocationId="1.task-1.0", name="Trial 1 (Experiment 1)",
                          registeredTime="2026-11-21T07:12:00Z", resourcePool="default", slotsNeeded=1, schedulerType="priority", priority=42,
                          resources=[message("task.v1.ResourcesSummary", resourcesId="cont-1", resourcesType="docker-container", allocationId="1.task-1.0",
                                             agentDevices={"b": {"devices": []}}, containerId="cont-1")])
        return {"allocationIdToSummary": {"1.task-1.0": summary}}

    def nothing(self, match, query, body):
        return {}

    def experiments(self, match, query, body):
        offset, limit = int(query.get("offset", ["0"])[0]), int(query.get("limit", ["0"])[0])
        every = self.every_experiment or [experiment(1, endTime="2026-11-21T07:13:01Z", progress=1.0), experiment(2, name="a name, with \"quotes\"", state="STATE_RUNNING",
                 progress=0.123, forkedFrom=1), experiment(3, name="größer", state="STATE_PAUSED")]
        end = min(offset + (limit if self.every_experiment else 2), len(every))
        return {"experiments": every[offset:end], "pagination": page(len(every)) | {"endIndex": end}}

    def get_experiment(self, match, query, body):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if match[1] not in ("1", "7"):
            raise Refusal(404, f"experiment '{match[1]}' not found")
        more = {"failure": self.failure} if self.failure else {}
        return message("api.v1.GetExperimentResponse", experiment=experiment(int(match[1]), state=state, endTime="2026-11-21T07:13:01Z", progress=self.progress,
                       labels=["b", "a"], description="handwritten", **more), config=CONFIG)

    def create_experiment(self, match, query, body):
        self.created.append(body)
        return message("api.v1.CreateExperimentResponse", experiment=experiment(7), config=CONFIG)

    def patch_experiment(self, match, query, body):
        self.patches.append(body)
        return {"experiment": experiment(1)}

    def trials(self, match, query, body):
        if self.no_trial_yet:
            return {"trials": [], "pagination": page(0)}
        every = [trial(1, **self.trials_more), trial(2, hparams={})] if self.every_trial is None else self.every_trial
        return {"trials": every, "pagination": page(len(every))}

    def get_trial(self, match, query, body):
        return {"trial": trial(int(match[1]), state=self.trial_state, **self.trial_more)}

    def workloads(self, match, query, body):
        if match[1] != "1":
            return {"workloads": [], "pagination": page(0)}
        saved = message("trial.v1.CheckpointWorkload", uuid=CHECKPOINT, endTime="2026-11-21T07:12:52Z", state="STATE_COMPLETED", totalBatches=100,
                        resources={"a": "10"}, metadata={"steps_completed": 100})
        return {"workloads": [{"training": workload_metrics(50, "2026-11-21T07:12:30Z", loss=0.75)},
                              {"training": workload_metrics(100, "2026-11-21T07:12:50Z", loss=0.5)},
                              {"validation": workload_metrics(100, "2026-11-21T07:12:51Z", accuracy=0.9625)},
                              {"checkpoint": saved}], "pagination": page(4)}

    def time_series(self, match, query, body):
        reports = {}  # group → batches → values
        for group, name in (metric.split(".", 1) for metric in query["metricIds"]):
            of_group = reports.setdefault(group, {})
            for batches, value in self.series.get(f"{group}.{name}", []):
                of_group.setdefault(batches, {})[name] = value
        metrics = [message("api.v1.DownsampledMetrics", group=group, data=[
            message("api.v1.DataPoint", batches=batches, values=values, time="2026-11-21T07:12:30Z") for batches, values in sorted(of_group.items())])
            for group, of_group in reports.items()]
        return {"trials": [message("api.v1.ComparableTrial", trial=trial(int(tid)), metrics=metrics) for tid in query["trialIds"]]}

    def checkpoints(self, match, query, body):
        every = [checkpoint(CHECKPOINT, self.storage), checkpoint(GONE_CHECKPOINT, self.storage, state="STATE_DELETED")]
        return {"checkpoints": [c for c in every if c["state"] in query.get("states", [c["state"]])], "pagination": page(2)}

    def get_checkpoint(self, match, query, body):
        if match[1] not in (CHECKPOINT, self.checkpoint_beginning):
            raise Refusal(404, f"checkpoint '{match[1]}' not found")
        return {"checkpoint": checkpoint(CHECKPOINT, self.storage)}

    def model_def(self, match, query, body):
        return {"b64Tgz": "aGVsbG8gd29ybGQh"}

    def pools(self, match, query, body):
        return {"resourcePools": [message("resourcepool.v1.ResourcePool", name="default", description="all", type="RESOURCE_POOL_TYPE_STATIC", numAgents=2,
                slotsAvailable=2, slotsUsed=1, slotType="TYPE_CPU", defaultComputePool=True, defaultAuxPool=True, schedulerType="SCHEDULER_TYPE_PRIORITY",
                schedulerFittingPolicy="FITTING_POLICY_BEST", details=message("resourcepool.v1.ResourcePoolDetail"), minAgents=0)], "pagination": page(1)}

    def jobs(self, match, query, body):
        job = message("job.v1.Job", summary={"state": "STATE_SCHEDULED", "jobsAhead": 0}, type="TYPE_EXPERIMENT", submissionTime="2026-11-21T07:12:00Z",
                      username="determined", userId=2, resourcePool="default", isPreemptible=True, priority=42, weight=1, entityId="1",
                      jobId="0123456789abcdef", requestedSlots=1, allocatedSlots=1, name=self.job_name, progress=0.42,
                      workspaceId=1)
        waiting = job | {"summary": {"state": "STATE_QUEUED", "jobsAhead": 1, "reason": "needs 1 slot: none is free in pool default",
                                     "estimatedStart": "2026-11-21T08:00:00Z"}, "jobId": "fedcba9876543210", "name": "letters", "allocatedSlots": 0}
        return {"pagination": page(2), "jobs": [{"full": job}, {"full": waiting}]}

    def workspaces(self, match, query, body):
        return {"workspaces": [message("workspace.v1.Workspace", id=1, name="Uncategorized", numProjects=1, username="admin", immutable=True,
                userId=1, state="WORKSPACE_STATE_UNSPECIFIED", numExperiments=3)], "pagination": page(1)}

    def projects(self, match, query, body):
        return {"projects": [message("project.v1.Project", id=1, name="Uncategorized", workspaceId=1, key="UNC", username="admin", userId=1,
                state="WORKSPACE_STATE_UNSPECIFIED", numExperiments=3, numActiveExperiments=1)], "pagination": page(1)}

    def templates(self, match, query, body):
        return {"templates": [message("template.v1.Template", name="base", workspaceId=1, config={"description": "d", "labels": ["a", "b"]}),
                              message("template.v1.Template", name="elsewhere", workspaceId=9, config={})], "pagination": page(2)}

    def get_template(self, match, query, body):
        if match[1] != "base":
            raise Refusal(404, f"template '{match[1]}' not found")
        return {"template": self.templates(None, query, body)["templates"][0]}

    def patch_template(self, match, query, body):
        self.get_template(match, query, body)
        self.patches.append(body)
        return self.get_template(match, query, body)

    def post_template(self, match, query, body):
        self.created.append(body)
        return {"template": body}

    def delete_template(self, match, query, body):
        self.get_template(match, query, body)
        return {}

    def preview_gc(self, match, query, body):
        def row(trial, step, uuid):
            return {"TrialID": trial, "ReportTime": f"2026-11-21T07:12:{step:02d}Z", "StepsCompleted": step, "State": "COMPLETED", "UUID": uuid,
                    "Resources": {"b": 10, "a": 5}, "ValidationMetrics": {"avg_metrics": {"accuracy": 0.5}},
                    "ExperimentConfig": CONFIG}
        return {"checkpoints": [row(2, 10, "u-3"), row(1, 20, "u-2"), row(1, 10, "u-1")], "metric_name": "accuracy"}

    def get_workspace(self, match, query, body):
        return {"workspace": self.workspaces(None, query, body)["workspaces"][0]}

    def get_project(self, match, query, body):
        return {"project": self.projects(None, query, body)["projects"][0]}

    def continue_experiment(self, match, query, body):
        self.patches.append(body)
        return message("api.v1.ContinueExperimentResponse", experiment=experiment(body["id"]))

    def config(self, match, query, body):
        return {"config": {"port": 8080, "db": {"type": "sqlite"}, "a list": [1, "two"]}}

    def logs(self, match, query, body):
        lines = list(self.lines)
        after = query.get("timestampAfter", [""])[0]
        if after:
            lines = [line for line in lines if line["timestamp"] > after]
        if query.get("orderBy") == ["ORDER_BY_DESC"]:
            lines.reverse()
        limit = int(query.get("limit", ["0"])[0])
        return lines[:limit] if limit else lines

    def task_logs(self, match, query, body):
        return [{**line, "taskId": match[1]} for line in self.logs(match, query, body)]

    def master_logs(self, match, query, body):
        return [message("api.v1.MasterLogsResponse", logEntry=message("log.v1.LogEntry", id=i, message=f"event {i}", timestamp="2026-11-21T07:00:00Z",
                level="LOG_LEVEL_INFO")) for i in (1, 2)]

    ROUTES = [
        ("POST", r"/api/v1/auth/login", login), ("POST", r"/api/v1/auth/logout", nothing), ("GET", r"/api/v1/me", me),
        ("GET", r"/api/v1/master/config", config), ("GET", r"/api/v1/master/logs", master_logs), ("GET", r"/api/v1/master", get_master),
        ("GET", r"/api/v1/users/([^/]+)/by-username", user_by_name), ("GET", r"/api/v1/users", get_users), ("POST", r"/api/v1/users", post_user),
        ("GET", r"/api/v1/users/(\d+)", me), ("PATCH", r"/api/v1/users/(\d+)", patch_user), ("GET", r"/api/v1/agents", agents), ("POST", r"/api/v1/agents/.*/(enable|disable)", nothing),
        ("GET", r"/api/v1/tasks", tasks), ("GET", r"/api/v1/tasks/([^/]+)/logs", task_logs), ("GET", r"/api/v1/experiments", experiments),
        ("POST", r"/api/v1/experiments", create_experiment), ("GET", r"/api/v1/experiments/(\d+)/trials", trials),
        ("GET", r"/api/v1/experiments/(\d+)/checkpoints", checkpoints), ("GET", r"/api/v1/experiments/(\d+)/model_def", model_def),
        ("POST", r"/api/v1/experiments/continue", continue_experiment), ("PUT", r"/api/v1/(experiments|trials)/(\d+)/retain_logs", nothing),
        ("DELETE", r"/api/v1/experiments/(\d+)/tensorboard-files", nothing), ("GET", r"/experiments/(\d+)/preview_gc", preview_gc),
        ("POST", r"/api/v1/experiments/(\d+)/\w+", nothing), ("PATCH", r"/api/v1/experiments/(\d+)", patch_experiment),
        ("DELETE", r"/api/v1/experiments/(\d+)", nothing), ("GET", r"/api/v1/experiments/(\d+)", get_experiment),
        ("GET", r"/api/v1/trials/time-series", time_series),
        ("GET", r"/api/v1/trials/(\d+)/workloads", workloads), ("GET", r"/api/v1/trials/(\d+)/logs", logs),
        ("GET", r"/api/v1/trials/(\d+)/checkpoints", checkpoints), ("POST", r"/api/v1/trials/(\d+)/kill", nothing),
        ("GET", r"/api/v1/trials/(\d+)", get_trial), ("GET", r"/api/v1/checkpoints/([^/]+)", get_checkpoint),
        ("DELETE", r"/api/v1/checkpoints", nothing), ("POST", r"/api/v1/checkpoints/rm", nothing),
        ("GET", r"/api/v1/resource-pools", pools), ("GET", r"/api/v1/job-queues-v2", jobs), ("GET", r"/api/v1/workspaces", workspaces),
        ("GET", r"/api/v1/workspaces/(\d+)/projects", projects),
        ("GET", r"/api/v1/workspaces/(\d+)", get_workspace), ("GET", r"/api/v1/projects/(\d+)", get_project),
        ("GET", r"/api/v1/templates", templates), ("GET", r"/api/v1/templates/([^/]+)", get_template),
        ("PATCH", r"/api/v1/templates/([^/]+)", patch_template), ("POST", r"/api/v1/templates/([^/]+)", post_template),
        ("DELETE", r"/api/v1/templates/([^/]+)", delete_template), *LaunchedTasks.ROUTES,
    ]

    def find(self, method, path, query, body, token):
        for prefix, failure in self.failures.items():
            if path.startswith(prefix):
                raise failure
        if path == "/info":
            ours = {"program_version": self.program_version} if self.program_version else {}
            ours |= {"plain_passwords": True} if self.plain_passwords else {}
            return {"version": self.version, **ours, "cluster_id": "c", "master_id": "m", "cluster_name": "test", "sso_providers": None}
        for wanted, pattern, function in self.ROUTES:
            match = re.fullmatch(pattern, path)
            if match and wanted == method:
                if path not in ("/api/v1/auth/login", "/api/v1/master") and token not in self.tokens:
                    raise Refusal(401, "token missing")
                return function(self, match, query, body)
        raise Refusal(501, "Not Implemented")

    version = "0.38.1"
    program_version = None  # of the predecessor's master, which has none

    def answer(self, exchange):
        split = urllib.parse.urlsplit(exchange.path)
        query = urllib.parse.parse_qs(split.query, keep_blank_values=True)
        body = json.loads(exchange.text) if exchange.text else None
        token = (exchange.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.requests.append((exchange.command, split.path, query, body))
        found = self.find(exchange.command, split.path, query, body, token)
        if exchange.headers.get("Upgrade") == "websocket":
            tunnel.bridge(exchange, self.shell_port)
            return
        if isinstance(found, list):
            exchange.reply_in_parts(self.stream(found, "follow" in query))
        else:
            exchange.reply(found)

    def stream(self, records, follow):
        for i, record in enumerate(records):
            if follow and self.drop_after == i:
                self.drop_after = None
                raise BrokenOff
            yield {"result": record}
        if follow and self.stall:
            self.stall.wait()
