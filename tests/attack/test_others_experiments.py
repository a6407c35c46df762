"""Tests what a user with an ordinary account tries to do to other users' experiments (docs/security.md, Experiments)."""
import json
import re

import pytest
from support.cluster import Cluster, client_hash, error_of, wait_for

PASSWORD = "Long-Enough-1"


class Two:
    """Alice owns the objects, and Bob attacks them."""

    def __init__(self, c):
        self.c = c
        c.login("admin")
        self.admin = c.token
        self.alice, self.bob = (self.person(name) for name in ("alice", "bob"))

    def person(self, name):
        made = self.c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(PASSWORD),
                                             "isHashed": True}, token=self.admin)
        assert made.status == 200, made
        return self.c.login(name, password=PASSWORD, keep=False).json["token"]

    def create(self, token, activate=False, **changes):
        reply = self.c.post("/api/v1/experiments", {"config": json.dumps(self.c.experiment_config(**changes)), "activate": activate},
                            token=token)
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def shown(self, x):
        """Returns everything of the experiment that any user can see."""
        return self.c.get(f"/api/v1/experiments/{x}", token=self.bob).json["experiment"]

    def trial(self, x):
        return self.c.get(f"/api/v1/experiments/{x}/trials", token=self.bob).json["trials"][0]["id"]

    def ended(self, token):
        x = self.create(token)
        assert self.c.post(f"/api/v1/experiments/{x}/kill", token=token).status == 200
        wait_for("its end", lambda: self.shown(x)["state"] == "STATE_CANCELED")
        return x


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("two")) as c:
        c.start_master()
        yield Two(c)


@pytest.fixture(scope="module")
def open_two(tmp_path_factory):
    config = {"security": {"initial_user_password": "Test-Passw0rd", "sharing": "open"}}
    with Cluster(tmp_path_factory.mktemp("open"), config=config) as c:
        c.start_master()
        yield Two(c)


def changes_of(two, x):
    """Returns every request that changes the experiment, or a trial of it."""
    t = two.trial(x)
    return [("POST", f"/api/v1/experiments/{x}/activate", None), ("POST", f"/api/v1/experiments/{x}/pause", None),
            ("PATCH", f"/api/v1/experiments/{x}", {"name": "stolen"}), ("PATCH", f"/api/v1/experiments/{x}", {"notes": "stolen"}),
            ("PATCH", f"/api/v1/experiments/{x}", {"resources": {"priority": 1}}),
            ("PATCH", f"/api/v1/experiments/{x}", {"checkpointStorage": {"saveTrialLatest": 0}}),
            ("PUT", f"/api/v1/experiments/{x}/labels/stolen", None), ("DELETE", f"/api/v1/experiments/{x}/labels/stolen", None),
            ("POST", f"/api/v1/experiments/{x}/move", {"destinationProjectId": 1}),
            ("PUT", f"/api/v1/experiments/{x}/retain_logs", {"numDays": 0}), ("PUT", f"/api/v1/trials/{t}/retain_logs", {"numDays": 0}),
            ("POST", f"/api/v1/runs/{t}/metadata", {"metadata": {"stolen": 1}}), ("POST", f"/api/v1/trials/{t}/kill", None),
            ("POST", f"/api/v1/experiments/{x}/cancel", None), ("POST", f"/api/v1/experiments/{x}/kill", None),
            ("POST", f"/api/v1/experiments/{x}/archive", None), ("POST", f"/api/v1/experiments/{x}/unarchive", None),
            ("POST", "/api/v1/experiments/continue", {"id": x})]


def deletions_of(x):
    return [("DELETE", f"/api/v1/experiments/{x}", None), ("DELETE", f"/api/v1/experiments/{x}/tensorboard-files", None)]


def test_somebody_changes_another_ones_experiment(two):
    for x in (two.create(two.alice), two.ended(two.alice)):
        before = two.shown(x)
        for method, path, body in changes_of(two, x) + deletions_of(x):
            said = error_of(two.c.request(method, path, body, token=two.bob), 403)
            assert "belongs to user 'alice'" in said and "its owner and admins may change it" in said, (path, said)
        assert two.shown(x) == before


def test_admins_change_it(two):
    x = two.create(two.alice)
    assert two.c.patch(f"/api/v1/experiments/{x}", {"name": "by an admin"}, token=two.admin).status == 200
    assert two.c.post(f"/api/v1/experiments/{x}/kill", token=two.admin).status == 200


def test_somebody_changes_many_at_once_another_ones_among_them(two):
    theirs, mine = two.ended(two.alice), two.ended(two.bob)
    for action, extra in (("activate", {}), ("pause", {}), ("cancel", {}), ("kill", {}), ("archive", {}), ("unarchive", {}),
                          ("move", {"destinationProjectId": 1}), ("delete", {})):
        method = "DELETE" if action == "delete" else "POST"
        results = two.c.request(method, f"/api/v1/projects/-1/experiments/{action}",
                                {"experimentIds": [theirs, mine], **extra}, token=two.bob).json["results"]
        said = {r["id"]: r["error"] for r in results}
        assert "belongs to user 'alice'" in said[theirs], (action, said)
        assert "belongs to" not in said[mine], (action, said)
    assert two.shown(theirs)["state"] == "STATE_CANCELED" and not two.shown(theirs)["archived"]
    reply = two.c.request("PUT", "/api/v1/projects/-1/experiments/retain_logs", {"experimentIds": [theirs], "numDays": 1}, token=two.bob)
    assert "belongs to user 'alice'" in reply.json["results"][0]["error"]


