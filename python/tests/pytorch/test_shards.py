"""Checkpoints that several processes store and read together: threads stand for the processes."""

import concurrent.futures
import contextlib
import pathlib
import threading

import pytest

from determined import _storage, core, errors
from determined.core import _checkpoint

RANKS = 3


class Ranks:
    """What the ranks of one machine share."""

    def __init__(self):
        self.barrier = threading.Barrier(RANKS, timeout=600)
        self.values = [None] * RANKS


class ThreadedContext(core.DummyDistributedContext):
    def __init__(self, ranks, rank):
        super().__init__()
        self.rank = self.local_rank = rank
        self.size = self.local_size = RANKS
        self._ranks = ranks

    def allgather(self, stuff):
        self._ranks.values[self.rank] = stuff
        self._ranks.barrier.wait()
        values = list(self._ranks.values)
        self._ranks.barrier.wait()
        return values

    def broadcast(self, stuff):
        return self.allgather(stuff)[0]

    allgather_local = allgather
    broadcast_local = broadcast


class Reporting(_checkpoint.DummyCheckpointContext):
    """Keeps the reports, and insists on steps_completed as on a cluster."""

    def __init__(self, dist, storage):
        super().__init__(dist, storage)
        self.reports = []

    def _check_metadata(self, metadata):
        core.CheckpointContext._check_metadata(self, metadata)

    def _report(self, storage_id, resources, metadata):
        self.reports.append((storage_id, resources, metadata))


class Copying(_storage.DirectoryStorage):
    """Behaves as an object store: what is stored is a copy."""

    direct = False

    @contextlib.contextmanager
    def restore_path(self, storage_id, selector=None):
        with core._checkpoint.tempfile.TemporaryDirectory() as path:
            self.download(storage_id, pathlib.Path(path), selector)
            yield pathlib.Path(path)


@pytest.fixture(params=[_storage.DirectoryStorage, Copying])
def storage(request, tmp_path):
    return request.param(tmp_path / "storage")


def run(storage, work):
    """``work(context, rank)`` in every rank; results, or what was raised, by rank; and the reports."""
    ranks = Ranks()
    contexts = [Reporting(ThreadedContext(ranks, rank), storage) for rank in range(RANKS)]

    def one(rank):
        try:
            return work(contexts[rank], rank)
        except Exception as e:
            return e

    with concurrent.futures.ThreadPoolExecutor(RANKS) as threads:
        results = list(threads.map(one, range(RANKS)))
    assert contexts[1].reports == contexts[2].reports == []
    return results, contexts[0].reports


def directory(tmp_path, rank, **files):
    path = tmp_path / f"rank{rank}"
    path.mkdir(exist_ok=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def names(storage):
    return sorted(p.name for p in storage.base_path.rglob("*") if p.is_file())


def test_upload__makes_one_checkpoint_of_all_ranks_parts(storage, tmp_path):
    def work(checkpoint, rank):
        path = directory(tmp_path, rank, **{f"part{rank}": "x" * rank, "common": "same"}) if rank != 1 else None
        return checkpoint.upload(path, {"steps_completed": 7, "of": {str(rank): rank}}, shard=True)

    ids, reports = run(storage, work)
    assert len(set(ids)) == 1 and names(storage) == ["common", "metadata.json", "part0", "part2"]
    [(storage_id, resources, metadata)] = reports
    assert storage_id == ids[0] and metadata == {"steps_completed": 7, "of": {"0": 0, "1": 1, "2": 2}}
    assert resources == _storage.list_resources(storage.base_path / storage_id)


def test_upload__of_ranks_that_share_a_directory_stores_each_file_once(storage, tmp_path):
    stored = []
    upload = storage.upload
    storage.upload = lambda storage_id, source, names: (stored.extend(names), upload(storage_id, source, names))
    path = directory(tmp_path, 0, a="1", b="2")
    run(storage, lambda checkpoint, rank: checkpoint.upload(path, {"steps_completed": 1}, shard=True))
    assert sorted(stored) == ["a", "b", "metadata.json"]


def test_upload__refuses_different_files_of_one_name(storage, tmp_path):
    def work(checkpoint, rank):
        path = directory(tmp_path, rank, weights=str(rank))
        return checkpoint.upload(path, {"steps_completed": 1}, shard=True)

    problems, reports = run(storage, work)
    assert [str(p)[:50] for p in problems] == ["weights is not the same file in rank 0 and rank 1:"] * RANKS
    assert reports == [] and not storage.base_path.exists()


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (lambda rank: {"steps_completed": rank}, "metadata.steps_completed is 1 in rank 1 and 0 in a lower one"),
        (lambda rank: {"a": rank == 0} if rank == 0 else {}, "steps_completed"),
    ],
)
def test_upload__refuses_metadata_that_do_not_fit(storage, tmp_path, metadata, message):
    path = directory(tmp_path, 0, a="1")
    problems, reports = run(storage, lambda checkpoint, rank: checkpoint.upload(path, metadata(rank), shard=True))
    assert all(message in str(p) for p in problems) and reports == []


def test_upload__that_fails_in_one_rank_fails_in_all_and_leaves_nothing(storage, tmp_path):
    upload = storage.upload

    def failing(storage_id, source, names):
        if source.name == "rank2":
            raise OSError("the disk is full")
        upload(storage_id, source, names)

    storage.upload = failing

    def work(checkpoint, rank):
        path = directory(tmp_path, rank, **{f"part{rank}": "x"})
        return checkpoint.upload(path, {"steps_completed": 1}, shard=True)

    problems, reports = run(storage, work)
    assert [type(p) for p in problems] == [RuntimeError, RuntimeError, OSError]
    assert "rank 2 could not do its part of the checkpoint: OSError: the disk is full" in str(problems[0])
    assert reports == [] and names(storage) == []


