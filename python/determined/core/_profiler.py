"""System metrics of the machine that a trial runs on.

Where the platform's agent runs the trial, the agent samples, and the library only asks for it (by a file in
``$DET_RUN_DIR/profiling``). Elsewhere a thread of this process does, from /proc.

========= ========================================================= ================
group     metrics                                                   unit
========= ========================================================= ================
cpu       cpu_util_simple; by the agent also task_cpu_util,         percent
          the part of this trial
memory    memory_free; by the agent also task_memory                bytes
disk      disk_iops, disk_throughput_read, disk_throughput_write    per second
          and, for each file system, disk_util                      percent
network   net_throughput_sent, net_throughput_recv                  bytes per second
gpu       gpu_util, gpu_free_memory, for each GPU                   percent, bytes
========= ========================================================= ================
"""

import contextlib
import datetime
import logging
import os
import pathlib
import shutil
import subprocess
import threading
import time
from typing import Any, Dict, List, Protocol, Tuple, Union

from determined import _info, _storage
from determined.core._distributed import DistributedContext
from determined.core._reports import Reporter

logger = logging.getLogger("determined.core")

MIN_INTERVAL_S = 0.1
MOST_BY_AGENT_S = 3600
MOST_SAMPLES_BY_AGENT = 3600
SECTOR_BYTES = 512

Sample = Dict[str, Any]


def _read_lines(path: str) -> List[str]:
    with open(path, encoding="ascii") as f:
        return f.read().splitlines()


class _Collector(Protocol):
    """Samples the metrics of one group."""

    group: str

    def sample(self) -> Sample: ...


class _Cpu:
    group = "cpu"

    def __init__(self) -> None:
        self._before = self._ticks()

    @staticmethod
    def _ticks() -> Tuple[int, int]:
        """Clock ticks since boot, of all processors: (busy, all)."""
        # user nice system idle iowait irq softirq steal; the two guest fields after them are part of user and nice.
        ticks = [int(word) for word in _read_lines("/proc/stat")[0].split()[1:9]]
        idle = ticks[3] + ticks[4]
        return sum(ticks) - idle, sum(ticks)

    def sample(self) -> Sample:
        before, self._before = self._before, self._ticks()
        total = self._before[1] - before[1]
        return {"cpu_util_simple": 100 * (self._before[0] - before[0]) / total if total else 0.0}


class _Memory:
    group = "memory"

    def sample(self) -> Sample:
        for line in _read_lines("/proc/meminfo"):
            if line.startswith("MemAvailable:"):
                return {"memory_free": 1024 * int(line.split()[1])}
        return {}


class _Disk:
    group = "disk"

    def __init__(self) -> None:
        self._before = self._counters()
        self._paths = [p for p in ("/", _storage.SHARED_FS_CONTAINER_PATH) if os.path.isdir(p)]

    @staticmethod
    def _counters() -> Tuple[float, int, int, int]:
        """(now, operations, bytes read, bytes written) of all whole disks."""
        operations = read = written = 0
        for line in _read_lines("/proc/diskstats"):
            words = line.split()
            # A partition has no entry of its own here; it must not be counted beside its disk.
            if os.path.exists(f"/sys/block/{words[2]}") and not words[2].startswith(("loop", "ram", "dm-")):
                operations += int(words[3]) + int(words[7])
                read += int(words[5]) * SECTOR_BYTES
                written += int(words[9]) * SECTOR_BYTES
        return time.monotonic(), operations, read, written

    def sample(self) -> Sample:
        before, self._before = self._before, self._counters()
        seconds = max(self._before[0] - before[0], 1e-3)
        rates = [(now - then) / seconds for now, then in zip(self._before[1:], before[1:])]
        sample: Sample = dict(zip(("disk_iops", "disk_throughput_read", "disk_throughput_write"), rates))
        for path in self._paths:
            usage = shutil.disk_usage(path)
            sample[path] = {"disk_util": 100 * usage.used / max(usage.used + usage.free, 1)}
        return sample


class _Network:
    group = "network"

    def __init__(self) -> None:
        self._before = self._counters()

    @staticmethod
    def _counters() -> Tuple[float, int, int]:
        """(now, bytes sent, bytes received) of all interfaces but the loopback."""
        sent = received = 0
        for line in _read_lines("/proc/net/dev")[2:]:
            name, _, counters = line.partition(":")
            if name.strip() != "lo":
                words = counters.split()
                received += int(words[0])
                sent += int(words[8])
        return time.monotonic(), sent, received

    def sample(self) -> Sample:
        before, self._before = self._before, self._counters()
        seconds = max(self._before[0] - before[0], 1e-3)
        return {
            "net_throughput_sent": (self._before[1] - before[1]) / seconds,
            "net_throughput_recv": (self._before[2] - before[2]) / seconds,
        }


