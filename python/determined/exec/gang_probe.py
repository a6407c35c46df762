"""Tries whether the machines of a trial reach each other well enough, before the trial's program starts on them.

Every container of the trial runs this first: ``python3 -m determined.exec.gang_probe``, where
``task_container_defaults.gang_probe`` is set. All containers exchange what they have found, by way of the master, and
each draws the same conclusion. The first one tells the master, which ends a trial that has failed the probe, and places
it anew; so the others only wait for their end then.

The rules are in docs/spec/launchers.md#the-probe-of-a-gang.
"""

import collections
import contextlib
import importlib.util
import os
import queue
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from determined import _info, _network, _routes
from determined.launch import _links, _peers

if TYPE_CHECKING:
    from determined.launch._links import Gather

VARIABLE = "DET_GANG_PROBE"

GATHER_S = 60.0  # how much later than this container the last one may begin
REACH_S = 1.5  # for a connection
MOVE_S = 0.75  # for sending to the neighbour
MOVE_BYTES = 8 << 20
ANSWER_S = 0.75  # for the neighbour's answer after that
REDUCE_S = 2.0
REDUCE_NUMBERS = 1 << 18  # of four bytes each
KILL_S = 120.0  # how long the master may take to end this container
NAMED_MAX = 6
REPORT_MAX = 4096  # bytes that the master takes
PART = b"x" * (1 << 16)


class Verdict(NamedTuple):
    """What all containers conclude.

    Attributes
    ----------
    failed : bool
    bad : list of int
        Ranks of the containers whose machines are to blame.
    report : str
        One line.
    """

    failed: bool
    bad: List[int]
    report: str


class TooLate(Exception):
    """Not all containers have come to the probe."""


# ---- who is to blame -------------------------------------------------------------------------------------------------


def blame(faults: Sequence[Tuple[int, int]]) -> Tuple[List[int], List[int]]:
    """Find the containers that explain the faulty links: again and again the one that has most of those that are left.

    Returns
    -------
    bad : list of int
    unclear : list of int
        Those of links of which neither end has more faults than the other, as between two machines.
    """
    left = {frozenset(pair) for pair in faults}
    bad: List[int] = []
    while left:
        ranked = collections.Counter(rank for pair in left for rank in pair).most_common()
        if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
            return sorted(bad), sorted(rank for rank, _ in ranked)
        bad.append(ranked[0][0])
        left = {pair for pair in left if ranked[0][0] not in pair}
    return sorted(bad), []


def judge(agents: List[str], links: Sequence[Tuple[int, int]], why: str) -> Verdict:
    """Put a failure into words.

    Parameters
    ----------
    agents : list of str
        Names of the containers' agents, by rank.
    links : list of (int, int)
        The links that fail, by the ranks of their ends.
    why : str
        What has failed.
    """
    bad, unclear = blame(links)
    if bad:
        who = f"The fault is that of {', '.join(agents[rank] for rank in bad)}"
    elif unclear:
        who = f"It is not clear which of {', '.join(agents[rank] for rank in unclear)} is at fault"
    else:
        who = "No single machine is to blame for that"
    line = "".join(c if c.isprintable() else " " for c in f"{who}: {why}")
    return Verdict(True, bad, line.encode()[:REPORT_MAX].decode(errors="ignore"))


# ---- measurements ----------------------------------------------------------------------------------------------------


def _count(server: socket.socket) -> None:
    """Tell the neighbour, who connects once, how many bytes have come."""
    connection, _ = server.accept()
    with connection:
        connection.settimeout(MOVE_S + ANSWER_S)
        n = 0
        while part := connection.recv(1 << 18):
            n += len(part)
        connection.sendall(b"%d\n" % n)


