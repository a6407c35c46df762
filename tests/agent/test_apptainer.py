"""Tasks in containers of Apptainer: what is of its own beside tests/agent/test_runtimes.py. A stand-in takes the command lines."""
import contextlib
import json
import os
import pathlib
import pwd
import signal
import stat
import struct
import tarfile
import threading

import pytest
from support import apptainer, engines
from support.fake_master.agents import BUILD, OWNER, Agent
from support.namespaces import NO_USER_NAMESPACES, need
from support.waiting import wait_for


@pytest.fixture(params=["apptainer", "singularity"])
def engine(request):
    try:
        e = apptainer.Apptainer(request.param)
    except engines.Missing as why:
        pytest.skip(str(why))
    yield e
    e.end()


@pytest.fixture
def agent(master, place, engine):
    a = Agent(master, place / "agent", container_runtime=engine.name, task_program=engines.static_supervisor(BUILD),
              container_images_dir=str(place / "images"))
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}", "APPTAINERENV_LEAK": "x", "SECRET": "of the agent"}
    a.start()
    master.wait_agent()
    yield a
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def start(master, argv, image=engines.IMAGE, order=None, **container):
    return master.start(argv, image=image, more_container={"imageNamed": True, "networkMode": "host", **container}, **(order or {}))


def run(master, argv, **more):
    c = start(master, argv, **more)
    return master.finish(c), master.text(c)


def test_an_image_is_pulled_once_and_its_variables_are_the_tasks(master, agent, engine):
    end, text = run(master, ["echo $OF_THE_IMAGE $SECRET $LEAK; env | cut -d= -f1 | grep -E '_CONTAINER$|^STAND'; true"])
    assert end["code"] == 0 and f"Pulling image {engines.IMAGE} with {engine.name}" in text and "is pulled, after" in text
    assert text.splitlines()[2:] == ["yes", "STAND_IN"] or text.splitlines()[2:4] == ["yes", "DET_CONTAINER"], text
    _, text = run(master, ["echo again"], image=f"docker://{engines.IMAGE}")
    assert text == "again\n" and len(engine.calls("pull")) == 1
    (_, force, _, reference) = engine.calls("pull")[0]
    assert (force, reference) == ("--force", f"docker://{engines.IMAGE}")


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_may_be_a_file_or_a_directory_of_the_machine(master, agent, engine, place):
    file, directory = place / "my image.sif", place / "unpacked"
    file.write_bytes(engine.image_file(engines.IMAGE).read_bytes())
    with tarfile.open(file) as tar:
        tar.extractall(directory)
    for image in (file, directory):
        assert run(master, ["cat /in-image"], image=str(image)) [1] == "of the image\n"
    assert engine.calls("pull") == []
    file.chmod(0o600)
    end, _ = run(master, ["cat /in-image"], image=str(file))
    assert end["kind"] == "EXIT_KIND_REFUSED" and "may not read" in end["text"] and str(file) in end["text"]
    end, _ = run(master, ["true"], image=str(place / "none.sif"))
    assert end["kind"] == "EXIT_KIND_REFUSED" and f"{place}/none.sif does not exist on this machine" in end["text"]


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_that_is_none_is_the_cause(master, agent, engine, place):
    (place / "broken.sif").write_text("no image")
    end, _ = run(master, ["true"], image=str(place / "broken.sif"))
    assert end["kind"] == "EXIT_KIND_REFUSED"
    assert all(words in end["text"] for words in ("broken.sif cannot be run on this machine", "image format not recognized")), end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_machine_that_runs_no_image_at_all_is_the_cause(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "broken").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end
    assert "Failed to create user namespace" in end["text"] and "not even an empty one" in end["text"], end
    (engine.dir / "broken").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_that_fails_at_the_start_only_is_the_cause(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "breaks").write_text("det-test")
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_REFUSED" and "cannot be run on this machine" in end["text"], end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_machine_that_fails_at_the_start_of_every_image_is_the_cause(master, agent, engine):
    (engine.dir / "no-layer").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end
    assert "cannot be run on this machine" in end["text"] and "not even an empty one" in end["text"], end
    probe, start = engine.calls("exec")[-1], engine.calls("exec")[-2]
    assert probe[-1] == start[-1] == "--inside" and probe.count("--bind") == 1 < start.count("--bind")
    assert "--writable-tmpfs" in probe
    (engine.dir / "no-layer").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_disk_that_is_full_at_the_start_is_the_machines_fault(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "breaks").write_text("det-test")
    (engine.dir / "breaks-by").write_text("while copying: no space left on device")
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED" and "no space left on device" in end["text"], end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_is_the_cause_whatever_the_umask_of_the_agent_is(master, place, engine):
    (engine.dir / "breaks").write_text("det-test")
    (place / "images" / "empty").mkdir(parents=True)
    (place / "images" / "empty").chmod(0o700)  # as an earlier agent has made it
    with started(master, place, engine, ["sh", "-c", 'umask 077; exec "$@"', "sh"]):
        end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_REFUSED" and "cannot be run on this machine" in end["text"], end


