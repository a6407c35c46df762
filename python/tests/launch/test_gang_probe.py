"""The probe of a gang: who is to blame, what is measured, and that all conclude the same. Containers are threads."""

import socket
import threading

import pytest
from support import room

from determined.exec import gang_probe
from determined.launch import _links

NOWHERE = "192.0.2.1"  # an address for documentation (RFC 5737), which nobody has


def probe(addresses, minimum=0):
    """Have containers with these addresses probe each other; returns the verdict of each."""

    def act(info, gather):
        return gang_probe.probe(info, [("eth0", addresses[info.container_rank])], gather, minimum, lambda: False)

    return room.meet(len(addresses), act)


@pytest.mark.parametrize(
    "links, bad, unclear",
    [
        ([], [], []),
        ([(0, 1)], [], [0, 1]),
        ([(0, 1), (1, 0)], [], [0, 1]),
        ([(0, 2), (1, 2)], [2], []),
        ([(2, 0), (2, 1), (2, 3), (3, 1)], [2], [1, 3]),
        ([(1, 0), (1, 2), (1, 3), (4, 5), (4, 6), (1, 4)], [1, 4], []),
        ([(0, 2), (0, 3), (1, 2), (1, 3)], [], [0, 1, 2, 3]),
    ],
)
def test_who_has_most_of_the_faulty_links_is_to_blame(links, bad, unclear):
    assert gang_probe.blame(links) == (bad, unclear)


def test_machines_that_are_fit_are_measured():
    said = probe(["127.0.0.2", "127.0.0.3", "127.0.0.4"])
    assert {v.failed for v in said} == {False}
    assert said[0].report.startswith("3 machines reach each other; the slowest link, from agent"), said[0]
    assert "there is no PyTorch" in said[0].report


def test_a_machine_that_nobody_reaches_is_to_blame_and_all_say_so(monkeypatch):
    monkeypatch.setattr(gang_probe, "REACH_S", 0.3)
    said = probe(["127.0.0.2", NOWHERE, "127.0.0.4"])
    assert len(set(map(str, said))) == 1 and said[0].failed and said[0].bad == [1]
    assert said[0].report.startswith("The fault is that of agent1: ") and NOWHERE in said[0].report


def test_a_link_that_carries_too_little_fails():
    said = probe(["127.0.0.2", "127.0.0.3"], minimum=1 << 50)
    assert said[0].failed and said[0].bad == [] and "gang_probe_min_bandwidth" in said[0].report
    assert said[0].report.startswith("It is not clear which of agent0, agent1 is at fault: ")


def test_a_neighbour_that_takes_nothing_is_a_fault_and_not_a_wait(monkeypatch):
    monkeypatch.setattr(gang_probe, "MOVE_S", 0.1)
    monkeypatch.setattr(gang_probe, "ANSWER_S", 0.1)
    with _links.listen() as server:  # accepts nothing
        rate, why = gang_probe.bandwidth("127.0.0.1", server.getsockname()[1])
    assert rate == 0.0 and "did not all arrive within 0.2 s" in why


def test_an_exchange_to_which_not_all_come_ends():
    with pytest.raises(gang_probe.TooLate):
        gang_probe.patiently(lambda info, data: threading.Event().wait(), 0.1)(None, None)


def test_an_exchange_that_fails_says_why():
    def fail(info, data):
        raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        gang_probe.patiently(fail, 60)(None, None)


def test_a_report_is_one_line_that_the_master_takes():
    verdict = gang_probe.judge(["a", "b"], [], "one\ntwo\x1b[m " + "ä" * 5000)
    assert "\n" not in verdict.report and "\x1b" not in verdict.report
    assert len(verdict.report.encode()) <= gang_probe.REPORT_MAX and verdict.report.startswith("No single machine")


def test_numbers_are_added_up_by_pytorch(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")  # what the probe sets does not outlive this test
    with _links.listen() as server:
        port = server.getsockname()[1]
    assert gang_probe.all_reduce(0, ["127.0.0.1"], port) == ""


def test_an_all_reduce_begins_everywhere_together_at_a_port_that_was_kept(monkeypatch):
    given, bound = [], []

    def reduce(rank, addresses, port):
        if rank == 0:
            with socket.create_server(("", port)):
                bound.append(port)
        return ""

    def act(info, gather):
        def noting(info, data):
            offers = gather(info, data)
            if info.container_rank == 0:
                given.append(offers)
                if len(given) == 1:
                    socket.create_connection(("127.0.0.1", offers[0]["meet"])).close()
            return offers

        own = [("eth0", ["127.0.0.2", "127.0.0.3"][info.container_rank])]
        return gang_probe.probe(info, own, noting, 0, lambda: True)

    monkeypatch.setattr(gang_probe, "all_reduce", reduce)
    said = room.meet(2, act)
    assert {v.failed for v in said} == {False} and "an all-reduce of 1 MiB is right" in said[0].report
    assert given[-2] == [None, None] and bound == [given[0][0]["meet"]]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_probe_that_breaks_is_reported_as_a_failed_probe(monkeypatch, rank):
    reports = []

    def break_down(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(gang_probe._info, "get_cluster_info", lambda: room.info_of(rank, 2))
    monkeypatch.setattr(gang_probe, "probe", break_down)
    monkeypatch.setattr(_links, "own_addresses", lambda info: [])
    monkeypatch.setattr(gang_probe, "_report", lambda info, verdict, agents: reports.append((verdict, agents)))
    monkeypatch.setattr(gang_probe, "KILL_S", 0)
    assert gang_probe.main() == 1
    [(verdict, agents)] = reports
    assert verdict.failed and verdict.bad == agents == []
    assert verdict.report.endswith("the probe could not be carried out: RuntimeError: two lines")
