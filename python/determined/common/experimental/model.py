"""Another place of names that :mod:`determined.experimental.client` has: the model registry."""

from determined.experimental._api import OrderBy
from determined.experimental._model import Model, ModelOrderBy, ModelSortBy, ModelVersion

__all__ = ["Model", "ModelOrderBy", "ModelSortBy", "ModelVersion", "OrderBy"]
