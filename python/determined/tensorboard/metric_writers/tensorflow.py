"""A writer of event files that needs the package ``tensorboard`` only."""

import os
import time
from typing import Any, Optional, Union

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from determined.tensorboard import get_base_path
from determined.tensorboard.metric_writers.callback import MetricWriter


class TFWriter(MetricWriter):
    """Writes event files as TensorFlow does.

    Parameters
    ----------
    log_dir : path, optional
        Where to; by default where the platform collects the files of a trial.

    Attributes
    ----------
    writer : EventFileWriter
        Of the package ``tensorboard``; it changes with :meth:`reset`.

    Examples
    --------
    >>> writer = TFWriter()  # doctest: +SKIP
    >>> writer.add_scalar("lr", 0.1, step=100)  # doctest: +SKIP
    >>> writer.flush()  # doctest: +SKIP
    """

    def __init__(self, *, log_dir: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        self._log_dir = str(log_dir if log_dir is not None else get_base_path({}))
        self.writer: Any = EventFileWriter(self._log_dir)

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Add a point; see :class:`MetricWriter`."""
        summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=name, simple_value=float(value))])
        self.writer.add_event(event_pb2.Event(wall_time=time.time(), step=int(step), summary=summary))

    def reset(self) -> None:
        """Close the file; what comes next goes into a new one."""
        self.writer.close()
        self.writer = EventFileWriter(self._log_dir)

    def flush(self) -> None:
        """Bring everything added so far to disk."""
        self.writer.flush()
