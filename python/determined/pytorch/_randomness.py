"""Random numbers of a sampler of users, which begin again where they were after a restart."""

import hashlib
import random
from typing import Any, Iterator, List, Tuple

import numpy as np
import torch


class OwnRandomness(torch.utils.data.BatchSampler):
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
        stream = Stream(self._seed, self._rounds)
        self._rounds += 1
        with stream:
            batches = iter(self.batch_sampler)
        while True:
            with stream:
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


class Stream:
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
