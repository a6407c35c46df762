"""The Core API against a master, and without one."""

import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
from support.waiting import wait_for

import determined as det
from determined import _storage, core, errors
from determined.core import _tensorboard

# Metrics


def test_metrics__arrive_in_order_when_the_context_ends(cluster):
    with core.init() as core_context:
        for step in range(100):
            core_context.train.report_training_metrics(step, {"loss": np.float32(step)})
        core_context.train.report_validation_metrics(100, {"accuracy": 1.0})
    assert cluster.master.reports("training") == [(step, {"loss": float(step)}) for step in range(100)]
    assert cluster.master.reports("validation") == [(100, {"accuracy": 1.0})]


def test_metrics__carry_trial_run_and_batches(cluster):
    cluster.write(trial_run_id=5)
    with core.init() as core_context:
        core_context.train.report_training_metrics(2, {"loss": 1}, batch_metrics=[{"loss": 0.5}, {"loss": 1.5}])
    (report,) = cluster.master.metrics
    assert (report["metrics"]["trialId"], report["metrics"]["trialRunId"]) == (11, 5)
    assert report["metrics"]["metrics"]["batchMetrics"] == [{"loss": 0.5}, {"loss": 1.5}]


def test_metrics__that_are_not_finite_travel_as_strings(cluster):
    with core.init() as core_context:
        core_context.train.report_metrics("mine", 1, {"a": math.nan, "b": [math.inf, -math.inf]})
    assert cluster.master.reports("mine") == [(1, {"a": "NaN", "b": ["Infinity", "-Infinity"]})]


def test_metrics__are_copied_at_once(cluster):
    with core.init() as core_context:
        metrics = {"a": [1]}
        core_context.train.report_metrics("mine", 1, metrics)
        metrics["a"].append(2)
    assert cluster.master.reports("mine") == [(1, {"a": [1]})]


