"""Processes that talk through one of them: a star of authenticated connections with a chief in its middle.

Every operation is called by all members in the same order, so each connection carries nothing but that order. Values
travel pickled; whoever connects has to know the key first, since unpickling runs what it is given.
"""

import contextlib
import multiprocessing.connection as mpc
import os
import pickle
import shutil
import socket
import tempfile
import threading
import time
from multiprocessing import AuthenticationError
from typing import Any, Dict, List, Optional, Tuple, Union

Address = Union[str, Tuple[str, int]]

# Members may start minutes apart: an image is pulled here and present there.
PATIENCE_S = 1200.0
PAUSE_S = 0.05


class PeerLost(RuntimeError):
    """A process that took part in training is gone."""


def _low_latency(connection: "mpc.Connection") -> None:
    """Let small messages leave at once, and let a machine that vanished be noticed."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as s:
        if s.family != socket.AF_UNIX:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


class _Hall:
    """Lets members in: answers who knows the key and says a rank that is still missing."""

    def __init__(self, listener: socket.socket, key: bytes, size: int) -> None:
        self._listener, self._key, self._size = listener, key, size
        self._changed = threading.Condition()
        self._members: Dict[int, mpc.Connection] = {}
        self._refused = ""
        threading.Thread(target=self._accept, name="determined-hall", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return  # shut down: everybody is here
            connection = mpc.Connection(accepted.detach())
            # A stranger that connects and stays silent must not keep the others waiting.
            threading.Thread(target=self._admit, args=(connection,), daemon=True).start()

    def _admit(self, connection: "mpc.Connection") -> None:
        try:
            mpc.deliver_challenge(connection, self._key)
            mpc.answer_challenge(connection, self._key)
            rank = connection.recv()
        except (AuthenticationError, EOFError, OSError) as e:
            with self._changed:
                self._refused = f"; a connection was refused ({type(e).__name__})"
            connection.close()
            return
        with self._changed:
            if rank in self._members:
                self._refused = f"; rank {rank} came twice"
                connection.close()
                return
            _low_latency(connection)
            self._members[rank] = connection
            self._changed.notify_all()

    def wait(self, patience_s: float) -> Dict[int, "mpc.Connection"]:
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._members) == self._size - 1, patience_s):
                missing = [rank for rank in range(1, self._size) if rank not in self._members]
                raise TimeoutError(f"after {patience_s:.0f} s rank {_list(missing)} is still missing{self._refused}")
        return self._members


def _list(ranks: List[int]) -> str:
    return ", ".join(str(rank) for rank in ranks[:8]) + (" …" if len(ranks) > 8 else "")


class Star:
    """The end that one process holds; see :func:`chief_star` and :func:`member_star`.

    Parameters
    ----------
    connections : dict
        From rank to connection: the chief's to all others, a member's to rank 0.
    rank, size : int
    """

    def __init__(self, connections: Dict[int, "mpc.Connection"], rank: int, size: int) -> None:
        self._connections = connections
        self._rank, self._size = rank, size

    def gather(self, stuff: Any, what: str = "gather") -> Optional[List[Any]]:
        """All values in rank order at the chief, None elsewhere."""
        if self._rank != 0:
            self._send(0, _pack(what, stuff))
            return None
        return [stuff] + [self._receive(rank, what) for rank in range(1, self._size)]

    def allgather(self, stuff: Any) -> List[Any]:
        """All values in rank order, everywhere."""
        values = self.gather(stuff, "allgather")
        everybodys: List[Any] = self.broadcast(values, "allgather")
        return everybodys

    def broadcast(self, stuff: Any, what: str = "broadcast") -> Any:
        """The chief's value, everywhere."""
        if self._rank != 0:
            return self._receive(0, what)
        message = _pack(what, stuff)
        for rank in range(1, self._size):
            self._send(rank, message)
        return stuff

    def close(self) -> None:
        """Let go of all connections."""
        for connection in self._connections.values():
            connection.close()

    def _send(self, rank: int, message: bytes) -> None:
        try:
            self._connections[rank].send_bytes(message)
        except OSError as e:
            raise PeerLost(f"rank {rank} is gone, rank {self._rank} cannot go on without it ({e})") from e

    def _receive(self, rank: int, what: str) -> Any:
        try:
            called, stuff = pickle.loads(self._connections[rank].recv_bytes())
        except (EOFError, OSError) as e:
            raise PeerLost(f"rank {rank} is gone, rank {self._rank} cannot go on without it") from e
        if called != what:
            raise RuntimeError(
                f"rank {rank} called {called}() where rank {self._rank} called {what}(): "
                "all processes must make the same calls in the same order"
            )
        return stuff


def _pack(what: str, stuff: Any) -> bytes:
    # Not multiprocessing's own pickler: PyTorch teaches that one to send tensors as handles of shared memory.
    return pickle.dumps((what, stuff), protocol=pickle.HIGHEST_PROTOCOL)


def chief_star(address: Address, key: bytes, size: int, patience_s: float = PATIENCE_S) -> Star:
    """Listen at ``address`` until all others are there.

    Raises
    ------
    RuntimeError
        If the address is taken.
    TimeoutError
        If somebody does not come; the message tells who.
    """
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as listener:
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(size)
        except OSError as e:
            raise RuntimeError(f"cannot wait for the other processes at {address}: {e}") from e
        try:
            return Star(_Hall(listener, key, size).wait(patience_s), 0, size)
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # which wakes the thread that accepts; closing does not


def member_star(address: Address, key: bytes, rank: int, size: int, patience_s: float = PATIENCE_S) -> Star:
    """Connect to the chief, which may not be there yet.

    Raises
    ------
    RuntimeError
        If the one who answers belongs to another training.
    TimeoutError
        If nobody answers.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            connection = mpc.Client(address)
            break
        except OSError as e:
            if time.monotonic() > deadline:
                raise TimeoutError(f"rank {rank} found no chief at {address} in {patience_s:.0f} s: {e}") from e
            time.sleep(PAUSE_S)
    try:
        mpc.answer_challenge(connection, key)
        mpc.deliver_challenge(connection, key)
        connection.send(rank)
    except (AuthenticationError, EOFError, OSError) as e:
        raise RuntimeError(
            f"who listens at {address} is not the chief of this training: is the port used twice? "
            "(INTER_TRAIN_PROCESS_COMM_PORT_1 names another)"
        ) from e
    _low_latency(connection)
    return Star({0: connection}, rank, size)


class Meeting:
    """A private place for a star within one machine: a Unix socket that only its owner may open."""

    def __init__(self) -> None:
        self._directory = tempfile.mkdtemp(prefix="determined-")
        self.address = os.path.join(self._directory, "star")

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self._directory, ignore_errors=True)
