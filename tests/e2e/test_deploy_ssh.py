"""det deploy ssh: agents on machines that are network namespaces, each with a stock sshd."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from support.cluster import BUILD, ROOT, Cluster, wait_for
from support.det import det, run_det
from support.machines import machines, need_namespaces
from support.processes import alive

SSHD = "/usr/sbin/sshd"


@pytest.fixture(scope="module")
def place():
    """Agents' directories lie in it, through which the users that tasks run as have to pass."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


@pytest.fixture(scope="module")
def hosts(place):
    need_namespaces()
    if not os.path.exists(SSHD) or not shutil.which("ssh-keygen"):
        pytest.skip("OpenSSH is not installed (Debian's packages openssh-server and openssh-client)")
    os.makedirs("/run/sshd", exist_ok=True)
    key = place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (place / "sshd_config").write_text(f"HostKey {key}\nAuthorizedKeysFile {key}.pub\nPermitRootLogin prohibit-password\nStrictModes no\n"
                                       "UsePAM no\nPidFile none\n")
    with machines(2) as made:
        (place / "ssh_config").write_text("".join(f"Host node{i}\n  HostName {a}\n" for i, a in enumerate(made.addresses)) + (
            f"Host *\n  User root\n  IdentityFile {key}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"))
        started = [subprocess.Popen([*made.within(i), SSHD, "-D", "-f", place / "sshd_config"]) for i in range(2)]
        yield made
        for process in started:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def cluster(hosts, tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("ssh")) as c:
        c.start_master(bind_host="0.0.0.0")
        c.login()
        yield c


def words(place, *more):
    return ["deploy", "ssh", "--ssh-config", place / "ssh_config", "--directory", place / "%h", *more]


def pid_of(place, node):
    return int((place / node / "agent.pid").read_text())


def test_agents_are_installed_started_replaced_and_stopped(cluster, hosts, place):
    up = words(place, "--master-host", hosts.master, "--runtime", "process", "node0", "root@node1")
    assert det(cluster, *up, user="admin") == "Agent 'node0' is up.\nAgent 'node1' is up.\n"
    agents = {a["id"]: a for a in cluster.get("/api/v1/agents").json["agents"]}
    assert sorted(agents) == ["node0", "node1"]
    assert (place / "node0" / "token").stat().st_mode & 0o777 == 0o600
    assert "from there" in det(cluster, "command", "run", "echo", "from there")
    first = pid_of(place, "node0")
    assert det(cluster, *up, user="admin") == "Agent 'node0' is up.\nAgent 'node1' is up.\n"
    assert pid_of(place, "node0") != first and not alive(first)
    pids = [pid_of(place, f"node{i}") for i in (0, 1)]
    assert det(cluster, *words(place, "--down", "node0", "node1")) == "Agent 'node0' is down.\nAgent 'node1' is down.\n"
    assert not any(alive(pid) for pid in pids)


def log_of(cluster, task):
    return "".join(line["result"]["log"] for line in cluster.get(f"/api/v1/tasks/{task}/logs").lines)


def version_of(place, node):
    """The directory of the programs that the host's agent runs from."""
    return pathlib.Path(os.readlink(f"/proc/{pid_of(place, node)}/exe")).parent


def test_programs_are_replaced_while_a_task_runs_from_the_old_ones(cluster, hosts, place, tmp_path):
    """Another version is made of the same programs by one more file in the library."""
    up = words(place, "--master-host", hosts.master, "--runtime", "process", "node0")
    det(cluster, *up, user="admin")
    old = version_of(place, "node0")
    assert old.parent == place / "node0/versions" and os.path.realpath(place / "node0/programs") == str(old)
    seen_by_tasks = pathlib.Path(tempfile.mkdtemp(dir="/var/tmp"))  # a task has its own /tmp
    seen_by_tasks.chmod(0o755)
    go_on = seen_by_tasks / "go-on"
    script = ("import pathlib, sys, time; print('begun', flush=True)\n"
              f"while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.05)\n"
              "import determined.core; print('library', determined.__file__, flush=True)")
    task = cluster.post("/api/v1/commands", {"config": {"entrypoint": ["python3", "-c", script]}}).json["command"]["id"]
    try:
        wait_for("the task", lambda: "begun" in log_of(cluster, task))
        programs = other_version(tmp_path)
        det(cluster, *up, user="admin", program=programs / "det")
        new = version_of(place, "node0")
        assert new != old and (new / "determined/another_version.py").exists()
        assert sorted(p.name for p in old.parent.iterdir()) == sorted([old.name, new.name]), "the task's version stays, and nothing else is left"
    finally:
        go_on.touch()
    wait_for("the task's end", lambda: "library " in log_of(cluster, task))
    shutil.rmtree(seen_by_tasks)
    assert f"library {old}/determined/" in log_of(cluster, task)
    wait_for("the supervisor's end", lambda: not any(str(old) in p for p in programs_that_run()))
    det(cluster, *up, user="admin", program=programs / "det")
    assert version_of(place, "node0") == new, "the same programs are the same version"
    assert [p.name for p in old.parent.iterdir()] == [new.name]
    # what an earlier det has left is a directory in the place of the link, and a file that somebody has changed
    (place / "node0/programs").unlink()
    shutil.copytree(new, place / "node0/programs")
    (new / "determined/another_version.py").write_text("spoilt")
    det(cluster, *up, user="admin", program=programs / "det")
    assert version_of(place, "node0") == new and (place / "node0/programs").is_symlink()
    assert (new / "determined/another_version.py").read_text() == "" and [p.name for p in old.parent.iterdir()] == [new.name]
    det(cluster, *words(place, "--down", "node0"))


def other_version(directory):
    """A copy of det and of what it deploys, with a library that differs."""
    (directory / "bin").mkdir()
    for name in ("det", "determined-agent", "determined-task"):
        shutil.copy2(BUILD / name, directory / "bin" / name)
    library = pathlib.Path(directory / "python" / "determined")
    shutil.copytree(ROOT / "python" / "determined", library)
    (library / "another_version.py").write_text("")
    return directory / "bin"


def programs_that_run():
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(entry))
    return found


def test_a_host_that_fails_is_named_and_the_others_are_done(cluster, hosts, place):
    done = run_det(cluster, *words(place, "--master-host", hosts.master, "--runtime", "process", "no-such-host.invalid", "node1"), user="admin")
    assert done.returncode != 0 and "failed on no-such-host.invalid" in done.stderr and done.stdout == "Agent 'node1' is up.\n"
    os.kill(pid_of(place, "node1"), signal.SIGTERM)


@pytest.mark.parametrize("more, said", [
    (["-oProxyCommand=x"], "-oProxyCommand"),
    (["--", "-oProxyCommand=x"], "is no name of a host"),
    (["node;id"], "is no name of a host"),
    (["node1"], "--master-host"),
    (["--runtime", "rkt", "node1"], "rkt"),
])
def test_what_makes_no_sense_is_refused_before_anything_is_done(cluster, place, more, said):
    done = run_det(cluster, *words(place, *more), user="admin", DET_MASTER=cluster.url.replace("localhost", "127.0.0.1"))
    assert done.returncode != 0 and said in done.stderr, done.stderr
    assert not (place / "node;id").exists()
