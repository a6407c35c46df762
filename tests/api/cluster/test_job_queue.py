"""Tests resource pools as they are configured, and the queues of their jobs."""
import json
import signal
import subprocess

import pytest
from support.cluster import BUILD, PASSWORD, Cluster, wait_for

POOLS = {
    "resource_manager": {"type": "agent", "scheduler": {"type": "priority", "default_priority": 30, "preemption": True}},
    "resource_pools": [
        {"pool_name": "default"},
        {"pool_name": "own", "scheduler": {"type": "priority", "default_priority": 7, "fitting_policy": "worst"}},
        {"pool_name": "half", "scheduler": {"type": "priority", "aging": "1h"}},
        {"pool_name": "fair", "scheduler": {"type": "fair_share"}},
        {"pool_name": "round", "scheduler": {"type": "round_robin", "preemption": True}},
    ],
}


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("pools"), config=POOLS) as c:
        c.start_master()
        c.login()
        yield c


def test_pools_show_how_they_are_scheduled(pools):
    shown = {p["name"]: p for p in pools.get("/api/v1/resource-pools").json["resourcePools"]}
    short = {name: (p["schedulerType"].removeprefix("SCHEDULER_TYPE_"),
                    p["schedulerFittingPolicy"].removeprefix("FITTING_POLICY_"),
                    (d := p["details"].get("priorityScheduler")) and (d["defaultPriority"], d["preemption"]))
             for name, p in shown.items()}
    assert short == {"default": ("PRIORITY", "BEST", (30, True)),
                     "own": ("PRIORITY", "WORST", (7, False)),
                     "half": ("PRIORITY", "BEST", (30, False)),
                     "fair": ("FAIR_SHARE", "BEST", None),
                     "round": ("ROUND_ROBIN", "BEST", (30, True))}


@pytest.mark.parametrize("pool, priority", [("default", 30), ("own", 7), ("half", 30)])
def test_a_job_without_a_priority_gets_that_of_its_pool_or_of_the_resource_manager(pools, pool, priority):
    x = pools.create(resources={"resource_pool": pool})
    [job] = pools.get(f"/api/v1/job-queues-v2?resourcePool={pool}").json["jobs"]
    pools.post(f"/api/v1/experiments/{x}/kill")
    assert job["full"]["priority"] == priority


def test_the_legacy_round_robin_takes_all_jobs_for_equal(pools):
    ids = [pools.create(resources={"resource_pool": "round", "priority": priority}) for priority in (90, 1)]
    jobs = [j["full"] for j in pools.get("/api/v1/job-queues-v2?resourcePool=round").json["jobs"]]
    for x in ids:
        pools.post(f"/api/v1/experiments/{x}/kill")
    assert [(int(j["entityId"]), j["priority"]) for j in jobs] == [(x, 42) for x in ids]
    assert "round: round_robin runs as priority with equal priorities" in pools.master_log()


