"""Questions about launchers: how much later than with torchrun alone do the workers begin, and does all end?"""
import json
import os
import pathlib
import subprocess
import time

from harness import ROOT, Row, directory, question

PYTHON = ROOT / ".venv/bin/python"
WORKER = "import os, time\nopen(f\"began.{os.environ['RANK']}\", 'w').write(str(time.time_ns()))\n"
PAIRS = int(os.environ.get("DET_BENCH_PAIRS") or 6)
SLOTS = 2


def run_dir(path):
    """What an agent leaves for a trial of one container."""
    config = {"checkpoint_storage": {"type": "shared_fs", "host_path": str(path)}, "searcher": {"name": "single", "metric": "loss"}}
    files = {
        "cluster": {"master_url": "http://127.0.0.1:9", "cluster_id": "c", "agent_id": "a", "slot_ids": list(range(SLOTS)), "task_id": "1",
                    "allocation_id": f"bench.{os.getpid()}", "session_token": "", "task_type": "TRIAL"},
        "trial": {"trial_id": 1, "experiment_id": 1, "trial_seed": 0, "hparams": {}, "config": config, "steps_completed": 0,
                  "trial_run_id": 1, "debug": False, "inter_node_network_interface": None},
        "rendezvous": {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [SLOTS]},
    }
    (path / "info").mkdir()
    for name, value in files.items():
        (path / "info" / f"{name}.json").write_text(json.dumps(value))
    return path


def launched(argv, path, env):
    """Milliseconds from the start until the last worker has begun, and until all has ended."""
    begin, begin_ns = time.perf_counter(), time.time_ns()
    done = subprocess.run([PYTHON, *argv], cwd=path, env=env, capture_output=True, text=True)
    ended = (time.perf_counter() - begin) * 1000
    if done.returncode:
        raise RuntimeError(f"{argv} ended with status {done.returncode}: {done.stderr}")
    began = max(int((path / f"began.{rank}").read_text()) for rank in range(SLOTS))
    return (began - begin_ns) / 1e6, ended


@question
def launch_overhead():
    """What torch_distributed adds to torchrun: two workers, in interleaved pairs."""
    with directory() as place:
        path = pathlib.Path(place)
        (path / "worker.py").write_text(WORKER)
        (path / "run").mkdir()
        run_dir(path / "run")
        env = {**os.environ, "DET_RUN_DIR": str(path / "run"), "PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": "1",
               "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}", "C10D_PORT": "29471"}
        torchrun = ["-m", "torch.distributed.run", "--nnodes", "1", "--nproc_per_node", str(SLOTS), "--master_port", "29472", "worker.py"]
        ours = ["-m", "determined.launch.torch_distributed", "python3", "worker.py"]
        launched(torchrun, path, env)  # reads torch from the disk
        plain, with_us = [], []
        for i in range(PAIRS):
            for argv, runs in ((torchrun, plain), (ours, with_us))[:: 1 if i % 2 else -1]:
                runs.append(launched(argv, path, env))
    yield Row(f"torch_distributed, {SLOTS} workers: until the last begins", [b for b, _ in with_us], "ms", reference="torchrun",
              reference_runs=[b for b, _ in plain])
    yield Row("… what it adds, pair by pair", [a[0] - b[0] for a, b in zip(with_us, plain)], "ms", target="≤ 100")
    yield Row("… until all has ended, what it adds", [a[1] - b[1] for a, b in zip(with_us, plain)], "ms")
