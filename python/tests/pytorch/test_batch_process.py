"""Inference over a data set: every record is processed, whatever interrupts it."""

import json
import types

import pytest
import torch
from batch_programs import RECORDS, Failing, Writing
from scenarios import torchrun

from determined import core
from determined.pytorch import experimental
from determined.pytorch.experimental import torch_batch_process
from tests.conftest import PROGRAMS

DATA = torch.arange(float(RECORDS))


def records_in(storage):
    """What was uploaded, by process."""
    return {
        rank: sorted(x for f in storage.glob(f"*/rank_{rank}/*.json") for x in json.loads(f.read_text()))
        for rank in range(2)
    }


def latest(cluster):
    return list(cluster.master.checkpoints)[-1]


def steps_completed(cluster):
    return [c["metadata"]["steps_completed"] for c in cluster.master.checkpoints.values()]


def test_every_record__is_processed_and_told(cluster):
    torch_batch_process(Writing, DATA, batch_size=4, checkpoint_interval=2)
    assert records_in(cluster.storage)[0] == DATA.tolist()
    assert steps_completed(cluster) == [2, 4, 6]
    assert [b["progress"] for b in cluster.master.bodies("ReportTrialProgress")] == [2 / 6, 4 / 6, 1.0]
    assert cluster.master.reports("validation") == [(6, {"records": RECORDS})]


def test_max_batches__ends_early(cluster):
    torch_batch_process(Writing, DATA, batch_size=4, max_batches=3, checkpoint_interval=2)
    assert records_in(cluster.storage)[0] == DATA.tolist()[:12] and steps_completed(cluster) == [2, 3]


def test_off_the_cluster__it_works_too(tmp_path):
    torch_batch_process(Writing, DATA, batch_size=10)
    assert records_in(tmp_path / "home" / "determined")[0] == DATA.tolist()


def test_interrupted__it_goes_on_where_everything_was_safe(cluster):
    with pytest.raises(RuntimeError, match="as the test wishes"):
        torch_batch_process(Failing, DATA, batch_size=4, checkpoint_interval=2)
    assert steps_completed(cluster) == [2, 4]
    cluster.write(latest_checkpoint=latest(cluster), trial_run_id=2)
    torch_batch_process(Writing, DATA, batch_size=4, checkpoint_interval=2)
    assert records_in(cluster.storage)[0] == DATA.tolist(), "each once: what was not safe was not written"
    assert cluster.master.reports("validation")[-1] == (6, {"records": RECORDS - 16})


def test_checkpoint_of_a_training__is_no_progress(cluster):
    with core.init() as core_context, core_context.checkpoint.store_path({"steps_completed": 4}):
        pass
    cluster.write(latest_checkpoint=latest(cluster), trial_run_id=2)
    torch_batch_process(Writing, DATA, batch_size=4)
    assert records_in(cluster.storage)[0] == DATA.tolist()


def test_preempted__it_stores_its_progress_and_leaves(cluster):
    cluster.master.preempt = True
    torch_batch_process(Writing, DATA, batch_size=4, checkpoint_interval=2)
    assert steps_completed(cluster) == [2] and cluster.master.acknowledged
    cluster.master.preempt = False
    cluster.write(latest_checkpoint=latest(cluster), trial_run_id=2)
    torch_batch_process(Writing, DATA, batch_size=4, checkpoint_interval=2)
    assert records_in(cluster.storage)[0] == DATA.tolist()


@pytest.mark.parametrize(("batch_size", "skipped"), [(8, 2), (3, 5), (16, 1)])
def test_other_shares__leave_no_record_out(cluster, batch_size, skipped):
    with pytest.raises(RuntimeError):
        torch_batch_process(Failing, DATA, batch_size=4, checkpoint_interval=2)
    cluster.write(latest_checkpoint=latest(cluster), trial_run_id=2)
    torch_batch_process(Writing, DATA, batch_size=batch_size, checkpoint_interval=1)
    assert steps_completed(cluster)[2] == skipped + 1
    assert set(records_in(cluster.storage)[0]) == set(DATA.tolist())


def test_two_processes__share_the_batches_and_agree_on_their_progress(cluster, tmp_path):
    cluster.write(slot_ids=[0, 1])

    program = [str(PROGRAMS / "batch_programs.py"), "write", "2", "2"]
    done = torchrun(2, *program, cwd=tmp_path, DET_RUN_DIR=str(cluster.run_dir))
    assert done.returncode == 0, done.stderr
    seen = records_in(cluster.storage)
    assert (len(seen[0]), len(seen[1])) == (12, 10), "of eleven batches, the last one is for rank 0"
    assert sorted(seen[0] + seen[1]) == DATA.tolist()
    assert steps_completed(cluster) == [2, 4, 6] and cluster.master.reports("validation") == [(6, {"records": RECORDS})]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"checkpoint_interval": 0}, ValueError, "checkpoint_interval=0"),
        ({"dataloader_kwargs": {"shuffle": True}}, ValueError, "shuffle must be off"),
        ({"dataloader_kwargs": {"sampler": [1]}}, ValueError, "sampler is made by"),
        ({"dataloader_kwargs": {"batch_sampler": [1]}}, ValueError, "batch_sampler is made by"),
        ({"batch_size": 2, "dataloader_kwargs": {"batch_size": 2}}, ValueError, "given twice"),
        ({"dataset": (x for x in [1])}, TypeError, "a dataset with a length, which generator has not"),
    ],
)
def test_arguments__that_make_no_sense_are_told(arguments, error, message):
    with pytest.raises(error, match=message):
        torch_batch_process(Writing, **{"dataset": DATA, **arguments})


def test_loader_arguments__reach_the_loader(cluster):
    torch_batch_process(Writing, DATA, dataloader_kwargs={"batch_size": 5, "num_workers": 1, "shuffle": False})
    assert records_in(cluster.storage)[0] == DATA.tolist()


def test_context__links_the_inference_with_what_it_uses(cluster):
    cluster.write(hparams={"threshold": 0.5})

    class Linking(Writing):
        def __init__(self, context):
            super().__init__(context)
            assert context.get_hparams() == {"threshold": 0.5} and context.get_tensorboard_path().is_dir()
            checkpoint = types.SimpleNamespace(uuid="11111111-2222-3333-4444-555555555555")
            context.report_task_using_checkpoint(checkpoint)
            version = types.SimpleNamespace(checkpoint=checkpoint, model_id=3, model_version=2)
            context.report_task_using_model_version(version)
            context.report_metrics("inference", 1, {"x": 1.0})

    torch_batch_process(Linking, DATA, batch_size=8)
    sources = [b["trialSourceInfo"] for b in cluster.master.bodies("ReportTrialSourceInfo")]
    uuid = "11111111-2222-3333-4444-555555555555"
    common = {"checkpointUuid": uuid, "trialId": 11, "trialSourceInfoType": "TRIAL_SOURCE_INFO_TYPE_INFERENCE"}
    assert sources == [common, {**common, "modelId": 3, "modelVersion": 2}]
    assert cluster.master.reports("inference") == [(1, {"x": 1.0})]


def test_model_version__without_a_checkpoint_is_refused():
    version = types.SimpleNamespace(checkpoint=None, model_id=3, model_version=2)
    with core._context.dummy_init() as core_context, pytest.raises(ValueError, match="version 2 of the model has no"):
        core_context.experimental.report_task_using_model_version(version)


def test_default_device__is_the_cpu_without_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert experimental.get_default_device(core._context.dummy_init()).type == "cpu"
