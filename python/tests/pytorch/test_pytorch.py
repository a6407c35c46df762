"""The training loop: what happens when, and that it goes on exactly where it stopped."""

import json
import logging
import multiprocessing
import random

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler, WeightedRandomSampler
from trials import BATCH_SIZE, EPOCH, RECORDS, NoisyTrial

import determined as det
from determined import core, errors, pytorch
from determined.pytorch._reducer import average, reduce_validation


def fit(trial_class=NoisyTrial, aggregation_frequency=1, hparams=None, **arguments):
    """Train on the cluster that the test made, or off it; returns the trial."""
    with pytorch.init(hparams=hparams, aggregation_frequency=aggregation_frequency) as context:
        trial = trial_class(context)
        arguments.setdefault("max_length", pytorch.Batch(12))
        arguments.setdefault("checkpoint_policy", "none")
        pytorch.Trainer(trial, context).fit(**arguments)
    return trial


def steps(cluster, group):
    return [step for step, _ in cluster.master.reports(group)]


def checkpoint_steps(cluster):
    return [c["metadata"]["steps_completed"] for c in cluster.master.checkpoints.values()]


# Resuming


@pytest.mark.parametrize("stop_after", [1, 5, 7, 10])
def test_training__that_stopped_goes_on_as_if_it_had_not(cluster, stop_after):
    whole = fit()

    class Stopping(NoisyTrial):
        pass

    Stopping.stop_after = stop_after
    cluster.write(trial_run_id=2)
    first = fit(Stopping)
    uuid = list(cluster.master.checkpoints)[-1]
    assert cluster.master.checkpoints[uuid]["metadata"]["steps_completed"] == stop_after
    cluster.write(latest_checkpoint=uuid, steps_completed=stop_after, trial_run_id=3)
    torch.rand(100)
    second = fit(latest_checkpoint=uuid)
    assert first.seen + second.seen == whole.seen
    assert second.weights() == whole.weights()
    assert second.scheduler.get_last_lr() == whole.scheduler.get_last_lr()
    assert second.recorder.batches == whole.recorder.batches == 12


class Augmented(torch.utils.data.Dataset):
    """Records that every generator has a part in."""

    def __len__(self):
        return RECORDS

    def __getitem__(self, index):
        noise = 0.1 * (torch.rand(3) + float(np.random.rand()) + random.random())
        return index, noise + index / RECORDS


class WithWorkers(NoisyTrial):
    def build_training_data_loader(self):
        return pytorch.DataLoader(Augmented(), batch_size=BATCH_SIZE, shuffle=True, num_workers=2)


class PersistentWorkers(NoisyTrial):
    def build_training_data_loader(self):
        sampler = RandomSampler(Augmented())
        return pytorch.DataLoader(
            Augmented(), batch_size=BATCH_SIZE, sampler=sampler, num_workers=1, persistent_workers=True
        )


class OwnBatchSampler(NoisyTrial):
    """Draws batches as it goes, from the generators that training draws from."""

    def build_training_data_loader(self):
        sampler = WeightedRandomSampler([1.0] * RECORDS, RECORDS)
        return pytorch.DataLoader(Augmented(), batch_sampler=BatchSampler(sampler, BATCH_SIZE, drop_last=True))


class Drawing(BatchSampler):
    def __init__(self):
        pass

    def __len__(self):
        return EPOCH

    def __iter__(self):
        for _ in range(EPOCH):
            yield [random.randrange(RECORDS), int(np.random.randint(RECORDS)), int(torch.randint(RECORDS, ()))]


class DrawnBatches(NoisyTrial):
    def build_training_data_loader(self):
        return pytorch.DataLoader(Augmented(), batch_sampler=Drawing())


@pytest.mark.parametrize("trial_class", [WithWorkers, PersistentWorkers, OwnBatchSampler, DrawnBatches])
def test_training__with_random_data_goes_on_as_if_it_had_not_stopped(cluster, trial_class):
    """Stopped in the middle of the first epoch, at its end, and in the middle of the third."""
    whole = fit(trial_class)
    seen, uuid = [], None
    for run, stop_after in enumerate([2, EPOCH, 11, 0], 2):
        cluster.write(latest_checkpoint=uuid, trial_run_id=run)
        part = fit(type("Stopping", (trial_class,), {"stop_after": stop_after}), latest_checkpoint=uuid)
        seen += part.seen
        uuid = list(cluster.master.checkpoints)[-1]
        torch.rand(7), np.random.rand(7), random.random()
    assert seen == whole.seen
    assert part.weights() == whole.weights()


