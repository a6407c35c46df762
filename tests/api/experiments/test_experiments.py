"""Tests experiments in the API, without an agent: creating, reading, listing, labels, archiving, killing."""
import base64
import gzip
import io
import json
import tarfile

import pytest


def ids(reply):
    return [x["id"] for x in reply.json["experiments"]]


def test_a_created_experiment_has_its_configuration_trial_and_files(master):
    text = json.dumps(master.experiment_config(name="first", description="d", labels=["b", "a"]))
    files = [{"path": "dir", "type": 53, "content": "", "mtime": "1", "mode": 0o755, "uid": 0, "gid": 0},
             {"path": "dir/model.py", "type": 48, "content": base64.b64encode(b"print(1)\n").decode(), "mtime": 2, "mode": 0o644,
              "uid": 0, "gid": 0}]
    reply = master.post("/api/v1/experiments", {"config": text, "modelDefinition": files, "activate": True})
    assert reply.status == 200, reply
    x = reply.json["experiment"]
    assert (x["name"], x["description"], sorted(x["labels"])) == ("first", "d", ["a", "b"])
    assert x["originalConfig"] == text
    assert reply.json["config"] == x["config"]
    assert x["config"]["searcher"]["smaller_is_better"] is True
    assert x["config"]["reproducibility"]["experiment_seed"] > 0
    got = master.experiment(x["id"])
    assert got["state"] == "STATE_QUEUED" and got["numTrials"] == 1 and len(got["trialIds"]) == 1
    assert got["projectId"] == 1 and got["workspaceName"] == "Uncategorized" and got["username"] == "determined"

    tgz = base64.b64decode(master.get(f"/api/v1/experiments/{x['id']}/model_def").json["b64Tgz"])
    with tarfile.open(fileobj=io.BytesIO(tgz)) as tar:
        assert tar.getnames() == ["dir", "dir/model.py"]
        assert tar.extractfile("dir/model.py").read() == b"print(1)\n"
    raw = master.get(f"/experiments/{x['id']}/model_def")
    assert raw.body == tgz and raw.headers["Content-Type"] == "application/x-gtar"
    assert raw.headers["Content-Disposition"] == f'attachment; filename="exp{x["id"]}_first_model_def.tar.gz"'
    gzip.decompress(tgz)

    [trial] = master.trial_ids(x["id"])
    t = master.get(f"/api/v1/trials/{trial}").json["trial"]
    assert t["experimentId"] == x["id"] and t["state"] == "STATE_QUEUED" and t["taskId"].startswith(f"{x['id']}.")
    context = master.get(f"/api/v1/tasks/{t['taskId']}/context_directory").json["b64Tgz"]
    assert base64.b64decode(context) == tgz
    assert master.get(f"/api/v1/tasks/{t['taskId']}").json["task"]["taskType"] == "TASK_TYPE_TRIAL"
    assert master.post(f"/api/v1/experiments/{x['id']}/kill").status == 200
    assert master.wait_experiment(x["id"])["state"] == "STATE_CANCELED"


def test_validate_only_makes_nothing(master):
    before = master.get("/api/v1/experiments").json["pagination"]["total"]
    reply = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "validateOnly": True})
    assert reply.status == 200 and reply.json["experiment"]["id"] == 0
    assert reply.json["config"]["max_restarts"] == 0
    assert master.get("/api/v1/experiments").json["pagination"]["total"] == before


def test_a_fork_takes_the_parents_files(master):
    parent = master.create(files={"a.py": "1"}, activate=False)
    reply = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "parentId": parent})
    child = reply.json["experiment"]
    assert child["forkedFrom"] == parent
    both = [master.get(f"/api/v1/experiments/{i}/model_def").json for i in (parent, child["id"])]
    assert both[0] == both[1]


def test_states_follow_the_table_of_the_contract(master):
    x = master.create(activate=False)
    assert master.experiment(x)["state"] == "STATE_PAUSED"
    assert master.post(f"/api/v1/experiments/{x}/pause").status == 200
    assert master.post(f"/api/v1/experiments/{x}/archive").status == 400
    assert master.post(f"/api/v1/experiments/{x}/activate").status == 200
    assert master.experiment(x)["state"] == "STATE_QUEUED"
    assert master.post(f"/api/v1/experiments/{x}/cancel").status == 200
    assert master.wait_experiment(x)["state"] == "STATE_CANCELED"
    assert master.post(f"/api/v1/experiments/{x}/cancel").status == 200
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert master.post(f"/api/v1/experiments/{x}/pause").json["error"]["error"] == "experiment in terminal state"
    assert master.post(f"/api/v1/experiments/{x}/activate").status == 404
    assert master.post(f"/api/v1/experiments/{x}/archive").status == 200
    assert master.post(f"/api/v1/experiments/{x}/archive").status == 400
    assert master.experiment(x)["archived"] is True
    assert x not in ids(master.get("/api/v1/experiments?archived=false"))
    assert master.post(f"/api/v1/experiments/{x}/unarchive").status == 200
    for action in ("kill", "pause", "activate", "cancel", "archive"):
        assert master.post(f"/api/v1/experiments/99999/{action}").status == 404


