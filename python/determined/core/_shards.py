"""One checkpoint out of the parts that several processes have: who stores what, and what they agree upon."""

import hashlib
import os
import pathlib
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple, TypeVar

from determined.core._distributed import DistributedContext

T = TypeVar("T")


class Part(NamedTuple):
    """What one process has to offer."""

    directory: Optional[Tuple[int, int, int]]  # machine, device and inode: who has the same has the same files
    resources: Dict[str, int]
    metadata: Optional[Dict[str, Any]]


class Plan(NamedTuple):
    """What comes of all parts: the same in every process, but for ``mine``."""

    resources: Dict[str, int]
    metadata: Dict[str, Any]
    mine: Set[str]  # what this process stores
    writer: int  # rank of the process that stores the metadata


def together(distributed: DistributedContext, work: Callable[[], T]) -> T:
    """Do something in every process; if it fails in one, it fails in all.

    Raises
    ------
    Exception
        What went wrong here; a RuntimeError that tells the rank, if it was elsewhere.
    """
    problem: Optional[Exception] = None
    try:
        result = work()
    except Exception as e:
        problem = e
    problems = distributed.allgather(None if problem is None else f"{type(problem).__name__}: {problem}")
    if problem is not None:
        raise problem
    for rank, text in enumerate(problems):
        if text is not None:
            raise RuntimeError(f"rank {rank} could not do its part of the checkpoint: {text}")
    return result


def merged_metadata(parts: List[Optional[Dict[str, Any]]]) -> Dict[str, Any]:
    """The metadata of all processes in one; they must not contradict each other.

    >>> merged_metadata([{"steps_completed": 1, "seen": {"a": 1}}, None, {"seen": {"b": 2}}])
    {'steps_completed': 1, 'seen': {'a': 1, 'b': 2}}
    """
    merged: Dict[str, Any] = {}
    for rank, part in enumerate(parts):
        _merge(merged, part or {}, rank, "metadata")
    return merged


def _merge(into: Dict[str, Any], part: Dict[str, Any], rank: int, where: str) -> None:
    for key, value in part.items():
        name = f"{where}.{key}"
        if key not in into:
            into[key] = _copied(value)
        elif isinstance(into[key], dict) and isinstance(value, dict):
            _merge(into[key], value, rank, name)
        elif into[key] != value:
            raise ValueError(f"{name} is {value!r} in rank {rank} and {into[key]!r} in a lower one: they must be equal")


def _copied(value: Any) -> Any:
    return {key: _copied(item) for key, item in value.items()} if isinstance(value, dict) else value


def part_of(
    source: Optional[pathlib.Path],
    resources: Dict[str, int],
    metadata: Optional[Dict[str, Any]],
    distributed: DistributedContext,
) -> Part:
    """The part of this process; without a directory it has metadata at most."""
    if source is None:
        return Part(None, {}, metadata)
    status = os.stat(source)
    return Part((distributed.cross_rank, status.st_dev, status.st_ino), resources, metadata)


def agree(distributed: DistributedContext, source: Optional[pathlib.Path], part: Part) -> Plan:
    """Each file is stored once, by the lowest rank that has it.

    Raises
    ------
    ValueError
        If metadata contradict each other, or files of one name from different directories are not the same.
    RuntimeError
        If no process has a directory.
    """
    parts = distributed.allgather(part)
    storing = [rank for rank, p in enumerate(parts) if p.directory is not None]
    if not storing:
        raise RuntimeError("checkpoint.upload(): no process passed a directory, so there is nothing to store")
    owner: Dict[str, int] = {}
    resources: Dict[str, int] = {}
    for rank, p in enumerate(parts):
        for name, size in p.resources.items():
            owner.setdefault(name, rank)
            resources.setdefault(name, size)
    _check_conflicts(distributed, source, parts, owner)
    mine = {name for name, rank in owner.items() if rank == distributed.rank}
    return Plan(resources, merged_metadata([p.metadata for p in parts]), mine, storing[0])


def _check_conflicts(
    distributed: DistributedContext, source: Optional[pathlib.Path], parts: List[Part], owner: Dict[str, int]
) -> None:
    """Files of one name from different directories must be the same; only these are read for it."""
    doubtful = {
        name
        for p in parts
        for name in p.resources
        if not name.endswith("/") and p.directory != parts[owner[name]].directory
    }
    if not doubtful:
        return
    digests = distributed.allgather(
        {name: _digest(source / name) for name in doubtful & set(parts[distributed.rank].resources)} if source else {}
    )
    for rank, of_rank in enumerate(digests):
        for name, digest in sorted(of_rank.items()):
            if digest != digests[owner[name]][name]:
                raise ValueError(
                    f"{name} is not the same file in rank {owner[name]} and rank {rank}: "
                    "give them different names, or leave all but one out by the selector"
                )


def _digest(path: pathlib.Path) -> str:
    digest = hashlib.md5()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
