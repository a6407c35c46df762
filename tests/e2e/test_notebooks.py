"""Notebooks: JupyterLab behind the master's proxy, whose kernels need neither the master nor the agent."""
import base64
import json
import signal

import pytest
from support import browser, interactive
from support.cluster import wait_for
from support.interactive import Notebook
from support.jupyter import PYTHON, needs_jupyterlab

pytestmark = needs_jupyterlab


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster(env=interactive.environment(PYTHON)).start_master()
    c.start_agent(slots=1)
    c.login()
    return c


def test_a_cell__is_executed_through_the_proxy(cluster):
    notebook = Notebook(cluster).wait_ready()
    jupyter = notebook.jupyter()
    with jupyter.kernel(jupyter.start_kernel()) as execute:
        assert execute("6 * 7") == "42"
        assert execute("import determined as det; print(det.get_cluster_info().task_id)").strip() == notebook.id
        who = execute("import subprocess; print(subprocess.run(['det', 'user', 'whoami'], capture_output=True, text=True))")
        assert "determined" in who and "returncode=0" in who
    assert jupyter.token not in notebook.log()


def test_a_kernel__survives_the_master_and_the_agent(cluster):
    notebook = Notebook(cluster).wait_ready()
    jupyter = notebook.jupyter()
    kernel = jupyter.start_kernel()
    with jupyter.kernel(kernel) as execute:
        pid = execute("x = 17; import os; print(os.getpid())")
    for stop, start in [(cluster.stop_master, cluster.start_master), (cluster.stop_agent, cluster.start_agent)]:
        stop(signo=signal.SIGKILL)
        start()
        wait_for("the notebook's answer", jupyter.answers)
        with jupyter.kernel(kernel) as execute:
            assert execute("print(x, os.getpid())") == f"17 {pid}"
    assert notebook.get()["state"] == "STATE_RUNNING"


def test_a_notebook_that_is_idle__is_ended(cluster):
    notebook = Notebook(cluster, idle_timeout="5s", notebook_idle_type="kernels_or_terminals").wait_ready()
    assert "idle for more than" in notebook.wait_end()["exitStatus"] or "idle for more than" in notebook.log()


def test_a_notebook_with_a_kernel__is_not_idle_until_the_kernel_is_gone(cluster):
    notebook = Notebook(cluster, idle_timeout="6s", notebook_idle_type="kernels_or_terminals").wait_ready()
    jupyter = notebook.jupyter()
    kernel = jupyter.start_kernel()
    # Another notebook, which is started later and not used, is ended in the meantime.
    Notebook(cluster, idle_timeout="6s", notebook_idle_type="kernels_or_terminals").wait_ready().wait_end()
    assert notebook.get()["state"] == "STATE_RUNNING"
    jupyter.ask("DELETE", f"api/kernels/{kernel}")
    notebook.wait_end()


def test_files_of_the_context__are_where_the_notebook_begins(cluster):
    text = base64.b64encode(b"print('from a file')\n").decode()
    entry = {"path": "mine.py", "type": 48, "content": text, "mtime": "0", "mode": 0o644, "uid": 0, "gid": 0}
    notebook = interactive.Task(cluster, "notebooks", {"config": {"resources": {"slots": 0}}, "files": [entry]}).wait_ready()
    jupyter = interactive.Notebook.jupyter(notebook)
    with jupyter.kernel(jupyter.start_kernel()) as execute:
        assert execute("import mine") == "from a file\n"


@browser.needs_browser
def test_a_browser__executes_a_cell(cluster, tmp_path):
    notebook = Notebook(cluster).wait_ready()
    found = browser.run("execute_cell.mjs", url=cluster.url + notebook.get()["serviceAddress"].replace("/?", "/lab?"), code="6 * 7",
                        cookies=[{"name": "auth", "value": cluster.token}], screenshot=tmp_path / "notebook.png")
    assert found["output"] == "42" and f"/proxy/{notebook.id}/lab" in found["address"], json.dumps(found)
