"""Start a program once for each slot of this machine.

``python3 -m determined.launch._spawn FIRST_RANK COUNT -- PROGRAM...``: each gets a RANK and a LOCAL_RANK. A supervisor
(see ``_supervisor``) starts this, and looks after them.
"""

import os
import select
import subprocess
import sys
from typing import List

from determined import _linux, _process
from determined.launch._signals import Signals

LOOK_EVERY_S = 1.0


def main(args: List[str]) -> int:
    """Run the program to its end; returns the first exit status that is not 0, by rank."""
    first, count, argv = int(args[0]), int(args[1]), args[3:]
    with Signals() as signals:
        children = []
        for i in range(count):
            env = {**os.environ, "RANK": str(first + i), "LOCAL_RANK": str(i)}
            children.append(subprocess.Popen(argv, env=env, preexec_fn=_linux.die_with_parent))
        while any(child.poll() is None for child in children):
            select.select([signals], [], [], LOOK_EVERY_S)
            for number in signals.take():
                for child in children:
                    child.send_signal(number)
    return next((_process.shell_status(child.returncode) for child in children if child.returncode), 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
