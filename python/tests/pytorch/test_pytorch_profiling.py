"""Timings, the range of batches to be profiled, and PyTorch's own profiler."""

import json

import pytest
import torch
from trials import BATCH_SIZE, NoisyTrial

from determined import core, pytorch
from determined._training import _timings
from determined._training._plan import Profiling
from determined._training._timings import Timings
from determined.exec import harness
from determined.pytorch._backend import latest_exchange


@pytest.fixture
def sampling(monkeypatch):
    """At which batch system metrics were switched on and off."""
    switched = []
    monkeypatch.setattr(core.ProfilerContext, "on", lambda self: switched.append("on"))
    monkeypatch.setattr(core.ProfilerContext, "off", lambda self: switched.append("off"))
    return switched


def fit(trial_class=NoisyTrial, configure=None, **arguments):
    with pytorch.init() as context:
        trial = trial_class(context)
        trainer = pytorch.Trainer(trial, context)
        if configure is not None:
            trainer.configure_profiler(**configure)
        trainer.fit(**{"max_length": pytorch.Batch(12), "checkpoint_policy": "none", **arguments})
    return trial


def timings(cluster):
    return cluster.master.reports("timings")


def test_timings__are_reported_with_the_training_metrics(cluster, sampling):
    fit(profiling_enabled=True, reporting_period=pytorch.Batch(5))
    assert [step for step, _ in timings(cluster)] == [5, 10, 12]
    for _, metrics in timings(cluster):
        assert set(metrics) == {*_timings.NAMES, "samples_per_second"}
        assert metrics["train_batch"] > 0 and metrics["dataloader_next"] > 0 and metrics["samples_per_second"] > 0
    assert sampling[:2] == ["on", "off"]


def test_timings__are_not_taken_unless_asked_for(cluster, sampling):
    fit()
    assert timings(cluster) == [] and "on" not in sampling


@pytest.mark.parametrize(
    ("begin", "end", "steps"), [(0, None, [4, 8, 12]), (4, 7, [8]), (3, 4, [4, 8]), (11, None, [12]), (12, None, [])]
)
def test_profiling__goes_from_begin_on_batch_to_end_after_batch(cluster, sampling, begin, end, steps):
    configure = {"enabled": True, "begin_on_batch": begin, "end_after_batch": end}
    fit(configure=configure, reporting_period=pytorch.Batch(4))
    assert [step for step, _ in timings(cluster)] == steps
    assert sampling.count("on") == (1 if steps else 0)


def test_profiling__that_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="begin_on_batch=5, end_after_batch=4: not a range"):
        fit(configure={"enabled": True, "begin_on_batch": 5, "end_after_batch": 4})


