"""Programs that run inside a task, each in a process of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from support.ports import free_port
from support.waiting import wait_for

from determined._secrets import masked
from determined.launch import _command
from tests.conftest import PROGRAMS, PYTHON


@pytest.fixture
def task(cluster, tmp_path):
    """A task's work directory, and a way to run a program in it."""
    workdir = tmp_path / "workdir"
    workdir.mkdir()
    env = {
        **os.environ,
        "DET_RUN_DIR": str(cluster.run_dir),
        "DET_RESOURCES_ID": "a-container",
        "PYTHONPATH": os.pathsep.join([str(PYTHON), str(PROGRAMS)]),
    }

    class Task:
        directory = workdir

        @staticmethod
        def start(*argv, **more_env):
            return subprocess.Popen(
                [sys.executable, "-m", *argv],
                cwd=workdir,
                env={**env, **more_env},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )

        @classmethod
        def run(cls, *argv, **more_env):
            process = cls.start(*argv, **more_env)
            process.out, process.err = process.communicate(timeout=600)
            return process

        @classmethod
        def launch(cls, entrypoint):
            cluster.config["entrypoint"] = entrypoint
            cluster.write(slot_ids=[0])
            return cls.run("determined.exec.launch")

    return Task


def test_launch__runs_a_string_in_a_shell(task):
    process = task.launch("echo one $((1 + 1)); exit 3")
    assert (process.out, process.returncode) == ("one 2\n", 3)


def test_launch__runs_a_list_as_it_is(task):
    process = task.launch(["echo", "$HOME", "a b"])
    assert (process.out, process.returncode) == ("$HOME a b\n", 0)


@pytest.mark.parametrize(("entrypoint", "status"), [(["no-such-program"], 127), (["/"], 126)])
def test_launch__of_a_program_that_cannot_run(task, entrypoint, status):
    process = task.launch(entrypoint)
    assert process.returncode == status and f"cannot be run (status {status})" in process.err


def test_launch__lets_python3_be_the_interpreter_that_runs_it(task):
    process = task.launch("python3 -c 'import sys; print(sys.prefix)'")
    assert process.out == sys.prefix + "\n", process.err


def test_launch__lets_python_print_at_once(task):
    assert task.launch("echo $PYTHONUNBUFFERED").out == "1\n"


def test_launch__tells_a_signal_as_a_shell_does(task):
    assert task.launch("kill -9 $$").returncode == 128 + 9


def test_launch__logs_who_runs_what(task, cluster):
    process = task.launch("true")
    line = next(line for line in process.err.splitlines() if "New trial runner" in line)
    assert "New trial runner in (container a-container) on agent an-agent: trial " in line
    assert json.loads(line[line.index("{") :]) == cluster.config["hyperparameters"]
    assert "configuration" not in process.err


def test_launch__logs_the_configuration_without_secrets_if_debug_is_asked_for(task, cluster):
    cluster.config["environment"] = {"environment_variables": {"cpu": ["WANDB_API_KEY=s3cr3t", "LANG=C"]}}
    cluster.config["debug"] = True
    process = task.launch("true")
    line = next(line for line in process.err.splitlines() if "The experiment's configuration" in line)
    assert "s3cr3t" not in process.err and "WANDB_API_KEY=****" in line and "LANG=C" in line
    assert json.loads(line[line.index("{") :])["entrypoint"] == "true"


def test_launch__tries_the_storage_out_first(task, cluster):
    assert task.launch("true").returncode == 0 and list(cluster.storage.iterdir()) == []
    cluster.config["checkpoint_storage"]["host_path"] = "/proc/nowhere"
    process = task.launch("echo must not run")
    assert (process.returncode, process.out) == (1, "") and "Checkpoint storage validation failed" in process.err


def test_launch__is_for_trials_only(task, cluster):
    (cluster.run_dir / "info" / "trial.json").unlink()
    cluster.write(task_type="COMMAND")
    process = task.run("determined.exec.launch")
    assert process.returncode == 1 and "in trials on a cluster only" in process.err