def test_metrics__with_a_time(cluster):
    when = datetime.datetime(2024, 5, 6, 7, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    with core.init() as core_context:
        core_context.train.report_metrics("mine", 1, {"a": 1}, report_time=when)
    assert cluster.master.metrics[0]["metrics"]["reportTime"] == "2024-05-06T05:00:00+00:00"


@pytest.mark.parametrize("group", ["", "a.b", None])
def test_metrics__of_an_impossible_group_are_refused_at_once(cluster, group):
    with core.init() as core_context, pytest.raises(ValueError, match="metric group"):
        core_context.train.report_metrics(group, 1, {"a": 1})


def test_metrics__that_cannot_be_sent_are_refused_at_once(cluster):
    with core.init() as core_context, pytest.raises(TypeError, match=r'metrics\["a"\]'):
        core_context.train.report_training_metrics(1, {"a": {1}})


def test_validation_metric__must_not_be_none_and_bytes_are_left_out(cluster):
    with core.init() as core_context:
        with pytest.raises(RuntimeError, match="'loss' is None"):
            core_context.train.report_validation_metrics(1, {"loss": None})
        core_context.train.report_validation_metrics(1, {"loss": 1, "image": b"png"})
    assert cluster.master.reports("validation") == [(1, {"loss": 1})]


def test_metrics__that_the_master_refuses_raise_later_and_the_others_arrive(cluster):
    cluster.master.faults["ReportTrialMetrics"] = [400]
    with pytest.raises(errors.BadRequest, match="as the test wishes"):
        with core.init() as core_context:
            # No answer comes before both are on their way: the second call must not raise yet.
            with cluster.master.lock:
                core_context.train.report_training_metrics(1, {"loss": 1})
                core_context.train.report_training_metrics(2, {"loss": 2})
    assert cluster.master.reports("training") == [(2, {"loss": 2})]


def test_metrics__errors_do_not_hide_the_users_own(cluster):
    cluster.master.faults["ReportTrialMetrics"] = [400]
    with pytest.raises(ZeroDivisionError):
        with core.init() as core_context:
            core_context.train.report_training_metrics(1, {"loss": 1})
            _ = 1 / 0


def test_metrics__that_are_lost_turn_an_exit_with_0_into_a_failure(cluster):
    cluster.master.faults["ReportTrialMetrics"] = [400]
    with pytest.raises(errors.BadRequest):
        with core.init() as core_context:
            core_context.train.report_training_metrics(1, {"loss": 1})
            sys.exit(0)


def test_metrics__before_and_after_the_context_are_not_lost_in_silence(cluster):
    core_context = core.init()
    core_context.train.report_training_metrics(1, {"loss": 1})
    with pytest.raises(RuntimeError, match="was not started"):
        core_context.train.get_experiment_best_validation()
    with core_context:
        pass
    assert cluster.master.reports("training") == [(1, {"loss": 1})]
    with pytest.raises(RuntimeError, match="has ended"):
        core_context.train.report_training_metrics(2, {"loss": 1})


def test_metrics__survive_a_master_that_is_away_for_a_while(cluster, fast_retries):
    fast_retries(9)
    cluster.master.faults["ReportTrialMetrics"] = ["drop", 503, "drop", 503]
    with core.init() as core_context:
        core_context.train.report_training_metrics(1, {"loss": 1})
    assert cluster.master.reports("training") == [(1, {"loss": 1})]


def test_metrics__that_arrived_although_the_answer_was_lost_are_not_an_error(cluster, fast_retries):
    """The master refuses batch metrics that come twice; the averages it merges."""
    fast_retries(5)
    cluster.master.faults["ReportTrialMetrics"] = ["lose"]
    with core.init() as core_context:
        core_context.train.report_training_metrics(1, {"loss": 1}, batch_metrics=[{"loss": 1}])
    assert cluster.master.metrics[0]["metrics"]["metrics"]["batchMetrics"] == [{"loss": 1}]


def test_status_and_progress__are_sent_and_their_failure_is_only_logged(cluster):
    cluster.master.faults["PostTrialRunnerMetadata"] = [400]
    with core.init() as core_context:
        core_context.train.set_status("failing")
        core_context.train.set_status("training")
        core_context.train.report_progress(0.25)
    assert cluster.master.bodies("PostTrialRunnerMetadata")[-1] == {"state": "training"}
    assert cluster.master.bodies("ReportTrialProgress") == [{"progress": 0.25, "isRaw": True}]


@pytest.mark.parametrize("progress", [-0.1, 1.1, math.nan])
def test_progress__must_be_a_part(cluster, progress):
    with core.init() as core_context, pytest.raises(ValueError, match="progress must be between 0 and 1"):
        core_context.train.report_progress(progress)


def test_metadata__goes_there_and_back(cluster):
    with core.init() as core_context:
        assert core_context.train.set_metadata({"a": {"b": 1}}) == {"a": {"b": 1}}
        assert core_context.train.get_metadata() == {"a": {"b": 1}}


def test_best_validation__is_none_until_there_is_one(cluster):
    with core.init() as core_context:
        assert core_context.train.get_experiment_best_validation() is None
        cluster.master.best_validation = 0.75
        assert core_context.train.get_experiment_best_validation() == 0.75


def test_best_validation__is_asked_after_our_own_has_arrived(cluster):
    with core.init() as core_context:
        core_context.train.report_validation_metrics(1, {"accuracy": 1})
        core_context.train.get_experiment_best_validation()
        rpcs = cluster.master.rpcs()
    assert rpcs.index("ReportTrialMetrics") < rpcs.index("GetBestSearcherValidationMetric")


def test_early_exit__is_reported_and_a_second_one_does_no_harm(cluster):
    with core.init() as core_context:
        core_context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
        cluster.master.faults["ReportTrialSearcherEarlyExit"] = [400]
        core_context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
    assert cluster.master.bodies("ReportTrialSearcherEarlyExit")[0] == {"reason": "EXITED_REASON_INVALID_HP"}


def test_invalid_hp__is_reported_and_ends_the_process_with_0(cluster):
    with pytest.raises(SystemExit) as e:
        with core.init() as core_context:
            core_context.train.report_training_metrics(1, {"loss": 1})
            raise det.InvalidHP("too many layers")
    assert e.value.code == 0
    assert cluster.master.bodies("ReportTrialSearcherEarlyExit") == [{"reason": "EXITED_REASON_INVALID_HP"}]
    assert cluster.master.reports("training") == [(1, {"loss": 1})]


def test_invalid_hp__has_its_message_which_is_a_text():
    assert det.InvalidHP("too many layers").msg == "too many layers" and str(det.InvalidHP("no")) == "no"
    with pytest.raises(TypeError, match="not 5 of type int"):
        det.InvalidHP(5)


# Checkpoints


def test_checkpoint__is_stored_and_reported(cluster):
    with core.init() as core_context:
        with core_context.checkpoint.store_path({"steps_completed": 5, "note": "x"}) as (path, storage_id):
            (path / "weights").write_text("12345")
            (path / "sub").mkdir()
            (path / "sub" / "more").write_text("1")
    assert (cluster.storage / storage_id / "weights").read_text() == "12345"
    report = cluster.master.checkpoints[storage_id]
    metadata_size = (cluster.storage / storage_id / "metadata.json").stat().st_size
    assert report["resources"] == {
        "weights": "5",
        "sub/": "0",
        "sub/more": "1",
        "metadata.json": str(metadata_size),
    }
    assert report["metadata"] == {"steps_completed": 5, "note": "x"}
    assert (report["taskId"], report["allocationId"], report["storageId"]) == ("7.6f4e", "7.6f4e.1", 3)
    assert json.loads((cluster.storage / storage_id / "metadata.json").read_text()) == report["metadata"]


def test_checkpoint__of_a_body_that_fails_is_gone(cluster):
    with core.init() as core_context, pytest.raises(ZeroDivisionError):
        with core_context.checkpoint.store_path({"steps_completed": 5}) as (path, _):
            (path / "weights").write_text("half")
            _ = 1 / 0
    assert cluster.master.checkpoints == {} and list(cluster.storage.iterdir()) == []


def test_checkpoint__needs_steps_completed_before_anything_is_written(cluster):
    with core.init() as core_context:
        with pytest.raises(ValueError, match="steps_completed"):
            with core_context.checkpoint.store_path({"note": "x"}):
                raise AssertionError("must not get here")
        with pytest.raises(ValueError, match="steps_completed"):
            core_context.checkpoint.upload(str(cluster.run_dir))
    assert not cluster.storage.exists()


def test_upload__leaves_the_source_alone_and_obeys_the_selector(cluster, tmp_path):
    source = tmp_path / "model"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "keep").write_text("1")
    (source / "skip").write_text("2")
    with core.init() as core_context:
        storage_id = core_context.checkpoint.upload(
            source, {"steps_completed": 1}, selector=lambda name: name.startswith("sub")
        )
    assert sorted(cluster.master.checkpoints[storage_id]["resources"]) == ["metadata.json", "sub/", "sub/keep"]
    assert sorted(p.name for p in source.iterdir()) == ["skip", "sub"]


