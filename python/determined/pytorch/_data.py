"""Data: a loader that can be taken up in the middle, and moving batches to a device."""

import logging
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Type, TypeVar, Union

import numpy as np
import torch
import torch.utils.data
from torch.utils.data import BatchSampler, Dataset, IterableDataset, Sampler, SequentialSampler

from determined.pytorch import samplers
from determined.pytorch._randomness import OwnRandomness, seed_everything

logger = logging.getLogger("determined.pytorch")

T = TypeVar("T")
Array = Union[np.ndarray, torch.Tensor]
TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


def adapt_batch_sampler(
    batch_sampler: BatchSampler, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> BatchSampler:
    """Make a batch sampler fit for training in several processes that may stop and go on.

    Parameters
    ----------
    batch_sampler : BatchSampler
    repeat : bool
        Whether to begin anew after the last batch.
    skip : int
        Batches of this worker to leave out at first.
    num_replicas, rank : int
        Number of workers and which one this is.
    """
    if repeat:
        batch_sampler = samplers.RepeatBatchSampler(batch_sampler)
    if num_replicas > 1:
        batch_sampler = samplers.DistributedBatchSampler(batch_sampler, num_workers=num_replicas, rank=rank)
    if skip > 0:
        batch_sampler = samplers.SkipBatchSampler(batch_sampler, skip)
    return batch_sampler


class _Numbered(List[Any]):
    """The indices of a batch, and the number of the batch in this process, from the trial's beginning."""

    number: int = 0


class _NumberedBatches(BatchSampler):
    """A batch sampler whose batches know their numbers, the first of which is ``first``."""

    def __init__(self, batch_sampler: BatchSampler, first: int) -> None:
        self._batch_sampler, self._first = batch_sampler, first

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[List[Any]]:
        for number, indices in enumerate(self._batch_sampler, self._first):
            batch = _Numbered(indices)
            batch.number = number
            yield batch


class _SeededDataset(Dataset[Any]):
    """A dataset whose random numbers, in a worker of a loader, depend on the batch and on nothing that came before.

    Workers are gone when training is resumed, and the new ones cannot know how far the old ones had come.
    """

    def __init__(self, dataset: Dataset[Any], seed: int, rank: int) -> None:
        self._dataset, self._seed, self._rank = dataset, seed, rank

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":  # while being unpickled
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __len__(self) -> int:
        return len(self._dataset)  # type: ignore[arg-type]

    def __getitem__(self, index: Any) -> Any:
        return self._dataset[index]

    def __getitems__(self, indices: List[Any]) -> List[Any]:
        if isinstance(indices, _Numbered) and torch.utils.data.get_worker_info() is not None:
            seed_everything(self._seed, self._rank, indices.number)
        get_all = getattr(self._dataset, "__getitems__", None)
        return get_all(list(indices)) if get_all else [self._dataset[index] for index in indices]


_PASSED_ON = (
    *("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator"),
    *("prefetch_factor", "persistent_workers"),
)


class DataLoader:
    """What a :class:`PyTorchTrial` returns as its data: PyTorch's loader, but able to go on in the middle.

    Parameters are those of ``torch.utils.data.DataLoader``. Differences: the dataset must be one with an index (no
    ``IterableDataset``), data come in batches, and shuffling follows the seed of ``generator``, or of PyTorch's global
    one, so that a trial that is resumed goes on with the very batch that it would have seen. For the same reason,
    samplers of yours that draw from the global generators are given random numbers of their own, and so is each batch
    in a worker process.

    Raises
    ------
    ValueError
        If the parameters contradict each other.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        batch_size: Optional[int] = 1,
        shuffle: bool = False,
        sampler: Optional[Sampler[int]] = None,
        batch_sampler: Optional[BatchSampler] = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[[List[T]], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
    ):
        if isinstance(dataset, IterableDataset):
            raise ValueError("det.pytorch.DataLoader needs a dataset with an index, not an IterableDataset")
        if batch_size is None and batch_sampler is None:
            raise ValueError("det.pytorch.DataLoader always makes batches: batch_size must not be None")
        self.batch_size, self.drop_last = batch_size, drop_last
        self.num_workers, self.persistent_workers = num_workers, persistent_workers
        self.prefetch_factor, self.timeout = prefetch_factor, timeout
        self.collate_fn, self.worker_init_fn = collate_fn, worker_init_fn
        self.pin_memory, self.multiprocessing_context = pin_memory, multiprocessing_context
        self.generator = generator
        # Nobody knows better than PyTorch which arguments fit together; nothing starts before it is iterated.
        torch.utils.data.DataLoader(
            dataset, batch_size, shuffle, sampler, batch_sampler, drop_last=drop_last, **self._passed_on()
        )
        self.dataset = dataset
        self._data_seed = self._seed()
        theirs = sampler is not None or batch_sampler is not None
        if batch_sampler is None:
            if sampler is None:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
                if shuffle:
                    sampler = samplers.ReproducibleShuffleSampler(sampler, self._seed())
            assert batch_size is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.sampler = sampler
        self.batch_sampler = OwnRandomness(batch_sampler, self._seed()) if theirs else batch_sampler

    def _passed_on(self) -> Dict[str, Any]:
        """What PyTorch's loader is given as it is."""
        return {name: getattr(self, name) for name in _PASSED_ON}

    def _seed(self) -> int:
        """What the random numbers began with; unlike the numbers themselves, the same after a restart."""
        return self.generator.initial_seed() if self.generator is not None else torch.initial_seed()

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> torch.utils.data.DataLoader[Any]:
        """A loader of PyTorch's for the same data; the parameters are those of :func:`adapt_batch_sampler`."""
        batch_sampler = adapt_batch_sampler(self.batch_sampler, repeat, skip, num_replicas, rank)
        dataset = self.dataset
        if self.num_workers:
            dataset = _SeededDataset(dataset, self._data_seed, rank)
            batch_sampler = _NumberedBatches(batch_sampler, skip)
        return torch.utils.data.DataLoader(dataset, batch_sampler=batch_sampler, **self._passed_on())

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get_data_loader())