def test_launch__passes_signals_on(task, cluster):
    (task.directory / "script.py").write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))\n"
        "open('ready', 'w')\n"
        "time.sleep(60)\n"
    )
    cluster.config["entrypoint"] = [sys.executable, "script.py"]
    cluster.write()
    process = task.start("determined.exec.launch")
    wait_for("the script", (task.directory / "ready").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert process.returncode == 42


@pytest.mark.parametrize("form", ["trials:PlainTrial", "sub.model_def:PlainTrial", "sub/model_def:PlainTrial"])
def test_launch__of_a_trial_class_trains_as_configured(task, cluster, form):
    (task.directory / "sub").mkdir()
    (task.directory / "sub" / "model_def.py").write_text("from trials import PlainTrial")
    cluster.config.update(
        {
            "hyperparameters": {"global_batch_size": 4, "lr": 1},
            "min_validation_period": {"batches": 4},
            "min_checkpoint_period": {"records": 12},
            "scheduling_unit": 5,
            "checkpoint_policy": "none",
            "perform_initial_validation": True,
        }
    )
    cluster.config["searcher"]["max_length"] = {"epochs": 2}
    process = task.launch(form)
    assert process.returncode == 0, process.err
    assert [s for s, _ in cluster.master.reports("validation")] == [0, 4, 8, 10]
    assert [s for s, _ in cluster.master.reports("training")] == [3, 4, 5, 6, 8, 9, 10]
    saved = [c["metadata"]["steps_completed"] for c in cluster.master.checkpoints.values()]
    assert saved == [3, 6, 9, 10]
    assert (task.directory / "hparams.txt").read_text() == "{'global_batch_size': 4, 'lr': 1}"


def test_launch__of_a_trial_class_counts_epochs_by_records(task, cluster):
    cluster.config.update(
        records_per_epoch=8,
        hyperparameters={"global_batch_size": 4, "lr": 1},
        min_validation_period={"epochs": 2},
        min_checkpoint_period={"epochs": 1},
        checkpoint_policy="none",
    )
    cluster.config["searcher"]["max_length"] = {"epochs": 3}
    process = task.launch("trials:PlainTrial")
    assert process.returncode == 0, process.err
    assert [s for s, _ in cluster.master.reports("validation")] == [4, 6]
    assert [c["metadata"]["steps_completed"] for c in cluster.master.checkpoints.values()] == [2, 4, 6]


@pytest.mark.parametrize(
    ("entrypoint", "message"),
    [
        ("nowhere:Trial", "there is no module nowhere"),
        ("trials:Nobody", "has no attribute 'Nobody'"),
        ("trials:RECORDS", "not a subclass of PyTorchTrial"),
    ],
)
def test_launch__of_a_trial_class_that_is_none(task, entrypoint, message):
    process = task.launch(entrypoint)
    assert process.returncode == 1 and message in process.err


SHOW = "import os; print(*(os.environ[n] for n in ('WORLD_SIZE', 'RANK', 'MASTER_PORT', 'DET_CHIEF_IP')))"


@pytest.mark.parametrize("slots", [1, 2])
def test_torch_distributed__starts_a_process_for_each_slot(task, cluster, slots):
    cluster.write(slot_ids=list(range(slots)))
    port = str(free_port())
    process = task.run("determined.launch.torch_distributed", "--", "python3", "-c", SHOW, C10D_PORT=port)
    assert process.returncode == 0, process.err
    assert sorted(process.out.splitlines()) == [f"[rank={r}] {slots} {r} {port} 127.0.0.1" for r in range(slots)]


def test_torch_distributed__has_the_status_of_the_worker_where_torchrun_says_1(task, cluster):
    cluster.write(slot_ids=[0, 1])
    script = ["sh", "-c", "[ $RANK = 1 ] && exit 11; exec sleep 600"]
    process = task.run("determined.launch.torch_distributed", *script, C10D_PORT=str(free_port()))
    assert process.returncode == 11 and "worker 1 (process" in process.err, process.err


def test_torch_distributed__lets_torchrun_be_told(task, cluster):
    cluster.write(slot_ids=[0])
    process = task.run("determined.launch.torch_distributed", "--no_such_option", "--", "true")
    assert process.returncode == 2 and "unrecognized arguments: --no_such_option" in process.err


@pytest.mark.parametrize("launcher", ["autohorovod", "deepspeed", "horovod", "tensorflow", "torch_distributed"])
@pytest.mark.parametrize("word", ["-h", "--help"])
def test_launchers__explain_themselves_off_the_cluster(task, launcher, word, tmp_path):
    process = task.run(f"determined.launch.{launcher}", word, DET_RUN_DIR=str(tmp_path / "nowhere"))
    assert process.returncode == 0 and process.out.startswith("usage: "), process.err
    assert "--trial TRIAL" in process.out and "python3 -m determined.launch." in process.out


def test_torch_distributed__takes_another_port_where_somebody_has_its_own(task, cluster):
    cluster.write(slot_ids=[0])
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        taken = str(s.getsockname()[1])
        process = task.run("determined.launch.torch_distributed", "--", "python3", "-c", SHOW, C10D_PORT=taken)
    assert process.returncode == 0 and f"port {taken} of this machine is taken" in process.err, process.err
    # One that the system gives to whoever connects would do harm: a process may meet itself there.
    assert int(process.out.split()[3]) in _command.OTHER_PORTS


def test_scripts__are_told_the_network_of_their_machines(task, cluster, tmp_path):
    """Two machines whose names mean themselves only find each other by the network that the cluster knows them by."""
    cluster.config["resources"] = {"slots_per_trial": 2}
    cluster.write(slot_ids=[0], inter_node_network_interface="eth7")
    rendezvous = {"container_addrs": ["10.1.2.3", "10.1.2.4"], "container_rank": 1, "container_slot_counts": [1, 1]}
    (cluster.run_dir / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    show = "import os; print(os.environ.get('GLOO_SOCKET_IFNAME'), os.environ.get('NCCL_SOCKET_IFNAME'))"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "supervisor"))
    listening.listen()
    command = ["determined.exec.pid_client", str(tmp_path / "supervisor"), "--", "python3", "-c", show]
    process = task.run(*command, NCCL_SOCKET_IFNAME="mine")
    assert process.out == "eth7 mine\n", process.err