def test_upload__with_shards_of_one_process_is_an_upload(cluster, tmp_path):
    (tmp_path / "file").write_text("1")
    with core.init() as core_context:
        storage_id = core_context.checkpoint.upload(tmp_path / "run", {"steps_completed": 1}, shard=True)
        assert storage_id in cluster.master.checkpoints
        with pytest.raises(RuntimeError, match="nothing to store"):
            core_context.checkpoint.upload(None, {"steps_completed": 1}, shard=True)
        with pytest.raises(NotADirectoryError):
            core_context.checkpoint.upload(tmp_path / "file", {"steps_completed": 1})


def test_download_and_restore(cluster, tmp_path):
    with core.init() as core_context:
        with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            (path / "a").write_text("A")
            (path / "b").write_text("B")
        core_context.checkpoint.download(storage_id, tmp_path / "all")
        core_context.checkpoint.download(storage_id, tmp_path / "some", selector=lambda name: name == "a")
        with core_context.checkpoint.restore_path(storage_id) as path:
            assert (path / "b").read_text() == "B"
        assert core_context.checkpoint.get_metadata(storage_id) == {"steps_completed": 1}
    assert sorted(p.name for p in (tmp_path / "all").iterdir()) == ["a", "b", "metadata.json"]
    assert [p.name for p in (tmp_path / "some").iterdir()] == ["a"]


def test_delete__removes_the_files_and_tells_the_master(cluster):
    with core.init() as core_context:
        with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            pass
        core_context.checkpoint.delete(storage_id)
        assert not path.exists() and cluster.master.checkpoints[storage_id]["resources"] == {}
        with pytest.raises(errors.CheckpointNotFound, match=storage_id):
            core_context.checkpoint.delete(storage_id)


