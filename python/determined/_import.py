"""Importing modules from a directory, without leaving them behind."""

import contextlib
import os
import pathlib
import sys
from typing import Any, Dict, Iterator, Set


def _top_level_names(directory: pathlib.Path) -> Set[str]:
    """Names that ``import NAME`` would find in ``directory``."""
    names = set()
    for entry in directory.iterdir():
        if entry.suffix == ".py":
            names.add(entry.stem)
        elif entry.suffix == ".so":
            names.add(entry.name.split(".")[0])
        elif entry.is_dir() and entry.name.isidentifier():
            names.add(entry.name)
    return names


def _take_out(names: Set[str]) -> Dict[str, Any]:
    taken = {}
    for module in list(sys.modules):
        if module.split(".")[0] in names:
            taken[module] = sys.modules.pop(module)
    return taken


@contextlib.contextmanager
def import_from_path(path: "os.PathLike[str]") -> Iterator[Any]:
    """Import from ``path`` first, for as long as the context lasts.

    Afterwards the import system is as before: modules of the same names that were loaded earlier are back, those loaded
    meanwhile live on only where somebody holds them. So two versions of one file, say the ``model_def.py`` of two
    checkpoints, can be used side by side.

    Parameters
    ----------
    path : path-like
        Directory to import from.

    Raises
    ------
    NotADirectoryError
        If ``path`` is none.

    Examples
    --------
    >>> with det.import_from_path(checkpoint_dir / "code"):  # doctest: +SKIP
    ...     import model_def as old_model_def
    """
    directory = pathlib.Path(path).resolve()
    if not directory.is_dir():
        raise NotADirectoryError(f"import_from_path: {os.fspath(path)!r} is not a directory")
    names = _top_level_names(directory) - set(sys.builtin_module_names) - {"determined"}
    entry = str(directory)
    before = _take_out(names)
    sys.path.insert(0, entry)
    sys.path_importer_cache.pop(entry, None)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(entry)
        _take_out(names)
        sys.modules.update(before)