@pytest.mark.parametrize("scheduler, mistake", [
    ({"type": "lottery"}, "lottery"),
    ({"type": "priority", "default_priority": 100}, "default_priority"),
    ({"type": "priority", "aging": "-1s"}, "aging"),
    ({"type": "priority", "aging": "soon"}, "aging"),
    ({"type": "fair_share", "aging": "1h"}, "aging"),
    ({"type": "fair_share", "preemption": True}, "preemption"),
])
def test_a_scheduler_that_cannot_be_is_refused_by_name(tmp_path, scheduler, mistake):
    file = tmp_path / "master.yaml"
    file.write_text(json.dumps({"resource_pools": [{"pool_name": "default", "scheduler": scheduler}]}))
    done = subprocess.run([BUILD / "determined-master", "config", "check", "--config-file", file], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1
    assert mistake in done.stderr


# ---- changing the queue -----------------------------------------------------------------------------------------------

class Queue:
    """Makes three jobs, a, b and c, that wait in a pool."""

    def __init__(self, cluster, pool):
        self.cluster, self.pool = cluster, pool
        self.experiments = {name: cluster.create(name=name, resources={"resource_pool": pool}) for name in "abc"}
        self.id = {name: cluster.experiment(x)["jobId"] for name, x in self.experiments.items()}

    def jobs(self):
        return [j["full"] for j in self.cluster.get(f"/api/v1/job-queues-v2?resourcePool={self.pool}").json["jobs"]]

    def order(self):
        return "".join(j["name"] for j in self.jobs())

    def priorities(self):
        return {j["name"]: j["priority"] for j in self.jobs()}

    def update(self, *changes):
        """Changes the queue. Each change is a job, the kind of change, and a value or another job."""
        return self.cluster.post("/api/v1/job-queues", {"updates": [
            {"jobId": self.id.get(job, job), what: self.id.get(value, value) if isinstance(value, str) else value}
            for job, what, value in changes]})

    def end(self):
        for x in self.experiments.values():
            self.cluster.post(f"/api/v1/experiments/{x}/kill")


@pytest.fixture
def queue(pools):
    made = Queue(pools, "default")
    yield made
    made.end()


@pytest.fixture
def fair(pools):
    made = Queue(pools, "fair")
    yield made
    made.end()


@pytest.mark.parametrize("changes, order", [
    ([("c", "aheadOf", "a")], "cab"),
    ([("a", "behindOf", "c")], "bca"),
    ([("c", "behindOf", "a")], "acb"),
    ([("b", "aheadOf", "c")], "abc"),
    ([("c", "priority", 1)], "cab"),
    ([("a", "priority", 99)], "bca"),
    ([("a", "priority", 1), ("c", "priority", 1)], "acb"),
    ([("a", "priority", 99), ("c", "aheadOf", "a")], "bca"),
    ([("c", "aheadOf", "b"), ("b", "aheadOf", "a")], "cba"),
    ([("a", "aheadOf", "a")], "abc"),  # as when the first job is moved to the top
    ([("b", "behindOf", "b"), ("c", "aheadOf", "b")], "acb"),
    ([], "abc"),
])
def test_a_batch_changes_the_order(queue, changes, order):
    assert queue.update(*changes).status == 200
    assert queue.order() == order
    assert [j["summary"]["jobsAhead"] for j in queue.jobs()] == [0, 1, 2]


def test_a_change_of_priority_keeps_the_place_among_equals(queue):
    queue.update(("c", "aheadOf", "a"))
    assert queue.update(*((name, "priority", 5) for name in "abc")).status == 200
    assert queue.order() == "cab"
    assert queue.priorities() == {"a": 5, "b": 5, "c": 5}


def test_a_moved_job_takes_over_the_priority_and_its_configuration_says_so(queue):
    queue.update(("a", "priority", 3))
    queue.update(("c", "behindOf", "a"))
    assert (queue.order(), queue.priorities()) == ("acb", {"a": 3, "b": 30, "c": 3})
    assert queue.cluster.experiment(queue.experiments["c"])["config"]["resources"]["priority"] == 3


def test_a_move_that_keeps_the_place_takes_over_the_priority_all_the_same(queue):
    queue.update(("c", "priority", 40))
    assert queue.update(("c", "behindOf", "b")).status == 200
    assert (queue.order(), queue.priorities()) == ("abc", {"a": 30, "b": 30, "c": 30})
    queue.update(("a", "priority", 20))
    assert queue.update(("a", "aheadOf", "b")).status == 200
    assert (queue.order(), queue.priorities()) == ("abc", {"a": 30, "b": 30, "c": 30})
    assert queue.cluster.experiment(queue.experiments["a"])["config"]["resources"]["priority"] == 30


def test_the_order_survives_a_crash_of_the_master(queue):
    queue.update(("c", "aheadOf", "a"), ("b", "priority", 2))
    queue.cluster.stop_master(signal.SIGKILL)
    queue.cluster.start_master()
    assert (queue.order(), queue.priorities()) == ("bca", {"a": 30, "b": 2, "c": 30})


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(queue):
    assert queue.update((queue.id["c"][:12], "aheadOf", queue.id["a"][:12])).status == 200
    assert queue.order() == "cab"
    assert queue.update(("", "priority", 1)).status == 400


@pytest.mark.parametrize("changes, status, says", [
    ([("a", "priority", 0)], 400, "priority must be between 1 and 99"),
    ([("a", "priority", 100)], 400, "priority must be between 1 and 99"),
    ([("a", "priority", -1)], 400, "priority must be between 1 and 99"),
    ([("a", "weight", 2)], 400, "scheduled by priority and has no weights"),
    ([("a", "weight", "NaN")], 400, "weight"),
    ([("nobody", "priority", 1)], 404, "job nobody not found"),
    ([("a", "aheadOf", "nobody")], 404, "job nobody not found"),
    ([("a", "aheadOf", "b"), ("b", "aheadOf", "a")], 400, "contradictory batch"),
    ([("a", "aheadOf", "b"), ("b", "behindOf", "c"), ("c", "behindOf", "a")], 400, "contradictory batch"),
    ([("a", "aheadOf", "b"), ("a", "behindOf", "c")], 400, "gets two places"),
    ([("a", "priority", 1), ("a", "priority", 2)], 400, "gets two priorities"),
    ([("a", "priority", 1), ("a", "behindOf", "c")], 400, "among jobs of priority 30"),
    ([("a", "resourcePool", "nowhere")], 404, 'resource pool "nowhere" does not exist'),
    ([("a", "resourcePool", "")], 404, "does not exist"),
    ([("a", "resourcePool", "default")], 400, "resource pool is unchanged (default == default)"),
    ([("b", "priority", 3), ("a", "resourcePool", "own"), ("a", "resourcePool", "half")], 400, "gets two resource pools"),
    ([("a", "resourcePool", "own"), ("a", "behindOf", "c")], 400, "contradictory batch"),
])
def test_a_refused_batch_changes_nothing(queue, changes, status, says):
    refused = queue.update(*changes)
    assert refused.status == status, refused
    assert says in refused.json["error"]["error"]
    assert (queue.order(), queue.priorities()) == ("abc", {"a": 30, "b": 30, "c": 30})


def test_what_is_before_a_refused_change_does_not_happen(queue):
    assert queue.update(("c", "aheadOf", "a"), ("b", "priority", 0)).status == 400
    assert queue.update(("b", "priority", 1), ("nobody", "aheadOf", "a")).status == 404
    assert (queue.order(), queue.priorities()) == ("abc", {"a": 30, "b": 30, "c": 30})


def test_a_change_without_or_with_two_actions_is_refused(queue):
    for body in ({}, {"priority": 1, "aheadOf": queue.id["b"]}):
        assert queue.cluster.post("/api/v1/job-queues", {"updates": [{"jobId": queue.id["a"], **body}]}).status == 400
    assert queue.order() == "abc"


def test_jobs_without_a_place_and_of_other_pools_cannot_be_moved_beside(queue, fair):
    c = queue.cluster
    paused = c.experiment(c.create(activate=False))["jobId"]
    done = queue.update(("a", "behindOf", paused))
    assert done.status != 200 and "has no place in the queue" in done.json["error"]["error"]
    assert "different resource pools, default and fair" in queue.update(("a", "behindOf", fair.id["a"])).json["error"]["error"]


def test_fair_share_knows_weights_and_no_order(fair):
    assert fair.update(("a", "weight", 2.5)).status == 200
    assert [(j["name"], j["weight"], j["summary"]["jobsAhead"]) for j in fair.jobs()] == [("a", 2.5, -1), ("b", 1, -1), ("c", 1, -1)]
    assert fair.cluster.experiment(fair.experiments["a"])["config"]["resources"]["weight"] == 2.5
    tasks = fair.cluster.get("/api/v1/tasks").json["allocationIdToSummary"].values()
    assert {(t["schedulerType"], t.get("priority")) for t in tasks if t["resourcePool"] == "fair"} == {("fair_share", None)}
    for change, says in ((("a", "priority", 1), "has no priorities"),
                         (("a", "aheadOf", "b"), "unable to perform operation on resource pool with fair_share"),
                         *((("a", "weight", bad), "weight must be") for bad in (0, -1, "NaN", "Infinity", "-Infinity"))):
        refused = fair.update(change)
        assert refused.status == 400 and says in refused.json["error"]["error"], refused
    refused = fair.update(("b", "weight", 3), ("c", "weight", "NaN"))
    assert refused.status == 400
    assert [j["weight"] for j in fair.jobs()] == [2.5, 1, 1], "a refused batch changes nothing"


@pytest.mark.parametrize("weight", [".nan", ".inf", "-1"])
def test_no_weight_that_is_no_share_enters_by_a_configuration_or_a_patch(fair, weight):
    c = fair.cluster
    config = json.dumps(c.experiment_config(resources={"slots_per_trial": 1, "resource_pool": fair.pool, "weight": "WEIGHT"}))
    refused = c.post("/api/v1/experiments", {"config": config.replace('"WEIGHT"', weight), "activate": True})
    assert refused.status == 400 and "resources.weight" in refused.json["error"]["error"], refused
    number = {".nan": "NaN", ".inf": "Infinity"}.get(weight, weight)
    refused = c.patch(f"/api/v1/experiments/{fair.experiments['b']}", {"id": fair.experiments["b"], "resources": {"weight": number}})
    assert refused.status == 400 and "weight" in refused.json["error"]["error"], refused
    assert [j["weight"] for j in fair.jobs() if j["name"] == "b"] == [1]


def test_only_administrators_change_the_queue_where_it_is_controlled(new_cluster):
    c = new_cluster(config={"security": {"initial_user_password": PASSWORD, "authz": {"strict_job_queue_control": True}}})
    c.start_master()
    c.login()
    queue = Queue(c, "default")
    assert queue.update(("c", "aheadOf", "a")).status == 403
    c.login("admin")
    assert queue.update(("c", "aheadOf", "a")).status == 200
    assert queue.order() == "cab"


# ---- reasons and estimates --------------------------------------------------------------------------------------------

def job_of(cluster, experiment, pool="default"):
    [job] = [j["full"] for j in cluster.get(f"/api/v1/job-queues-v2?resourcePool={pool}").json["jobs"] if j["full"]["entityId"] == str(experiment)]
    return job


def test_every_waiting_job_says_why_and_a_launch_that_nothing_can_hold_warns(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login()
    reply = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(resources={"slots_per_trial": 1})), "activate": True})
    assert reply.json["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    first = reply.json["experiment"]["id"]
    assert job_of(c, first)["summary"]["reason"] == "pool default has no agents"
    c.start_agent(slots=2)
    running = c.create(entrypoint="sleep 600", resources={"slots_per_trial": 1})
    three = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(resources={"slots_per_trial": 3})), "activate": True}).json
    assert three["warnings"] == ["LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED"]
    says = "needs 3 slots: pool default has agents of 2; use a multiple of 2 or ≤ 2"
    assert job_of(c, three["experiment"]["id"])["summary"]["reason"] == says
    assert c.get(f"/api/v1/experiments/{three['experiment']['id']}").json["jobSummary"]["reason"] == says
    fitting = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(resources={"slots_per_trial": 2})), "activate": True}).json
    assert fitting.get("warnings", []) == []
    assert "reason" not in job_of(c, running)["summary"] and "estimatedStart" not in job_of(c, running)["summary"]
    c.post(f"/api/v1/experiments/{running}/kill")
    c.wait_experiment(running)


