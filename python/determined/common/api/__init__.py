"""See ``determined.common``."""

from determined.common.api import errors

__all__ = ["errors"]
