"""What notebooks run, up to the moment when JupyterLab takes over."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from determined.exec import notebook

LIBRARY = str(notebook.__file__).split("/determined/")[0]
# Stands in for JupyterLab: tells what it was started with, and with which child beside it.
STAND_IN = """
import json, os, sys
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
commands = [open(f"/proc/{pid}/cmdline").read().split(chr(0)) for pid in children]
json.dump({"argv": sys.argv[1:], "env": dict(os.environ), "pid": os.getpid(), "beside": commands}, open("found", "w"))
"""


@pytest.fixture
def jupyterlab(tmp_path):
    """Where a stand-in for JupyterLab can be imported from."""
    package = tmp_path / "packages" / "jupyterlab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(STAND_IN)
    return package.parent


@pytest.fixture
def start(cluster, jupyterlab):
    """Runs the program in a directory of the user's; returns it, and what JupyterLab found."""
    work_dir = cluster.run_dir / "workdir"
    work_dir.mkdir()
    cluster.write(task_type="NOTEBOOK")

    def run(directory=work_dir, path=(LIBRARY, jupyterlab), isolated=False, **env):
        given = {"NOTEBOOK_PORT": "2900", "DET_NOTEBOOK_TOKEN": "s3cret", **env}
        variables = {name: value for name, value in {**os.environ, **given}.items() if value is not None}
        variables.update(PYTHONPATH=os.pathsep.join(map(str, path)), DET_RUN_DIR=str(cluster.run_dir))
        program = subprocess.Popen(
            [sys.executable, *(["-S"] if isolated else []), "-m", "determined.exec.notebook"],
            cwd=directory,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said, _ = program.communicate(timeout=60)
        found = directory / "found"
        return program, said, json.loads(found.read_text()) if found.exists() else None

    return run


def test_the_program__becomes_jupyterlab_with_a_watch_beside_it(start, cluster):
    program, said, found = start()
    assert program.returncode == 0, said
    assert found["pid"] == program.pid
    assert found["beside"][0][-2] == "determined.exec.idle_watch"
    options = dict(one[2:].split("=", 1) for one in found["argv"])
    assert options["ServerApp.ip"] == "127.0.0.1" and options["ServerApp.port"] == "2900"
    assert options["ServerApp.base_url"] == "/proxy/7.6f4e/"
    assert options["ServerApp.root_dir"] == "/" and options["FileContentsManager.preferred_dir"].endswith("/workdir")


def test_the_token__is_no_argument(start):
    _, _, found = start()
    assert found["env"]["JUPYTER_TOKEN"] == "s3cret"
    assert "s3cret" not in " ".join(found["argv"])


def test_jupyters_directories__are_the_tasks_own(start, cluster):
    _, _, found = start()
    for variable, name in [("CONFIG", "config"), ("DATA", "data"), ("RUNTIME", "runtime")]:
        directory = pathlib.Path(found["env"][f"JUPYTER_{variable}_DIR"])
        assert directory == cluster.run_dir / "jupyter" / name
        assert directory.stat().st_mode & 0o777 == 0o700


def test_kernels__get_ports_only_where_a_sockets_name_would_be_too_long():
    assert notebook.transport(pathlib.Path("/run/determined")) == ["--KernelManager.transport=ipc"]
    assert notebook.transport(pathlib.Path("/" + "x" * 90)) == []


def test_a_readme__lies_in_the_default_directory_only_and_replaces_nothing(start, cluster, tmp_path):
    (tmp_path / "own").mkdir()
    start(directory=tmp_path / "own")
    assert not (tmp_path / "own" / "README.ipynb").exists()
    start()
    readme = cluster.run_dir / "workdir" / "README.ipynb"
    assert [cell["cell_type"] for cell in json.loads(readme.read_text())["cells"]] == ["markdown", "code"]
    readme.write_text("mine")
    start()
    assert readme.read_text() == "mine"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="older interpreters look into the working directory first")
def test_a_module_of_the_users__does_not_get_into_jupyterlab(start, cluster):
    (cluster.run_dir / "workdir" / "jupyterlab.py").write_text("raise SystemExit('not this one')")
    program, said, found = start()
    assert program.returncode == 0 and found, said


def test_without_jupyterlab__a_sentence_says_what_to_do(start):
    # -S: without the packages of the environment that runs these tests
    program, said, _ = start(path=[LIBRARY], isolated=True)
    assert program.returncode == 1
    assert "JupyterLab cannot be imported by this task's Python, /" in said
    assert "environment.python" in said


@pytest.mark.parametrize("variable", ["NOTEBOOK_PORT", "DET_NOTEBOOK_TOKEN"])
def test_without_a_variable__it_is_named(start, variable):
    program, said, _ = start(**{variable: None})
    assert program.returncode == 1 and f"the variable {variable} is not set" in said


def test_off_the_cluster_it_does_nothing(start, cluster):
    cluster.write(task_type="TRIAL")
    program, said, found = start()
    assert program.returncode == 1 and "in notebooks on a cluster only" in said and found is None
