"""Names by which programs for the released library know parts of ours: the REST API, the SDK, checkpoint storage."""

import importlib
import logging
import sys
from typing import Any

_MODULES = ("api", "check", "constants", "context", "experimental", "storage", "util")


def set_logger(debug_enabled: bool) -> None:
    """Let the program's log go to stdout, in the form that tasks have; ``debug_enabled`` asks for more words."""
    from determined import LOG_FORMAT

    level = logging.DEBUG if debug_enabled else logging.INFO
    logging.basicConfig(stream=sys.stdout, level=level, format=LOG_FORMAT, force=True)


def __getattr__(name: str) -> Any:
    """Load a module on first use: programs that import the package reckon with all of them."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
