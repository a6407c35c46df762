"""Another place of names that :mod:`determined.experimental.client` has: resource pools."""

from determined.experimental._workspace import ResourcePool

__all__ = ["ResourcePool"]
