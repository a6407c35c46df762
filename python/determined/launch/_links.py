"""Finds for each machine of a trial an address at which all other machines of the trial reach it.

The cluster knows each machine by the address from which its agent has connected to the master. The machines may not
reach one another at these addresses, because they have a separate network for training. So each container tells the
others the addresses of its machine, and connects to theirs. Of each machine the first address that all others have
reached is chosen. The addresses that the cluster knows are tried first; mostly they suffice.
"""

import concurrent.futures
import contextlib
import json
import logging
import os
import secrets
import socket
import threading
from typing import Any, Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from determined import _info, _network
from determined.launch import _peers

logger = logging.getLogger("determined")

# How long a connection may take before its address counts as one that cannot be reached.
PATIENCE_S = 5.0
THREADS = 32
NAMED_MAX = 6  # More links than this are not named in an error.

Gather = Callable[[_info.ClusterInfo, Any], List[Any]]


class Unreachable(Exception):
    """Some machines of the trial do not reach each other.

    Attributes
    ----------
    links : list of (int, int)
        Of each link that fails, the rank that does not reach the other, and the other.
    """

    def __init__(self, text: str, links: Sequence[Tuple[int, int]] = ()) -> None:
        super().__init__(text)
        self.links = list(links)


class Offer(NamedTuple):
    """What a container tells the others about itself.

    Attributes
    ----------
    agent : str
        Name of its machine's agent, for error messages.
    word : str
        A random text that the container sends to everybody who connects. Another machine that has the same address
        does not know it.
    port : int
    addresses : list of (str, str)
        Interface and address; the address that the cluster knows comes first.
    """

    agent: str
    word: str
    port: int
    addresses: List[Sequence[str]]


def _ports() -> List[int]:
    """The ports to listen at: those of GLOO_PORT_RANGE, which firewalls let through, else any free one (0)."""
    first, _, last = os.environ.get("GLOO_PORT_RANGE", "").partition(":")
    if first.isdigit() and last.isdigit():
        return list(range(int(first), int(last) + 1))
    return [0]


def listen() -> socket.socket:
    """Listen at all addresses of this machine, at the first port that is free."""
    failure = None
    for port in _ports():
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        try:
            return socket.create_server(
                ("", port), family=family, backlog=1024, dualstack_ipv6=family == socket.AF_INET6
            )
        except OSError as e:
            failure = e
    raise Unreachable(f"no port of this machine is free to listen at (GLOO_PORT_RANGE narrows them): {failure}")


@contextlib.contextmanager
def serving(name: str, serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """While the body runs, let a thread of that name serve whoever connects; yields the port.

    ``serve`` gets the listening socket. Its `OSError` ends the thread: the socket is shut down at the end of the body.
    """
    with listen() as server:

        def work() -> None:
            with contextlib.suppress(OSError):
                serve(server)

        threading.Thread(target=work, name=name, daemon=True).start()
        try:
            yield server.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)


def _answering(word: str) -> ContextManager[int]:
    """While the body runs, send the word to everybody who connects; yields the port."""

    def answer(server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(word.encode())

    return serving("links", answer)


def try_to_reach(offer: Offer, address: str, patience_s: float) -> str:
    """Connect to a container at one of its addresses; returns why that failed, or an empty text."""
    try:
        with socket.create_connection((address, offer.port), timeout=patience_s) as s:
            heard = b""
            while len(heard) < len(offer.word):
                part = s.recv(256)
                if not part:
                    break
                heard += part
    except socket.timeout:
        return f"no answer within {patience_s:g} s"
    except OSError as e:
        return os.strerror(e.errno) if e.errno else str(e)
    return "" if heard == offer.word.encode() else "another machine or program answers there"


def _try_all(offers: List[Offer], rank: int, wanted: List[List[str]], patience_s: float) -> List[Dict[str, str]]:
    """Connect to the wanted addresses of each other container.

    Returns for each rank a dict from address to the result of :func:`try_to_reach`.
    """
    tries = [(other, a) for other, addresses in enumerate(wanted) if other != rank for a in addresses]
    found: List[Dict[str, str]] = [{} for _ in offers]
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(THREADS, len(tries) or 1)) as pool:
        whys = pool.map(lambda t: try_to_reach(offers[t[0]], t[1], patience_s), tries)
        for (other, address), why in zip(tries, whys):
            found[other][address] = why
    return found


