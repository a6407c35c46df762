"""kill -9 of everything that has to do with tasks in containers, under load: the engine, containers, supervisors, the agent, the master. No
container, process or slot is left over, and nothing acknowledged is lost or doubled.

DET_FAULT_KILLS says how often (default 10; `make faults`: 200), DET_TEST_SEED repeats a run. The engine is a dockerd of this file's own
(tests/support/engines.py). One without --live-restore ends its containers when it is started again, as Docker does unless it is told otherwise.
"""
import contextlib
import os
import pathlib
import random
import signal
import time

import pytest
from e2e.test_containers import MACHINES_PYTHON
from e2e.test_survival import Creator, reporter, reports, running
from fault.disks import small_disk
from fault.journal import Load
from support import engines
from support.cluster import BUILD, wait_for
from support.experiments import final_states, log_of, shell, task_lines, the_trial, wait_file, wait_slots_free
from support.processes import alive
from support.registry import Registry

KILLS = int(os.environ.get("DET_FAULT_KILLS", "10"))
STEPS, LINES = 4, 50  # of a trial, and lines in each step: no checkpoint, so a trial that runs again begins from nothing
pytestmark = pytest.mark.skipif(os.environ.get("DET_TEST_DB") == "postgres", reason="is about agents and engines, which know no database")


@contextlib.contextmanager
def docker(*more):
    try:
        engine = engines.make("docker", more)
    except engines.Missing as why:
        pytest.skip(str(why))
    try:
        yield engine
    finally:
        engine.end()


def in_containers(engine, slots):
    return {"slots": slots, "container_runtime": "docker", "container_socket": engine.socket, "task_program": engines.static_supervisor(BUILD)}


def image(*mounts):
    """Configuration of a trial in the image of this file's engine, with the machine's Python."""
    return {"environment": {"image": engines.IMAGE},
            "bind_mounts": [*MACHINES_PYTHON, *({"host_path": str(place), "container_path": str(place)} for place in mounts)]}


class InContainers(Creator):
    """Creates trials as long as fewer than some have not reached their end."""

    def create(self):
        if len(self.made) - sum(self.has_ended(place) for place in self.place.glob("trial-*")) < 6:
            self.made.append(reporter(self.cluster, self.place, STEPS, 0.1, LINES, **image(self.place)))

    @staticmethod
    def has_ended(place):
        return f"metric {STEPS}\n" in place.read_text()


class Killer:
    """Kills one thing after the other, in a random order in which each kind comes as often as the others."""

    def __init__(self, cluster, engine, rng):
        self.cluster, self.engine, self.rng = cluster, engine, rng
        self.kinds = {"dockerd": self.dockerd, "containers": self.container, "supervisors": self.supervisor, "the agent": self.agent,
                      "the master": self.master}
        self.counts = dict.fromkeys(self.kinds, 0)
        self.next = []

    def kill(self):
        if not self.next:
            self.next = self.rng.sample(list(self.kinds), len(self.kinds))
        kind = self.next.pop()
        self.counts[kind] += self.kinds[kind]()

    def dockerd(self):
        self.engine.stop(signal.SIGKILL)
        time.sleep(self.rng.uniform(0, 0.3))  # how long it is away
        self.engine.start_again()
        return 1

    def agent(self):
        self.cluster.stop_agent(signo=signal.SIGKILL)
        time.sleep(self.rng.uniform(0, 0.3))  # how long it is away
        self.cluster.start_agent(**in_containers(self.engine, slots=3))
        return 1

    def master(self):
        self.cluster.stop_master(signal.SIGKILL)
        time.sleep(self.rng.uniform(0, 0.3))  # how long it is away
        self.cluster.start_master()
        return 1

    def container(self):
        """By the engine: killed, or removed as a whole."""
        one = self.rng.choice(wait_for("a container", self.engine.containers))["Id"]
        if self.rng.random() < 0.5:
            status, _ = self.engine.request("POST", f"/v1.40/containers/{one}/kill")
        else:
            status, _ = self.engine.request("DELETE", f"/v1.40/containers/{one}?force=true")
        return status < 300

    def supervisor(self):
        """By its process id: the engine has no part in it."""
        pids = wait_for("a supervisor", self.supervisor_pids)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.rng.choice(pids), signal.SIGKILL)
            return 1
        return 0

    def supervisor_pids(self):
        found = []
        for pid in processes("--container", "/run/determined.supervisor"):
            with contextlib.suppress(OSError):
                if str(self.engine.dir) in parents(pid):
                    found.append(pid)
        return found


