"""Tests what users do with experiments: single and bulk actions, changes, deletion; and what each of these refuses."""
import pytest
from support.cluster import PASSWORD, error_of, wait_for


def ended(c, **changes):
    """Makes an experiment that is over."""
    x = c.create(activate=False, **changes)
    assert c.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert c.wait_experiment(x)["state"] == "STATE_CANCELED"
    return x


def bulk(c, action, ids=(), filters=None, project=-1, method="POST", **more):
    reply = c.request(method, f"/api/v1/projects/{project}/experiments/{action}",
                      {"experimentIds": list(ids), "filters": filters, **more})
    assert reply.status == 200, reply
    return {r["id"]: r["error"] for r in reply.json["results"]}


def test_bulk_states_answer_for_each_id(master):
    paused, live, over = master.create(activate=False), master.create(), ended(master)
    ids = [paused, live, over, 99999]
    assert bulk(master, "pause", ids) == {paused: "", live: "", over: "experiment in terminal state",
                                          99999: "experiment '99999' not found"}
    assert bulk(master, "activate", ids) == {paused: "", live: "", over: "experiment in terminal state",
                                             99999: "experiment '99999' not found"}
    assert master.experiment(paused)["state"] == master.experiment(live)["state"] == "STATE_QUEUED"
    assert bulk(master, "cancel", [paused, over]) == {paused: "", over: ""}
    assert bulk(master, "kill", ids) == {paused: "", live: "", over: "", 99999: "experiment '99999' not found"}
    for x in (paused, live):
        assert master.wait_experiment(x)["state"] == "STATE_CANCELED"


@pytest.mark.parametrize("action, unknown", [("pause", "experiment '99999' not found"), ("kill", "experiment '99999' not found"),
                                             ("archive", "experiment '99999' not found")])
def test_bulk_has_one_answer_for_each_id_in_their_order(master, action, unknown):
    """There is an answer for each id. A client that sends five ids and gets five answers need not ask which were left out."""
    a, b = ended(master), ended(master)
    ids = [b, 99999, a, b, 99999]
    reply = master.post(f"/api/v1/projects/-1/experiments/{action}", {"experimentIds": ids})
    assert reply.status == 200 and [r["id"] for r in reply.json["results"]] == ids
    errors = [r["error"] for r in reply.json["results"]]
    assert errors[1] == errors[4] == unknown and unknown not in (errors[0], errors[2], errors[3])
    assert master.post(f"/api/v1/projects/-1/experiments/{action}", {}).json["results"] == []


def test_bulk_in_a_project_finds_nothing_of_others(master):
    x = master.create(activate=False)
    assert bulk(master, "kill", [x], project=1) == {x: ""}
    assert bulk(master, "kill", [x], project=77) == {x: f"experiment '{x}' not found"}


