"""determined.experimental.client of 0.38.1, and ours, by the same programs against our master."""
import json

import pytest
from released import CONTEXTS, OurLibrary, Released
from support.cluster import PASSWORD

TRAIN = json.dumps(str(CONTEXTS / "train"))
CONFIG = ('{"name": "sdk", "entrypoint": "python3 train.py", "searcher": {"name": "single", "metric": "loss", "smaller_is_better": %s}, '
          '"max_restarts": 0, "hyperparameters": {"lr": 0.1}, "resources": {"slots_per_trial": 1}}')


@pytest.fixture(params=["released", "ours"])
def det(request, warm, cluster, tmp_path):
    released = Released(warm, cluster.url, tmp_path, password=PASSWORD)
    return released if request.param == "released" else OurLibrary(released)


def test_create_follow_and_read_back(det):
    got = det.sdk(f"""
        experiment = client.create_experiment({CONFIG % "True"}, {TRAIN})
        trial = experiment.await_first_trial()
        state = experiment.wait(interval=0.1)
        experiment.reload(); trial.reload()
        logs = list(trial.logs(follow=True))
        return dict(state=state.name, again=client.get_experiment(experiment.id).state.name, progress=experiment.progress,
                    trials=[t.id for t in experiment.list_trials()], trial=trial.id, hparams=trial.hparams,
                    trial_state=trial.state.name, logs="".join(logs), tail="".join(trial.logs(tail=1)),
                    task="".join(trial.logs(sources=["task"])), losses=trial.summary_metrics["avg_metrics"]["loss"],
                    name=experiment.name, config=experiment.config["hyperparameters"])
    """)
    assert (got["state"], got["again"], got["trial_state"], got["progress"]) == ("COMPLETED", "COMPLETED", "COMPLETED", 1)
    assert got["trials"] == [got["trial"]] and got["hparams"] == {"lr": 0.1} and got["name"] == "sdk"
    assert got["config"] == {"lr": {"type": "const", "val": 0.1}}
    assert "resources exited successfully with a zero exit code" in got["tail"] and got["logs"].endswith(got["tail"])
    assert got["task"].endswith("|| training starts\n") and got["task"] in got["logs"]
    assert got["losses"]["count"] == 3 and got["losses"]["max"] == 1 and got["losses"]["last"] == got["losses"]["min"]


def test_metrics__come_in_order_of_steps(det, cluster, finished):
    [trial] = cluster.trial_ids(finished[0])
    got = det.sdk(f"""
        def told(metrics):
            return [[m.trial_id, m.trial_run_id, m.steps_completed, m.group, m.metrics] for m in metrics]
        trial = client.get_trial({trial})
        return [told(trial.iter_metrics("validation")), told(client.stream_trials_metrics([{trial}], "validation")),
                told(trial.iter_metrics("training")), [m.metrics for m in client.stream_trials_training_metrics([{trial}])],
                [m.metrics for m in client.stream_trials_validation_metrics([{trial}])], told(trial.iter_metrics("nothing"))]
    """)
    validation = [[trial, 1, step, "validation", {"loss": 1.5 / step, "accuracy": step / 4}] for step in (1, 2, 3)]
    training = [[trial, 1, step, "training", {"loss": 1 / step}] for step in (1, 2, 3)]
    assert got == [validation, validation, training, [row[4] for row in training], [row[4] for row in validation], []]