APPTAINER = pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
OWN = 2000000 + OWNER  # the uid and gid of the tasks of one user, whom nobody has linked to an account


@APPTAINER
def test_under_an_agent_of_root_an_image_is_run_as_the_tasks_user(master, agent, engine):
    end, text = run(master, ["id -u; grep -E 'NoNewPrivs|CapEff' /proc/self/status"])
    assert end["code"] == 0 and text.splitlines()[-3:] == [str(OWN), "CapEff:\t0000000000000000", "NoNewPrivs:\t1"], text
    [ran] = engine.runs()
    assert (ran["uid"], ran["gid"], ran["groups"], ran["no_new_privs"]) == (OWN, OWN, [OWN], 1) and "--userns" in ran["words"], ran
    assert not {"SECRET", "APPTAINERENV_LEAK"} & ran["environment"].keys() and ran["environment"]["PATH"].startswith(engine.path)


def image_with_script(engine, script):
    """The script of an image can say what determined-task says in the container: `say refused`."""
    said = {f"said/{name}": (struct.pack("=cxxxi1024s", kind, 0, b"forged"), 0o644)
            for name, kind in (("refused", b"f"), ("starting", b"s"), ("started", b"r"))}
    script = "say() { dd if=/said/$1 bs=1032 count=1 1>&0 2>/dev/null; }\n" + script
    engine.add_image("det-test/script:1", {**engines.busybox_files(), **said, ".singularity.d/env/10-mine.sh": (script.encode(), 0o755)})
    return "det-test/script:1"


@APPTAINER
def test_scripts_of_an_image_are_run_as_the_tasks_user(master, agent, engine):
    image = image_with_script(engine, "echo script of $(id -u), $(grep CapEff /proc/self/status)\nexport BY_SCRIPT=yes\n")
    end, text = run(master, ["echo $BY_SCRIPT"], image=image)
    assert end["code"] == 0 and text.splitlines()[-2:] == [f"script of {OWN}, CapEff: 0000000000000000", "yes"], text


@APPTAINER
def test_what_a_script_of_an_image_says_in_our_name_concerns_its_own_task_alone(master, agent, engine):
    """The image cannot say that the machine has failed, which would put the agent into quarantine, unless its container looks killed. Signals go to whoever has said that it is the
    entrypoint, although its process id may be another's by now, with the rights of the task."""
    end, _ = run(master, ["true"], image=image_with_script(engine, "say refused; exit 1\n"))
    assert (end["kind"], end["text"]) == ("EXIT_KIND_REFUSED", "forged"), end
    for status, code in ((0, 1), (1, 1), (9, 9)):
        image = image_with_script(engine, f"say starting; say started; exit {status}\n")
        end, text = run(master, ["true"], image=image, forcePull=True)
        assert (end["kind"], end["code"]) == ("EXIT_KIND_EXITED", code) and "ended by itself before the task did" in text, end
    image = image_with_script(engine, "say starting; say started; echo posing; sleep 600\n")
    c = start(master, ["true"], image=image, forcePull=True)
    wait_for("the task to run", lambda: "STATE_RUNNING" in master.states_of(c) and "posing" in master.text(c))
    master.signal(c, signal.SIGTERM)
    master.signal(c, signal.SIGKILL)
    assert master.finish(c)["signal"] == signal.SIGKILL
    wait_for("the end of the container", lambda: c not in engine.containers())
    assert run(master, ["true"])[0]["code"] == 0


