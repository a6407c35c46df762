"""Run JupyterLab as the platform's proxy wants it: ``python3 -m determined.exec.notebook``, what notebooks run.

This program prepares JupyterLab's directories, starts the watch that tells the master whether the notebook is used
(:mod:`determined.exec.idle_watch`), and then becomes JupyterLab. What it needs, it finds in variables:

=====================  =====================================================================================
``NOTEBOOK_PORT``      the port to listen on
``DET_LISTEN_ADDRESS`` the address to listen on; ``127.0.0.1``, which only this machine can connect to, unless it is set
``DET_NOTEBOOK_TOKEN`` what a request has to show
``NOTEBOOK_IDLE_TYPE`` see :mod:`determined.exec.idle_watch`
``DET_RUN_DIR``        where ``jupyter/config``, ``jupyter/data`` and ``jupyter/runtime`` go
=====================  =====================================================================================

Kernels need neither the master nor the agent: they go on when these are started anew.
"""

import json
import logging
import os
import pathlib
import subprocess
import sys
import uuid
from typing import Dict, List, NoReturn

import determined as det
from determined import _info, _linux, _process
from determined.exec import _service

logger = logging.getLogger("determined")

SERVICE = _service.Service(
    program="determined.exec.notebook",
    task_type="NOTEBOOK",
    tasks="notebooks",
    title="JupyterLab",
    package="jupyterlab",
    variables=("NOTEBOOK_PORT", "DET_NOTEBOOK_TOKEN"),
)
# The level in front is what the platform's log knows levels by.
LOG_FORMAT = "%(levelname)s: [%(name)s] %(message)s"
# In bytes; unix(7).
SOCKET_NAME_MAX = 107
# Jupyter's name of the directory, and the variable by which a Jupyter program finds it.
DIRECTORIES = {"config": "JUPYTER_CONFIG_DIR", "data": "JUPYTER_DATA_DIR", "runtime": "JUPYTER_RUNTIME_DIR"}

_README = [
    (
        "markdown",
        "# A notebook of Determined\n\n"
        "It runs on one of your cluster's machines, with the slots that you asked for (`det notebook start --help`). "
        "The library `determined` is there, and so is the command line, `det`, with your account.\n\n"
        "Files of this directory are gone when the notebook ends. Keep what you need elsewhere: in a `bind_mounts` "
        "directory, in a repository, or on your own machine (the file list at the left downloads).\n\n"
        "The notebook is ended when it has been idle for its `idle_timeout`, if it has one.",
    ),
    (
        "code",
        "import determined as det\n\n"
        "info = det.get_cluster_info()\n"
        'print("task", info.task_id, "on agent", info.agent_id, "with slots", info.slot_ids)',
    ),
]


def arguments(address: str, port: int, task_id: str, work_dir: str) -> List[str]:
    """JupyterLab's, for a server behind the platform's proxy."""
    return [
        f"--ServerApp.ip={address}",
        f"--ServerApp.port={port}",
        # Nobody would find the server on another port.
        "--ServerApp.port_retries=0",
        f"--ServerApp.base_url=/proxy/{task_id}/",
        "--ServerApp.allow_origin=*",
        # Requests bear the name by which people know the master.
        "--ServerApp.allow_remote_access=True",
        "--ServerApp.trust_xheaders=True",
        "--ServerApp.allow_root=True",
        "--ServerApp.open_browser=False",
        "--ServerApp.root_dir=/",
        f"--FileContentsManager.preferred_dir={work_dir}",
        # A file is hidden if any directory above it is: the agent's may lie in a directory such as ~/.local.
        "--ContentsManager.allow_hidden=True",
        f"--Application.log_format={LOG_FORMAT}",
    ]


def transport(run_dir: pathlib.Path) -> List[str]:
    """The argument by which JupyterLab talks to its kernels through sockets that only their owner can connect to.

    A kernel's ports are open to all accounts of the machine, which could read what the kernel prints. The system bounds
    the length of a socket's name.
    """
    longest = run_dir / "jupyter" / "runtime" / f"kernel-{uuid.UUID(int=0)}.json-ipc-5"
    return ["--KernelManager.transport=ipc"] if len(os.fsencode(longest)) <= SOCKET_NAME_MAX else []


def environment(run_dir: pathlib.Path, token: str) -> Dict[str, str]:
    """JupyterLab's. The token is told here, and not as an argument, which other accounts of the machine could read."""
    env = {**_process.environment(), "JUPYTER_TOKEN": token}
    for name, variable in DIRECTORIES.items():
        env[variable] = os.fspath(run_dir / "jupyter" / name)
    return env


def make_directories(run_dir: pathlib.Path) -> None:
    """Make what :func:`environment` names."""
    for name in DIRECTORIES:
        (run_dir / "jupyter" / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    lab = run_dir / "jupyter" / "config" / "labconfig"
    lab.mkdir(exist_ok=True)
    # News and new versions: many machines of clusters do not reach where they come from.
    switched_off = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (lab / "page_config.json").write_text(json.dumps(switched_off), encoding="utf-8")


def write_readme(work_dir: pathlib.Path) -> None:
    """Write ``README.ipynb``, unless the user's files have one."""
    cells = []
    for n, (kind, text) in enumerate(_README):
        cell = {"cell_type": kind, "id": f"readme-{n}", "metadata": {}, "source": text.splitlines(keepends=True)}
        cells.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    try:
        with open(work_dir / "README.ipynb", "x", encoding="utf-8") as file:
            json.dump(notebook, file, indent=1)
    except FileExistsError:
        pass
    except OSError as e:
        logger.warning("README.ipynb could not be written: %s", e)


def _become_jupyterlab(argv: List[str], env: Dict[str, str]) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.execve(argv[0], argv, env)


def main() -> int:
    info = _service.find_task(SERVICE)
    if info is None:
        return 1
    run_dir, work_dir = _info.short_run_dir(), pathlib.Path.cwd()
    make_directories(run_dir)
    own = run_dir / "workdir"
    if own.is_dir() and own.samefile(work_dir):
        work_dir = own
        os.chdir(work_dir)  # kernels begin where JupyterLab does
        write_readme(work_dir)
    env = environment(run_dir, os.environ["DET_NOTEBOOK_TOKEN"])
    # The watch ends with JupyterLab, which this process becomes.
    subprocess.Popen(_process.module("determined.exec.idle_watch"), preexec_fn=_linux.die_with_parent)
    port = int(os.environ["NOTEBOOK_PORT"])
    argv = arguments(_info.listen_address(), port, info.task_id, os.fspath(work_dir)) + transport(run_dir)
    _become_jupyterlab(_process.module("jupyterlab", *argv), env)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
