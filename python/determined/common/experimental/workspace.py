"""Another place of names that :mod:`determined.experimental.client` has: workspaces."""

from determined.experimental._workspace import Workspace

__all__ = ["Workspace"]
