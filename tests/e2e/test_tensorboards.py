"""TensorBoards: what trials have stored, live, behind the master's proxy."""
import urllib.parse

import pytest
from support import browser, interactive
from support.cluster import ROOT, wait_for
from support.experiments import the_trial
from support.interactive import Task

# Reports two points; the second one when the test says so.
TRIAL = """
import pathlib, sys, time
from determined import core

with core.init() as context:
    context.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
    while not pathlib.Path(sys.argv[1]).exists():
        time.sleep(0.05)
    context.train.report_training_metrics(steps_completed=2, metrics={"loss": 0.25})
    while not pathlib.Path(sys.argv[1] + ".end").exists():
        time.sleep(0.05)
"""


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster(env=interactive.environment()).start_master()
    c.start_agent(slots=1, python_path=str(ROOT / "python"))
    c.login()
    return c


def running_trial(cluster, tmp_path):
    """An experiment whose trial has reported once; the file tells it to go on."""
    interactive.allow_reading(tmp_path)
    go_on = tmp_path / "go-on"
    experiment = cluster.create(files={"train.py": TRIAL}, entrypoint=["python3", "train.py", str(go_on)],
                                bind_mounts=[{"host_path": str(tmp_path), "container_path": str(tmp_path)}])
    return experiment, go_on


def points(cluster, tensorboard, run, tag="Determined/loss"):
    query = urllib.parse.urlencode({"run": run, "tag": tag})
    reply = cluster.get(f"/proxy/{tensorboard.id}/data/plugin/scalars/scalars?{query}")
    return [(step, value) for _, step, value in reply.json] if reply.status == 200 else []


def test_a_running_trial__is_shown_and_what_it_adds_is_shown_soon(cluster, tmp_path):
    experiment, go_on = running_trial(cluster, tmp_path)
    tensorboard = Task(cluster, "tensorboards", {"experimentIds": [experiment]}).wait_ready()
    run = f"experiment/{experiment}/trial/{the_trial(cluster, experiment)['id']}"
    assert cluster.get(f"/proxy/{tensorboard.id}/data/runs").json == [run]
    assert points(cluster, tensorboard, run) == [(1, 0.5)]
    go_on.touch()
    wait_for("the second point", lambda: points(cluster, tensorboard, run) == [(1, 0.5), (2, 0.25)])
    (tmp_path / "go-on.end").touch()
    assert tensorboard.kill()["state"] == interactive.FINAL


def test_before_the_first_metrics__the_tensorboard_waits(cluster, tmp_path):
    experiment = cluster.create(entrypoint=["sleep", "1000"])
    tensorboard = Task(cluster, "tensorboards", {"experimentIds": [experiment]})
    wait_for("the line that it waits", lambda: "TensorBoard is waiting for metrics." in tensorboard.log())
    wait_for("the state", lambda: tensorboard.get()["state"] == "STATE_WAITING")
    tensorboard.kill()


def test_a_trial_alone__is_shown_alone(cluster, tmp_path):
    experiment, go_on = running_trial(cluster, tmp_path)
    go_on.touch()
    (tmp_path / "go-on.end").touch()
    cluster.wait_experiment(experiment)
    trial = the_trial(cluster, experiment)["id"]
    tensorboard = Task(cluster, "tensorboards", {"trialIds": [trial]}).wait_ready()
    assert cluster.get(f"/proxy/{tensorboard.id}/data/runs").json == [f"experiment/{experiment}/trial/{trial}"]


def test_a_tensorboard_that_nobody_looks_at__is_ended(cluster, tmp_path):
    experiment, go_on = running_trial(cluster, tmp_path)
    tensorboard = Task(cluster, "tensorboards", {"experimentIds": [experiment], "config": {"idle_timeout": "5s"}})
    tensorboard.wait_end()


@browser.needs_browser
def test_a_browser__draws_a_running_trials_curve(cluster, tmp_path):
    experiment, _ = running_trial(cluster, tmp_path)
    tensorboard = Task(cluster, "tensorboards", {"experimentIds": [experiment]}).wait_ready()
    found = browser.run("show_scalars.mjs", url=tensorboard.url, tag="Determined/loss",
                        cookies=[{"name": "auth", "value": cluster.token}], screenshot=tmp_path / "tensorboard.png")
    assert found["title"] == "TensorBoard", found
