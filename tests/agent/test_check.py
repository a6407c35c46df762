"""Tests `determined-agent check`: what it finds wrong with a machine, and what it says to do about it."""
import os
import pathlib
import socket
import struct
import subprocess
import tempfile

import pytest
from support.cluster import BUILD, SANITIZED, Cluster
from support.fake_engine import INFO, FakeEngine
from support.namespaces import NO_USER_NAMESPACES, NOBODY, need
from support.ports import free_port

SHIM = BUILD / "tests/support/clock_shim.so"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("check")) as c:
        c.start_master()
        yield c


@pytest.fixture
def check(cluster, tmp_path):
    """Returns a function that runs the check: check(option="value", env={…}) → (status, lines by the thing that was looked at)."""

    def run(env=None, prefix=(), **options):
        options = {"master_host": "127.0.0.1", "master_port": cluster.port, "data_dir": tmp_path / "agent", "container_runtime": "process",
                   "slot_type": "cpu", "token": "some-token", **options}
        words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items() if value is not None]
        plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        done = subprocess.run([*prefix, BUILD / "determined-agent", "check", *words], capture_output=True, text=True, timeout=60, check=False,
                              env={**plain, **(env or {})})
        found, last = {}, None
        for line in done.stdout.splitlines():
            if line.startswith(" "):
                found[last] += " " + line.strip()
            else:
                verdict, last = line.split()[:2]
                found[last] = line
        assert (done.returncode == 0) == (not any(line.startswith("failure") for line in found.values())), done.stdout
        return done.returncode, found

    return run


def test_a_machine_that_is_well_gets_status_0(check):
    status, found = check()
    assert status == 0, found
    assert {"name", "master", "version", "clock", "credentials", "proxy", "disk", "slots", "python"} <= found.keys()
    for thing in ("name", "master", "version", "clock", "credentials", "proxy", "slots", "python"):
        assert found[thing].startswith("ok"), found[thing]


@pytest.mark.parametrize("make, words", [
    (lambda path: path.mkdir(), "run the check as the agent's user"),  # a file that the user may not read gives the same kind of error
    (lambda path: path.write_text("garbage"), "if the master refuses it, let it join again: det agent revoke-key, then accept"),
])
def test_a_certificate_that_cannot_be_read_is_told_from_one_that_is_damaged(check, tmp_path, make, words):
    (tmp_path / "agent").mkdir()
    make(tmp_path / "agent/agent.pem")
    _, found = check(security_tls_enabled="true")
    assert found["certificate"].startswith("warning") and words in found["certificate"], found


@pytest.mark.skipif(SANITIZED, reason="a sanitizer's library must be the first that is loaded")
@pytest.mark.parametrize("by, verdict, words", [(-60, "warning", "s behind the master's"), (4000, "failure", "ahead of the master's")])
def test_a_clock_that_is_wrong_is_named_with_its_error(check, tmp_path, by, verdict, words):
    (tmp_path / "clock").write_bytes(struct.pack("=q", by))
    status, found = check(env={"LD_PRELOAD": str(SHIM), "DET_TEST_CLOCK": str(tmp_path / "clock")})
    assert found["clock"].startswith(verdict) and "timedatectl set-ntp true" in found["clock"]
    assert words in found["clock"]
    assert (status != 0) == (verdict == "failure")


def test_a_master_that_is_not_there_or_not_one(check):
    status, found = check(master_port=free_port())
    assert status != 0 and "connection refused" in found["master"] and "firewalls" in found["master"]
    assert "clock" not in found
    status, found = check(master_host="no-such-host.invalid")
    assert status != 0 and "has no address" in found["name"] and "/etc/resolv.conf" in found["name"]


