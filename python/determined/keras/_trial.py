"""What a user writes."""

import abc
from typing import Any, List

import keras

from determined._trial import LegacyTrial
from determined.keras import _session
from determined.keras._data import InputData
from determined.keras._trial_context import TFKerasTrialContext


class TFKerasTrial(LegacyTrial):
    """A training run of a Keras model: the model, its data, callbacks. Derive your own, and name it as entrypoint.

    The platform drives it as the experiment configuration says: ``searcher.max_length``, ``min_validation_period``,
    ``min_checkpoint_period``, ``scheduling_unit``. Works with Keras 3 on TensorFlow and on torch. Validation metrics
    are reported with ``val_`` before their names.

    A trial of several slots is as many processes, each with its share of every batch; gradients are averaged. On
    TensorFlow its module and its constructor must compute nothing then: processes can only be connected before that.

    An epoch is one pass over the training data, or ``records_per_epoch`` records where the configuration says so. After
    a pause, training goes on in the middle of an epoch, with the batch that comes next. Checkpoints hold the states of
    the random numbers of Python, NumPy, Keras and torch; operations of ``tf.random`` that keep a state of their own are
    the exception, as nobody can reach it.

    Examples
    --------
    >>> class LineTrial(TFKerasTrial):
    ...     def build_model(self):
    ...         model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    ...         model = self.context.wrap_model(model)
    ...         model.compile(self.context.wrap_optimizer(keras.optimizers.SGD(0.1)), "mse")
    ...         return model
    ...     def build_training_data_loader(self):
    ...         return np.linspace(0, 1, 64).reshape(64, 1), np.linspace(0, 2, 64)
    ...     def build_validation_data_loader(self):
    ...         return np.array([[0.5]]), np.array([1.0])
    """

    trial_context_class = TFKerasTrialContext
    context: TFKerasTrialContext

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> keras.Model:
        """Make the model, pass it to ``context.wrap_model()``, and compile it with an optimizer.

        Returns
        -------
        keras.Model
            What ``wrap_model()`` returned.
        """

    @abc.abstractmethod
    def build_training_data_loader(self) -> InputData:
        """The training data.

        Returns
        -------
        tuple of arrays, keras.utils.PyDataset (or Sequence) or tf.data.Dataset
            A tuple is ``(x, y)`` or ``(x, y, sample_weights)``, ``x`` and ``y`` being NumPy arrays, lists or
            dictionaries of them, with a record in each row; they are shuffled anew in each epoch, and batched by the
            hyperparameter ``global_batch_size``. A Sequence's batches come in another order in each epoch, a
            ``tf.data.Dataset`` must be passed to ``context.wrap_dataset()``, and comes as it is.
        """

    @abc.abstractmethod
    def build_validation_data_loader(self) -> InputData:
        """The validation data, in one of the forms of :meth:`build_training_data_loader`; never shuffled."""

    def session_config(self) -> Any:
        """Settings of TensorFlow, asked for before anything else is built.

        Returns
        -------
        tf.compat.v1.ConfigProto or None
            Numbers of threads, soft placement and the logging of placements are carried out by TensorFlow 2's settings
            of the same names; None leaves everything as it is.
        """
        return _session.default()

    def keras_callbacks(self) -> List[keras.callbacks.Callback]:
        """Callbacks of Keras, or of :mod:`determined.keras.callbacks`, which also keep their state in checkpoints."""
        return []
