"""What tests ask of processes that are not their children."""
import contextlib
import pathlib


def alive(pid):
    with contextlib.suppress(OSError):
        # A zombie has ended; its parent just has not looked yet.
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False
