"""Which addresses the machines of a trial reach each other by: several containers, played by threads of one machine."""

import contextlib
import json
import socket

import pytest
from support import room

from determined import _info, _network
from determined.launch import _links

NOWHERE = "192.0.2.1"  # an address for documentation (RFC 5737), which nobody has


def meet(*own):
    """Have containers with these addresses find each other; returns what each of them says."""

    def act(info, gather):
        try:
            return _links.find(info, own[info.container_rank], gather)
        except _links.Unreachable as e:
            return str(e)

    return room.meet(len(own), act)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(_links, "PATIENCE_S", 0.5)


def test_addresses_that_the_cluster_knows_are_taken_if_all_reach_them(monkeypatch):
    tried = []
    real = _links.try_to_reach
    monkeypatch.setattr(_links, "try_to_reach", lambda o, a, s: tried.append(a) or real(o, a, s))
    own = [[("eth0", f"127.0.0.{i + 2}"), ("eth1", f"127.0.1.{i + 2}")] for i in range(3)]
    assert meet(*own) == [["127.0.0.2", "127.0.0.3", "127.0.0.4"]] * 3
    assert len(tried) == 6 and all(a.startswith("127.0.0.") for a in tried), "nothing else needs to be tried"


def test_another_network_is_found_if_one_machine_cannot_be_reached_by_the_clusters():
    own = [
        [("eth0", "127.0.0.2"), ("ib0", "127.0.1.2")],
        [("eth0", NOWHERE), ("docker0", NOWHERE), ("ib0", "127.0.1.3")],
        [("eth0", "127.0.0.4")],
    ]
    assert meet(*own) == [["127.0.0.2", "127.0.1.3", "127.0.0.4"]] * 3


def test_the_links_that_fail_are_named_to_everybody():
    said = meet([("eth0", "127.0.0.2")], [("eth0", NOWHERE), ("ib0", NOWHERE)])
    assert said[0] == said[1]
    assert f"rank 0 on agent0 does not reach rank 1 on agent1 at any address: eth0 {NOWHERE} (" in said[0]
    assert "dtrain_network_interface" in said[0] and "rank 1 on agent1 does not reach" not in said[0]


def test_another_machine_with_the_same_address_is_no_answer():
    with _links._answering("mine") as port:
        offer = _links.Offer("a", "other", port, [])
        assert _links.try_to_reach(offer, "127.0.0.1", 0.5) == "another machine or program answers there"
        assert _links.try_to_reach(offer._replace(word="mine"), "127.0.0.1", 0.5) == ""
    assert "refused" in _links.try_to_reach(offer, "127.0.0.1", 0.5)


def test_somebody_who_accepts_and_says_nothing_is_waited_for_no_longer_than_that():
    with socket.create_server(("127.0.0.1", 0)) as server:
        offer = _links.Offer("a", "word", server.getsockname()[1], [])
        assert _links.try_to_reach(offer, "127.0.0.1", 0.5) == "no answer within 0.5 s"


def test_each_half_of_the_others_reaches_another_address():
    offers = [_links.Offer(f"agent{i}", "", 1, [("eth0", f"a{i}"), ("eth1", f"b{i}")]) for i in range(3)]
    fine = {f"{x}{j}": "" for x in "ab" for j in range(3)}
    results = [[fine, fine, fine] for _ in range(3)]
    assert _links.choose(offers, results) == ["a0", "a1", "a2"]
    results[0] = [fine, fine, {"a2": "refused", "b2": ""}]
    assert _links.choose(offers, results) == ["a0", "a1", "b2"]
    results[1] = [fine, fine, {"a2": "", "b2": "refused"}]
    with pytest.raises(_links.Unreachable, match="no address of rank 2 on agent2 is reached by all others"):
        _links.choose(offers, results)


def test_a_long_list_of_links_is_cut():
    n = 9
    offers = [_links.Offer(f"agent{i}", "", 1, [("eth0", f"a{i}")]) for i in range(n)]
    results = [[{f"a{j}": "refused" if j == 0 else ""} for j in range(n)] for _ in range(n)]
    with pytest.raises(_links.Unreachable, match="and 2 more links fail"):
        _links.choose(offers, results)


def test_it_listens_where_firewalls_let_through(monkeypatch):
    with contextlib.closing(socket.create_server(("", 0))) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setenv("GLOO_PORT_RANGE", f"{port}:{port}")
        with pytest.raises(_links.Unreachable, match="free to listen"), _links._answering("x"):
            pass
    monkeypatch.setenv("GLOO_PORT_RANGE", f"{port}:{port}")
    with _links._answering("x") as given:
        assert given == port


def test_the_machines_own_addresses_are_listed_without_its_loopback():
    found = _network.addresses()
    assert all(name != "lo" and socket.getaddrinfo(a, None) for name, a in found)


def test_a_trial_on_one_machine_or_with_a_named_interface_is_not_asked(monkeypatch):
    monkeypatch.setattr(_links, "find", lambda *_: pytest.fail("it asked"))
    info = room.info_of(0, 1)
    assert _links.settle(info) is info
    info = room.info_of(0, 2)
    monkeypatch.setattr(_info, "network_interface_of", lambda trial: "eth7")
    monkeypatch.setattr(_info.ClusterInfo, "trial", property(lambda self: None))
    assert _links.settle(info) is info


def test_the_file_of_addresses_says_what_was_found(monkeypatch, tmp_path):
    (tmp_path / "info").mkdir()
    file = tmp_path / "info" / "rendezvous.json"
    file.write_text(
        json.dumps({"container_addrs": ["10.0.0.1", "10.0.0.2"], "container_rank": 0, "container_slot_counts": [1, 2]})
    )
    (tmp_path / "info" / "cluster.json").write_text(
        json.dumps({k: v for k, v in vars(room.info_of(0, 2)).items() if not k.startswith("_") and v is not None})
    )
    monkeypatch.setenv("DET_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(_info, "network_interface_of", lambda trial: None)
    monkeypatch.setattr(_info.ClusterInfo, "trial", property(lambda self: None))
    monkeypatch.setattr(_links, "find", lambda info, own, gather: ["10.9.0.1", "10.9.0.2"])
    settled = _links.settle(_info.get_cluster_info())
    assert settled.container_addrs == ["10.9.0.1", "10.9.0.2"]
    assert json.loads(file.read_text())["container_slot_counts"] == [1, 2]
