"""A launcher of one's own: starts a program in every slot of the trial, for a framework unknown to the platform.

``python3 launcher.py SCRIPT...`` is the entrypoint, and so runs in every container of the trial. It

- finds out where it is (``det.get_cluster_info()``) and tells each process of its rank by environment variables;
- has ``determined.launch.wrap_rank`` mark what each process prints, so that ``det trial logs --rank-id 1`` shows one;
- ends the others when one has failed, and then ends with the status of that one.
"""

import os
import signal
import subprocess
import sys
import time
from typing import Dict, List

import determined as det

KILL_AFTER_S = 10.0
LOOK_EVERY_S = 0.1


def environment(info: det.ClusterInfo, local_rank: int) -> Dict[str, str]:
    """What a process has to know, in whatever form the framework wants it."""
    slots = info.container_slot_counts
    first = sum(slots[: info.container_rank])
    return {
        **os.environ,
        "RANK": str(first + local_rank),
        "SIZE": str(sum(slots)),
        "LOCAL_RANK": str(local_rank),
        "LOCAL_SIZE": str(slots[info.container_rank]),
        "CROSS_RANK": str(info.container_rank),
        "CROSS_SIZE": str(len(slots)),
        "CHIEF_IP": info.container_addrs[0],
    }


def start(info: det.ClusterInfo, script: List[str]) -> List[subprocess.Popen]:
    """One process for each slot of this container, each with a group of its own, which signals reach as a whole."""
    command = [sys.executable, "-m", "determined.launch.wrap_rank", "RANK", "--", *script]
    slots = range(info.container_slot_counts[info.container_rank])
    return [subprocess.Popen(command, env=environment(info, i), start_new_session=True) for i in slots]


def end(processes: List[subprocess.Popen]) -> None:
    """Ask what still runs to end, and end it if it does not."""
    running = [p for p in processes if p.poll() is None]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for p in running:
            if p.poll() is None:
                os.killpg(p.pid, number)
        deadline = time.monotonic() + KILL_AFTER_S
        while any(p.poll() is None for p in running) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)


def wait(processes: List[subprocess.Popen]) -> int:
    """0 when all have ended with 0; as soon as one has failed, its status."""
    while True:
        statuses = [p.poll() for p in processes]
        failed = [s for s in statuses if s]
        if failed:
            return failed[0] if failed[0] > 0 else 128 - failed[0]
        if all(s == 0 for s in statuses):
            return 0
        time.sleep(LOOK_EVERY_S)


def main(script: List[str]) -> int:
    info = det.get_cluster_info()
    if info is None or not script:
        print("usage: launcher.py SCRIPT..., in a trial on a cluster", file=sys.stderr)
        return 2
    processes = start(info, script)
    # The platform ends a trial with this signal; our processes must not outlive us.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return wait(processes)
    finally:
        end(processes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
