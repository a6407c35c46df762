"""A cluster with something to see on every page of the web interface: two agents, experiments in every state, a trial that goes on for as
long as the cluster does, and names, logs and metrics that try to be more than text."""
import base64
import json
import math
import random
import uuid

from support.cluster import Cluster, wait_for

CLUSTER_NAME = "atlas"
# Trains nothing, but reports as a training does, until it is asked to stop. Its first steps come at once, so that there is something to see.
TRAIN = """
import math, random, sys, time
import determined as det
from determined import core

hparams = det.get_cluster_info().trial.hparams
lr, fast = hparams["lr"], hparams.get("steps", 0)
with core.init() as context:
    rng = random.Random(str(lr))
    print("\\x1b[1mlearning rate\\x1b[0m", lr, flush=True)
    op, step = next(iter(context.searcher.operations())), 0
    while not fast or step < fast:
        step += 10
        loss = 2.2 * math.exp(-step * lr / 220) + 0.12 + rng.random() * 0.06
        context.train.report_training_metrics(step, {"loss": loss, "accuracy": 1 - loss / 2.5, "learning_rate": lr})
        if step % 50 == 0:
            context.train.report_validation_metrics(step, {"loss": loss * 1.08, "accuracy": 1 - loss / 2.3})
            op.report_progress(min(step, 900))
            print(f"step {step} \\x1b[32mloss={loss:.4f}\\x1b[0m", flush=True)
        if step % 200 == 0:
            print(f"WARNING: gradient norm {rng.random() * 40:.1f} was clipped", file=sys.stderr, flush=True)
        if context.preempt.should_preempt():
            break
        if step > 400 and not fast:
            time.sleep(0.5)
"""

