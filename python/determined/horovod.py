"""Horovod, whichever framework's it turns out to be.

One process can use Horovod for one framework only. ``hvd`` stands for it: code says once which one it needs, and then
uses it as if it had imported that.

>>> from determined.horovod import hvd
>>> hvd.require_horovod_type("torch", "this model is trained with PyTorch")  # doctest: +SKIP
>>> hvd.init()  # doctest: +SKIP
"""

import importlib
from typing import Any, Optional, Tuple


class _Horovod:
    """Stands for the module ``horovod.TYPE`` once it is known which."""

    def __init__(self) -> None:
        self._chosen: Optional[Tuple[str, str]] = None
        self._module: Any = None

    def require_horovod_type(self, horovod_type: str, reason: str) -> None:
        """Say whose Horovod this program needs.

        Parameters
        ----------
        horovod_type : str
            Such as ``torch`` or ``tensorflow.keras``.
        reason : str
            Why, for the error of somebody who needs another one.

        Raises
        ------
        ValueError
            If another one is in use.
        ImportError
            If there is none.
        """
        if self._chosen is not None and self._chosen[0] != horovod_type:
            used, why = self._chosen
            raise ValueError(
                f"horovod.{horovod_type} is needed ({reason}), but horovod.{used} is in use ({why}); "
                "a process can use one of them only"
            )
        self._module = importlib.import_module(f"horovod.{horovod_type}")
        self._chosen = self._chosen or (horovod_type, reason)

    def __getattr__(self, attr: str) -> Any:
        if self._module is None:
            raise AttributeError(
                f"hvd.{attr}: call hvd.require_horovod_type() first, which says whose Horovod is meant"
            )
        return getattr(self._module, attr)


hvd = _Horovod()
