"""det shell: the command line of ssh, the files that it needs, and Host entries. A program that notes what it is called with stands in for
ssh; test_shell_tunnel.py has real ones."""
import json
import os
import shlex
import signal
import stat
import subprocess

import conftest
import pytest
from support.fake_master.launched import ID, KEY, NEW, OTHER, SIBLING, allocation, launched
from support.waiting import wait_for

SSH = """#!/usr/bin/env python3
import json, os, stat, sys, time
words = sys.argv[1:]
key = words[words.index("-i") + 1]
seen = {"words": words, "key": open(key).read(), "mode": stat.S_IMODE(os.stat(key).st_mode), "directory": stat.S_IMODE(os.stat(os.path.dirname(key)).st_mode)}
path = os.environ["SSH_SEEN"]
with open(path + ".new", "w") as f:
    json.dump(seen, f)
os.rename(path + ".new", path)
if "wait" in words:
    time.sleep(600)  # until a signal of the test
if "killed" in words:
    os.kill(os.getpid(), 9)
sys.exit(int(words[-1]) if words[-1].isdigit() else 0)
"""


@pytest.fixture
def home(det, tmp_path):
    """A home, with the program ssh in the PATH."""
    programs, home = tmp_path / "bin", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    det.environment.update(PATH=f"{programs}:{os.environ['PATH']}", HOME=str(home), SSH_SEEN=str(tmp_path / "seen"))
    return home


@pytest.fixture
def seen(home, tmp_path):
    return lambda: json.loads((tmp_path / "seen").read_text())


def files_of(home, tid):
    directory = home / ".cache" / "determined" / "shell" / tid
    return sorted(p.name for p in directory.iterdir()) if directory.exists() else None


def test_open_runs_ssh(det, master, home, seen):
    assert det("shell", "open", ID) == f"To reconnect, run: det shell open {ID}\n"
    words = seen()["words"]
    options = dict(word.split("=", 1) for before, word in zip(words, words[1:], strict=False) if before == "-o")
    assert words[-1] == f"ann@{ID}" and "-tt" in words
    assert options["ProxyCommand"] == (f"env DET_DEBUG_CONFIG_PATH={det.config} {conftest.BUILD.resolve()}/det -m {master.url} -u determined "
                                       f"shell tunnel {ID}")
    assert options["IdentitiesOnly"] == "yes" and options["StrictHostKeyChecking"] == "accept-new"
    assert options["UserKnownHostsFile"] == str(home / ".cache/determined/shell" / ID / "known_hosts")
    assert (seen()["key"], seen()["mode"], seen()["directory"]) == (KEY, 0o600, 0o700)
    assert files_of(home, ID) == []  # the key is removed when ssh has ended


def test_start_opens_it_when_it_is_ready(det, master, home, seen):
    master.looks = [{"allocations": []}, {"allocations": [allocation(isReady=True)]}]
    assert det("shell", "start", "--", "-L", "8080:localhost:80").splitlines() == [
        f"Launched shell (id: {NEW}, name: Shell (quick-fox)).", "Waiting for shell to become ready", f"shell (id: {NEW}) is ready.",
        f"To reconnect, run: det shell open {NEW}"]
    assert seen()["words"][-3:] == [f"ann@{NEW}", "-L", "8080:localhost:80"]


@pytest.mark.parametrize("words, status", [("exit 7", 7), ("255", 255), ("killed", 137)])
def test_the_status_of_ssh_is_that_of_det(det, home, words, status):
    done = det.run("shell", "open", ID, *words.split())
    assert done.returncode == status and files_of(home, ID) == []


def test_an_account_without_a_name_is_root(det, master, home, seen):
    master.every_launched["shells"][0]["agentUserGroup"] = None
    det("shell", "open", ID)
    assert seen()["words"][-1] == f"root@{ID}"


def test_a_key_without_its_last_newline_is_mended(det, master, home, seen):
    master.every_launched["shells"][0]["privateKey"] = KEY.strip()
    det("shell", "open", ID)
    assert seen()["key"] == KEY


def test_a_key_that_is_not_given(det, master, home):
    master.every_launched["shells"][0]["privateKey"] = ""
    done = det.run("shell", "open", ID)
    assert done.returncode == 1 and f"the master does not give the key of shell {ID}" in done.stderr


def test_an_id_that_is_a_path_neither_writes_nor_removes(det, master, home, tmp_path):
    (home / "evil").mkdir()
    path = "../../../evil"  # from ~/.cache/determined/shell
    for state in ("STATE_RUNNING", "STATE_TERMINATED"):
        master.every_launched["shells"] = [launched("shells", path, state=state)]
        done = det.run("shell", "ssh-config")
        assert state == "STATE_TERMINATED" or (done.returncode == 1 and f"the master names a shell '{path}', which is no id" in done.stderr)
        assert list((home / "evil").iterdir()) == []


def test_a_shell_that_has_ended_meanwhile(det, master, home):
    master.every_launched["shells"][2]["state"] = "STATE_TERMINATED"
    done = det.run("shell", "open", OTHER)
    assert f"Shell {OTHER} has ended: allocation exited successfully" in done.stderr and "To reconnect" not in done.stdout
    assert files_of(home, OTHER) is None


def test_ssh_is_not_installed(det, home, tmp_path):
    done = det.run("shell", "open", ID, PATH=str(tmp_path))
    assert done.returncode == 1 and "the program ssh is not installed on this machine; install it" in done.stderr
    assert files_of(home, ID) == []


