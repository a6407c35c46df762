"""The programs as services: what they tell systemd, how they log to its journal, and the units that `make install` brings."""
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from support.cluster import ROOT, wait_for


class Manager:
    """The socket of a service manager, and what it has heard. It listens all the time: what finds no room is not sent again."""

    def __init__(self, path):
        self.path, self.heard = str(path), []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            self.heard.append(self.socket.recv(4096).decode())

    def wait(self, message):
        wait_for(message, lambda: any(m.startswith(message) for m in list(self.heard)))


@pytest.fixture
def manager(tmp_path):
    return Manager(tmp_path / "notify")


def test_the_master_tells_ready_reload_and_stop_and_feeds_its_watchdog(new_cluster, manager):
    cluster = new_cluster(env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"})
    cluster.start_master()
    manager.wait("READY=1")
    manager.wait(f"STATUS=Serving HTTP on port {cluster.port}")
    manager.wait("WATCHDOG=1")
    cluster.master.send_signal(signal.SIGHUP)
    manager.wait("RELOADING=1\nMONOTONIC_USEC=")
    wait_for("the end of the reload", lambda: manager.heard.count("READY=1") == 2)
    assert cluster.stop_master() == 0
    manager.wait("STOPPING=1")


def test_the_agent_tells_whether_it_has_a_master_and_its_tasks_inherit_nothing(new_cluster, manager):
    cluster = new_cluster()
    cluster.start_master()
    cluster.env = {**cluster.env, "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"}
    cluster.start_agent()
    cluster.login()
    manager.wait("READY=1")
    manager.wait("STATUS=Connected to 127.0.0.1")
    manager.wait("WATCHDOG=1")
    experiment = cluster.create(entrypoint="env")
    cluster.wait_experiment(experiment)
    log = cluster.trial_log(cluster.trial_ids(experiment)[0])
    assert "DET_TRIAL_ID" in log and "NOTIFY_SOCKET" not in log and "WATCHDOG" not in log
    cluster.stop_master()
    manager.wait("STATUS=Waiting for the master")
    assert cluster.stop_agent() == 0
    manager.wait("STOPPING=1")


def test_lines_for_the_journal_begin_with_their_priority(new_cluster):
    cluster = new_cluster()
    with open(cluster.dir / "master.log", "ab") as log:
        found = os.fstat(log.fileno())
    cluster.env = {**cluster.env, "JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
    cluster.start_master()
    lines = cluster.master_log().splitlines()
    assert lines and all(re.match(r"<[2-7]>(trace|debug|info|warning|error|fatal) [a-z_.]+", line) for line in lines), lines
    assert any(line.startswith("<6>info master.ready ") for line in lines)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """`make install` into a directory that stands for the machine's root."""
    root = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", ROOT / "build", "--no-rebuild", "--quiet", "--destdir", root], check=True)
    units = [p for p in root.rglob("*.service")]
    assert sorted(p.name for p in units) == ["determined-agent.service", "determined-master.service"]
    return root, {p.stem: p for p in units}


def test_units_name_programs_that_are_installed_and_keep_tasks_alive(installed):
    root, units = installed
    for unit in units.values():
        [program] = re.findall(r"^ExecStart=(\S+)", unit.read_text(), re.M)
        assert os.access(root / program.lstrip("/"), os.X_OK)
    assert re.search(r"^KillMode=process$", units["determined-agent"].read_text(), re.M)
    [users] = root.rglob("sysusers.d/determined.conf")
    assert re.findall(r"^u (\S+)", users.read_text(), re.M) == ["determined"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze (Debian package systemd)")
def test_systemd_understands_the_units_and_the_master_is_shut_in(installed, tmp_path):
    root, units = installed
    for name, unit in units.items():
        copy = tmp_path / unit.name
        copy.write_text(re.sub(r"^(ExecStart=)", rf"\1{root}", unit.read_text(), flags=re.M))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, timeout=60)
        told = [line for line in done.stderr.splitlines() if unit.name in line]
        assert not told, told
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", units["determined-master"]],
                          capture_output=True, text=True, timeout=60)
    level = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout).group(1))
    assert level < 2.0, done.stdout


def test_every_directive_is_in_its_section(installed):
    """What systemd would only warn of, where it is not at hand to do so."""
    sections = {"Unit": {"Description", "Documentation", "Wants", "After", "StartLimitIntervalSec", "StartLimitBurst"},
                "Install": {"WantedBy"}}
    for unit in installed[1].values():
        section = None
        for line in unit.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#"):
                key = line.split("=")[0]
                belongs = [s for s, keys in sections.items() if key in keys] or ["Service"]
                assert section == belongs[0], f"{unit.name}: {key} in [{section}]"
