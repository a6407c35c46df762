"""Tests determined-task by itself. What it does with a task is observed by the frames that it sends."""

import os
import signal
import subprocess
import time

import pytest
import supervisor as sv
from support.processes import alive
from support.waiting import wait_for


@pytest.fixture
def task(tmp_path):
    t = sv.Task(tmp_path / "t")
    yield t
    try:  # ends whatever the test has left running
        t.connect(0).signal(signal.SIGKILL)
        t.finish()
    except OSError:
        pass


def test_output_arrives_numbered_and_exit_follows(task):
    task.write(["sh", "-c", "echo one; echo '[rank=2] ERROR: two' >&2; exit 7"]).start().connect().finish()
    assert [line.number for line in task.lines] == [1, 2]
    assert task.text(1) == "one\n"
    error = [line for line in task.lines if line.stdtype == 2][0]
    assert (error.text, error.rank, error.level) == ("two\n", 2, 5)
    assert abs(error.time_us / 1e6 - time.time()) < 60
    assert task.exit[:3] == (sv.EXITED, 7, 0)


@pytest.mark.parametrize("argv, kind, code", [
    (["/no/such/program"], sv.REFUSED, 127),
    (["/etc/passwd"], sv.REFUSED, 126),
    (["sh", "-c", "kill -TERM $$"], sv.SIGNALED, 143),
    (["true"], sv.EXITED, 0),
])
def test_exit_is_told_as_a_shell_tells_it(task, argv, kind, code):
    task.write(argv).start().connect().finish()
    assert task.exit[:2] == (kind, code)
    if kind == sv.REFUSED:
        assert argv[0] in task.exit[3] and argv[0] in task.text(2)


MISSING = "ModuleNotFoundError: No module named 'no_such_package'"


@pytest.mark.parametrize("words, said", [
    (["python3", "-c", "import no_such_package.inner"], "no_such_package"),
    (["sh", "-c", "python3 -m no_such_package; exit 3"], "no_such_package"),
    (["sh", "-c", f"echo \"[rank=1] {MISSING}\" >&2; exit 1"], "no_such_package"),
])
def test_a_module_that_is_not_found_is_explained_with_the_interpreter(task, tmp_path, monkeypatch, words, said):
    python = tmp_path / "bin/python3"
    python.parent.mkdir()
    python.symlink_to("/usr/bin/python3")
    monkeypatch.setenv("PATH", f"{python.parent}:/usr/bin:/bin")
    task.write(words, env=["DET_PYTHON_EXECUTABLE=python3"]).start().connect().finish()
    last = task.lines[-1]
    assert last.level == 5 and last.text.startswith(f"the module '{said}' was not found."), task.text()
    assert f"python3, which is {python}," in last.text and "docs/python-environment.md" in last.text
    assert task.exit[0] == sv.EXITED and task.exit[1] != 0


@pytest.mark.parametrize("script", [f"echo \"{MISSING}\" >&2; exit 0", f"echo \"{MISSING}\"; exit 1", "echo 'No module named ' >&2; exit 1"])
def test_a_task_that_did_not_fail_for_a_module_hears_nothing_of_one(task, script):
    task.write(["sh", "-c", script]).start().connect().finish()
    assert len(task.lines) == 1


def test_task_has_its_own_session_no_stdin_and_no_new_privileges(task):
    task.write(["sh", "-c", "cat; ps -o pid=,pgid=,sid= -p $$; grep NoNewPrivs /proc/self/status; ls /proc/self/fd"]).start()
    lines = task.connect().finish().text().splitlines()
    assert len(set(lines[0].split())) == 1
    assert lines[1].split() == ["NoNewPrivs:", "1"]
    assert lines[2:] == ["0", "1", "2", "3"]  # 3 is the directory that ls itself reads


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_task_runs_as_the_given_user_and_groups(task):
    task.write(["id"], uid=12345, gid=12346, groups=[777]).start().connect().finish()
    assert task.text().strip().startswith("uid=12345 gid=12346 groups=12346,777")


SHOW_CAPABILITIES = ["sh", "-c", "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status"]
NET_RAW, CHOWN = 1 << 13, 1 << 0


