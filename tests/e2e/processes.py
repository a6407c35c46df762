"""What tests of trials in several processes share: machines with an agent each, the processes of a trial, what they are held against."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from e2e.test_examples import DIGITS, check_checkpoints, check_resumed, create, pause_after, training_steps, validations
from support.cluster import Cluster, wait_for
from support.det import det
from support.experiments import log_of, the_trial
from support.light_python import light_python
from support.machines import machines

PATIENCE_S = 400

# Stands still after 60 steps of its first run, so that there is time to do something to it.
HOLDING = """
import time

import determined as det
import digits


class DigitsTrial(digits.DigitsTrial):
    def train_batch(self, batch, epoch_idx, batch_idx):
        while batch_idx == 60 and det.get_cluster_info().trial._trial_run_id == 1:
            time.sleep(0.05)
        return super().train_batch(batch, epoch_idx, batch_idx)
"""


@contextlib.contextmanager
def cluster_of(directory, count, slots, python=None):
    """Agents in namespaces, so that their ports are nobody else's either. python: what tasks run, if not light_python()."""
    programs = os.path.dirname(python) if python else light_python(pathlib.Path(directory) / "python")
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    with machines(count) as hosts, Cluster(directory, env=env) as c:
        c.start_master(bind_host="0.0.0.0")
        for i in range(count):
            c.start_agent(f"agent{i}", slots=slots, prefix=hosts.within(i), master_host=hosts.master)
        c.hosts = hosts
        c.login()
        yield c


def cable_bytes(cluster, i):
    """Bytes that have come in at the cable of machine `i` of cluster_of()."""
    shown = subprocess.run([*cluster.hosts.within(i), "cat", "/sys/class/net/eth0/statistics/rx_bytes"], capture_output=True, text=True, check=True)
    return int(shown.stdout)


def ranks(cluster, variable=b"RANK"):
    """Process id of each rank of whatever trains in this cluster."""
    found = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            variables = dict(v.split(b"=", 1) for v in (process / "environ").read_bytes().split(b"\0") if b"=" in v)
            ours = str(cluster.dir).encode() in variables.get(b"DET_RUN_DIR", b"")
            if ours and words[1:3] == [b"-m", b"determined.exec.harness"] and variable in variables:
                found[int(variables[variable])] = int(process.name)
    return found


def ranks_in_log(cluster, experiment):
    lines = cluster.get(f"/api/v1/trials/{the_trial(cluster, experiment)['id']}/logs").lines
    return {line["result"].get("rankId") for line in lines} - {None}


def holding_digits(directory):
    """digits_pytorch whose first run holds, in a directory of its own."""
    shutil.copytree(DIGITS, directory)
    (directory / "model_def.py").rename(directory / "digits.py")
    (directory / "model_def.py").write_text(HOLDING)
    return directory


def check_learnt_by_two(cluster, *words, name="distributed.yaml"):
    """digits_pytorch in two processes learns as it does in one; returns the experiment."""
    x = create(cluster, DIGITS, *words, name=name)
    assert cluster.wait_experiment(x, timeout_s=PATIENCE_S)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    results = validations(cluster, trial)
    assert [s for s, _ in results] == [46, 92, 138, 184, 230], "an epoch has 23 batches of 64, as with one process"
    assert results[-1][1]["accuracy"] >= 0.95
    assert check_checkpoints(cluster, trial)[-1]["metadata"]["steps_completed"] == 230
    assert ranks_in_log(cluster, x) >= {0, 1}
    return x


def check_pause_is_heeded(cluster, *words, name="distributed.yaml"):
    """All processes stop when the experiment is paused, and go on together."""
    x = create(cluster, DIGITS, *words, "--config", "searcher.max_length.epochs=100", name=name)
    paused_at = pause_after(cluster, x, 46)
    det(cluster, "experiment", "activate", x)
    trial = the_trial(cluster, x)["id"]
    wait_for("steps of a second run", lambda: any(run == 2 and s > paused_at for run, s in training_steps(cluster, trial)),
             timeout_s=PATIENCE_S)
    check_resumed(cluster, x, paused_at, first_step=46)
    det(cluster, "experiment", "kill", x)
    cluster.wait_experiment(x)


def check_goes_on_after_a_death(cluster, directory, victim, *words, variable=b"RANK", name="distributed.yaml"):
    """A rank is killed behind a checkpoint: the trial restarts from there, and nobody is left of its first run or its second."""
    x = create(cluster, holding_digits(directory), *words, "--config", "searcher.max_length.epochs=6", "--config",
               "min_checkpoint_period.epochs=1", name=name)
    trial = the_trial(cluster, x)["id"]
    wait_for("steps behind a checkpoint", lambda: any(s == 60 for _, s in training_steps(cluster, trial)), timeout_s=PATIENCE_S)
    os.kill(wait_for("the processes", lambda: ranks(cluster, variable).get(victim)), signal.SIGKILL)
    assert cluster.wait_experiment(x, timeout_s=PATIENCE_S)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert the_trial(cluster, x)["restarts"] == 1, log_of(cluster, x)
    second = [s for run, s in training_steps(cluster, trial) if run == 2]
    assert min(second) > 46 and max(second) == 6 * 23, "it did not begin anew"
    assert ranks(cluster, variable) == {}, "nobody is left"