def test_bulk_filters_have_the_default_states_of_their_action(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    paused, live, over = c.create(activate=False, name="a"), c.create(name="b"), ended(c, name="c")
    assert bulk(c, "pause", filters={"name": ""}) == {live: ""}
    assert bulk(c, "activate", filters={"excludedExperimentIds": [live]}) == {paused: ""}
    assert bulk(c, "activate", ids=[over], filters={"name": "b"}) == {live: ""}, "with a filter the ids do not count"
    assert bulk(c, "pause", filters={"states": ["STATE_CANCELED"]}) == {over: "experiment in terminal state"}
    assert bulk(c, "archive", filters={"states": ["STATE_CANCELED"]}) == {over: ""}
    assert bulk(c, "unarchive", filters={"archived": True}) == {over: ""}
    assert bulk(c, "kill", filters={"projectId": 1}) == {paused: "", live: ""}
    for x in (paused, live):
        c.wait_experiment(x)
    assert bulk(c, "delete", filters={"projectId": 1}, method="DELETE") == {paused: "", live: "", over: ""}
    wait_for("the deletions", lambda: c.get("/api/v1/experiments").json["pagination"]["total"] == 0)


def test_archiving_needs_an_end(master):
    live, over = master.create(activate=False), ended(master)
    assert bulk(master, "archive", [live, over]) == {live: "Experiment is not in terminal state.", over: ""}
    assert bulk(master, "archive", [over]) == {over: f"experiment {over} is archived already"}
    assert error_of(master.patch(f"/api/v1/experiments/{over}", {"notes": "x"})) == (
        f"experiment {over} is archived; unarchive it before you change it")
    assert master.request("PUT", f"/api/v1/experiments/{over}/labels/x").status == 400
    assert bulk(master, "unarchive", [over]) == {over: ""}
    assert master.patch(f"/api/v1/experiments/{over}", {"notes": "x"}).status == 200


def test_moving_needs_a_place_to_move_to(master):
    x, over = master.create(activate=False), ended(master)
    assert master.post(f"/api/v1/experiments/{over}/archive").status == 200
    assert master.post(f"/api/v1/experiments/{x}/move", {"destinationProjectId": 1}).status == 200
    assert master.post(f"/api/v1/experiments/{x}/move", {"destinationProjectId": 77}).status == 404
    assert master.post("/api/v1/experiments/99999/move", {"destinationProjectId": 1}).status == 404
    assert bulk(master, "move", [x, over], destinationProjectId=1) == {
        x: "", over: f"experiment {over} is archived; unarchive it before you move it"}
    assert master.post("/api/v1/projects/1/experiments/move",
                       {"experimentIds": [x], "destinationProjectId": 77}).status == 404


def test_resources_change_while_an_experiment_lives_and_after(master):
    x = master.create(activate=False)

    def resources():
        return master.get(f"/api/v1/experiments/{x}").json["config"]["resources"]

    def patch(**resources):
        return master.patch(f"/api/v1/experiments/{x}", {"resources": resources})
    assert patch(maxSlots=3, priority=7).status == 200
    assert (resources()["max_slots"], resources()["weight"], resources()["priority"]) == (3, 1, 7)
    assert patch(maxSlots=None).status == 200 and resources()["max_slots"] is None, "null: no limit"
    assert resources()["priority"] == 7
    for bad, words in (({"maxSlots": -1}, "max_slots is -1"), ({"weight": -0.5}, "weight is -0.5"), ({"weight": 0}, "weight is 0"),
                       ({"weight": "NaN"}, "weight"), ({"weight": 2.5, "priority": 3}, "pool default is scheduled by priority and has no weights"),
                       ({"priority": 0}, "allowed is 1 to 99"), ({"priority": 100}, "allowed is 1 to 99")):
        assert words in error_of(patch(**bad)), bad
    assert (resources()["weight"], resources()["priority"]) == (1, 7)
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    master.wait_experiment(x)
    assert patch(weight=4).status == 200 and resources()["weight"] == 4
    assert master.patch("/api/v1/experiments/99999", {"resources": {"weight": 1}}).status == 404


def test_the_configuration_follows_what_is_set(master):
    x = master.create(activate=False, name="old")
    body = {"name": "new", "description": "d", "labels": ["b", "a"],
            "checkpointStorage": {"saveExperimentBest": 3, "saveTrialBest": 2, "saveTrialLatest": 4}}
    assert master.patch(f"/api/v1/experiments/{x}", body).status == 200
    config = master.get(f"/api/v1/experiments/{x}").json["config"]
    assert (config["name"], config["description"], sorted(config["labels"])) == ("new", "d", ["a", "b"])
    storage = config["checkpoint_storage"]
    assert (storage["save_experiment_best"], storage["save_trial_best"], storage["save_trial_latest"]) == (3, 2, 4)
    assert storage["type"] == "shared_fs", "all else stays"
    bad = master.patch(f"/api/v1/experiments/{x}", {"checkpointStorage": {"saveExperimentBest": -1}})
    assert bad.status == 400 and "must be 0 or more" in error_of(bad)
    assert master.patch(f"/api/v1/experiments/{x}", {"labels": [1]}).status == 400
    assert '"old"' in master.experiment(x)["originalConfig"]


def test_logs_are_retained_once_an_experiment_is_over(master):
    live, over = master.create(activate=False), ended(master)
    [trial] = master.trial_ids(over)
    put = f"/api/v1/experiments/{over}/retain_logs"
    assert master.request("PUT", put, {"numDays": 7}).status == 200
    assert master.get(f"/api/v1/trials/{trial}").json["trial"]["logRetentionDays"] == 7
    assert error_of(master.request("PUT", f"/api/v1/experiments/{live}/retain_logs", {"numDays": 7})) == (
        "experiment in non terminal state 'PAUSED', try again later")
    assert master.request("PUT", put, {"numDays": -2}).status == 400
    assert master.request("PUT", "/api/v1/experiments/99999/retain_logs", {"numDays": 1}).status == 404
    for days in (-2, 32768, 2147483647):
        refused = master.request("PUT", f"/api/v1/experiments/{over}/retain_logs", {"numDays": days})
        assert refused.status == 400 and f"num_days is {days}" in refused.json["error"]["error"], refused.body
    assert bulk(master, "retain_logs", [over, live], method="PUT", numDays=-1) == {
        over: "", live: "experiment in non terminal state 'PAUSED', try again later"}
    assert master.get(f"/api/v1/trials/{trial}").json["trial"]["logRetentionDays"] == -1


def test_deletion_takes_all_that_belongs_to_an_experiment(master):
    x, other = master.create(activate=False), master.create(activate=False)
    [trial] = master.trial_ids(x)
    task = master.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    for step in range(30):
        assert master.post(f"/api/v1/trials/{trial}/metrics", {"group": "training", "metrics": {
            "trialId": trial, "trialRunId": 0, "stepsCompleted": step, "metrics": {"avgMetrics": {"loss": 1}}}}).status == 200
    assert master.post("/api/v1/task/logs", {"logs": [{"taskId": task, "log": "x\n"}]}).status == 200
    assert master.post(f"/api/v1/experiments/{x}/kill").status == 200
    assert error_of(master.request("DELETE", f"/api/v1/experiments/{other}")) == "cannot delete experiment in STATE_PAUSED state"
    assert master.request("DELETE", "/api/v1/experiments/99999").status == 404
    assert master.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: master.get(f"/api/v1/experiments/{x}").status == 404)
    for path in (f"/api/v1/trials/{trial}", f"/api/v1/tasks/{task}", f"/api/v1/tasks/{task}/logs", f"/api/v1/experiments/{x}/trials"):
        assert master.get(path).status == 404, path
    assert master.get(f"/api/v1/trials/metrics/training_metrics?trialIds={trial}").lines == []
    assert master.experiment(other)["state"] == "STATE_PAUSED"
    assert master.create(activate=False) > other, "ids do not come again"


