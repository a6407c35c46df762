"""What holds for a task whatever runs it: the same cases as a process of the machine, in a container of Docker, of Podman, and of Apptainer, for which
a stand-in takes the command lines (support/apptainer.py). Engines that cannot be started here are skipped, with the reason."""
import contextlib
import json
import os
import pathlib
import signal
import stat
import tempfile

import pytest
from support import apptainer, engines
from support.fake_master.agents import BUILD, OWNER, Agent, Master
from support.waiting import wait_for

RUNTIMES = ("process", "docker", "podman", "podman-rootless", "apptainer")
ROOT = os.geteuid() == 0


NAP = str(1000000 + os.getpid())  # seconds that no other process of this machine sleeps


def naps():
    """Whether a task still sleeps NAP seconds."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if entry.read_bytes().split(b"\0")[-3:-1] == [b"sleep", NAP.encode()]:
                return True
    return False


class World:
    """A master, an agent with one runtime, and the engine of that runtime."""

    def __init__(self, runtime, engine=None):
        self.runtime = runtime.removesuffix("-rootless")
        self.rootless = runtime != self.runtime
        self.engine = None if runtime == "process" else engine or (
            apptainer.Apptainer(runtime) if runtime == "apptainer" else engines.start(runtime))
        self.dir = tempfile.TemporaryDirectory()
        self.place = pathlib.Path(self.dir.name)
        self.place.chmod(0o755)
        self.master = Master()
        keys = {} if runtime == "process" else {"task_program": engines.static_supervisor(BUILD)}
        if runtime == "apptainer":
            keys |= {"container_images_dir": str(self.place / "images")}
        elif runtime != "process":
            keys["container_socket"] = self.engine.socket
        self.agent = Agent(self.master, self.place / "agent", container_runtime=self.runtime, **keys)
        if runtime == "apptainer":
            self.agent.environment = {"PATH": f"{self.engine.path}:{os.environ['PATH']}"}
        if self.rootless:
            os.chown(self.place, engines.NOBODY, engines.NOBODY)
            self.agent.prefix = engines.ordinary_user(engines.NOBODY)
            self.agent.root.mkdir()
            os.chown(self.agent.root, engines.NOBODY, engines.NOBODY)
            self.agent.environment = {"HOME": str(self.place)}
        self.agent.start()
        self.master.wait_agent()
        if runtime == "apptainer":
            self.run(["true"])  # pulls the image, which the tasks' logs would tell

    def start(self, argv, image=engines.IMAGE, container=None, **more):
        return self.master.start(argv, image=image, more_container={"imageNamed": True, "networkMode": "host", **(container or {})}, **more)

    def run(self, argv, **more):
        c = self.start(argv, **more)
        return self.master.finish(c), self.master.text(c)

    def restart_agent(self):
        links = len(self.master.hellos)
        self.agent.kill()
        self.agent.start()
        self.master.wait_agent(links + 1)

    def directory(self, container):
        """The task's own directory. Directories of tasks that have ended may still be there."""
        return self.agent.root / "tasks" / container

    def workdir(self, container):
        return self.directory(container) / "run" / "workdir"

    def wait_removed(self):
        try:
            wait_for("the removal of the container", lambda: self.leftovers() == [])
        except AssertionError as e:
            log = [line for line in self.agent.log_text().splitlines() if "agent.container" in line or "engine" in line]
            raise AssertionError("\n".join([str(e), json.dumps(self.leftovers(), indent=1), *log])) from None

    def leftovers(self):
        return self.engine.containers() if self.engine else []

    def end(self):
        for container in list(self.master.expected):
            if container not in self.master.done:
                self.master.signal(container, signal.SIGKILL)
                self.master.finish(container)
        wait_for("the removal of the tasks' directories", lambda: self.agent.task_dirs() == [])
        assert self.leftovers() == []
        assert self.agent.kill(signal.SIGTERM) == 0, self.agent.log_text()
        self.master.close()
        self.dir.cleanup()
        if self.runtime == "apptainer":
            self.engine.end()


@pytest.fixture(scope="module", params=RUNTIMES)
def world(request):
    try:
        w = World(request.param)
    except engines.Missing as why:
        pytest.skip(str(why))
    yield w
    w.end()


