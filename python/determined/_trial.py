"""The root of all Trial classes."""

import abc
import contextlib
from typing import Any, Optional, Type


class LegacyTrial(metaclass=abc.ABCMeta):
    """A class that describes one training run; frameworks derive their own (``determined.pytorch.PyTorchTrial``).

    Attributes
    ----------
    trial_context_class : type, optional
        What the constructor receives.
    trial_controller_class : type, optional
        What drives the trial.
    """

    trial_context_class: Optional[Type[Any]] = None
    trial_controller_class: Optional[Type[Any]] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> "LegacyTrial":
        """Know the context, as ``self.context`` and by its older name ``self.ctx``, before the constructor runs."""
        trial = super().__new__(cls)
        context = args[0] if args else kwargs.get("context")
        for name in ("context", "ctx"):
            with contextlib.suppress(AttributeError):  # a class may have a property of that name
                setattr(trial, name, context)
        return trial

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Build models, optimizers and whatever the trial needs, through ``context``."""
