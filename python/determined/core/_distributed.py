"""The processes of a trial, and how they talk to each other."""

import hashlib
import json
import logging
import os
import socket
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from determined import _info

if TYPE_CHECKING:
    from determined.core import _star

logger = logging.getLogger("determined.core")

PUB_PORT = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_1") or 12360)
PULL_PORT = int(os.environ.get("INTER_TRAIN_PROCESS_COMM_PORT_2") or PUB_PORT + 16)
# What the name of a Unix socket may be at most, everywhere.
MAX_SOCKET_PATH = 100


def _env_int(name: str, launcher: str = "torch_distributed") -> int:
    text = os.environ.get(name)
    if text is None:
        raise RuntimeError(f"environment variable {name} is not set: was this process started by {launcher}?")
    return int(text)


def _key() -> bytes:
    """What only the processes of this very run have in common, as far as anything does.

    Our launchers make up a key where there are several machines. Without it, on the cluster that is the allocation;
    elsewhere what the launcher names the run by.
    """
    made_up = os.environ.get(_info.TRIAL_KEY_VARIABLE)
    if made_up:
        return hashlib.sha256(made_up.encode()).digest()
    info = _info.get_cluster_info()
    if info is not None:
        words = [info.cluster_id, info.allocation_id]
    else:
        words = [os.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")]
    return hashlib.sha256("\0".join(["determined", *words]).encode()).digest()


class DistributedContext:
    """Which process of the trial this is, and how to talk to the others.

    Its gather, allgather and broadcast are for small things, such as file names and metrics; for tensors there are
    those of the training framework. All processes must call the same methods in the same order.

    Parameters
    ----------
    rank, size : int
        Index of this process and their number.
    local_rank, local_size : int
        The same among the processes of this machine.
    cross_rank, cross_size : int
        Index of this machine and their number.
    chief_ip : str, optional
        Address of the machine of rank 0; needed when there are several machines.
    pub_port : int
        Port at which rank 0 listens; on the cluster the master sees to it that each trial has its own.
    pull_port : int
        Kept for old programs; everything goes through ``pub_port``.
    port_offset : int
        Added to ``pub_port``.
    force_tcp : bool
        Whether processes of one machine talk through TCP rather than through a Unix socket.

    Raises
    ------
    ValueError
        If ranks and sizes contradict each other, or ``chief_ip`` is missing.
    TimeoutError
        If the others do not come.

    Examples
    --------
    >>> distributed = core.DistributedContext.from_torch_distributed()  # doctest: +SKIP
    >>> with core.init(distributed=distributed) as core_context:  # doctest: +SKIP
    ...     losses = core_context.distributed.gather(loss)
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
        # Machines may have different numbers of slots, so there is no more to check than this.
        if local_size > size or (cross_size == 1 and local_size != size):
            raise ValueError(f"local_size={local_size} on {cross_size} machines does not make size={size}")
        if cross_size > 1 and chief_ip is None:
            raise ValueError(f"chief_ip is missing: the other {cross_size - 1} machines need the address of rank 0's")
        self.rank, self.size = rank, size
        self.local_rank, self.local_size = local_rank, local_size
        self.cross_rank, self.cross_size = cross_rank, cross_size
        self._all: Optional[_star.Star] = None
        self._local: Optional[_star.Star] = None
        if size > 1:
            self._all = self._meet(chief_ip if cross_size > 1 else None, pub_port + port_offset)
            self._local = self._all if cross_size == 1 else self._meet_locally(force_tcp)

    def _meet(self, chief_ip: Optional[str], port: int) -> "_star.Star":
        """Everybody with everybody; among machines the chief has to be reachable from outside."""
        # Only processes that have others to meet need these modules, whose import takes a tenth of the whole.
        from determined.core import _star

        if self.rank == 0:
            return _star.chief_star(("0.0.0.0" if chief_ip else "127.0.0.1", port), _key(), self.size)
        return _star.member_star((chief_ip or "127.0.0.1", port), _key(), self.rank, self.size)

    def _meet_locally(self, force_tcp: bool) -> "Optional[_star.Star]":
        """The processes of one machine meet, at a place and with a key that the first of them announces to all."""
        from determined.core import _star

        if self.local_rank != 0:
            places = dict(place for place in self.allgather(None) if place is not None)
            place, key = places[self.cross_rank]
            return _star.member_star(place, key, self.local_rank, self.local_size)
        meeting, key = _star.Meeting(), os.urandom(32)
        over_tcp = force_tcp or len(meeting.address) > MAX_SOCKET_PATH
        address: _star.Address = ("127.0.0.1", _free_port()) if over_tcp else meeting.address
        self.allgather((self.cross_rank, (address, key)))
        try:
            return _star.chief_star(address, key, self.local_size) if self.local_size > 1 else None
        finally:
            meeting.close()

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Build it from the environment that torchrun gives to its workers.

        Parameters
        ----------
        chief_ip : str, optional
            Address of the machine of rank 0; by default that which the launcher tells.
        """
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
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Build it from the environment that ``deepspeed.init_distributed()`` leaves behind."""
        return cls(
            rank=_env_int("RANK", "deepspeed"),
            size=_env_int("WORLD_SIZE", "deepspeed"),
            local_rank=_env_int("LOCAL_RANK", "deepspeed"),
            local_size=_env_int("LOCAL_SIZE", "deepspeed"),
            cross_rank=_env_int("CROSS_RANK", "deepspeed"),
            cross_size=_env_int("CROSS_SIZE", "deepspeed"),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> "DistributedContext":
        """Build it from Horovod.

        Parameters
        ----------
        hvd : module
            An initialised ``horovod.<framework>``.
        chief_ip : str, optional
            Address of the machine of rank 0; by default that which the launcher tells.
        """
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_tf_config(cls) -> Tuple["DistributedContext", Any]:
        """Build it from ``TF_CONFIG``, together with the TensorFlow strategy that fits.

        Returns
        -------
        DistributedContext
        tensorflow.distribute.Strategy
            ``MultiWorkerMirroredStrategy`` for several machines, ``MirroredStrategy`` for several GPUs, or the default.

        Raises
        ------
        RuntimeError
            If this process is something else than a worker in ``TF_CONFIG``.
        """
        import tensorflow as tf

        context = cls._from_tf_config()
        if context.size > 1:
            return context, tf.distribute.MultiWorkerMirroredStrategy()
        if len(tf.config.list_physical_devices("GPU")) > 1:
            return context, tf.distribute.MirroredStrategy()
        return context, tf.distribute.get_strategy()

    @classmethod
    def _from_tf_config(cls) -> "DistributedContext":
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        task = config.get("task") or {"type": "worker", "index": 0}
        if task["type"] != "worker":
            raise RuntimeError(f"TF_CONFIG makes this process a {task['type']}: only workers are supported")
        workers = (config.get("cluster") or {}).get("worker") or [""]
        index, size = int(task["index"]), len(workers)
        return cls(
            rank=index,
            size=size,
            local_rank=0,
            local_size=1,
            cross_rank=index,
            cross_size=size,
            chief_ip=workers[0].rpartition(":")[0] if size > 1 else None,
        )

    def close(self) -> None:
        """Let go of connections to other processes. More than once does no harm."""
        for star in {self._all, self._local} - {None}:
            star.close()  # type: ignore[union-attr]

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

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collect ``stuff`` of every process at rank 0, in rank order; None elsewhere.

        Raises
        ------
        RuntimeError
            If another process is gone, or does something else at this point; likewise for all methods below.
        """
        return self._all.gather(stuff) if self._all is not None else [stuff]

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """Like :meth:`gather`, among the processes of one machine."""
        return self._local.gather(stuff) if self._local is not None else [stuff]

    def allgather(self, stuff: Any) -> List[Any]:
        """Collect ``stuff`` of every process at every process, in rank order.

        Parameters
        ----------
        stuff : object
            Anything that can be pickled.

        Returns
        -------
        list
            One element for each process, of length ``size``.
        """
        return self._all.allgather(stuff) if self._all is not None else [stuff]

    def allgather_local(self, stuff: Any) -> List[Any]:
        """Like :meth:`allgather`, among the processes of one machine."""
        return self._local.allgather(stuff) if self._local is not None else [stuff]

    def broadcast(self, stuff: Any) -> Any:
        """Give every process what rank 0 passes.

        Parameters
        ----------
        stuff : object
            Anything that can be pickled; what other ranks pass does not matter.
        """
        return self._all.broadcast(stuff) if self._all is not None else stuff

    def broadcast_local(self, stuff: Any = None) -> Any:
        """Like :meth:`broadcast`, among the processes of one machine: all get what the one with local rank 0 passes."""
        return self._local.broadcast(stuff) if self._local is not None else stuff


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class DummyDistributedContext(DistributedContext):
    """The one and only process."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)


def from_tf_config() -> DistributedContext:
    """The processes that ``TF_CONFIG`` names, which need not be TensorFlow's."""
    return DistributedContext._from_tf_config()
