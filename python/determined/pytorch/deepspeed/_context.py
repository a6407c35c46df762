"""What a DeepSpeedTrial has at hand."""

import logging
import warnings
from typing import Any, Dict, Optional

import torch
from deepspeed import PipelineEngine
from deepspeed.accelerator import get_accelerator

from determined import core, errors
from determined.pytorch._trial_context import TorchTrialContext
from determined.pytorch.deepspeed import _mpu

logger = logging.getLogger("determined.pytorch")


def _device(local_rank: int) -> torch.device:
    """Where DeepSpeed itself will put the models."""
    accelerator = get_accelerator()
    if accelerator.device_name() == "cpu":
        return torch.device("cpu")
    accelerator.set_device(local_rank)
    return torch.device(accelerator.device_name(local_rank))


class DeepSpeedTrialContext(TorchTrialContext):
    """What a :class:`DeepSpeedTrial` gets. Made by :func:`determined.pytorch.deepspeed.init`.

    Parameters
    ----------
    num_gpus : int
        Not looked at: DeepSpeed's accelerator knows where to train, which may be the CPU (``DS_ACCELERATOR=cpu``).

    Attributes
    ----------
    device : torch.device
        Where DeepSpeed computes.
    models : list of deepspeed.DeepSpeedEngine
        Everything wrapped so far.
    distributed : core.DistributedContext
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        num_gpus: int,
        exp_conf: Optional[Dict[str, Any]],
        steps_completed: int,
        enable_tensorboard_logging: bool = True,
    ) -> None:
        super().__init__(
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            _device(core_context.distributed.local_rank),
            exp_conf,
            steps_completed,
            enable_tensorboard_logging,
        )
        self._mpu = _mpu.make_data_parallel_mpu(self.distributed)
        self._mpu_was_set = False
        self._use_pipeline_parallel = False
        self._data_repro_checks_disabled = False
        self._manual_grad_accumulation = False

    @property
    def _reproducibility_checked(self) -> bool:
        return not self._data_repro_checks_disabled

    # What to train

    def wrap_model_engine(self, model: Any) -> Any:
        """Register a model engine: it goes into checkpoints, and the first one says how large batches are.

        Parameters
        ----------
        model : deepspeed.DeepSpeedEngine
            As ``deepspeed.initialize()`` made it, with its optimizer and learning rate scheduler. The stages of a
            ``PipelineEngine`` also tell which process needs data.

        Returns
        -------
        deepspeed.DeepSpeedEngine
            The same.
        """
        if isinstance(model, PipelineEngine):
            self._use_pipeline_parallel = True
            if not self.models:
                self._mpu = _mpu.make_deepspeed_mpu(model.mpu)
        if self.models and model.train_micro_batch_size_per_gpu() != self.get_train_micro_batch_size_per_gpu():
            logger.warning(
                "model engine %d has micro batches of %d records, but the first has %d, which counts",
                len(self.models) + 1,
                model.train_micro_batch_size_per_gpu(),
                self.get_train_micro_batch_size_per_gpu(),
            )
        self.models.append(model)
        return model

    def set_mpu(self, mpu: _mpu.ModelParallelUnit) -> None:
        """Say which part of the data this process has, where DeepSpeed's own ways to share a model are not used.

        Raises
        ------
        errors.InvalidExperimentException
            If no engine is wrapped yet, or this was called before.
        """
        if not self.models:
            raise errors.InvalidExperimentException("set_mpu() needs a model engine: call wrap_model_engine() first")
        if self._mpu_was_set:
            raise errors.InvalidExperimentException("set_mpu() was called twice: there can be only one")
        self._mpu_was_set = True
        self._mpu = mpu

    def disable_auto_grad_accumulation(self) -> None:
        """Call ``train_batch()`` once for each batch, not for each micro batch: it goes through all of them itself."""
        self._manual_grad_accumulation = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allow data loaders of any kind, which after a pause may go on anywhere in the data."""
        self._data_repro_checks_disabled = True

    @property
    def use_pipeline_parallel(self) -> bool:
        """Whether an engine is a ``PipelineEngine``."""
        return self._use_pipeline_parallel

    def _first_engine(self) -> Any:
        if not self.models:
            raise errors.InvalidExperimentException("batch sizes are unknown: call wrap_model_engine() first")
        return self.models[0]

    def get_train_micro_batch_size_per_gpu(self) -> int:
        """Records in a micro batch, of which data loaders are made.

        Raises
        ------
        errors.InvalidExperimentException
            If no engine is wrapped yet.
        """
        return int(self._first_engine().train_micro_batch_size_per_gpu())

    def get_num_micro_batches_per_slot(self) -> int:
        """Micro batches in a batch of one process: DeepSpeed's ``gradient_accumulation_steps``.

        Raises
        ------
        errors.InvalidExperimentException
            If no engine is wrapped yet.
        """
        return int(self._first_engine().gradient_accumulation_steps())

    @property
    def train_micro_batch_size_per_gpu(self) -> int:
        """Former name of :meth:`get_train_micro_batch_size_per_gpu`."""
        warnings.warn("use get_train_micro_batch_size_per_gpu()", FutureWarning, stacklevel=2)
        return self.get_train_micro_batch_size_per_gpu()

    @property
    def num_micro_batches_per_slot(self) -> int:
        """Former name of :meth:`get_num_micro_batches_per_slot`."""
        warnings.warn("use get_num_micro_batches_per_slot()", FutureWarning, stacklevel=2)
        return self.get_num_micro_batches_per_slot()


def mpu_of(context: DeepSpeedTrialContext) -> _mpu.ModelParallelUnit:
    """What says which process loads data and reports metrics."""
    return context._mpu


def accumulates_itself(context: DeepSpeedTrialContext) -> bool:
    """Whether the trial's ``train_batch()`` goes through all micro batches of a batch itself."""
    return context._manual_grad_accumulation
