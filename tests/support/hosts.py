"""Trials over several hosts that are network namespaces (machines.py): agents there, tasks over them, cables that are pulled."""
import contextlib
import subprocess

# Writes numbered lines to its log and to a file, until another file lets it end. Each line names the run of its trial.
COUNTING = """
import os, pathlib, time
import determined as det
info = det.get_cluster_info()
run, rank = os.environ["DET_TRIAL_RUN_ID"], info.container_rank
place, n = pathlib.Path(os.environ["PLACE"]), 0
while not (place / "end").exists():
    n += 1
    print(f"line {run} {rank} {n}", flush=True)
    (place / f"new{run}-{rank}").write_text(str(n))
    (place / f"new{run}-{rank}").replace(place / f"count{run}-{rank}")  # whole, whenever this is killed
    time.sleep(0.01)
"""

LAUNCHER = "python3 -m determined.launch.tensorflow -- "  # of all launchers the one that needs no package


def open_place(directory):
    """Makes a directory one on which the test and its tasks agree, whoever they run as."""
    for part in (directory, *list(directory.parents)[:3]):
        with contextlib.suppress(OSError):
            part.chmod(part.stat().st_mode | 0o055)
    directory.chmod(0o777)
    return directory


def start(cluster, hosts, i, **options):
    cluster.start_agent(f"host{i}", slots=1, prefix=hosts.within(i), master_host=hosts.master, **options)


def start_on(cluster, hosts, n):
    """Starts the master, and an agent on each of the first n hosts, and logs in."""
    cluster.start_master(bind_host="0.0.0.0")
    for i in range(n):
        start(cluster, hosts, i)
    cluster.login()


def over(cluster, n, script, launcher="", **variables):
    """Creates an experiment whose trial has a container on each of n hosts."""
    return cluster.create(files={"t.py": script}, entrypoint=f"{launcher}python3 t.py", resources={"slots_per_trial": n}, max_restarts=0,
                          environment={"environment_variables": [f"{k}={v}" for k, v in variables.items()]})


def counted(place, rank, run=1):
    """How far a rank of COUNTING has come."""
    with contextlib.suppress(FileNotFoundError):
        return int((place / f"count{run}-{rank}").read_text())
    return 0


def cable(hosts, i):
    """The name of a host's cable at the bridge."""
    return f"{hosts.names[i].rsplit('n', 1)[0]}v{i}"


@contextlib.contextmanager
def pulled(hosts, *which):
    """The cables of these hosts carry nothing: what is sent gets no answer."""
    try:
        for i in which:
            subprocess.run(["ip", "link", "set", cable(hosts, i), "down"], check=True)
        yield
    finally:
        for i in which:
            subprocess.run(["ip", "link", "set", cable(hosts, i), "up"], check=True)


@contextlib.contextmanager
def apart(hosts):
    """Hosts 0 and 1 reach the master, whose address is the bridge's own, and not each other."""
    def isolate(state):
        for i in (0, 1):
            subprocess.run(["ip", "link", "set", "dev", cable(hosts, i), "type", "bridge_slave", "isolated", state], check=True)
    isolate("on")
    try:
        yield
    finally:
        isolate("off")
