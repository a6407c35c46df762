"""A writer of event files around PyTorch's."""

from typing import Any

from torch.utils.tensorboard import SummaryWriter

from determined.tensorboard import get_base_path
from determined.tensorboard.metric_writers.callback import MetricWriter


class TorchWriter(MetricWriter):
    """A ``SummaryWriter`` of PyTorch's that writes where the platform collects the files of a trial.

    ``PyTorchTrialContext.get_tensorboard_writer()`` gives one that is brought to disk and stored for you.

    Attributes
    ----------
    writer : torch.utils.tensorboard.SummaryWriter

    Examples
    --------
    >>> logger = TorchWriter()  # doctest: +SKIP
    >>> logger.writer.add_histogram("weights", model.weight, batch_idx)  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self.writer: Any = SummaryWriter(log_dir=str(get_base_path({})))

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Add a point; see :class:`MetricWriter`."""
        self.writer.add_scalar(name, value, step)

    def reset(self) -> None:
        """Close the file; what comes next goes into a new one."""
        self.writer.close()

    def flush(self) -> None:
        """Bring everything added so far to disk."""
        self.writer.flush()
