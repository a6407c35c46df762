"""Tests the reason that the API gives for an experiment that ended in error, and the release that the master names to clients."""
import signal


def failing(cluster, **changes):
    return cluster.create(entrypoint="exit 7", max_restarts=0, **changes)


def test_an_experiment_says_why_it_failed(cluster):
    x = failing(cluster)
    ended = cluster.wait_experiment(x)
    [trial] = cluster.trial_ids(x)
    assert (ended["state"], ended["failure"]) == ("STATE_ERROR", f"trial {trial} failed: exit code 7")
    listed = {e["id"]: e for e in cluster.get("/api/v1/experiments").json["experiments"]}
    assert listed[x]["failure"] == ended["failure"]


def test_one_that_completes_has_no_reason(cluster):
    x = cluster.create(entrypoint="true")
    assert "failure" not in cluster.wait_experiment(x)


def test_the_reason_is_gone_when_the_experiment_goes_on(cluster):
    x = failing(cluster)
    cluster.wait_experiment(x)
    assert cluster.post("/api/v1/experiments/continue", {"id": x, "overrideConfig": "entrypoint: 'true'"}).status == 200
    ended = cluster.wait_experiment(x)
    assert ended["state"] == "STATE_COMPLETED" and "failure" not in ended


def test_the_reason_outlives_a_crash_of_the_master(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    x = failing(c)
    before = c.wait_experiment(x)["failure"]
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert c.experiment(x)["failure"] == before


def test_clients_of_the_released_version_are_content(cluster):
    info, master = cluster.get("/info", token=None).json, cluster.get("/api/v1/master").json
    assert info["version"] == master["version"] == "0.38.1"
    assert info["program_version"] == master["programVersion"] != "0.38.1"
