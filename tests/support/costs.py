"""What something costs the master, by the master's own counters and not by the clock, so that a busy machine does not raise the result.

    with Costs(cluster) as cost:
        cluster.post(...)
    cost.turn_s       processor time of the longest turn of the master's loop
    cost.grown_bytes  by how much its highest memory exceeded what it had before
"""
import os
import pathlib

from support.processes import status_kib

PEAK = "5"  # written to /proc/PID/clear_refs, it resets the highest resident size (proc(5))


class Costs:
    def __init__(self, cluster):
        self.cluster = cluster
        self.turn_s = self.grown_bytes = None

    def __enter__(self):
        pid = self.cluster.master.pid
        self.cluster.metric("det_loop_turn_max_seconds")  # reading the metric resets it
        pathlib.Path(f"/proc/{pid}/clear_refs").write_text(PEAK)
        self.before = status_kib(pid, "VmRSS") * 1024
        return self

    def __exit__(self, kind, *exc):
        if kind is None and self.cluster.master.poll() is None:
            self.grown_bytes = max(0, status_kib(self.cluster.master.pid, "VmHWM") * 1024 - self.before)
            self.turn_s = self.cluster.metric("det_loop_turn_max_seconds")

    def __str__(self):
        return f"{self.turn_s * 1000:.1f} ms of the loop, {self.grown_bytes / 1e6:.1f} MB"


def can_measure():
    return os.access("/proc/self/clear_refs", os.W_OK)
