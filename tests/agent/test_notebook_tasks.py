"""A notebook under a real agent: what the agent gives it, and what it needs the agent for."""
import json
import os
import signal

import pytest
from support.fake_master.agents import Agent
from support.jupyter import PYTHON, Jupyter, needs_jupyterlab
from support.machine_pids import machine_pids  # noqa: F401
from support.ports import free_port
from support.waiting import wait_for

pytestmark = needs_jupyterlab


@pytest.fixture
def agent(master, place):
    a = Agent(master, place / "agent")
    a.environment = {"PATH": f"{os.path.dirname(PYTHON)}:{os.environ['PATH']}"}
    a.start()
    master.wait_agent()
    yield a
    for container in set(master.expected) - set(master.done):
        master.signal(container, signal.SIGKILL)
        master.finish(container)
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


@pytest.fixture
def notebook(master, agent):
    port = free_port()
    container = master.start(
        ['exec "$DET_PYTHON_EXECUTABLE" -m determined.exec.notebook'], taskType="TASK_TYPE_NOTEBOOK", fetchContext=False,
        more_env=["DET_TASK_TYPE=NOTEBOOK", f"NOTEBOOK_PORT={port}", "DET_NOTEBOOK_TOKEN=a-notebook-token"])
    jupyter = Jupyter(f"http://127.0.0.1:{port}/proxy/1.task/", "a-notebook-token")
    wait_for("JupyterLab", lambda: jupyter.answers() or container in master.done)
    assert container not in master.done, master.text(container)
    return container, jupyter


def test_a_kernel__runs_as_the_task_and_outlives_the_agent(master, agent, notebook):
    container, jupyter = notebook
    kernel = jupyter.start_kernel()
    with jupyter.kernel(kernel) as execute:
        facts = json.loads(execute("import json, os; x = 17; print(json.dumps([os.getcwd(), os.getuid(), os.getpid()]))"))
        assert execute("import determined as det; print(det.get_cluster_info().task_type)") == "NOTEBOOK\n"
    assert facts[0] == "/run/determined/workdir"
    agent.kill(signal.SIGKILL)
    with jupyter.kernel(kernel) as execute:
        assert execute("print(x, os.getpid())") == f"17 {facts[2]}\n"
    agent.start()
    master.wait_agent(2)
    with jupyter.kernel(kernel) as execute:
        assert execute("print(x, os.getpid())") == f"17 {facts[2]}\n"
    assert container not in master.done
    wait_for("the log", lambda: "Jupyter Server" in master.text(container))
    assert "over TCP" not in master.text(container) and "a-notebook-token" not in master.text(container)


def test_a_notebook_that_is_killed__leaves_no_process(master, agent, notebook):
    container, jupyter = notebook
    with jupyter.kernel(jupyter.start_kernel()) as execute:
        pid = int(execute("import os; print(os.getpid())"))
    master.signal(container, signal.SIGKILL)
    master.finish(container)
    wait_for("the end of the kernel", lambda: not os.path.exists(f"/proc/{pid}"))