def test_torch_distributed__without_slots_says_so(task, cluster):
    cluster.write(slot_ids=[])
    process = task.run("determined.launch.torch_distributed", "true")
    assert process.returncode == 1 and "this task has none" in process.err


def test_torch_distributed__gives_processes_of_all_machines_one_key(task, cluster, tmp_path):
    """Two containers side by side, each with its own run directory."""
    show = "import os; print(os.environ['DET_TRIAL_KEY'], os.environ['WORLD_SIZE'])"
    containers, port = [], str(free_port())
    for rank in range(2):
        directory = tmp_path / f"run{rank}"
        shutil.copytree(cluster.run_dir, directory)
        rendezvous = {"container_addrs": ["127.0.0.1"] * 2, "container_rank": rank, "container_slot_counts": [1, 1]}
        (directory / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
        start = ["determined.launch.torch_distributed", "python3", "-c", show]
        containers.append(task.start(*start, DET_RUN_DIR=str(directory), C10D_PORT=port))
    outputs = [c.communicate(timeout=600) for c in containers]
    assert [c.returncode for c in containers] == [0, 0], outputs
    keys = [out.split()[1] for out, _ in outputs]
    assert keys[0] == keys[1] and len(keys[0]) == 64
    assert [out.split()[::2] for out, _ in outputs] == [["[rank=0]", "2"], ["[rank=1]", "2"]]


def test_torch_distributed__off_the_cluster_says_so(task, cluster, tmp_path):
    process = task.run("determined.launch.torch_distributed", "true", DET_RUN_DIR=str(tmp_path / "nowhere"))
    assert process.returncode == 1 and "in trials on a cluster only" in process.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "empty script is not allowed"),
        (["--"], "empty script is not allowed"),
        (["--trial", "a:B", "x"], "extra arguments to --trial: ['x']"),
        (["--trial"], "expected one argument"),
    ],
)
def test_torch_distributed__with_a_wrong_command_line(task, args, message):
    process = task.run("determined.launch.torch_distributed", *args)
    assert process.returncode == 1 and process.err.startswith("usage: torch_distributed") and message in process.err


PLACES = """
import os, signal, sys, time

names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE")
print("place", *(os.environ[n] for n in names), flush=True)
if os.environ.get("WAITING"):
    open(os.environ["RANK"], "w").close()
    signal.pause()
if os.environ["RANK"] == "3":
    os._exit(11)
time.sleep(600)
"""