def test_a_proxy_that_does_not_answer_and_a_master_that_is_reached_through_it(check):
    status, found = check(https_proxy=f"http://user:secret@127.0.0.1:{free_port()}")
    assert status != 0 and "refused" in found["proxy"] and "secret" not in str(found)
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"127.0.0.1:{proxy.getsockname()[1]}"
        status, found = check(http_proxy=address, container_master_host="10.1.2.3", no_proxy="10.9.0.0/16,127.0.0.1")
        assert found["proxy"].startswith("ok") and "add 10.1.2.3 to no_proxy" in found["no_proxy"] and status == 0, found
        status, found = check(http_proxy=address, container_master_host="10.1.2.3", no_proxy="10.0.0.0/8,127.0.0.1")
        assert "no_proxy" not in found


def test_an_engine_that_is_asked_for_and_does_not_listen(check, tmp_path):
    status, found = check(container_runtime="docker", container_socket=tmp_path / "docker.sock")
    assert status != 0 and "systemctl start docker" in found["containers"] and str(tmp_path / "docker.sock") in found["containers"]
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(tmp_path / "docker.sock"))
        s.listen()
        assert check(container_runtime="docker", container_socket=tmp_path / "docker.sock")[0] == 0


def test_an_engine_that_has_no_proxy_though_the_agent_has_one(check, tmp_path):
    with FakeEngine(tmp_path / "docker.sock") as engine, socket.create_server(("127.0.0.1", 0)) as proxy:
        keys = {"container_runtime": "docker", "container_socket": engine.path, "no_proxy": "127.0.0.1"}
        assert "pulls" not in check(**keys)[1]
        keys["https_proxy"] = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        status, found = check(**keys)
        assert status == 0 and "docker pulls images without a proxy" in found["pulls"] and "systemctl edit docker" in found["pulls"], found
        engine.answer("GET", "/info", 200, {**INFO, "HttpsProxy": "http://xxxxx:xxxxx@proxy:3128"})
        assert "pulls" not in check(**keys)[1]


def test_apptainer_is_looked_for_on_path(check, tmp_path):
    status, found = check(container_runtime="apptainer", env={"PATH": str(tmp_path)})
    assert status != 0 and f"no program apptainer on PATH ({tmp_path})" in found["containers"] and "install it" in found["containers"]
    (tmp_path / "apptainer").write_text("#!/bin/sh\n")
    (tmp_path / "apptainer").chmod(0o755)
    _, found = check(container_runtime="apptainer", env={"PATH": str(tmp_path)})
    assert found["containers"].startswith("ok") and str(tmp_path / "apptainer") in found["containers"]


def test_apptainer_needs_user_namespaces_or_a_setuid_starter(check):
    need("nobody")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        program = pathlib.Path(directory, "apptainer")
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        keys = {"container_runtime": "apptainer", "data_dir": f"{directory}/agent", "env": {"PATH": f"{directory}:{os.environ['PATH']}"}}
        status, found = check(prefix=NO_USER_NAMESPACES, **keys)
        assert status != 0 and "sysctl -w user.max_user_namespaces" in found["containers"], found
        assert "container_setuid_starter: true" in found["containers"], found
        assert check(prefix=NO_USER_NAMESPACES, container_setuid_starter="true", **keys)[1]["containers"].startswith("ok")
        assert check(prefix=NOBODY, **keys)[1]["containers"].startswith("ok")


def test_a_machine_without_python_or_driver(check, tmp_path):
    status, found = check(env={"PATH": str(tmp_path)})
    assert status != 0 and "no python3" in found["python"] and "install python3" in found["python"]
    if not list(pathlib.Path("/dev").glob("nvidia*")):
        status, found = check(slot_type="cuda")
        assert status != 0 and "install the driver" in found["slots"]


def test_a_data_directory_that_cannot_be_written(check, tmp_path):
    (tmp_path / "file").write_text("")
    status, found = check(data_dir=tmp_path / "file" / "agent")
    assert status != 0 and "set data_dir and run_root to another directory" in found["disk"]


def test_an_agent_without_a_token_is_told_the_ways_to_join(check):
    status, found = check(token=None)
    assert status == 0 and found["credentials"].startswith("warning")
    assert "det agent join-token create" in found["credentials"] and "det agent accept" in found["credentials"]


def test_the_check_changes_nothing(check, tmp_path):
    check()
    assert not (tmp_path / "agent").exists()
