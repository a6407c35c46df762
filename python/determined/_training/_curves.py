"""What a trial reports, drawn in TensorBoard as well."""

import importlib.util
import logging
import numbers
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import numpy as np

logger = logging.getLogger("determined.pytorch")

Point = Tuple[str, float, int]


def _scalars(metrics: Dict[str, Any]) -> Iterator[Tuple[str, float]]:
    for name, value in metrics.items():
        single = isinstance(value, np.ndarray) and value.ndim == 0
        if (isinstance(value, numbers.Real) and not isinstance(value, bool)) or single:
            yield name, float(value)


def training_points(steps_completed: int, metrics: Dict[str, Any]) -> Iterator[Point]:
    """A point for each number among the averages of a report; those of single batches would cost time in every batch.

    >>> list(training_points(20, {"loss": 0.5, "note": "x"}))
    [('Determined/loss', 0.5, 20)]
    """
    for name, value in _scalars(metrics):
        yield f"Determined/{name}", value, steps_completed


def validation_points(steps_completed: int, metrics: Dict[str, Any]) -> Iterator[Point]:
    """The same for a validation, named apart from training's.

    >>> list(validation_points(20, {"loss": 0.5, "val_f1": 0.9, "confusion": [[1]]}))
    [('Determined/val_loss', 0.5, 20), ('Determined/val_f1', 0.9, 20)]
    """
    for name, value in _scalars(metrics):
        yield f"Determined/{name if name.startswith('val') else 'val_' + name}", value, steps_completed


class Curves:
    """Writes points with the trial's ``SummaryWriter``; where ``tensorboard`` is not installed it says so, once.

    Parameters
    ----------
    writer : callable
        Gives the writer; asked for when there is something to write.
    """

    def __init__(self, writer: Callable[[], Any]) -> None:
        self._writer = writer
        self._there: Optional[bool] = None

    def draw(self, points: Iterator[Point]) -> None:
        """Add the points to their curves."""
        if self._there is None:
            self._there = importlib.util.find_spec("tensorboard") is not None
            if not self._there:
                logger.info("the Python package tensorboard is not installed: metrics are not drawn in TensorBoard")
        if not self._there:
            return
        writer = self._writer()
        for name, value, step in points:
            writer.add_scalar(name, value, step)