def processes(*words):
    """Ids of the processes whose command line has all of these texts."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
            if all(word in line for word in words) and int(entry.name) != os.getpid() and alive(int(entry.name)):
                found.append(int(entry.name))
    return found


def parents(pid):
    """The command line of the process above this one: a container's first process is below its shim, which names the engine's directory."""
    parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pathlib.Path(f"/proc/{parent}/cmdline").read_bytes().decode(errors="replace")


def printed(cluster, trial):
    """What the task has printed. The supervisor tells among these lines why an engine's request to end is no end of the trial."""
    return [line for line in task_lines(cluster, trial["id"]) if not line.startswith("the task's container was stopped from outside")]


def check_trial(cluster, place, experiment):
    """Each run of the trial has left the first lines without a gap and none twice, the last run all. What was acknowledged is stored."""
    trial, everything = the_trial(cluster, experiment), [f"line {n}" for n in range(1, STEPS * LINES + 1)] + ["done"]
    runs = []
    for line in printed(cluster, trial):
        if line.startswith("pid "):
            runs.append([])
        else:
            runs[-1].append(line)
    for lines in runs:
        assert lines == everything[:len(lines)], f"trial {trial['id']}: {lines}"
    assert runs and runs[-1] == everything, f"trial {trial['id']}: {runs}"
    assert reports(cluster, trial["id"]) == list(range(1, STEPS + 1))
    acknowledged = {int(line.split()[1]) for line in (place / f"trial-{trial['id']}").read_text().splitlines()}
    assert acknowledged == set(range(1, STEPS + 1)) and trial["restarts"] == 0
    return len(runs), sum(map(len, runs))


def in_any_container(cluster):
    """Command lines of the processes that see the directory of a task of this cluster, which is mounted in its container."""
    found, tasks = [], str(cluster.dir / "agent0" / "tasks")
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if tasks in (entry / "mountinfo").read_text() and alive(int(entry.name)):
                found.append((entry / "cmdline").read_bytes())
    return found


def nothing_is_left(cluster, engine):
    """A dockerd that is killed while it begins a container may leave containerd's shim and runc's first process of it (`runc init`), which never
    executes the task, and which Docker does not know any more when it is back. The agent ends them. Returns how many it has ended."""
    wait_slots_free(cluster)
    wait_for("the removal of all containers", lambda: engine.containers() == [])
    wait_for("the end of all processes in containers", lambda: in_any_container(cluster) == [])
    wait_for("the removal of the tasks' directories", lambda: not [d for d in (cluster.dir / "agent0" / "tasks").iterdir() if d.is_dir()])
    return (cluster.dir / "agent0.log").read_text(errors="replace").count("agent.container_unborn ")


@pytest.mark.parametrize("more", [[], ["--live-restore"]], ids=["default", "live-restore"])
def test_kills_of_all_that_runs_containers(new_cluster, tmp_path, more):
    seed = int(os.environ.get("DET_TEST_SEED", random.SystemRandom().randrange(1 << 30)))
    print(f"DET_TEST_SEED={seed}")
    rng = random.Random(seed)
    place = tmp_path / "place"
    place.mkdir()
    with docker(*more) as engine:
        cluster = running(new_cluster, **in_containers(engine, slots=3))
        creator, load, killer = InContainers(cluster, place, STEPS), Load(cluster, pause_s=0.05), Killer(cluster, engine, rng)
        creator.start()
        wait_for("the first container", engine.containers)
        while sum(killer.counts.values()) < KILLS:
            time.sleep(rng.uniform(0, 0.5))  # a moment chosen at random
            killer.kill()
            assert creator.failure is None, repr(creator.failure)
        creator.stop.set()
        creator.join()
        load.finish()
        acknowledged = load.check()
        states = final_states(cluster, creator.made)
        assert [log_of(cluster, x) for x, state in states.items() if state != "STATE_COMPLETED"] == []
        runs, lines = map(sum, zip(*(check_trial(cluster, place, x) for x in creator.made)))
        unborn = nothing_is_left(cluster, engine)
        counts = ", ".join(f"{n} of {what}" for what, n in killer.counts.items())
        print(f"\nfaults: containers ({' '.join(more) or 'default'}): {counts} killed, {unborn} processes of runc ended that were left; {len(creator.made)} trials ran to their end in {runs} runs "
              f"with {lines} lines; acknowledged of sent: {acknowledged}")


