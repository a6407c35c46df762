"""Another place of names that :mod:`determined.experimental.client` has: the cluster as an object."""

from determined.experimental._api import OrderBy
from determined.experimental._determined import Determined

__all__ = ["Determined", "OrderBy"]
