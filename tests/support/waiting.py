"""The one way in which tests wait for something. It needs nothing of the cluster, so every suite can use it."""
import os
import time

TIMEOUT_S = float(os.environ.get("DET_TEST_TIMEOUT", "120"))


def wait_for(what, condition, timeout_s=TIMEOUT_S):
    """Calls condition() until it is true, and returns its value. The exception names what did not happen."""
    end = time.monotonic() + timeout_s
    delay = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(delay)
        delay = min(delay * 1.5, 0.1)
