"""When a learning rate scheduler steps."""

import enum
from typing import Any, Dict, List

import torch.optim.lr_scheduler


class LRScheduler:
    """A scheduler of PyTorch's, and when the training loop steps it.

    Parameters
    ----------
    scheduler : torch.optim.lr_scheduler.LRScheduler
    step_mode : LRScheduler.StepMode
    frequency : int
        Step only every so many batches, optimizer steps or epochs.
    """

    class StepMode(enum.Enum):
        """When to step: at each epoch's end, at each step of the optimizer, after each batch, or when you do."""

        STEP_EVERY_EPOCH = 1
        MANUAL_STEP = 2
        STEP_EVERY_BATCH = 3
        STEP_EVERY_OPTIMIZER_STEP = 4

    def __init__(
        self,
        scheduler: torch.optim.lr_scheduler.LRScheduler,
        step_mode: StepMode,
        frequency: int = 1,
    ) -> None:
        if frequency < 1:
            raise ValueError(f"frequency={frequency}: must be at least 1")
        self._scheduler = scheduler
        self._step_mode = LRScheduler.StepMode(step_mode)
        self._frequency = frequency

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Step now; ``args`` and ``kwargs`` go to the scheduler."""
        self._scheduler.step(*args, **kwargs)

    def after_batch(self, batch_idx: int, aggregation_frequency: int, epoch_len: int) -> None:
        """Step as often as is due, now that batch ``batch_idx`` (from 0) is done and the optimizer has stepped.

        With gradients aggregated over several batches, this is called once for them all.

        Parameters
        ----------
        batch_idx : int
            From 0.
        aggregation_frequency : int
            Batches for each step of the optimizer.
        epoch_len : int
            Batches of an epoch.
        """
        for _ in range(self._due(batch_idx, aggregation_frequency, epoch_len)):
            self._scheduler.step()

    def _due(self, batch_idx: int, aggregation_frequency: int, epoch_len: int) -> int:
        if self._step_mode == LRScheduler.StepMode.STEP_EVERY_BATCH:
            done = range(batch_idx - aggregation_frequency + 1, batch_idx + 1)
        elif self._step_mode == LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP:
            done = range(batch_idx, batch_idx + 1)
        elif self._step_mode == LRScheduler.StepMode.STEP_EVERY_EPOCH:
            # Epochs that are over by the time of the optimizer's next step.
            done = range(batch_idx // epoch_len, (batch_idx + aggregation_frequency) // epoch_len)
        else:
            done = range(0)
        return sum((i + 1) % self._frequency == 0 for i in done)

    def get_last_lr(self) -> List[Any]:
        """The learning rates in use."""
        return self._scheduler.get_last_lr()

    def state_dict(self) -> Dict[Any, Any]:
        """The scheduler's state."""
        return self._scheduler.state_dict()

    def load_state_dict(self, state_dict: Dict[Any, Any]) -> None:
        """Take over a state."""
        self._scheduler.load_state_dict(state_dict)