@pytest.mark.parametrize("storage_id", ["../escape", "", "..", "a/b"])
def test_checkpoint_id__must_not_lead_elsewhere(cluster, tmp_path, storage_id):
    with core.init() as core_context, pytest.raises(ValueError, match="is not a checkpoint id"):
        core_context.checkpoint.download(storage_id, tmp_path / "x")


@pytest.mark.parametrize(
    ("storage_path", "expected"),
    [(None, ""), ("sub/dir", "sub/dir"), ("HOST/below", "below")],
)
def test_shared_fs__honours_storage_path(cluster, storage_path, expected):
    storage = cluster.config["checkpoint_storage"]
    storage["storage_path"] = storage_path and storage_path.replace("HOST", str(cluster.storage))
    cluster.write()
    with core.init() as core_context, core_context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
        assert path == cluster.storage / expected / storage_id


def test_shared_fs__must_stay_below_its_host_path(cluster):
    cluster.config["checkpoint_storage"]["storage_path"] = "../outside"
    cluster.write()
    with pytest.raises(ValueError, match="leads out of"):
        core.init()


def test_shared_fs__in_a_container_is_where_it_is_mounted(cluster, monkeypatch, tmp_path):
    (tmp_path / "mount").mkdir()
    monkeypatch.setattr("determined._storage._config.SHARED_FS_CONTAINER_PATH", str(tmp_path / "mount"))
    monkeypatch.setattr("determined._info.DEFAULT_RUN_DIR", str(cluster.run_dir))
    cluster.config["checkpoint_storage"] = {"type": "shared_fs", "host_path": "/on/the/host", "storage_path": "s"}
    cluster.write()
    with core.init() as core_context, core_context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        assert path.parent == tmp_path / "mount" / "s"


def test_shared_fs__without_a_container_is_the_host_path_whatever_else_the_machine_has(cluster, monkeypatch, tmp_path):
    (tmp_path / "mount").mkdir()
    monkeypatch.setattr("determined._storage._config.SHARED_FS_CONTAINER_PATH", str(tmp_path / "mount"))
    with core.init() as core_context, core_context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        assert path.parent == cluster.storage


def test_tensorboard_files__of_a_process_go_with_its_directory(cluster):
    with core.init() as core_context:
        assert core_context.train.get_tensorboard_path().parent == cluster.run_dir


def test_directory_storage(cluster, tmp_path):
    cluster.config["checkpoint_storage"] = {"type": "directory", "container_path": str(tmp_path / "d")}
    cluster.write()
    with core.init() as core_context, core_context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        assert path.parent == tmp_path / "d"


def test_storage_of_an_unknown_type__is_refused_by_name(cluster):
    cluster.config["checkpoint_storage"] = {"type": "floppy"}
    cluster.write()
    with pytest.raises(ValueError, match="checkpoint_storage.type 'floppy'"):
        core.init()


def test_storage_of_the_users_choice__is_registered(cluster, tmp_path):
    with core.init(checkpoint_storage=str(tmp_path / "mine")) as core_context:
        with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
            assert path.parent == tmp_path / "mine"
    assert cluster.master.bodies("RunPrepareForReporting") == [
        {"runId": 11, "checkpointStorage": {"type": "shared_fs", "host_path": str(tmp_path / "mine")}}
    ]


def test_storage_as_a_dictionary__must_not_be_a_shared_fs():
    with pytest.raises(ValueError, match="passed as a path"):
        core.init(checkpoint_storage={"type": "shared_fs", "host_path": "/x"})


# Preemption


def test_preemption__is_seen_soon_and_acknowledged(cluster):
    with core.init() as core_context:
        assert not core_context.preempt.should_preempt()
        cluster.master.ask_to_preempt()
        wait_for("the preemption", core_context.preempt.should_preempt)
        assert core_context.preempt.should_preempt()
    assert cluster.master.acknowledged
    assert cluster.master.rpcs().count("AckAllocationPreemptionSignal") == 1


