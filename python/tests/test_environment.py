"""What a task runs in, put on record when it connects with the platform."""

import importlib.metadata
import re
import sys
import time

from determined import core
from determined.core import _environment


def installed(directory, *names):
    for name in names:
        (directory / name).mkdir()


def test_packages__are_those_that_importlib_tells():
    told = {}
    for distribution in importlib.metadata.distributions():
        told.setdefault(re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower(), distribution.version)
    assert _environment.packages(sys.path) == told and list(told)


def test_packages__of_the_first_place_count(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir(), second.mkdir()
    installed(first, "Some_Package-1.0.dist-info", "old-2.1-py3.11.egg-info", "no_package", "odd.dist-info")
    installed(second, "some.package-0.9.dist-info", "zz-1!2.0+cu1.dist-info")
    (first / "a_file.txt").touch()
    places = [str(first), str(tmp_path / "none"), str(first / "a_file.txt"), str(second)]
    assert _environment.packages(places) == {"old": "2.1", "some-package": "1.0", "zz": "1!2.0+cu1"}


def test_a_task__tells_its_python_when_it_connects(cluster, monkeypatch):
    monkeypatch.setenv("DET_CONTAINER_ID", "a-container")
    with core.init():
        pass
    (told,) = cluster.master.environments
    assert told["containerId"] == "a-container" and told["allocationId"] == "7.6f4e.1"
    assert told["python"]["executable"] == sys.executable
    assert told["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert told["python"]["frameworks"]["numpy"] == importlib.metadata.version("numpy")
    assert told["python"]["packages"]["pytest"] == importlib.metadata.version("pytest")


def test_a_master__that_keeps_no_records_is_no_matter(cluster, monkeypatch):
    monkeypatch.setenv("DET_CONTAINER_ID", "a-container")
    cluster.master.faults["PutAllocationEnvironment"] = [404, 501]
    for _ in range(2):
        with core.init() as context:
            context.train.report_training_metrics(1, {"loss": 1.0})
    assert len(cluster.master.metrics) == 2 and cluster.master.environments == []


def test_a_master__that_is_slow_keeps_nobody_waiting(cluster, monkeypatch):
    monkeypatch.setenv("DET_CONTAINER_ID", "a-container")
    monkeypatch.setattr(_environment, "PATIENCE_S", 0.1)
    cluster.master.faults["PutAllocationEnvironment"] = ["drop"] * 100
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        started = time.monotonic()
    assert len(cluster.master.metrics) == 1
    assert time.monotonic() - started < 60, "it would be tried for ten minutes"
