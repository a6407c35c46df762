"""Training in several processes of one machine: real ones, started by torchrun, over gloo (programs/scenarios.py)."""

import json

import pytest
from scenarios import reference, run_scenarios


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return run_scenarios(tmp_path_factory, 1, "plain_8")


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    names = "plain one_metric_each summed averaged compressed compressed_bf16 normed at_once busy busy_last"
    names += " noisy noisy_paused sampled sampled_paused plain_8 sharded sharded_paused sharded_extended"
    return run_scenarios(tmp_path_factory, 2, *names.split())


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return run_scenarios(
        tmp_path_factory, 4, *"plain noisy noisy_paused plain_8 sharded sharded_paused sharded_extended".split()
    )


@pytest.mark.parametrize("size", [2, 4])
def test_gradients__are_those_of_the_joined_batch(size, request):
    told = request.getfixturevalue({2: "two", 4: "four"}[size])("plain")
    assert [t["weights"] for t in told] == [pytest.approx(reference(size), abs=1e-5)] * size
    assert len({json.dumps(t["weights"]) for t in told}) == 1


def test_verdict__reckons_with_all_that_train_batch_does(two):
    (line,), of_the_other = two("busy")
    assert line.endswith("training is bound by its computations") and of_the_other == []
    (line,), _ = two("busy_last")
    assert line.endswith("waiting for slower ones; give all of them the same work")


@pytest.mark.parametrize(("scenario", "averages"), [("summed", False), ("averaged", True)])
def test_aggregated_gradients__leave_the_process_every_nth_batch_only(two, scenario, averages):
    for t in two(scenario):
        assert t["exchanges"] == [2, 5], "batches, from 0, in which anything was exchanged"
        assert t["weights"] == pytest.approx(reference(2, aggregation=3, averages=averages), abs=1e-5)


@pytest.mark.parametrize(("scenario", "precision"), [("compressed", 1e-3), ("compressed_bf16", 1e-2)])
def test_compressed_gradients__are_less_precise_but_the_same_everywhere(two, scenario, precision):
    first, second = two(scenario)
    assert first["weights"] == second["weights"] != two("plain")[0]["weights"]
    assert first["weights"] == pytest.approx(reference(2), abs=precision)


def test_training_metrics__are_averages_of_all_processes(two):
    first, second = two("plain")
    assert first["training"] == second["training"] and len(first["training"]) == 2
    assert [m["seen"] for m in first["training"]] == [24, 24], "three batches of four in each of two processes"
    own = [t["training"][0]["losses"] for t in two("one_metric_each")]
    joined = [loss for m in first["training"] for loss in m["losses"]]
    assert joined == pytest.approx([sum(pair) / 2 for pair in zip(*own)])


def test_training_metrics__of_the_chief_alone_cost_no_exchange(two):
    for t in two("one_metric_each"):
        assert t["training"][0]["seen"] == 24, "six batches of its own"
        assert t["calls"] == ["reducer"], "once, for the validation"
    first, second = two("one_metric_each")
    assert first["training"][0]["loss"] != second["training"][0]["loss"]


@pytest.mark.parametrize("scenario", ["plain", "normed"])
def test_validation__of_unequal_shares_is_that_of_all_records(two, scenario):
    for t in two(scenario):  # five batches: three here, two there
        assert t["validation"] == [{"mean": 9.0, "most": 19.0, "count": 5.0, "seen": 0.0}]


def test_full_dataset__is_evaluated_by_the_chief_for_all(two):
    first, second = two("at_once")
    assert (first["evaluated"], second["evaluated"]) == (10, 0)
    assert first["validation"] == second["validation"] == [{"mean": 1.0, "seen": 0.0}]


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("scenario", ["noisy", "sampled"])
def test_training__that_was_paused_goes_on_as_if_it_had_not_been(scenario, size, request):
    if (scenario, size) == ("sampled", 4):
        pytest.skip("the same with four processes as with two")
    told = request.getfixturevalue({2: "two", 4: "four"}[size])
    for whole, paused in zip(told(scenario), told(f"{scenario}_paused")):
        # Sums of more than two numbers depend on their order, which DDP settles on after a first batch.
        assert paused["weights"] == (whole["weights"] if size == 2 else pytest.approx(whole["weights"], abs=1e-6))
        assert (paused["seen"], paused["drawn"]) == (whole["seen"], whole["drawn"])


def test_processes__share_the_records_of_an_epoch(two):
    """Also with a sampler that draws from the global generator, which differs between them."""
    for scenario in ("noisy", "sampled"):
        first, second = (t["seen"] for t in two(scenario))
        epoch = [i for batch in [*first[:3], *second[:2]] for i in batch]
        assert sorted(epoch) == list(range(20)), "five batches: three here, two there"


@pytest.mark.parametrize("size", [2, 4])
def test_sharded_model__trains_and_resumes_as_a_whole_one(size, request):
    told = request.getfixturevalue({2: "two", 4: "four"}[size])
    whole = told("sharded")
    assert [t["weights"] for t in whole] == [pytest.approx(told("plain_8")[0]["weights"], abs=1e-5)] * size
    for scenario in ("sharded_paused", "sharded_extended"):
        assert [t["weights"] for t in told(scenario)] == [t["weights"] for t in whole]


def test_one_process__started_by_torchrun_needs_no_others(alone):
    assert alone("plain_8")[0]["weights"] == pytest.approx(reference(1, batches=8), abs=1e-5)
