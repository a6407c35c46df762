"""Single files as requests carry them."""

import pathlib
from typing import Any, Dict

from determined.common.api import bindings
from determined.experimental import _context

_V1File: Any = bindings.v1File


def v1File_size(f: Any) -> int:  # noqa: N802 (the released library's name)
    """How many bytes the file ``f`` has."""
    return len(f.content) // 4 * 3 if f.content else 0


def v1File_to_dict(f: Any) -> Dict[str, Any]:  # noqa: N802
    """The file ``f`` as JSON has it."""
    fields: Dict[str, Any] = f.to_json()
    return fields


def v1File_from_local_file(archive_path: str, path: pathlib.Path) -> Any:  # noqa: N802
    """The file ``path`` of this machine, under the name ``archive_path``."""
    return _V1File(**_context.entry(path, archive_path))


def v1File_from_local_dir(archive_path: str, path: pathlib.Path) -> Any:  # noqa: N802
    """The directory ``path`` of this machine without its contents, under the name ``archive_path``."""
    return _V1File(**_context.entry(path, archive_path))
