"""What every storage can do."""

import abc
import contextlib
import pathlib
import uuid
from typing import TYPE_CHECKING, Callable, ContextManager, Dict, Iterable, Iterator, List, Optional, Sequence, Set

if TYPE_CHECKING:
    from typing import Protocol

    class Usable(Protocol):
        """What :func:`prove_usable` needs: :class:`Storage` has it, and so has ``determined.common.storage``."""

        def store_path(self, storage_id: str, /) -> ContextManager[pathlib.Path]: ...

        def restore_path(self, storage_id: str, /) -> ContextManager[pathlib.Path]: ...

        def delete(self, storage_id: str, globs: List[str], /) -> object: ...


Selector = Callable[[str], bool]

# The patterns that mean a checkpoint as a whole.
ALL_FILES = ("**/*",)


class Storage(abc.ABC):
    """Checkpoints by their ids, and files by their names beside them (TensorBoard's).

    Attributes
    ----------
    direct : bool
        Whether the paths of :meth:`store_path` and :meth:`restore_path` are the stored files themselves, the same for
        every process.
    """

    direct: bool

    @abc.abstractmethod
    def describe(self, storage_id: str) -> str:
        """Where the checkpoint lies, or will: a path or a URL, for people."""

    @abc.abstractmethod
    def store_path(self, storage_id: str) -> ContextManager[pathlib.Path]:
        """A directory to write the checkpoint into; stored for good at the end, gone on an exception.

        Where storage is ``direct``, several processes may be in it at once.
        """

    @abc.abstractmethod
    def upload(self, storage_id: str, source: pathlib.Path, names: Set[str]) -> None:
        """Add the resources ``names`` of the directory ``source`` (directories without their contents)."""

    @abc.abstractmethod
    def download(self, storage_id: str, target: pathlib.Path, selector: Optional[Selector] = None) -> None:
        """Copy a checkpoint, or what ``selector`` says yes to, into the directory ``target``.

        Raises
        ------
        errors.CheckpointNotFound
            If it is not there.
        """

    @abc.abstractmethod
    def restore_path(self, storage_id: str, selector: Optional[Selector] = None) -> ContextManager[pathlib.Path]:
        """A directory with the checkpoint's files, as long as the context lasts."""

    @abc.abstractmethod
    def resources(self, storage_id: str) -> Dict[str, int]:
        """What the checkpoint holds; errors are those of :meth:`download`."""

    @abc.abstractmethod
    def delete(self, storage_id: str, globs: Sequence[str] = ALL_FILES) -> Dict[str, int]:
        """Remove what the patterns mean (:func:`matches`); returns the resources left.

        Errors are those of :meth:`download`.
        """

    @abc.abstractmethod
    def put_file(self, source: pathlib.Path, name: str) -> None:
        """Store a file under a name of its own, relative to the storage's root."""

    @abc.abstractmethod
    def delete_tree(self, name: str) -> None:
        """Remove all files whose names begin with the directory ``name``; there need not be any."""

    def foreseen_problem(self) -> Optional[str]:
        """A sentence on what would keep a checkpoint from being stored here, where it can be seen at no cost."""
        return None

    def validate(self) -> None:
        """Prove that we may write, read and delete here.

        Raises
        ------
        Exception
            Whatever went wrong.
        """
        prove_usable(self)


def prove_usable(storage: "Usable") -> None:
    """Store a small checkpoint, read it back and delete it.

    Raises
    ------
    Exception
        Whatever went wrong: an OSError if the storage gives back something else, else what the storage raised.
    """
    name = str(uuid.uuid4())
    with storage.store_path(name) as path:
        (path / "VALIDATE.txt").write_text(name, encoding="utf-8")
    try:
        with storage.restore_path(name) as path:
            found = (path / "VALIDATE.txt").read_text(encoding="utf-8")
        if found != name:
            raise OSError(f"the checkpoint storage was given {name!r} and gave back {found!r}")
    finally:
        storage.delete(name, list(ALL_FILES))


def check_id(storage_id: str) -> str:
    """``storage_id``, if it can only mean one directory below the storage."""
    if not storage_id or storage_id in (".", "..") or "/" in storage_id or "\0" in storage_id:
        raise ValueError(f"{storage_id!r} is not a checkpoint id")
    return storage_id


def relative(name: str) -> str:
    """``name``, if it leads nowhere but downwards; names come out of storages that others write to."""
    path = pathlib.PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"{name!r} in the checkpoint storage leads out of its checkpoint")
    return name


def chosen(names: Iterable[str], selector: Optional[Selector]) -> Set[str]:
    """The names that the selector says yes to; all of them if there is no selector."""
    return {name for name in names if selector is None or selector(name)}


@contextlib.contextmanager
def forget_on_failure(forget: Callable[[], object]) -> Iterator[None]:
    """Undo a store that was cut short; the failure itself is what is reported."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            forget()
        raise
