"""Pools as they are configured, and the queues of their jobs."""
import json
import subprocess

import pytest
from support.cluster import BUILD, Cluster

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
