"""The training loop of a :class:`TFKerasTrial`."""

import contextlib
import pathlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

import keras
import numpy as np

from determined import errors
from determined._training import _loop
from determined._training._plan import Plan
from determined._training._units import Batch, Epoch
from determined._trial_context import averages_training_metrics, given_config, given_seed, set_epoch_length
from determined._version import __version__
from determined.keras import _checkpoint, _data, _ranks, _session, _state, _trial_context
from determined.keras._moments import Moments, ProgressLines
from determined.keras._trial import TFKerasTrial
from determined.keras._trial_context import TFKerasTrialContext


class TFKerasTrialController(_loop.TrainingLoop):
    """Hands batches to ``model.train_on_batch()`` one by one; checkpoints are written by the chief alone."""

    _trial: TFKerasTrial
    _context: TFKerasTrialContext

    def __init__(
        self, trial: TFKerasTrial, context: TFKerasTrialContext, plan: Plan, latest_checkpoint: Optional[str]
    ) -> None:
        _session.configure(trial.session_config())
        if context.distributed.size > 1:
            _ranks.connect(context.distributed)
        self._training_data = trial.build_training_data_loader()
        self._validation_arguments = _data.validation_arguments(trial.build_validation_data_loader(), context)
        trial.build_model()
        super().__init__(trial, context, plan, latest_checkpoint)

    # Before training

    def _build_callbacks(self) -> Dict[str, Any]:
        callbacks = self._trial.keras_callbacks()
        if not isinstance(callbacks, (list, tuple)) or not all(
            isinstance(callback, keras.callbacks.Callback) for callback in callbacks
        ):
            raise errors.InvalidExperimentException(
                f"keras_callbacks() must return a list of callbacks of Keras, not {callbacks!r}"
            )
        lines = [ProgressLines()] if _trial_context.fit_options_of(self._context).verbose else []
        self._moments = Moments([*lines, *callbacks], self._is_chief)
        return {"keras": self._moments}

    @property
    def _model(self) -> keras.Model:
        assert self._context.model is not None
        return self._context.model

    def _check_trial(self) -> None:
        name = type(self._trial).__name__
        if self._context.model is None:
            raise errors.InvalidExperimentException(
                f"{name}.build_model() wraps no model: pass it to context.wrap_model()"
            )
        if not self._model.compiled:
            raise errors.InvalidExperimentException(
                f"{name}.build_model() does not compile its model: call model.compile()"
            )
        if isinstance(self._model.optimizer, keras.optimizers.Optimizer):
            _trial_context.register_optimizer(self._context, self._model.optimizer)
        if not _trial_context.optimizers_of(self._context):
            raise errors.InvalidExperimentException(
                f"{name} has no optimizer: compile its model with one, or pass those of its train_step() to "
                "context.wrap_optimizer()"
            )

    def _build_data_loaders(self) -> None:
        source = _data.training_source(self._training_data, self._context, given_seed(self._context))
        self._training_loader = source
        length = source.length
        of_an_epoch = self._records_per_epoch()
        if of_an_epoch:
            length = max(of_an_epoch // self._context.get_global_batch_size(), 1)
        # Data without an end are one long epoch.
        self._epoch_len = self._context.distributed.broadcast(length or _loop.ENDLESS)
        set_epoch_length(self._context, self._epoch_len)
        self._prepare_model()

    def _records_per_epoch(self) -> int:
        return int(given_config(self._context).get("records_per_epoch") or 0)

    def _prepare_model(self) -> None:
        """Give the model and its optimizers their variables, which checkpoints fill; share them among processes."""
        if not self._model.built:
            self._model(_data.first_input(self._training_data))
        for optimizer in _trial_context.optimizers_of(self._context):
            if not optimizer.built:
                optimizer.build(self._model.trainable_variables)
        if self._context.distributed.size > 1:
            _ranks.agree(self._model.weights, self._context.distributed)
            _ranks.share_gradients(self._model, _trial_context.optimizers_of(self._context), self._context.distributed)
        params = {"epochs": None, "steps": None, "verbose": 0}
        self._moments.introduce(self._model, params)

    def _training_batches(self, stack: contextlib.ExitStack) -> Iterator[Any]:
        stack.callback(self._training_loader.close)
        return self._endless(self._training_loader.batches(self._state.batches_trained))

    def _endless(self, iterator: Iterator[Any]) -> Iterator[Any]:
        yield from iterator
        # Every source repeats itself, unless there is nothing to repeat.
        raise errors.InvalidExperimentException("the training data loader is empty")

    # Training

    def _begin_training(self) -> None:
        self._model.reset_metrics()
        if hasattr(self._model, "train"):
            self._model.train()  # of Keras on torch, whose evaluate() has switched it off
        self._moments.on_training_workload_begin(self._state.batches_trained, self._batches_until_due())

    def _batches_until_due(self) -> int:
        """Batches until something else has to be done, if nobody interrupts."""
        plan = self._plan
        ahead = [1] if plan.test_mode else []
        for unit in (plan.reporting_period, plan.validation_period, plan.checkpoint_period):
            if isinstance(unit.value, int) and unit.value > 0:
                batches = unit.value if isinstance(unit, Batch) else unit.value * self._epoch_len
                ahead.append(batches - self._state.batches_trained % batches)
        assert isinstance(self._length.value, int)
        end = self._length.value * (self._epoch_len if isinstance(self._length, Epoch) else 1)
        return min([*ahead, end - self._state.batches_trained])

    def _train_next(self, batches: Iterator[Any]) -> List[Dict[str, Any]]:
        batch_in_epoch = self._state.batches_trained % self._epoch_len
        with self._timings.waiting_for_data():
            batch = next(batches)
        self._moments.on_train_batch_begin(batch_in_epoch)
        with self._timings.measure("train_batch"), _metrics_kept(self._model):
            logs = self._model.train_on_batch(
                *keras.utils.unpack_x_y_sample_weight(batch),
                class_weight=_trial_context.fit_options_of(self._context).class_weight,
                return_dict=True,
            )
        self._moments.on_train_batch_end(batch_in_epoch, logs)
        self._timings.batch_ends(_data.records_in(batch) if self._timings.active else None)
        return [dict(logs)]

    def _training_metrics(self, pending: List[Dict[str, Any]]) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        # Keras gives the mean of all batches since _begin_training(), not that of the last one.
        metrics = dict(pending[-1])
        if averages_training_metrics(self._context):
            of_ranks = self._context.distributed.allgather(metrics)
            metrics = {name: float(np.mean([of_rank[name] for of_rank in of_ranks])) for name in metrics}
        return metrics, pending

    def _trained(self) -> None:
        self._moments.on_training_end()

    # Validation

    def _measured(self) -> Dict[str, Any]:
        arguments = dict(self._validation_arguments)
        if self._plan.test_mode:
            arguments["steps"] = 1
        distributed = self._context.distributed
        if distributed.size > 1:
            _ranks.agree(self._model.non_trainable_weights, distributed)
        metrics = self._model.evaluate(**arguments, verbose=0, callbacks=[self._moments], return_dict=True)
        if distributed.size > 1:
            metrics = _ranks.summed_metrics(self._model, distributed)
        validation = {f"val_{name}": _number(value) for name, value in metrics.items()}
        self._moments.on_validation_end(validation)
        return validation

    # Checkpoints

    def _random_state(self) -> Dict[str, Any]:
        return _state.random_state(self._model)

    def _set_random_state(self, state: Dict[str, Any]) -> None:
        _state.set_random_state(self._model, state)

    def _load(self, checkpoint: pathlib.Path) -> None:
        _checkpoint.load(checkpoint, self._context, self._moments)

    def _store(self) -> str:
        storage_id = ""
        random_states = self._context.distributed.gather(self._random_state())
        if self._is_chief:
            with self._core.checkpoint.store_path(self._metadata()) as (path, storage_id):
                _checkpoint.save(
                    path,
                    self._context,
                    self._moments,
                    self._state,
                    random_states or [],
                    type(self._trial),
                    by_trainer=self._plan.by_trainer,
                )
        return storage_id

    def _metadata(self) -> Dict[str, Any]:
        return {
            "determined_version": __version__,
            "steps_completed": self._state.batches_trained,
            "framework": f"keras-{keras.__version__}-{keras.backend.backend()}",
            "format": "saved_weights",
        }


@contextlib.contextmanager
def _metrics_kept(model: keras.Model) -> Iterator[None]:
    """Let ``train_on_batch()`` add to the model's metrics, as ``fit()`` does: it would begin anew each time."""
    vars(model)["reset_metrics"] = lambda: None
    try:
        yield
    finally:
        del vars(model)["reset_metrics"]


def _number(value: Any) -> Any:
    """A metric that may still be a tensor, as a number or, where it has several, as an array."""
    array = np.asarray(keras.ops.convert_to_numpy(value))
    return array.item() if array.ndim == 0 else array
