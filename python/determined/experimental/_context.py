"""The files that go along with an experiment."""

import base64
import os
import pathlib
import stat
from typing import TYPE_CHECKING, Callable, Iterable, List, Optional, Union

if TYPE_CHECKING:
    from determined import _messages

# Of the files' content; the master takes no more.
SIZE_MAX = 95 << 20
IGNORE_FILE = ".detignore"
# Whatever a .detignore says.
ALWAYS_IGNORED = (".git", "__pycache__", "*.pyc")

Path = Union[str, "os.PathLike[str]"]
_FILE, _DIRECTORY = ord("0"), ord("5")


class ContextTooLarge(ValueError):
    """The files of an experiment are more than the master takes."""


def ignored(root: pathlib.Path) -> Callable[[str], bool]:
    """Which paths below ``root`` stay here (directories end with a slash)."""
    own = root / IGNORE_FILE
    if not own.is_file():
        return lambda name: name.rstrip("/").split("/")[-1] in ALWAYS_IGNORED or name.endswith(".pyc")
    try:
        import pathspec
    except ImportError:
        raise ImportError(f"{own}: to read it the package pathspec is needed (pip install pathspec)") from None
    spec = pathspec.GitIgnoreSpec.from_lines([*own.read_text(encoding="utf-8").splitlines(), *ALWAYS_IGNORED])
    return spec.match_file


def entry(path: pathlib.Path, name: str) -> "_messages.File":
    """A file or directory, under a name, as the master wants it."""
    status = path.stat()
    directory = stat.S_ISDIR(status.st_mode)
    return {
        "path": name,
        "type": _DIRECTORY if directory else _FILE,
        "content": "" if directory else base64.b64encode(path.read_bytes()).decode("ascii"),
        "mtime": str(int(status.st_mtime)),
        "mode": stat.S_IMODE(status.st_mode),
        "uid": 0,
        "gid": 0,
    }


def below(root: pathlib.Path, prefix: str) -> Iterable["tuple[pathlib.Path, str]"]:
    """What of a directory goes along, each with its name there."""
    is_ignored = ignored(root)
    for directory, directories, files in os.walk(root, followlinks=True):
        relative = pathlib.Path(directory).relative_to(root).as_posix()
        inner = "" if relative == "." else relative + "/"
        directories[:] = sorted(d for d in directories if not is_ignored(f"{inner}{d}/"))
        for name in directories:
            yield pathlib.Path(directory, name), f"{prefix}{inner}{name}"
        for name in sorted(files):
            path = pathlib.Path(directory, name)
            if not is_ignored(f"{inner}{name}") and path.is_file():
                yield path, f"{prefix}{inner}{name}"


def read(
    model_dir: Optional[Path], includes: Optional[Iterable[Path]] = None, limit: int = SIZE_MAX
) -> "List[_messages.File]":
    """The files of a directory, and what else is to lie beside them.

    Parameters
    ----------
    model_dir : path-like, optional
        Its contents go along, but for what its ``.detignore`` (in the form of ``.gitignore``) names, ``.git`` and
        compiled Python.
    includes : list of path-like, optional
        Files, and directories as a whole, under their own names.
    limit : int
        Bytes that all files together may have.

    Returns
    -------
    list of dict
        As the master wants them.

    Raises
    ------
    ContextTooLarge
        If they are more than that.
    """
    found = []
    if model_dir is not None:
        root = pathlib.Path(model_dir)
        if not root.is_dir():
            raise NotADirectoryError(f"model_dir {os.fspath(model_dir)!r} is not a directory")
        found += list(below(root, ""))
    for include in includes or []:
        path = pathlib.Path(include).resolve()
        found.append((path, path.name))
        if path.is_dir():
            found += list(below(path, path.name + "/"))
    size = sum(path.stat().st_size for path, _ in found if path.is_file())
    if size > limit:
        raise ContextTooLarge(
            f"the files of {model_dir} are {size:,} bytes, more than the {limit:,} that the master takes; "
            f"name what is not needed in {IGNORE_FILE}"
        )
    return [entry(path, name) for path, name in found]