def test_preemption__by_the_search_is_seen_by_the_first_question_after_the_validation(cluster):
    cluster.master.stops_at_validation = 2
    with core.init() as core_context:
        core_context.train.report_validation_metrics(1, {"accuracy": 0.1})
        assert not core_context.preempt.should_preempt()
        core_context.train.report_validation_metrics(2, {"accuracy": 0.1})
        assert core_context.preempt.should_preempt()


def test_preemption__is_not_waited_for_while_the_master_is_away(cluster, monkeypatch):
    monkeypatch.setattr("determined.core._preempt.DECISION_TIMEOUT_S", 0.01)
    with core.init() as core_context:
        assert not core_context.preempt.should_preempt()
        with cluster.master.lock:  # nothing is answered
            core_context.train.report_validation_metrics(1, {"accuracy": 0.1})
            assert not core_context.preempt.should_preempt()


def test_preemption__that_came_before_the_start_is_seen_by_the_first_question(cluster):
    cluster.master.preempt = True
    with core.init() as core_context:
        assert core_context.preempt.should_preempt()


def test_preemption__is_not_acknowledged_unless_wanted(cluster):
    cluster.master.preempt = True
    with core.init() as core_context:
        assert core_context.preempt.should_preempt(auto_ack=False)
        assert not cluster.master.acknowledged
        core_context.preempt.acknowledge_preemption_signal()
    assert cluster.master.acknowledged


def test_preemption__trouble_with_the_master_never_reaches_user_code(cluster, monkeypatch):
    monkeypatch.setattr("determined.core._preempt.PAUSE_AFTER_FAILURE_S", 0.01)
    cluster.master.faults["AllocationPreemptionSignal"] = ["drop", 500, 400]
    cluster.master.faults["AckAllocationPreemptionSignal"] = [500]
    with core.init() as core_context:
        assert not core_context.preempt.should_preempt()
        cluster.master.ask_to_preempt()
        wait_for("the preemption", core_context.preempt.should_preempt)


def test_preemption__context_ends_in_spite_of_a_long_poll(cluster):
    with core.init() as core_context:
        assert not core_context.preempt.should_preempt()
        wait_for("the second long poll", lambda: cluster.master.rpcs().count("AllocationPreemptionSignal") == 2)
    assert cluster.master.polling == 1, "the context left the poll, it did not wait for its answer"


def test_should_preempt__before_the_start_is_a_mistake(cluster):
    with pytest.raises(RuntimeError, match="before PreemptContext.start"):
        core.init().preempt.should_preempt()


# The rest


@pytest.mark.parametrize(
    ("max_length", "length", "unit"),
    [({"epochs": 3}, 3, core.Unit.EPOCHS), ({"batches": 8}, 8, core.Unit.BATCHES), (5, 5, None)],
)
def test_searcher__hands_out_one_operation_of_the_configured_length(cluster, max_length, length, unit):
    cluster.config["searcher"]["max_length"] = max_length
    cluster.write()
    with core.init() as core_context:
        assert core_context.searcher.get_configured_units() == unit
        with pytest.warns(FutureWarning):
            operations = list(_completed(core_context.searcher.operations()))
    assert [op.length for op in operations] == [length]
    assert cluster.master.bodies("ReportTrialProgress")[0]["progress"] == pytest.approx(1 / length)


def _completed(operations):
    for op in operations:
        op.report_progress(1)
        op.report_completed(0.5)
        with pytest.raises(RuntimeError, match="twice"):
            op.report_completed(0.5)
        yield op


def test_searcher__wants_each_operation_completed(cluster):
    cluster.config["searcher"]["max_length"] = 1
    cluster.write()
    with (
        core.init() as core_context,
        pytest.warns(FutureWarning),
        pytest.raises(RuntimeError, match="report_completed"),
    ):
        for _ in core_context.searcher.operations():
            pass


HALVING = {"name": "async_halving", "metric": "accuracy", "num_rungs": 3, "max_trials": 9, "max_length": {"epochs": 9}}


def test_searcher__of_a_search_that_halves_asks_the_master_for_each_operation(cluster):
    cluster.config["searcher"] = HALVING
    cluster.master.operations = [1, 3]
    cluster.write()
    with core.init() as core_context:
        assert core_context.searcher.get_configured_units() == core.Unit.EPOCHS
        lengths = [op.length for op in _completed(core_context.searcher.operations())]
    assert lengths == [1, 3]
    assert cluster.master.searcher_metrics == [0.5, 0.5]
    assert cluster.master.acknowledged, "the master knows why the program leaves"


