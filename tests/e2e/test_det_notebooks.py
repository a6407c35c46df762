"""det notebook and det tensorboard against a real master and agent, with the real JupyterLab and TensorBoard where they are installed."""
import contextlib
import re
import sys
import urllib.error
import urllib.request

import pytest
from support.cluster import Cluster
from support.det import det, run_det
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
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.new && mv {opened}.new {opened}\n')
    browser.chmod(0o755)
    done = run_det(prepared, "notebook", "start", "--config", "resources.slots=0", "-c", tmp_path / "context", BROWSER=browser)
    assert done.returncode == 0, done
    url = address_of(done.stdout)
    assert wait_for("the browser", lambda: opened.exists() and opened.read_text()) == url
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
