"""Which controllers of control groups this machine lets a test use."""
import os


def cgroup_has(controller):
    v1 = f"/sys/fs/cgroup/{controller}"
    if os.path.isdir(v1):
        return os.access(v1, os.W_OK)
    try:
        with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as f:
            return controller in f.read().split() and os.access("/sys/fs/cgroup", os.W_OK)
    except OSError:
        return False