def test_lists_filter_sort_and_page(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    made = [c.create(activate=False, name=f"n{i % 3}", description="even" if i % 2 == 0 else "odd", labels=[f"l{i % 2}", "all"])
            for i in range(7)]
    assert ids(c.get("/api/v1/experiments")) == made
    assert ids(c.get("/api/v1/experiments?orderBy=ORDER_BY_DESC&limit=3")) == made[::-1][:3]
    page = c.get("/api/v1/experiments?offset=5&limit=5").json["pagination"]
    assert page == {"offset": 5, "limit": 5, "startIndex": 5, "endIndex": 7, "total": 7}
    assert c.get("/api/v1/experiments?limit=-2").json["experiments"] == []
    assert c.get("/api/v1/experiments?limit=-2").json["pagination"]["total"] == 7
    assert ids(c.get("/api/v1/experiments?offset=99")) == []
    assert ids(c.get("/api/v1/experiments?name=n1")) == [made[1], made[4]]
    assert ids(c.get("/api/v1/experiments?description=ODD")) == made[1::2]
    assert ids(c.get("/api/v1/experiments?labels=l1&labels=all")) == made[1::2]
    assert ids(c.get("/api/v1/experiments?states=STATE_ACTIVE")) == []
    assert len(ids(c.get("/api/v1/experiments?states=STATE_ACTIVE&states=2"))) == 7
    assert ids(c.get("/api/v1/experiments?users=admin")) == []
    assert len(ids(c.get("/api/v1/experiments?users=admin&users=determined"))) == 7
    assert ids(c.get(f"/api/v1/experiments?experimentIdFilter.incl={made[2]}&experimentIdFilter.incl={made[3]}")) == made[2:4]
    assert ids(c.get(f"/api/v1/experiments?experimentIdFilter.gt={made[4]}")) == made[5:]
    assert ids(c.get("/api/v1/experiments?sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC&limit=2")) in ([made[2], made[5]], [made[5], made[2]])
    assert c.get("/api/v1/experiment/labels").json["labels"][0] == "all"


def test_patch_changes_what_is_given_and_nothing_else(master):
    x = master.create(activate=False, labels=["old"], description="before")
    reply = master.patch(f"/api/v1/experiments/{x}", {"name": "new name", "notes": "n", "description": None})
    assert reply.status == 200
    got = master.experiment(x)
    assert (got["name"], got["notes"], got["description"], got["labels"]) == ("new name", "n", "before", ["old"])
    assert master.patch(f"/api/v1/experiments/{x}", {"labels": []}).status == 200
    assert master.experiment(x)["labels"] == []
    assert master.request("PUT", f"/api/v1/experiments/{x}/labels/a%20b").json["labels"] == ["a b"]
    assert master.request("DELETE", f"/api/v1/experiments/{x}/labels/a%20b").json["labels"] == []


def report(master, trial, group, step, metrics, run=0):
    return master.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
        "trialId": trial, "trialRunId": run, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}})


def test_metrics_come_back_merged_summarised_and_in_order(master):
    x = master.create(activate=False)
    [trial] = master.trial_ids(x)
    assert master.get(f"/api/v1/experiments/{x}/searcher/best_searcher_validation_metric").status == 404
    for step, loss in ((10, 0.5), (20, "NaN"), (30, 0.25)):
        assert report(master, trial, "validation", step, {"loss": loss}).status == 200
    assert report(master, trial, "validation", 10, {"accuracy": 0.5}).status == 200, "same step: keys are merged"
    assert report(master, trial, "validation", 10, {"loss": 0.5}).status == 200, "the equal value again is fine"
    assert report(master, trial, "validation", 10, {"loss": 0.75}).status == 400, "another value is not"
    assert report(master, trial, "training", 30, {"loss": 1.0}).status == 200
    assert report(master, trial, "mine", 1, {"x": {"nested": 1}}).status == 200
    rows = [m for line in master.get(f"/api/v1/trials/metrics/validation_metrics?trialIds={trial}").lines
            for m in line["result"]["metrics"]]
    assert [r["totalBatches"] for r in rows] == [10, 20, 30]
    t = master.get(f"/api/v1/trials/{trial}").json["trial"]
    assert t["bestValidation"]["metrics"]["avgMetrics"] == {"loss": 0.25}
    assert t["latestValidation"]["totalBatches"] == 30 and t["totalBatchesProcessed"] == 30
    assert t["summaryMetrics"]["validation_metrics"]["loss"]["count"] == 3
    assert master.get(f"/api/v1/experiments/{x}/searcher/best_searcher_validation_metric").json["metric"] == 0.25
    groups = {m["group"] for line in master.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group=mine").lines
              for m in line["result"]["metrics"]}
    assert groups == {"mine"}
    work = master.get(f"/api/v1/trials/{trial}/workloads?limit=2").json
    assert work["pagination"]["total"] >= 4 and len(work["workloads"]) == 2


