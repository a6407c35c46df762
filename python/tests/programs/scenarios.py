"""Runs a program of this folder in several processes that torchrun starts; reads what each tells of each scenario.

Starting processes takes long, so each number of processes runs its scenarios (distributed_program.py) in one go.
"""

import json
import os
import subprocess

import torch
from support.light_python import shared_light_python
from support.ports import free_port
from torch.utils.data import BatchSampler, SequentialSampler

from tests.conftest import PROGRAMS, PYTHON

TIMEOUT_S = 200


def torchrun(size, *argv, cwd, python=None, **env):
    """Run a program in ``size`` processes, as our launcher would; returns the finished process.

    ``python`` is the interpreter, if not that of ``light_python()``.
    """
    env = {
        **os.environ,
        "PYTHONPATH": f"{PYTHON}{os.pathsep}{PROGRAMS}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "USE_TORCH_DISTRIBUTED": "True",
        "DET_CHIEF_IP": "127.0.0.1",
        "INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        **env,
    }
    launcher = ["-m", "torch.distributed.run", "--nproc_per_node", str(size), "--master_port", str(free_port())]
    return subprocess.run(
        [python or shared_light_python(), *launcher, *argv],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


class Told:
    """What the processes of a size told of each scenario."""

    def __init__(self, directory, size):
        self.directory, self.size = directory, size

    def __call__(self, scenario):
        return [json.loads((self.directory / f"{scenario}.{r}.json").read_text()) for r in range(self.size)]


def run_scenarios(tmp_path_factory, size, *scenarios, program="distributed_program.py", python=None):
    out = tmp_path_factory.mktemp(f"of{size}")
    process = torchrun(
        size,
        str(PROGRAMS / program),
        str(out),
        *scenarios,
        cwd=out,
        python=python,
        DET_RUN_DIR=str(out / "no-cluster"),
        XDG_DATA_HOME=str(out / "home"),
    )
    assert process.returncode == 0, process.stderr
    return Told(out, size)


def reference(size, batches=6, aggregation=1, averages=True):
    """The weights that one process computes from the batches of all, joined."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    records = torch.rand(48, 3, generator=torch.Generator().manual_seed(0))
    of_all = list(BatchSampler(SequentialSampler(records), 4 * size, drop_last=False)) * 9
    for i, indices in enumerate(of_all[:batches]):
        batch = records[indices]
        loss = ((model(batch) - batch.sum(dim=1, keepdim=True)) ** 2).mean()
        (loss / aggregation if averages else loss).backward()
        if (i + 1) % aggregation == 0:
            optimizer.step()
            optimizer.zero_grad()
    return [float(x) for p in model.parameters() for x in p.detach().flatten()]
