"""Another place of names that :mod:`determined.experimental.client` has: projects."""

from determined.experimental._workspace import Project

__all__ = ["Project"]
