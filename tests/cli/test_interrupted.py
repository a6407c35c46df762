"""Progress on a terminal, and a terminal that is as it was, however a command ends."""
import io
import os
import re
import signal
import subprocess
import tarfile
import termios

import conftest
import pytest
from support.fake_master import clients
from support.waiting import wait_for
from test_terminal import Terminal

AT_ONCE = ("--polling-interval", "0")


def shows_input(terminal):
    return bool(termios.tcgetattr(terminal.ours)[3] & termios.ECHO)


@pytest.fixture
def question(det):
    """A command that asks for a password at its terminal."""
    terminal = Terminal(det, "user", "login", "determined", controlling=True, DET_PASS=None)
    terminal.wait_for("Password for user")
    wait_for("the terminal to be silent", lambda: not shows_input(terminal))
    return terminal


@pytest.mark.parametrize("how, status", [(b"\x03", 3), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)])
def test_a_question_that_is_interrupted_shows_what_is_typed_again(question, how, status):
    if isinstance(how, bytes):
        os.write(question.ours, how)
    else:
        question.process.send_signal(how)
    wait_for("the terminal to show what is typed", lambda: shows_input(question))
    assert question.process.wait() == status
    assert termios.tcgetattr(question.ours) == question.settings


def test_control_z_does_not_leave_a_silent_terminal(question):
    os.write(question.ours, b"\x1aSecret123\n")  # a character of the password, as long as the question is asked
    question.wait_for("wrong user name or password")
    assert shows_input(question) and question.process.wait() == 1


def test_a_signal_that_the_caller_ignores_stays_ignored(det, master):
    """nohup det experiment wait"""
    master.states = ["STATE_RUNNING"]
    words = ["nohup", conftest.BUILD / "det", "experiment", "wait", "1", *AT_ONCE]
    waiting = subprocess.Popen(words, env=det.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wait_for("its first question", lambda: any(path == "/api/v1/experiments/1" for _, path, _, _ in master.requests))
    waiting.send_signal(signal.SIGHUP)
    asked = len(master.requests)
    wait_for("another question", lambda: len(master.requests) > asked + 1)
    master.states = ["STATE_COMPLETED"]
    assert waiting.wait(60) == 0


# ---- progress ----

def test_a_wait_shows_how_far_it_is(det, master):
    master.states = ["STATE_RUNNING"]
    waiting = Terminal(det, "experiment", "wait", 1, *AT_ONCE, controlling=True)
    waiting.wait_for("Experiment 1 [#")
    waiting.wait_for("RUNNING")
    master.states = ["STATE_COMPLETED"]
    shown = waiting.end()
    assert waiting.status == 0 and waiting.seen.endswith(b"\r\x1b[K"), shown


def test_the_wait_for_a_first_trial_shows_the_state(det, master, tmp_path):
    (tmp_path / "config.yaml").write_text("name: x\nentrypoint: y\n")
    master.no_trial_yet, master.states = True, ["STATE_QUEUED"]
    following = Terminal(det, "experiment", "create", tmp_path / "config.yaml", "-f")
    following.wait_for("QUEUED")
    master.states, master.no_trial_yet = ["STATE_COMPLETED"], False
    shown = following.end()
    assert following.status == 0 and "Experiment 7 [" in shown and "Following first trial with ID 1\n" in shown, shown
    assert b"\r\x1b[KFollowing" in following.seen


def test_an_interrupted_wait_leaves_no_bar(det, master):
    master.states = ["STATE_RUNNING"]
    waiting = Terminal(det, "experiment", "wait", 1, *AT_ONCE, controlling=True)
    waiting.wait_for("RUNNING")
    os.write(waiting.ours, b"\x03")
    waiting.end()
    assert waiting.status == 3 and re.search(rb"RUNNING\x1b\[K.*\r\x1b\[K\r?\nInterrupted\.\r\n$", waiting.seen, re.DOTALL), waiting.seen


def test_a_pipe_and_quiet_get_no_progress(det, master):
    master.states = ["STATE_RUNNING", "STATE_RUNNING", "STATE_COMPLETED"]
    done = det.run("experiment", "wait", 1, *AT_ONCE)
    assert done.stdout == "" and "\x1b" not in done.stderr and "RUNNING" not in done.stderr
    master.states = ["STATE_RUNNING", "STATE_COMPLETED"]
    quiet = Terminal(det, "experiment", "wait", 1, *AT_ONCE, "--quiet")
    assert "RUNNING" not in quiet.end()


@pytest.fixture
def big_checkpoint(master):
    """The master sends an archive of three megabytes of a checkpoint that is nowhere else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        info = tarfile.TarInfo("weights")
        info.size = 3 << 20
        tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    whole = master.answer

    def answer(exchange):
        if not exchange.path.startswith("/checkpoints/"):
            return whole(exchange)
        exchange.send_response(200)
        exchange.send_header("Content-Length", str(len(out.getvalue())))
        exchange.end_headers()
        exchange.wfile.write(out.getvalue())
        return None
    master.answer = answer
    return out


def test_a_download_shows_its_progress_on_a_terminal_only(det, big_checkpoint, tmp_path):
    words = ("checkpoint", "download", clients.CHECKPOINT, "--mode", "master", "-o")
    terminal = Terminal(det, *words, tmp_path / "one")
    shown = terminal.end()
    assert terminal.status == 0 and "Downloading [" in shown and "100% of 3.0MB" in shown and (tmp_path / "one/weights").stat().st_size == 3 << 20
    plain = Terminal(det, *words, tmp_path / "two", NO_COLOR="1")
    assert "Downloading [" in plain.end() and not re.search(rb"\x1b\[[0-9;]*m", plain.seen)
    done = det.run(*words, tmp_path / "three")
    assert done.returncode == 0 and "Downloading" not in done.stderr + done.stdout
