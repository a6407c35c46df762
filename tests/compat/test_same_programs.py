"""The same training programs with the released library and with ours, in tasks of one cluster: the same outcome.

The programs (programs/) go through the Core API stage by stage, and train a PyTorchTrial by its class, by a Trainer and in
two processes, in the manner of the released library's own examples, on data that scikit-learn has with it.
"""
import functools
import os
import re

import pytest
from released import PYTHON
from support.cluster import ROOT, wait_for
from test_task_library import Tasks

OURS = ROOT / ".venv/bin/python"
PROGRAMS = ROOT / "tests/compat/programs"
CORE = {"batches": 12, "increment_by": 3, "pause_s": 0}
SINGLE = {"name": "single", "metric": "x"}
DIGITS = {"name": "single", "metric": "accuracy", "smaller_is_better": False}
DISTRIBUTED = "python3 -m determined.launch.torch_distributed python3 train.py"
HARNESS = "python3 -m determined.exec.harness model_def:DigitsTrial"

# Name → (directory, entrypoint, what the configuration says beside it).
RUNS = {
    "start": ("core", "python3 start.py", {"hyperparameters": CORE, "searcher": SINGLE}),
    "metrics": ("core", "python3 metrics.py", {"hyperparameters": CORE, "searcher": SINGLE}),
    "checkpoints": ("core", "python3 checkpoints.py", {"hyperparameters": CORE, "searcher": SINGLE}),
    "search": ("core", "python3 search.py", {
        "hyperparameters": {**CORE, "increment_by": {"type": "categorical", "vals": [0, 1, 2]}},
        "searcher": {"name": "grid", "metric": "x", "max_length": {"batches": 12}}}),
    "workers": ("core", "python3 workers.py", {"hyperparameters": CORE, "searcher": SINGLE, "resources": {"slots_per_trial": 2}}),
    "trainer": ("pytorch", "python3 train.py", {"hyperparameters": {"lr": 0.5}, "searcher": DIGITS}),
    "trainer in two processes": ("pytorch", DISTRIBUTED, {"hyperparameters": {"lr": 0.5}, "searcher": DIGITS,
                                                          "resources": {"slots_per_trial": 2}}),
    "class": ("pytorch", HARNESS, {
        "hyperparameters": {"lr": 0.5, "global_batch_size": 64}, "searcher": {**DIGITS, "max_length": {"batches": 24}},
        "scheduling_unit": 6, "min_validation_period": {"batches": 12}, "min_checkpoint_period": {"batches": 12}}),
}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    with Tasks(tmp_path_factory.mktemp("programs") / "cluster") as tasks:
        yield tasks


@pytest.fixture(scope="module")
def started(tasks):
    """The experiment that runs a program with a library; started when somebody asks for it first."""
    return functools.lru_cache(functools.partial(create, tasks))


def environment(library):
    """How a task finds one of the libraries; the released one borrows torch from the other's environment."""
    torch = next((ROOT / ".venv/lib").glob("python3*")) / "site-packages"
    path = {"released": torch, "ours": ROOT / "python"}[library]
    python = {"released": PYTHON, "ours": OURS}[library]
    # The released library reads its checkpoints in a way that today's torch has to be allowed.
    more = ["OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1"]
    return [f"PATH={python.parent}:{os.environ['PATH']}", f"PYTHONPATH={path}", *more]


def create(tasks, library, run, **changes):
    directory, entrypoint, config = RUNS[run]
    files = {path.name: path.read_text() for path in (PROGRAMS / directory).iterdir() if path.is_file()}
    config = {**config, "hyperparameters": {**config["hyperparameters"], **changes}}
    # The released library's launcher finds its python3 by PATH, as a container's would.
    return tasks.cluster.create(
        files=files, name=run, max_restarts=0, reproducibility={"experiment_seed": 7},
        checkpoint_storage={"type": "shared_fs", "host_path": str(tasks.cluster.storage), "save_trial_latest": 1000},
        entrypoint=["env", *environment(library), "sh", "-c", entrypoint], **config)


def reports(cluster, trial, group):
    lines = cluster.get(f"/api/v1/trials/metrics/{group}?trialIds={trial}").lines
    metrics = [row for line in lines for row in line["result"]["metrics"]]
    return [(row["totalBatches"], row["metrics"].get("avg_metrics") or row["metrics"]["validation_metrics"]) for row in metrics]


