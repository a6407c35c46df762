"""A cluster with something to see on every page of the web interface: two agents, experiments in every state, a trial that goes on for as
long as the cluster does, and names, logs and metrics that try to be more than text."""
import base64
import json
import math
import random

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
HOSTILE_LINES = [
    "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "\x1b]0;title\x07after a title", "\x1b[31mred \x1b[1mbold\x1b[0m plain",
    "\x1b[2J\x1b[Hcleared?", "back\x08\x08\x08space", "right\u202eot\u202cleft", "javascript:alert(1)", "{{constructor.constructor('window.hacked=1')()}}", "a" * 3000,
    "nul\x00byte", "tab\there", "\x1b]8;;javascript:window.hacked=1\x07link\x1b]8;;\x07",
]


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
        ids["project"] = c.post(f"/api/v1/workspaces/{w}/projects", {"name": "classifiers"}).json["project"]["id"]
        for i in range(18):
            self.unmanaged(i)
        ids["hostile"] = self.hostile()
        ids["done"] = self.create("baseline", hyperparameters={"lr": 1.2, "steps": 600}, resources={"slots_per_trial": 1})
        ids["failed"] = self.create("wrong-learning-rate", entrypoint="python3 -c 'raise SystemExit(\"learning rate is 1e9\")'")
        ids["live"] = self.create("resnet-lr-sweep", description="ResNet-18, learning rates by random search", labels=["resnet", "sweep"], hyperparameters={
            "lr": {"type": "log", "base": 10, "minval": -0.3, "maxval": 0.6}, "depth": {"type": "int", "minval": 18, "maxval": 50}, "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]}},
            searcher={"name": "random", "max_trials": 4, "max_concurrent_trials": 4, "metric": "loss", "max_length": {"batches": 1000}})
        for x in ("done", "failed"):
            c.wait_experiment(ids[x])
        ids["queued"] = self.create("pretrain-large", resources={"slots_per_trial": 16})
        ids["paused"] = self.create("ablation", resources={"slots_per_trial": 1})
        c.post(f"/api/v1/experiments/{ids['paused']}/pause")
        ids["trial"] = wait_for("a trial of the sweep", lambda: c.trial_ids(ids["live"]))[0]
        ids["done_trial"] = c.trial_ids(ids["done"])[0]
        wait_for("validations of the sweep", lambda: c.get(f"/api/v1/trials/{ids['trial']}").json["trial"]["latestValidation"])
        return self

    def create(self, name, **changes):
        c = self.c
        config = {"name": name, "entrypoint": "python3 train.py", "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1000}}, "max_restarts": 0,
                  "hyperparameters": {"lr": 1.0}, **changes}
        reply = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True, "projectId": self.ids["project"], "modelDefinition": [
            {"path": "train.py", "type": 48, "content": base64.b64encode(TRAIN.encode()).decode(), "mtime": "0", "mode": 0o644, "uid": 0, "gid": 0}]})
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def unmanaged(self, i, project=None):
        """An experiment of the past, with one trial and a curve."""
        c, rng = self.c, random.Random(i)
        config = {"name": f"{rng.choice(['vit', 'resnet', 'mlp', 'unet'])}-{rng.choice(['warmup', 'dropout', 'mixup', 'bf16'])}-{i}", "searcher": {"name": "single", "metric": "loss"}}
        x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": project or self.ids["project"]}).json["experiment"]["id"]
        trial = c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True, "hparams": {"lr": 0.1}}).json["trial"]["id"]
        assert c.post(f"/api/v1/trials/{trial}/start", {}).status == 200
        for step in range(100, 600, 100):
            self.report(trial, step, {"loss": math.exp(-step / 300) + rng.random() / 10})
        assert c.patch(f"/api/v1/trials/{trial}", {"state": rng.choice(["STATE_COMPLETED", "STATE_COMPLETED", "STATE_ERROR"])}).status == 200
        return x

    def report(self, trial, step, metrics, group="validation"):
        reply = self.c.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
            "trialId": trial, "trialRunId": 1, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}})
        assert reply.status == 200, reply

    def hostile(self):
        """Script in every text that users supply, and metrics that are no numbers."""
        c = self.c
        config = {"name": HOSTILE, "description": HOSTILE, "labels": [HOSTILE], "searcher": {"name": "single", "metric": HOSTILE}, "hyperparameters": {HOSTILE: HOSTILE},
                  "entrypoint": ["python3", "-c", f"import sys; [print(x) for x in {HOSTILE_LINES!r}]"], "max_restarts": 0}
        x = c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": True, "projectId": self.ids["project"]}).json["experiment"]["id"]
        c.wait_experiment(x)
        self.ids["hostile_trial"] = c.trial_ids(x)[0]
        config = {"name": f"no numbers {HOSTILE}", "searcher": {"name": "single", "metric": HOSTILE}}
        y = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": self.ids["project"]}).json["experiment"]["id"]
        trial = c.post("/api/v1/trials", {"experimentId": y, "unmanaged": True, "hparams": {HOSTILE: HOSTILE}}).json["trial"]["id"]
        assert c.post(f"/api/v1/trials/{trial}/start", {}).status == 200
        for step, value in enumerate([0.5, "NaN", 0.4, "Infinity", "-Infinity", 0.3], 1):
            self.report(trial, step, {HOSTILE: value, "__proto__x": 1, "constructor": value})
        self.ids["odd"], self.ids["odd_trial"] = y, trial
        return x

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
            "experiment-configuration": f"experiments/{i['live']}/configuration", "trial": f"experiments/{i['live']}/trials/{i['trial']}",
            "trial-logs": f"experiments/{i['done']}/trials/{i['done_trial']}/logs", "trial-hyperparameters": f"experiments/{i['live']}/trials/{i['trial']}/hyperparameters",
            "jobs": "jobs", "cluster": "cluster", "nothing": "nowhere",
        }
