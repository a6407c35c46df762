"""Model directories as requests carry them."""

import pathlib
from typing import Any, Dict, Iterable, List, Optional

from determined.common import constants
from determined.common.api import bindings
from determined.experimental import _context

LegacyContext = List[Dict[str, Any]]
_V1File: Any = bindings.v1File


def read_legacy_context(
    context_root: Optional[pathlib.Path],
    includes: Iterable[pathlib.Path] = (),
    limit: int = constants.MAX_CONTEXT_SIZE,
) -> LegacyContext:
    """The files of a model directory as plain dictionaries.

    Parameters
    ----------
    context_root : pathlib.Path, optional
        The directory. What its ``.detignore`` names stays here, as do ``.git`` and compiled Python.
    includes : iterable of pathlib.Path
        Files, and directories as a whole, that are to lie beside its own.
    limit : int
        Bytes that all files together may have.

    Raises
    ------
    ValueError
        If they have more.
    """
    return [{**file} for file in _context.read(context_root, includes, limit)]


def read_v1_context(
    context_root: Optional[pathlib.Path],
    includes: Iterable[pathlib.Path] = (),
    limit: int = constants.MAX_CONTEXT_SIZE,
) -> List[Any]:
    """The files of a model directory, for ``modelDefinition`` of ``bindings.v1CreateExperimentRequest``.

    Parameters
    ----------
    context_root : pathlib.Path, optional
        The directory. What its ``.detignore`` names stays here, as do ``.git`` and compiled Python.
    includes : iterable of pathlib.Path
        Files, and directories as a whole, that are to lie beside its own.
    limit : int
        Bytes that all files together may have.

    Raises
    ------
    ValueError
        If they have more.
    """
    return [_V1File(**entry) for entry in _context.read(context_root, includes, limit)]
