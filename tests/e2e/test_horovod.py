"""Trials whose processes are Horovod's, started by the entrypoint model_def:Class alone: a real horovodrun, on CPUs."""
import pytest
from e2e.processes import check_goes_on_after_a_death, check_learnt_by_two, check_pause_is_heeded, cluster_of
from e2e.test_examples import DIGITS, create
from support.cluster import ROOT
from support.experiments import log_of
from support.machines import need_namespaces

HOROVOD = ROOT / ".venv-horovod/bin/python"
TWO_SLOTS = ("--config", "resources.slots_per_trial=2")
FUSED = ("--config", "optimizations.auto_tune_tensor_fusion=true", "--config", "optimizations.gradient_compression=true")

pytestmark = pytest.mark.skipif(not HOROVOD.exists(), reason="Horovod is not installed: make test-horovod builds it (about 15 minutes)")


@pytest.fixture(scope="module", params=[1, 2], ids=["one machine", "two machines"])
def cluster(request, tmp_path_factory):
    need_namespaces()
    with cluster_of(tmp_path_factory.mktemp("horovod"), request.param, slots=2 // request.param, python=HOROVOD) as c:
        yield c


def started_by_horovod(cluster, experiment):
    return "-m determined.launch.horovod --autohorovod --trial model_def:DigitsTrial" in log_of(cluster, experiment)


@pytest.mark.parametrize("options", [(), FUSED], ids=["plain", "fused and compressed"])
def test_digits_are_learnt_by_two_processes(cluster, options):
    x = check_learnt_by_two(cluster, *TWO_SLOTS, *options, name="const.yaml")
    assert started_by_horovod(cluster, x), log_of(cluster, x)


def test_one_slot_needs_no_horovod(cluster):
    x = create(cluster, DIGITS, "--config", "searcher.max_length.epochs=2")
    assert cluster.wait_experiment(x, timeout_s=400)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    assert not started_by_horovod(cluster, x)


def test_a_pause_is_heeded_by_all_processes(cluster):
    check_pause_is_heeded(cluster, *TWO_SLOTS, name="const.yaml")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_that_dies_has_the_trial_go_on_from_its_checkpoint(cluster, tmp_path, victim):
    check_goes_on_after_a_death(cluster, tmp_path / "digits", victim, *TWO_SLOTS, variable=b"HOROVOD_RANK", name="const.yaml")
