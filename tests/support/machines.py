"""Machines that are network namespaces. Each has an address of its own, and a bridge joins them, on which the master can be reached."""
import contextlib
import itertools
import os
import subprocess

import pytest

_count = itertools.count()


def _ip(*words, check=True):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=check)


def need_namespaces():
    """Skips a test where no network namespaces can be made."""
    name = f"det-try-{os.getpid()}"
    try:
        made = os.geteuid() == 0 and _ip("netns", "add", name, check=False).returncode == 0
    except FileNotFoundError:
        pytest.skip("this machine has no program ip")
    if not made:
        pytest.skip("this machine makes no network namespaces")
    _ip("netns", "del", name)


# Nothing from outside comes in but answers to what the machine has begun itself.
WALL = """
table inet wall {
  chain input {
    type filter hook input priority 0; policy drop;
    iif lo accept
    ct state established,related accept
  }
}
"""


def need_packet_filter():
    """Skips a test where no network namespace can have a packet filter of its own."""
    need_namespaces()
    name = f"det-try-{os.getpid()}"
    _ip("netns", "add", name)
    try:
        made = subprocess.run(["ip", "netns", "exec", name, "nft", "-f", "-"], input=WALL, capture_output=True, text=True)
    finally:
        _ip("netns", "del", name)
    if made.returncode:
        pytest.skip(f"this machine makes no packet filter (Debian's nftables): {made.stderr.strip()[:200]}")


class Machines:
    """Namespaces NAMES, and the address of the machine that they have in common, the master's.

    Attributes
    ----------
    master : str
        Address of the bridge.
    """

    def __init__(self, count, bridge, subnet):
        self.master = f"{subnet}.1"
        self.addresses = [f"{subnet}.{i + 2}" for i in range(count)]
        self.names = [f"{bridge}n{i}" for i in range(count)]
        self._bridge = bridge
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            _ip("link", "add", self._bridge, "type", "bridge")
            undo.callback(_ip, "link", "del", self._bridge, check=False)
            _ip("addr", "add", f"{self.master}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
            for i, (name, address) in enumerate(zip(self.names, self.addresses)):
                _ip("netns", "add", name)
                undo.callback(_ip, "netns", "del", name, check=False)
                cable = f"{self._bridge}v{i}"
                _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
                _ip("link", "set", cable, "master", self._bridge, "up")
                _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
                for device in ("eth0", "lo"):
                    _ip("-n", name, "link", "set", device, "up")
            self._stack = undo.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def close_inbound(self, i):
        """Drops every packet from outside that begins something on machine `i`."""
        subprocess.run([*self.within(i), "nft", "-f", "-"], input=WALL, text=True, check=True)

    def dropped(self, i):
        """Returns whether a packet filter of machine `i` drops what comes in."""
        rules = subprocess.run([*self.within(i), "nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
        return "hook input" in rules and "policy drop" in rules

    def within(self, i):
        """Returns the words that execute a program on machine `i`."""
        return ("ip", "netns", "exec", self.names[i])


def machines(count):
    number = (os.getpid() + 97 * next(_count)) % 4096
    return Machines(count, f"det{number}", f"10.{200 + number // 256}.{number % 256}")