def test_the_estimate_of_a_start_survives_a_restart(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent(slots=1)
    c.login()
    ended = [c.create(entrypoint="true") for _ in range(10)]
    for x in ended:
        c.wait_experiment(x)
    running = c.create(entrypoint="sleep 600")
    waiting = c.create()
    before = job_of(c, waiting)["summary"]
    assert before["reason"] == "needs 1 slot: none is free in pool default" and before["estimatedStart"]
    c.stop_master(signal.SIGKILL)
    c.start_master()
    wait_for("the agent to be back, and the estimate", lambda: job_of(c, waiting)["summary"].get("estimatedStart"))
    c.post(f"/api/v1/experiments/{running}/kill")
    c.wait_experiment(running)


def test_where_launch_error_is_set_what_nothing_can_hold_is_refused(new_cluster):
    c = new_cluster(config={"launch_error": True})
    c.start_master()
    c.start_agent(slots=2)
    c.login()
    refused = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config(resources={"slots_per_trial": 3})), "activate": True})
    assert refused.status == 400
    assert "slots requested exceeds cluster capacity" in refused.json["error"]["error"]
    assert "pool default has agents of 2" in refused.json["error"]["error"]
    assert c.get("/api/v1/experiments").json["experiments"] == []
    c.create(resources={"slots_per_trial": 2})


