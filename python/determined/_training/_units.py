"""Lengths and periods of training."""

import collections.abc
import sys
from typing import Any, Dict, Optional, Union

NEVER = sys.maxsize


class TrainUnit:
    """A number of batches or epochs; see :class:`Batch` and :class:`Epoch`.

    Parameters
    ----------
    value : int or container of int
        A period (every so many), or the very points (in a list, set, range …) at which something is to happen.
    """

    def __init__(self, value: Union[int, collections.abc.Container[int]]):
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def should_stop(self, step_num: int) -> bool:
        """Whether something that happens at this period, or at these points, happens after ``step_num`` steps.

        >>> Batch(10).should_stop(20), Batch([5, 7]).should_stop(20), Epoch(0).should_stop(3)
        (True, False, True)
        """
        if not isinstance(self.value, int):
            return step_num in self.value
        if self.value < 1:
            return True
        return step_num > 0 and step_num % self.value == 0


class Epoch(TrainUnit):
    """A number of passes through the training data."""


class Batch(TrainUnit):
    """A number of batches."""


def unit_from_config(
    config: Dict[str, Any], global_batch_size: Optional[int], records_per_epoch: Optional[int] = None
) -> TrainUnit:
    """The unit that ``{"batches": n}``, ``{"epochs": n}`` or ``{"records": n}`` in a configuration means.

    0 means never, and so does an empty dictionary. Records are counted in batches, rounded down, but not to nothing.

    Parameters
    ----------
    config : dict
    global_batch_size : int or None
        The hyperparameter.
    records_per_epoch : int, optional
        If the configuration says how many records an epoch has, epochs are counted as so many records. Otherwise one is
        a pass through the training data.

    Raises
    ------
    ValueError
        If it is something else, or counts records where the hyperparameter ``global_batch_size`` is missing.

    >>> unit_from_config({"records": 1000}, global_batch_size=64)
    Batch(15)
    >>> unit_from_config({"epochs": 2}, global_batch_size=64, records_per_epoch=1000)
    Batch(31)
    """
    given = {name: n for name, n in (config or {}).items() if n is not None}
    if not given:
        return Batch(NEVER)
    name, count = next(iter(given.items()))
    if len(given) > 1 or name not in ("batches", "epochs", "records") or not isinstance(count, int):
        raise ValueError(f"{config}: exactly one of batches, epochs and records, with an integer, makes a length")
    if name == "epochs":
        if not count or not records_per_epoch or not global_batch_size:
            return Epoch(count or NEVER)
        count *= records_per_epoch
    if name == "batches" or not count:
        return Batch(count or NEVER)
    if not global_batch_size:
        raise ValueError(f"{config}: counting records needs the hyperparameter global_batch_size")
    return Batch(max(count // global_batch_size, 1))