@pytest.mark.parametrize("sent, status", [(signal.SIGINT, 128 + signal.SIGINT), (signal.SIGHUP, 128 + signal.SIGHUP)])
def test_signals_are_for_ssh_and_the_key_goes(det, home, seen, tmp_path, sent, status):
    running = subprocess.Popen([conftest.BUILD / "det", "shell", "open", ID, "wait"], env=det.environment, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for("ssh", lambda: (tmp_path / "seen").exists())
    os.killpg(running.pid, sent)  # as the terminal does it: the whole group
    # Python ends with status 1 after SIGINT
    assert running.wait() in (status, 1) and files_of(home, ID) == []


def test_show_ssh_command_can_be_pasted(det, master, home):
    line = det("shell", "show-ssh-command", ID, "ls")
    words = shlex.split(line)
    assert words[0] == "ssh" and words[-2:] == [f"ann@{ID}", "ls"] and line.count("\n") == 1
    key = words[words.index("-i") + 1]
    assert open(key).read() == KEY and stat.S_IMODE(os.stat(key).st_mode) == 0o600
    assert det("shell", "show_ssh_command", ID, "ls") == line
    proxy = det("shell", "show-ssh-command", ID, "--show-proxy-command")
    assert f"ProxyCommand={proxy.strip()}" in words
    det("shell", "open", ID, "--show-ssh-command")
    assert files_of(home, ID) == ["key"]
    det("shell", "kill", ID)
    assert files_of(home, ID) is None


def test_what_only_the_environment_says_is_in_the_command(det, master, home, tmp_path):
    odd = tmp_path / "a b%c's"
    odd.mkdir()
    words = shlex.split(det("shell", "show-ssh-command", ID, DET_MASTER_CERT_FILE=str(odd / "cert.pem"), XDG_CACHE_HOME=str(odd)))
    options = dict(word.split("=", 1) for before, word in zip(words, words[1:], strict=False) if before == "-o")
    proxy = shlex.split(options["ProxyCommand"].replace("%%", "%"))  # ssh puts % for %%, then a shell reads it
    assert proxy[:2] == ["env", f"DET_MASTER_CERT_FILE={odd}/cert.pem"]
    assert "b%%c" in words[words.index("-i") + 1] and options["UserKnownHostsFile"].startswith('"')


# Host entries


def entries(det):
    (path,) = (det.config / "ssh").iterdir()
    return path.read_text()


def test_ssh_config_writes_entries_and_includes_them(det, master, home):
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text("Host other\n    User bob\n")
    done = det.run("shell", "ssh-config")
    assert done.returncode == 0 and done.stdout == "Set up ssh for 2 shells: det-1a2b3c4d-0000-4000-8000-000000000001, det-1a2b3c4d-0000-4000-8000-000000000002\n"
    config = (home / ".ssh" / "config").read_text()
    assert config.endswith("\n\nHost other\n    User bob\n") and f'\nInclude "{det.config}/ssh/*.conf"\n' in config
    text = entries(det)
    assert f"    HostName {ID}\n    User ann\n    ProxyCommand env " in text and OTHER not in text  # the other shell has ended
    assert stat.S_IMODE(os.stat(det.config / "ssh").st_mode) == 0o700
    det("shell", "ssh-config")
    assert (home / ".ssh" / "config").read_text() == config and entries(det) == text  # nothing changes twice


def test_ssh_itself_reads_the_entries(det, master, home):
    master.every_launched["shells"].pop(1)
    assert det("shell", "ssh-config") == "Set up ssh for 1 shell: det-1a2b3c4d\n"
    shown = subprocess.run(["/usr/bin/ssh", "-F", home / ".ssh" / "config", "-G", "det-1a2b3c4d"], capture_output=True, text=True)
    if not shown.stdout:
        pytest.skip("ssh is not installed")
    got = dict(line.split(" ", 1) for line in shown.stdout.splitlines() if " " in line)
    assert (got["hostname"], got["user"], got["identitiesonly"]) == (ID, "ann", "yes")
    assert got["identityfile"] == str(home / ".cache/determined/shell" / ID / "key") and got["proxycommand"].endswith(f"shell tunnel {ID}")


def test_ssh_config_of_some_and_printed(det, master, home):
    text = det("shell", "ssh-config", "--print", SIBLING)
    assert text.startswith("# older\nHost det-") and ID not in text and not (home / ".ssh").exists() and not (det.config / "ssh").exists()
    master.every_launched["shells"] = []
    assert det("shell", "ssh-config") == "No shell of yours is running: there is nothing to set up.\n"
    assert "Host " not in entries(det)


def test_a_link_stays_a_link_and_modes_stay(det, master, home, tmp_path):
    (home / ".ssh").mkdir()
    dotfiles = tmp_path / "dotfiles"
    dotfiles.write_text("")
    dotfiles.chmod(0o644)
    (home / ".ssh" / "config").symlink_to(dotfiles)
    det("shell", "ssh-config")
    assert (home / ".ssh" / "config").is_symlink() and "Include" in dotfiles.read_text() and stat.S_IMODE(os.stat(dotfiles).st_mode) == 0o644


def test_files_of_ended_shells_go(det, master, home):
    det("shell", "show-ssh-command", SIBLING)
    assert files_of(home, SIBLING) == ["key"]
    master.every_launched["shells"][1]["state"] = "STATE_TERMINATED"
    det("shell", "ssh-config")
    assert files_of(home, SIBLING) is None and files_of(home, ID) == ["key"]
