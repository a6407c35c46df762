"""Samplers that :class:`determined.pytorch.DataLoader` is made of, for those who build their own.

Put together in this order, they make a stream of batches that can be shuffled, shared out among workers and taken up
again in the middle: shuffle, (batch,) repeat, distribute, skip.
"""

import itertools
from typing import Any, Iterator, List

import torch
import torch.utils.data


def _permutation(generator: torch.Generator, items: List[Any]) -> List[Any]:
    return [items[i] for i in torch.randperm(len(items), generator=generator).tolist()]


class RepeatSampler(torch.utils.data.Sampler[int]):
    """The sampler's indices, over and over; the length stays that of one round."""

    def __init__(self, sampler: torch.utils.data.Sampler[int]) -> None:
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[int]:
        while True:
            yield from self._sampler


class RepeatBatchSampler(torch.utils.data.BatchSampler):
    """The sampler's batches, over and over; the length stays that of one round."""

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler) -> None:
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[List[int]]:
        while True:
            yield from self.batch_sampler


def _share(length: int, num_workers: int, rank: int) -> int:
    return length // num_workers + int(rank < length % num_workers)


class DistributedSampler(torch.utils.data.Sampler[int]):
    """Every ``num_workers``-th index of ``sampler``, from the ``rank``-th on."""

    def __init__(self, sampler: torch.utils.data.Sampler[int], num_workers: int, rank: int) -> None:
        self._sampler, self._num_workers, self._rank = sampler, num_workers, rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_workers, self._rank)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[int]:
        return itertools.islice(self._sampler, self._rank, None, self._num_workers)


class DistributedBatchSampler(torch.utils.data.BatchSampler):
    """Every ``num_workers``-th batch of ``batch_sampler``, from the ``rank``-th on."""

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, num_workers: int, rank: int) -> None:
        self.batch_sampler, self.num_workers, self.rank = batch_sampler, num_workers, rank

    def __len__(self) -> int:
        return _share(len(self.batch_sampler), self.num_workers, self.rank)

    def __iter__(self) -> Iterator[List[int]]:
        return itertools.islice(self.batch_sampler, self.rank, None, self.num_workers)


class SkipSampler(torch.utils.data.Sampler[int]):
    """``sampler`` without the first ``skip`` indices. The length is that of a whole round, of an epoch."""

    def __init__(self, sampler: torch.utils.data.Sampler[int], skip: int) -> None:
        self._sampler, self._skip = sampler, skip

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[int]:
        return itertools.islice(self._sampler, self._skip, None)


class SkipBatchSampler(torch.utils.data.BatchSampler):
    """``batch_sampler`` without the first ``skip`` batches. The length is that of a whole round, of an epoch."""

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, skip: int) -> None:
        self.batch_sampler, self.skip = batch_sampler, skip
        self.length = len(batch_sampler)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[List[int]]:
        return itertools.islice(self.batch_sampler, self.skip, None)


class ReproducibleShuffleSampler(torch.utils.data.Sampler[int]):
    """The indices of ``sampler`` in random order: another one in each round, the same ones for the same seed."""

    def __init__(self, sampler: torch.utils.data.Sampler[int], seed: int) -> None:
        self._sampler = sampler
        self._generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self._sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[int]:
        return iter(_permutation(self._generator, list(self._sampler)))


class ReproducibleShuffleBatchSampler(torch.utils.data.Sampler[List[int]]):
    """The batches of ``batch_sampler`` in random order: another one in each round, the same ones for the same seed."""

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, seed: int) -> None:
        self.batch_sampler = batch_sampler
        self._generator = torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[List[int]]:
        return iter(_permutation(self._generator, list(self.batch_sampler)))