@pytest.mark.parametrize("smaller_is_better, steps", [(True, [3, 2, 1]), (False, [1, 2, 3])])
def test_checkpoints__best_first_whichever_way_the_searcher_looks(det, smaller_is_better, steps):
    """With smaller_is_better: false the master once gave the worst first, as the client sends no order."""
    got = det.sdk(f"""
        experiment = client.create_experiment({CONFIG % smaller_is_better}, {TRAIN})
        experiment.wait(interval=0.1)
        trial = experiment.get_trials()[0] if hasattr(experiment, "get_trials") else None
        steps = lambda checkpoints: [c.metadata["steps_completed"] for c in checkpoints]
        asked = dict(sort_by="accuracy", order_by=client.OrderBy.DESC)
        return dict(top=steps([experiment.top_checkpoint(), trial.top_checkpoint()]), of_trial=steps(trial.list_checkpoints()),
                    of_experiment=steps(experiment.list_checkpoints()),
                    asked=steps(trial.list_checkpoints(**asked)) + steps(experiment.list_checkpoints(**asked)),
                    sorts={{by.name: len(experiment.list_checkpoints(sort_by=by, order_by=client.OrderBy.ASC))
                           for by in client.CheckpointSortBy}},
                    page=steps(trial.list_checkpoints(max_results=2)))
    """)
    assert got["top"] == [steps[0]] * 2 and got["of_trial"] == got["of_experiment"] == steps and got["page"] == steps[:2]
    assert got["asked"] == [3, 2, 1] * 2
    assert set(got["sorts"].values()) == {3} and len(got["sorts"]) == 6


def test_checkpoint__is_downloaded_and_its_metadata_changed(det, cluster, finished, tmp_path):
    [trial] = cluster.trial_ids(finished[0])
    got = det.sdk(f"""
        checkpoint = client.get_trial({trial}).top_checkpoint()
        path = checkpoint.download({str(tmp_path / "checkpoint")!r})
        checkpoint.add_metadata({{"grade": "A"}})
        added = client.get_checkpoint(checkpoint.uuid).metadata
        checkpoint.remove_metadata(["grade"])
        again = client.get_checkpoint(checkpoint.uuid)
        return dict(path=path, added=added, removed=again.metadata, trial=again.training.trial_id, state=again.state.name,
                    validation=again.training.validation_metrics, resources=again.resources)
    """)
    assert (tmp_path / "checkpoint/state.txt").read_text() == "3" and got["path"] == str(tmp_path / "checkpoint")
    assert got["added"] == {"steps_completed": 3, "grade": "A"} and got["removed"] == {"steps_completed": 3}
    assert got["validation"]["avgMetrics"]["loss"] == 0.5 and got["trial"] == trial and got["state"] == "COMPLETED"
    assert int(got["resources"]["state.txt"]) == 1


def test_changes__of_an_experiment(det, finished):
    got = det.sdk(f"""
        experiment = client.get_experiment({finished[0]})
        experiment.set_name("named"); experiment.set_description("described"); experiment.set_notes("noted")
        experiment.add_label("x"); experiment.set_labels({{"y", "z"}}); experiment.remove_label("y")
        experiment.archive(); experiment.reload()
        archived = experiment.archived
        experiment.unarchive(); experiment.reload()
        found = [e.id for e in client.list_experiments(name="named", labels=["z"], users=["determined"],
                                                       states=[client.ExperimentState.COMPLETED])]
        return [experiment.name, experiment.description, experiment.notes, sorted(experiment.labels), archived,
                experiment.archived, found, sorted(os.listdir(os.path.dirname(experiment.download_code("."))or "."))]
    """)
    assert got[:7] == ["named", "described", "noted", ["z"], True, False, [finished[0]]]
    assert f"exp-{finished[0]}_model_def.tar.gz" in got[7]


def test_lists__sort_by_everything_the_client_knows(det, cluster, finished):
    """An empty page or an error of one sort is a failure: the contract's numbers of these enums have holes."""
    [trial] = cluster.trial_ids(finished[0])
    got = det.sdk(f"""
        experiments = {{by.name: [e.id for e in client.list_experiments(sort_by=by, order_by=client.OrderBy.DESC)]
                       for by in client.ExperimentSortBy}}
        trials = {{by.name: [t.id for t in client.get_experiment({finished[0]}).list_trials(sort_by=by)]
                  for by in client.TrialSortBy}}
        return [experiments, trials]
    """)
    assert got[0]["ID"] == sorted(got[0]["ID"], reverse=True)
    assert all(sorted(ids, reverse=True) == got[0]["ID"] for ids in got[0].values())
    assert len(got[0]) > 10 and len(got[1]) > 8 and all(ids == [trial] for ids in got[1].values())


