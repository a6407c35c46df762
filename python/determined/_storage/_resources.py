"""What lies in a directory, as resources (see the package), and which of it a pattern means."""

import collections
import fnmatch
import functools
import os
import pathlib
import re
from typing import Collection, Dict, Iterable, List, Set, Union

METADATA_FILE = "metadata.json"


def list_resources(directory: Union[str, "os.PathLike[str]"]) -> Dict[str, int]:
    """Everything below ``directory``, by name."""
    root = pathlib.Path(directory)
    resources = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir():
            resources[name + "/"] = 0
        elif path.is_file():
            resources[name] = path.stat().st_size
    return resources


def changed_files(directory: pathlib.Path, seen: Dict[str, float]) -> List[str]:
    """Files below ``directory`` that are new or were modified since ``seen`` was brought up to date; does so."""
    changed = []
    for path in sorted(directory.rglob("*")) if directory.is_dir() else []:
        if path.is_file():
            name, modified = path.relative_to(directory).as_posix(), path.stat().st_mtime
            if seen.get(name) != modified:
                seen[name] = modified
                changed.append(name)
    return changed


def _segment(pattern: str) -> str:
    """One segment of a pattern as a regular expression: no wildcard goes beyond a slash."""
    inside = re.compile(fnmatch.translate(pattern)).pattern
    return inside.replace("(?s:", "(?:").replace(r"\Z", "").replace(r"\z", "").replace(".*", "[^/]*")


@functools.lru_cache(maxsize=256)
def _compiled(glob: str) -> "re.Pattern[str]":
    parts = glob.split("/")
    text = "".join(
        (".*" if last else "(?:[^/]+/)*") if part == "**" else _segment(part) + ("" if last else "/")
        for part, last in ((part, i == len(parts) - 1) for i, part in enumerate(parts))
    )
    return re.compile(text, re.DOTALL)


def matches(globs: Iterable[str], name: str) -> bool:
    """Whether any of the patterns means the resource ``name``.

    ``*`` and ``?`` stay within one directory, ``**`` stands for any number of them.

    >>> matches(["*.pt"], "model.pt"), matches(["*.pt"], "optimizer/state.pt"), matches(["**/*.pt"], "a/b/state.pt")
    (True, False, True)
    """
    return any(_compiled(glob).fullmatch(name.rstrip("/")) for glob in globs)


def meant(names: Collection[str], globs: Iterable[str]) -> Set[str]:
    """Which of a checkpoint's resources go when the patterns do.

    A directory goes when nothing is left in it and it was meant, or lost something. ``metadata.json`` goes last:
    without it, the master does not take what is left for a checkpoint.

    >>> sorted(meant(["a", "logs/", "logs/1.log", "code/", "code/1.log", "code/main.py"], ["*/*.log"]))
    ['code/1.log', 'logs/', 'logs/1.log']
    """
    globs = list(globs)
    left = collections.Counter(_parent(name) for name in names)
    gone = {name for name in names if not name.endswith("/") and matches(globs, name)}
    for name in gone:
        left[_parent(name)] -= 1
    lost = {_parent(name) for name in gone}
    directories = [name for name in names if name.endswith("/")]
    for name in sorted(directories, key=lambda name: -name.count("/")):
        if left[name] == 0 and (name in lost or matches(globs, name)):
            gone.add(name)
            left[_parent(name)] -= 1
            lost.add(_parent(name))
    if set(names) - gone:
        gone.discard(METADATA_FILE)
    return gone


def _parent(name: str) -> str:
    return name.rstrip("/").rpartition("/")[0] + "/"