def test_tensorflow__starts_a_trial_class_in_each_slot_and_has_the_status_of_the_one_that_fails(task, cluster):
    (task.directory / "model_def.py").write_text(PLACES)
    cluster.write(slot_ids=[0, 1])
    rendezvous = {"container_addrs": ["127.0.0.1"] * 2, "container_rank": 1, "container_slot_counts": [2, 2]}
    (cluster.run_dir / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    process = task.run("determined.launch.tensorflow", "--trial", "model_def:T", DET_TRIAL_KEY="k")
    assert process.returncode == 11 and "worker 3 (process" in process.err, process.err
    said = sorted(line for line in process.out.splitlines() if "place" in line)
    assert said == ["[rank=2] place 2 0 4 2 1 2", "[rank=3] place 3 1 4 2 1 2"], process.out


def test_tensorflow__passes_a_signal_on_to_every_process_of_a_trial_class(task, cluster):
    (task.directory / "model_def.py").write_text(PLACES)
    cluster.write(slot_ids=[0, 1])
    process = task.start("determined.launch.tensorflow", "--trial", "model_def:T", WAITING="1")
    wait_for("both ranks", lambda: process.poll() is not None or all((task.directory / rank).exists() for rank in "01"))
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 128 + signal.SIGTERM, err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "empty script is not allowed"),
        (["--trial", "a:B", "x"], "extra arguments to --trial: ['x']"),
        (["--trial", "a:B"], "a process for each slot, and this task has none"),
    ],
)
def test_tensorflow__with_a_wrong_command_line(task, cluster, args, message):
    cluster.write(slot_ids=[])
    process = task.run("determined.launch.tensorflow", *args)
    assert process.returncode == 1 and message in process.err, process.err


def test_masked__hides_what_is_secret_wherever_it_is():
    config = {
        "checkpoint_storage": {
            "type": "s3",
            "bucket": "b",
            "access_key": "AK",
            "secret_key": "SK",
            "endpoint_url": None,
        },
        "environment": {"registry_auth": {"username": "u", "password": "p"}, "image": {"cpu": "x=y"}},
    }
    assert masked(config) == {
        "checkpoint_storage": {
            "type": "s3",
            "bucket": "b",
            "access_key": "********",
            "secret_key": "********",
            "endpoint_url": None,
        },
        "environment": {"registry_auth": {"username": "u", "password": "********"}, "image": {"cpu": "x=y"}},
    }


@pytest.mark.parametrize("horovod", [True, False])
def test_a_trial_class_of_several_slots__goes_by_horovod_where_there_is_one(task, cluster, horovod):
    (task.directory / "model_def.py").touch()
    if horovod:
        (task.directory / "horovod").mkdir()
        (task.directory / "horovod" / "__init__.py").touch()
    cluster.config["entrypoint"] = "model_def:Nobody"
    cluster.write(slot_ids=[0, 1])
    rendezvous = {"container_addrs": ["127.0.0.1"], "container_rank": 0, "container_slot_counts": [2]}
    (cluster.run_dir / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    process = task.run("determined.exec.launch")
    launcher = "determined.launch.horovod --autohorovod" if horovod else "determined.launch.torch_distributed"
    assert f"-m {launcher} --trial model_def:Nobody" in process.err, process.err
    # There is no horovodrun, and no such class.
    assert process.returncode == (127 if horovod else 1)


TORCHRUN_CYCLES = int(os.environ.get("DET_SOAK_TORCHRUN") or 2)
WAIT_OR_FAIL = """
import os, pathlib, signal, sys
pathlib.Path(os.environ["RANK"]).write_text(str(os.getpid()))
signal.pause()
"""


@pytest.mark.parametrize("cycle", range(TORCHRUN_CYCLES))
def test_a_worker_of_torchrun__that_is_killed_or_stopped_ends_all(task, cluster, cycle):
    cluster.write(slot_ids=[0, 1])
    start = ["determined.launch.torch_distributed", "python3", "-c", WAIT_OR_FAIL]
    process = task.start(*start, C10D_PORT=str(free_port()))
    files = [task.directory / "0", task.directory / "1"]
    wait_for("both workers", lambda: process.poll() is not None or all(f.exists() and f.read_text() for f in files))
    assert process.poll() is None
    pids = [int(f.read_text()) for f in files]
    os.kill(pids[cycle // 2 % 2], [signal.SIGKILL, signal.SIGSTOP][cycle % 2])
    _, err = process.communicate(timeout=600)
    assert process.returncode == [137, 147][cycle % 2], err
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
