"""What removes things, by the released command line and by ours, on a real master: what is shown before, what is asked, what is left."""
import pytest
from api.checkpoints.test_checkpoints import WORKED, end, policy, wait_state, worked_experiment
from support.cluster import wait_for

POLICY = "--save-experiment-best 1 --save-trial-best 0 --save-trial-latest 1"
REMOVED = [1, 2, 3, 4, 6, 8, 9]


@pytest.fixture(params=["released", "ours"])
def program(request, det, ours):
    return det if request.param == "released" else ours


@pytest.fixture
def worked(cluster):
    """The worked case of tests/api/checkpoints/test_checkpoints.py, over: (experiment, its checkpoints by number)."""
    cluster.login()
    x, numbered = worked_experiment(cluster, policy(99, 99, 99))
    end(cluster, x)
    return x, numbered


def files(cluster, numbered):
    return [n for n in numbered if (cluster.storage / numbered[n] / "state").exists()]


def test_set_gc_policy__shows_what_goes_asks_and_then_does_it(program, cluster, worked):
    x, numbered = worked
    everything = list(range(1, len(WORKED) + 1))
    out = program(f"experiment set gc-policy {POLICY} {x}", stdin="n\n")
    shown = [n for n in numbered if numbered[n] in out]
    validated = [n for n in REMOVED if WORKED[n - 1][1] is not None]  # the released client shows no others
    assert shown in (REMOVED, validated) and "Validation Metric" in out and "(loss)" in out, out
    assert all(str(WORKED[n - 1][1]) in out for n in validated), out
    assert "will delete 3 checkpoints with validations and 4 checkpoints without validations" in " ".join(out.split()), out
    assert "Set GC policy" not in out and files(cluster, numbered) == everything
    out = program(f"experiment set gc-policy {POLICY} {x}", stdin="y\n")
    assert f"Set GC policy of experiment {x} to" in out, out
    for n in REMOVED:
        wait_state(cluster, numbered[n], "STATE_DELETED")
    assert files(cluster, numbered) == [n for n in everything if n not in REMOVED]
    assert f"Set GC policy of experiment {x} to" in program(f"experiment set gc-policy --yes {POLICY} {x}")


def test_delete__asks_and_leaves_nothing(program, cluster, worked):
    x, numbered = worked
    program.run(f"experiment delete {x}", stdin="n\n")
    assert cluster.experiment(x)["state"] == "STATE_CANCELED"
    program(f"experiment delete {x}", stdin="y\n")
    wait_for("the deletion", lambda: cluster.get(f"/api/v1/experiments/{x}").status == 404)
    assert files(cluster, numbered) == []


def test_delete__refuses_what_still_runs(program, cluster):
    x = cluster.create(activate=False)
    done = program.run(f"e delete --yes {x}")
    assert done.status == 1 and "cannot delete experiment in STATE_PAUSED state" in done.err, done
    done = program.run(f"e delete-tb-files {x}")
    assert done.status == 1 and "once it is over" in done.err, done


def test_delete_tb_files__removes_those_of_that_experiment(program, cluster, worked):
    x, numbered = worked
    master = cluster.get("/api/v1/master", token=None).json
    places = [cluster.storage / master["clusterId"] / f"tensorboard/experiment/{n}/trial/1/events.out.tfevents.1" for n in (x, 10**6)]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("curve")
    program(f"experiment delete-tb-files {x}")
    wait_for("the removal", lambda: not places[0].exists())
    assert places[1].exists() and files(cluster, numbered) == sorted(numbered)
    places[1].unlink()


def test_checkpoint_rm__by_pattern_asks_and_leaves_the_others(program, cluster, worked):
    x, numbered = worked
    done = program.run(f"checkpoint rm {numbered[1]} --glob **/*.py", stdin="n\n")
    assert (cluster.storage / numbered[1] / "code/model.py").exists(), done
    program(f"checkpoint rm {numbered[1]} --glob **/*.py", stdin="y\n")
    wait_state(cluster, numbered[1], "STATE_PARTIALLY_DELETED")
    assert not (cluster.storage / numbered[1] / "code/model.py").exists() and files(cluster, numbered) == sorted(numbered)
