"""Launchers that go from container to container by ssh, with a real sshd; two containers on this machine."""

import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from support.ports import free_port

import determined as det
from determined import _network
from determined.launch import _command, horovod
from tests.conftest import PROGRAMS, PYTHON

ADDRESSES = ["127.0.0.1", "127.0.0.2"]

pytestmark = pytest.mark.skipif(not os.access("/usr/sbin/sshd", os.X_OK), reason="there is no /usr/sbin/sshd here")

SHOW = """
import os
names = [os.path.basename(path) for path in (os.getcwd(), os.environ["DET_RUN_DIR"])]
print(os.environ["DET_CHIEF_IP"], os.environ["DET_AGENT_ID"], *names, len(os.environ["DET_TRIAL_KEY"]))
"""


class Containers:
    """Two, each with its run directory, its work directory and its environment."""

    def __init__(self, cluster, directory):
        self.directory = directory
        tools = directory / "tools"
        tools.mkdir()
        for name in ("horovodrun", "deepspeed", "pdsh"):
            (tools / name).write_text(f"#!{sys.executable}\n" + (PROGRAMS / "launchers_of_others.py").read_text())
            (tools / name).chmod(0o755)
        metadata = tools / "deepspeed-0.19.8.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: deepspeed\nVersion: 0.19.8\n")
        cluster.write(slot_ids=[0])
        self.ports = {"DTRAIN_SSH_PORT": str(free_port()), "C10D_PORT": str(free_port())}
        for rank in range(2):
            shutil.copytree(cluster.run_dir, directory / f"run{rank}")
            rendezvous = {"container_addrs": ADDRESSES, "container_rank": rank, "container_slot_counts": [1, 1]}
            (directory / f"run{rank}" / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
            (directory / f"work{rank}").mkdir()

    def start(self, rank, *argv, **more_env):
        tools = self.directory / "tools"
        env = {
            **os.environ,
            **self.ports,
            "DET_RUN_DIR": str(self.directory / f"run{rank}"),
            "DET_AGENT_ID": f"agent{rank}",
            "DET_RESOURCES_ID": f"resources{rank}",
            "PATH": os.pathsep.join([str(tools), os.path.dirname(sys.executable), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(PYTHON), str(tools)]),
            **more_env,
        }
        argv = [sys.executable, "-m", *argv]
        work = self.directory / f"work{rank}"
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)

    def run(self, *argv):
        """Statuses and outputs; the other container is told to go when the chief's has, as the master does."""
        other, chief = self.start(1, *argv), self.start(0, *argv)
        chief_output = chief.communicate(timeout=600)
        other.send_signal(signal.SIGTERM)
        other_output = other.communicate(timeout=600)
        return (chief.returncode, other.returncode), (chief_output, other_output)


@pytest.fixture
def containers(cluster, tmp_path):
    return Containers(cluster, tmp_path)


@pytest.mark.parametrize("launcher", ["horovod", "deepspeed"])
def test_processes__start_on_every_machine_in_their_own_container(containers, cluster, launcher):
    (containers.directory / "show.py").write_text(SHOW)
    (status, _), outputs = containers.run(
        f"determined.launch.{launcher}", "python3", str(containers.directory / "show.py")
    )
    assert status == 0, outputs
    (out, _), _ = outputs
    assert sorted(out.splitlines()) == [
        "[rank=0] 127.0.0.1 agent0 work0 run0 64",
        "[rank=1] 127.0.0.1 agent1 work1 run1 64",
    ], outputs
    (daemon,) = [r.path for r in cluster.master.requests if r.path.endswith("/daemon")]
    assert daemon.endswith("/resources/resources1/daemon")


