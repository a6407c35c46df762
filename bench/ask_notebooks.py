"""Questions about notebooks: from the launch to the first answer."""
import os
import subprocess
import time

from harness import Row, directory, question, running_master
from support import interactive
from support.cluster import wait_for
from support.jupyter import PYTHON, Jupyter, is_missing
from support.ports import free_port

RUNS = 5


def bare(path):
    """Seconds until a JupyterLab that nobody manages answers."""
    port = free_port()
    argv = [PYTHON, "-m", "jupyterlab", "--allow-root", "--no-browser", f"--ServerApp.port={port}", "--ServerApp.token=x"]
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=path, env={**os.environ, "HOME": str(path)})
    try:
        wait_for("JupyterLab", Jupyter(f"http://127.0.0.1:{port}/", "x").answers)
        return time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def managed(cluster):
    """Seconds until the platform calls a notebook ready, and until JupyterLab answers through the proxy."""
    began = time.perf_counter()
    notebook = interactive.Notebook(cluster).wait_ready()
    ready = time.perf_counter() - began
    wait_for("JupyterLab", notebook.jupyter().answers)
    answered = time.perf_counter() - began
    notebook.kill()
    return ready, answered


@question
def notebooks():
    """How long from a notebook's launch until it is ready, and answers through the proxy, beside JupyterLab alone?"""
    if is_missing():
        print(f"  skipped: {PYTHON} has no jupyterlab")
        return
    with directory() as path, running_master() as cluster:
        cluster.env.update(interactive.environment(PYTHON))
        cluster.start_agent(slots=1)
        bare(path)
        alone, times = zip(*((bare(path), managed(cluster)) for _ in range(RUNS)))
        ready, answered = zip(*times)
        yield Row("notebook launched → ready", ready, "s", "≤ 4", "jupyter lab alone", alone)
        yield Row("notebook launched → answers through the proxy", answered, "s", "", "jupyter lab alone", alone)