def capabilities(task):
    return {name.rstrip(":"): int(value, 16) for name, value in (line.split() for line in task.text().splitlines())}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_a_task_of_root_loses_the_capabilities_that_are_dropped(task):
    task.write(SHOW_CAPABILITIES, drop_capabilities=NET_RAW | CHOWN).start().connect().finish()
    has = capabilities(task)
    assert not any(value & (NET_RAW | CHOWN) for value in has.values()), has
    assert has["CapPrm"] == has["CapEff"] == has["CapBnd"] and has["CapPrm"] & 1 << 5  # all other capabilities are unchanged


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_a_task_of_root_can_lose_all_capabilities(task):
    task.write(["sh", "-c", SHOW_CAPABILITIES[2] + "; chown 1:1 . 2>/dev/null || echo refused: 0"], cwd=str(task.dir), uid=0,
               drop_capabilities=2**64 - 1).start().connect().finish()
    has = capabilities(task)
    assert has.pop("refused") == 0 and set(has.values()) == {0}, has


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_is_dropped_leaves_the_bounding_set_of_other_users_too(task):
    task.write(SHOW_CAPABILITIES, uid=12345, gid=12346, drop_capabilities=NET_RAW).start().connect().finish()
    has = capabilities(task)
    assert has["CapPrm"] == has["CapInh"] == 0 and has["CapBnd"] and not has["CapBnd"] & NET_RAW


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can begin as another user")
def test_under_an_agent_that_is_not_root_there_is_nothing_to_lose(place):
    os.chmod(place, 0o777)
    task = sv.Task(place / "t")
    task.prefix = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    task.write(SHOW_CAPABILITIES, drop_capabilities=NET_RAW)
    for path in (task.dir, task.dir / "spec"):
        os.chown(path, 12345, 12345)
    task.start().connect().finish()
    has = capabilities(task)
    assert has["CapPrm"] == has["CapEff"] == has["CapInh"] == has["CapAmb"] == 0


def test_kill_ends_the_whole_tree_even_what_has_detached(task):
    script = "setsid sh -c 'sh -c \"echo $$; exec sleep 1000\" & echo $$; exec sleep 1000' & echo $$; exec sleep 1000"
    task.write(["sh", "-c", script]).start().connect().pump(lambda t: len(t.lines) == 3)
    pids = [int(line.text) for line in task.lines]
    assert all(alive(p) for p in pids)
    task.signal(signal.SIGKILL)
    task.finish()
    assert task.exit[:3] == (sv.SIGNALED, 137, 9)
    assert not any(alive(p) for p in pids)


def test_other_signals_reach_the_entrypoint(task):
    task.write(["sh", "-c", "trap 'echo got it; exit 3' USR1; echo ready; while :; do sleep 0.05; done"]).start()
    task.connect().pump(lambda t: t.lines)
    task.signal(signal.SIGUSR1)
    task.finish()
    assert task.text(1) == "ready\ngot it\n"
    assert task.exit[:2] == (sv.EXITED, 3)


def test_processes_left_behind_may_finish_a_sentence_and_are_then_killed(task):
    # The line is begun only after the entrypoint, the parent of this process, has ended. Even on a busy machine it must be sent within a
    # second.
    late = "while kill -0 $1; do :; done 2>/dev/null; echo late; sleep 1000"
    begin = time.monotonic()
    task.write(["sh", "-c", 'sh -c "$LATE" late $$ & echo $!; exit 0'], env=[f"LATE={late}"]).start()
    task.connect().finish()
    assert task.text().splitlines()[1:] == ["late"]
    assert time.monotonic() - begin > 0.9
    assert not alive(int(task.lines[0].text))


def test_a_daemon_without_the_pipes_does_not_delay_the_exit(tmp_path):
    def takes_s(n):
        task = sv.Task(tmp_path / f"t{n}")
        begin = time.monotonic()
        task.write(["sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"]).start().connect().finish()
        assert not alive(int(task.text()))
        return time.monotonic() - begin
    # A supervisor that waited for the daemon would always take a second. One that does not wait may be slow on a busy machine, but not
    # every time.
    assert any(takes_s(n) < 0.9 for n in range(20))


def test_a_hundred_thousand_lines_arrive_each_once(task):
    task.write(["seq", "1", "100000"]).start().connect().finish()
    assert task.text() == "".join(f"{i}\n" for i in range(1, 100001))
    assert [line.number for line in task.lines] == list(range(1, 100001))


def test_what_is_written_last_is_not_lost(task):
    task.write(["sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x; printf 'the end'"]).start().connect().finish()
    assert task.text() == "x" * 60000 + "the end"


