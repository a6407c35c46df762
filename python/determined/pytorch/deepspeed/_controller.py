"""The training loop of a :class:`DeepSpeedTrial`."""

import contextlib
import logging
import pathlib
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from deepspeed import PipelineEngine

from determined import errors
from determined._training import _description
from determined._trial_context import set_epoch_length
from determined.pytorch import _state
from determined.pytorch._loop import TorchTrainingLoop, keep
from determined.pytorch._validation import Validation, evaluates_batches, overrides, training_metrics
from determined.pytorch.deepspeed import _context
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._trial import DeepSpeedTrial

logger = logging.getLogger("determined.pytorch")

# ZeRO splits parameters from this stage on.
SPLITS_PARAMETERS = 3


def state_file(rank: int) -> str:
    """Where a process has its callbacks and random numbers in a checkpoint; the published library's name for it."""
    return f"det_state_dict_rank{rank}.pth"


class DeepSpeedValidation(Validation):
    """Validates by handing the trial an iterator, equally often in all processes.

    Parameters
    ----------
    trial, context, callbacks, loader, one_batch
        As for :class:`Validation`; the loader is None where the model's stages need no data.
    batches : int
        How often to call ``evaluate_batch()``.
    """

    _context: DeepSpeedTrialContext

    def __init__(self, *args: Any, batches: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._batches = 1 if self._one_batch else batches

    def _evaluated(self) -> Iterator[Any]:
        iterator = iter(self._loader) if self._loader is not None else None
        for batch_idx in range(self._batches):
            arguments = self._arguments(iterator, batch_idx)
            metrics = self._trial.evaluate_batch(*arguments.values())
            if _context.mpu_of(self._context).should_report_metrics:
                yield metrics

    def _sharded(self) -> bool:
        return self._context.use_pipeline_parallel or any(
            engine.zero_optimization_stage() >= SPLITS_PARAMETERS for engine in self._context.models
        )


class DeepSpeedTrialController(TorchTrainingLoop):
    """Lets the trial take micro batches itself; each process writes its part of a checkpoint."""

    _trial: DeepSpeedTrial
    _context: DeepSpeedTrialContext
    _unchecked_call = "context.disable_dataset_reproducibility_checks()"

    def _check_trial(self) -> None:
        name = type(self._trial).__name__
        if not self._context.models:
            raise errors.InvalidExperimentException(
                f"{name} wraps no model engine: pass it to context.wrap_model_engine()"
            )
        if not evaluates_batches(self._trial) and not overrides(self._trial, "evaluate_full_dataset"):
            raise errors.InvalidExperimentException(
                f"{name} must implement evaluate_batch() or evaluate_full_dataset()"
            )

    # Data

    def _build_data_loaders(self) -> None:
        mpu, micro_batches = _context.mpu_of(self._context), self._context.get_num_micro_batches_per_slot()
        validation_loader = None
        if mpu.should_build_data_loader:
            self._training_loader = self._torch_loader(
                self._trial.build_training_data_loader(),
                "build_training_data_loader",
                repeat=True,
                skip=self._state.batches_trained * micro_batches,
                num_replicas=mpu.data_parallel_world_size,
                rank=mpu.data_parallel_rank,
            )
            parts = evaluates_batches(self._trial)
            validation_loader = self._torch_loader(
                self._trial.build_validation_data_loader(),
                "build_validation_data_loader",
                repeat=False,
                skip=0,
                num_replicas=mpu.data_parallel_world_size if parts else 1,
                rank=mpu.data_parallel_rank if parts else 0,
            )
        self._epoch_len = self._batches_in_epoch(micro_batches)
        set_epoch_length(self._context, self._epoch_len)
        self._validation = DeepSpeedValidation(
            self._trial,
            self._context,
            self._callbacks,
            validation_loader,
            one_batch=self._plan.test_mode,
            batches=self._batches_to_evaluate(validation_loader, micro_batches),
        )

    def _batches_in_epoch(self, micro_batches: int) -> int:
        shortest, _ = self._lengths_of(self._training_loader)
        if shortest < micro_batches:
            raise errors.InvalidExperimentException(
                f"build_training_data_loader() returned a loader of {shortest} micro batches for a process, but "
                f"DeepSpeed's gradient_accumulation_steps is {micro_batches}"
            )
        return shortest // micro_batches

    def _batches_to_evaluate(self, loader: Any, micro_batches: int) -> int:
        if not evaluates_batches(self._trial):
            return 0
        shortest, longest = self._lengths_of(loader)
        # A pipeline takes so many micro batches each time.
        batches = shortest // micro_batches if self._context.use_pipeline_parallel else shortest
        if batches == 0:
            raise errors.InvalidExperimentException(
                f"build_validation_data_loader() has {shortest} micro batches for a process: too few to evaluate"
            )
        if shortest < longest and self._is_chief:
            logger.warning(
                "validation takes %d batches in each process, as some have no more; others have %d", shortest, longest
            )
        return batches

    def _lengths_of(self, loader: Any) -> Tuple[int, int]:
        """Micro batches of the processes that have a loader: the fewest, and the most."""
        lengths = [n for n in self._context.distributed.allgather(_length(loader)) if n is not None]
        return min(lengths), max(lengths)

    def _training_batches(self, stack: contextlib.ExitStack) -> Any:
        if self._training_loader is None:
            return None
        return self._timed(super()._training_batches(stack))

    def _timed(self, batches: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._timings.waiting_for_data():
                batch = next(batches)
            yield batch

    # Training

    def _train_next(self, batches: Any) -> List[Dict[str, Any]]:
        micro_batches = self._context.get_num_micro_batches_per_slot()
        at_once = self._context.use_pipeline_parallel or _context.accumulates_itself(self._context)
        batch_idx = self._state.batches_trained
        kept = []
        for _ in range(1 if at_once else micro_batches):
            with self._timings.measure_but_waiting("train_batch"):
                metrics = self._trial.train_batch(batches, batch_idx // self._epoch_len, batch_idx)
            if _context.mpu_of(self._context).should_report_metrics:
                kept.append(keep(training_metrics(metrics)))
        self._check_accumulation(micro_batches)
        self._timings.batch_ends(micro_batches * self._context.get_train_micro_batch_size_per_gpu())
        return kept

    def _check_accumulation(self, micro_batches: int) -> None:
        engine = self._context.models[0]
        if not isinstance(engine, PipelineEngine) and engine.micro_steps % micro_batches:
            raise errors.InvalidExperimentException(
                f"after a batch, {engine.micro_steps % micro_batches} of {micro_batches} micro batches wait for the "
                "optimizer's step: train_batch() must call the engine's step() once for each micro batch"
            )

    # Checkpoints

    def _load(self, checkpoint: pathlib.Path) -> None:
        rank = self._context.distributed.rank
        mine = (checkpoint / state_file(rank)).is_file()
        file = checkpoint / state_file(rank if mine else 0)
        if not file.is_file():
            raise errors.InvalidCheckpointException(
                f"{checkpoint} has no {file.name}: it was not saved by a DeepSpeedTrial"
            )
        state = torch.load(str(file), map_location="cpu", weights_only=False)
        for callback in self._callbacks.values():
            callback.on_checkpoint_load_start(state)
        self._trial.load(self._context, checkpoint)
        _state.load_callbacks(self._callbacks, state)
        if mine and "rng_state" in state:
            _state.set_random_state(self._context, state["rng_state"])
        else:
            logger.warning("the checkpoint holds no random numbers of process %d: they are not continued", rank)

    def _store(self) -> str:
        with self._core.checkpoint.store_path(self._metadata(), shard=True) as (path, storage_id):
            self._save(path)
        return storage_id

    def _save(self, path: pathlib.Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        if self._is_chief:
            _description.save_description(
                path,
                self._context,
                self._state,
                type(self._trial),
                trial_type="DeepSpeedTrial",
                by_trainer=self._plan.by_trainer,
            )
        state = {
            "callbacks": {name: callback.state_dict() for name, callback in self._callbacks.items()},
            "rng_state": _state.random_state(self._context),
        }
        for callback in self._callbacks.values():
            callback.on_checkpoint_save_start(state)
        torch.save(state, str(path / state_file(self._context.distributed.rank)))
        self._trial.save(self._context, path)
        _state.tell_written(self._callbacks, path)


def _length(loader: Any) -> Optional[int]:
    """Batches of a loader; None without one."""
    if loader is None:
        return None
    # DeepSpeed's RepeatingLoader has no length, but what it repeats has.
    for candidate in (loader, getattr(loader, "loader", None)):
        with contextlib.suppress(TypeError):
            return len(candidate)  # type: ignore[arg-type]
    return sys.maxsize
