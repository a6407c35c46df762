"""Whether tasks can have mount namespaces on this machine: a container without privileges allows none, and some kernels allow them only
to root."""
import functools
import os
import subprocess

import pytest

NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


# Words that run a program as nobody, where the kernel makes no user namespace any more: the limit of the first one counts for the second.
NO_USER_NAMESPACES = [*NOBODY, "unshare", "--user", "--map-root-user", "sh", "-c",
                      'echo 1 >/proc/sys/user/max_user_namespaces; exec unshare --user --map-user=65534 --map-group=65534 "$@"', "sh"]


@functools.cache
def granted(who):
    if who == "root":
        words = ["unshare", "--mount", "true"]
    else:
        words = [*(NOBODY if os.geteuid() == 0 else []), "unshare", "--user", "--map-root-user", "--mount", "true"]
    return subprocess.run(words, capture_output=True).returncode == 0


def need(who):
    """Skips a test of tasks under an agent that runs as `who`, root or nobody (without root: whoever runs the tests)."""
    if who == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    if not granted(who):
        pytest.skip(f"this machine gives {who} no mount namespace")