class _Gpu:
    group = "gpu"

    def __init__(self) -> None:
        self._tool = shutil.which("nvidia-smi")

    def sample(self) -> Sample:
        if self._tool is None:
            return {}
        query = [self._tool, "--query-gpu=uuid,utilization.gpu,memory.free", "--format=csv,noheader,nounits"]
        try:
            text = subprocess.run(query, check=True, capture_output=True, text=True, timeout=10).stdout
        except (OSError, subprocess.SubprocessError) as e:
            logger.warning("GPUs are not profiled any more: %s", e)
            self._tool = None
            return {}
        return dict(self._parse(line) for line in text.splitlines() if line.strip())

    @staticmethod
    def _parse(line: str) -> Tuple[str, Sample]:
        uuid, util, free_mib = (word.strip() for word in line.split(","))
        return uuid, {"gpu_util": float(util), "gpu_free_memory": float(free_mib) * 2**20}


def mean(samples: List[Sample]) -> Sample:
    """Average sample by sample, following nested dictionaries.

    >>> mean([{"a": 1, "/": {"b": 2}}, {"a": 3, "/": {"b": 4}}])
    {'a': 2.0, '/': {'b': 3.0}}
    """
    result: Sample = {}
    for key in {k: None for sample in samples for k in sample}:
        values = [sample[key] for sample in samples if key in sample]
        result[key] = mean(values) if isinstance(values[0], dict) else sum(values) / len(values)
    return result


class _Sampler:
    """A thread that samples all groups, and reports their averages."""

    def __init__(self, agent_id: str, reporter: Reporter, interval_s: float, samples_per_report: int) -> None:
        self._agent_id = agent_id
        self._reporter = reporter
        self._interval_s = interval_s
        self._samples_per_report = samples_per_report
        self._collectors: List[_Collector] = [_Cpu(), _Memory(), _Disk(), _Network(), _Gpu()]
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="determined-profiler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        samples: Dict[str, List[Sample]] = {c.group: [] for c in self._collectors}
        next_s = time.monotonic() + self._interval_s
        try:
            while not self._closing.wait(max(next_s - time.monotonic(), 0)):
                next_s += self._interval_s
                for collector in self._collectors:
                    samples[collector.group].append(collector.sample())
                if len(samples["cpu"]) == self._samples_per_report:
                    self._report(samples)
        except Exception as e:
            # Profiling must not disturb what it watches.
            logger.warning("profiling stopped: %s", e)

    def _report(self, samples: Dict[str, List[Sample]]) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        for group, taken in samples.items():
            average = mean(taken)
            taken.clear()
            if average:
                self._reporter.metrics(group, {self._agent_id: average}, report_time=now)


class _Agent:
    """The agent, which samples as long as there is a request."""

    def __init__(self, directory: pathlib.Path, interval_s: float, samples_per_report: int) -> None:
        self._request = directory / "request"
        draft = directory / f"request.{os.getpid()}"
        draft.write_text(f"{round(1000 * interval_s)} {samples_per_report}\n", encoding="ascii")
        draft.replace(self._request)

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._request.unlink()


class ProfilerContext:
    """System metrics, on request. Reached as ``core_context.profiler``."""

    def __init__(self, agent_id: str, reporter: Reporter, distributed: DistributedContext) -> None:
        self._agent_id = agent_id
        self._reporter = reporter
        self._distributed = distributed
        self._sampler: Union[_Agent, _Sampler, None] = None

    def on(self, sampling_interval: int = 1, samples_per_report: int = 10) -> None:
        """Begin to sample; one process of each machine does, the others need not care.

        Parameters
        ----------
        sampling_interval : int or float
            Seconds between samples, at least 0.1.
        samples_per_report : int
            How many are averaged into one report, at least 1.

        Raises
        ------
        ValueError
            If either is too small.
        RuntimeError
            If it is on already.
        """
        if sampling_interval < MIN_INTERVAL_S:
            raise ValueError(f"sampling_interval={sampling_interval}: must be at least {MIN_INTERVAL_S} seconds")
        if samples_per_report < 1:
            raise ValueError(f"samples_per_report={samples_per_report}: must be at least 1")
        if self._sampler is not None:
            raise RuntimeError("the profiler is on already")
        if self._distributed.local_rank != 0:
            return
        by_agent = _info.run_dir() / "profiling"
        if by_agent.is_dir() and sampling_interval <= MOST_BY_AGENT_S and samples_per_report <= MOST_SAMPLES_BY_AGENT:
            self._sampler = _Agent(by_agent, sampling_interval, samples_per_report)
        else:
            self._sampler = _Sampler(self._agent_id, self._reporter, sampling_interval, samples_per_report)

    def off(self) -> None:
        """Stop sampling. No harm if it is off."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None


class DummyProfilerContext(ProfilerContext):
    """No profiling off the cluster."""

    def __init__(self) -> None:
        pass

    def on(self, sampling_interval: int = 1, samples_per_report: int = 10) -> None:
        logger.info("system metrics are not sampled off the cluster")

    def off(self) -> None:
        pass
