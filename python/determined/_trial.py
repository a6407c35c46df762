"""The root of all Trial classes."""

import abc
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

    @abc.abstractmethod
    def __init__(self, context: Any) -> None:
        """Build models, optimizers and whatever the trial needs, through ``context``."""