def outcome(cluster, experiment):
    """What an experiment has come to: its state, and of each trial its state, metrics, checkpoints and last word."""
    state = cluster.wait_experiment(experiment)["state"]
    trials = []
    for trial in cluster.trial_ids(experiment):
        shown = cluster.get(f"/api/v1/trials/{trial}").json["trial"]
        log = cluster.trial_log(trial)
        checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
        trials.append({
            "hparams": shown["hparams"],
            "state": shown["state"],
            "said": re.findall(r"^(?:outcome|starts at).*$", log, re.M),
            "training": reports(cluster, trial, "training_metrics"),
            "validation": reports(cluster, trial, "validation_metrics"),
            "checkpoints": sorted(int(c["metadata"]["steps_completed"]) for c in checkpoints),
            "files": sorted(name for c in checkpoints for name in c["resources"] if "/" not in name),
        })
        assert state == "STATE_COMPLETED", log
    return sorted(trials, key=lambda trial: str(trial["hparams"]))


def same(theirs, ours):
    """Equal, but for what two computations of floating-point numbers may differ by."""
    if isinstance(theirs, dict):
        assert theirs.keys() == ours.keys()
        return all(same(theirs[name], ours[name]) for name in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(theirs) == len(ours) and all(map(same, theirs, ours))
    return theirs == (pytest.approx(ours, rel=1e-5) if isinstance(theirs, float) else ours)


@pytest.mark.parametrize("run", RUNS)
def test_a_program__comes_to_the_same_with_both_libraries(tasks, started, run):
    experiments = [started(library, run) for library in ("released", "ours")]
    theirs, ours = (outcome(tasks.cluster, experiment) for experiment in experiments)
    assert theirs and len(theirs) == len(ours)
    for their, our in zip(theirs, ours):
        for what in their:
            assert same(their[what], our[what]), f"{what}: {their[what]} released, {our[what]} ours"


@pytest.mark.parametrize("first, second", [("released", "ours"), ("ours", "released")])
def test_a_checkpoint_of_one__is_gone_on_with_by_the_other(tasks, started, first, second):
    cluster = tasks.cluster
    begun = started(first, "trainer")
    assert cluster.wait_experiment(begun)["state"] == "STATE_COMPLETED"
    [trial] = cluster.trial_ids(begun)
    [latest] = [c for c in cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]
                if int(c["metadata"]["steps_completed"]) == 24]
    config = {**RUNS["trainer"][2], "searcher": {**DIGITS, "source_checkpoint_uuid": latest["uuid"]}}
    files = {path.name: path.read_text() for path in (PROGRAMS / "pytorch").iterdir() if path.is_file()}
    more = cluster.create(files=files, name="more", max_restarts=0,
                          checkpoint_storage={"type": "shared_fs", "host_path": str(cluster.storage)},
                          entrypoint=["env", *environment(second), "python3", "train.py"], **config)
    assert cluster.wait_experiment(more)["state"] == "STATE_COMPLETED", cluster.trial_log(cluster.trial_ids(more)[0])
    before = reports(cluster, trial, "validation_metrics")[-1][1]["validation_loss"]
    after = reports(cluster, cluster.trial_ids(more)[0], "validation_metrics")[0][1]["validation_loss"]
    assert after < before * 1.1, "it goes on with what was learnt"


def test_a_paused_program__goes_on_with_ours_from_its_checkpoint(tasks):
    cluster = tasks.cluster
    experiment = create(tasks, "ours", "checkpoints", batches=40, pause_s=0.05)
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    wait_for("a checkpoint", lambda: cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"])
    assert cluster.post(f"/api/v1/experiments/{experiment}/pause").status == 200
    wait_for("the end of its run", lambda: cluster.experiment(experiment)["state"] == "STATE_PAUSED"
             and "allocation preempted" in cluster.trial_log(trial))
    assert cluster.post(f"/api/v1/experiments/{experiment}/activate").status == 200
    [told] = outcome(cluster, experiment)
    assert told["said"][-1] == "outcome 120" and told["checkpoints"] == list(range(4, 41, 4))
