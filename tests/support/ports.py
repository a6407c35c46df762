"""Ports for servers of tests. A port stays reserved until the server listens, and while the server is stopped."""
import contextlib
import random
import socket

from support.waiting import wait_for

# The ports are below those that the kernel gives to connecting sockets (ip_local_port_range). A client could take one of those at any
# moment while a server restarts. A client that connects to such a port while nobody listens may even be connected to itself.
FIRST, LAST = 16000, 32000
_held = {}  # port → the socket whose abstract name keeps the port from other test runs


def _reserve(port):
    mark = socket.socket(socket.AF_UNIX)
    with contextlib.suppress(OSError):
        mark.bind(f"\0det-test-port-{port}")
        return mark
    mark.close()
    return None


def _is_unused(port):
    with socket.socket() as s, contextlib.suppress(OSError):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("0.0.0.0", port))
        return True
    return False


def free_port():
    """Returns a port that no other test gets before this process ends."""
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        mark = _reserve(port)
        if mark and _is_unused(port):
            _held[port] = mark
            return port
        if mark:
            mark.close()


@contextlib.contextmanager
def fixed_port(port):
    """For a program that listens on one port only, which nobody can choose: one test of the machine has it at a time. Gives False if
    something else has it."""
    mark = wait_for(f"port {port}, which another test uses", lambda: _reserve(port))
    with mark:
        yield _is_unused(port)
