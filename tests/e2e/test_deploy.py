"""The way of a newcomer: a cluster in a home of its own, an experiment, and nothing left behind. (Options and error texts of
det deploy local: tests/cli.)"""
import os
import pathlib
import re
import subprocess
import tempfile
import time

import pytest
from e2e.test_examples import needs_torch
from support.cluster import BUILD, ROOT, wait_for
from support.experiments import is_root
from support.ports import free_port
from support.processes import alive


class Home:
    """A fresh home directory with a cluster in it; open to the user that tasks of a root agent run as, unlike pytest's."""

    def __init__(self, directory):
        self.directory, self.port = pathlib.Path(directory), free_port()
        self.directory.chmod(0o755)
        self.env = {"OMP_NUM_THREADS": "1", "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", "HOME": directory, "XDG_DATA_HOME": f"{directory}/data",
                    "XDG_CONFIG_HOME": f"{directory}/config", "DET_MASTER": f"http://localhost:{self.port}"}

    def run(self, *words):
        return subprocess.run([BUILD / "det", *map(str, words)], capture_output=True, text=True, env=self.env, timeout=120, check=False)

    def det(self, *words):
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def up(self, *words):
        return self.det("deploy", "local", "cluster-up", "--master-port", self.port, *words)

    def processes(self):
        """Everything that runs with this home in its command line or environment."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = b"".join(pathlib.Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
            except OSError:
                continue
            if str(self.directory).encode() in text and alive(pid):
                found.append(text.split(b"\0")[0].decode())
        return found


@pytest.fixture
def home():
    with tempfile.TemporaryDirectory() as directory:
        h = Home(directory)
        yield h
        h.run("deploy", "local", "cluster-down")


def project(home, script, **config):
    """A directory with a configuration and a script."""
    directory = home.directory / "project"
    directory.mkdir(exist_ok=True)
    (directory / "main.py").write_text(script)
    lines = {"name": "mine", "entrypoint": "python3 main.py", "searcher": "{name: single, metric: loss}", "max_restarts": 0, **config}
    (directory / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    return directory / "config.yaml", directory


def test_up_create_follow_list_down_and_up_again(home):
    start = time.monotonic()
    home.up()
    print(f"\ncluster-up: {(time.monotonic() - start) * 1000:.0f} ms")
    followed = home.det("experiment", "create", *project(home, "print('the task speaks')"), "-f")
    assert "Created experiment 1" in followed and "the task speaks" in followed
    home.det("experiment", "wait", 1)
    assert re.search(r"1 .*mine.*COMPLETED", home.det("experiment", "list"))
    home.det("deploy", "local", "cluster-down")
    assert home.processes() == []
    home.up()
    assert re.search(r"1 .*mine.*COMPLETED", home.det("experiment", "list"))
    assert "the task speaks" in home.det("experiment", "logs", 1)


def test_down_ends_what_runs_with_all_its_processes(home):
    home.up("--agents", 2)
    script = "import subprocess, time\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nprint('runs', flush=True)\ntime.sleep(1000)\n"
    for x in (1, 2):
        home.det("experiment", "create", *project(home, script))
        wait_for("the task", lambda x=x: "runs" in home.run("experiment", "logs", x).stdout)
    assert len([p for p in home.processes() if p.endswith("determined-agent")]) == 2
    assert any(p == "sleep" for p in home.processes())
    home.det("deploy", "local", "cluster-down")
    assert home.processes() == []


def test_a_failing_experiment_says_why_and_det_ends_with_an_error(home):
    home.up()
    followed = home.run("experiment", "create", *project(home, "raise ValueError('a bad day')"), "-f")
    assert "ValueError: a bad day" in followed.stdout and "exit code: 1" in followed.stdout
    waited = home.run("experiment", "wait", 1)
    assert waited.returncode == 1
    assert re.search(r"1 .*mine.*ERROR", home.det("experiment", "list"))


STORES = """
import os
from determined import core

with core.init() as context:
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state").write_text("kept")
print("uid", os.getuid())
"""


def test_a_task_stores_its_checkpoint_where_the_cluster_keeps_them(home):
    home.up()
    followed = home.det("experiment", "create", *project(home, STORES), "-f")
    uid = int(re.search(r"uid (\d+)", followed).group(1))
    assert (uid != 0) if is_root() else (uid == os.getuid())
    [state] = home.directory.glob("data/determined/determined/checkpoints/*/state")
    assert state.read_text() == "kept"
    home.det("checkpoint", "download", state.parent.name, "-o", home.directory / "downloaded")
    assert (home.directory / "downloaded/state").read_text() == "kept"


@needs_torch
def test_the_demo_runs_through_and_again(home):
    def demo():
        done = subprocess.run([ROOT / "tools/demo"], capture_output=True, text=True, timeout=120, check=False,
                              env={**home.env, "DET_DEMO_PORT": str(home.port)})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    first = demo()
    assert float(re.search(r"^  accuracy +([\d.]+)   after 230 batches$", first, re.M).group(1)) >= 0.95
    assert (pathlib.Path(re.search(r"^  checkpoint +(/.*)$", first, re.M).group(1)) / "state_dict.pth").exists()
    assert "det deploy local cluster-down" in first and f"export DET_MASTER=http://localhost:{home.port}" in first
    assert "is up already" in demo()