@APPTAINER
def test_nor_is_an_image_that_does_not_start_run_as_root(master, agent, engine):
    (engine.dir / "broken").touch()
    assert run(master, ["true"])[0]["kind"] == "EXIT_KIND_START_FAILED"
    assert [(r["uid"], r["no_new_privs"]) for r in engine.runs()] == [(OWN, 1)] * 2, "the task's, and that of an empty image"
    assert engine.runs()[1]["words"][-2:] == ["/run/determined.task", "--inside"]


@APPTAINER
def test_an_image_that_says_something_without_end_does_not_keep_its_supervisor_from_other_work(master, agent, engine):
    image = image_with_script(engine, "exec 9>&0; say starting; say started; echo posing; for i in 1 2 3 4; do "
                                      "dd if=/dev/zero bs=1032 2>/dev/null >&9 & done; sleep 600\n")
    c = start(master, ["true"], image=image)
    wait_for("its first line", lambda: "posing" in master.text(c))
    master.signal(c, signal.SIGKILL)
    assert master.finish(c)["signal"] == signal.SIGKILL
    wait_for("the end of the container", lambda: c not in engine.containers())


@APPTAINER
def test_the_command_is_within_the_tasks_limits(master, agent, engine):
    c = start(master, ["sleep 600"], order={"limits": {"memoryBytes": str(256 << 20)}})
    wait_for("the task to run", lambda: "STATE_RUNNING" in master.states_of(c))
    [ran] = engine.runs()
    assert c in ran["limit"], "the control groups of the command are the task's"
    master.signal(c, signal.SIGKILL)
    master.finish(c)


@APPTAINER
def test_a_container_that_takes_more_memory_than_the_task_may_while_it_starts_is_the_tasks_failure(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "takes").write_text("80")
    end, text = run(master, ["true"], order={"limits": {"memoryBytes": str(40 << 20)}})
    assert (end["kind"], end["code"]) == ("EXIT_KIND_OUT_OF_MEMORY", 137) and "used 40 MiB, its limit" in end["text"], (end, text)
    assert len(engine.runs()) == 2, "an empty image was not tried within the same limit"


@APPTAINER
def test_a_container_that_unpacks_more_than_the_task_may_store_ends_while_it_starts(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "unpacks").write_text("20")
    end, _ = run(master, ["true"], order={"limits": {"diskBytes": str(10 << 20)}})
    assert end["kind"] == "EXIT_KIND_SIGNALED" and "in its own directory, its limit is 10 MiB" in end["text"], end
    (engine.dir / "unpacks").unlink()


def linked(name):
    user = pwd.getpwnam(name)
    return {"ownerId": OWNER, "owner": "somebody", "user": name, "uid": user.pw_uid, "gid": user.pw_gid}


@APPTAINER
def test_a_linked_account_runs_its_images_with_its_groups(master, agent, engine):
    """Any account of the machine will do that is not root."""
    user = pwd.getpwnam("daemon")
    end, _ = run(master, ["true"], order={"user": linked("daemon")})
    assert end["code"] == 0, end
    [ran] = engine.runs()
    assert (ran["uid"], ran["gid"]) == (user.pw_uid, user.pw_gid) and 0 not in ran["groups"], ran


@APPTAINER
def test_a_task_of_root_runs_its_image_as_root_where_that_is_allowed(master, place, engine):
    with started(master, place, engine, allow_root_tasks=True):
        end, text = run(master, ["id -u"], order={"user": linked("root")})
        assert end["code"] == 0 and text.endswith("\n0\n"), (end, text)
        [ran] = engine.runs()
        assert ran["uid"] == 0 and "--userns" not in ran["words"] and ran["no_new_privs"] == 1, ran