# A container of Podman without root takes seconds to start here. What differs there is tried always, the rest with
# DET_TEST_ROOTLESS=all (two minutes).
WITHOUT_ROOT = ("runs_where", "files_are_there", "mounts_is_there", "kill_ends_everything", "hundred_thousand", "could_not_reach", "killed_agent")


@pytest.fixture(autouse=True)
def enough(request):
    if "world" not in request.fixturenames:
        return
    world = request.getfixturevalue("world")
    chosen = any(words in request.node.name for words in WITHOUT_ROOT) or os.environ.get("DET_TEST_ROOTLESS") == "all"
    if world.rootless and not chosen:
        pytest.skip("without root only some cases are tried; DET_TEST_ROOTLESS=all tries the others")


@pytest.fixture
def shared():
    """A directory outside of the agent's, which everybody can enter."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


def test_a_task_runs_where_its_configuration_says(world):
    end, text = world.run(["cat /in-image 2>/dev/null || echo no image"])
    assert (end["kind"], end["code"]) == ("EXIT_KIND_EXITED", 0)
    assert text == ("no image\n" if world.runtime == "process" else "of the image\n")


def test_the_master_is_told_what_the_engine_calls_the_container(world):
    c = world.start(["sleep", NAP])
    wait_for("the task to run", lambda: "STATE_RUNNING" in world.master.states_of(c))
    [told] = [s.get("runtimeId") or "" for s in world.master.states if s["containerId"] == c and s["state"] == "STATE_RUNNING"]
    assert told == (world.engine.inspect(c)["Id"] if world.runtime in ("docker", "podman") else "")
    world.master.signal(c, signal.SIGKILL)
    world.master.finish(c)


def test_its_environment_is_that_of_the_contract(world):
    _, text = world.run(["env"], more_env=["MINE=user's", "DET_AGENT_ID=forged"])
    env = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert env["MINE"] == "user's" and env["DET_AGENT_ID"] == "a1" and env["DET_SLOT_IDS"] == "[0]"
    assert env["DET_WORKDIR"] == env["PWD"] == f"{env['DET_RUN_DIR']}/workdir"
    assert env["PYTHONPATH"] and env["PATH"].startswith(f"{env['DET_RUN_DIR']}/pythonuserbase/bin:")
    if world.runtime != "process":
        assert env["DET_RUN_DIR"] == "/run/determined"


def test_its_files_are_there_and_its_library_cannot_be_changed(world):
    _, text = world.run(["cat /run/determined/info/cluster.json; echo; ls $PYTHONPATH/determined/__init__.py; "
                         "touch $PYTHONPATH/determined/mine 2>&1; echo >/tmp/mine && cat given"],
                        files=[{"path": "/run/determined/workdir/given", "mode": 0o644, "content": "Z2l2ZW4K"}])
    assert json.loads(text.splitlines()[0])["task_id"] == "1.task"
    assert "determined/__init__.py\n" in text and ("denied" in text or "Read-only" in text) and text.endswith("given\n")


@pytest.mark.skipif(not ROOT, reason="only root can run tasks as other users")
def test_it_runs_as_its_owners_own_user_and_gains_no_rights(world):
    if world.rootless:
        pytest.skip("the agent is an ordinary user, and runs all tasks as that user")
    _, text = world.run(["id -u; grep -E 'NoNewPrivs|CapEff' /proc/self/status; ls /run/determined.supervisor 2>&1; true"])
    lines = text.split()
    assert lines[0] == str(2000000 + OWNER)
    assert ["NoNewPrivs:", "1"] == lines[lines.index("NoNewPrivs:"):][:2] and ["CapEff:", "0000000000000000"] == lines[lines.index("CapEff:"):][:2]
    assert "denied" in text or "No such file" in text


def test_what_the_order_mounts_is_there(world, shared):
    (shared / "in").mkdir()
    (shared / "in" / "file").write_text("mounted\n")
    (shared / "out").mkdir()
    (shared / "out").chmod(0o777)
    end, text = world.run(["cat data/file; touch data/no 2>&1; echo yes >/mnt/made"], bindMounts=[
        {"hostPath": str(shared / "in"), "containerPath": "data", "readOnly": True, "propagation": "rprivate"},
        {"hostPath": str(shared / "out"), "containerPath": "/mnt"}])
    assert end["code"] == 0, text
    assert text.startswith("mounted\n") and "ead-only" in text and (shared / "out" / "made").read_text() == "yes\n"


def test_a_working_directory_that_is_missing_is_the_tasks_mistake(world):
    end, _ = world.run(["true"], workDir="/no/such/place")
    assert end["kind"] == "EXIT_KIND_REFUSED" and "/no/such/place" in end["text"]


def test_exit_status_and_signal_are_told(world):
    assert world.run(["exit 7"])[0]["code"] == 7
    end, _ = world.run(["kill -TERM $$"])
    assert (end["kind"], end["signal"]) == ("EXIT_KIND_SIGNALED", signal.SIGTERM)
    end, text = world.run(["/no/such/program", "x"])
    assert end["code"] == 127 and "/no/such/program" in text


def test_a_signal_reaches_the_task_which_may_end_in_its_own_time(world):
    c = world.start(["trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.1; done"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    world.master.signal(c, signal.SIGTERM)
    end = world.master.finish(c)
    assert end["code"] == 3 and "asked\n" in world.master.text(c)


def test_a_kill_ends_everything_that_the_task_has_started(world):
    c = world.start([f"trap '' TERM; (trap '' TERM; exec setsid sleep {NAP}) & sleep {NAP} & echo ready; wait"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    world.master.signal(c, signal.SIGKILL)
    assert world.master.finish(c)["signal"] == signal.SIGKILL
    wait_for("the end of all", lambda: not naps())


def test_a_kill_in_the_beginning_is_not_lost(world):
    c = world.start([f"sleep {NAP}"])
    world.master.signal(c, signal.SIGKILL)
    assert world.master.finish(c)["kind"] == "EXIT_KIND_SIGNALED"
    wait_for("the end of all", lambda: not naps())


def test_a_hundred_thousand_lines_arrive_once_though_the_agent_is_killed(world):
    c = world.start(["seq 1 50000; touch half; while [ ! -f go ]; do sleep 0.05; done; seq 50001 100000"])
    wait_for("the first half", lambda: len(world.master.lines.get(c, {})) >= 20000)
    world.restart_agent()
    run = world.workdir(c)
    wait_for("the end of the first half", (run / "half").exists)
    (run / "go").touch()
    assert world.master.finish(c)["code"] == 0
    assert world.master.text(c) == "".join(f"{n}\n" for n in range(1, 100001))


def test_two_tasks_run_at_once(world):
    both = [world.start(["echo ready; while [ ! -f go ]; do sleep 0.05; done; echo $DET_CONTAINER_ID"]) for _ in range(2)]
    for c in both:
        wait_for("its first line", lambda c=c: "ready" in world.master.text(c))
    for c in both:
        (world.workdir(c) / "go").touch()
    for c in both:
        assert world.master.finish(c)["code"] == 0 and world.master.text(c) == f"ready\n{c}\n"


@pytest.mark.skipif(not ROOT, reason="limits are control groups of a root agent or of an engine of root")
@pytest.mark.parametrize("limits, script, said", [
    ({"memoryBytes": str(100 << 20)}, "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo CAME-THROUGH", "out of memory: the task used 100 MiB, its limit"),
    ({"diskBytes": str(20 << 20)}, "head -c 60000000 /dev/zero >big; sleep 600", "in its own directory, its limit is 20 MiB"),
], ids=["memory", "disk"])
def test_a_task_that_takes_more_than_its_limit_ends_and_says_which(world, limits, script, said):
    if world.rootless:
        pytest.skip("Podman without root sets limits of memory only with version 2 of control groups")
    c = world.start([script], limits=limits)
    end = world.master.finish(c)
    assert said in end.get("text", "") and "CAME-THROUGH" not in world.master.text(c), (end, world.master.text(c))


def test_orders_that_are_no_business_of_processes_do_not_disturb_them(world):
    if world.runtime != "process":
        pytest.skip("it is about processes")
    assert world.run(["true"], container={"networkMode": "bridge", "addCapabilities": ["SYS_ADMIN"], "forcePull": True})[0]["code"] == 0


# ---- containers only -------------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(world):
    if world.runtime == "process":
        pytest.skip("it is about containers")
    return world.engine


@pytest.fixture
def service(world, engine):
    if world.runtime == "apptainer":
        pytest.skip("it is about an engine that has a service, and Apptainer has none")
    return engine


@pytest.mark.parametrize("more, words", [
    ({"image": "det-test/no-such-image:9"}, ["det-test/no-such-image:9", "cannot be pulled"]),
    ({"image": "not a name"}, ["environment.image", "not a name"]),
    ({"image": "../containers/json?x"}, ["environment.image"]),
    ({"image": engines.WITHOUT_SHELL}, [engines.WITHOUT_SHELL, "has no shell", "/bin/bash", "/bin/sh"]),
    ({"image": engines.RUN_IS_A_FILE}, []),  # each engine has words of its own
    ({"image": engines.OTHER_PROCESSOR}, ["another kind of processor", "/bin/sh"]),
    ({"bindMounts": [{"hostPath": "/no/such/dir", "containerPath": "/data"}]}, ["/no/such/dir", "does not exist", "a1"]),
    ({"container": {"devices": [{"hostPath": "/dev/no-such", "containerPath": "/dev/x", "mode": "mrw"}]}},
     ["resources.devices", "/dev/no-such", "does not exist"]),
    ({"limits": {"memoryBytes": str(1 << 30), "shmBytes": str(2 << 30)}}, ["resources.shm_size", "2147483648", "1073741824"]),
    ({"python": {"requirements": "numpy\n"}}, ["environment.python", "image"]),
])
def test_what_cannot_run_in_a_container_is_refused_with_one_cause(world, engine, more, words):
    end, _ = world.run(["true"], **more)
    assert end["kind"] == "EXIT_KIND_REFUSED", end
    assert all(word in end["text"] for word in words), end


@pytest.mark.skipif(not ROOT, reason="only root can run tasks as other users")
def test_a_mount_shows_nothing_that_the_task_could_not_reach(world, engine, shared):
    (shared / "closed").mkdir(mode=0o700)
    (shared / "closed" / "open").mkdir(mode=0o755)
    end, _ = world.run(["ls /mnt"], bindMounts=[{"hostPath": str(shared / "closed" / "open"), "containerPath": "/mnt"}])
    assert end["kind"] == "EXIT_KIND_REFUSED" and ("Permission denied" if world.rootless else "may not reach it") in end["text"]


def test_shared_memory_is_half_of_the_memory_unless_it_is_said(world, engine):
    size = "df -k /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2"
    assert world.run([size], limits={"memoryBytes": str(1 << 30)})[1] == f"{512 * 1024}\n"
    assert world.run([size], limits={"shmBytes": str(64 << 20)})[1] == f"{64 * 1024}\n"


def test_a_container_has_labels_limits_and_no_privileges(world, service):
    c = world.start(["echo ready; sleep 600"], limits={"memoryBytes": str(1 << 30), "pids": 100}, description="exp-1-trial-2")
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    seen = service.inspect(c)
    labels, host = seen["Config"]["Labels"], seen["HostConfig"]
    assert {k.removeprefix("ai.determined.container."): v for k, v in labels.items()}.items() >= {
        "type": "task-container", "id": c, "agent": "a1", "devices": "0", "description": "exp-1-trial-2",
        "cluster": world.master.cluster}.items()
    assert not host["Privileged"] and host["NetworkMode"] == "host" and host["RestartPolicy"]["Name"] in ("", "no")
    if host["Memory"]:
        assert host["Memory"] == 1 << 30
    world.master.signal(c, signal.SIGKILL)
    world.master.finish(c)


def test_a_device_and_the_entrypoint_of_an_image_are_used(world, service):
    end, text = world.run(["ls -l /dev/mine"], container={"devices": [{"hostPath": "/dev/full", "containerPath": "/dev/mine", "mode": "rw"}]})
    assert end["code"] == 0 and text.startswith("c"), text


def test_a_container_that_somebody_kills_is_lost_with_a_reason(world, engine):
    c = world.start([f"echo ready; sleep {NAP}"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    engine.kill(c)
    end = world.master.finish(c)
    assert end["kind"] == "EXIT_KIND_LOST" and "container ended before the task" in end["text"]
    assert world.master.text(c) == "ready\n"


def test_a_container_that_its_engine_stops_is_lost_however_the_task_ends(world, service):
    """As when dockerd is started again: that is no failure of the task, and no success."""
    c = world.start(["trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    status, body = service.request("POST", f"/v1.40/containers/determined-{c}/stop?t=60")
    assert status < 300, body
    end = world.master.finish(c)
    assert end["kind"] == "EXIT_KIND_LOST" and "stopped from outside" in end["text"], end
    assert "ready\n" in world.master.text(c) and end["text"] in world.master.text(c)


def test_what_a_killed_agent_has_left_is_removed(world, engine):
    c = world.start([f"echo ready; sleep {NAP}"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    world.agent.kill()
    directory = world.directory(c)
    os.rename(directory, world.place / "hidden")  # as if the agent had been killed before it made it
    links = len(world.master.hellos)
    world.agent.start()
    world.master.wait_agent(links + 1)
    assert world.master.finish(c)["kind"] == "EXIT_KIND_LOST"
    world.wait_removed()
    assert not naps()


def test_an_engine_that_is_away_disturbs_no_task_that_runs(world, engine):
    c = world.start(["echo ready; while [ ! -f go ]; do sleep 0.05; done; seq 1 1000"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    engine.away()
    try:
        world.restart_agent()
        run = world.workdir(c)
        (run / "go").touch()
        assert world.master.finish(c)["code"] == 0
        refused = world.start(["true"])
        end = world.master.finish(refused)
        assert end["kind"] == "EXIT_KIND_START_FAILED" and "no container engine answers" in end["text"]
    finally:
        engine.back()
    assert world.master.text(c) == "ready\n" + "".join(f"{n}\n" for n in range(1, 1001))
    world.wait_removed()  # the agent looks again for what was left meanwhile


def test_an_engine_that_hangs_in_mid_task_holds_nothing_up(world, service):
    c = world.start(["echo ready; while [ ! -f go ]; do sleep 0.05; done; seq 1 1000; exit 5"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    run = world.workdir(c)
    service.process.send_signal(signal.SIGSTOP)
    try:
        (run / "go").touch()
        assert world.master.finish(c)["code"] == 5
        other = world.start(["true"])  # waits for the engine, and can be killed
        wait_for("the order", lambda: f"task.order container={other}" in world.agent.log_text())
        world.master.signal(other, signal.SIGKILL)
        assert world.master.finish(other)["kind"] == "EXIT_KIND_SIGNALED"
    finally:
        service.process.send_signal(signal.SIGCONT)
    world.wait_removed()


def test_an_image_is_pulled_again_if_the_order_says_so(world, engine):
    end, text = world.run(["true"], container={"forcePull": True, "registryAuth": json.dumps({"username": "u", "password": "hush-hush"})})
    assert end["kind"] == "EXIT_KIND_REFUSED" and "cannot be pulled" in end["text"]
    assert f"Pulling image {engines.IMAGE} with {world.runtime}" in text
    assert "hush-hush" not in world.agent.log_text() + text + end["text"]


def test_the_supervisors_directory_is_closed_to_others(world):
    c = world.start(["echo ready; sleep 600"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    directory = world.directory(c)
    assert stat.S_IMODE((directory / "supervisor").stat().st_mode) == 0o700
    world.master.signal(c, signal.SIGKILL)
    world.master.finish(c)


def test_an_engine_that_is_killed_in_mid_task_loses_no_line():
    """The engine is this test's own, since one that was killed may not start again for some time."""
    try:
        world = World("docker", engines.make("docker"))
    except engines.Missing as why:
        pytest.skip(str(why))
    c = world.start(["echo ready; while [ ! -f go ]; do sleep 0.05; done; seq 1 20000; exit 5"])
    wait_for("its first line", lambda: "ready" in world.master.text(c))
    run = world.workdir(c)
    world.engine.stop(signal.SIGKILL)
    (run / "go").touch()
    assert world.master.finish(c)["code"] == 5
    assert world.master.text(c) == "ready\n" + "".join(f"{n}\n" for n in range(1, 20001))
    wait_for("the removal of the task's directory", lambda: world.agent.task_dirs() == [])
    assert world.agent.kill(signal.SIGTERM) == 0
    world.master.close()
    world.engine.end()
