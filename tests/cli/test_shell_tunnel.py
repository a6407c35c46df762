"""ssh, scp and rsync of this machine through `det shell tunnel`, to an sshd of this machine. The fake master carries the bytes."""
import hashlib
import os
import pwd
import shutil
import socket
import subprocess
import threading

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.fake_master.launched import ID
from support.ports import free_port
from support.proxies import Proxy
from support.waiting import wait_for

SSHD = "/usr/sbin/sshd"


def accepts(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def shell(det, master, tmp_path):
    """An sshd that stands for that of the task; the fake master leads to it."""
    if not os.access(SSHD, os.X_OK) or not shutil.which("ssh"):
        pytest.skip("OpenSSH's sshd and ssh are not installed")
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    home = tmp_path / "home"
    home.mkdir()
    det.environment["HOME"] = str(home)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    port = free_port()
    (tmp_path / "sshd_config").write_text(f"""Port {port}
ListenAddress 127.0.0.1
HostKey {tmp_path}/host
AuthorizedKeysFile {tmp_path}/user.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
Subsystem sftp internal-sftp
""")
    account = pwd.getpwuid(os.geteuid()).pw_name
    master.every_launched["shells"][0].update(privateKey=(tmp_path / "user").read_text(), agentUserGroup={"user": account})
    master.shell_port = port
    with open(tmp_path / "sshd.log", "wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "sshd_config"], stdout=log, stderr=log)
    wait_for("sshd", lambda: accepts(port) or server.poll() is not None)
    assert server.poll() is None, (tmp_path / "sshd.log").read_text()
    yield det
    server.terminate()
    server.wait()


@pytest.fixture
def host(shell):
    """The name by which ssh knows the shell, and the words that make ssh read the entries."""
    shell("shell", "ssh-config", ID)
    return ["-F", f"{shell.environment['HOME']}/.ssh/config"], f"{ID}"


def run(det, *words, **more):
    return subprocess.run([str(w) for w in words], env=det.environment, capture_output=True, timeout=60, start_new_session=True, **more)


def test_a_command_in_a_shell(shell):
    done = shell.run("shell", "open", ID, "echo $((40 + 2)); exit 7")
    assert done.returncode == 7 and done.stdout.splitlines()[0] == "42", done
    assert "Permanently added" not in done.stderr


def test_another_host_key_is_refused(shell, tmp_path):
    assert shell.run("shell", "open", ID, "true").returncode == 0
    known = tmp_path / "home" / ".cache" / "determined" / "shell" / ID / "known_hosts"
    words = known.read_text().split()
    other = (tmp_path / "user.pub").read_text().split()[1]
    known.write_text(f"{words[0]} {words[1]} {other}\n")
    assert shell.run("shell", "open", ID, "true").returncode == 255


def test_ssh_passes_input_and_ends_with_it(shell, host):
    options, name = host
    done = run(shell, "ssh", *options, name, "cat; exit 5", input=b"x" * 3_000_000)
    assert done.returncode == 5 and done.stdout == b"x" * 3_000_000, done.stderr


def test_scp_copies_both_ways(shell, host, tmp_path):
    options, name = host
    data = os.urandom(8 << 20)
    (tmp_path / "there").write_bytes(data)
    done = run(shell, "scp", "-q", *options, tmp_path / "there", f"{name}:{tmp_path}/copied")
    assert done.returncode == 0 and hashlib.md5((tmp_path / "copied").read_bytes()).digest() == hashlib.md5(data).digest(), done.stderr
    done = run(shell, "scp", "-q", *options, f"{name}:{tmp_path}/copied", tmp_path / "back")
    assert done.returncode == 0 and (tmp_path / "back").read_bytes() == data, done.stderr


def test_git_clones(shell, host, tmp_path):
    options, name = host
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    shell.environment["GIT_SSH_COMMAND"] = f"ssh {' '.join(options)}"
    done = run(shell, "git", "clone", "-q", f"{name}:{repository}", tmp_path / "clone")
    assert done.returncode == 0 and (tmp_path / "clone" / ".git").exists(), done.stderr


# The tunnel itself


@pytest.fixture
def echo(master):
    """A port that says hello, then sends back what it gets."""
    server = socket.create_server(("127.0.0.1", 0))
    master.shell_port = server.getsockname()[1]

    def serve():
        connection = server.accept()[0]
        connection.sendall(b"hello\n")
        while data := connection.recv(65536):
            connection.sendall(data)
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    yield server
    server.close()


def test_bytes_go_both_ways_until_the_caller_leaves(det, echo):
    running = subprocess.Popen([conftest.BUILD / "det", "shell", "tunnel", ID], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=det.environment)
    assert running.stdout.readline() == b"hello\n"
    running.stdin.write(b"\0binary\xff\n")
    running.stdin.flush()
    assert running.stdout.readline() == b"\0binary\xff\n"
    running.stdin.close()
    assert running.stdout.read() == b"" and running.wait() == 0


@pytest.mark.parametrize("way", ["all", "excepted"])
def test_a_proxy_of_the_environment_carries_requests_and_the_stream(det, master, echo, way):
    proxy = Proxy("127.0.0.1", user="ann:pass word")
    address = master.url.removeprefix("http://")
    environment = {**det.environment, "http_proxy": f"http://ann:pass%20word@127.0.0.1:{proxy.port}", "no_proxy": address if way == "excepted" else ""}
    running = subprocess.Popen([conftest.BUILD / "det", "shell", "tunnel", ID], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    assert running.stdout.readline() == b"hello\n"
    running.stdin.close()
    assert running.stdout.read() == b"" and running.wait() == 0
    proxy.close()
    assert (f"CONNECT {address}" in proxy.asked and f"GET {master.url}/info" in proxy.asked) if way == "all" else proxy.asked == []


def test_much_is_carried_with_little_memory(det, master):
    """A port that sends faster than the caller reads has to wait: det keeps little, and nothing is lost."""
    size = 64 << 20
    server = socket.create_server(("127.0.0.1", 0))
    master.shell_port = server.getsockname()[1]

    def serve():
        connection = server.accept()[0]
        connection.sendall(bytes(size))
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    running = subprocess.Popen([conftest.BUILD / "det", "shell", "tunnel", ID], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=det.environment)
    got, peak = 0, 0
    while data := running.stdout.read(1 << 20):
        got += len(data)
        status = open(f"/proc/{running.pid}/status").read() if running.poll() is None else ""
        peak = max([peak] + [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")])
    running.stdin.close()
    assert got == size and running.wait() == 0
    sanitized = b"__asan_init" in (conftest.BUILD / "det").read_bytes()  # a sanitizer's memory says nothing about that of det
    assert sanitized or peak < 40_000, f"{peak} kB"
    server.close()


def test_nothing_is_asked_and_an_expired_login_is_one_sentence(det, master):
    det("user", "whoami")
    master.tokens.clear()
    done = det.run("-u", "determined", "shell", "tunnel", ID, DET_USER=None, DET_PASS=None, stdin="secret\n")
    assert done.returncode == 1 and done.stdout == "" and "Password" not in done.stderr
    assert done.stderr.splitlines()[-1] == ("Failed to reach a shell (used by ssh): Unauthenticated: please log in with "
                                            "'det user login determined'")


@pytest.mark.parametrize("words, said", [("5e6f", "Shell 5e6f0000-0000-4000-8000-000000000003 has ended: allocation exited successfully"),
                                         ("77", "Shell '77' not found"), (ID, "HTTP status 502: ")])
def test_what_cannot_be_reached(det, master, words, said):
    master.failures["/proxy/"] = fake_master.Refusal(502, "no program answers at port 3201")
    done = det.run("shell", "tunnel", words)
    assert done.returncode == 1 and said in done.stderr and done.stdout == ""