def test_somebody_kills_everything_by_a_filter(two):
    theirs, mine = two.create(two.alice), two.create(two.bob)
    results = two.c.post("/api/v1/projects/-1/experiments/kill", {"filters": {}}, token=two.bob).json["results"]
    said = {r["id"]: r["error"] for r in results}
    assert "belongs to user 'alice'" in said[theirs] and said[mine] == ""
    assert two.shown(theirs)["state"] == "STATE_PAUSED"


def test_somebody_kills_archives_moves_and_deletes_runs_of_others(two):
    run = two.trial(two.create(two.alice))
    for action in ("kill", "pause", "resume", "archive", "unarchive", "delete", "move"):
        body = {"runIds": [run], "destinationProjectId": 1}
        [result] = two.c.post(f"/api/v1/runs/{action}", body, token=two.bob).json["results"]
        assert "belongs to user 'alice'" in result["error"], (action, result)


def test_somebody_moves_another_ones_job_in_the_queue(two):
    theirs, mine = (two.shown(two.create(token))["jobId"] for token in (two.alice, two.bob))
    for change in ({"priority": 1}, {"weight": 9.0}, {"aheadOf": mine}, {"behindOf": mine}, {"resourcePool": "default"}):
        said = error_of(two.c.post("/api/v1/job-queues", {"updates": [{"jobId": theirs, **change}]}, token=two.bob), 403)
        assert "belongs to user 'alice'" in said
    # If one object of a batch may not be changed, the whole batch is refused.
    both = {"updates": [{"jobId": mine, "priority": 7}, {"jobId": theirs, "priority": 7}]}
    assert two.c.post("/api/v1/job-queues", both, token=two.bob).status == 403
    assert two.c.post("/api/v1/job-queues", {"updates": [{"jobId": mine, "priority": 7}]}, token=two.bob).status == 200


def test_somebody_reports_into_another_ones_unmanaged_trial(two):
    x = two.c.post("/api/v1/experiments", {"config": json.dumps(two.c.experiment_config()), "unmanaged": True},
                   token=two.alice).json["experiment"]["id"]
    t = two.c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True}, token=two.alice).json["trial"]["id"]
    metrics = {"metrics": {"trialId": t, "trialRunId": 0, "stepsCompleted": 1, "metrics": {"avgMetrics": {"loss": 1}}}, "group": "training"}
    for method, path, body in (("POST", "/api/v1/trials", {"experimentId": x, "unmanaged": True}),
                               ("PUT", "/api/v1/trials", {"createTrialRequest": {"experimentId": x, "unmanaged": True},
                                                          "externalTrialId": "e"}),
                               ("PATCH", f"/api/v1/trials/{t}", {"state": "STATE_COMPLETED"}), ("POST", f"/api/v1/trials/{t}/start", {}),
                               ("POST", f"/api/v1/trials/{t}/metrics", metrics),
                               ("POST", "/api/v1/runs/start", {"runId": t}),
                               ("POST", "/api/v1/trial-source-info", {"trialSourceInfo": {"trialId": t}})):
        assert "belongs to user 'alice'" in error_of(two.c.request(method, path, body, token=two.bob), 403), path
        if path.endswith("/metrics"):
            assert two.c.request(method, path, body, token=two.alice).status == 200


def test_somebody_changes_another_ones_template_and_project(two):
    for token, name in ((two.alice, "hers"), (two.bob, "his")):
        assert two.c.request("PUT", f"/api/v1/templates/{name}", {"name": name, "config": {"name": "x"}}, token=token).status == 200
    for method, path, body in (("PUT", "/api/v1/templates/hers", {"name": "hers", "config": {"name": "stolen"}}),
                               ("PATCH", "/api/v1/templates/hers", {"name": "stolen"}), ("DELETE", "/api/v1/templates/hers", None),
                               ("PATCH", "/api/v1/template/rename", {"oldName": "hers", "newName": "mine"})):
        assert "belongs to user 'alice'" in error_of(two.c.request(method, path, body, token=two.bob), 403), path
    assert two.c.get("/api/v1/templates/hers", token=two.bob).json["template"]["config"] == {"name": "x"}
    assert two.c.patch("/api/v1/templates/his", {"name": "y"}, token=two.bob).status == 200
    w = two.c.post("/api/v1/workspaces", {"name": "hers"}, token=two.alice).json["workspace"]["id"]
    p = two.c.post(f"/api/v1/workspaces/{w}/projects", {"name": "hers"}, token=two.alice).json["project"]["id"]
    for method, path, body in (("PATCH", f"/api/v1/workspaces/{w}", {"name": "x"}), ("DELETE", f"/api/v1/workspaces/{w}", None),
                               ("PATCH", f"/api/v1/projects/{p}", {"name": "x"}), ("POST", f"/api/v1/projects/{p}/archive", None),
                               ("PUT", f"/api/v1/projects/{p}/notes", {"notes": []}), ("DELETE", f"/api/v1/projects/{p}", None)):
        assert "belongs to user 'alice'" in error_of(two.c.request(method, path, body, token=two.bob), 403), path
    # The objects of others in the project stay theirs, and any user may create experiments there.
    made = two.c.post("/api/v1/experiments", {"config": json.dumps(two.c.experiment_config()), "projectId": p}, token=two.bob)
    assert made.status == 200


