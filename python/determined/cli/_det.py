"""Where the program ``det`` is.

It is the one that was installed along with this library (``PREFIX/bin/det`` for ``PREFIX/share/determined/python``),
else the one that was built beside it (``build/det`` of a source tree), else the first of ``PATH``. Scripts of that
name are passed by: they may be another release's, and lead back here.
"""

import os
import pathlib
from typing import Iterator, Optional

MISSING = "det is not on this machine: install it (docs/guide.md), or put its directory on PATH"


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
    """The program; None if it is not on this machine."""
    return next((path for path in _candidates() if _is_program(path)), None)
