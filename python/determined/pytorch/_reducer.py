"""From metrics of batches to metrics of training or validation as a whole."""

import abc
import enum
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy as np
import torch


class Reducer(enum.Enum):
    """What becomes of one metric's values from many batches."""

    AVG = 1
    SUM = 2
    MAX = 3
    MIN = 4


_REDUCE: Dict[Reducer, Callable[[Any], Any]] = {
    Reducer.AVG: np.mean,
    Reducer.SUM: np.sum,
    Reducer.MAX: np.max,
    Reducer.MIN: np.min,
}


class MetricReducer(metaclass=abc.ABCMeta):
    """A metric that is not a plain average: collect while training or validating, combine at the end.

    Wrap an instance with ``context.wrap_reducer()``, feed it in ``train_batch()`` or ``evaluate_batch()`` by a method
    of your own. Each process (slot) then calls :meth:`per_slot_reduce`, and :meth:`cross_slot_reduce` gets the results.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Forget everything: a new round begins."""

    @abc.abstractmethod
    def per_slot_reduce(self) -> Any:
        """What this process has collected, in a form that can be sent."""

    @abc.abstractmethod
    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        """The metric (or a dictionary of metrics, if wrapped without a name) from what all processes collected."""


class _FunctionReducer(MetricReducer):
    """Collects whatever ``update()`` gets; a function makes the metric of the list of it all."""

    def __init__(self, function: Callable[[List[Any]], Any]) -> None:
        self._function = function
        self._values: List[Any] = []

    def update(self, value: Any) -> None:
        self._values.append(value)

    def reset(self) -> None:
        self._values = []

    def per_slot_reduce(self) -> Any:
        return self._values

    def cross_slot_reduce(self, per_slot_metrics: List[Any]) -> Any:
        return self._function([value for values in per_slot_metrics for value in values])


class _Wrapped:
    def __init__(self, reducer: MetricReducer, name: Optional[str], for_training: bool, for_validation: bool) -> None:
        self.reducer = reducer
        self.name = name
        self.for_training = for_training
        self.for_validation = for_validation

    def reduce(self, allgather: Callable[[Any], List[Any]]) -> Dict[str, Any]:
        return self.combine(allgather(self.reducer.per_slot_reduce()))

    def combine(self, per_slot_metrics: List[Any]) -> Dict[str, Any]:
        value = self.reducer.cross_slot_reduce(per_slot_metrics)
        what = f"the reducer {type(self.reducer).__name__}"
        if self.name is None:
            if not isinstance(value, dict):
                raise TypeError(f"{what} returned a {type(value).__name__}: give it a name, or let it return a dict")
            return value
        if isinstance(value, dict):
            raise TypeError(f"{what} returned a dict: wrap it without a name, or let it return one metric")
        return {self.name: value}


class ReducerContext:
    """The part of a trial's context that keeps reducers."""

    def __init__(self, allgather: Callable[[Any], List[Any]]) -> None:
        self._allgather = allgather
        self._wrapped_reducers: List[_Wrapped] = []
        # Whether training metrics are those of all processes, or each has its own.
        self._average_training_metrics = True

    def wrap_reducer(
        self,
        reducer: Union[Callable[..., Any], MetricReducer],
        name: Optional[str] = None,
        for_training: bool = True,
        for_validation: bool = True,
    ) -> MetricReducer:
        """Add a metric that is made by a reducer.

        Parameters
        ----------
        reducer : MetricReducer or callable
            A callable gets a list of all values that were passed to ``update()`` of what this method returns.
        name : str, optional
            Name of the metric; without one, the reducer returns a dictionary of metrics.
        for_training, for_validation : bool
            Among which metrics it appears.

        Returns
        -------
        MetricReducer
            ``reducer``, or one that calls it.
        """
        if any(wrapped.reducer is reducer for wrapped in self._wrapped_reducers):
            raise ValueError(f"this {type(reducer).__name__} was passed to wrap_reducer() before")
        if not isinstance(reducer, MetricReducer):
            if not callable(reducer):
                raise TypeError(f"wrap_reducer() takes a MetricReducer or a function, not a {type(reducer).__name__}")
            reducer = _FunctionReducer(reducer)
        self._wrapped_reducers.append(_Wrapped(reducer, name, for_training, for_validation))
        return reducer

    def reset_reducers(self) -> None:
        """Let all reducers begin anew."""
        for wrapped in self._wrapped_reducers:
            wrapped.reducer.reset()

    def run_cross_slot_reduction(self, reducables: List[_Wrapped], gathered: List[Any]) -> Dict[str, Any]:
        """The metrics of some reducers, from what every process's :meth:`MetricReducer.per_slot_reduce` returned.

        Parameters
        ----------
        reducables : list
            Of what :meth:`wrap_reducer` keeps.
        gathered : list of list
            For each process, the values of these reducers.
        """
        metrics: Dict[str, Any] = {}
        for wrapped, per_slot_metrics in zip(reducables, zip(*gathered)):
            metrics.update(wrapped.combine(list(per_slot_metrics)))
        return metrics

    def reduce_metrics(self, for_training: bool) -> Dict[str, Any]:
        """The metrics of all reducers meant for training, or for validation."""
        alone = for_training and not self._average_training_metrics
        allgather = (lambda stuff: [stuff]) if alone else self._allgather
        metrics: Dict[str, Any] = {}
        for wrapped in self._wrapped_reducers:
            if wrapped.for_training if for_training else wrapped.for_validation:
                metrics.update(wrapped.reduce(allgather))
        return metrics


