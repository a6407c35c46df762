"""Four processes: of one trial on two agents, its parameters sharded by FSDP; and of two trials that share a machine."""
import shutil

import pytest
from e2e.processes import cluster_of
from e2e.test_examples import DIGITS, check_checkpoints, check_resumed, create, needs_torch, pause_after, training_steps, validations
from support.cluster import ROOT, wait_for
from support.det import det
from support.experiments import log_of, the_trial
from support.machines import need_namespaces

FRAMEWORKS = ROOT / ".venv-frameworks/bin/python"

pytestmark = needs_torch

SHARDED = """
from torch.distributed.fsdp import fully_shard

import model_def

whole = model_def.build_model
model_def.build_model = lambda channels, dropout: fully_shard(whole(channels, dropout))
ShardedTrial = model_def.DigitsTrial
"""

# Holds on until somebody says so, so that two of them are there at once; then all processes add up their ranks.
TOGETHER = """
import os, pathlib, sys, time, torch

torch.distributed.init_process_group("gloo")
place, rank = pathlib.Path(sys.argv[1]), os.environ["RANK"]
(place / f"{os.environ['DET_TRIAL_ID']}.{rank}").touch()
while not (place / "go").exists():
    time.sleep(0.05)
total = torch.tensor(int(rank))
torch.distributed.all_reduce(total)
ports = [os.environ[n] for n in ("C10D_PORT", "DTRAIN_SSH_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2", "MASTER_PORT")]
print("total", int(total), "ports", *ports, flush=True)
torch.distributed.destroy_process_group()
"""


@pytest.fixture
def cluster(request, tmp_path):
    """Four slots, on that many machines."""
    need_namespaces()
    with cluster_of(tmp_path / "cluster", request.param, slots=4 // request.param) as c:
        yield c


@pytest.mark.parametrize("cluster", [2], indirect=True)
def test_a_sharded_model_is_learnt_paused_and_gone_on_with(cluster, tmp_path):
    directory = tmp_path / "sharded"
    shutil.copytree(DIGITS, directory)
    (directory / "sharded.py").write_text(SHARDED)
    x = create(cluster, directory, "--config", "resources.slots_per_trial=4", "--config", "searcher.max_length.epochs=8",
               "--config", "entrypoint=python3 -m determined.launch.torch_distributed --trial sharded:ShardedTrial", name="distributed.yaml")
    paused_at = pause_after(cluster, x, 46)
    det(cluster, "experiment", "activate", x)
    trial = the_trial(cluster, x)["id"]
    wait_for("steps of a second run", lambda: any(run == 2 and s > paused_at for run, s in training_steps(cluster, trial)), timeout_s=200)
    assert cluster.wait_experiment(x, timeout_s=300)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    check_resumed(cluster, x, paused_at, first_step=46)
    assert validations(cluster, trial)[-1][0] == 8 * 23 and validations(cluster, trial)[-1][1]["accuracy"] >= 0.95
    assert check_checkpoints(cluster, trial)[-1]["metadata"]["steps_completed"] == 8 * 23
    lines = cluster.get(f"/api/v1/trials/{trial}/logs").lines
    assert {line["result"].get("rankId") for line in lines} >= {0, 1, 2, 3}


def check_they_do_not_meet(cluster, tmp_path, launcher, **config):
    """Two trials of two processes at once: each adds up the ranks of its own; returns what ports they have."""
    tmp_path.chmod(0o777)
    made = [cluster.create(files={"together.py": TOGETHER}, resources={"slots_per_trial": 2}, max_restarts=0,
                           entrypoint=f"python3 -m determined.launch.{launcher} python3 together.py {tmp_path}", **config) for _ in range(2)]
    wait_for("all four processes", lambda: len(list(tmp_path.glob("*.[01]"))) == 4, timeout_s=400)
    (tmp_path / "go").touch()
    ports = []
    for x in made:
        assert cluster.wait_experiment(x, timeout_s=400)["state"] == "STATE_COMPLETED", log_of(cluster, x)
        [said] = {line.partition("total ")[2] for line in log_of(cluster, x).splitlines() if "total " in line}
        assert said.startswith("1 ports "), "the ranks of one trial, and of no other"
        ports.append(said.split()[2:])
    return ports


@pytest.mark.parametrize("cluster", [1], indirect=True)
def test_two_trials_that_share_their_machines_do_not_meet(cluster, tmp_path):
    first, second = check_they_do_not_meet(cluster, tmp_path, "torch_distributed")
    assert len({*first, *second}) == 8, (first, second)
    assert first[0] == first[-1], "torchrun's processes meet at the port of the platform"


def test_two_trials_of_deepspeed_that_share_a_machine_do_not_meet(tmp_path):
    if not FRAMEWORKS.exists():
        pytest.skip("the frameworks are not installed: make framework-deps")
    need_namespaces()
    with cluster_of(tmp_path / "cluster", 1, slots=4, python=FRAMEWORKS) as c:
        first, second = check_they_do_not_meet(c, tmp_path, "deepspeed --num_gpus 2 --",
                                               environment={"environment_variables": ["DS_ACCELERATOR=cpu"]})
    assert sorted(ports[-1] for ports in (first, second)) == ["29500", "29501"], "where DeepSpeed's processes meet"