def test_everybody_reads(two):
    x = two.create(two.alice)
    t = two.trial(x)
    for path in (f"/api/v1/experiments/{x}", f"/api/v1/experiments/{x}/trials", f"/api/v1/trials/{t}", f"/api/v1/trials/{t}/logs",
                 f"/api/v1/experiments/{x}/model_def", f"/experiments/{x}/model_def"):
        assert two.c.get(path, token=two.bob).status == 200, path
    assert two.c.get("/api/v1/experiments/99999/trials", token=two.bob).status == 404


def test_sharing_open_lets_everybody_change_and_owners_delete(open_two):
    two = open_two
    for method, path, body in changes_of(two, two.create(two.alice)):
        reply = two.c.request(method, path, body, token=two.bob)
        assert reply.status != 403, (path, reply)
    running, over = two.create(two.alice), two.ended(two.alice)
    two.c.post("/api/v1/projects/-1/experiments/pause", {"experimentIds": [running]}, token=two.bob)
    assert two.c.post("/api/v1/projects/-1/experiments/kill", {"experimentIds": [running]}, token=two.bob).json["results"][0]["error"] == ""
    for method, path, body in deletions_of(over):
        assert "belongs to user 'alice'" in error_of(two.c.request(method, path, body, token=two.bob), 403)
    [result] = two.c.request("DELETE", "/api/v1/projects/-1/experiments/delete", {"experimentIds": [over]}, token=two.bob).json["results"]
    assert "belongs to user 'alice'" in result["error"]
    [result] = two.c.post("/api/v1/runs/delete", {"runIds": [two.trial(over)]}, token=two.bob).json["results"]
    assert "belongs to user 'alice'" in result["error"]
    assert two.c.post("/api/v1/templates/t", {"name": "t", "config": {"name": "x"}}, token=two.alice).status == 200
    assert two.c.patch("/api/v1/templates/t", {"name": "y"}, token=two.bob).status == 200


def test_sharing_knows_two_words(new_cluster):
    c = new_cluster(config={"security": {"sharing": "everybody"}})
    c.start_master(wait=False)
    assert c.master.wait(60) != 0
    assert "security.sharing" in c.master_log() and "owners" in c.master_log()
    c.master = None


def test_who_did_it_is_written_down(two):
    """An admin pauses the experiment. Its owner can find out who did it."""
    c = two.c
    c.start_agent()
    try:
        x = two.create(two.alice, activate=True, entrypoint="echo up; sleep 1000")
        t = two.trial(x)
        log = lambda: "".join(line["result"]["log"] for line in c.get(f"/api/v1/trials/{t}/logs", token=two.alice).lines)  # noqa: E731
        wait_for("the trial", lambda: "up\n" in log())
        assert c.post(f"/api/v1/experiments/{x}/pause", token=two.admin).status == 200
        wait_for("its pause", lambda: two.shown(x)["state"] == "STATE_PAUSED" and "was paused by admin" in log())
        assert c.post(f"/api/v1/experiments/{x}/activate", token=two.alice).status == 200
        wait_for("its activation", lambda: "the trial was activated by alice" in log())
        assert c.patch(f"/api/v1/experiments/{x}", {"name": "renamed"}, token=two.admin).status == 200
        assert c.post("/api/v1/projects/-1/experiments/kill", {"experimentIds": [x]}, token=two.admin).status == 200
        wait_for("its end", lambda: two.shown(x)["state"] == "STATE_CANCELED")
        assert "was killed by admin" in log()
        events = [line for line in c.master_log().splitlines() if f"experiment.state exp={x} " in line]
        told = [re.search(r"from=(\S+) to=(\S+)(?: by=(\S+))?$", line).groups() for line in events]
        assert told == [("PAUSED", "ACTIVE", "alice"), ("ACTIVE", "PAUSED", "admin"), ("PAUSED", "ACTIVE", "alice"),
                        ("ACTIVE", "STOPPING_KILLED", "admin"), ("STOPPING_KILLED", "CANCELED", None)], told
        assert f"api.changed route=PatchExperiment experiment={x} by=admin" in c.master_log()
        assert "api.changed route=KillExperiments by=admin" in c.master_log()
    finally:
        c.stop_agent()
