"""What notebooks run, with JupyterLab itself."""

import os
import signal
import subprocess
import tempfile

import pytest
from support.jupyter import PYTHON, Jupyter, needs_jupyterlab
from support.ports import free_port
from support.task_process import TaskProcess, started_tasks
from support.waiting import wait_for

from determined.exec import notebook

LIBRARY = str(notebook.__file__).split("/determined/")[0]
pytestmark = needs_jupyterlab


class Notebook(TaskProcess):
    """A notebook's process."""

    def __init__(self, cluster, directory, **env):
        cluster.write(task_type="NOTEBOOK")
        self.work_dir = cluster.run_dir / "workdir"
        self.work_dir.mkdir(exist_ok=True)
        self.port = free_port()
        self.jupyter = Jupyter(f"http://127.0.0.1:{self.port}/proxy/7.6f4e/", "a-notebook-token")
        env = {
            "PYTHONPATH": LIBRARY,
            "HOME": str(directory),
            "NOTEBOOK_PORT": str(self.port),
            "DET_NOTEBOOK_TOKEN": "a-notebook-token",
            **env,
        }
        super().__init__([PYTHON, "-m", "determined.exec.notebook"], cluster, directory, env, cwd=self.work_dir)
        wait_for("JupyterLab", lambda: self.jupyter.answers() or self.process.poll() is not None)
        assert self.process.poll() is None, self.said


@pytest.fixture
def start(cluster, tmp_path):
    with started_tasks(Notebook) as started:
        yield lambda **env: started(cluster, tmp_path, **env)


def test_a_notebook__executes_cells_and_tells_the_master_that_it_is_used(start, cluster):
    n = start()
    assert n.jupyter.request("GET", "api/kernels", token=False)[0] == 403
    assert n.jupyter.request("GET", "lab")[0] == 200
    wait_for("the line that the platform waits for", lambda: "is running at:" in n.said)
    ready = [line for line in n.said.splitlines() if "Jupyter Server" in line and "is running" in line]
    assert ready and ready[0].startswith("INFO: [ServerApp] "), n.said
    assert "a-notebook-token" not in n.said
    with cluster.master.lock:
        assert cluster.master.lock.wait_for(lambda: cluster.master.idle_reports, 60)
    assert cluster.master.idle_reports[0] is True
    with n.jupyter.kernel(n.jupyter.start_kernel()) as execute:
        assert execute("6 * 7") == "42"
        said = execute(
            "import os, sys, determined as det; print(os.getcwd(), det.get_cluster_info().task_id, sys.executable)"
        )
    directory, task, python = said.split()
    assert (directory, task) == (str(n.work_dir), "7.6f4e")
    assert os.path.samefile(os.path.dirname(python), os.path.dirname(PYTHON))
    assert n.jupyter.ask("GET", f"api/contents{n.work_dir}/README.ipynb")["type"] == "notebook"


def test_a_kernel__outlives_a_master_that_is_away_and_a_client_that_leaves(start, cluster):
    n = start()
    kernel = n.jupyter.start_kernel()
    with n.jupyter.kernel(kernel) as execute:
        execute("x = 17")
    cluster.master.close()
    with n.jupyter.kernel(kernel) as execute:
        assert execute("print(x)") == "17\n"
    cluster.master.open()


@pytest.fixture
def short_name(cluster):
    """The cluster's run directory, under a name as short as tasks know it by."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        os.symlink(cluster.run_dir, f"{directory}/run")
        yield f"{directory}/run"


def test_a_kernel__opens_no_port_that_others_could_listen_at(start, short_name):
    n = start(DET_RUN_DIR=short_name)
    kernel = n.jupyter.start_kernel()
    with n.jupyter.kernel(kernel) as execute:
        assert "'ipc'" in execute("get_ipython().kernel.parent.transport")
    n.jupyter.ask("POST", f"api/kernels/{kernel}/restart")
    with n.jupyter.kernel(kernel) as execute:
        assert execute("1 + 1") == "2"


def test_a_task_that_is_asked_to_end__ends_with_its_kernels_and_its_watch(start):
    n = start()
    with n.jupyter.kernel(n.jupyter.start_kernel()) as execute:
        kernel = int(execute("import os; print(os.getpid())"))
    children = [int(pid) for pid in open(f"/proc/{n.process.pid}/task/{n.process.pid}/children").read().split()]
    n.process.send_signal(signal.SIGTERM)
    n.process.wait(timeout=60)
    assert kernel in children and len(children) == 2
    wait_for("the end of all processes", lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children))


def test_a_port_that_is_taken__ends_the_task(start, cluster):
    first = start()
    env = {
        **os.environ,
        "PYTHONPATH": LIBRARY,
        "DET_RUN_DIR": str(cluster.run_dir),
        "NOTEBOOK_PORT": str(first.port),
        "DET_NOTEBOOK_TOKEN": "another",
    }
    argv = [PYTHON, "-m", "determined.exec.notebook"]
    done = subprocess.run(argv, cwd=first.work_dir, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and f"port {first.port}" in done.stderr, done.stderr
