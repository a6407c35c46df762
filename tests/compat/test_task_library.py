"""The released task library inside our tasks, as it is: its Core API reports to our master and obeys it.

It looks for its files in /run/determined and for shared_fs storage in /determined_shared_fs: the agent mounts both into the
task's own namespace, as root and as anybody else, and says so where the machine refuses.
"""
import json
import os
import pathlib
import pwd
import re
import shutil
import sys
import tempfile

import pytest
from released import CONTEXTS, PYTHON
from support import namespaces
from support.cluster import ROOT, Cluster, wait_for
from support.receiver import Receiver

FILES = {path.name: path.read_text() for path in (CONTEXTS / "released").iterdir() if path.is_file()}
REFUSE = [sys.executable, str(ROOT / "tests/support/refuse.py")]


class Tasks:
    """A cluster whose one agent runs as `who`."""

    def __init__(self, directory, who="root", prefix=(), **config):
        self.cluster = Cluster(directory, **config)
        self.who, self.prefix = who, list(prefix)

    def __enter__(self):
        c = self.cluster.__enter__()
        c.dir.chmod(0o755)
        c.start_master()
        token = (c.dir / "data/agent.token").read_text().strip()
        data = c.dir / "agent"
        data.mkdir()
        if self.who == "nobody" and os.geteuid() == 0:
            shutil.chown(data, "nobody")
            self.prefix = namespaces.NOBODY + self.prefix
        c.start_agent(slots=2, prefix=self.prefix, data_dir=str(data), token=token, token_file=None)
        c.login()
        return self

    def __exit__(self, *exc):
        return self.cluster.__exit__(*exc)

    def start(self, storage="shared_fs", python=PYTHON, script="train.py", **hparams):
        key = {"shared_fs": "host_path", "directory": "container_path"}[storage]
        return self.cluster.create(
            files=FILES, name="released", hyperparameters={"steps": 3, "pause_s": 0, **hparams},
            searcher={"name": "single", "metric": "loss", "max_length": 7},
            checkpoint_storage={"type": storage, key: str(self.cluster.storage), "save_trial_latest": 1000},
            entrypoint=["env", "-u", "PYTHONPATH", str(python), script])

    def finish(self, experiment):
        """(its state, its trial, the trial's log)"""
        shown = self.cluster.wait_experiment(experiment)
        [trial] = self.cluster.trial_ids(experiment)
        return shown["state"], trial, self.cluster.trial_log(trial)


@pytest.fixture(scope="module", params=["root", "nobody"])
def tasks(request):
    namespaces.need(request.param)
    with tempfile.TemporaryDirectory(prefix="det-compat-") as directory:  # pytest's own directories are closed to others
        pathlib.Path(directory).chmod(0o755)
        with Tasks(pathlib.Path(directory) / "cluster", request.param, config={"webhooks": {"allowed_addresses": ["127.0.0.1"]}}) as tasks:
            yield tasks


def facts(log):
    return json.loads(re.search(r"^facts (.*)$", log, re.M).group(1))


@pytest.mark.parametrize("storage", ["shared_fs", "directory"])
def test_core_api__reports_metrics_progress_and_checkpoints(tasks, storage):
    cluster = tasks.cluster
    experiment = tasks.start(storage)
    state, trial, log = tasks.finish(experiment)
    assert state == "STATE_COMPLETED", log
    told = facts(log)
    assert (told["trial"], told["experiment"], told["slots"], told["config"]) == (trial, experiment, 1, "released")
    assert (told["size"], told["rank"], told["gathered"], told["operation"]) == (1, 0, [5], 7)
    assert told["metadata"]["steps_completed"] == 3 and told["master"] == cluster.url
    assert told["uid"] == (0 if tasks.who == "root" else pwd.getpwnam("nobody").pw_uid)
    summary = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["summaryMetrics"]
    assert summary["avg_metrics"]["loss"]["count"] == summary["validation_metrics"]["loss"]["count"] == 3
    assert summary["inference"]["accuracy"]["last"] == 0.03
    checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
    assert len(checkpoints) == 4
    assert (cluster.storage / told["last"] / "state.txt").read_text() == "3"
    for c in checkpoints:
        assert {str(p.name) for p in (cluster.storage / c["uuid"]).iterdir()} == {name.rstrip("/") for name in c["resources"]}
    # A root agent has made the mount point; nothing of the task is left in it.
    assert not os.path.exists("/determined_shared_fs") and not (os.path.isdir("/run/determined") and os.listdir("/run/determined"))