@pytest.mark.parametrize("change", [{"max_time": 9, "time_metric": "epochs"}, {"name": "random"}])
def test_searcher__asks_the_master_only_where_it_hands_out_operations(cluster, change):
    cluster.config["searcher"] = {**HALVING, **change}
    cluster.write()
    with core.init() as core_context, pytest.warns(FutureWarning):
        assert [op.length for op in _completed(core_context.searcher.operations())] == [9]
    assert "GetCurrentTrialSearcherOperation" not in cluster.master.rpcs()


def test_searcher__wants_each_operation_of_the_master_completed(cluster):
    cluster.config["searcher"] = HALVING
    cluster.master.operations = [1]
    cluster.write()
    with core.init() as core_context, pytest.raises(RuntimeError, match="report_completed"):
        list(core_context.searcher.operations())


def test_searcher__tells_of_a_metric_that_is_no_number(cluster):
    cluster.config["searcher"] = HALVING
    cluster.master.operations = [1]
    cluster.write()
    with core.init() as core_context:
        for op in core_context.searcher.operations():
            op.report_completed(float("nan"))
    assert cluster.master.searcher_metrics == ["NaN"]


def test_searcher__without_a_length_says_what_is_missing(cluster):
    with core.init() as core_context, pytest.raises(ValueError, match=r"searcher\.max_length"):
        core_context.searcher.operations()


def test_init__of_several_slots_needs_a_distributed_context(cluster):
    cluster.write(slot_ids=[0, 1])
    with pytest.raises(ValueError, match="2 slots"):
        core.init()


def test_profiler__reports_all_groups_of_this_machine(cluster):
    with core.init() as core_context:
        core_context.profiler.on(sampling_interval=0.1, samples_per_report=2)
        with pytest.raises(RuntimeError, match="on already"):
            core_context.profiler.on()
        wait_for("a report of the network", lambda: cluster.master.reports("network"))
        core_context.profiler.off()
    groups = {g: cluster.master.reports(g)[0][1]["an-agent"] for g in ("cpu", "memory", "disk", "network")}
    assert 0 <= groups["cpu"]["cpu_util_simple"] <= 100
    assert groups["memory"]["memory_free"] > 0
    assert 0 < groups["disk"]["/"]["disk_util"] <= 100
    assert groups["network"]["net_throughput_sent"] >= 0
    assert all("reportTime" in m["metrics"] and "stepsCompleted" not in m["metrics"] for m in cluster.master.metrics)


def test_profiler__asks_the_agent_where_there_is_one(cluster):
    request = cluster.run_dir / "profiling" / "request"
    request.parent.mkdir()
    with core.init() as core_context:
        core_context.profiler.on(sampling_interval=0.25, samples_per_report=4)
        assert request.read_text() == "250 4\n"
        core_context.profiler.off()
        assert not request.exists()
        core_context.profiler.on()
        assert request.read_text() == "1000 10\n"
    assert not request.exists()
    assert cluster.master.metrics == []


def test_profiler__is_stopped_by_the_end_of_the_context(cluster):
    with core.init() as core_context:
        core_context.profiler.on(sampling_interval=0.1)
    count = len(cluster.master.metrics)
    time.sleep(0.3)  # three samples, if it went on
    assert len(cluster.master.metrics) == count


def test_tensorboard_files__are_mirrored_into_storage(cluster, monkeypatch, tmp_path):
    with core.init() as core_context:
        path = core_context.train.get_tensorboard_path()
        (path / "events.1").write_text("1")
        with pytest.raises(RuntimeError, match="MANUAL"):
            core_context.train.upload_tensorboard_files()
    mirror = cluster.storage / "the-cluster/tensorboard/experiment/7/trial/11"
    assert (mirror / "events.1").read_text() == "1"
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        (path / "trace").write_text("2")
        (path / "no").write_text("3")
        core_context.train.upload_tensorboard_files(
            lambda p: p.name != "no", lambda p, rank: p.with_name(f"{p.name}#{rank}")
        )
    assert sorted(p.name for p in mirror.iterdir()) == ["events.1", "events.1#0", "trace#0"]


