"""Whether tasks can have mount namespaces on this machine: a container without privileges allows none, and some kernels allow them only
to root."""
import functools
import os
import subprocess

import pytest

NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


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