# ---- further changes that are refused ---------------------------------------------------------------------------------

def test_the_queue_of_an_unknown_pool_is_not_found(pools):
    for route in ("job-queues-v2", "job-queues"):
        refused = pools.get(f"/api/v1/{route}?resourcePool=nowhere")
        assert refused.status == 404 and 'resource pool "nowhere" does not exist' in refused.json["error"]["error"]
        assert pools.get(f"/api/v1/{route}").status == 200


def test_a_patch_of_an_experiment_heeds_how_its_pool_is_scheduled(fair, queue):
    x, y = fair.experiments["a"], queue.experiments["a"]

    def patch(cluster, experiment, **resources):
        return cluster.patch(f"/api/v1/experiments/{experiment}", {"resources": resources})
    assert patch(fair.cluster, x, weight=3).status == 200
    for experiment, change, says in ((x, {"priority": 3}, "fair is scheduled by fair_share and has no priorities"),
                                     (y, {"weight": 3}, "default is scheduled by priority and has no weights"),
                                     (y, {"priority": 3, "weight": 3}, "has no weights")):
        refused = patch(fair.cluster, experiment, **change)
        assert refused.status == 400 and says in refused.json["error"]["error"]
    assert fair.jobs()[0]["weight"] == 3 and queue.priorities()["a"] == 30


