"""Containers of one trial, played by threads of one process."""
import json
import threading

from determined import _info


class Room:
    """What all_gather does, for threads."""

    def __init__(self, n):
        self.n, self.barrier, self.data = n, threading.Barrier(n), [None] * n

    def gather(self, info, data):
        self.data[info.container_rank] = json.loads(json.dumps(data))
        self.barrier.wait(60)
        given = list(self.data)
        self.barrier.wait(60)
        return given


def info_of(rank, n, agent=None):
    return _info.ClusterInfo("http://master", "c", agent or f"agent{rank}", [0], "t", "a", "s", "TRIAL",
                             rendezvous_info=_info.RendezvousInfo(["127.0.0.1"] * n, rank, [1] * n))


def meet(n, act):
    """Has each of n containers act(info, gather); returns what they return, by rank."""
    room, said = Room(n), [None] * n

    def one(rank):
        said[rank] = act(info_of(rank, n), room.gather)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return said
