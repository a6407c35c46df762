"""``det`` as a function, for programs that used to call the released client's.

>>> from determined.cli import cli
>>> cli.main(["experiment", "list", "--json"])  # doctest: +SKIP

:mod:`determined.experimental.client` does what most programs want of it, with objects instead of text.
"""

import subprocess
import sys
from typing import List, Optional, TextIO

from determined.cli import _det


def _own_descriptor(stream: TextIO, number: int) -> Optional[int]:
    """None if a stream writes to where this process's own output goes, which a child shares; else a pipe for it."""
    try:
        return None if stream.fileno() == number else subprocess.PIPE
    except (AttributeError, OSError, ValueError):
        return subprocess.PIPE


def main(args: Optional[List[str]] = None) -> None:
    """Run a command of ``det``. What it prints goes to ``sys.stdout`` and ``sys.stderr``.

    Parameters
    ----------
    args : list of str, optional
        Its words; by default those of this program's own command line.

    Raises
    ------
    SystemExit
        With its exit status, if that is not 0.
    """
    program = _det.find()
    if program is None:
        sys.exit(_det.MISSING)
    sys.stdout.flush()
    sys.stderr.flush()
    done = subprocess.run(
        [program, *(sys.argv[1:] if args is None else args)],
        stdout=_own_descriptor(sys.stdout, 1),
        stderr=_own_descriptor(sys.stderr, 2),
        text=True,
    )
    sys.stdout.write(done.stdout or "")
    sys.stderr.write(done.stderr or "")
    if done.returncode != 0:
        sys.exit(done.returncode)