@pytest.mark.parametrize("launcher", ["horovod", "deepspeed"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_worker_that_fails__ends_both_containers(containers, launcher, rank):
    variable = {"horovod": "HOROVOD_RANK", "deepspeed": "RANK"}[launcher]
    script = f"[ ${variable} = {rank} ] && exit 9; exec sleep 600"
    other, chief = (containers.start(r, f"determined.launch.{launcher}", "sh", "-c", script) for r in (1, 0))
    first = [chief, other][rank]
    outputs = first.communicate(timeout=600)
    assert first.returncode == 9, outputs
    # What the master does with the rest of a trial of which one container has failed.
    for container in (chief, other):
        container.terminate()
        container.communicate(timeout=600)
    assert chief.returncode != 0


def test_an_sshd_that_does_not_come__is_named(containers, cluster, tmp_path):
    containers.ports["DTRAIN_SSH_PORT"] = str(free_port())
    (tmp_path / "run0" / "ssh").mkdir()
    (tmp_path / "run0" / "ssh" / "sshd_config").touch()
    code = (
        "import sys; from determined.launch import _command, _ssh, horovod; _ssh.PEER_PATIENCE_S = 0.5;"
        "_command.among_others = lambda task: task;"  # the other container's launcher would answer; there is none
        "sys.exit(horovod.main(['true']))"
    )
    (tmp_path / "tools" / "impatient.py").write_text(code)
    process = containers.start(0, "impatient")
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1 and "no sshd answers at 127.0.0.2 port" in err


def test_a_host_file_of_somebody_else__is_refused(monkeypatch, tmp_path):
    from determined.launch import _command, deepspeed

    class Task:
        class info:  # noqa: N801
            allocation_id = f"test-{tmp_path.name}-{os.getpid()}"
            container_addrs = ["a"]
            container_slot_counts = [1]

    path = pathlib.Path(deepspeed.write_host_file(Task))
    try:
        assert path.read_text() == "a slots=1\n"
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        with pytest.raises(_command.Refusal, match="belongs to somebody else"):
            deepspeed.write_host_file(Task)
    finally:
        path.unlink()


def test_deepspeed__that_is_not_installed_is_said_so(containers):
    shutil.rmtree(containers.directory / "tools" / "deepspeed-0.19.8.dist-info")
    process = containers.start(0, "determined.launch.deepspeed", "true")
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1 and "DeepSpeed is not installed" in err


def test_deepspeed__without_pdsh_is_said_so(containers):
    (containers.directory / "tools" / "pdsh").unlink()
    without = [d for d in os.environ["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(d, "pdsh"))]
    process = containers.start(0, "determined.launch.deepspeed", "true", PATH=os.pathsep.join(without))
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1 and "install the package pdsh" in err


def test_deepspeed__knows_machines_by_their_addresses_only(containers):
    for rank in range(2):
        rendezvous = {"container_addrs": ["127.0.0.1"] * 2, "container_rank": rank, "container_slot_counts": [1, 1]}
        (containers.directory / f"run{rank}" / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    process = containers.start(0, "determined.launch.deepspeed", "true")
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1 and "two containers on the machine 127.0.0.1" in err


def test_trials_of_one_machine__get_ports_of_their_own(monkeypatch):
    from determined.launch import deepspeed

    class Task:
        nodes = 1
        chief_ip = "10.0.0.1"

    monkeypatch.setenv("C10D_PORT", "29403")
    assert "--master_port 29503" in " ".join(deepspeed.command(Task, (0, 9), [], []))
    monkeypatch.delenv("C10D_PORT")
    assert "--master_port" not in deepspeed.command(Task, (0, 9), [], [])


def test_deepspeed__takes_another_port_where_somebody_has_its_own(monkeypatch):
    from determined.launch import deepspeed

    class Task:
        nodes = 1
        chief_ip = "10.0.0.1"

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        taken = s.getsockname()[1]
        monkeypatch.setenv("C10D_PORT", str(taken - deepspeed.MASTER_PORT + _command.C10D_PORT))
        words = deepspeed.command(Task, (0, 9), [], [])
    assert int(words[words.index("--master_port") + 1]) in _command.OTHER_PORTS


@pytest.mark.parametrize(
    ("addresses", "named", "interface"),
    [
        (["127.0.0.1", "10.0.0.2"], None, "lo"),
        (["127.0.0.1", "10.0.0.2"], "ib0", "ib0"),
        (["192.0.2.77", "10.0.0.2"], None, None),  # as in a container whose address is not its own
        (["127.0.0.1"], "ib0", None),
    ],
)
def test_the_network_of_the_machines__is_that_of_this_ones_address(cluster, addresses, named, interface):
    cluster.write(inter_node_network_interface=named)
    rendezvous = {"container_addrs": addresses, "container_rank": 0, "container_slot_counts": [1] * len(addresses)}
    (cluster.run_dir / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    info = det.get_cluster_info()
    assert _network.interface(info) == interface

    class Task:
        nodes, debug, config = len(addresses), False, det.ExperimentConfig({"optimizations": {}})

    Task.info = info
    words = horovod.horovodrun(Task, [], ["worker"])
    told = words[words.index("--network-interface") + 1] if "--network-interface" in words else None
    assert told == interface


@pytest.mark.parametrize("installed", [True, False])
def test_horovodrun__is_spared_a_double_dash_that_it_would_run(monkeypatch, installed):
    class Config(dict):
        def get_optimizations_config(self):
            return {"auto_tune_tensor_fusion": True}

    class Task:
        nodes, debug, config = 1, False, Config()

        class info:  # noqa: N801
            container_addrs, container_slot_counts = ["10.0.0.1"], [2]

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if installed else None)
    words = horovod.horovodrun(Task, ["--verbose"], ["worker"])
    assert words[-4 - (not installed) :] == ["--verbose", *([] if installed else ["--"]), "python3", "-m", "worker"]
    assert "--autotune" in words and "--fusion-threshold-mb" not in words


@pytest.mark.parametrize(("variable", "path"), [(None, "/tmp/autotune_log.csv"), ("/t/own", "/t/own/autotune_log.csv")])
def test_the_log_of_horovods_autotune__lies_in_the_tasks_own_tmp(monkeypatch, variable, path):
    monkeypatch.delenv("TMPDIR", raising=False)
    if variable:
        monkeypatch.setenv("TMPDIR", variable)

    class Task:
        class config:  # noqa: N801
            get_optimizations_config = staticmethod(lambda: {"auto_tune_tensor_fusion": True})

    words = horovod._fusion(Task)
    assert words[words.index("--autotune-log-file") + 1] == path