@APPTAINER
def test_a_setuid_starter_may_gain_rights_and_the_task_may_not(master, place, engine):
    with started(master, place, engine, container_setuid_starter=True):
        end, text = run(master, ["grep NoNewPrivs /proc/self/status"])
        assert end["code"] == 0 and text.endswith("NoNewPrivs:\t1\n"), (end, text)
        [ran] = engine.runs()
        assert ran["uid"] == OWN and "--userns" not in ran["words"] and ran["no_new_privs"] == 0, ran


@APPTAINER
def test_a_directory_of_images_that_the_user_cannot_enter_is_the_cause(master, agent, engine, place):
    assert run(master, ["true"])[0]["code"] == 0
    images = place / "images"
    assert stat.S_IMODE(images.stat().st_mode) == 0o711 and {stat.S_IMODE(i.stat().st_mode) for i in images.glob("*.sif")} == {0o644}
    images.chmod(0o700)
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED" and f"(uid {OWN})" in end["text"] and f"chmod a+x {images}" in end["text"], end
    images.chmod(0o711)
    assert run(master, ["true"])[0]["code"] == 0


@APPTAINER
def test_a_place_that_the_user_cannot_reach_is_the_cause(master, agent, engine):
    for closed, named in ((engine.dir, engine.program), (agent.root, agent.root / "tasks")):
        mode = stat.S_IMODE(closed.stat().st_mode)
        closed.chmod(0o700)
        end, _ = run(master, ["true"])
        assert end["kind"] == "EXIT_KIND_START_FAILED" and f"may not enter or execute {named}" in end["text"] and "chmod a+x" in end["text"], end
        closed.chmod(mode)
    assert run(master, ["true"])[0]["code"] == 0


def supervisors(container):
    """Process ids; those in a process id namespace of the task are no supervisors."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            numbers = next(line.split()[1:] for line in (entry / "status").read_text().splitlines() if line.startswith("NSpid:"))
            if f"{container}/supervisor".encode() in (entry / "cmdline").read_bytes() and len(numbers) == 1:
                found.append(int(entry.name))
    return found


def starting(container):
    """While a container starts, a parent of the supervisor waits for the agent."""
    both = supervisors(container)
    [supervisor] = [pid for pid in both if int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]) in both]
    [waits] = set(both) - {supervisor}
    return {"supervisor": supervisor, "waits": waits}


@contextlib.contextmanager
def started(master, place, engine, prefix=(), ordinary=False, **keys):
    """An agent of the test's own configuration, executed by the program of the prefix; an ordinary one is not root."""
    a = Agent(master, place / "agent", container_runtime=engine.name, container_images_dir=str(place / "images"),
              **{"task_program": engines.static_supervisor(BUILD), **keys})
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}", "HOME": str(place)}
    a.prefix = list(prefix)
    for directory in (place, a.root) if ordinary else ():
        directory.mkdir(exist_ok=True)
        os.chown(directory, engines.NOBODY, engines.NOBODY)
    a.start()
    master.wait_agent()
    yield a
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


@APPTAINER
def test_under_an_agent_of_an_ordinary_user_nothing_of_an_image_runs_as_root(master, place, engine):
    need("nobody")
    with started(master, place, engine, engines.ordinary_user(engines.NOBODY), ordinary=True):
        end, text = run(master, ["echo $OF_THE_IMAGE"])
        assert end["code"] == 0 and text.endswith("yes\n"), end["text"]
        assert {r["uid"] for r in engine.runs()} == {engines.NOBODY}, "who ran the image"