def bandwidth(address: str, port: int) -> Tuple[float, str]:
    """Send to the neighbour; returns bytes per second, and why that failed, or an empty text."""
    begin = time.monotonic()
    sent = 0
    try:
        with socket.create_connection((address, port), timeout=REACH_S) as s:
            begin = time.monotonic()
            s.settimeout(MOVE_S)
            with contextlib.suppress(socket.timeout):
                while sent < MOVE_BYTES and time.monotonic() - begin < MOVE_S:
                    sent += s.send(PART)
            s.shutdown(socket.SHUT_WR)
            s.settimeout(ANSWER_S)
            answer = b""
            while not answer.endswith(b"\n"):
                part = s.recv(64)
                if not part:
                    return 0.0, "the connection broke"
                answer += part
    except socket.timeout:
        return 0.0, f"what was sent ({sent} bytes) did not all arrive within {MOVE_S + ANSWER_S:g} s"
    except OSError as e:
        return 0.0, os.strerror(e.errno) if e.errno else str(e)
    return int(answer) / max(time.monotonic() - begin, 1e-6), ""


def all_reduce(rank: int, addresses: List[str], port: int) -> str:
    """Add up a megabyte of numbers over all machines with PyTorch; returns why that failed, or an empty text."""
    said: queue.Queue[str] = queue.Queue()
    own = _network.interface_of(addresses[rank])
    if own:
        os.environ["GLOO_SOCKET_IFNAME"] = own

    def run() -> None:
        try:
            import datetime

            import torch
            from torch import distributed

            distributed.init_process_group(
                "gloo",
                init_method=f"tcp://{addresses[0]}:{port}",
                rank=rank,
                world_size=len(addresses),
                timeout=datetime.timedelta(seconds=REDUCE_S),
            )
            numbers = torch.full((REDUCE_NUMBERS,), float(rank + 1))
            distributed.all_reduce(numbers)
            wanted = len(addresses) * (len(addresses) + 1) / 2
            wrong = int((numbers != wanted).sum())
            distributed.barrier()
            said.put(f"{wrong} of {REDUCE_NUMBERS} numbers are wrong" if wrong else "")
        except Exception as e:  # PyTorch raises what its many parts raise
            said.put(f"{type(e).__name__}: {e}".split("\n")[0][:300])

    threading.Thread(target=run, name="all-reduce", daemon=True).start()
    try:
        return said.get(timeout=REDUCE_S)
    except queue.Empty:
        return f"it was not done within {REDUCE_S:g} s"


def _has_torch() -> bool:
    """Whether this Python has PyTorch. It is imported here, since that takes longer than the whole probe."""
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        import torch.distributed

        return torch.distributed.is_available() and torch.distributed.is_gloo_available()
    except Exception:  # a PyTorch that is broken is the task's own affair
        return False


# ---- all together ----------------------------------------------------------------------------------------------------


def patiently(gather: "Gather", seconds: float) -> "Gather":
    """The same exchange; one that takes longer than that raises TooLate."""

    def within(info: _info.ClusterInfo, data: Any) -> List[Any]:
        box: queue.Queue[Any] = queue.Queue()

        def run() -> None:
            try:
                box.put((gather(info, data), None))
            except Exception as e:
                box.put((None, e))

        threading.Thread(target=run, name="gather", daemon=True).start()
        try:
            given, failure = box.get(timeout=seconds)
        except queue.Empty:
            raise TooLate from None
        if failure is not None:
            raise failure
        return list(given)

    return within


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e6:,.1f} MB/s"


def _slow_links(
    agents: List[str], results: List[Dict[str, Any]], minimum: int
) -> Tuple[List[Tuple[int, int]], List[str]]:
    """The links from each container to the next that fail, by their ends, and a sentence about each."""
    links, said = [], []
    for rank, result in enumerate(results):
        target = (rank + 1) % len(agents)
        link = f"from rank {rank} on {agents[rank]} to rank {target} on {agents[target]}"
        if result["why"]:
            said.append(f"nothing can be sent {link}: {result['why']}")
        elif result["rate"] < minimum:
            slow = f"the link {link} carries {_rate(result['rate'])}, which is less than {_rate(minimum)}"
            said.append(f"{slow} (gang_probe_min_bandwidth)")
        else:
            continue
        links.append((rank, target))
    return links, said


