"""Training and validation data in any of the forms that a trial may return, as batches that can be taken from anywhere.

What a run has read is told by one number, the batches trained; from it everything here finds its place again, so that a
paused training goes on with the very batch that comes next.
"""

import abc
import collections
import concurrent.futures
import contextlib
import itertools
import math
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import keras
import numpy as np

from determined import errors
from determined.keras import _trial_context
from determined.keras._trial_context import FitOptions, TFKerasTrialContext, is_tf_dataset

ArrayLike = Union[np.ndarray, List[np.ndarray], Dict[str, np.ndarray]]
# A tf.data.Dataset is as good; its type is not named, as TensorFlow may be absent.
InputData = Union[keras.utils.PyDataset, "SequenceAdapter", Tuple[Any, ...], Any]

_ALLOWED = (
    "(x, y) or (x, y, sample_weights) of NumPy arrays (or lists or dictionaries of them), a keras.utils.PyDataset "
    "(or Sequence) or a tf.data.Dataset"
)


class SequenceAdapter:
    """A Sequence, with the options that :meth:`TFKerasTrialContext.configure_fit` takes today.

    Parameters
    ----------
    sequence : keras.utils.PyDataset
    use_multiprocessing : bool
    workers : int
    max_queue_size : int
    """

    def __init__(
        self,
        sequence: keras.utils.PyDataset,
        use_multiprocessing: bool = False,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = workers
        self.max_queue_size = max_queue_size


class Source(abc.ABC):
    """Batches of one process. ``length`` is their number in an epoch, None if nobody knows."""

    length: Optional[int] = None

    @abc.abstractmethod
    def batches(self, skip: int) -> Iterator[Any]:
        """All batches without end, but for the first ``skip``; everything that comes before them is done at once."""

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Nothing more will be read."""


def _rows(data: Any, what: str) -> int:
    """Number of records, the same in all arrays."""
    arrays = keras.tree.flatten(data)
    if not arrays or not all(isinstance(array, np.ndarray) for array in arrays):
        kinds = ", ".join(sorted({type(array).__name__ for array in arrays})) or "nothing"
        raise errors.InvalidExperimentException(f"{what} must be {_ALLOWED}; it has {kinds}")
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise errors.InvalidExperimentException(f"{what} has arrays of {sorted(lengths)} records: not of one length")
    return int(lengths.pop())


class _Arrays(keras.utils.PyDataset):
    """Arrays, cut into batches; the last one may be smaller."""

    def __init__(self, data: Tuple[Any, ...], batch_size: int, what: str) -> None:
        super().__init__()
        self.rows = _rows(data, what)
        if self.rows < batch_size:
            raise errors.InvalidExperimentException(
                f"{what} has {self.rows} records, which is less than one batch of {batch_size}"
            )
        self._data, self._batch_size = data, batch_size
        self.order: Optional[np.ndarray] = None

    def __len__(self) -> int:
        return math.ceil(self.rows / self._batch_size)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        chosen: Any = slice(index * self._batch_size, (index + 1) * self._batch_size)
        if self.order is not None:
            chosen = self.order[chosen]
        batch: Tuple[Any, ...] = keras.tree.map_structure(lambda array: array[chosen], self._data)
        return batch


class _Share(keras.utils.PyDataset):
    """Every ``size``-th batch of a data set, for validation; lists become tuples, as TensorFlow wants them."""

    def __init__(self, whole: keras.utils.PyDataset, size: int, rank: int) -> None:
        super().__init__(
            workers=getattr(whole, "workers", 1),
            use_multiprocessing=getattr(whole, "use_multiprocessing", False),
            max_queue_size=getattr(whole, "max_queue_size", 10),
        )
        self._whole = whole
        self._indices = range(rank, len(whole), size)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: int) -> Any:
        return keras.tree.lists_to_tuples(self._whole[self._indices[index]])

    def on_epoch_begin(self) -> None:
        self._whole.on_epoch_begin()

    def on_epoch_end(self) -> None:
        self._whole.on_epoch_end()


class _SequenceSource(Source):
    """Batches of a Sequence, or of arrays; processes take turns, from the first epoch to the last."""

    def __init__(self, data: keras.utils.PyDataset, fit: FitOptions, seed: int, size: int, rank: int) -> None:
        self._data, self._seed = data, seed
        self._shuffle, self._size, self._rank = fit.shuffle, size, rank
        self._total: Optional[int] = data.num_batches
        if self._total is not None:
            if self._total < size:
                raise errors.InvalidExperimentException(
                    f"build_training_data_loader() returned {self._total} batches, but {size} processes need one each"
                )
            self.length = self._total // size
        self._ahead = fit.max_queue_size if fit.workers > 1 else 0
        self._threads = concurrent.futures.ThreadPoolExecutor(fit.workers) if fit.workers > 1 else None

    def _order(self, epoch: int) -> Sequence[int]:
        """The batches of an epoch, by their indices."""
        assert self._total is not None
        if not self._shuffle:
            return range(self._total)
        shuffled = np.random.default_rng([self._seed, epoch])
        if isinstance(self._data, _Arrays):
            self._data.order = shuffled.permutation(self._data.rows)
            return range(self._total)
        return [int(index) for index in shuffled.permutation(self._total)]

    def batches(self, skip: int) -> Iterator[Any]:
        if self._total is None:
            return self._loaded(itertools.count(self._rank + skip * self._size, self._size))
        epoch, place = divmod(self._rank + skip * self._size, self._total)
        # A Sequence may do something of its own between epochs.
        for _ in range(epoch):
            self._data.on_epoch_begin()
            self._data.on_epoch_end()
        self._data.on_epoch_begin()
        return self._from(epoch, place)

    def _from(self, epoch: int, place: int) -> Iterator[Any]:
        assert self._total is not None
        while True:
            yield from self._loaded(iter(self._order(epoch)[place :: self._size]))
            self._data.on_epoch_end()
            # The place of the first batch of ours in the next epoch: turns go on across its beginning.
            place = (place - self._total) % self._size
            epoch += 1
            self._data.on_epoch_begin()

    def _loaded(self, indices: Iterator[int]) -> Iterator[Any]:
        if self._threads is None:
            yield from map(self._data.__getitem__, indices)
            return
        waiting: collections.deque[concurrent.futures.Future[Any]] = collections.deque()
        for index in indices:
            waiting.append(self._threads.submit(self._data.__getitem__, index))
            if len(waiting) > self._ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)


class _DatasetSource(Source):
    """Batches of a ``tf.data.Dataset``, which reads again what it skips: only so does it find its place for sure."""

    def __init__(self, data: Any) -> None:
        self._data = data
        cardinality = int(data.cardinality())
        if cardinality == 0:
            raise errors.InvalidExperimentException("build_training_data_loader() returned a dataset without any batch")
        self.length = cardinality if cardinality > 0 else None

    def batches(self, skip: int) -> Iterator[Any]:
        return map(_for_backend(), iter(self._data.repeat().skip(skip)))


def _for_backend() -> Callable[[Any], Any]:
    """What makes batches of TensorFlow's edible for the backend of Keras."""
    if keras.backend.backend() == "tensorflow":
        return lambda batch: batch
    return lambda batch: keras.tree.map_structure(lambda tensor: tensor.numpy(), batch)


def _plain(data: Any, context: TFKerasTrialContext, what: str) -> Any:
    """A PyDataset or tf.data.Dataset of whatever the trial returned."""
    if is_tf_dataset(data):
        if not _trial_context.has_wrapped_dataset(context):
            raise errors.InvalidExperimentException(
                f"{what} returned a tf.data.Dataset that context.wrap_dataset() does not know: wrap it"
            )
        return data
    if isinstance(data, SequenceAdapter):
        return data.sequence
    if isinstance(data, keras.utils.PyDataset):
        return data
    if isinstance(data, tuple) and len(data) in (2, 3):
        # A weight that is None stands for no weights.
        given = data[:2] if len(data) == 3 and data[2] is None else data
        return _Arrays(given, context.get_per_slot_batch_size(), what)
    kind = f"a tuple of {len(data)}" if isinstance(data, tuple) else f"a {type(data).__name__}"
    raise errors.InvalidExperimentException(f"{what} must return {_ALLOWED}, not {kind}")


def training_source(data: InputData, context: TFKerasTrialContext, seed: int) -> Source:
    """What to train on, of what ``build_training_data_loader()`` returned.

    Raises
    ------
    errors.InvalidExperimentException
        If it is of no form that is allowed, or holds too little.
    """
    if isinstance(data, SequenceAdapter):
        context.configure_fit(
            workers=data.workers, use_multiprocessing=data.use_multiprocessing, max_queue_size=data.max_queue_size
        )
    plain = _plain(data, context, "build_training_data_loader()")
    if is_tf_dataset(plain):
        return _DatasetSource(plain)
    return _SequenceSource(
        plain, _trial_context.fit_options_of(context), seed, context.distributed.size, context.distributed.rank
    )


def validation_arguments(data: InputData, context: TFKerasTrialContext) -> Dict[str, Any]:
    """What to validate with, of what ``build_validation_data_loader()`` returned: arguments of ``model.evaluate()``.

    Raises
    ------
    errors.InvalidExperimentException
        If it is of no form that is allowed, or empty.
    """
    plain = _plain(data, context, "build_validation_data_loader()")
    if is_tf_dataset(plain):
        if int(plain.cardinality()) == 0:
            raise errors.InvalidExperimentException("build_validation_data_loader() returned a dataset without a batch")
        return {"x": plain, "steps": _trial_context.fit_options_of(context).validation_steps}
    if plain.num_batches is None:
        raise errors.InvalidExperimentException("build_validation_data_loader() returned a Sequence without an end")
    if plain.num_batches < context.distributed.size:
        raise errors.InvalidExperimentException(
            f"build_validation_data_loader() returned {plain.num_batches} batches, but {context.distributed.size} "
            "processes need one each"
        )
    return {"x": _Share(plain, context.distributed.size, context.distributed.rank)}


def records_in(batch: Any) -> Optional[int]:
    """Records of a batch: the length of its first array."""
    for array in keras.tree.flatten(batch):
        with contextlib.suppress(TypeError, IndexError, AttributeError):
            return int(array.shape[0])
    return None


def first_input(data: Any) -> Any:
    """The input of one batch, to build a model with."""
    if isinstance(data, SequenceAdapter):
        data = data.sequence
    if is_tf_dataset(data):
        batch = next(iter(data.take(1)))
    elif isinstance(data, tuple):
        batch = keras.tree.map_structure(lambda array: array[:1], data)
    else:
        batch = data[0]
    return keras.utils.unpack_x_y_sample_weight(batch)[0]
