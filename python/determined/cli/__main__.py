"""``python3 -m determined.cli``: start ``det`` with the same arguments, in this process's place."""

import os
import sys

from determined.cli import _det


def main() -> int:
    """Become ``det``; returns an exit status only if there is none."""
    program = _det.find()
    if program is None:
        print(_det.MISSING, file=sys.stderr)
        return 1
    os.execv(program, ["det", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