def choose(offers: List[Offer], results: List[List[Dict[str, str]]]) -> List[str]:
    """Choose the first address of each container that all others have reached.

    Parameters
    ----------
    offers : list of Offer
        In rank order.
    results : list of list of dict
        ``results[i][j]``: for each address of ``j`` that ``i`` has tried, why that failed, or an empty text.

    Raises
    ------
    Unreachable
        If a container has no such address. The message names the links that fail.
    """
    chosen, missing, links = [], [], []
    for j, offer in enumerate(offers):
        others = [i for i in range(len(offers)) if i != j]
        good = [a for _, a in offer.addresses if all(results[i][j].get(a, "it was not tried") == "" for i in others)]
        if good:
            chosen.append(good[0])
            continue
        cut_off = [i for i in others if "" not in results[i][j].values()]
        links += [(i, j) for i in cut_off]
        for i in cut_off:
            tried = ", ".join(f"{name} {a} ({results[i][j][a]})" for name, a in offer.addresses if a in results[i][j])
            missing.append(
                f"rank {i} on {offers[i].agent} does not reach rank {j} on {offer.agent} at any address: {tried}"
            )
        if not cut_off:
            missing.append(f"no address of rank {j} on {offer.agent} is reached by all others")
    if missing:
        more = [f"and {len(missing) - NAMED_MAX} more links fail"] if len(missing) > NAMED_MAX else []
        raise Unreachable(
            "the machines of this trial do not reach each other: "
            + "; ".join(missing[:NAMED_MAX] + more)
            + ". Let their ports through to one another (GLOO_PORT_RANGE narrows them), or name the interface "
            "of their network in task_container_defaults.dtrain_network_interface, which switches this check off",
            links,
        )
    return chosen


def find(
    info: _info.ClusterInfo, own: List[Sequence[str]], gather: Gather, patience_s: Optional[float] = None
) -> List[str]:
    """Agree with the other containers on an address of each.

    Parameters
    ----------
    info : ClusterInfo
    own : list of (str, str)
        Interfaces and addresses of this machine; the one that the cluster knows comes first.
    gather : callable
        ``_peers.all_gather``, or what stands in for it in a test.
    patience_s : float, optional
        How long a connection may take.
    """
    patience_s = PATIENCE_S if patience_s is None else patience_s
    word = secrets.token_hex(16)
    with _answering(word) as port:
        offers = [Offer(*o) for o in gather(info, Offer(info.agent_id, word, port, own))]
        wanted = [[o.addresses[0][1]] for o in offers]
        results = gather(info, _try_all(offers, info.container_rank, wanted, patience_s))
        if all(why == "" for one in results for tried in one for why in tried.values()):
            return [addresses[0] for addresses in wanted]
        rest = [[a for _, a in o.addresses[1:]] for o in offers]
        more = gather(info, _try_all(offers, info.container_rank, rest, patience_s))
    both = [[{**x, **y} for x, y in zip(first, second)] for first, second in zip(results, more)]
    return choose(offers, both)


def own_addresses(info: _info.ClusterInfo) -> List[Sequence[str]]:
    """Interfaces and addresses of this machine at which the others may reach it, in the order in which they are tried.

    The one that the cluster knows comes first. Where the configuration names an interface, its address is the only one.
    """
    of_machine: List[Sequence[str]] = list(_network.addresses())
    named = _info.network_interface_of(info.trial)
    if named and any(name == named for name, _ in of_machine):
        return [pair for pair in of_machine if pair[0] == named][:1]
    known = info.container_addrs[info.container_rank]
    first: Sequence[str] = next((pair for pair in of_machine if pair[1] == known), ("the cluster's", known))
    return [first, *[pair for pair in of_machine if pair[1] != known]]


def settle(info: _info.ClusterInfo) -> _info.ClusterInfo:
    """Make sure that the containers of a trial reach each other; returns the info with the addresses at which they do.

    If these are not the addresses that the cluster knows, they replace them in the container's ``rendezvous.json``,
    from which libraries, ssh and the workers read them.

    Raises
    ------
    Unreachable
        If they do not reach each other. The message names the links that fail.
    """
    if len(info.container_addrs) < 2 or _info.network_interface_of(info.trial):
        return info
    chosen = find(info, own_addresses(info), _peers.all_gather)
    if chosen == info.container_addrs:
        return info
    logger.info("the machines of this trial reach each other at %s", ", ".join(chosen))
    file = _info.run_dir() / "info" / "rendezvous.json"
    rendezvous = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**rendezvous, "container_addrs": chosen}), encoding="utf-8")
    settled = _info.get_cluster_info()
    assert settled is not None
    return settled