@pytest.mark.parametrize("smaller, story", [(True, [0.5, 0.4, 0.3]), (False, [0.5, 0.8, 0.9])])
def test_the_history_of_validations_tells_how_the_best_came_about(master, smaller, story):
    """The best validation is taken over all trials, in order of time. Equal and worse values, NaN and other metrics do not change it."""
    x = master.create(activate=False, searcher={"name": "grid", "metric": "loss", "smaller_is_better": smaller},
                      hyperparameters={"a": {"type": "categorical", "vals": [1, 2]}})
    path = f"/api/v1/experiments/{x}/validation-history"
    assert master.get(path).json["validationHistory"] == []
    a, b = master.trial_ids(x)
    told = [(a, "NaN"), (a, 0.5), (b, 0.8), (b, 0.4), (a, 0.4), (a, 0.3), (b, 0.9), (b, 0.35)]
    for step, (trial, loss) in enumerate(told, 1):
        assert report(master, trial, "validation", step, {"loss": loss, "other": -step}).status == 200
        assert report(master, trial, "training", step, {"loss": -99}).status == 200
    history = master.get(path).json["validationHistory"]
    assert [round(h["searcherMetric"], 6) for h in history] == story
    assert [h["trialId"] for h in history] == [next(t for t, v in told if v == value) for value in story]
    times = [h["endTime"] for h in history]
    assert times == sorted(times) and all(times)
    assert master.get("/api/v1/experiments/99999/validation-history").status == 404


def test_checkpoints_are_reported_listed_and_thinned_out(master):
    x = master.create(activate=False)
    [trial] = master.trial_ids(x)
    task = master.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    uuid = "0a1b2c3d-1111-4222-8333-444455556666"
    body = {"uuid": uuid, "taskId": task, "resources": {"a": "3", "b/": 0}, "metadata": {"steps_completed": 5, "k": [1]},
            "state": "STATE_COMPLETED"}
    assert master.report_checkpoint({**body, "metadata": {}}).status == 400
    assert master.report_checkpoint({**body, "uuid": "x"}).status == 400
    assert master.report_checkpoint({**body, "taskId": "none"}).status == 404
    assert master.report_checkpoint(body).status == 200
    got = master.get(f"/api/v1/checkpoints/{uuid}").json["checkpoint"]
    assert got["resources"] == {"a": "3", "b/": "0"} and got["metadata"]["k"] == [1]
    assert got["training"]["trialId"] == trial and got["training"]["experimentId"] == x
    for path in (f"/api/v1/experiments/{x}/checkpoints", f"/api/v1/trials/{trial}/checkpoints"):
        assert [c["uuid"] for c in master.get(path).json["checkpoints"]] == [uuid]
    assert master.experiment(x)["checkpointSize"] == "3"
    patch = {"checkpoints": [{"uuid": uuid, "resources": {"resources": {"a": "3"}}}]}
    assert master.patch("/api/v1/checkpoints", patch).status == 200
    assert master.get(f"/api/v1/checkpoints/{uuid}").json["checkpoint"]["state"] == "STATE_PARTIALLY_DELETED"