# Each of these would run, load or draw something if it were ever taken for markup.
HOSTILE = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>"
# Markdown that tries the same.
HOSTILE_NOTES = f"""# Notes {HOSTILE}

**Bold**, `code`, [a good link](https://example.com/), [a bad one](javascript:window.hacked=1), [another](data:text/html,<script>window.hacked=1</script>)
![picture](x) <b onclick=window.hacked=1>html</b> &lt;script&gt;

<script>window.hacked=1</script>

| a | {HOSTILE} |
|---|---|
| 1 | <iframe src=javascript:window.hacked=1> |
"""
HOSTILE_LINES = [
    "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "\x1b]0;title\x07after a title", "\x1b[31mred \x1b[1mbold\x1b[0m plain",
    "\x1b[2J\x1b[Hcleared?", "back\x08\x08\x08space", "right\u202eot\u202cleft", "javascript:alert(1)", "{{constructor.constructor('window.hacked=1')()}}", "a" * 3000,
    "nul\x00byte", "tab\there", "\x1b]8;;javascript:window.hacked=1\x07link\x1b]8;;\x07",
]


def uuid_of(name):
    return uuid.uuid5(uuid.NAMESPACE_URL, name)


class World:
    """What is where: ids of experiments and trials, by what they are for."""

    def __init__(self, directory, many=0):
        self.c = c = Cluster(directory, config={"cluster_name": CLUSTER_NAME})
        self.many = many
        self.ids = {}
        c.start_master()

    def fill(self):
        c, ids = self.c, self.ids
        c.start_agent("gpu-1", slots=8)
        c.start_agent("gpu-2", slots=4)
        c.login()
        w = c.post("/api/v1/workspaces", {"name": "vision"}).json["workspace"]["id"]
        ids["workspace"] = w
        ids["project"] = c.post(f"/api/v1/workspaces/{w}/projects", {"name": "classifiers"}).json["project"]["id"]
        for i in range(18):
            self.unmanaged(i)
        ids["hostile"] = self.hostile()
        ids["done"] = self.create("baseline", hyperparameters={"lr": 1.2, "steps": 600}, resources={"slots_per_trial": 1})
        ids["failed"] = self.create("wrong-learning-rate", entrypoint="python3 -c 'raise SystemExit(\"learning rate is 1e9\")'")
        ids["live"] = self.create("resnet-lr-sweep", description="ResNet-18, learning rates by random search", labels=["resnet", "sweep"], hyperparameters={
            "lr": {"type": "log", "base": 10, "minval": -0.3, "maxval": 0.6}, "depth": {"type": "int", "minval": 18, "maxval": 50}, "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]}},
            reproducibility={"experiment_seed": 7},  # with which the trials have both optimizers
            searcher={"name": "random", "max_trials": 4, "max_concurrent_trials": 4, "metric": "loss", "max_length": {"batches": 1000}})
        for x in ("done", "failed"):
            c.wait_experiment(ids[x])
        ids["queued"] = self.create("pretrain-large", resources={"slots_per_trial": 16})
        ids["paused"] = self.create("ablation", resources={"slots_per_trial": 1})
        c.post(f"/api/v1/experiments/{ids['paused']}/pause")
        ids["trial"] = wait_for("a trial of the sweep", lambda: c.trial_ids(ids["live"]))[0]
        ids["done_trial"] = c.trial_ids(ids["done"])[0]
        self.profile(ids["trial"])
        self.log_of_ranks(ids["done_trial"])
        self.registry()
        self.access()
        ids["command"] = c.post("/api/v1/commands", {"config": {"description": f"count {HOSTILE}", "resources": {"slots": 0},
                                                                "entrypoint": ["sh", "-c", "echo counting; exec sleep 3600"]}}).json["command"]["id"]
        wait_for("validations of the sweep", lambda: c.get(f"/api/v1/trials/{ids['trial']}").json["trial"]["latestValidation"])
        return self

    def create(self, name, activate=True, **changes):
        c = self.c
        config = {"name": name, "entrypoint": "python3 train.py", "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1000}}, "max_restarts": 0,
                  "hyperparameters": {"lr": 1.0}, **changes}
        reply = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": activate, "projectId": self.ids["project"], "modelDefinition": [
            {"path": "train.py", "type": 48, "content": base64.b64encode(TRAIN.encode()).decode(), "mtime": "0", "mode": 0o644, "uid": 0, "gid": 0}]})
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def unmanaged(self, i, project=None, ends=True):
        """An experiment of the past, or one that goes on elsewhere, with one trial and a curve."""
        c, rng = self.c, random.Random(i)
        config = {"name": f"{rng.choice(['vit', 'resnet', 'mlp', 'unet'])}-{rng.choice(['warmup', 'dropout', 'mixup', 'bf16'])}-{i}", "searcher": {"name": "single", "metric": "loss"}}
        x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": project or self.ids["project"]}).json["experiment"]["id"]
        trial = c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True, "hparams": {"lr": 0.1}}).json["trial"]["id"]
        assert c.post(f"/api/v1/trials/{trial}/start", {}).status == 200
        for step in range(100, 600, 100):
            self.report(trial, step, {"loss": math.exp(-step / 300) + rng.random() / 10})
        if not ends:
            return x
        assert c.patch(f"/api/v1/trials/{trial}", {"state": rng.choice(["STATE_COMPLETED", "STATE_COMPLETED", "STATE_ERROR"])}).status == 200
        return x

    def report(self, trial, step, metrics, group="validation", run=1):
        reply = self.c.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
            "trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}})
        assert reply.status == 200, reply

    def hostile(self):
        """Script in every text that users supply, and metrics that are no numbers."""
        c = self.c
        config = {"name": HOSTILE, "description": HOSTILE, "labels": [HOSTILE], "searcher": {"name": "single", "metric": HOSTILE}, "hyperparameters": {HOSTILE: HOSTILE},
                  "environment": {"environment_variables": [f"TEXT={HOSTILE}"]}, "entrypoint": ["python3", "-c", f"import sys; [print(x) for x in {HOSTILE_LINES!r}]"], "max_restarts": 0}
        x = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True, "projectId": self.ids["project"]}).json["experiment"]["id"]
        c.wait_experiment(x)
        assert c.patch(f"/api/v1/experiments/{x}", {"notes": HOSTILE_NOTES}).status == 200
        self.ids["hostile_trial"] = c.trial_ids(x)[0]
        config = {"name": f"no numbers {HOSTILE}", "searcher": {"name": "single", "metric": HOSTILE}}
        y = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": self.ids["project"]}).json["experiment"]["id"]
        trial = c.post("/api/v1/trials", {"experimentId": y, "unmanaged": True, "hparams": {HOSTILE: HOSTILE}}).json["trial"]["id"]
        assert c.post(f"/api/v1/trials/{trial}/start", {}).status == 200
        for step, value in enumerate([0.5, "NaN", 0.4, "Infinity", "-Infinity", 0.3], 1):
            self.report(trial, step, {HOSTILE: value, "__proto__x": 1, "constructor": value})
        self.ids["odd"], self.ids["odd_trial"] = y, trial
        return x

    def profile(self, trial):
        """Timings and what the machine did, as agents and trainers of older releases report them: the newer ones are the same samples."""
        n = 40
        stamps = [f"2026-01-01T00:00:{i:02}Z" for i in range(n)]
        def series(name, kind, value, **labels):
            return {"labels": {"trialId": trial, "name": name, "metricType": f"PROFILER_METRIC_TYPE_{kind}", **labels}, "values": [value + i % 7 * value / 40 for i in range(n)],
                    "batches": list(range(1, n + 1)), "timestamps": stamps}
        batches = [series("dataloader_next", "TIMING", 0.006), series("to_device", "TIMING", 0.002), series("train_batch", "TIMING", 0.031), series("step_lr_schedulers", "TIMING", 0.0004)]
        batches += [series("gpu_util", "SYSTEM", 70.0 + gpu, agentId="gpu-1", gpuUuid=f"GPU-{gpu}") for gpu in range(2)]
        batches += [series("cpu_util_simple", "SYSTEM", 35.0, agentId="gpu-1"), series("free_memory", "SYSTEM", 52.0, agentId="gpu-1")]
        reply = self.c.post("/api/v1/trials/profiler/metrics", {"batches": batches})
        assert reply.status == 200, reply

    def log_of_ranks(self, trial):
        """Lines as the two processes of a launcher write them."""
        task = self.c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
        lines = [{"taskId": task, "rankId": rank, "log": f"batch {batch} on rank {rank}\n"} for batch in (1, 2) for rank in (0, 1)]
        assert self.c.post("/api/v1/task/logs", {"logs": lines}).status == 200

    def registry(self):
        """Three checkpoints of the baseline, and a model whose first version is one of them."""
        c, ids = self.c, self.ids
        task = c.get(f"/api/v1/trials/{ids['done_trial']}").json["trial"]["taskId"]
        ids["checkpoints"] = []
        for steps in (200, 300, 600):
            uuid = str(uuid_of(f"checkpoint {steps}"))
            folder = c.storage / uuid
            folder.mkdir(parents=True)
            (folder / "weights.bin").write_bytes(b"w" * 4096)
            reply = c.report_checkpoint({"uuid": uuid, "taskId": task, "allocationId": f"{task}.1", "resources": {"weights.bin": "4096"}, "state": "STATE_COMPLETED",
                                         "metadata": {"steps_completed": steps, "note": HOSTILE}})
            assert reply.status == 200, reply
            ids["checkpoints"].append(uuid)
        made = c.post("/api/v1/models", {"name": "classifier <img src=x onerror=window.hacked=1>", "description": HOSTILE, "notes": HOSTILE_NOTES, "labels": [HOSTILE], "metadata": {HOSTILE: HOSTILE}})
        assert made.status == 200, made
        ids["model"] = made.json["model"]["id"]
        reply = c.post(f"/api/v1/models/{ids['model']}/versions", {"checkpointUuid": ids["checkpoints"][1], "comment": HOSTILE, "notes": HOSTILE_NOTES, "name": HOSTILE})
        assert reply.status == 200, reply

    def access(self):
        """People, groups with roles, quotas and a policy, as an admin sets them."""
        c, admin, w = self.c, self.c.admin_token(), self.ids["workspace"]

        def done(method, path, body):
            reply = c.request(method, path, body, token=admin)
            assert reply.status == 200, reply
            return reply.json

        people = [done("POST", "/api/v1/users", {"user": {"username": name, "displayName": shown, "active": True}, "password": "Long-Enough-1", "isHashed": False})["user"]["id"]
                  for name, shown in (("ann", "Ann Alder"), ("ben", HOSTILE[:30]), ("cleo", ""))]
        group = done("POST", "/api/v1/groups", {"name": f"vision team {HOSTILE[:24]}", "addUsers": people[:2]})["group"]["groupId"]
        here = {"scopeWorkspaceId": w}
        done("POST", "/api/v1/roles/add-assignments", {"groupRoleAssignments": [{"groupId": group, "roleAssignment": {"role": {"roleId": 5}, **here}}],
                                                       "userRoleAssignments": [{"userId": people[2], "roleAssignment": {"role": {"roleId": 4}, **here}}]})
        for quota in ({"workspaceId": 1, "slots": 3, "limit": 12}, {"userId": people[0], "slots": 2}):
            done("POST", "/api/v1/quotas", quota)
        done("PUT", "/api/v1/config-policies/global/EXPERIMENT", {"workloadType": "EXPERIMENT", "configPolicies": "constraints:\n  resources: {max_slots: 32}\n  priority_limit: 5\n"})

    def __enter__(self):
        self.c.__enter__()
        return self.fill()

    def __exit__(self, *exc):
        return self.c.__exit__(*exc)

    def paths(self):
        """Every page of the interface, by a name for its picture."""
        i = self.ids
        return {
            "home": "", "experiments": f"projects/{i['project']}", "experiment": f"experiments/{i['live']}", "experiment-trials": f"experiments/{i['live']}/trials",
            "experiment-configuration": f"experiments/{i['live']}/configuration", "experiment-hyperparameters": f"experiments/{i['live']}/hyperparameters", "experiment-scatter": f"experiments/{i['live']}/hyperparameters?view=scatter",
            "experiment-checkpoints": f"experiments/{i['done']}/checkpoints", "experiment-code": f"experiments/{i['live']}/code", "experiment-notes": f"experiments/{i['hostile']}/notes",
            "experiment-difference": f"experiments/{i['live']}/configuration?against={i['done']}", "create": f"create?project={i['project']}", "create-from-trial": f"create?experiment={i['live']}&trial={i['trial']}", "compare": f"compare?experiments={i['live']},{i['done']}",
            "compare-hyperparameters": f"compare?experiments={i['live']},{i['done']}&tab=hyperparameters", "compare-configuration": f"compare?experiments={i['live']},{i['done']}&tab=configuration",
            "trial": f"experiments/{i['live']}/trials/{i['trial']}",
            "trial-logs": f"experiments/{i['done']}/trials/{i['done_trial']}/logs", "trial-hyperparameters": f"experiments/{i['live']}/trials/{i['trial']}/hyperparameters",
            "trial-profiler": f"experiments/{i['live']}/trials/{i['trial']}/profiler", "trial-checkpoints": f"experiments/{i['done']}/trials/{i['done_trial']}/checkpoints",
            "trial-environment": f"experiments/{i['done']}/trials/{i['done_trial']}/environment", "trial-environment-difference": f"experiments/{i['done']}/trials/{i['done_trial']}/environment?against={i['hostile_trial']}",
            "workspaces": "workspaces", "workspace": f"workspaces/{i['workspace']}", "project-notes": f"projects/{i['project']}/notes", "tasks": "tasks", "task": f"tasks/{i['command']}",
            "new-notebook": "tasks?start=notebook", "models": "models", "model": f"models/{i['model']}", "model-notes": f"models/{i['model']}/notes", "model-version": f"models/{i['model']}/versions/1",
            "users": "users", "tokens": "tokens", "webhooks": "webhooks", "templates": "templates", "about": "about",
            "runs": f"projects/{i['project']}/runs", "experiment-heat": f"experiments/{i['live']}/hyperparameters?view=heat",
            "groups": "groups", "roles": f"groups/roles?workspace={i['workspace']}", "quotas": "quotas", "policies": "policies", "audit": "audit", "usage": "usage?days=7", "settings": "settings", "docs": "docs/guide", "docs-search": "docs?q=checkpoint", "docs-reference": "docs/reference/experiment-config",
            "jobs": "jobs", "cluster": "cluster", "nothing": "nowhere",
        }
