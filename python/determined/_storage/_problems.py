"""What is wrong with a directory for checkpoints, in a sentence that tells what to do."""

import contextlib
import errno
import os
import pathlib
import pwd
import shutil
import stat
from typing import Iterator, List, Optional

from determined import errors

_DENIED = {errno.EACCES, errno.EPERM}
_FULL = {errno.ENOSPC, errno.EDQUOT}
# A network file system that does not answer, or is not there any more.
_LOST = {errno.EIO, errno.ENODEV, errno.ENOTCONN, errno.ESTALE, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH}
# A write that failed for lack of room may have left this much.
_NO_ROOM_BYTES = 1 << 16

_ELSEWHERE = "or name another place in checkpoint_storage of the experiment configuration"


def _user(uid: int) -> str:
    """As people know an account.

    >>> _user(0)
    'root (uid 0)'
    """
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _nearest(path: pathlib.Path) -> pathlib.Path:
    """The path itself or, of the directories above it, the first that this account sees."""
    for one in (path, *path.parents):
        with contextlib.suppress(OSError):
            os.stat(one)
            return one
    return path


def _denied(what: str, path: pathlib.Path, base_path: pathlib.Path) -> str:
    who = _user(os.geteuid())
    nearest = _nearest(path)
    facts = os.stat(nearest)
    owner = f"{nearest} belongs to {_user(facts.st_uid)} and has mode {stat.S_IMODE(facts.st_mode):04o}"
    if nearest in base_path.parents:
        return (
            f"the checkpoint directory {base_path} does not exist, and this task's account, {who}, may not make it: "
            f"{owner}. Mount the file system that it should lie on, make the directory and let the account write "
            f"there (chmod 1777 {base_path} lets all), {_ELSEWHERE}"
        )
    way_out = f"chmod 1777 {nearest} lets all accounts do so" if nearest == base_path else f"chown {nearest} to it"
    return (
        f"this task's account, {who}, may not {what} the checkpoint directory {base_path}: {owner}. "
        f"Let it ({way_out}), {_ELSEWHERE}"
    )


def _full(base_path: pathlib.Path) -> str:
    nearest = _nearest(base_path)
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(nearest)
        nearest_text = f"{nearest} ({usage.free / 2**30:.1f} of {usage.total / 2**30:.1f} GiB are free)"
        return (
            f"there is no room left on the file system of the checkpoint directory {nearest_text}: remove what is not "
            f"needed (det experiment delete, det checkpoint delete, fewer save_trial_latest), {_ELSEWHERE}"
        )
    return f"there is no room left on the file system of the checkpoint directory {base_path}: make room, {_ELSEWHERE}"


def _sentence(number: int, what: str, path: pathlib.Path, base_path: pathlib.Path) -> Optional[str]:
    if number in _DENIED:
        return _denied(what, path, base_path)
    if number == errno.EDQUOT:
        who = _user(os.geteuid())
        return f"the quota of {who} for the checkpoint directory {base_path} is used up: have it raised, {_ELSEWHERE}"
    if number == errno.ENOSPC:
        return _full(base_path)
    if number == errno.EROFS:
        return (
            f"the checkpoint directory {base_path} lies on a file system that is mounted read-only: mount it for "
            f"writing, {_ELSEWHERE}"
        )
    if number == errno.ENOTDIR:
        return (
            f"the checkpoint directory {base_path} cannot be used: {_nearest(path)} is a file. Remove it, {_ELSEWHERE}"
        )
    if number in _LOST:
        return (
            f"the file system of the checkpoint directory {base_path} does not answer ({os.strerror(number)}): see "
            f"whether it is still mounted, {_ELSEWHERE}"
        )
    return None


def _names(e: OSError) -> List[pathlib.Path]:
    return [pathlib.Path(os.fsdecode(name)) for name in (e.filename2, e.filename) if isinstance(name, (str, bytes))]


def _touches(path: pathlib.Path, base_path: pathlib.Path) -> bool:
    """Whether it lies in the directory, or above it: what is above may keep it from being made."""
    return path == base_path or base_path in path.parents or path in base_path.parents


def _is_full(path: pathlib.Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(_nearest(path)).free < _NO_ROOM_BYTES
    return False


@contextlib.contextmanager
def explained(base_path: pathlib.Path, what: str) -> Iterator[None]:
    """Let errors of the file system that concern ``base_path`` be told by :class:`errors.StorageUnusable`.

    Other errors of what is done within, which may be a user's code, pass as they are.

    Parameters
    ----------
    base_path : pathlib.Path
        The directory of all checkpoints.
    what : str
        What is done there: "write to", "read".
    """
    try:
        yield
    except errors.StorageUnusable:
        raise
    except OSError as e:
        names = _names(e)
        path = next((name for name in names if _touches(name, base_path)), None)
        if path is None and not names and e.errno in _FULL:
            path = base_path  # a write tells no name
        sentence = _sentence(e.errno or 0, what, path, base_path) if path is not None else None
        if sentence is None:
            raise
        raise errors.StorageUnusable(e.errno, sentence, os.fspath(base_path)) from e
    except RuntimeError as e:
        # PyTorch's own writer of files tells neither a number nor a name.
        if what == "read" or not _is_full(base_path):
            raise
        raise errors.StorageUnusable(errno.ENOSPC, _full(base_path), os.fspath(base_path)) from e


def foreseen(base_path: pathlib.Path) -> Optional[str]:
    """What would keep a checkpoint from being stored, as far as can be seen before."""
    nearest = _nearest(base_path)
    if not nearest.is_dir():
        return _sentence(errno.ENOTDIR, "write to", nearest, base_path)
    if os.access(nearest, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return None
    if os.statvfs(nearest).f_flag & os.ST_RDONLY:
        return _sentence(errno.EROFS, "write to", nearest, base_path)
    return _denied("write to", nearest, base_path)
