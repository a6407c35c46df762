"""Runs that the platform did not start, and a master that comes and goes."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading

import pytest
from support.fake_master.tasks import TOKEN, FakeMaster, Refusal
from support.waiting import wait_for

from determined import errors
from determined.experimental import client, core_v2
from determined.experimental.core_v2 import _core_v2, _journal
from tests.conftest import PYTHON


class Master(FakeMaster):
    """Keeps unmanaged trials by their external ids."""

    def __init__(self):
        super().__init__()
        self.experiments, self.trials, self.states = {}, {}, []
        self.wrong_config = False

    def GetMe(self, _, __):
        return {"user": {"id": 1, "username": "ada", "admin": False, "active": True}}

    def GetMaster(self, _, __):
        names = ("version", "masterId", "clusterName", "ssoProviders", "product", "userManagementEnabled")
        return {"clusterId": "c", **dict.fromkeys(names)}

    def PutExperiment(self, external, body, _):
        if self.wrong_config:
            raise Refusal(400, "unknown field")
        self.config = json.loads(body["config"])
        number = self.experiments.setdefault(external, len(self.experiments) + 1)
        return {"experiment": {"id": number}, "config": {}}

    def PutTrial(self, body, _):
        wanted = body["createTrialRequest"]
        key = (wanted["experimentId"], body["externalTrialId"])
        trial = self.trials.setdefault(key, {"id": 100 + len(self.trials), "runs": 0, "hparams": wanted["hparams"]})
        return {"trial": {"id": trial["id"], "taskId": f"task-{trial['id']}"}}

    def _trial(self, number):
        return next(t for t in self.trials.values() if t["id"] == int(number))

    def StartTrial(self, trial, body, _):
        t = self._trial(trial)
        t["runs"] += 1
        made = [c for c in self.checkpoints.values() if c["taskId"] == f"task-{trial}"]
        latest = max(made, key=lambda c: c["metadata"]["steps_completed"], default=None)
        answer = {"trialRunId": t["runs"], "stepsCompleted": latest["metadata"]["steps_completed"] if latest else 0}
        return {**answer, **({"latestCheckpoint": latest["uuid"]} if latest else {})}

    def PatchTrial(self, trial, body, _):
        self.states.append((int(trial), body.get("state")))
        return {"trial": {"id": int(trial)}}


LOOSE = ("PutExperiment", "PutTrial", "PatchTrial", "GetMaster")


@pytest.fixture
def master(monkeypatch):
    master = Master()
    monkeypatch.setenv("DET_MASTER", master.url)
    monkeypatch.setenv("DET_USER", "ada")
    monkeypatch.setenv("DET_USER_TOKEN", TOKEN)
    yield master
    core_v2.close()
    master.close()
    # Answers of routes whose messages are large are cut short here; requests are checked whole.
    assert [c for c in master.complaints if not c.startswith(tuple(f"answer of {rpc}" for rpc in LOOSE))] == []


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    from determined.experimental import _login
    from determined.experimental.core_v2 import _unmanaged

    quick = _login._http.Retry(attempts=2, first_pause_s=0.01, max_pause_s=0.02)
    monkeypatch.setattr(_login, "RETRY", quick)
    monkeypatch.setattr(_unmanaged, "LAST_TRY", quick)
    monkeypatch.setattr(_journal.Courier, "pause_s", 0.05)
    monkeypatch.setenv("DET_JOURNAL_DIR", str(tmp_path / "journals"))
    monkeypatch.setenv("DET_DEBUG_CONFIG_PATH", str(tmp_path / "config"))
    monkeypatch.setattr(_core_v2, "_notice_exceptions", lambda: None)


def journals(tmp_path):
    return sorted(p.name for p in (tmp_path / "journals").glob("*")) if (tmp_path / "journals").exists() else []


def config(tmp_path, **more):
    return core_v2.Config(name="here", checkpoint_storage=str(tmp_path / "storage"), **more)


def train(steps, checkpoint_at=()):
    for step in steps:
        core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
        if step in checkpoint_at:
            with core_v2.checkpoint.store_path({"steps_completed": step}) as (path, _):
                (path / "state").write_text(str(step))


def unreachable():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


def test_a_run__is_told_while_it_goes_on_and_leaves_nothing_behind(master, tmp_path):
    core_v2.init(config=config(tmp_path, hparams={"lr": 1}, labels=["x"]))
    assert core_v2.info.trial.trial_id == 100 and core_v2.info.trial.hparams == {"lr": 1}
    train([1, 2], checkpoint_at=[2])
    core_v2.train.report_validation_metrics(steps_completed=2, metrics={"accuracy": 1})
    core_v2.train.report_progress(0.5)
    core_v2.train.set_status("training")
    assert core_v2.train.set_metadata({"a": 1}) == {"a": 1} == core_v2.train.get_metadata()
    wait_for("the metadata", lambda: "PostRunMetadata" in master.rpcs())
    assert core_v2.url_reverse_webui_exp_view() == f"{master.url}/det/experiments/1"
    core_v2.close()
    assert master.config["labels"] == ["x"] and master.config["checkpoint_storage"]["type"] == "shared_fs"
    assert master.reports("training") == [(1, {"loss": 1}), (2, {"loss": 0.5})]
    assert all(m["metrics"]["trialRunId"] == 1 and m["metrics"]["reportTime"] for m in master.metrics)
    (checkpoint,) = master.checkpoints.values()
    assert checkpoint["taskId"] == "task-100" and checkpoint["storageId"] == 3
    assert master.states[-1] == (100, "STATE_COMPLETED") and journals(tmp_path) == []
    assert core_v2.train is None


def test_a_run_without_a_master__is_told_later_without_loss(master, monkeypatch, tmp_path):
    monkeypatch.setenv("DET_MASTER", unreachable())
    core_v2.init(config=config(tmp_path))
    assert core_v2.info.trial.trial_id == 0 and core_v2.train.get_metadata() is None
    assert core_v2.train.get_experiment_best_validation() is None
    with pytest.raises(RuntimeError, match="no run"):
        core_v2.url_reverse_webui_exp_view()
    train(range(1, 51), checkpoint_at=[50])
    (uuid,) = [p.name for p in (tmp_path / "storage").iterdir() if (p / "state").exists()]
    assert core_v2.checkpoint.get_metadata(uuid) == {"steps_completed": 50}
    core_v2.close()
    assert len(journals(tmp_path)) == 1

    monkeypatch.setenv("DET_MASTER", master.url)
    from determined.experimental import Determined

    done = _journal.sync(Determined()._session)
    assert (done.runs, done.left, done.refused) == (1, 0, [])
    assert master.reports("training") == [(step, {"loss": 1 / step}) for step in range(1, 51)]
    assert list(master.checkpoints) == [uuid]
    assert master.states == [(100, "STATE_COMPLETED")] and journals(tmp_path) == []


def test_a_master_that_goes_away__is_told_when_it_is_back(master, tmp_path):
    """A minute, as the courier sees it: a hundred and more of its pauses."""
    core_v2.init(config=config(tmp_path))
    train([1])
    wait_for("a report", lambda: len(master.metrics) == 1)
    master.faults["ReportTrialMetrics"] = [503, "drop", "lose", 503, *["drop", 503] * 100_000]
    train(range(2, 200))
    # Training has not waited for any of this.
    assert len(master.metrics) <= 3
    master.faults["ReportTrialMetrics"] = [*["drop"] * 60, *[503] * 60]
    wait_for("all reports", lambda: len({m["metrics"]["stepsCompleted"] for m in master.metrics}) == 199)
    core_v2.close()
    steps = [m["metrics"]["stepsCompleted"] for m in master.metrics]
    # The one that was lost on its way back came twice, and is merged; none is missing, none out of order.
    assert sorted(set(steps)) == list(range(1, 200)) and steps == sorted(steps)
    assert journals(tmp_path) == []


def test_a_run_that_is_killed__is_told_as_failed(master, tmp_path, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, signal\nfrom determined.experimental import core_v2\n"
        f"core_v2.init(config=core_v2.Config(checkpoint_storage={str(tmp_path / 'storage')!r}))\n"
        "for step in range(1, 4):\n"
        "    core_v2.train.report_training_metrics(steps_completed=step, metrics={'loss': step})\n"
        "core_v2.train._reporter.flush()\nprint('reported', flush=True)\nsignal.pause()\n"
    )
    env = {**os.environ, "DET_MASTER": unreachable(), "PYTHONPATH": str(PYTHON), "DET_RUN_DIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, script], env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "reported\n"
    from determined.experimental import Determined

    session = Determined()._session
    assert _journal.sync(session) == (0, 0, 1, [])  # the program still writes its journal: hands off
    process.send_signal(signal.SIGKILL)
    process.wait()
    with open(next((tmp_path / "journals").glob("*.journal")), "a") as f:
        f.write('{"method": "POST", "pa')  # torn
    assert _journal.sync(session).runs == 1
    assert [step for step, _ in master.reports("training")] == [1, 2, 3]
    assert master.states == [(100, "STATE_ERROR")] and journals(tmp_path) == []


def test_the_next_run_of_a_trial__goes_on_from_its_checkpoint(master, monkeypatch, tmp_path):
    again = {"external_experiment_id": "e", "external_trial_id": "t"}
    core_v2.init(config=config(tmp_path, **again))
    train(range(1, 4), checkpoint_at=[3])
    core_v2.close()
    # Away: what is known here has to do.
    monkeypatch.setenv("DET_MASTER", unreachable())
    core_v2.init(config=config(tmp_path, **again))
    train(range(4, 7), checkpoint_at=[6])
    core_v2.close()
    core_v2.init(config=config(tmp_path, **again))
    assert core_v2.info.trial._steps_completed == 6
    with core_v2.checkpoint.restore_path(core_v2.info.latest_checkpoint) as path:
        assert (path / "state").read_text() == "6"
    core_v2.close()
    # Back: the runs of meanwhile come first.
    monkeypatch.setenv("DET_MASTER", master.url)
    core_v2.init(config=config(tmp_path, **again))
    assert core_v2.info.trial._steps_completed == 6 and core_v2.info.trial._trial_run_id == 4
    assert [step for step, _ in master.reports("training")] == [1, 2, 3, 4, 5, 6]
    core_v2.close()
    assert master.states == [(100, "STATE_COMPLETED")] * 4 and len(master.trials) == 1


def test_the_use_of_a_checkpoint__is_told_with_the_masters_numbers(master, tmp_path):
    with core_v2.init_context(config=config(tmp_path)) as context:
        context.experimental.report_task_using_checkpoint(client.Checkpoint(None, "a-uuid"))
    (told,) = master.bodies("ReportTrialSourceInfo")
    assert told["trialSourceInfo"]["checkpointUuid"] == "a-uuid" and told["trialSourceInfo"]["trialId"] == 100


def test_an_exception__ends_the_run_as_failed(master, tmp_path):
    with pytest.raises(ZeroDivisionError), core_v2.init_context(config=config(tmp_path)) as context:
        context.train.report_training_metrics(steps_completed=1, metrics={"loss": 1})
        raise ZeroDivisionError
    assert master.states[-1] == (100, "STATE_ERROR") and len(master.metrics) == 1
    with pytest.raises(SystemExit) as leaving, core_v2.init_context(config=config(tmp_path)):
        raise errors.InvalidHP("no")
    assert leaving.value.code == 0 and master.states[-1] == (101, "STATE_COMPLETED")


def test_a_config_that_the_master_refuses__is_an_error_at_once(master, tmp_path):
    master.wrong_config = True
    with pytest.raises(errors.BadRequest, match="unknown field"):
        core_v2.init(config=config(tmp_path))
    assert journals(tmp_path) == []


def test_a_report_that_the_master_refuses__does_not_stop_the_others(master, tmp_path):
    master.faults["ReportTrialMetrics"] = [400]
    core_v2.init(config=config(tmp_path))
    train([1, 2, 3])
    core_v2.close()
    assert [step for step, _ in master.reports("training")] == [2, 3] and journals(tmp_path) == []


def test_signs_of_life__are_given(master, monkeypatch, tmp_path):
    monkeypatch.setattr(_journal.Courier, "heartbeat_s", 0.05)
    core_v2.init(config=config(tmp_path))
    wait_for("three tries", lambda: master.states.count((100, None)) >= 3)


def test_other_ranks__store_checkpoints_and_report_to_the_log(tmp_path, monkeypatch):
    class Rank1(core_v2.DistributedContext):
        def __init__(self):
            self.rank, self.size, self.local_rank, self.local_size = 1, 2, 1, 2

        def close(self):
            pass

    monkeypatch.setenv("DET_MASTER", unreachable())
    with core_v2.init_context(config=config(tmp_path), distributed=Rank1()) as context:
        context.train.report_training_metrics(steps_completed=1, metrics={"loss": 1})
    assert journals(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [({}, "needs config"), ({"config": core_v2.Config(external_trial_id="t")}, "goes with external_experiment_id")],
)
def test_what_is_missing__is_named(given, message):
    with pytest.raises(ValueError, match=message):
        core_v2.init_context(**given)


def test_older_forms_of_config__are_merged(tmp_path):
    with pytest.warns(FutureWarning):
        merged = _core_v2._merged(
            None, core_v2.DefaultConfig(name="n"), core_v2.UnmanagedConfig(workspace="w", name="not this")
        )
    assert (merged.name, merged.workspace) == ("n", "w")


def test_on_the_cluster__it_is_core(cluster):
    with core_v2.init_context(config=core_v2.Config(name="without effect")) as context:
        context.train.report_training_metrics(steps_completed=1, metrics={"loss": 1})
    assert cluster.master.reports("training") == [(1, {"loss": 1})]


def test_the_program__tells_what_it_did(master, monkeypatch, tmp_path):
    monkeypatch.setenv("DET_MASTER", unreachable())
    core_v2.init(config=config(tmp_path))
    train([1, 2])
    core_v2.close()
    env = {**os.environ, "PYTHONPATH": str(PYTHON)}
    program = [sys.executable, "-m", "determined.experimental.core_v2"]
    done = subprocess.run(program, env=env, capture_output=True, text=True)
    assert done.returncode == 1 and "no answer from the master" in done.stderr
    done = subprocess.run([*program, "-m", master.url], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 runs, 4 reports\n"), done.stderr


def test_reports_from_several_threads__do_not_tear(master, tmp_path):
    core_v2.init(config=config(tmp_path))
    threads = [threading.Thread(target=train, args=[range(i * 100 + 1, i * 100 + 101)]) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    core_v2.close()
    assert sorted(step for step, _ in master.reports("training")) == list(range(1, 401))
