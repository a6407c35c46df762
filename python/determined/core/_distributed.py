"""The processes of a trial. This version trains in one process; its methods are right for one and refuse more."""

import os
from typing import Any, List, Optional

PUB_PORT = 12360
PULL_PORT = 12376


def _env_int(name: str) -> int:
    text = os.environ.get(name)
    if text is None:
        raise RuntimeError(f"environment variable {name} is not set: was this process started by torch_distributed?")
    return int(text)


class DistributedContext:
    """Which process of the trial this is, and how to talk to the others.

    Parameters
    ----------
    rank, size : int
        Index of this process and their number.
    local_rank, local_size : int
        The same among the processes of this machine.
    cross_rank, cross_size : int
        Index of this machine and their number.
    chief_ip : str, optional
        Address of the machine of rank 0.
    pub_port, pull_port, port_offset, force_tcp
        How processes of several machines reach each other.

    Raises
    ------
    ValueError
        If ranks and sizes contradict each other.
    NotImplementedError
        If there is more than one process.
    """

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int,
        local_size: int,
        cross_rank: int,
        cross_size: int,
        chief_ip: Optional[str] = None,
        pub_port: int = PUB_PORT,
        pull_port: int = PULL_PORT,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        for what, index, count in (
            ("rank", rank, size),
            ("local_rank", local_rank, local_size),
            ("cross_rank", cross_rank, cross_size),
        ):
            if not 0 <= index < count:
                raise ValueError(f"{what}={index} is not between 0 and {count - 1}")
        if size != local_size * cross_size:
            raise ValueError(f"size={size} is not local_size={local_size} times cross_size={cross_size}")
        if size > 1:
            raise NotImplementedError(
                f"DistributedContext: training with {size} processes is not supported by this version yet; "
                "set resources.slots_per_trial to 1"
            )
        self.rank, self.size = rank, size
        self.local_rank, self.local_size = local_rank, local_size
        self.cross_rank, self.cross_size = cross_rank, cross_size

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Build it from the environment that torchrun gives to its workers."""
        return cls(
            rank=_env_int("RANK"),
            size=_env_int("WORLD_SIZE"),
            local_rank=_env_int("LOCAL_RANK"),
            local_size=_env_int("LOCAL_WORLD_SIZE"),
            cross_rank=_env_int("GROUP_RANK"),
            cross_size=_env_int("GROUP_WORLD_SIZE"),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Build it from an initialised ``horovod.<framework>`` module."""
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    def close(self) -> None:
        """Let go of connections to other processes."""

    def get_rank(self) -> int:
        """Index of this process among all."""
        return self.rank

    def get_local_rank(self) -> int:
        """Index of this process among those on this machine."""
        return self.local_rank

    def get_size(self) -> int:
        """Number of processes."""
        return self.size

    def get_num_agents(self) -> int:
        """Number of machines."""
        return self.cross_size

    def gather(self, stuff: Any) -> Optional[List]:
        """Collect ``stuff`` of every process at rank 0, in rank order; None elsewhere."""
        return [stuff]

    def gather_local(self, stuff: Any) -> Optional[List]:
        """Like :meth:`gather`, among the processes of one machine."""
        return [stuff]

    def allgather(self, stuff: Any) -> List:
        """Collect ``stuff`` of every process at every process, in rank order."""
        return [stuff]

    def allgather_local(self, stuff: Any) -> List:
        """Like :meth:`allgather`, among the processes of one machine."""
        return [stuff]

    def broadcast(self, stuff: Any) -> Any:
        """Give every process what rank 0 passes."""
        return stuff

    def broadcast_local(self, stuff: Any = None) -> Any:
        """Like :meth:`broadcast`, among the processes of one machine."""
        return stuff


class DummyDistributedContext(DistributedContext):
    """The one and only process."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)
