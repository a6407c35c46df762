"""The network that a trial's machines know each other by."""

import contextlib
import fcntl
import os
import socket
import struct
from typing import TYPE_CHECKING, Iterator, List, Optional, Tuple

from determined import _info

if TYPE_CHECKING:
    import determined as det

# Linux's request for the address of an interface (netdevice(7)).
_SIOCGIFADDR = 0x8915


def _addresses_of_version_6() -> Iterator[Tuple[str, str]]:
    """The machine's IPv6 addresses of global scope (00 in /proc/net/if_inet6)."""
    with contextlib.suppress(OSError), open("/proc/net/if_inet6", encoding="ascii") as f:
        for number, _, _, scope, _, name in (line.split() for line in f):
            if scope == "00":
                yield name, socket.inet_ntop(socket.AF_INET6, bytes.fromhex(number))


def addresses() -> List[Tuple[str, str]]:
    """Network interfaces of this machine with their addresses, where the system tells; not the loopback."""
    found = []
    for _, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s, contextlib.suppress(OSError):
            answer = fcntl.ioctl(s.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            found.append((name, socket.inet_ntoa(answer[20:24])))
    return [(name, a) for name, a in [*found, *_addresses_of_version_6()] if name != "lo"]


def interface_of(address: str) -> Optional[str]:
    """The network interface of this machine that has the address, where the system tells."""
    if address.startswith("127."):
        return "lo"
    return next((name for name, a in addresses() if a == address), None)


def interface(info: "Optional[det.ClusterInfo]") -> Optional[str]:
    """The interface through which other machines of this trial are reached; None if there are none, or it is unknown.

    The one that the cluster's configuration names, or the one that has the address by which the cluster knows this
    machine.
    """
    if info is None or len(info.container_addrs) < 2:
        return None
    return _info.network_interface_of(info.trial) or interface_of(info.container_addrs[info.container_rank])


def tell_libraries(info: "Optional[det.ClusterInfo]") -> None:
    """Let the libraries that exchange tensors use that network.

    Left to themselves, they would ask for the host's name, which often means the host itself only.
    """
    name = interface(info)
    if name:
        for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
            os.environ.setdefault(variable, name)