def test_configuration__says_what_is_profiled(cluster, sampling, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cluster.config.update(
        {
            "profiling": {"enabled": True, "begin_on_batch": 4, "end_after_batch": 5, "sync_timings": False},
            "scheduling_unit": 4,
        }
    )
    cluster.config["searcher"]["max_length"] = {"batches": 12}
    cluster.write()
    assert harness.main(["trials:PlainTrial"]) == 0
    assert [step for step, _ in timings(cluster)] == [8]


class Clock:
    """Passes only when told."""

    def __init__(self, monkeypatch):
        self.now_s = 100.0
        monkeypatch.setattr(_timings.time, "perf_counter", lambda: self.now_s)
        monkeypatch.setattr(_timings.time, "monotonic", lambda: self.now_s)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def train(measured, clock, batches, data_s, train_s, first=0):
    measured.training(True)
    for batch_idx in range(first, first + batches):
        measured.batch_begins(batch_idx)
        with measured.waiting_for_data():
            clock.now_s += data_s
        with measured.measure("train_batch"):
            clock.now_s += train_s
        measured.batch_ends(8)
    measured.training(False)


def test_timings__are_seconds_per_batch(clock):
    measured = Timings(Profiling(enabled=True))
    train(measured, clock, 4, data_s=1.0, train_s=3.0)
    assert measured.take() == {**dict.fromkeys(_timings.NAMES, 0.0), "dataloader_next": 1.0, "train_batch": 3.0} | {
        "samples_per_second": 2.0
    }
    assert measured.take() == {}


def test_timings__end_after_five_minutes(clock):
    measured = Timings(Profiling(enabled=True))
    train(measured, clock, 2, data_s=0.0, train_s=200.0)
    assert measured.active and measured.take()["train_batch"] == 200.0
    train(measured, clock, 2, data_s=0.0, train_s=1.0, first=2)
    assert not measured.active and measured.take() == {}


DATA = "training is data-bound; more num_workers"
EXCHANGE = "training is communication-bound"
COMPUTATIONS = "training is bound by its computations"


@pytest.mark.parametrize(
    ("data_s", "exchange_s", "words"),
    [
        (3.0, None, f"75% of 8.0 s of training went into waiting for data: {DATA}"),
        (0.0, None, f"0% of 2.0 s of training went into waiting for data: {COMPUTATIONS}"),
        (
            0.25,
            0.5,
            f"20% of 2.5 s of training went into waiting for data, 40% into the exchange of gradients: {EXCHANGE}",
        ),
        (0.25, 0.125, f", 10% into the exchange of gradients: {COMPUTATIONS}"),
        (1.0, 0.5, f", 25% into the exchange of gradients: {DATA}"),
    ],
)
def test_verdict__says_what_training_waits_for(clock, data_s, exchange_s, words):
    measured = Timings(Profiling())
    train(measured, clock, 2, data_s=data_s, train_s=1.0)
    clock.now_s += 50  # validation does not count
    if exchange_s is not None:
        measured.exchanged(2, exchange_s)
    assert words in _timings.verdict([measured.spent()])


def test_verdict__goes_by_a_typical_exchange_not_by_the_first(clock):
    measured = Timings(Profiling())
    train(measured, clock, 100, data_s=0.0, train_s=1.0)
    for number, seconds in [(1, 50.0), (2, 0.1), (2, 0.1), (3, 30.0), (100, 0.1)]:
        measured.exchanged(number, seconds)
    assert measured.spent().exchange == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("of_all", "words"),
    [
        ([(0.0, 0.5), (0.0, 0.4)], f"40% into the exchange of gradients: {EXCHANGE}"),
        ([(0.0, 0.9), (0.0, 0.1)], "80% of a process's time is waiting for slower ones"),
        (
            [(0.0, 0.6), (0.6, 0.0)],
            f"60% of 8.0 s of training went into waiting for data, 0% into the exchange of gradients: {DATA}",
        ),
        ([(0.0, 0.1), (0.0, 0.1)], COMPUTATIONS),
        ([(0.5, None), (0.0, None)], f"50% of 8.0 s of training went into waiting for data: {DATA}"),
        ([(0.1, None), (0.1, None)], "waiting for data; what the processes' exchange took is not measured"),
    ],
)
def test_verdict__of_several_processes_is_of_all_or_is_not_given(of_all, words):
    verdict = _timings.verdict([_timings.Spent(8.0, data, exchange) for data, exchange in of_all])
    assert verdict.endswith(words) or words in verdict
    assert ("bound" in verdict) == ("bound" in words)


def test_verdict__does_not_judge_exchanges_of_horovod_and_deepspeed_which_nobody_measures(clock):
    model = torch.nn.Linear(1, 1)  # as these two train it: only DistributedDataParallel measures
    assert latest_exchange([model]) is None
    of_all = []
    for _ in range(2):
        measured = Timings(Profiling())
        train(measured, clock, 4, data_s=0.0, train_s=0.25)
        of_all.append(measured.spent())
    assert _timings.verdict(of_all).endswith("; what the processes' exchange took is not measured")


def test_verdict__is_a_line_of_the_log(cluster, caplog):
    caplog.set_level("INFO")
    fit()
    (line,) = [r.getMessage() for r in caplog.records if "went into waiting for data" in r.getMessage()]
    assert "bound" in line


def test_verdict__of_no_training_is_none():
    assert _timings.verdict([Timings(Profiling()).spent()]) is None


def test_pytorchs_profiler__follows_its_schedule_and_leaves_its_trace(cluster, tmp_path):
    class Profiled(NoisyTrial):
        def __init__(self, context):
            super().__init__(context)
            context.set_profiler(
                activities=[torch.profiler.ProfilerActivity.CPU],
                schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
            )
            self.path = context.get_tensorboard_path()

    trial = fit(Profiled)
    (trace,) = trial.path.rglob("*.pt.trace.json")
    events = {e.get("name") for e in json.loads(trace.read_text())["traceEvents"]}
    steps = {name for name in events if str(name).startswith("ProfilerStep#")}
    assert steps == {"ProfilerStep#2", "ProfilerStep#3"}, "the third and the fourth batch"


def test_batches__of_unknown_length_are_timed_all_the_same(cluster, sampling, caplog):
    class Unknown(NoisyTrial):
        def get_batch_length(self, batch):
            raise TypeError("how long?")

    fit(Unknown, profiling_enabled=True)
    assert "samples_per_second" not in timings(cluster)[0][1] and timings(cluster)[0][1]["train_batch"] > 0
    assert caplog.text.count("samples_per_second is not measured: how long?") == 1


def test_batches__of_an_odd_form_need_a_length_only_to_be_profiled(cluster, sampling):
    class Odd(NoisyTrial):
        def get_batch_length(self, batch):
            self.asked = getattr(self, "asked", 0) + 1
            return BATCH_SIZE

    assert not hasattr(fit(Odd), "asked")
    cluster.write(trial_run_id=2)
    assert fit(Odd, profiling_enabled=True).asked == 12
