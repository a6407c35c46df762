"""The cases of the launchers, which are Python: usage: launcher_cases.py SECTION   (run-cases starts it)

Reads the section from standard input, prints a line for each case: "ok I" or "FAIL I: what was wrong". The launchers run as
they are, but for what they would start, which is noted instead. What the predecessor put between a launcher and the framework's
own, `determined.exec.pid_server`, is our launcher itself here; so comparison begins behind it.
"""

import contextlib
import importlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

PYTHON_DIR = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PYTHON_DIR))

from determined import _process
from determined.launch import _command, _links, _peers, _ssh, _supervisor

LAUNCHER_MODULES = ("torch_distributed", "horovod", "autohorovod", "deepspeed", "tensorflow")
# The variables that cases speak of.
WATCHED = ("USE_TORCH_DISTRIBUTED", "USE_HOROVOD", "USE_DEEPSPEED", "DET_CHIEF_IP", "TF_CONFIG", "PDSH_SSH_ARGS",
           "DET_DEEPSPEED_HOSTFILE_PATH", "SLURM_JOBID")
PORTS = ("C10D_PORT", "DTRAIN_SSH_PORT", "INTER_TRAIN_PROCESS_COMM_PORT_1", "INTER_TRAIN_PROCESS_COMM_PORT_2")
DEEPSPEED_VERSION = "0.9.0"


class Wrong(Exception):
    """A case failed; says how."""


def expect(what, found, expected):
    if found != expected:
        raise Wrong(f"{what}: expected {expected!r}, found {found!r}")


# ---- launchers ----


class Recorder:
    """Stands for everything that a launcher would start or ask."""

    def __init__(self, run_dir):
        self.run_dir = str(run_dir)
        self.commands, self.posts, self.waits = [], [], []
        self.env = None

    def note(self, argv, env=None):
        self.commands.append([str(word).replace(self.run_dir, "/run/determined") for word in argv])
        self.env = env if env is not None else self.env
        return 0

    def supervise(self, allocation_id, workers, plan, argv_for, env=None):
        return self.note(argv_for(f"/tmp/pid_server-{allocation_id}"), env)

    def popen(self, argv, **_):
        self.note(argv)
        return mock.Mock()

    def daemon(self, info):
        self.posts.append(f"/api/v1/allocations/{info.allocation_id}/resources/{os.environ['DET_RESOURCES_ID']}/daemon")


def write_info(run_dir, case):
    cluster, slots = case["cluster"], case["cluster"]["slots_per_node"]
    config = {"debug": False, "optimizations": {}, "data": {}, **case.get("config", {})}
    interface = config.pop("interface", None)
    files = {
        "cluster": {"master_url": "http://nowhere:1", "cluster_id": "c", "agent_id": "a", "slot_ids": list(range(slots)),
                    "task_id": "t", "allocation_id": cluster["allocation_id"], "session_token": "s", "task_type": "TRIAL"},
        "trial": {"trial_id": 1, "experiment_id": 1, "trial_seed": 0, "hparams": {}, "config": config, "steps_completed": 0,
                  "trial_run_id": 1, "debug": config["debug"], "inter_node_network_interface": interface},
        "rendezvous": {"container_addrs": cluster["addrs"], "container_rank": cluster["rank"],
                       "container_slot_counts": [slots] * cluster["nodes"]},
    }
    (run_dir / "info").mkdir(parents=True)
    for name, value in files.items():
        (run_dir / "info" / f"{name}.json").write_text(json.dumps(value))
    (run_dir / "ssh").mkdir()
    (run_dir / "ssh" / "sshd_config").touch()


def behind_pid_server(argv):
    """The framework's own command line."""
    if argv[:3] == ["python3", "-m", "determined.exec.pid_server"]:
        return argv[argv.index("--") + 1 :]
    return argv


