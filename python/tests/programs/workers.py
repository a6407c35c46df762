"""A framework's launcher and its workers, of the standard library alone, for tests of supervision.

``workers.py launch NUMBER ADDRESS SCRIPT...`` starts as many supervised workers as torchrun would, and like
it waits for all, ends the others when one has failed, and says 1 whatever it was. ``hang-launch`` waits for all,
whatever happens; ``linger-launch`` has much to do when they have ended. ``workers.py work DIRECTORY`` is a worker: it
leaves a file named by its pid and waits for the end.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def launch(number: int, address: str, command: "list[str]", *, hang: bool) -> int:
    workers = []
    for rank in range(number):
        argv = [sys.executable, "-m", "determined.exec.pid_client", address, "--"]
        argv += ["python3", "-m", "determined.launch.wrap_rank", "RANK", "--", *command]
        workers.append(subprocess.Popen(argv, env={**os.environ, "RANK": str(rank)}, start_new_session=True))
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    while any(w.poll() is None for w in workers):
        if told:
            for w in workers:
                w.terminate()
            told.clear()
        if not hang and any(w.poll() for w in workers):
            for w in workers:
                w.terminate()
        time.sleep(0.05)
    return int(any(w.returncode for w in workers))


def work(directory: Path) -> None:
    # A process that a data loader would start; nobody ends it but those who end everything.
    child = subprocess.Popen(["sleep", "600"])
    (directory / f"{os.environ['RANK']}.new").write_text(f"{os.getpid()} {child.pid}")
    (directory / f"{os.environ['RANK']}.new").rename(directory / os.environ["RANK"])
    signal.pause()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(Path(sys.argv[2]))
    else:
        status = launch(int(sys.argv[2]), sys.argv[3], sys.argv[4:], hang=sys.argv[1] == "hang-launch")
        if sys.argv[1] == "linger-launch":
            time.sleep(600)
        sys.exit(status)
