"""Drawing metrics as they are reported."""

import abc
from typing import Any, Dict, Iterable, List, Optional

from determined._training import _curves


class MetricWriter(abc.ABC):
    """Something that writes points of curves into event files."""

    @abc.abstractmethod
    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Add a point.

        Parameters
        ----------
        name : str
            Of the curve.
        value : number
            Of Python or NumPy.
        step : int
            Usually batches trained.
        """

    @abc.abstractmethod
    def reset(self) -> None:
        """Close the file; what comes next goes into a new one."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Bring everything added so far to disk."""


class BatchMetricWriter:
    """Writes the numbers among reported metrics, in curves whose names begin with ``Determined/``.

    Parameters
    ----------
    writer : MetricWriter
    """

    def __init__(self, writer: MetricWriter) -> None:
        self.writer = writer

    def on_train_step_end(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Write training metrics: of each batch, and averages of what single batches do not have.

        Parameters
        ----------
        steps_completed : int
            Batches trained so far.
        metrics : dict
            Averages since the last time.
        batch_metrics : list of dict, optional
            One for each batch since the last time.
        """
        batches = batch_metrics or []
        first = steps_completed - len(batches)
        seen = {name for batch in batches for name in batch}
        for i, batch in enumerate(batches):
            self._write(_curves.training_points(first + i, batch))
        averages = {name: value for name, value in metrics.items() if name not in seen}
        self._write(_curves.training_points(steps_completed, averages))
        self.writer.flush()

    def on_validation_step_end(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Write validation ``metrics`` at ``steps_completed``; names without ``val`` before get ``val_``."""
        self._write(_curves.validation_points(steps_completed, metrics))
        self.writer.flush()

    def _write(self, points: Iterable[_curves.Point]) -> None:
        for name, value, step in points:
            self.writer.add_scalar(name, value, step)