def test_no_acknowledgement_makes_the_task_wait_and_loses_nothing(task, tmp_path):
    mark = tmp_path / "written"
    script = f"i=0; while [ $i -lt 20000 ]; do echo line $i with quite a few more words in it; i=$((i+1)); done; touch {mark}"
    task.write(["sh", "-c", script], spool_max=64 * 1024).start().connect()
    time.sleep(1.0)  # a wrong supervisor needs this time to start the task: no frame says that a task waits
    assert not mark.exists()
    spool = sum(f.stat().st_size for f in (task.dir / "spool").iterdir())
    assert spool < 200 * 1024
    task.connect(0).finish()
    assert [line.number for line in task.lines] == list(range(1, 20001))
    assert task.lines[-1].text.startswith("line 19999 ")


def test_task_does_not_need_an_agent(task, tmp_path):
    task.write(["sh", "-c", f"seq 1 5000; touch {tmp_path}/done; exit 4"]).start()
    wait_for("the task's last word", (tmp_path / "done").exists)
    task.connect(2000).finish()
    assert [int(line.text) for line in task.lines] == list(range(2001, 5001))
    assert task.exit[:2] == (sv.EXITED, 4)


def test_a_new_agent_gets_everything_behind_its_resume_point(task, tmp_path):
    task.write(["sh", "-c", f"seq 1 10; while [ ! -e {tmp_path}/more ]; do sleep 0.02; done; seq 11 20; sleep 1000"]).start()
    task.connect().pump(lambda t: len(t.lines) == 10, ack=False)
    (tmp_path / "more").touch()
    task.lines = []
    task.connect(7).pump(lambda t: len(t.lines) == 13)
    assert [int(line.text) for line in task.lines] == list(range(8, 21))


def test_exit_is_told_again_until_acknowledged_and_then_the_supervisor_goes(task):
    task.write(["true"]).start().connect().pump(lambda t: t.exit)
    task.exit = None
    task.connect().pump(lambda t: t.exit)
    task.send(sv.EXIT_ACK)
    with pytest.raises(ConnectionError):
        task.frame(60)
    # Only what the supervisor has recorded is left. A supervisor that adopts the directory serves exactly that.
    task.exit = None
    task.adopt().connect().finish()
    assert task.exit[:2] == (sv.EXITED, 0)


def test_a_second_supervisor_is_refused(task):
    task.write(["sleep", "1000"]).start()
    code, error = task.launch()
    assert code != 0 and "has a supervisor already" in error


def test_a_killed_supervisor_takes_its_task_along_and_the_next_one_tells(task):
    script = "setsid sleep 1000 & echo $!; echo $$; exec sleep 1000"
    task.write(["sh", "-c", script], env=["DET_CONTAINER_ID=test-of-a-killed-supervisor"]).start()
    task.connect().pump(lambda t: len(t.lines) == 2, ack=False)
    pids = [int(line.text) for line in task.lines]
    supervisor = int(subprocess.run(["ps", "-o", "ppid=", "-p", str(pids[1])], capture_output=True, text=True).stdout)
    os.kill(supervisor, signal.SIGKILL)
    wait_for("the end of the second process", lambda: not alive(pids[1]))
    task.adopt()
    task.lines = []
    task.connect().finish()
    assert [int(line.text) for line in task.lines] == pids
    assert task.exit[0] == sv.LOST
    wait_for("the end of the first process", lambda: not alive(pids[0]))


@pytest.mark.parametrize("garbage", [b"\0\0\0\0", b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", b"\x05\0\0\0\x03\x63\0\0\0"])
def test_garbage_ends_the_connection_and_not_the_task(task, garbage):
    task.write(["sh", "-c", "sleep 0.5; echo still here"]).start().connect()
    task.sock.sendall(garbage)
    with pytest.raises(OSError):
        task.frame(60)
    task.connect().finish()
    assert task.text() == "still here\n"


@pytest.mark.parametrize("content, word", [(None, "spec"), (b"", "order"), (b"DTS2", "damaged"), (b"x" * 100, "order")])
def test_a_bad_order_is_refused_with_a_sentence(task, content, word):
    task.dir.mkdir()
    if content is not None:
        (task.dir / "spec").write_bytes(content)
    code, error = task.launch()
    assert code != 0 and word in error
