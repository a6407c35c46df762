"""Tests files that a task's user owns and that the agent looks at: FIFOs, links in a circle, endless directories. Other tasks must not
have to wait for this."""
import os

import pytest
from on_an_agent import ALICE, BOB, ROOT, TRIAL, TRIAL_ENV, site

WORKERS = 4  # so many workers the agent has


@pytest.fixture
def place():
    with site() as s:
        yield s


def environment(place, name="venv"):
    venv = place.directory_of(ALICE, name)
    (venv / "bin").mkdir()
    (venv / "bin/python3").write_text("#!/bin/sh\n")
    (venv / "bin/python3").chmod(0o755)
    return venv


def trial(place, venv, script="true", **order):
    return place.start(script, more_env=[*TRIAL_ENV, f"PATH={venv}/bin:/usr/bin:/bin"], **TRIAL, **order)


def neighbour_runs(place):
    assert place.run("echo here", uid=BOB) == "here\n"


def record_of(place, container):
    """Returns what the agent has reported about the trial's Python; None if it could not find anything out."""
    def told():
        return [body for path, body in place.master.posts if path.endswith("/environment") and body["containerId"] == container]
    place.master.wait(told)
    return told()[0].get("python")


def test_a_fifo_in_the_place_of_pyvenv_cfg(place):
    venv = environment(place)
    os.mkfifo(venv / "pyvenv.cfg")
    os.chmod(venv / "pyvenv.cfg", 0o666)
    containers = [trial(place, venv, "sleep 1000") for _ in range(2 * WORKERS)]
    neighbour_runs(place)
    for container in containers:
        place.master.wait(lambda c=container: "STATE_RUNNING" in place.master.states_of(c))
    assert record_of(place, containers[0])["executable"] == f"{venv}/bin/python3"


def test_a_search_path_that_is_a_fifo_and_a_link_in_a_circle(place):
    venv = environment(place)
    (venv / "pyvenv.cfg").symlink_to("pyvenv.cfg")
    os.mkfifo(venv / "fifo")
    (venv / "circle").symlink_to(venv / "circle")
    container = place.start("true", **TRIAL, more_env=[
        *TRIAL_ENV, f"PATH={venv}/circle:{venv}/fifo:{venv}/bin:/usr/bin:/bin", f"PYTHONPATH={venv}/fifo:{venv}/circle"])
    neighbour_runs(place)
    assert record_of(place, container)["executable"] == f"{venv}/bin/python3"


def test_a_directory_of_packages_that_does_not_end(place):
    venv = environment(place)
    (venv / "pyvenv.cfg").write_text("version = 3.11.2\n")
    packages = venv / "lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "0").write_text("")
    for i in range(250_000):  # more than the agent looks at; all are names of one file, since making a million files takes a minute
        if i % 60_000 == 0:
            (packages / f"file{i}").write_text("")
            name = packages / f"file{i}"
        os.link(name, packages / f"p{i}-1.0.dist-info")
    containers = [trial(place, venv, "sleep 1000") for _ in range(2 * WORKERS)]
    neighbour_runs(place)
    python = record_of(place, containers[0])
    assert python["version"] == "3.11.2" and len(python["packages"]) == 20_000


@pytest.mark.skipif(not ROOT, reason="only a root agent can read what the task's user cannot")
def test_a_search_path_that_only_root_can_read_tells_the_user_nothing(place):
    secret = place.path / "secret"
    (secret / "passwords-1.0.dist-info").mkdir(parents=True)
    os.chmod(secret, 0o700)
    venv = environment(place)
    (venv / "pyvenv.cfg").write_text("version = 3.11.2\n")
    container = place.start("true", **TRIAL, more_env=[*TRIAL_ENV, f"PATH={venv}/bin:/usr/bin:/bin", f"PYTHONPATH={secret}"])
    assert "passwords" not in (record_of(place, container).get("packages") or {})


def test_a_fifo_and_a_link_in_the_place_of_the_request_for_measurements(place):
    script = ("cd $DET_RUN_DIR/profiling; mkfifo request; chmod 666 request; mkfifo x; mv x request; rm request;"
              " ln -s /proc/kmsg request; cd ..; mv profiling was; ln -s / profiling; echo done; sleep 1000")
    container = place.start(script, **TRIAL, more_env=TRIAL_ENV)
    place.master.wait(lambda: "done" in place.master.text(container))
    neighbour_runs(place)
    assert place.agent.process.poll() is None