def test_pause_activate_cancel_and_kill(det):
    got = det.sdk(f"""
        config = {CONFIG % "True"}
        config["entrypoint"] = "sleep 60"
        states = []
        def see(experiment):
            experiment.reload()
            states.append(experiment.state.name)
        one = client.create_experiment(config, {TRAIN})
        one.await_first_trial()
        one.pause(); see(one)
        one.activate(); see(one)
        one.kill(); states.append(one.wait(interval=0.1).name)
        two = client.create_experiment(config, {TRAIN})
        two.await_first_trial().kill()
        two.cancel(); states.append(two.wait(interval=0.1).name)
        return states
    """)
    assert got[0] == "PAUSED" and got[1] in ("ACTIVE", "QUEUED", "STARTING", "RUNNING", "PULLING"), got
    assert got[2] == "CANCELED" and got[3] in ("CANCELED", "ERROR", "COMPLETED"), got


def test_users_workspaces_and_what_does_not_exist(det):
    got = det.sdk(f"""
        def error(f, *a):
            try:
                f(*a)
            except Exception as e:
                return f"{{type(e).__name__}}: {{e}}"
        config = {CONFIG % "True"}
        workspace = client.get_workspace("Uncategorized")
        return dict(users=[u.username for u in client.list_users()], me=client.whoami().username,
                    admin=client.get_user_by_name("admin").admin, id=client.get_user_by_id(1).username,
                    workspaces=[w.name for w in client.list_workspaces()], projects=[p.name for p in workspace.list_projects()],
                    errors=[error(client.get_experiment, 99999), error(client.get_trial, 99999),
                            error(client.get_checkpoint, "00000000-0000-0000-0000-000000000000"),
                            error(client.create_experiment, dict(config, nonsense=1), {TRAIN}),
                            error(client.create_user, "nobody", False, "Some-Passw0rd")])
    """)
    assert {"admin", "determined"} <= set(got["users"]) and got["me"] == "determined" and got["admin"] and got["id"] == "admin"
    assert got["workspaces"] == ["Uncategorized"] and got["projects"] == ["Uncategorized"]
    found = [e.split(":")[0] for e in got["errors"]]
    assert found in (["NotFoundException"] * 3 + ["APIException", "ForbiddenException"], ["NotFound"] * 3 + ["BadRequest", "Forbidden"])
    assert 'unknown field "nonsense"' in got["errors"][3]


def test_profiles_of_the_older_releases__by_the_routes_of_the_released_library(warm, cluster, tmp_path):
    """What the library of 0.2x sends and its web page reads; 0.38.1 has the calls still, and nobody who makes them."""
    trial = cluster.trial_ids(cluster.create(activate=False))[0]
    got = Released(warm, cluster.url, tmp_path, password=PASSWORD).sdk(f"""
        from determined.common.api import bindings
        session = client._determined._session
        kind = bindings.TrialProfilerMetricLabelsProfilerMetricType
        def batch(name, values, metric_type, **labels):
            return bindings.v1TrialProfilerMetricsBatch(
                labels=bindings.v1TrialProfilerMetricLabels(name=name, trialId={trial}, metricType=metric_type, **labels),
                values=values, batches=list(range(len(values))), timestamps=["2026-01-01T00:00:01Z"] * len(values))
        bindings.post_PostTrialProfilerMetricsBatch(session, body=bindings.v1PostTrialProfilerMetricsBatchRequest(batches=[
            batch("gpu_util", [1, 2], kind.SYSTEM, agentId="a", gpuUuid="g"), batch("train_batch", [0.5], kind.TIMING)]))
        [series] = bindings.get_GetTrialProfilerAvailableSeries(session, trialId={trial})
        [gpu] = bindings.get_GetTrialProfilerMetrics(session, labels_trialId={trial}, labels_name="gpu_util", labels_agentId="a",
                                                     labels_metricType=kind.SYSTEM)
        return [sorted(labels.name for labels in series.labels), gpu.batch.to_json()]
    """)
    assert got[0] == ["gpu_util", "train_batch"] and got[1]["values"] == [1, 2] and got[1]["batches"] == [0, 1]