def probe(
    info: _info.ClusterInfo,
    own: List[Sequence[str]],
    gather: "Gather",
    minimum: int,
    has_torch: Callable[[], bool] = _has_torch,
) -> Verdict:
    """Try the machines; all containers get the same verdict.

    Parameters
    ----------
    info : ClusterInfo
    own : list of (str, str)
        Interfaces and addresses of this machine.
    gather : callable
        Exchanges data between all containers.
    minimum : int
        Bytes per second that a link must carry.
    has_torch : callable
        Whether this container can take part in an all-reduce.
    """
    rank = info.container_rank
    with _links.serving("counting", _count) as port, contextlib.ExitStack() as stack:
        # The port of the all-reduce is kept until then, so that nobody else gets it.
        meet = stack.enter_context(_links.listen()) if rank == 0 else None
        offer = {
            "agent": info.agent_id,
            "port": port,
            "torch": has_torch(),
            "meet": meet.getsockname()[1] if meet else 0,
        }
        offers = patiently(gather, GATHER_S)(info, offer)
        begin = time.monotonic()
        agents = [o["agent"] for o in offers]
        try:
            addresses = _links.find(info, own, patiently(gather, GATHER_S), REACH_S)
        except _links.Unreachable as e:
            return judge(agents, e.links, str(e))
        target = (rank + 1) % len(offers)
        rate, why = bandwidth(addresses[target], offers[target]["port"])
        reduced: Optional[str] = None
        if all(o["torch"] for o in offers):
            if meet:
                meet.close()
            patiently(gather, GATHER_S)(info, None)  # so that all begin at the same time
            reduced = all_reduce(rank, addresses, offers[0]["meet"])
        results = patiently(gather, GATHER_S)(info, {"rate": rate, "why": why, "reduced": reduced})
    links, said = _slow_links(agents, results, minimum)
    if links:
        more = [f"and {len(said) - NAMED_MAX} more links fail"] if len(said) > NAMED_MAX else []
        return judge(agents, links, "; ".join(said[:NAMED_MAX] + more))
    failures = [f"at rank {i} on {agents[i]}: {r['reduced']}" for i, r in enumerate(results) if r["reduced"]]
    if failures:
        return judge(agents, [], f"an all-reduce over all machines failed, {failures[0]}")
    slowest = min(range(len(results)), key=lambda i: float(results[i]["rate"]))
    fine = (
        f"{len(agents)} machines reach each other; the slowest link, from {agents[slowest]} to "
        f"{agents[(slowest + 1) % len(agents)]}, carries {_rate(results[slowest]['rate'])}; "
        f"{'there is no PyTorch for an all-reduce' if reduced is None else 'an all-reduce of 1 MiB is right'}; "
        f"all of that took {time.monotonic() - begin:.1f} s"
    )
    return Verdict(False, [], fine)


def _report(info: _info.ClusterInfo, verdict: Verdict, agents: List[str]) -> None:
    _peers.session(info).send(
        _routes.report_gang_probe(info.allocation_id, failed=verdict.failed, bad_agents=agents, report=verdict.report)
    )


def main() -> int:
    info = _info.get_cluster_info()
    if info is None or len(info.container_addrs) < 2:
        return 0
    agents: Dict[int, str] = {}

    def gather(info: _info.ClusterInfo, data: Any) -> List[Any]:
        given = _peers.all_gather(info, data)
        agents.update({i: g["agent"] for i, g in enumerate(given) if isinstance(g, dict) and "agent" in g})
        return given

    minimum = os.environ.get(VARIABLE, "")
    alone = False  # the others do not know the verdict of this container
    try:
        verdict = probe(info, _links.own_addresses(info), gather, int(minimum) if minimum.isdigit() else 0)
    except TooLate:
        alone = True
        verdict = Verdict(
            True, [], f"only some of {len(info.container_addrs)} machines came to the probe within {GATHER_S:g} s"
        )
    except Exception as e:  # whatever breaks here is no failure of the trial's program
        alone = True
        verdict = judge([], [], f"the probe could not be carried out: {type(e).__name__}: {e}")
    print(f"gang probe: {verdict.report}", file=sys.stderr if verdict.failed else sys.stdout, flush=True)
    # Whoever notices that somebody is missing says so, since it may be the first container that is.
    if info.container_rank == 0 or alone:
        with contextlib.suppress(Exception) if info.container_rank else contextlib.nullcontext():
            _report(info, verdict, [agents[rank] for rank in verdict.bad])
    if not verdict.failed:
        return 0
    time.sleep(KILL_S)
    return 1


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # threads of a measurement that hangs must not hold up the end
