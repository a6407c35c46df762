"""Questions about launchers: how much later than with torchrun alone do the workers begin, and does training go as fast?"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

from harness import ROOT, Row, directory, median_interval, question
from support.ports import free_port

PYTHON = ROOT / ".venv/bin/python"
WORKER = "import os, time\nopen(f\"began.{os.environ['RANK']}\", 'w').write(str(time.time_ns()))\n"
# Batches of about 5 ms on one core, with gradients of 2 MB, by two trainings in turns, as the file "turn" says: 0 1 1 0 0 1 1 0 …, so
# that neither is always the one that comes after the other. What a batch takes in each turn, at the median, goes into a file.
TRAINER = """
import os, statistics, sys, time, torch
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
me, turns, chief = int(sys.argv[1]), int(sys.argv[2]), os.environ["RANK"] == "0"
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(400, 400) for _ in range(3)]))
optimizer, batch, medians = torch.optim.SGD(model.parameters(), lr=0.01), torch.rand(128, 400), []
for turn in (turn for turn in range(2 * turns) if (turn + 1) // 2 % 2 == me):
    while chief and int(open("turn").read() or -1) != turn:
        time.sleep(0.001)
    torch.distributed.barrier()
    times = []
    for i in range(40):
        began = time.perf_counter()
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        print("batch", i, flush=True)
        times.append(time.perf_counter() - began)
    medians.append(statistics.median(times[5:]))
    torch.distributed.barrier()
    if chief:
        open("next", "w").write(str(turn + 1))
        os.replace("next", "turn")
if chief:
    open(f"batch_s.{me}", "w").write(" ".join(map(str, medians)))
torch.distributed.destroy_process_group()
os._exit(0)
"""
TURNS = int(os.environ.get("DET_BENCH_TURNS") or 60)
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


@contextlib.contextmanager
def task(script):
    """A trial's directory with a script in it, and how to start that: (path, environment, torchrun's words, our launcher's)."""
    with directory() as place:
        path = pathlib.Path(place)
        (path / "worker.py").write_text(script)
        (path / "run").mkdir()
        run_dir(path / "run")
        env = {**os.environ, "DET_RUN_DIR": str(path / "run"), "PYTHONPATH": str(ROOT / "python"), "PYTHONUNBUFFERED": "1",
               "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}", "C10D_PORT": str(free_port())}
        torchrun = ["-m", "torch.distributed.run", "--nnodes", "1", "--nproc_per_node", str(SLOTS), "--master_port", str(free_port()),
                    "worker.py"]
        yield path, env, torchrun, ["-m", "determined.launch.torch_distributed", "python3", "worker.py"]


def in_pairs(torchrun, ours):
    """Each in turn, the one and then the other first: what they have measured."""
    plain, with_us = [], []
    for i in range(PAIRS):
        for run, results in ((torchrun, plain), (ours, with_us))[:: 1 if i % 2 else -1]:
            results.append(run())
    return plain, with_us


@question
def launch_overhead():
    """What torch_distributed adds to torchrun: two workers, in interleaved pairs."""
    with task(WORKER) as (path, env, torchrun, ours):
        launched(torchrun, path, env)  # reads torch from the disk
        plain, with_us = in_pairs(lambda: launched(torchrun, path, env), lambda: launched(ours, path, env))
    yield Row(f"torch_distributed, {SLOTS} workers: until the last begins", [b for b, _ in with_us], "ms", reference="torchrun",
              reference_runs=[b for b, _ in plain])
    yield Row("… what it adds, pair by pair", [a[0] - b[0] for a, b in zip(with_us, plain)], "ms", target="≤ 100")
    yield Row("… until all has ended, what it adds", [a[1] - b[1] for a, b in zip(with_us, plain)], "ms")


SUPERVISE = """
import sys
from determined.launch import _supervisor
main = lambda address: [word.replace("ADDRESS", address) for word in sys.argv[2:]]
sys.exit(_supervisor.supervise(sys.argv[1], 8, _supervisor.Plan(whole_tree=True), main))
"""


@question
def worker_failure():
    """One of eight workers is killed: how long until the others are gone, who heed SIGTERM?"""
    workers = ROOT / "python/tests/programs/workers.py"  # stands in for the framework's launcher, one that does not notice
    times = []
    for i in range(PAIRS):
        with directory() as place:
            path = pathlib.Path(place)
            env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"}
            words = [PYTHON, workers, "hang-launch", 8, "ADDRESS", PYTHON, workers, "work", path]
            run = subprocess.Popen([PYTHON, "-c", SUPERVISE, f"bench.{os.getpid()}.{i}", *map(str, words)], env=env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(files := [path / str(rank) for rank in range(8) if (path / str(rank)).exists()]) < 8 and run.poll() is None:
                time.sleep(0.01)
            pids = [int(file.read_text().split()[0]) for file in files]
            os.kill(pids[i % 8], signal.SIGKILL)
            begin = time.perf_counter()
            while any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids):
                time.sleep(0.005)
            times.append((time.perf_counter() - begin) * 1000)
            if run.wait() != 128 + signal.SIGKILL:
                raise RuntimeError(f"the launcher ended with status {run.returncode}, not with its worker's")
    yield Row("one of eight workers is killed: until all are gone", times, "ms", target="≤ 2000")


def in_turns(commands, path, env):
    """Milliseconds of a batch in each turn, of each of two trainings that are there at once but never train at once."""
    (path / "turn").write_text("0")
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(subprocess.Popen([PYTHON, *argv, str(me), str(TURNS)], cwd=path, stdout=subprocess.PIPE, text=True,
                                                     stderr=subprocess.STDOUT, env={**env, "C10D_PORT": str(free_port())}, start_new_session=True))
                for me, argv in enumerate(commands)]
        readers = [threading.Thread(target=run.stdout.read) for run in runs]
        for reader in readers:
            reader.start()
        for run in runs:
            if run.wait():
                for other in runs:
                    other.kill()  # the other run would wait for its turn for ever
                raise RuntimeError(f"{run.args} ended with status {run.returncode}")
    return [[float(word) * 1000 for word in (path / f"batch_s.{me}").read_text().split()] for me in range(2)]


@question
def distributed_training():
    """Is training in two processes (DDP, gloo) as fast under our launcher as under torchrun?"""
    with task(TRAINER) as (path, env, torchrun, ours):
        plain, with_us = in_turns([torchrun, ours], path, env)
    plain, with_us = plain[1:], with_us[1:]  # the first turns warm everything up
    ratios = [theirs / us for theirs, us in zip(plain, with_us)]  # of neighbours
    low, high = median_interval(ratios)
    yield Row("DDP in two processes through torch_distributed: a batch", with_us, "ms", reference="torchrun", reference_runs=plain)
    yield Row(f"… its speed over torchrun's, median of {len(ratios)} pairs of turns", ratios, "×", target="≥ 0.98")
    yield Row("… 95 % interval of that median, from", [low], "×")
    yield Row("… to", [high], "×")
