"""What of a model directory goes along with an experiment: all but what its ``.detignore`` names."""

import os
import pathlib
from typing import Any, Callable, Iterable, List, Set

from determined.common import v1file_utils
from determined.experimental import _context


def make_shutil_ignore(root_path: pathlib.Path) -> Callable[[str, List[str]], Set[str]]:
    """What :func:`shutil.copytree` takes as ``ignore``, to copy of ``root_path`` what would go along.

    Raises
    ------
    ImportError
        If there is a ``.detignore``, but not the package pathspec.
    """
    is_ignored = _context.ignored(pathlib.Path(root_path))

    def ignore(directory: str, names: List[str]) -> Set[str]:
        inner = os.path.relpath(directory, root_path)
        prefix = "" if inner == "." else inner + "/"
        ends = {name: "/" if os.path.isdir(os.path.join(directory, name)) else "" for name in names}
        return {name for name in names if is_ignored(prefix + name + ends[name])}

    return ignore


def os_walk_to_v1Files(root_path: pathlib.Path, entry_prefix: pathlib.Path) -> Iterable[Any]:  # noqa: N802
    """The files of a directory that go along, as requests carry them.

    Parameters
    ----------
    root_path : pathlib.Path
    entry_prefix : pathlib.Path
        What their names begin with.
    """
    prefix = pathlib.PurePath(entry_prefix).as_posix()
    for path, name in _context.below(pathlib.Path(root_path), "" if prefix == "." else prefix + "/"):
        yield v1file_utils.v1File_from_local_file(name, path)
