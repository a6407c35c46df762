"""Samplers and the loader: any position of training can be reached again."""

import itertools
from collections import namedtuple

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, IterableDataset, SequentialSampler

from determined import pytorch
from determined.pytorch import samplers

BATCHES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def batches(count=10, size=3):
    return BatchSampler(SequentialSampler(range(count)), size, drop_last=False)


def take(iterable, count):
    return list(itertools.islice(iterable, count))


@pytest.mark.parametrize(
    ("workers", "rank", "expected"),
    [(2, 0, [[0, 1, 2], [6, 7, 8]]), (2, 1, [[3, 4, 5], [9]]), (3, 0, [[0, 1, 2], [9]]), (3, 2, [[6, 7, 8]])],
)
def test_distributed_batch_sampler__shares_batches_out(workers, rank, expected):
    sampler = samplers.DistributedBatchSampler(batches(), workers, rank)
    assert list(sampler) == expected and len(sampler) == len(expected)


def test_distributed_sampler__shares_indices_out():
    sampler = samplers.DistributedSampler(SequentialSampler(range(10)), 3, 0)
    assert list(sampler) == [0, 3, 6, 9] and len(sampler) == 4


def test_repeat__goes_round_and_keeps_the_length_of_an_epoch():
    assert take(samplers.RepeatSampler(SequentialSampler(range(2))), 5) == [0, 1, 0, 1, 0]
    sampler = samplers.RepeatBatchSampler(batches())
    assert take(sampler, 5) == [*BATCHES, BATCHES[0]] and len(sampler) == 4


def test_skip__leaves_out_the_first_and_keeps_the_length_of_an_epoch():
    sampler = samplers.SkipBatchSampler(batches(), 3)
    assert list(sampler) == [[9]] and len(sampler) == 4
    assert list(samplers.SkipSampler(SequentialSampler(range(6)), 4)) == [4, 5]


@pytest.mark.parametrize("kind", ["indices", "batches"])
def test_shuffle__differs_by_round_and_repeats_by_seed(kind):
    def rounds(seed):
        if kind == "indices":
            sampler = samplers.ReproducibleShuffleSampler(SequentialSampler(range(20)), seed)
        else:
            sampler = samplers.ReproducibleShuffleBatchSampler(batches(60), seed)
        return list(sampler), list(sampler)

    first, second = rounds(seed=1)
    assert first != second and sorted(first) == sorted(second)
    assert rounds(seed=1) == (first, second) and rounds(seed=2) != (first, second)


@pytest.mark.parametrize("skip", [0, 1, 5, 9])
@pytest.mark.parametrize("rank", [0, 1])
def test_adapt_batch_sampler__skips_batches_of_this_worker_across_epochs(skip, rank):
    whole = pytorch.adapt_batch_sampler(batches(), repeat=True, num_replicas=2, rank=rank)
    rest = pytorch.adapt_batch_sampler(batches(), repeat=True, skip=skip, num_replicas=2, rank=rank)
    assert take(rest, 6) == take(whole, skip + 6)[skip:] and len(rest) == len(whole) == 2


@pytest.mark.parametrize("skip", [1, 7, 12])
def test_loader__shuffled_goes_on_where_it_stopped(skip):
    def loader():
        torch.manual_seed(5)
        return pytorch.DataLoader(list(range(10)), batch_size=2, shuffle=True)

    whole = [b.tolist() for b in take(loader().get_data_loader(repeat=True), skip + 5)]
    torch.rand(3)  # what the model drew since does not matter
    rest = [b.tolist() for b in take(loader().get_data_loader(repeat=True, skip=skip), 5)]
    assert rest == whole[skip:] and whole[:5] != whole[5:10]


def test_loader__follows_the_seed_of_its_generator():
    def order(seed):
        generator = torch.Generator().manual_seed(seed)
        return [b.tolist() for b in pytorch.DataLoader(list(range(10)), shuffle=True, generator=generator)]

    assert order(1) == order(1) != order(2)


def test_loader__serves_without_a_trainer_too():
    loader = pytorch.DataLoader(list(range(5)), batch_size=2)
    assert len(loader) == 3 and [b.tolist() for b in loader] == [[0, 1], [2, 3], [4]]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(3))


@pytest.mark.parametrize(
    "arguments",
    [
        {"dataset": Stream()},
        {"batch_size": None},
        {"shuffle": True, "sampler": SequentialSampler([1, 2])},
        {"batch_sampler": batches(), "batch_size": 4},
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": 2},
        {"persistent_workers": True},
    ],
)
def test_loader__refuses_arguments_that_contradict_each_other(arguments):
    with pytest.raises(ValueError):
        pytorch.DataLoader(**{"dataset": [1, 2, 3], **arguments})


@pytest.mark.parametrize(
    ("data", "length"),
    [
        (torch.zeros(3, 2), 3),
        (np.zeros((4, 2)), 4),
        ({"id": "x", "pixels": torch.zeros(5)}, 5),
        (["x", torch.zeros(6)], 6),
        ((torch.zeros(7), torch.zeros(1)), 7),
    ],
)
def test_data_length(data, length):
    assert pytorch.data_length(data) == length


@pytest.mark.parametrize(("data", "error"), [({}, ValueError), ([1], ValueError), (5, TypeError)])
def test_data_length__of_something_else_says_what_to_do(data, error):
    with pytest.raises(error, match=r"override get_batch_length\(\)"):
        pytorch.data_length(data)


def test_to_device__keeps_the_form(caplog):
    pair = namedtuple("pair", "a b")
    device = torch.device("cpu")
    data = {"x": [np.ones(2), (torch.zeros(1), "text")], "pair": pair(np.zeros(1), 1)}
    warned = set()
    moved = pytorch.to_device(data, device, warned)
    assert isinstance(moved["x"][0], torch.Tensor) and moved["x"][1][1] == "text"
    assert isinstance(moved["pair"], pair) and isinstance(moved["pair"].a, torch.Tensor)
    assert warned == {str, int} and len(caplog.records) == 2
    pytorch.to_device(data, device, warned)
    assert len(caplog.records) == 2


def test_loader__shows_its_arguments_and_goes_by_them():
    loader = pytorch.DataLoader(list(range(4)), batch_size=2, drop_last=True, num_workers=0, timeout=0)
    assert (loader.batch_size, loader.drop_last, loader.num_workers, loader.pin_memory) == (2, True, 0, False)
    assert [name for name in ("timeout", "prefetch_factor", "worker_init_fn") if not hasattr(loader, name)] == []
    loader.collate_fn = sum
    assert list(loader.get_data_loader()) == [1, 5]
