"""What the questions of bench/ask_*.py share: rows with targets, medians, references of the machine, and wrk.

A question is a function that yields rows. A row holds what every single run measured; the table shows medians. Where a reference
belongs to it (the same job done barely), it was measured in the same session, in turns with ours where that is possible.
"""
import contextlib
import dataclasses
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("DET_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests"))

from support.cluster import Cluster

QUESTIONS = {}


@dataclasses.dataclass
class Row:
    what: str
    runs: list
    unit: str
    target: str = ""  # as the table says it: "≤ 50", "≥ 20000"; empty: no target was set
    reference: str = ""
    reference_runs: list = dataclasses.field(default_factory=list)

    @property
    def value(self):
        return statistics.median(self.runs)

    @property
    def reference_value(self):
        return statistics.median(self.reference_runs) if self.reference_runs else None

    @property
    def ratio(self):
        return self.value / self.reference_value if self.reference_value else None

    @property
    def met(self):
        if not self.target:
            return None
        sign, bound = self.target.split()
        return self.value <= float(bound) if sign == "≤" else self.value >= float(bound)


def median_interval(runs):
    """Between which of the runs the true median lies, in 95 of 100 cases if there are enough of them: no assumption but that each
    is as likely above as below (order statistics; six runs or more)."""
    n, ordered = len(runs), sorted(runs)
    outside, k = 0.0, 0
    while 2 * (outside + math.comb(n, k) / 2**n) <= 0.05:
        outside += math.comb(n, k) / 2**n
        k += 1
    return ordered[max(k - 1, 0)], ordered[n - max(k, 1)]


def question(function):
    """Registers a generator of rows under its own name; its docstring's first line says what is asked."""
    QUESTIONS[function.__name__.replace("_", "-")] = function
    return function


# ---- places and programs ----

@contextlib.contextmanager
def directory():
    """An empty directory that tasks of other users may pass through."""
    with tempfile.TemporaryDirectory(prefix="det-bench-") as path:
        os.chmod(path, 0o711)
        yield pathlib.Path(path)


@contextlib.contextmanager
def running_master(tls=False, db=None):
    """With `tls`, one that makes its own certificate; `db`: its store's configuration."""
    with directory() as path, Cluster(path) as cluster:
        if tls:
            cluster.config["security"]["tls"] = {"self_signed": True}
            cluster.trust_any()
        if db:
            cluster.config["db"] = db
        cluster.start_master()
        cluster.login()
        yield cluster


def built(program):
    """A C program of bench/, compiled when it is asked for."""
    subprocess.run(["ninja", "-C", str(BUILD), f"bench/{program}"], check=True, stdout=subprocess.DEVNULL)
    return BUILD / "bench" / program


def wall_ms(argv, env=None):
    """From the start of a program to its end, with as little of Python in between as can be."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        begin = time.perf_counter()
        pid = os.posix_spawn(argv[0], [str(word) for word in argv], os.environ if env is None else env,
                             file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)])
        _, status = os.waitpid(pid, 0)
        took = (time.perf_counter() - begin) * 1000
    finally:
        os.close(null)
    if status:
        raise RuntimeError(f"{' '.join(map(str, argv))} ended with status {os.waitstatus_to_exitcode(status)}")
    return took


def fsync_ms(path, runs=50):
    """The reference for what waits for the disk: 4 KiB appended and made durable."""
    times = []
    fd = os.open(path / "fsync", os.O_CREAT | os.O_WRONLY, 0o600)
    for i in range(runs):
        os.pwrite(fd, b"x" * 4096, 4096 * i)
        begin = time.perf_counter()
        os.fdatasync(fd)
        times.append((time.perf_counter() - begin) * 1000)
    os.close(fd)
    return times


# ---- what the kernel says of a process ----

def pss_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE).group(1)) / 1024


def settled_pss_mb(pid, still_s=0.3, timeout_s=10):
    """After the work in flight is done: the size that no longer changes."""
    last, since, end = pss_mb(pid), time.monotonic(), time.monotonic() + timeout_s
    while time.monotonic() < end and time.monotonic() - since < still_s:
        time.sleep(0.05)
        now = pss_mb(pid)
        if abs(now - last) > 0.05:
            last, since = now, time.monotonic()
    return last


def cpu_ms(pid):
    """CPU time of all threads, in the nanoseconds of the scheduler (threads that ended are not in it)."""
    total = 0
    for entry in pathlib.Path(f"/proc/{pid}/task").iterdir():
        total += int((entry / "schedstat").read_text().split()[0])
    return total / 1e6


# ---- load ----

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclasses.dataclass
class Load:
    per_s: float
    p50_ms: float
    p99_ms: float


def wrk(url, connections, seconds, headers=(), script=None):
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "--latency"]
    for header in headers:
        argv += ["-H", header]
    if script:
        argv += ["-s", str(script)]
    text = subprocess.run([*argv, url], capture_output=True, text=True, check=True).stdout

    def latency_ms(percentile):
        number, unit = re.search(rf"^\s+{percentile}%\s+([\d.]+)(us|ms|s|m)\s*$", text, re.MULTILINE).groups()
        return float(number) * SECONDS[unit] * 1000

    if re.search(r"Non-2xx|Socket errors", text):
        raise RuntimeError(f"wrk {url}: some requests failed:\n{text}")
    return Load(float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), latency_ms(50), latency_ms(99))


# ---- where it was measured ----

def machine():
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True)
    with directory() as path:
        disk = statistics.median(fsync_ms(path))
    return {
        "cpu": cpu.group(1) if cpu else os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": os.uname().release,
        "fsync_ms": round(disk, 3),
        "load": round(os.getloadavg()[0], 2),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "commit": commit.stdout.strip() or "unknown",
    }
