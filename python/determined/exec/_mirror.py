"""A directory from which TensorBoard reads what lies in checkpoint storages.

What lies in a directory of this machine, TensorBoard reads from there: the mirror has a link to it. What lies in an
object store is listed again and again, and fetched when it has changed. Of event files, which only ever grow, what is
new is fetched.
"""

import concurrent.futures
import errno
import logging
import os
import pathlib
import re
import shutil
import threading
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from determined import _storage, errors
from determined._storage._objects import Found, ObjectStorage

logger = logging.getLogger("determined")

FETCHES_AT_ONCE = 5
# By this variable, a user allows the copies to take more of the disk, or less.
DISK_VARIABLE = "DET_TENSORBOARD_DISK_GIB"
DEFAULT_DISK_GIB = 10.0
_EVENTS = re.compile(r"(^|\.)tfevents\.")
_GIB = 1 << 30


class Tree(NamedTuple):
    """The files of an experiment or of a trial.

    Attributes
    ----------
    title : str
        For people: "experiment 7".
    storage : _storage.Storage
    stored : str
        The directory in the storage.
    shown : str
        The directory in the mirror: TensorBoard calls the runs by it.
    """

    title: str
    storage: _storage.Storage
    stored: str
    shown: str


class _Change(NamedTuple):
    """A file that has to be fetched, from ``start`` on."""

    storage: ObjectStorage
    found: Found
    target: pathlib.Path
    start: int


def is_event_file(name: str) -> bool:
    """Whether the file is one that TensorBoard draws curves from; such a file only ever grows.

    >>> is_event_file("events.out.tfevents.17.host"), is_event_file("plugins/profile/host.xplane.pb")
    (True, False)
    """
    return _EVENTS.search(name.rpartition("/")[2]) is not None