def test_preemption__pause_stops_it_and_it_goes_on_from_its_checkpoint(tasks):
    cluster = tasks.cluster
    experiment = tasks.start(steps=40, pause_s=0.05)
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    wait_for("some steps", lambda: len(cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]) >= 2)
    assert cluster.post(f"/api/v1/experiments/{experiment}/pause").status == 200
    wait_for("the preempted trial's end", lambda: "allocation preempted" in cluster.trial_log(trial))
    assert cluster.post(f"/api/v1/experiments/{experiment}/activate").status == 200
    state, trial, log = tasks.finish(experiment)
    assert state == "STATE_COMPLETED" and "preempted\n" in log, log
    starts = [tuple(map(int, found)) for found in re.findall(r"run (\d+) starts at step (\d+)", log)]
    assert [run for run, _ in starts] == [1, 2] and starts[0][1] == 0 and starts[1][1] >= 2, log
    assert facts(log.rpartition("starts at step")[2])["metadata"]["steps_completed"] == 40


def test_early_exit__ends_the_trial_without_a_restart(tasks):
    state, trial, log = tasks.finish(tasks.start(refuse=True))
    assert "starts at step" not in log and log.count("invalid hyperparameter") <= 2, log
    shown = tasks.cluster.get(f"/api/v1/trials/{trial}").json["trial"]
    assert shown["restarts"] == 0 and state == "STATE_COMPLETED", log


def test_client__in_a_task_acts_for_the_tasks_owner_but_leaves_accounts_alone(tasks):
    cluster = tasks.cluster
    state, _, log = tasks.finish(tasks.start(script="script.py"))
    assert state == "STATE_COMPLETED", log
    told = facts(log)
    assert told["me"] == "determined" and [name for name, _ in told["refused"]] == ["users", "display name", "password"], told
    assert cluster.experiment(told["created"])["username"] == "determined"
    assert cluster.post(f"/api/v1/experiments/{told['created']}/kill").status == 200
    cluster.wait_experiment(told["created"])


def test_a_trial_raises_an_alert_and_registers_what_it_has_saved(tasks):
    cluster = tasks.cluster
    with Receiver() as receiver:
        webhook = {"name": "alerts", "url": receiver.url("/alerts"), "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE",
                   "triggers": [{"triggerType": "TRIGGER_TYPE_CUSTOM"}]}
        made = cluster.post("/api/v1/webhooks", webhook, token=cluster.admin_token()).json["webhook"]
        experiment = tasks.start(script="registry.py")
        state, trial, log = tasks.finish(experiment)
        assert state == "STATE_COMPLETED", log
        [message] = wait_for("the alert", lambda: receiver.of("/alerts"))
        assert cluster.request("DELETE", f"/api/v1/webhooks/{made['id']}", token=cluster.admin_token()).status == 200
    assert message.body["event_data"]["custom_data"] == {"title": "half way", "description": "the loss is nan", "level": "ERROR"}
    assert message.body["event_data"]["experiment"]["id"] == experiment and message.body["event_data"]["experiment"]["trial_id"] == trial
    told = facts(log)
    assert told["metrics"] == [{"accuracy": 0.5}]
    version = cluster.get(f"/api/v1/models/of%20trial%20{trial}/versions/1").json["modelVersion"]
    assert version["checkpoint"]["uuid"] == told["uuid"] and version["username"] == "determined"
    assert cluster.request("DELETE", f"/api/v1/models/of%20trial%20{trial}").status == 200


def test_over_tls__with_the_masters_certificate_from_the_task(tmp_path_factory):
    namespaces.need("root" if os.geteuid() == 0 else "nobody")
    tasks = Tasks(tmp_path_factory.mktemp("tls") / "cluster")
    config = tasks.cluster.config
    config["security"] = {**config["security"], "tls": {"self_signed": True}}
    tasks.cluster.trust_any()
    with tasks.cluster as c:
        c.start_master()
        c.start_agent(security={"tls": {"enabled": True, "master_cert": str(c.dir / "data/tls.crt")}})
        c.login()
        state, _, log = tasks.finish(tasks.start())
        assert state == "STATE_COMPLETED", log
        assert facts(log)["master"].startswith("https://")


def test_where_mounts_are_refused__the_log_says_it_and_only_our_library_works(tmp_path_factory):
    with Tasks(tmp_path_factory.mktemp("refused") / "cluster", prefix=[*REFUSE, "unshare"]) as tasks:
        state, _, log = tasks.finish(tasks.start())
        assert state == "STATE_ERROR"
        assert log.count("without /run/determined only the library of this platform works") == 1, log
        ours = tasks.cluster.create(files={"train.py": "from determined import core\nwith core.init() as c:\n"
                                           "    c.train.report_validation_metrics(1, {'loss': 2.0})\n    print('reported')\n"},
                                    entrypoint=["python3", "train.py"])
        state, _, log = tasks.finish(ours)
        assert state == "STATE_COMPLETED" and "reported" in log, log
