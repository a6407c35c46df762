"""What a TFKerasTrial has at hand."""

import logging
import sys
from typing import Any, Dict, List, Optional

import keras

from determined import core, errors
from determined._trial_context import TrialContext
from determined.core import _context

logger = logging.getLogger("determined.keras")

_NOT_GIVEN = object()


def is_tf_dataset(data: Any) -> bool:
    """Whether this is a ``tf.data.Dataset``; TensorFlow is not imported for it."""
    tf = sys.modules.get("tensorflow")
    return tf is not None and isinstance(data, tf.data.Dataset)


class FitOptions:
    """What :meth:`TFKerasTrialContext.configure_fit` changes; the defaults are those of ``model.fit()``."""

    def __init__(self) -> None:
        self.verbose = True
        self.class_weight: Optional[Dict[int, float]] = None
        self.workers = 1
        self.use_multiprocessing = False
        self.max_queue_size = 10
        self.shuffle = True
        self.validation_steps: Optional[int] = None


class TFKerasTrialContext(TrialContext):
    """What a :class:`TFKerasTrial` gets.

    Attributes
    ----------
    model : keras.Model or None
        The one that was wrapped.
    distributed : core.DistributedContext
    experimental : TFKerasExperimentalContext
    """

    def __init__(
        self,
        core_context: core.Context,
        trial_seed: Optional[int],
        hparams: Optional[Dict[str, Any]],
        slots_per_trial: int,
        exp_conf: Optional[Dict[str, Any]],
        steps_completed: int,
        aggregation_frequency: int,
        managed_training: bool,
    ) -> None:
        super().__init__(
            core_context,
            trial_seed,
            hparams,
            slots_per_trial,
            exp_conf,
            steps_completed,
            enable_tensorboard_logging=True,
        )
        if aggregation_frequency < 1:
            raise ValueError(f"aggregation_frequency={aggregation_frequency}: must be at least 1")
        self._aggregation_frequency = aggregation_frequency
        self._managed_training = managed_training
        self._wrapped_dataset = False
        self._optimizers: List[keras.optimizers.Optimizer] = []
        self._fit = FitOptions()
        self.model: Optional[keras.Model] = None
        self.experimental = TFKerasExperimentalContext()

    def _apply_optimizations(self, optimizations: Dict[str, Any]) -> None:
        self._average_training_metrics = bool(optimizations.get("average_training_metrics", True))
        if self._aggregation_frequency > 1 and optimizations.get("average_aggregated_gradients") is False:
            raise errors.InvalidExperimentException(
                "optimizations.average_aggregated_gradients is false, but Keras always averages gradients that it adds "
                f"up: leave it true, and multiply the learning rate by {self._aggregation_frequency}"
            )
        if optimizations.get("gradient_compression"):
            logger.warning("optimizations.gradient_compression is not for a TFKerasTrial: gradients travel as they are")

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> "TFKerasTrialContext":
        """A context to try a trial's methods with, off the cluster: nothing is reported, nothing is trained.

        Parameters
        ----------
        config : dict
            An experiment configuration; of hyperparameters that are to be searched, one value is chosen.

        Examples
        --------
        >>> context = TFKerasTrialContext.from_config({"hyperparameters": {"global_batch_size": 32}})
        >>> context.get_per_slot_batch_size()
        32
        """
        from determined.exec import _local

        return cls(
            core_context=_context.dummy_init(),
            trial_seed=(config.get("reproducibility") or {}).get("experiment_seed", 0),
            hparams=_local.choose_hparams(config.get("hyperparameters") or {})[0],
            slots_per_trial=1,
            exp_conf=config,
            steps_completed=0,
            aggregation_frequency=1,
            managed_training=False,
        )

    def configure_fit(
        self,
        verbose: Optional[bool] = None,
        class_weight: Any = _NOT_GIVEN,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
        max_queue_size: Optional[int] = None,
        shuffle: Optional[bool] = None,
        validation_steps: Any = _NOT_GIVEN,
    ) -> None:
        """Say what ``model.fit()`` would be told; what is not passed stays as it is.

        Parameters
        ----------
        verbose : bool
            Whether to print a line for each ten percent of a workload. Default: yes.
        class_weight : dict, optional
            Weights of classes by their numbers.
        workers : int
            Threads that load batches of a Sequence ahead of time; with 1, the default, each is loaded when its turn
            comes.
        use_multiprocessing : bool
            Without effect, with a warning: batches are loaded by threads.
        max_queue_size : int
            Batches that are loaded ahead, at most. Default: 10.
        shuffle : bool
            Whether the records of arrays, and the batches of a Sequence, come in another order in each epoch. Default:
            yes.
        validation_steps : int, optional
            Batches of a ``tf.data.Dataset`` to validate with; all of them by default.
        """
        given = {
            "verbose": verbose,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
            "max_queue_size": max_queue_size,
            "shuffle": shuffle,
        }
        for name, value in given.items():
            if value is not None:
                setattr(self._fit, name, value)
        if class_weight is not _NOT_GIVEN:
            self._fit.class_weight = class_weight
        if validation_steps is not _NOT_GIVEN:
            self._fit.validation_steps = validation_steps
        if use_multiprocessing:
            logger.warning("configure_fit(use_multiprocessing=True): batches are loaded by threads, not by processes")

    def wrap_model(self, model: keras.Model) -> keras.Model:
        """Register the model: it is trained, and goes into checkpoints. Compile what this returns.

        Raises
        ------
        errors.InvalidExperimentException
            If there is one already.
        """
        if self.model is not None and self.model is not model:
            raise errors.InvalidExperimentException("wrap_model() was called twice: a TFKerasTrial trains one model")
        self.model = model
        return model

    def wrap_optimizer(self, optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
        """Register an optimizer: it goes into checkpoints; of several processes, gradients are averaged.

        The one that the model is compiled with is found without it; those of a ``train_step()`` of your own are not.

        Raises
        ------
        errors.InvalidExperimentException
            If it is not an optimizer of Keras, but only the name of one, for example.
        """
        if not isinstance(optimizer, keras.optimizers.Optimizer):
            raise errors.InvalidExperimentException(
                f"wrap_optimizer() takes an optimizer of Keras, such as keras.optimizers.Adam(), not {optimizer!r}"
            )
        self._register_optimizer(optimizer)
        return optimizer

    def _register_optimizer(self, optimizer: keras.optimizers.Optimizer) -> None:
        if any(known is optimizer for known in self._optimizers):
            return
        if self._managed_training and self._aggregation_frequency > 1:
            optimizer.gradient_accumulation_steps = self._aggregation_frequency
        self._optimizers.append(optimizer)

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Register a ``tf.data.Dataset``, right after it was made: each process gets its share of it.

        Parameters
        ----------
        dataset : tf.data.Dataset
            Anything else is returned as it is.
        shard_dataset : bool
            False if you see yourself to it that each process gets different records.

        Returns
        -------
        tf.data.Dataset
            The one to use from now on.
        """
        self._wrapped_dataset = True
        if not self._managed_training or not shard_dataset or self.distributed.size == 1 or not is_tf_dataset(dataset):
            return dataset
        return dataset.shard(self.distributed.size, self.distributed.rank)

    def get_stop_requested(self) -> bool:
        """Whether training was asked to stop, by :meth:`set_stop_requested` or by a callback's ``stop_training``."""
        return super().get_stop_requested() or (self.model is not None and bool(self.model.stop_training))

    def get_tensorboard_writer(self) -> Any:
        """A :class:`determined.tensorboard.metric_writers.tensorflow.TFWriter` for :meth:`get_tensorboard_path`."""
        if self._tensorboard_writer is None:
            from determined.tensorboard.metric_writers.tensorflow import TFWriter

            self._tensorboard_writer = TFWriter(log_dir=self.get_tensorboard_path())
        return self._tensorboard_writer


def fit_options_of(context: TFKerasTrialContext) -> FitOptions:
    """What :meth:`TFKerasTrialContext.configure_fit` was told."""
    return context._fit


def optimizers_of(context: TFKerasTrialContext) -> List[keras.optimizers.Optimizer]:
    """The registered optimizers, in the order in which they were registered."""
    return context._optimizers


def register_optimizer(context: TFKerasTrialContext, optimizer: keras.optimizers.Optimizer) -> None:
    """Register an optimizer, unless it is registered."""
    context._register_optimizer(optimizer)


def has_wrapped_dataset(context: TFKerasTrialContext) -> bool:
    """Whether the trial has called :meth:`TFKerasTrialContext.wrap_dataset`."""
    return context._wrapped_dataset


class TFKerasExperimentalContext:
    """Features of old that are no more. Reached as ``context.experimental``."""

    def cache_train_dataset(self, *args: Any) -> Any:
        """Was removed in 0.18.0.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError("cache_train_dataset() was removed in 0.18.0: use cache() of the tf.data.Dataset itself")

    def cache_validation_dataset(self, *args: Any) -> Any:
        """Was removed in 0.18.0.

        Raises
        ------
        RuntimeError
            Always.
        """
        raise RuntimeError(
            "cache_validation_dataset() was removed in 0.18.0: use cache() of the tf.data.Dataset itself"
        )