def test_training__repeats_itself_for_the_same_seed_only(cluster):
    def weights(run_id, **trial):
        cluster.write(trial_run_id=run_id, **trial)
        return fit().weights()

    assert weights(1) == weights(2) != weights(3, trial_seed=1)


def test_training__off_the_cluster_resumes_as_well(tmp_path):
    class Stopping(NoisyTrial):
        stop_after = 7

    torch.manual_seed(1)
    fit(Stopping)
    (uuid,) = (p.name for p in (tmp_path / "home" / "determined").iterdir())
    torch.manual_seed(1)
    second = fit(latest_checkpoint=uuid)
    assert len(second.seen) == 5 and second.recorder.events[0] == ("on_trial_startup", 7, uuid)


def test_checkpoint_of_another_trial__gives_weights_but_counts_anew(cluster):
    first = fit(max_length=pytorch.Batch(3))
    (uuid,) = cluster.master.checkpoints
    cluster.write(trial_id=12, latest_checkpoint=uuid)

    class Untrained(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            self.first_weights = getattr(self, "first_weights", self.weights())
            return super().train_batch(batch, epoch_idx, batch_idx)

    second = fit(Untrained, latest_checkpoint=uuid)
    assert second.first_weights == first.weights() and len(second.seen) == 12


def test_resumed_training__does_not_repeat_a_validation_that_the_master_knows(cluster):
    fit(max_length=pytorch.Batch(3))
    (uuid,) = cluster.master.checkpoints
    cluster.write(latest_checkpoint=uuid, steps_completed=3)
    cluster.master.last_validation = 3
    fit(max_length=pytorch.Batch(3), latest_checkpoint=uuid)
    assert steps(cluster, "validation") == [3]


def test_worker_processes__of_the_loader_change_nothing(cluster):
    class Workers(NoisyTrial):
        def build_training_data_loader(self):
            plain = super().build_training_data_loader()
            return pytorch.DataLoader(plain.dataset, batch_size=BATCH_SIZE, shuffle=True, num_workers=2)

    plain = fit()
    cluster.write(trial_run_id=2)
    assert fit(Workers).seen == plain.seen
    assert multiprocessing.active_children() == []


def test_missing_checkpoint__is_named(cluster):
    with pytest.raises(errors.CheckpointNotFound, match="no-such-checkpoint"):
        fit(latest_checkpoint="no-such-checkpoint")


# When things happen


@pytest.mark.parametrize(
    ("arguments", "training", "validation", "checkpoints"),
    [
        ({"max_length": pytorch.Batch(7)}, [7], [7], [7]),
        ({"max_length": pytorch.Epoch(2)}, [10], [10], [10]),
        ({"reporting_period": pytorch.Batch(5)}, [5, 10, 12], [12], [12]),
        ({"validation_period": pytorch.Epoch(1)}, [5, 10, 12], [5, 10, 12], [12]),
        ({"checkpoint_period": pytorch.Batch([2, 3])}, [2, 3, 12], [12], [2, 3, 12]),
        ({"validation_period": pytorch.Batch(6), "checkpoint_policy": "all"}, [6, 12], [6, 12], [6, 12]),
        ({"validation_period": pytorch.Batch(6), "checkpoint_period": pytorch.Batch(6)}, [6, 12], [6, 12], [6, 12]),
        ({"max_length": pytorch.Batch(2), "step_zero_validation": True}, [2], [0, 2], [2]),
    ],
)
def test_fit__reports_validates_and_saves_when_due(cluster, arguments, training, validation, checkpoints):
    fit(**arguments)
    assert steps(cluster, "training") == training
    assert steps(cluster, "validation") == validation
    assert checkpoint_steps(cluster) == checkpoints


def test_fit__takes_its_length_from_the_configuration(cluster):
    cluster.config["searcher"]["max_length"] = {"records": 9 * BATCH_SIZE}
    cluster.config["hyperparameters"] = {"global_batch_size": BATCH_SIZE}
    cluster.write()
    assert len(fit(max_length=None).seen) == 9


def test_fit__trains_from_operation_to_operation_where_the_searcher_hands_them_out(cluster):
    cluster.config["searcher"] = {
        **cluster.config["searcher"],
        "name": "async_halving",
        "num_rungs": 2,
        "max_trials": 4,
        "max_length": {"batches": 9},
    }
    cluster.master.operations = [3]
    cluster.write()
    assert len(fit(max_length=None).seen) == 3
    assert (steps(cluster, "validation"), checkpoint_steps(cluster)) == ([3], [3])
    first = cluster.master.searcher_metrics
    assert first == [cluster.master.reports("validation")[0][1]["accuracy"]]
    assert cluster.master.bodies("ReportTrialProgress")[-1]["progress"] == pytest.approx(3 / 9)
    # Promoted later: it goes on from where it was, in a new run.
    (uuid,) = cluster.master.checkpoints
    cluster.master.operations = [9]
    cluster.master.last_validation = 3
    cluster.write(latest_checkpoint=uuid, trial_run_id=2)
    assert len(fit(max_length=None, latest_checkpoint=uuid).seen) == 6
    assert steps(cluster, "validation") == [3, 9]


def test_fit__measures_again_what_an_earlier_run_did_not_come_to_report(cluster):
    cluster.config["searcher"].update(name="async_halving", num_rungs=2, max_trials=4, max_length={"batches": 9})
    cluster.master.operations = [3]
    cluster.write()
    fit(max_length=None)
    (uuid,) = cluster.master.checkpoints
    cluster.master.operations = [3]
    cluster.master.last_validation = 3
    cluster.write(latest_checkpoint=uuid, trial_run_id=2)
    assert fit(max_length=None, latest_checkpoint=uuid).seen == []
    first, again = cluster.master.searcher_metrics
    assert first == again
    assert steps(cluster, "validation") == [3], "it is not reported twice"


def test_metrics__are_averages_with_the_position(cluster):
    fit(max_length=pytorch.Batch(4), reporting_period=pytorch.Batch(2))
    (report, _) = cluster.master.metrics[:2]
    values = report["metrics"]["metrics"]
    assert values["avgMetrics"]["loss"] == pytest.approx(np.mean([b["loss"] for b in values["batchMetrics"]]))
    assert (values["avgMetrics"]["batches"], values["avgMetrics"]["epochs"]) == (2, 0)
    assert len(values["batchMetrics"]) == 2
    assert cluster.master.reports("validation")[0][1]["batches"] == 4


def test_progress__is_reported_in_parts_of_the_whole(cluster):
    fit(reporting_period=pytorch.Batch(6))
    assert [b["progress"] for b in cluster.master.bodies("ReportTrialProgress")] == [0.5, 1.0]


def test_status__tells_what_is_going_on(cluster):
    fit()
    assert [b["state"] for b in cluster.master.bodies("PostTrialRunnerMetadata")] == [
        "training",
        "validating",
        "checkpointing",
    ]


@pytest.mark.parametrize(
    ("best", "smaller_is_better", "saved"),
    [(None, False, True), (0.0, False, True), (1.0, False, False), (0.0, True, False), (1.0, True, True)],
)
def test_policy_best__saves_when_the_searchers_metric_is_better_than_ever(cluster, best, smaller_is_better, saved):
    cluster.config["searcher"]["smaller_is_better"] = smaller_is_better
    cluster.write()
    cluster.master.best_validation = best
    fit(validation_period=pytorch.Batch(5), max_length=pytorch.Batch(6), checkpoint_policy="best")
    assert (5 in checkpoint_steps(cluster)) == saved


def test_policy_best__needs_the_searchers_metric(cluster):
    cluster.config["searcher"]["metric"] = "f1"
    cluster.write()
    with pytest.raises(errors.InvalidExperimentException, match="'f1', but validation reports only accuracy, batches"):
        fit(checkpoint_policy="best")


def test_preemption__saves_and_ends(cluster):
    class Preempted(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            if batch_idx == 3:
                cluster.master.ask_to_preempt()
                while not self.context._core.preempt.should_preempt():
                    pass
            return super().train_batch(batch, epoch_idx, batch_idx)

    trial = fit(Preempted)
    assert len(trial.seen) == 4 and checkpoint_steps(cluster) == [4] and steps(cluster, "training") == [4]
    assert steps(cluster, "validation") == [] and cluster.master.acknowledged


def test_stop_of_the_search__ends_the_trial_where_it_validated(cluster):
    cluster.master.stops_at_validation = 4
    trial = fit(max_length=pytorch.Batch(12), validation_period=pytorch.Batch(2))
    assert len(trial.seen) == 4 and steps(cluster, "validation") == [2, 4] and checkpoint_steps(cluster)[-1] == 4
    assert cluster.master.acknowledged


def test_invalid_hp__in_the_middle_saves_reports_and_ends_with_0(cluster):
    class Invalid(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            if batch_idx == 2:
                raise det.InvalidHP("no")
            return super().train_batch(batch, epoch_idx, batch_idx)

    with pytest.raises(SystemExit) as e:
        fit(Invalid)
    assert e.value.code == 0 and checkpoint_steps(cluster) == [2]
    assert cluster.master.bodies("ReportTrialSearcherEarlyExit") == [{"reason": "EXITED_REASON_INVALID_HP"}]


def test_callbacks__are_called_in_order(cluster):
    events = fit(max_length=pytorch.Batch(EPOCH)).recorder.events
    assert events == [
        ("on_trial_startup", 0, None),
        "on_training_start",
        ("on_training_epoch_start", 0),
        ("on_training_epoch_end", 0),
        "on_training_workload_end",
        "on_validation_start",
        ("on_validation_epoch_start",),
        ("on_validation_epoch_end", events[7][1]),
        "on_validation_end",
        "on_checkpoint_save_start",
        "on_checkpoint_end",
        "on_checkpoint_write_end",
        "on_checkpoint_upload_end",
        "on_trial_shutdown",
    ]
    assert len(events[7][1]) == 2


def test_shutdown_callback__is_called_whatever_happens(cluster):
    class Failing(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            raise ZeroDivisionError

        def build_callbacks(self):
            Failing.recorder_of_last = self.recorder
            return super().build_callbacks()

    with pytest.raises(ZeroDivisionError):
        fit(Failing)
    assert Failing.recorder_of_last.events[-1] == "on_trial_shutdown"


def test_test_mode__trains_and_validates_one_batch():
    trial = fit(test_mode=True)
    assert len(trial.seen) == 1
    assert len(next(e for e in trial.recorder.events if e[0] == "on_validation_epoch_end")[1]) == 1


def test_profiling__is_switched_on_and_off(cluster, monkeypatch):
    calls = []
    monkeypatch.setattr(core.ProfilerContext, "on", lambda self: calls.append("on"))
    monkeypatch.setattr(core.ProfilerContext, "off", lambda self: calls.append("off"))
    fit(profiling_enabled=True)
    assert calls[:2] == ["on", "off"]


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_length": None}, ValueError, "fit.. needs max_length"),
        ({"max_length": 5}, TypeError, "not 5"),
        ({"max_length": pytorch.Batch([1, 2])}, TypeError, r"not Batch\(\[1, 2\]\)"),
        ({"checkpoint_policy": "sometimes"}, ValueError, "sometimes"),
    ],
)
def test_fit__refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        fit(**arguments)


def test_test_mode__is_for_off_the_cluster(cluster):
    with pytest.raises(ValueError, match="test_mode"):
        fit(test_mode=True)


def without(name):
    return type("Lacking", (NoisyTrial,), {name: getattr(pytorch.PyTorchTrial, name)})


class Both(NoisyTrial):
    def evaluate_full_dataset(self, data_loader):
        return {}


class NoModel(NoisyTrial):
    def __init__(self, context):
        super().__init__(context)
        context.models.clear()


class NoOptimizer(NoisyTrial):
    def __init__(self, context):
        super().__init__(context)
        context.optimizers.clear()


class TorchLoader(NoisyTrial):
    def build_training_data_loader(self):
        return super().build_training_data_loader().get_data_loader()


class EmptyTraining(NoisyTrial):
    def build_training_data_loader(self):
        return pytorch.DataLoader([])


class EmptyValidation(NoisyTrial):
    def build_validation_data_loader(self):
        return pytorch.DataLoader([])


class ChangingMetrics(NoisyTrial):
    def evaluate_batch(self, batch, batch_idx):
        return {f"metric{batch_idx}": 1.0}


@pytest.mark.parametrize(
    ("trial_class", "error", "message"),
    [
        (without("evaluate_batch"), errors.InvalidExperimentException, "not both and not neither"),
        (Both, errors.InvalidExperimentException, "not both and not neither"),
        (NoModel, errors.InvalidExperimentException, "wraps no model"),
        (NoOptimizer, errors.InvalidExperimentException, "wraps no optimizer"),
        (TorchLoader, RuntimeError, "det.pytorch.DataLoader"),
        (EmptyTraining, errors.InvalidExperimentException, "without any batch"),
        (EmptyValidation, errors.InvalidExperimentException, "validation data loader is empty"),
        (ChangingMetrics, ValueError, "same metrics for each batch"),
    ],
)
def test_trial__with_a_mistake_is_told(trial_class, error, message):
    with pytest.raises(error, match=message):
        fit(trial_class)


def test_evaluate_batch__may_be_of_the_old_form_without_an_index(cluster):
    class Old(NoisyTrial):
        def evaluate_batch(self, batch):
            return {"accuracy": float(len(batch))}

    fit(Old)
    assert cluster.master.reports("validation")[0][1]["accuracy"] == 3.0


def test_fit__warns_of_a_checkpoint_that_it_was_not_given(cluster, caplog):
    cluster.write(latest_checkpoint="abc")
    fit()
    assert "starts from checkpoint abc, but fit() was not given latest_checkpoint" in caplog.text


def test_torch_loader__is_accepted_when_checks_are_off():
    class Allowed(TorchLoader):
        def __init__(self, context):
            super().__init__(context)
            context.experimental.disable_dataset_reproducibility_checks()

    assert len(fit(Allowed).seen) == 12  # more than the loader's five


@pytest.mark.parametrize(
    ("records", "size", "length"), [(2 * BATCH_SIZE, BATCH_SIZE, 6), (10, BATCH_SIZE, 7), (1, BATCH_SIZE, 1)]
)
def test_records_per_epoch__say_how_long_the_epochs_of_the_configuration_are(cluster, records, size, length):
    cluster.config.update(records_per_epoch=records, hyperparameters={"global_batch_size": size})
    cluster.config["searcher"]["max_length"] = {"epochs": 3}
    cluster.write()
    trial = fit(max_length=None)
    assert len(trial.seen) == length
    # What the trial is told, and what its callbacks see, are passes through its data.
    started = [event[1] for event in trial.recorder.events if event[0] == "on_training_epoch_start"]
    assert started == list(range(-(-length // EPOCH)))


def test_records_per_epoch__count_for_operations_of_a_search(cluster):
    cluster.config.update(records_per_epoch=3 * BATCH_SIZE, hyperparameters={"global_batch_size": BATCH_SIZE})
    cluster.config["searcher"].update(name="async_halving", num_rungs=2, max_trials=4, max_length={"epochs": 3})
    cluster.master.operations = [1]
    cluster.write()
    assert len(fit(max_length=None).seen) == 3


def test_records_per_epoch__without_a_batch_size_are_a_pass_through_the_data_and_a_word(cluster, caplog):
    cluster.config.update(records_per_epoch=4)
    cluster.config["searcher"]["max_length"] = {"epochs": 2}
    cluster.write()
    assert len(fit(max_length=None).seen) == 2 * EPOCH
    assert "the hyperparameter global_batch_size is missing" in caplog.text


def test_records_per_epoch__make_epochs_of_data_without_an_end(cluster):
    class Endless(NoisyTrial):
        def __init__(self, context):
            super().__init__(context)
            context.experimental.disable_dataset_reproducibility_checks()

        def build_training_data_loader(self):
            return ((torch.zeros(BATCH_SIZE), torch.rand(BATCH_SIZE, 3)) for _ in iter(int, 1))

    cluster.config.update(records_per_epoch=2 * BATCH_SIZE, hyperparameters={"global_batch_size": BATCH_SIZE})
    cluster.write()
    trial = fit(Endless, max_length=pytorch.Epoch(3))
    started = [event[1] for event in trial.recorder.events if event[0] == "on_training_epoch_start"]
    assert len(trial.seen) == 6 and started == [0, 1, 2]


# The context


def make_context(**arguments):
    return pytorch.CheckpointLoadContext(**arguments)


def test_batch_size__comes_from_the_hyperparameter():
    context = make_context(hparams={"global_batch_size": 8, "lr": 0.1})
    assert context.get_per_slot_batch_size() == context.get_global_batch_size() == 8
    assert context.get_hparam("lr") == 0.1
    with pytest.raises(ValueError, match="no hyperparameter 'nope', only global_batch_size, lr"):
        context.get_hparam("nope")
    with pytest.raises(errors.InvalidExperimentException, match="global_batch_size must be an integer, not None"):
        make_context(hparams={}).get_per_slot_batch_size()


def test_context__off_the_cluster_says_what_is_missing():
    with pytorch.init() as context:
        for ask, message in [
            (context.get_hparams, "pass hparams"),
            (context.get_experiment_config, "pass exp_conf"),
            (context.get_trial_id, "no trial"),
            (context.get_trial_seed, "no trial seed"),
        ]:
            with pytest.raises(ValueError, match=message):
                ask()
        with pytest.raises(RuntimeError, match="training has not begun"):
            context.current_train_batch()


def test_context__on_the_cluster_knows_the_trial(cluster):
    cluster.config["data"] = {"path": "/d"}
    cluster.write(hparams={"lr": 1}, steps_completed=3)
    with pytorch.init() as context:
        assert (context.get_trial_id(), context.get_experiment_id(), context.get_trial_seed()) == (11, 7, 4711)
        assert (context.get_hparams(), context.get_data_config()) == ({"lr": 1}, {"path": "/d"})
        assert context.get_initial_batch() == 3


def test_context__knows_where_in_the_epoch_it_is():
    positions = []

    class Looking(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            c = self.context
            positions.append((c.current_train_batch(), c.current_train_epoch(), c.is_epoch_start(), c.is_epoch_end()))
            return super().train_batch(batch, epoch_idx, batch_idx)

    fit(Looking, max_length=pytorch.Batch(6))
    assert positions[0] == (0, 0, True, False) and positions[4] == (4, 0, False, True)
    assert positions[5] == (5, 1, True, False)


def test_aggregation__steps_every_so_many_batches_with_the_mean_gradient():
    stepped = []

    class Counting(NoisyTrial):
        def train_batch(self, batch, epoch_idx, batch_idx):
            before = self.weights()
            result = super().train_batch(batch, epoch_idx, batch_idx)
            stepped.append(self.weights() != before)
            return result

    trial = fit(Counting, aggregation_frequency=3, max_length=pytorch.Batch(6))
    assert stepped == [False, False, True] * 2
    assert trial.scheduler.get_last_lr() == [pytest.approx(0.05 * 0.9**6)]


def test_gradients__are_averaged_over_the_aggregated_batches():
    with pytorch.init(aggregation_frequency=2) as context:
        parameter = torch.nn.Parameter(torch.tensor([1.0]))
        optimizer = context.wrap_optimizer(torch.optim.SGD([parameter], lr=1.0))
        seen = []
        for context._current_batch_idx in range(2):
            context.backward((parameter * (2.0 + 2 * context._current_batch_idx)).sum())
            context.step_optimizer(optimizer, clip_grads=lambda ps: seen.extend(p.grad.item() for p in ps))
    assert seen == [3.0] and parameter.item() == -2.0 and parameter.grad is None


@pytest.mark.parametrize(
    ("mode", "frequency", "rate"),
    [
        ("STEP_EVERY_BATCH", 1, 12),
        ("STEP_EVERY_BATCH", 5, 2),
        ("STEP_EVERY_OPTIMIZER_STEP", 4, 3),
        ("STEP_EVERY_EPOCH", 1, 2),
        ("MANUAL_STEP", 1, 0),
    ],
)
def test_lr_scheduler__steps_when_its_mode_says(mode, frequency, rate):
    class Scheduled(NoisyTrial):
        def __init__(self, context):
            super().__init__(context)
            context.lr_schedulers.clear()
            context.wrap_lr_scheduler(self.scheduler, pytorch.LRScheduler.StepMode[mode], frequency)

    assert fit(Scheduled).scheduler.get_last_lr() == [pytest.approx(0.05 * 0.9**rate)]


def test_lr_scheduler__of_an_unknown_optimizer_is_refused():
    context = make_context()
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    with pytest.raises(ValueError, match="wrap_optimizer"):
        context.wrap_lr_scheduler(
            torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5), pytorch.LRScheduler.StepMode.MANUAL_STEP
        )


def test_reducers__add_metrics_of_their_own(cluster):
    class Reducing(NoisyTrial):
        def __init__(self, context):
            super().__init__(context)
            self.count = context.wrap_reducer(sum, name="records", for_validation=False)
            self.both = context.wrap_reducer(
                lambda values: {"low": min(values), "high": max(values)}, for_training=False
            )

        def train_batch(self, batch, epoch_idx, batch_idx):
            self.count.update(len(batch[0]))
            return super().train_batch(batch, epoch_idx, batch_idx)

        def evaluate_batch(self, batch, batch_idx):
            self.both.update(batch_idx)
            return super().evaluate_batch(batch, batch_idx)

    fit(Reducing, max_length=pytorch.Epoch(2), reporting_period=pytorch.Epoch(1))
    assert [m["records"] for _, m in cluster.master.reports("training")] == [RECORDS, RECORDS]
    (_, validation) = cluster.master.reports("validation")[0]
    assert (validation["low"], validation["high"]) == (0, 1) and "records" not in validation


class _Spread(pytorch.MetricReducer):
    """Sums of tensors, in lists: what reducers of the older releases make do with."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.sums = [0.0, 0.0]

    def update(self, values):
        self.sums[0] += sum(values)
        self.sums[1] += sum(values**2)

    def per_slot_reduce(self):
        return self.sums

    def cross_slot_reduce(self, per_slot_metrics):
        return {f"sum_{i}": sum(sums[i] for sums in per_slot_metrics) for i in range(2)}


def test_reducers__are_wrapped_where_the_older_releases_had_it(cluster):
    class Reducing(NoisyTrial):
        def __init__(self, context):
            super().__init__(context)
            self.spread = context.experimental.wrap_reducer(_Spread(), for_training=False)

        def evaluate_batch(self, batch, batch_idx):
            self.spread.update(torch.tensor([1.0, 2.0]))
            return super().evaluate_batch(batch, batch_idx)

    fit(Reducing, max_length=pytorch.Epoch(1))
    (_, validation) = cluster.master.reports("validation")[0]
    assert (validation["sum_0"], validation["sum_1"]) == (6.0, 10.0), "of two batches"


def test_reducers__begin_anew_where_the_older_releases_had_it():
    context = make_context()
    total = context.experimental.wrap_reducer(sum, name="total")
    total.update(5)
    context.experimental.reset_reducers()
    assert context.reduce_metrics(for_training=True) == {"total": 0}


def test_reducers__mistakes_are_told():
    context = make_context()
    reducer = context.wrap_reducer(lambda values: {"a": 1}, name="x")
    with pytest.raises(TypeError, match="wrap it without a name"):
        context.reduce_metrics(for_training=True)
    with pytest.raises(ValueError, match="before"):
        context.wrap_reducer(reducer)
    with pytest.raises(TypeError, match="not a int"):
        context.wrap_reducer(5)
    context = make_context()
    context.wrap_reducer(len)
    with pytest.raises(TypeError, match="give it a name"):
        context.reduce_metrics(for_training=True)


@pytest.mark.parametrize(
    ("reducer", "expected"),
    [
        (pytorch.Reducer.AVG, {"a": 2.0, "b": 5.0}),
        (pytorch.Reducer.SUM, {"a": 4.0, "b": 10.0}),
        ({"a": pytorch.Reducer.MIN, "b": pytorch.Reducer.MAX}, {"a": 1.0, "b": 6.0}),
    ],
)
def test_validation_metrics__are_combined_as_the_trial_says(reducer, expected):
    assert reduce_validation([{"a": 1.0, "b": 4.0}, {"a": 3.0, "b": 6.0}], reducer) == expected


def test_validation_reducers__must_fit_the_metrics():
    with pytest.raises(ValueError, match=r"names \['b'\], but evaluate_batch"):
        reduce_validation([{"a": 1}], {"b": pytorch.Reducer.AVG})


def test_training_metrics__average_numbers_and_arrays():
    assert average([{"a": np.array([1, 2]), "s": "x"}, {"a": 4.5, "s": "y"}]) == {"a": 3.0, "s": None}
    with pytest.raises(ValueError, match="train_batch"):
        average([{"a": 1}, {"b": 1}])


def test_amp__trains_with_a_scaler_that_goes_through_the_checkpoint(tmp_path):
    class Amp(NoisyTrial):
        def __init__(self, context):
            context.experimental.use_amp()
            super().__init__(context)

    torch.manual_seed(0)
    trial = fit(Amp)
    (path,) = (tmp_path / "home" / "determined").iterdir()
    checkpoint = torch.load(path / "state_dict.pth", weights_only=False)
    assert checkpoint["scaler_state_dict"]["_growth_tracker"] == 12
    assert all(np.isfinite(trial.weights()))


# Loading


def test_checkpoint__tells_which_release_of_the_library_and_which_framework_it_is_of(cluster):
    fit(checkpoint_policy="all")
    [checkpoint] = cluster.master.checkpoints.values()
    assert checkpoint["metadata"] == {
        "determined_version": det.__version__,
        "steps_completed": 12,
        "framework": f"torch-{torch.__version__}",
        "format": "pickle",
    }


def test_load_trial__builds_it_again_with_its_weights(cluster):
    cluster.write(hparams={"lr": 0.5})
    trained = fit()
    (uuid,) = cluster.master.checkpoints
    path = cluster.storage / uuid
    assert json.loads((path / "load_data.json").read_text())["trial_cls_spec"] == "trials:NoisyTrial"
    loaded = pytorch.load_trial_from_checkpoint_path(str(path))
    assert loaded.weights() == trained.weights() and type(loaded) is not NoisyTrial
    assert loaded.context.get_hparams() == {"lr": 0.5}
    assert isinstance(pytorch.load_trial_from_checkpoint_path(str(path), NoisyTrial), NoisyTrial)


def test_checkpoint__holds_the_submitted_code(cluster):
    model = cluster.run_dir / "train" / "model"
    (model / "package" / "__pycache__").mkdir(parents=True)
    (model / "package" / "code.py").write_text("1")
    fit()
    (uuid,) = cluster.master.checkpoints
    names = {n for n in cluster.master.checkpoints[uuid]["resources"] if n.startswith("code/")}
    assert names == {"code/", "code/package/", "code/package/code.py"}


def test_load_trial__of_something_else_says_so(tmp_path):
    with pytest.raises(errors.InvalidCheckpointException, match=r"no load_data\.json"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))
    (tmp_path / "load_data.json").write_text('{"trial_type": "TFKerasTrial"}')
    with pytest.raises(errors.InvalidCheckpointException, match="TFKerasTrial, not a PyTorchTrial"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))


def test_load_trial__of_a_missing_class_asks_for_it(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "load_data.json").write_text('{"trial_type": "PyTorchTrial", "trial_cls_spec": "nowhere:Trial"}')
    with pytest.raises(ValueError, match="pass it as trial_class"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))


def test_searcher_time__that_differs_from_the_length_is_warned_of(cluster, caplog):
    cluster.config["searcher"].update({"time_metric": "epochs", "max_time": 9})
    cluster.write()
    with caplog.at_level(logging.WARNING):
        fit()
    assert "searcher.max_time is 9 epochs, but training is set to last Batch(12)" in caplog.text