@APPTAINER
def test_under_an_agent_of_an_ordinary_user_tasks_end_as_under_root(master, place, engine):
    """There the supervisor has neither process ids nor mounts to give."""
    need("nobody")
    with started(master, place, engine, engines.ordinary_user(engines.NOBODY), ordinary=True) as a:
        assert run(master, ["exit 7"])[0]["code"] == 7
        assert run(master, ["kill -TERM $$"])[0]["signal"] == signal.SIGTERM
        asked = start(master, ["trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.1; done"])
        killed = start(master, ["trap '' TERM; (exec setsid sleep 600) & echo ready; wait"])
        lost = start(master, ["echo ready; sleep 600"])
        for c in (asked, killed, lost):
            wait_for("its first line", lambda c=c: "ready" in master.text(c))
        links = len(master.hellos)
        a.kill()
        a.start()
        master.wait_agent(links + 1)
        master.signal(asked, signal.SIGTERM)
        master.signal(killed, signal.SIGKILL)
        assert master.finish(asked)["code"] == 3 and master.text(asked).count("asked") == 1
        assert master.finish(killed)["signal"] == signal.SIGKILL
        os.kill(supervisors(lost)[0], signal.SIGKILL)
        end = master.finish(lost)
        assert end["kind"] == "EXIT_KIND_LOST" and "the task's supervisor ended before the task" in end["text"], end
        wait_for("the end of all", lambda: not {asked, killed, lost} & set(engine.containers()))


@APPTAINER
def test_a_machine_that_permits_no_user_namespaces_is_the_cause(master, place, engine):
    need("nobody")
    with started(master, place, engine, NO_USER_NAMESPACES, ordinary=True):
        end, _ = run(master, ["true"])
        assert end["kind"] == "EXIT_KIND_START_FAILED" and engine.runs() == [], end
        assert all(words in end["text"] for words in ("refuses user namespaces to uid", "sysctl -w user.max_user_namespaces",
                                                      "container_setuid_starter: true", "a1")), end


@APPTAINER
def test_a_kill_of_the_supervisor_leaves_nothing_of_the_container(master, agent, engine):
    c = start(master, ["echo ready; sleep 600"])
    wait_for("its first line", lambda: "ready" in master.text(c))
    [supervisor] = supervisors(c)
    assert c in engine.containers()
    os.kill(supervisor, signal.SIGKILL)
    end = master.finish(c)
    assert end["kind"] == "EXIT_KIND_LOST" and "the task's supervisor ended before the task" in end["text"], end
    wait_for("the end of the container", lambda: c not in engine.containers())


@APPTAINER
def test_an_agent_that_is_killed_while_a_container_starts_finds_it_again(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "stall").touch()
    c = start(master, ["echo once"])
    wait_for("the command", lambda: len(engine.runs()) == 2)
    links = len(master.hellos)
    agent.kill()
    agent.start()
    master.wait_agent(links + 1)
    (engine.dir / "stall").unlink()
    assert master.finish(c)["code"] == 0 and master.text(c) == "once\n"
    assert len(engine.runs()) == 2, "it was not started again"


@APPTAINER
def test_a_container_that_hangs_while_it_starts_can_be_killed(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "stall").touch()
    c = start(master, ["true"])
    wait_for("the command", lambda: len(engine.runs()) == 2)
    master.signal(c, signal.SIGKILL)
    end = master.finish(c)
    assert (end["kind"], end["signal"]) == ("EXIT_KIND_SIGNALED", signal.SIGKILL), end
    (engine.dir / "stall").unlink()
    wait_for("the end of the command", lambda: c not in engine.containers())


def ask_again(master, container):
    """Waits until the agent has handled what it was sent before: it answers an order that comes twice."""
    told = len(master.states_of(container))
    master.connection.send(start=master.expected[container])
    wait_for("the agent's answer", lambda: len(master.states_of(container)) > told)