def test_tensorboard_files__that_cannot_be_stored_are_tried_again(cluster, monkeypatch, caplog):
    attempts = []
    put_file = _storage.DirectoryStorage.put_file

    def failing_once(storage, source, name):
        attempts.append(name)
        if len(attempts) == 1:
            raise OSError("the network is down")
        put_file(storage, source, name)

    monkeypatch.setattr(_storage.DirectoryStorage, "put_file", failing_once)
    with core.init() as core_context:
        (core_context.train.get_tensorboard_path() / "events.1").write_text("1")
        core_context.train.report_training_metrics(1, {"loss": 1.0})
    mine = [name for name in attempts if name.endswith("events.1")]  # beside what is drawn of the report
    assert mine == ["the-cluster/tensorboard/experiment/7/trial/11/events.1"] * 2
    assert "events.1 could not be stored: the network is down" in caplog.text
    assert (cluster.storage / attempts[0]).read_text() == "1"


@pytest.mark.parametrize(
    ("name", "stored_as"),
    [
        ("events.out.tfevents.17.host.1.0", "events.out.tfevents.17.host.1.0"),
        ("a/host.1619499959628.pt.trace.json", "a/host#2.1619499959628.pt.trace.json"),
        ("a/host.pt.trace.json.gz", "a/host#2.pt.trace.json.gz"),
        ("a/host.trace.json.gz", "a/host#2.trace.json.gz"),
        ("a/host.input_pipeline.pb", "a/host#2.input_pipeline.pb"),
        ("saved_model.pb", "saved_model.pb"),
    ],
)
def test_tensorboard_files__of_profilers_are_named_by_rank(name, stored_as):
    assert _tensorboard.with_rank(pathlib.Path(name), 2).as_posix() == stored_as


def test_alert__fires_the_custom_webhooks(cluster):
    with core.init() as core_context:
        core_context.alert("title", level="warn")
        with pytest.raises(ValueError, match="level 'shout'"):
            core_context.alert(level="shout")
    assert cluster.master.bodies("PostWebhookEventData") == [
        {
            "data": {"title": "title", "description": "", "level": "LOG_LEVEL_WARNING"},
            "experimentId": 7,
            "trialId": 11,
        }
    ]


def test_other_task__has_checkpoints_but_no_trial(cluster, tmp_path):
    (cluster.run_dir / "info" / "trial.json").unlink()
    cluster.write(task_type="COMMAND")
    with core.init(checkpoint_storage=str(tmp_path / "d")) as core_context:
        core_context.train.report_training_metrics(1, {"loss": 1})
        with core_context.checkpoint.store_path() as (path, _):
            assert path.parent == tmp_path / "d"
        assert not core_context.preempt.should_preempt()
    assert cluster.master.rpcs() == []


def test_off_the_cluster__everything_works_locally(tmp_path):
    with core.init() as core_context:
        core_context.train.set_status("x")
        core_context.train.report_progress(0.5)
        core_context.train.report_metrics("g", 1, {"a": math.nan})
        core_context.train.report_early_exit(core.EarlyExitReason.INVALID_HP)
        assert core_context.train.get_experiment_best_validation() is None
        assert core_context.train.set_metadata({"a": 1}) == core_context.train.get_metadata() == {"a": 1}
        with core_context.checkpoint.store_path({"steps_completed": 1}) as (path, storage_id):
            (path / "x").write_text("1")
        assert path.parent == tmp_path / "home" / "determined"
        assert core_context.checkpoint.get_metadata(storage_id) == {"steps_completed": 1}
        core_context.profiler.on()
        with pytest.warns(FutureWarning):
            for op in core_context.searcher.operations():
                op.report_completed(1.0)
        with pytest.raises(ValueError, match="on a cluster"):
            core_context.alert()
    assert core_context.info is None


def test_sigusr1__prints_the_stacks_and_goes_on(tmp_path):
    code = "import os, signal; from determined import core; core.init(); os.kill(os.getpid(), signal.SIGUSR1); print(1)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert result.stdout == "1\n" and "most recent call first" in result.stderr


ROOT = pathlib.Path(__file__).parents[1]