def test_the_stats_of_the_queues_count_what_waits_and_what_runs(new_cluster):
    c = new_cluster(config={"resource_pools": [{"pool_name": "default"}, {"pool_name": "empty"}]})
    c.start_master()
    c.start_agent(slots=1)
    c.login()
    running = c.create(entrypoint="sleep 600")
    c.create()
    c.create(activate=False)

    def stats(query=""):
        return {s["resourcePool"]: (s["stats"]["queuedCount"], s["stats"]["scheduledCount"])
                for s in c.get(f"/api/v1/job-queues/stats{query}").json["results"]}
    assert stats() == {"default": (1, 1), "empty": (0, 0)}
    assert stats("?resourcePools=empty") == {"empty": (0, 0)}
    [pool] = [p for p in c.get("/api/v1/resource-pools").json["resourcePools"] if p["name"] == "default"]
    assert (pool["stats"]["queuedCount"], pool["stats"]["scheduledCount"]) == (1, 1)
    c.post(f"/api/v1/experiments/{running}/kill")
    c.wait_experiment(running)


def test_default_pools_limits_and_container_defaults_are_each_pools_own(new_cluster):
    def variables(*texts):
        return {"environment_variables": list(texts)}
    c = new_cluster(config={
        "resource_manager": {"type": "agent", "default_compute_resource_pool": "large", "default_aux_resource_pool": "small"},
        "task_container_defaults": variables("WHERE=cluster", "ALL=1"),
        "resource_pools": [{"pool_name": "large"}, {"pool_name": "small", "max_aux_containers_per_agent": 2,
                                                    "task_container_defaults": variables("WHERE=small")}]})
    c.start_master()
    c.start_agent("one", slots=1, resource_pool="large")
    c.start_agent("two", slots=0, resource_pool="small")
    c.login()
    shown = {p["name"]: (p["defaultComputePool"], p["defaultAuxPool"], p["auxContainerCapacityPerAgent"], p["auxContainerCapacity"])
             for p in c.get("/api/v1/resource-pools").json["resourcePools"]}
    assert shown == {"large": (True, False, 100, 100), "small": (False, True, 2, 2)}
    compute = c.create(entrypoint="sleep 600")
    aux = [c.create(entrypoint="sleep 600", resources={"slots_per_trial": 0}) for _ in range(3)]
    configs = [c.experiment(x)["config"] for x in (compute, aux[0])]
    assert [config["resources"]["resource_pool"] for config in configs] == ["large", "small"]
    assert [config["environment"]["environment_variables"]["cpu"] for config in configs] == [
        ["WHERE=cluster", "ALL=1"], ["WHERE=cluster", "ALL=1", "WHERE=small"]]
    waits = "needs no slot: all agents of pool small have as many such tasks as they take"
    assert [job_of(c, x, "small")["summary"].get("reason") for x in aux] == [None, None, waits]
    for x in (compute, *aux):
        c.post(f"/api/v1/experiments/{x}/kill")
    for x in (compute, *aux):
        c.wait_experiment(x)


def test_what_tasks_get_of_the_defaults_beside_their_configuration_is_each_pools_own(new_cluster):
    def defaults(hook, **more):
        return {"startup_hook": f"HOOKS=\"$HOOKS {hook}\"; export HOOKS", **more}
    c = new_cluster(config={
        "task_container_defaults": defaults("cluster", gloo_port_range="7000:7100", dtrain_network_interface="eth0"),
        "resource_pools": [{"pool_name": "default"},
                           {"pool_name": "other", "task_container_defaults": defaults("other", gloo_port_range="8000:8100",
                                                                                      nccl_port_range="9000:9100")}]})
    c.start_master()
    for pool in ("default", "other"):
        c.start_agent(pool, slots=1, resource_pool=pool)
    c.login()

    def seen(pool):
        x = c.create({"startup-hook.sh": "HOOKS=\"$HOOKS own\"\n"}, resources={"resource_pool": pool}, entrypoint=
                     "echo saw $GLOO_PORT_RANGE $NCCL_PORT_RANGE $DET_INTER_NODE_NETWORK_INTERFACE $HOOKS")
        c.wait_experiment(x)
        [trial] = c.trial_ids(x)
        return [line.partition("saw ")[2] for line in c.trial_log(trial).splitlines() if "saw " in line and "echo" not in line]
    assert seen("default") == ["7000:7100 eth0 cluster own"]
    assert seen("other") == ["8000:8100 9000:9100 eth0 other own"]