# ---- one fault at a time ----


@pytest.mark.parametrize("survives", [False, True], ids=["default", "live-restore"])
def test_dockerd_is_killed_and_started_again_while_a_trial_runs(new_cluster, tmp_path, survives):
    with docker(*(["--live-restore"] if survives else [])) as engine:
        cluster = running(new_cluster, **in_containers(engine, slots=1))
        x = shell(cluster, f"echo run >>{tmp_path}/runs; seq 1 1000; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; seq 1001 2000",
                  **image(tmp_path))
        wait_file(tmp_path / "runs")
        engine.stop(signal.SIGKILL)
        engine.start_again()
        if not survives:
            wait_for("the second run", lambda: (tmp_path / "runs").read_text() == "run\nrun\n")
        (tmp_path / "go").touch()
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
        lines, whole = printed(cluster, the_trial(cluster, x)), [str(n) for n in range(1, 2001)]
        assert lines[-2000:] == whole and lines[:-2000] == ([] if survives else whole[:len(lines) - 2000])
        assert the_trial(cluster, x)["restarts"] == 0
        assert (tmp_path / "runs").read_text() == ("run\n" if survives else "run\nrun\n")
        nothing_is_left(cluster, engine)


def slow_runtime(place):
    """A runtime for Docker: runc, whose `create` is answered only when the file `go` is there. It has made the container by then."""
    script = place / "slow-runc"
    script.write_text(f"#!/bin/sh\ncase \" $* \" in *' create '*) runc \"$@\"; S=$?; : >{place}/begun\n"
                      f"while [ ! -e {place}/go ]; do sleep 0.05; done; exit $S;; esac\nexec runc \"$@\"\n")
    script.chmod(0o755)
    return ["--add-runtime", f"slow={script}", "--default-runtime", "slow"]


def shims(engine):
    return [pid for pid in processes("containerd-shim", "-id") if str(engine.dir).encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.parametrize("agent_dies", [False, True], ids=["dockerd", "dockerd and agent"])
@pytest.mark.parametrize("more", [[], ["--live-restore"]], ids=["default", "live-restore"])
def test_dockerd_is_killed_between_making_and_starting_a_container(new_cluster, tmp_path, more, agent_dies):
    """Docker has forgotten the container when it is back. The agent ends what runc has left of it, and the trial runs in another one."""
    with docker(*more, *slow_runtime(tmp_path)) as engine:
        cluster = running(new_cluster, **in_containers(engine, slots=1))
        x = shell(cluster, f"echo run >>{tmp_path}/runs", **image(tmp_path))
        wait_for("the container that is made", (tmp_path / "begun").exists)
        if agent_dies:
            cluster.stop_agent(signo=signal.SIGKILL)
        engine.stop(signal.SIGKILL)
        assert in_any_container(cluster) == [b"runc\0init\0"]
        (tmp_path / "go").touch()
        engine.start_again()
        if agent_dies:
            cluster.start_agent(**in_containers(engine, slots=1))
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
        assert nothing_is_left(cluster, engine) == 1
        wait_for("the end of the shims", lambda: shims(engine) == [])
        assert (tmp_path / "runs").read_text() == "run\n" and the_trial(cluster, x)["restarts"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_disk_that_is_full_in_the_middle_of_a_pull_is_a_fault_of_the_machine(new_cluster, tmp_path):
    """The image fits once the disk has room again: the same trial runs then."""
    with Registry() as registry, small_disk(tmp_path / "disk", mib=64) as disk, docker("--data-root", disk) as engine:
        name = registry.add("big:1", [engines.busybox_files(), {"filler": (bytes(32 << 20), 0o644)}])
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(40 << 20))
        cluster = running(new_cluster, **in_containers(engine, slots=1))
        x = cluster.create(entrypoint=["sh", "-c", "cat /in-image"], environment={"image": name})
        wait_for("the cause in the log", lambda: "no space left on device" in log_of(cluster, x))
        assert cluster.experiment(x)["state"] not in ("STATE_ERROR", "STATE_COMPLETED")
        ballast.unlink()
        assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
        log = log_of(cluster, x)
        assert "of the image" in log and f"the image {name} cannot be pulled: docker says: " in log, log
        assert the_trial(cluster, x)["restarts"] == 0
        nothing_is_left(cluster, engine)