def data_length(data: Union[Dict[str, Array], Sequence[Array], Array]) -> int:
    """Number of records in a batch: the length of its first array, in a dictionary or a sequence of them.

    >>> data_length({"name": "x", "pixels": torch.zeros(7, 3)})
    7
    """
    if isinstance(data, (np.ndarray, torch.Tensor)):
        return len(data)
    if isinstance(data, dict):
        candidates: Sequence[Any] = list(data.values())
    elif isinstance(data, (list, tuple)):
        candidates = data
    else:
        raise TypeError(
            f"a batch of type {type(data).__name__} has no known number of records; override get_batch_length()"
        )
    for item in candidates:
        if isinstance(item, (np.ndarray, torch.Tensor)):
            return len(item)
    raise ValueError("a batch without any array or tensor has no known number of records; override get_batch_length()")


def to_device(
    data: Union[Dict[str, Array], Sequence[Array], Array],
    device: torch.device,
    warned_types: Optional[Set[Type[Any]]] = None,
) -> TorchData:
    """Copy a batch to a device.

    Parameters
    ----------
    data : array, tensor, or dictionary, list or tuple of them, nested at will
        Arrays become tensors. Anything that has a method ``to(device)`` is moved by it; the rest stays as it is.
    device : torch.device
    warned_types : set of type, optional
        Types of which was warned already that they stay; new ones are added.
    """
    if isinstance(data, dict):
        return {name: to_device(item, device, warned_types) for name, item in data.items()}  # type: ignore
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(to_device(item, device, warned_types) for item in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(item, device, warned_types) for item in data)
    if isinstance(data, np.ndarray):
        return torch.from_numpy(data).to(device)
    if hasattr(data, "to"):
        return data.to(device)
    if warned_types is None or type(data) not in warned_types:
        if warned_types is not None:
            warned_types.add(type(data))
        logger.warning("part of a batch stays where it is, as a %s cannot be moved to a device", type(data).__name__)
    return data  # type: ignore