@APPTAINER
def test_a_kill_before_the_supervisor_listens_is_not_lost(master, place, engine):
    hold, held, program = place / "hold", place / "held", place / "determined-task"
    program.write_text(f"#!/bin/sh\ntouch {held}; while [ -e {hold} ]; do sleep 0.05; done; exec {engines.static_supervisor(BUILD)} \"$@\"\n")
    program.chmod(0o755)
    hold.touch()
    (engine.dir / "stall").touch()
    with started(master, place, engine, task_program=str(program)):
        c = start(master, ["true"])
        wait_for("the supervisor's program", held.exists)
        master.signal(c, signal.SIGKILL)
        ask_again(master, c)
        hold.unlink()
        end = master.finish(c)
        assert (end["kind"], end["signal"]) == ("EXIT_KIND_SIGNALED", signal.SIGKILL), end
        (engine.dir / "stall").unlink()
        wait_for("the end of the command", lambda: c not in engine.containers())


WORKERS = 4  # threads of the agent that prepare tasks (src/agent/agent.c)


class OneByOne:
    """Takes the place of Master.context_may_go: each request waits for its own word, until it is opened."""

    def __init__(self):
        self.waits, self.is_open = [], False

    def wait(self):
        event = threading.Event()
        self.waits.append(event)
        if self.is_open:
            event.set()
        event.wait()

    def open(self):
        self.is_open = True
        for event in list(self.waits):
            event.set()


