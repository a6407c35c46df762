"""What tests ask about processes that are not their children."""
import contextlib
import pathlib
import re


def alive(pid):
    with contextlib.suppress(OSError):
        # A zombie has ended; its parent has only not waited for it yet.
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def memory_kib(pid):
    """Returns the resident memory of the process."""
    return status_kib(pid, "VmRSS")


def status_kib(pid, name):
    return int(re.search(rf"^{name}:\s+(\d+) kB$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M).group(1))


def outside(inner, uid):
    """The machine's id of the one process of this user whose own process id namespace gives it the id `inner`."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            text = path.read_text()
            ids = re.search(r"^NSpid:\s+(.*)$", text, re.M)[1].split()
            if len(ids) > 1 and int(ids[-1]) == inner and int(re.search(r"^Uid:\s+(\d+)", text, re.M)[1]) == uid:
                found.append(int(path.parent.name))
    [pid] = found
    return pid
