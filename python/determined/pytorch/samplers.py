"""Samplers that :class:`determined.pytorch.DataLoader` is made of, for those who build their own.

Put together in this order, they make a stream of batches that can be shuffled, shared out among workers and taken up
again in the middle: shuffle, (batch,) repeat, distribute, skip.
"""

import hashlib
import itertools
import random
from typing import Any, Iterator, List, Tuple

import numpy as np
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


class _OwnRandomness(torch.utils.data.BatchSampler):
    """A user's batch sampler, whose random numbers are a stream of their own, begun anew for each round.

    Many samplers draw from the global generators, and so does training. Kept apart, all processes draw the same
    batches, and a resumed training those that it would have seen.
    """

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, seed: int) -> None:
        self.batch_sampler, self._seed = batch_sampler, seed
        self._rounds = 0

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[List[int]]:
        stream = _Stream(self._seed, self._rounds)
        self._rounds += 1
        with stream:
            batches = iter(self.batch_sampler)
        while True:
            with stream:
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


class _Stream:
    """The global generators of ``random``, NumPy and PyTorch are exchanged for others within a ``with`` block."""

    def __init__(self, *seed: int) -> None:
        before = _random_state()
        seed_everything(*seed)
        self._within = _random_state()
        _set_random_state(before)
        self._before = before

    def __enter__(self) -> None:
        self._before = _random_state()
        _set_random_state(self._within)

    def __exit__(self, *_: Any) -> None:
        self._within = _random_state()
        _set_random_state(self._before)


def _random_state() -> Tuple[Any, Any, Any]:
    return random.getstate(), np.random.get_state(), torch.default_generator.get_state()


def _set_random_state(state: Tuple[Any, Any, Any]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.default_generator.set_state(state[2])


def seed_everything(*words: int) -> None:
    """Seed ``random``, NumPy and PyTorch (on the CPU) with a number made of several."""
    digest = hashlib.blake2b(repr(words).encode(), digest_size=8).digest()
    seed = int.from_bytes(digest, "little")
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed % 2**63)