def test_only_its_owner_and_admins_delete_an_experiment(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login("admin")
    assert c.post("/api/v1/users", {"user": {"username": "eve", "active": True}, "password": PASSWORD}).status == 200
    c.login()
    mine, too = ended(c), ended(c)
    assert c.login("eve", password=PASSWORD).status == 200
    refused = c.request("DELETE", f"/api/v1/experiments/{mine}")
    assert refused.status == 403 and error_of(refused).startswith("forbidden")
    assert bulk(c, "delete", [mine], method="DELETE")[mine].startswith("forbidden")
    c.login()
    assert c.request("DELETE", f"/api/v1/experiments/{mine}").status == 200
    c.login("admin")
    assert c.request("DELETE", f"/api/v1/experiments/{too}").status == 200
    wait_for("both deletions", lambda: c.get("/api/v1/experiments").json["pagination"]["total"] == 0)


def test_a_deletion_that_cannot_be_finished_may_be_asked_for_again(new_cluster):
    """Only rows say which files a checkpoint has, so the rows stay until the files are removed. If a master ends during a deletion, the
    deletion counts as failed."""
    c = new_cluster()
    c.start_master()
    c.login()
    broken = c.storage / "broken"
    broken.mkdir()
    x = ended(c, checkpoint_storage={"type": "shared_fs", "host_path": str(broken)})
    [trial] = c.trial_ids(x)
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    uuid = "0a1b2c3d-1111-4222-8333-444455556667"
    (broken / uuid).write_text("no directory")
    assert c.report_checkpoint({"uuid": uuid, "taskId": task, "resources": {"a": "3"}, "state": "STATE_COMPLETED",
                                          "metadata": {"steps_completed": 5}}).status == 200
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the failure", lambda: c.experiment(x)["state"] == "STATE_DELETE_FAILED")
    assert c.get(f"/api/v1/checkpoints/{uuid}").status == 200
    assert f"{uuid} is no directory in its storage" in next(line for line in c.master_log().splitlines() if "experiment.delete_failed" in line)
    for action in ("pause", "activate"):
        assert c.post(f"/api/v1/experiments/{x}/{action}").status in (400, 404)
    c.stop_master()
    c.start_master()
    assert c.experiment(x)["state"] == "STATE_DELETE_FAILED", "it is no live experiment to the next master"
    assert c.patch("/api/v1/checkpoints", {"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]}).status == 200
    assert c.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: c.get(f"/api/v1/experiments/{x}").status == 404)


@pytest.mark.parametrize("action", ["activate", "pause", "cancel", "kill", "archive", "unarchive", "move", "retain_logs"])
def test_bulk_requests_need_credentials(master, action):
    method = "PUT" if action == "retain_logs" else "POST"
    assert master.request(method, f"/api/v1/projects/1/experiments/{action}", {}, token=None).status == 401
