"""Start ``det`` with the same arguments, in this process's place.

It is the one that was installed along with this library (``PREFIX/bin/det`` for ``PREFIX/share/determined/python``),
else the one that was built beside it (``build/det`` of a source tree), else the first of ``PATH``. Scripts of that
name are passed by: they may be another release's, and lead back here.
"""

import os
import pathlib
import sys
from typing import Iterator, Optional


def _candidates() -> Iterator[pathlib.Path]:
    beyond = pathlib.Path(__file__).resolve().parents
    yield beyond[5 if len(beyond) > 5 else -1] / "bin" / "det"
    yield beyond[3] / "build" / "det"
    for directory in os.get_exec_path():
        yield pathlib.Path(directory or ".") / "det"


def _is_program(path: pathlib.Path) -> bool:
    try:
        with open(path, "rb") as f:
            return os.access(path, os.X_OK) and f.read(2) != b"#!"
    except OSError:
        return False


def find() -> Optional[pathlib.Path]:
    """Where ``det`` is; None if it is not on this machine."""
    return next((path for path in _candidates() if _is_program(path)), None)


def main() -> int:
    """Become ``det``; returns an exit status only if there is none."""
    program = find()
    if program is None:
        print("det is not on this machine: install it (docs/guide.md), or put its directory on PATH", file=sys.stderr)
        return 1
    os.execv(program, ["det", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