def has_reducers(context: ReducerContext) -> bool:
    """Whether the trial has wrapped a reducer."""
    return bool(context._wrapped_reducers)


def _tensor_to_numpy(value: torch.Tensor) -> np.ndarray:
    value = value.detach().cpu()
    # NumPy knows no bfloat16, which is what mixed precision computes with on a CPU.
    return (value.float() if value.dtype == torch.bfloat16 else value).numpy()


def to_numpy(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Copy metrics with tensors turned into NumPy arrays."""
    return {
        name: _tensor_to_numpy(value) if isinstance(value, torch.Tensor) else value for name, value in metrics.items()
    }


def _check_names(batches: List[Dict[str, Any]], what: str) -> None:
    for i, metrics in enumerate(batches):
        if metrics.keys() != batches[0].keys():
            raise ValueError(
                f"{what} must return the same metrics for each batch: "
                f"{sorted(batches[0])} at first, {sorted(metrics)} {i} batches later"
            )


def average(batches: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Average each training metric over batches and elements; None where it is not a number.

    >>> average([{"loss": 1.0, "note": "x"}, {"loss": 2.0, "note": "y"}])["note"] is None
    True
    """
    _check_names(batches, "train_batch()")
    averages: Dict[str, Any] = {}
    for name in batches[0] if batches else ():
        try:
            averages[name] = float(np.mean([np.mean(np.asarray(metrics[name], dtype=float)) for metrics in batches]))
        except (TypeError, ValueError):
            averages[name] = None
    return averages


def _mean_of_processes(values: List[Any]) -> Any:
    """The mean of one metric of one batch, element by element; the chief's own value where there is no mean."""
    try:
        arrays = [np.asarray(value, dtype=float) for value in values]
    except (TypeError, ValueError):
        return values[0]
    if any(array.shape != arrays[0].shape for array in arrays):
        return float(np.mean([array.mean() for array in arrays]))
    mean = np.mean(arrays, axis=0)
    return mean if isinstance(values[0], np.ndarray) and values[0].ndim else float(mean)


def average_processes(processes: List[List[Dict[str, Any]]]) -> List[Dict[str, Any]]:
    """Average the training metrics of several processes, batch by batch.

    >>> average_processes([[{"loss": 1.0}], [{"loss": 3.0}]])
    [{'loss': 2.0}]
    """
    for batches in processes:
        _check_names([processes[0][0], *batches], "train_batch() of all processes")
    return [
        {name: _mean_of_processes([metrics[name] for metrics in batch]) for name in batch[0]}
        for batch in zip(*processes)
    ]


def combine_validation(
    shares: List[Tuple[int, Dict[str, Any]]], reducer: Union[Reducer, Dict[str, Reducer]]
) -> Dict[str, Any]:
    """Combine what :func:`reduce_validation` made of each process's batches.

    Parameters
    ----------
    shares : list of (int, dict)
        Number of batches and metrics of each process; those without a batch do not count.
    reducer : Reducer or dict of Reducer

    >>> combine_validation([(3, {"loss": 1.0}), (1, {"loss": 5.0})], Reducer.AVG)
    {'loss': np.float64(2.0)}
    """
    shares = [(count, metrics) for count, metrics in shares if count]
    if len(shares) == 1:
        return shares[0][1]
    counts = [count for count, _ in shares]
    combined = {}
    for name in shares[0][1]:
        of_name = Reducer(reducer[name] if isinstance(reducer, dict) else reducer)
        values = [metrics[name] for _, metrics in shares]
        if of_name == Reducer.AVG:
            combined[name] = np.average(np.asarray(values), axis=0, weights=counts)
        else:
            combined[name] = _REDUCE[of_name](values)
    return combined


def _reduced(name: str, values: List[Any], reducer: Reducer) -> Any:
    try:
        return _REDUCE[reducer](values)
    except (TypeError, ValueError) as e:
        raise TypeError(
            f"metric {name!r} of evaluate_batch() is not a number but {values[0]!r:.60}, and so has no "
            f"Reducer.{reducer.name}: return numbers or tensors, or collect it with context.wrap_reducer()"
        ) from e


def reduce_validation(batches: List[Dict[str, Any]], reducer: Union[Reducer, Dict[str, Reducer]]) -> Dict[str, Any]:
    """Combine each validation metric over batches, by its own reducer where ``reducer`` is a dictionary."""
    _check_names(batches, "evaluate_batch()")
    names: Iterable[str] = batches[0]
    if isinstance(reducer, dict):
        if reducer.keys() != batches[0].keys():
            raise ValueError(
                f"evaluation_reducer() names {sorted(reducer)}, but evaluate_batch() returns {sorted(batches[0])}"
            )
        reducers = reducer
    else:
        reducers = dict.fromkeys(names, reducer)
    return {name: _reduced(name, [metrics[name] for metrics in batches], Reducer(reducers[name])) for name in names}
