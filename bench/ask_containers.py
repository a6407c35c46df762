"""Questions about tasks in containers of Docker, beside a bare `docker run` of the same image; and what an agent and its supervisors take.

The engine is a dockerd that is started here, with a small image (tests/support/engines.py). Without Docker, or without root, what needs it is left
out.
"""
import contextlib
import subprocess
import sys
import time

from ask_tasks import LINE, LINES, Client, check_complete, experiment_body, relay
from harness import BUILD, Row, directory, question, running_master, settled_pss_mb
from support import engines
from support.fake_master import agents
from support.processes import alive

AT_ONCE = 20
PROCESSES = 100
ORDER = {"image": engines.IMAGE, "more_container": {"imageNamed": True, "networkMode": "host"}, "fetchContext": False}


@contextlib.contextmanager
def docker():
    """The engine, or None with the reason on screen."""
    try:
        engine = engines.make("docker")
    except engines.Missing as why:
        print(f"left out: {why}", file=sys.stderr)
        yield None
        return
    try:
        yield engine
    finally:
        engine.end()


@contextlib.contextmanager
def agent_alone(**keys):
    """A master that is made up, and an agent of it."""
    with directory() as place:
        master = agents.Master()
        agent = agents.Agent(master, place / "agent", **keys).start()
        try:
            master.wait_agent()
            yield master, agent
        finally:
            agent.kill(15)
            master.close()


def in_docker(engine):
    return {"container_runtime": "docker", "container_socket": engine.socket, "task_program": engines.static_supervisor(BUILD)}


def bare(engine, *words):
    return subprocess.Popen(["docker", "-H", f"unix://{engine.socket}", "run", "--rm", "--network=host", engines.IMAGE, *words],
                            stdout=subprocess.PIPE)


def first_line_bare(engine):
    begin = time.perf_counter()
    process = bare(engine, "echo", "hello")
    process.stdout.readline()
    took = time.perf_counter() - begin
    process.communicate()
    return took * 1000


def first_line(master):
    begin = time.perf_counter()
    container = master.start(["echo hello"], **ORDER)
    master.wait(lambda: master.lines.get(container))
    took = time.perf_counter() - begin
    master.finish(container)
    return took * 1000


def all_ended_bare(engine):
    begin = time.perf_counter()
    for process in [bare(engine, "echo", "hello") for _ in range(AT_ONCE)]:
        process.communicate()
    return time.perf_counter() - begin


def all_ended(master, n, **order):
    begin = time.perf_counter()
    for container in [master.start(["echo hello"], **order) for _ in range(n)]:
        master.finish(container)
    return time.perf_counter() - begin


def beside(what, pairs, unit, target):
    """A row for ours beside the bare form, and one for what they are to each other, run by run."""
    ours, theirs = zip(*pairs)
    yield Row(what, list(ours), unit, "", "a bare docker run", list(theirs))
    yield Row("… of a bare docker run", [a / b for a, b in pairs], "×", target)


@question
def containers():
    """How long does a task in a container take beside a bare docker run of the same image, alone and twenty at once?"""
    with docker() as engine:
        if not engine:
            return
        with agent_alone(**in_docker(engine)) as (master, _):
            first_line(master), first_line_bare(engine)  # so that both are warm
            yield from beside("a task in Docker: order → first line at the master",
                              [(first_line(master), first_line_bare(engine)) for _ in range(15)], "ms", "≤ 1.1")
            yield from beside(f"{AT_ONCE} tasks in Docker at once, until the last has ended",
                              [(all_ended(master, AT_ONCE, **ORDER), all_ended_bare(engine)) for _ in range(5)], "s", "≤ 1.3")


def until_completed(client, body):
    """Seconds from the request that creates an experiment to its end."""
    begin = time.perf_counter()
    number = client.request("POST", "/api/v1/experiments", body)["experiment"]["id"]
    while True:
        state = client.request("GET", f"/api/v1/experiments/{number}")["experiment"]["state"]
        if state == "STATE_COMPLETED":
            return time.perf_counter() - begin
        assert state in ("STATE_ACTIVE", "STATE_RUNNING", "STATE_QUEUED", "STATE_PULLING", "STATE_STARTING", "STATE_STOPPING_COMPLETED"), state
        time.sleep(0.005)


@question
def container_trials():
    """How long does a trial in Docker take that does nothing, and how fast do lines get from a container into the store?"""
    with docker() as engine:
        if not engine:
            return
        with running_master() as cluster:
            cluster.start_agent(**in_docker(engine))
            client = Client(cluster)
            image = {"environment": {"image": engines.IMAGE}}
            runs = [until_completed(client, experiment_body(cluster, ["true"], **image)) for _ in range(12)]
            yield Row("a trial in Docker that does nothing: create → completed", runs[2:], "s", "≤ 1.2")
            rates = []
            for _ in range(3):
                trial_id, seconds = relay(cluster, f"seq -f '{LINE}' {LINES}", "bash", **image, bind_mounts=[
                    {"host_path": place, "container_path": place, "read_only": True} for place in ("/usr", "/lib", "/lib64")])
                rates.append(LINES / seconds)
                check_complete(cluster, trial_id)
            yield Row("log lines of a task in Docker, from its output into the store", rates, "/s", "≥ 200000")


@question
def tasks_at_once():
    """How long do a hundred tasks take that one agent is ordered to start at once, as processes?"""
    with agent_alone(container_runtime="process") as (master, _):
        all_ended(master, PROCESSES, fetchContext=False)
        runs = [all_ended(master, PROCESSES, fetchContext=False) for _ in range(5)]
        yield Row(f"{PROCESSES} tasks at once on one agent, as processes, until the last has ended", runs, "s", "≤ 1")


def supervisors(agent):
    """Process ids below the agent's tasks."""
    text = subprocess.run(["pgrep", "-f", f"determined-task.*{agent.root}"], capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in text.split()]


@question
def agent_memory():
    """How much memory do an idle agent, with each runtime, and a supervisor hold?"""
    with contextlib.ExitStack() as stack:
        engine = stack.enter_context(docker())
        for runtime in ("process", "apptainer", *(["docker"] if engine else [])):
            keys = in_docker(engine) if runtime == "docker" else {"container_runtime": runtime}
            with agent_alone(**keys) as (master, agent):
                order = ORDER if runtime == "docker" else {"fetchContext": False}
                if runtime != "apptainer":
                    all_ended(master, 3, **order)
                yield Row(f"agent, runtime {runtime}: idle memory (PSS)", [settled_pss_mb(agent.process.pid)], "MiB", "≤ 10")
                if runtime == "process":
                    container = master.start(["echo hello; sleep 600"], **order)
                    master.wait(lambda: master.lines.get(container))  # noqa: B023
                    pids = [pid for pid in supervisors(agent) if alive(pid)]
                    yield Row("supervisor of a task that sleeps: memory (PSS)", [settled_pss_mb(pid) for pid in pids], "MiB", "≤ 2")
                    master.signal(container, 9)
                    master.finish(container)
