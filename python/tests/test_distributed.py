"""Processes that talk to each other. Threads stand for them here; test_pytorch_distributed.py starts real ones."""

import concurrent.futures
import socket
import types

import pytest
from support.ports import free_port

from determined import core
from determined.core import _star


def together(size, work, machines=1, **arguments):
    """Run ``work(context)`` for each rank, in a thread of its own; returns what they returned."""
    port, local = free_port(), size // machines

    def one(rank):
        context = core.DistributedContext(
            rank=rank,
            size=size,
            local_rank=rank % local,
            local_size=local,
            cross_rank=rank // local,
            cross_size=machines,
            chief_ip="127.0.0.1" if machines > 1 else None,
            pub_port=port,
            **arguments,
        )
        try:
            return work(context)
        finally:
            context.close()
            context.close()

    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(one, rank) for rank in range(size)]
        done = [future.exception(timeout=600) for future in futures]
        errors = [e for e in done if e is not None]
        if errors:
            raise errors[0]
        return [future.result() for future in futures]


def everything(c):
    return {
        "gather": c.gather(c.rank),
        "allgather": c.allgather(c.rank),
        "broadcast": c.broadcast(c.rank + 100),
        "gather_local": c.gather_local(c.rank),
        "allgather_local": c.allgather_local(c.rank),
        "broadcast_local": c.broadcast_local(c.rank),
        "again": c.allgather({"rank": c.rank}),
    }


def test_one_process__talks_to_itself():
    context = core.DummyDistributedContext()
    assert (context.get_rank(), context.get_size(), context.get_local_rank(), context.get_num_agents()) == (0, 1, 0, 1)
    assert context.gather("x") == context.allgather("x") == context.gather_local("x") == ["x"]
    assert context.allgather_local("x") == ["x"]
    assert context.broadcast("x") == context.broadcast_local("x") == "x"


@pytest.mark.parametrize("size", [2, 4])
def test_processes_of_one_machine__hear_all_of_each_other(size):
    ranks = list(range(size))
    for rank, heard in enumerate(together(size, everything)):
        assert heard["gather"] == heard["gather_local"] == (ranks if rank == 0 else None)
        assert heard["allgather"] == heard["allgather_local"] == ranks
        assert (heard["broadcast"], heard["broadcast_local"]) == (100, 0)
        assert heard["again"] == [{"rank": r} for r in ranks]


@pytest.mark.parametrize("force_tcp", [False, True])
def test_processes_of_two_machines__have_a_local_circle(force_tcp):
    for rank, heard in enumerate(together(6, everything, machines=2, force_tcp=force_tcp)):
        first = rank - rank % 3
        assert heard["allgather"] == list(range(6)) and heard["broadcast"] == 100
        assert heard["allgather_local"] == [first, first + 1, first + 2] and heard["broadcast_local"] == first
        assert heard["gather_local"] == ([first, first + 1, first + 2] if rank == first else None)


def test_machines_with_one_process_each__need_no_local_circle():
    for rank, heard in enumerate(together(2, everything, machines=2)):
        assert heard["allgather_local"] == heard["gather_local"] == [rank] and heard["broadcast_local"] == rank


def test_values__of_any_size_arrive():
    data = bytes(5_000_000)
    assert together(3, lambda c: len(c.broadcast(data if c.rank == 0 else None))) == [len(data)] * 3
    assert together(3, lambda c: [len(x) for x in c.allgather(data)]) == [[len(data)] * 3] * 3


def test_a_lost_process__is_named_at_once():
    def leave_or_wait(c):
        if c.rank == 2:
            return "left"
        with pytest.raises(_star.PeerLost, match=r"rank [02] is gone, rank [01] cannot go on without it"):
            c.allgather(1)
            c.allgather(2)
        return "told"

    assert together(3, leave_or_wait) == ["told", "told", "left"]


def test_different_calls__are_told_apart():
    def muddle(c):
        return c.gather(1) if c.rank else c.allgather(1)

    with pytest.raises(RuntimeError, match=r"rank 1 called gather\(\) where rank 0 called allgather\(\)"):
        together(2, muddle)


def test_strangers__are_not_let_in_and_do_not_hinder():
    address, right, wrong = ("127.0.0.1", free_port()), b"right", b"wrong"
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        chief = pool.submit(_star.chief_star, address, right, 2)
        with pytest.raises(RuntimeError, match="is not the chief of this training: is the port used twice"):
            _star.member_star(address, wrong, 1, 2)
        with socket.create_connection(address):  # says nothing
            member = _star.member_star(address, right, 1, 2)
            assert pool.submit(chief.result().allgather, "a") and member.allgather("b") == ["a", "b"]
        chief.result().close()
        member.close()


def test_chief__says_who_did_not_come():
    address = ("127.0.0.1", free_port())
    with pytest.raises(TimeoutError, match="rank 1, 2 is still missing"):
        _star.chief_star(address, b"key", 3, patience_s=0.2)
    with pytest.raises(TimeoutError, match="rank 1 found no chief"):
        _star.member_star(address, b"key", 1, 3, patience_s=0.2)


def test_port_in_use__is_told():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        with pytest.raises(RuntimeError, match="cannot wait for the other processes at"):
            _star.chief_star(s.getsockname(), b"key", 2)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rank": 1}, "rank=1 is not between 0 and 0"),
        ({"size": 3, "local_size": 2}, "local_size=2 on 1 machines does not make size=3"),
        ({"size": 2, "cross_size": 2}, "chief_ip is missing"),
    ],
)
def test_context__checks_its_numbers(sizes, message):
    numbers = {"rank": 0, "size": 1, "local_rank": 0, "local_size": 1, "cross_rank": 0, "cross_size": 1}
    with pytest.raises(ValueError, match=message):
        core.DistributedContext(**{**numbers, **sizes})


@pytest.mark.parametrize(
    ("make", "local_size", "cross_rank", "cross_size"),
    [
        (core.DistributedContext.from_torch_distributed, "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE"),
        (core.DistributedContext.from_deepspeed, "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"),
    ],
)
def test_context__from_the_environment_of_a_launcher(monkeypatch, make, local_size, cross_rank, cross_size):
    with pytest.raises(RuntimeError, match="RANK is not set"):
        make()
    for name in ("RANK", "LOCAL_RANK", cross_rank):
        monkeypatch.setenv(name, "0")
    for name in ("WORLD_SIZE", local_size, cross_size):
        monkeypatch.setenv(name, "1")
    assert make().size == 1


def test_context__from_horovod():
    hvd = types.SimpleNamespace(
        rank=lambda: 0,
        size=lambda: 1,
        local_rank=lambda: 0,
        local_size=lambda: 1,
        cross_rank=lambda: 0,
        cross_size=lambda: 1,
    )
    assert core.DistributedContext.from_horovod(hvd).size == 1