def launch(case, recorder):
    """Run the launcher of a case; returns (exit status, last line of stderr)."""
    if case["module"] not in LAUNCHER_MODULES:
        raise Wrong(f"there is no launcher {case['module']!r}")
    module = importlib.import_module(f"determined.launch.{case['module']}")
    err = io.StringIO()
    patches = [
        mock.patch.object(_supervisor, "supervise", recorder.supervise),
        mock.patch.object(_process, "run", recorder.note),
        mock.patch.object(_peers, "all_gather", lambda info, data: [data or ["key", 29400]] * len(info.container_addrs)),
        mock.patch.object(_links, "settle", lambda info: info),  # the addresses of cases are nobody's
        mock.patch.object(_command, "free_port", lambda address, wanted: wanted),
        mock.patch.object(shutil, "which", lambda name, **_: None if "nvidia" in name else f"/usr/bin/{name}"),
        mock.patch.object(_ssh, "become_daemon", recorder.daemon),
        mock.patch.object(_ssh, "wait_for", lambda addresses, port: recorder.waits.extend([a, port] for a in addresses)),
        mock.patch.object(subprocess, "Popen", recorder.popen),
        mock.patch("importlib.metadata.version", lambda name: DEEPSPEED_VERSION),
        contextlib.redirect_stderr(err),
    ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        status = module.main(case["argv"])
    lines = err.getvalue().splitlines()
    return status, lines[-1] if lines else ""


def run_launcher(case, directory):
    run_dir = directory / "run"
    write_info(run_dir, case)
    given = case.get("env_in", {"DET_RESOURCES_ID": "res-1", "SLURM_JOBID": "9"})
    env = {k: v for k, v in os.environ.items() if k not in (*WATCHED, *PORTS)}
    recorder = Recorder(run_dir)
    with mock.patch.dict(os.environ, {**env, **given, "DET_RUN_DIR": str(run_dir)}, clear=True):
        status, said = launch(case, recorder)
        environment = recorder.env if recorder.env is not None else dict(os.environ)
    expect("exit status", status, case["rc"])
    if "stderr_last" in case:
        expect("last line of stderr", said, case["stderr_last"])
    expected = [behind_pid_server(argv) for argv in case["commands"]]
    # The chief's own sshd may be started before or by the supervised command; both are there.
    expect("commands", sorted(recorder.commands), sorted(expected))
    expect("environment", {k: environment[k] for k in WATCHED if k in environment}, case["env"])
    expect("posts", recorder.posts, case.get("posts", []))
    expect("waits for sshd", recorder.waits, case.get("sshd_waits", []))
    if "hostfile" in case:
        expect("hostfile", pathlib.Path(case["env"]["DET_DEEPSPEED_HOSTFILE_PATH"]).read_text(), case["hostfile"])


# ---- programs that run as they are ----


def program_env(directory):
    """Where ``python3`` is the interpreter that runs us, and ours is the library."""
    (directory / "bin").mkdir()
    (directory / "bin" / "python3").symlink_to(sys.executable)
    path = f"{directory / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(PYTHON_DIR), "DET_RUN_DIR": str(directory / "nowhere")}


def run_wrap_rank(case, directory):
    done = subprocess.run([sys.executable, "-m", "determined.launch.wrap_rank", *case["args"]],
                          env={**program_env(directory), **case["env"]}, capture_output=True, text=True, timeout=120)
    expect("exit status", done.returncode, case["rc"])
    expect("stdout", done.stdout, case["stdout"])
    expect("stderr", done.stderr, case.get("stderr", ""))


def run_pid_server(case, directory):
    socket = str(directory / "socket")
    script = re.sub(r"\$S\b", socket, case["script"].replace("$PY", sys.executable))
    argv = ["determined.exec.pid_server", *case["opts"], socket, str(case["num_workers"]), "--", "sh", "-c", script]
    done = subprocess.run([sys.executable, "-m", *argv], env=program_env(directory), capture_output=True, text=True, timeout=120)
    if done.returncode != case["rc"]:
        raise Wrong(f"{case.get('name')}: expected exit status {case['rc']}, found {done.returncode}: {done.stderr.strip()}")


RUNNERS = {"launchers": run_launcher, "wrap_rank": run_wrap_rank, "pid_server": run_pid_server}


def main():
    run, cases = RUNNERS[sys.argv[1]], json.load(sys.stdin)
    # Cases of one allocation find the host file that the first of them has written, as its containers would.
    for allocation in {case["cluster"]["allocation_id"] for case in cases if "cluster" in case}:
        pathlib.Path(f"/tmp/hostfile-{allocation}.txt").unlink(missing_ok=True)
    for i, case in enumerate(cases):
        directory = pathlib.Path(tempfile.mkdtemp(prefix="launcher-case-"))
        before = os.getcwd()
        try:
            os.chdir(directory)
            run(case, directory)
        except Wrong as e:
            print(f"FAIL {i}: {e}", flush=True)
        except Exception as e:
            print(f"FAIL {i}: {type(e).__name__}: {e}", flush=True)
        else:
            print(f"ok {i}", flush=True)
        finally:
            os.chdir(before)
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