@APPTAINER
def test_a_kill_while_the_files_are_handed_over_is_not_lost(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    contexts = master.context_may_go = OneByOne()
    c = start(master, ["true"])
    wait_for("the request for its context", lambda: len(contexts.waits) == 1)
    others = [start(master, ["true"]) for _ in range(WORKERS + 1)]  # as many as there are threads, and more work for these
    wait_for("the threads to be busy", lambda: len(contexts.waits) == WORKERS)
    ask_again(master, others[-1])
    contexts.waits[0].set()
    wait_for("its start", lambda: "STATE_STARTING" in master.states_of(c))
    master.signal(c, signal.SIGKILL)
    ask_again(master, c)
    contexts.open()
    assert master.finish(c)["text"] == "killed before it was started"
    for other in others:
        assert master.finish(other)["code"] == 0
    assert len(engine.runs()) == 1 + len(others)


@APPTAINER
def test_a_signal_to_a_container_that_still_starts_is_not_lost(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "stall").touch()
    c = start(master, ["sleep 600"])
    wait_for("the command", lambda: len(engine.runs()) == 2)
    os.kill(starting(c)["supervisor"], signal.SIGTERM)  # as when the machine is shut down
    (engine.dir / "stall").unlink()
    end = master.finish(c)
    assert (end["kind"], end["signal"]) == ("EXIT_KIND_SIGNALED", signal.SIGTERM), end


@APPTAINER
def test_a_kill_of_what_waits_for_a_start_loses_no_task(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "stall").touch()
    c = start(master, ["echo once; exit 4"])
    wait_for("the command", lambda: len(engine.runs()) == 2)
    os.kill(starting(c)["waits"], signal.SIGKILL)
    wait_for("the agent to notice", lambda: f"container={c}" in agent.log_text() and "from=STARTING to=RUNNING" in agent.log_text().split(c)[-1])
    (engine.dir / "stall").unlink()
    assert master.finish(c)["code"] == 4 and master.text(c) == "once\n"


@APPTAINER
def test_a_module_that_is_missing_is_explained_by_the_images_python(master, agent, engine):
    engine.add_image("det-test/python:1", {**engines.busybox_files(), "opt/bin/python3": (b"#!/bin/sh\n", 0o755), "env": (b"PATH=/opt/bin:/bin\n", 0o644)})
    end, text = run(master, ["echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1"], image="det-test/python:1")
    assert end["code"] == 1 and "torch" in text.splitlines()[-1] and "/opt/bin/python3" in text, text


@APPTAINER
def test_a_signal_that_is_sent_once_arrives_once(master, agent, engine):
    c = start(master, ["trap 'echo asked' TERM; echo ready; while [ ! -f go ]; do sleep 0.05; done; true"])
    wait_for("its first line", lambda: "ready" in master.text(c))
    master.signal(c, signal.SIGTERM)
    wait_for("the signal", lambda: "asked" in master.text(c))
    (agent.root / "tasks" / c / "run" / "workdir" / "go").touch()
    end = master.finish(c)
    assert end["code"] == 0 and master.text(c).count("asked") == 1, (end, master.text(c))


def test_the_credentials_of_a_registry_reach_the_pull_alone(master, agent, engine):
    end, text = run(master, ["true"], registryAuth=json.dumps({"username": "u", "password": "hush-hush"}))
    assert end["kind"] == "EXIT_KIND_REFUSED" and "authentication required" in end["text"] and "environment.registry_auth" in end["text"]
    assert "hush" not in agent.log_text() + text + str(engine.calls())
    end, _ = run(master, ["env | grep -i docker_password"], registryAuth=json.dumps({"username": "u", "password": "right"}))
    assert end["code"] == 1


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_disk_that_is_full_in_the_middle_of_a_pull_leaves_no_part_of_an_image(master, agent, engine, place):
    (engine.dir / "full").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end  # of the machine, and no mistake of the task
    assert "no space left on device" in end["text"] and f"make room on this machine, in container_images_dir ({place}/images)" in end["text"]
    assert list((place / "images").iterdir()) == []
    (engine.dir / "full").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_kill_ends_a_pull(master, agent, engine, place):
    (engine.dir / "hang").touch()
    c = start(master, ["true"])
    wait_for("the pull", lambda: engine.calls("pull"))
    master.signal(c, signal.SIGKILL)
    assert master.finish(c)["text"] == "killed before it was started"
    assert list((place / "images").iterdir()) == []
    (engine.dir / "hang").unlink()


def unfinished(place):
    return sorted(path.name for path in (place / "images").glob("*.unfinished"))


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_agent_removes_its_own_unfinished_pulls_and_old_ones_of_other_agents(master, agent, engine, place):
    """The directory of images may belong to several agents, on one machine or on several."""
    (engine.dir / "hang").touch()
    c = start(master, ["true"])
    [call] = wait_for("the pull", lambda: engine.calls("pull"))
    own = pathlib.Path(call[2])
    links = len(master.hellos)
    agent.kill()
    own.touch()
    (place / "images" / "0123456789abcdef.running.unfinished").touch()
    (place / "images" / "0123456789abcdef.ended.unfinished").touch()
    os.utime(place / "images" / "0123456789abcdef.ended.unfinished", (0, 0))
    os.rename(agent.root / "tasks" / c, place / "hidden")  # nobody waits for this pull any more
    agent.start()
    master.wait_agent(links + 1)
    wait_for("the removal of the parts", lambda: unfinished(place) == ["0123456789abcdef.running.unfinished"])
    assert master.finish(c)["kind"] == "EXIT_KIND_LOST"
    (engine.dir / "hang").unlink()


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_device_has_its_own_path_or_is_refused(master, agent, engine):
    devices = [{"hostPath": "/dev/full", "containerPath": "/dev/mine", "mode": "rw"}]
    end, _ = run(master, ["true"], devices=devices)
    assert end["kind"] == "EXIT_KIND_REFUSED" and "/dev/full cannot be /dev/mine" in end["text"]
    end, text = run(master, ["ls -l /dev/full"], devices=[{**devices[0], "containerPath": "/dev/full"}])
    assert end["code"] == 0 and text.splitlines()[-1].startswith("c"), text


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_pull_goes_by_the_proxies_of_the_agent(master, place, engine):
    a = Agent(master, place / "agent", container_runtime="apptainer", task_program=engines.static_supervisor(BUILD),
              container_images_dir=str(place / "images"), https_proxy="http://proxy.invalid:3128", no_proxy="10.0.0.0/8,127.0.0.1")
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}"}
    a.start()
    master.wait_agent()
    assert run(master, ["true"])[0]["code"] == 0
    told = json.loads((engine.dir / "proxies").read_text())
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://proxy.invalid:3128" and told["NO_PROXY"] == "10.0.0.0/8,127.0.0.1", told
    assert a.kill(signal.SIGTERM) == 0, a.log_text()
