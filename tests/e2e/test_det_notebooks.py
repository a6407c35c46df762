"""det notebook and det tensorboard against a real master and agent, with the real JupyterLab and TensorBoard where they are installed."""
import contextlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from support.cluster import TIMEOUT_S, Cluster
from support.det import RELEASED, det, run_det
from support.det import environment as environment_of
from support.interactive import environment
from support.jupyter import PYTHON, needs_jupyterlab
from support.waiting import wait_for

# det waits until TensorBoard has something to show.
REPORT = """
from determined import core
with core.init() as context:
    context.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
"""


@contextlib.contextmanager
def cluster_with(python, directory):
    """A cluster whose tasks find JupyterLab or TensorBoard as they find any other package."""
    with Cluster(directory, env=environment(python)) as cluster:
        cluster.start_master()
        cluster.start_agent(slots=2)
        cluster.login()
        yield cluster


@pytest.fixture
def prepared(tmp_path_factory):
    with cluster_with(PYTHON, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def with_tensorboard(tmp_path_factory):
    with cluster_with(sys.executable, tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def address_of(text):
    return re.search(r" is running at: (\S+)", text)[1]


@needs_jupyterlab
def test_a_notebook_is_started_opened_and_killed(prepared, tmp_path):
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "mine.py").write_text("x = 1\n")
    with browser_that_keeps_the_address(tmp_path) as (browser, opened):
        done = run_det(prepared, "notebook", "start", "--config", "resources.slots=0", "-c", tmp_path / "context", **browser)
        assert done.returncode == 0, done
        url = address_of(done.stdout)
        assert opened() == url
    assert b"<title>JupyterLab</title>" in urllib.request.urlopen(url).read()
    (tid,) = det(prepared, "notebook", "list", "-q").split()
    assert address_of(det(prepared, "notebook", "open", tid[:8], "--no-browser")) == url
    assert re.search(r"Jupyter Server .* is running", det(prepared, "notebook", "logs", tid))
    assert det(prepared, "notebook", "kill", tid) == f"Killed notebook {tid}\n"
    wait_for("its end", lambda: tid not in det(prepared, "complete-ids", "notebook"))
    done = run_det(prepared, "notebook", "open", tid)
    assert done.returncode == 1 and f"Notebook {tid} has ended" in done.stderr
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(url)


@contextlib.contextmanager
def browser_that_keeps_the_address(tmp_path):
    """A browser for Python's webbrowser, and a function that returns the address that it was given."""
    opened, program = tmp_path / "opened", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    program.chmod(0o755)
    yield {"BROWSER": f"{program} %s"}, lambda: wait_for("the browser", lambda: opened.exists() and opened.read_text())


def released(cluster, *words, **variables):
    if not RELEASED.is_file():
        pytest.skip("the released client is not installed (.venv-compat)")
    done = subprocess.run([RELEASED, *map(str, words)], env={**environment_of(cluster), **variables}, capture_output=True, text=True,
                          timeout=TIMEOUT_S)
    assert done.returncode == 0, done
    return done.stdout


@needs_jupyterlab
def test_the_released_client_starts_opens_and_kills_a_notebook(prepared, tmp_path):
    with browser_that_keeps_the_address(tmp_path) as (browser, opened):
        out = released(prepared, "notebook", "start", "--config", "resources.slots=0", **browser)
        url = opened()
        assert url in out
        assert b"<title>JupyterLab</title>" in urllib.request.urlopen(url).read()
        (tid,) = released(prepared, "notebook", "list", "-q").split()
        (tmp_path / "opened").unlink()
        released(prepared, "notebook", "open", tid[:8], **browser)
        assert b"<title>JupyterLab</title>" in urllib.request.urlopen(opened()).read()
        assert "JupyterLab answers" in released(prepared, "notebook", "logs", tid)
        assert "idle_timeout" in released(prepared, "notebook", "config", tid)
        released(prepared, "notebook", "kill", tid)
        wait_for("its end", lambda: tid not in det(prepared, "complete-ids", "notebook"))


def test_the_released_client_starts_a_tensorboard(with_tensorboard, tmp_path):
    eid = with_tensorboard.create(files={"train.py": REPORT}, entrypoint=["python3", "train.py"])
    with browser_that_keeps_the_address(tmp_path) as (browser, opened):
        released(with_tensorboard, "tensorboard", "start", eid, **browser)
        request = urllib.request.Request(opened(), headers={"Cookie": f"auth={with_tensorboard.token}"})
        assert b"TensorBoard" in urllib.request.urlopen(request).read()
    (tid,) = released(with_tensorboard, "tensorboard", "list", "-q").split()
    released(with_tensorboard, "tensorboard", "kill", tid)


def test_a_tensorboard_is_started(with_tensorboard):
    prepared = with_tensorboard
    eid = prepared.create(files={"train.py": REPORT}, entrypoint=["python3", "train.py"])
    done = run_det(prepared, "tensorboard", "start", eid, "--no-browser")
    assert done.returncode == 0, done
    request = urllib.request.Request(address_of(done.stdout), headers={"Authorization": f"Bearer {prepared.token}"})
    assert b"TensorBoard" in urllib.request.urlopen(request).read()
    rows = det(prepared, "tensorboard", "list", "--csv").splitlines()
    assert f"[{eid}]" in rows[1]


def test_preview_and_unknown_experiments(cluster):
    assert "resource_pool: default\n" in det(cluster, "notebook", "start", "--preview", "--config", "resources.slots=2")
    assert det(cluster, "notebook", "list", "-a", "-q").count("\n") <= 1
    done = run_det(cluster, "tensorboard", "start", 123456)
    assert done.returncode == 1 and "experiment '123456' not found" in done.stderr and "Launched" not in done.stdout