@pytest.mark.parametrize("path", ["/api/v1/task/logs", "/task-logs"])
def test_posted_logs_come_back_formatted_and_filtered(master, path):
    x = master.create(activate=False)
    [trial] = master.trial_ids(x)
    task = master.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    name = "taskId" if path.startswith("/api") else "task_id"
    logs = [{name: task, "log": f"line {i}\n", "level": "LOG_LEVEL_INFO" if i % 2 else None, "containerId": "0123456789abcdef",
             "rankId": i, "timestamp": f"2026-01-02T03:04:0{i}.000001Z", "stdtype": "stdout"} for i in range(5)]
    assert master.post(path, {"logs": logs} if path.startswith("/api") else logs).status == 200
    lines = [line["result"] for line in master.get(f"/api/v1/trials/{trial}/logs").lines]
    assert [line["log"] for line in lines] == [f"line {i}\n" for i in range(5)]
    assert lines[1]["message"] == "[2026-01-02T03:04:01.000001Z] 01234567 [rank=1] || INFO: line 1\n"
    assert lines[2]["message"] == "[2026-01-02T03:04:02.000001Z] 01234567 [rank=2] || line 2\n"

    def texts(query):
        return [line["result"]["log"] for line in master.get(f"/api/v1/tasks/{task}/logs?{query}").lines]
    assert texts("limit=2") == ["line 0\n", "line 1\n"]
    assert texts("limit=2&orderBy=ORDER_BY_DESC") == ["line 4\n", "line 3\n"]
    assert texts("rankIds=3") == ["line 3\n"]
    assert texts("levels=LOG_LEVEL_INFO") == ["line 1\n", "line 3\n"]
    assert texts("searchText=line%203") == ["line 3\n"]
    assert texts("searchText=line%20%5B13%5D&enableRegex=true") == ["line 1\n", "line 3\n"]
    assert texts("timestampAfter=2026-01-02T03:04:03.5Z") == ["line 4\n"]
    bad = master.get(f"/api/v1/tasks/{task}/logs?limit=-1")
    assert bad.status == 400 and bad.json["error"]["httpCode"] == 400
    assert master.get(f"/api/v1/tasks/{task}/logs?limit=1&follow=true").status == 400
    assert master.get(f"/api/v1/tasks/{task}/logs?searchText=%5B&enableRegex=true").status == 400
    assert master.get("/api/v1/tasks/none/logs").status == 404


def test_names_of_files_may_be_in_any_script(master):
    """In an earlier version a name with characters outside ASCII ended the master, when libarchive translated it. Names must come back
    byte for byte."""
    files = {"ü.txt": "1", "漢字/✓ 🎉.py": "2", "e\u0301" * 80 + "/" + "n" * 200: "3", "back\\slash \"quote\"": "4"}
    experiment = master.create(files=files, activate=False)
    archive = base64.b64decode(master.get(f"/api/v1/experiments/{experiment}/model_def").json["b64Tgz"])
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert {e.name: tar.extractfile(e).read().decode() for e in tar if e.isfile()} == files


def test_the_reply_to_a_creation_says_queued_and_runs_are_shown_as_they_are_stored(master):
    made = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "activate": True}).json["experiment"]
    assert made["state"] == "STATE_QUEUED"
    [trial] = master.trial_ids(made["id"])
    find = json.dumps({"filterGroup": {"kind": "group", "conjunction": "and", "children": [
        {"kind": "field", "columnName": "id", "location": "LOCATION_TYPE_RUN", "type": "COLUMN_TYPE_NUMBER", "operator": "=", "value": trial}]},
        "showArchived": True})
    [run] = master.post("/api/v1/runs", {"filter": find}).json["runs"]
    assert run["state"] == "STATE_ACTIVE"
    master.post(f"/api/v1/experiments/{made['id']}/kill")
    paused = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "activate": False}).json["experiment"]
    assert paused["state"] == "STATE_PAUSED"


def test_metrics_are_shown_of_experiments_whose_searcher_metric_was_never_reported(master):
    w = master.post("/api/v1/workspaces", {"name": "no-searcher-metric"}).json["workspace"]["id"]
    p = master.post(f"/api/v1/workspaces/{w}/projects", {"name": "p"}).json["project"]["id"]
    x = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config()), "activate": True,
                                            "projectId": p}).json["experiment"]["id"]
    [trial] = master.trial_ids(x)
    reply = master.post(f"/api/v1/trials/{trial}/metrics", {"metrics": {"trialId": trial, "trialRunId": 1, "stepsCompleted": 1, "metrics": {
        "avgMetrics": {"other": 7.5}}}, "group": "training"})
    assert reply.status == 200, reply
    columns = {c["column"] for c in master.get(f"/api/v1/projects/{p}/columns").json["columns"]}
    assert "training.other.max" in columns
    ranges = master.get(f"/api/v1/projects/{p}/experiments/metric-ranges").json["ranges"]
    [found] = [r for r in ranges if r["metricsName"] == "training.other.max"]
    assert (found["min"], found["max"]) == (7.5, 7.5)
    master.post(f"/api/v1/experiments/{x}/kill")