def test_upload__with_a_directory_that_is_missing_in_one_rank_says_which(storage, tmp_path):
    path = directory(tmp_path, 0, a="1")
    problems, _ = run(
        storage,
        lambda checkpoint, rank: checkpoint.upload(
            path if rank else tmp_path / "x", {"steps_completed": 1}, shard=True
        ),
    )
    assert [type(p) for p in problems] == [NotADirectoryError, RuntimeError, RuntimeError]


def test_store_path__collects_what_all_ranks_write(storage):
    def work(checkpoint, rank):
        with checkpoint.store_path({"steps_completed": 3}, shard=True) as (path, storage_id):
            (path / f"part{rank}").write_text("x")
        return storage_id

    ids, reports = run(storage, work)
    assert len(set(ids)) == 1 and names(storage) == ["metadata.json", "part0", "part1", "part2"]
    assert reports == [(ids[0], _storage.list_resources(storage.base_path / ids[0]), {"steps_completed": 3})]


@pytest.mark.parametrize("mode", list(core.DownloadMode))
def test_restore_path__is_read_by_all_ranks_before_it_goes(storage, mode):
    fetched = []
    download = storage.download
    storage.download = lambda *args: (fetched.append(args), download(*args))
    with storage.store_path("id") as path:
        (path / "weights").write_text("1")

    def work(checkpoint, rank):
        with checkpoint.restore_path("id", mode) as path:
            return (path / "weights").read_text()

    assert run(storage, work)[0] == ["1"] * RANKS
    shared = mode is core.DownloadMode.LocalWorkersShareDownload
    assert len(fetched) == (0 if storage.direct else 1 if shared else RANKS)


def test_download__of_what_is_not_there_fails_in_all_ranks(storage, tmp_path):
    problems, _ = run(storage, lambda checkpoint, rank: checkpoint.download("none", tmp_path / "target"))
    assert [type(p) for p in problems] == [errors.CheckpointNotFound] * RANKS


# In the background


class Gated(_storage.DirectoryStorage):
    """Stores nothing before the gate is opened."""

    def __init__(self, path):
        super().__init__(path)
        self.gate = threading.Event()

    def upload(self, storage_id, source, names):
        assert self.gate.wait(60)
        if source.name == "bad":
            raise OSError("the disk is full")
        super().upload(storage_id, source, names)


@pytest.fixture
def gated(tmp_path):
    storage = Gated(tmp_path / "storage")
    yield storage
    storage.gate.set()


def test_upload_async__returns_before_anything_is_stored(gated, tmp_path):
    checkpoint = Reporting(core.DummyDistributedContext(), gated)
    path = directory(tmp_path, 0, a="1")
    pending = [checkpoint.upload_async(path, {"steps_completed": steps}) for steps in (1, 2)]
    assert not pending[0].done() and checkpoint.reports == []
    gated.gate.set()
    assert [p.wait() for p in pending] == [p.storage_id for p in pending]
    assert [metadata["steps_completed"] for _, _, metadata in checkpoint.reports] == [1, 2]
    assert sorted(gated.resources(pending[0].storage_id)) == ["a", "metadata.json"]


def test_upload_async__checks_what_it_can_at_once(gated, tmp_path):
    checkpoint = Reporting(core.DummyDistributedContext(), gated)
    with pytest.raises(NotADirectoryError):
        checkpoint.upload_async(tmp_path / "none", {"steps_completed": 1})
    with pytest.raises(ValueError, match="steps_completed"):
        checkpoint.upload_async(tmp_path, {})


def test_upload_async__raises_at_the_end_what_nobody_waited_for(gated, tmp_path):
    gated.gate.set()
    with pytest.raises(OSError, match="the disk is full"):
        with core.Context(checkpoint=Reporting(core.DummyDistributedContext(), gated)) as context:
            (tmp_path / "bad").mkdir()
            (tmp_path / "bad" / "a").write_text("1")
            pending = context.checkpoint.upload_async(tmp_path / "bad", {"steps_completed": 1})
            context.checkpoint.upload_async(directory(tmp_path, 0, a="1"), {"steps_completed": 2})
    assert pending.done()
    assert [metadata["steps_completed"] for _, _, metadata in context.checkpoint.reports] == [2]


def test_upload_async__that_was_waited_for_is_not_raised_again(gated, tmp_path):
    gated.gate.set()
    (tmp_path / "bad").mkdir()
    with core.Context(checkpoint=Reporting(core.DummyDistributedContext(), gated)) as context:
        pending = context.checkpoint.upload_async(tmp_path / "bad", {"steps_completed": 1})
        with pytest.raises(OSError, match="the disk is full"):
            pending.wait()


def test_upload_async__of_shards_ends_in_all_ranks_together(gated, tmp_path):
    def work(checkpoint, rank):
        pending = checkpoint.upload_async(
            directory(tmp_path, rank, **{f"part{rank}": "x"}), {"steps_completed": 1}, shard=True
        )
        assert checkpoint.reports == []
        gated.gate.set()
        return pending.wait()

    ids, reports = run(gated, work)
    assert len(set(ids)) == 1 and [r[0] for r in reports] == ids[:1]
    assert names(gated) == ["metadata.json", "part0", "part1", "part2"]