def disk_limit(directory: pathlib.Path, most_gib: float) -> int:
    """How many bytes the copies may take: ``most_gib``, and no more than half of what is free now."""
    return min(int(most_gib * _GIB), shutil.disk_usage(directory).free // 2)


class Mirror:
    """Keeps a directory up to date.

    Parameters
    ----------
    directory : pathlib.Path
        An empty one of this program's own.
    trees : list of Tree
        None of them is shown within another one.
    limit_bytes : int
        How much the copies may take.

    Attributes
    ----------
    logdir : pathlib.Path
        What TensorBoard is to read.
    problems : dict
        Sentences on what could not be read the last time, by the title of the tree.
    """

    def __init__(self, directory: pathlib.Path, trees: List[Tree], limit_bytes: int) -> None:
        self.logdir = directory / "logs"
        self._incoming = directory / "incoming"
        self._trees, self._limit_bytes = trees, limit_bytes
        self._versions: Dict[pathlib.Path, str] = {}  # of what was fetched
        self._left_out_n = 0
        self._room_is_missing = False
        self.problems: Dict[str, str] = {}
        for path in (self.logdir, self._incoming):
            path.mkdir()
        for tree in trees:
            if isinstance(tree.storage, _storage.DirectoryStorage):
                self._link_to(tree, tree.storage.base_path)

    def _link_to(self, tree: Tree, base_path: pathlib.Path) -> None:
        link = self.logdir / tree.shown
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(base_path / tree.stored)
        if not base_path.exists():
            logger.warning(
                "the checkpoint storage of %s, %s, does not exist on this machine; unless no trial has begun yet, see "
                "whether the file system is mounted here",
                tree.title,
                base_path,
            )

    def refresh(self) -> None:
        """Look at all storages once, and fetch what has changed."""
        changes: List[_Change] = []
        for tree in self._trees:
            try:
                if isinstance(tree.storage, ObjectStorage):
                    changes += self._changes_of(tree, tree.storage)
                else:
                    self._look_at_directory(tree)
            except Exception as e:
                # Whatever the client of a storage raises: the other trees can be read all the same.
                self._note(tree, str(e) or type(e).__name__)
            else:
                self.problems.pop(tree.title, None)
        self._fetch_all(self._that_fit(changes))

    def has_files(self) -> bool:
        """Whether there is anything for TensorBoard to read."""
        found = (
            os.path.join(path, name) for path, _, names in os.walk(self.logdir, followlinks=True) for name in names
        )
        # A link to a directory that is not there yet counts as a file.
        return any(os.path.exists(path) for path in found)

    def _note(self, tree: Tree, problem: str) -> None:
        """Tell of a problem once, not each time that it is met."""
        if self.problems.get(tree.title) != problem:
            logger.warning("the TensorBoard files of %s cannot be read: %s", tree.title, problem)
        self.problems[tree.title] = problem

    def _look_at_directory(self, tree: Tree) -> None:
        path = self.logdir / tree.shown
        try:
            os.scandir(path).close()
        except FileNotFoundError:
            pass  # The first trial of the experiment may not have begun.
        except OSError as e:
            target = os.readlink(path)
            raise errors.StorageUnusable(e.errno, f"{target}: {e.strerror}", target) from e

    def _changes_of(self, tree: Tree, storage: ObjectStorage) -> Iterable[_Change]:
        changes = []
        for name, found in storage.list_tree(tree.stored).items():
            target = self.logdir / tree.shown / name
            if self._versions.get(target) == found.version:
                continue
            have = target.stat().st_size if target.exists() else 0
            grows = is_event_file(name) and have <= found.size
            if grows and have == found.size and target in self._versions:
                self._versions[target] = found.version  # the file grew between the last listing and its fetching
                continue
            changes.append(_Change(storage, found, target, have if grows else 0))
        return changes

    def _that_fit(self, changes: List[_Change]) -> List[_Change]:
        """The changes for which there is room: event files come before all others."""
        total = sum(path.stat().st_size for path in self._versions if path.exists())
        fit = []
        for change in sorted(changes, key=lambda c: (not is_event_file(c.found.key), c.target)):
            if total + change.found.size - change.start <= self._limit_bytes:
                total += change.found.size - change.start
                fit.append(change)
        left_out_n = len(changes) - len(fit)
        if left_out_n > self._left_out_n:
            logger.warning(
                "%d of TensorBoard's files are left out or not brought up to date: their copies may take %.1f GiB of "
                "this machine's disk. Show fewer trials, or raise the variable %s in environment_variables",
                left_out_n,
                self._limit_bytes / _GIB,
                DISK_VARIABLE,
            )
        self._left_out_n = left_out_n
        return fit

    def _fetch_all(self, changes: List[_Change]) -> None:
        failures: List[Tuple[_Change, Exception]] = []
        with concurrent.futures.ThreadPoolExecutor(FETCHES_AT_ONCE) as threads:
            for change, failure in zip(changes, threads.map(self._fetch, changes)):
                if failure is not None:
                    failures.append((change, failure))
        full = next(
            (e for _, e in failures if isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT)), None
        )
        if full is not None and not self._room_is_missing:
            logger.warning(
                "there is no room left in %s for copies of TensorBoard's files: %s", self.logdir.parent, full
            )
        self._room_is_missing = full is not None
        for change, failure in failures[:1] if full is None else []:
            logger.warning(
                "%d of TensorBoard's files could not be fetched, and are tried again; the first is %s: %s",
                len(failures),
                change.found.key,
                failure,
            )

    def _fetch(self, change: _Change) -> Optional[Exception]:
        target = change.target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if change.start:
                change.storage.fetch(change.found.key, target, change.start)
            else:
                # TensorBoard must not see a file of which the middle is missing.
                incoming = self._incoming / str(threading.get_ident())
                change.storage.fetch(change.found.key, incoming)
                os.replace(incoming, target)
        except Exception as e:
            return e
        self._versions[target] = change.found.version
        return None
