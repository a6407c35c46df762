"""The job queue by hand: who runs on the only slot, and what `det job` shows of it."""
import csv
import json
import signal

import pytest
from support.cluster import wait_for
from support.det import det, run_det

WAITS_TO_BE_PREEMPTED = """
import determined as det
import time
with det.core.init() as core:
    while not core.preempt.should_preempt():
        time.sleep(0.05)
"""


@pytest.fixture
def one_slot(new_cluster):
    c = new_cluster(config={"resource_manager": {"type": "agent", "scheduler": {"type": "priority", "preemption": True}}})
    c.start_master()
    c.start_agent(slots=1)
    c.login()
    return c


def table(cluster, *options):
    """(name, priority, slots, status) of each row, in its order."""
    rows = [[cell.strip() for cell in line.split("|")] for line in det(cluster, "job", "list", *options).splitlines()]
    assert rows[0] == ["#", "ID", "Type", "Job Name", "Priority", "Submitted", "Slots (acquired/needed)", "Status", "User"]
    return [(row[3], row[4], row[6], row[7]) for row in rows[2:]]


def wait_table(cluster, *rows):
    wait_for(f"det job list to show {rows}", lambda: table(cluster) == list(rows))


def test_ahead_of_swaps_who_runs_and_equal_priorities_keep_the_order(one_slot):
    first, second = (one_slot.create(name=name, files={"wait.py": WAITS_TO_BE_PREEMPTED}, entrypoint="python3 wait.py")
                     for name in ("first", "second"))
    a, b = (one_slot.experiment(x)["jobId"][:12] for x in (first, second))
    wait_table(one_slot, ("first", "42", "1/1", "STATE_SCHEDULED"), ("second", "42", "0/1", "STATE_QUEUED"))
    wait_for("the first to run", lambda: one_slot.experiment(first)["state"] == "STATE_RUNNING")
    det(one_slot, "job", "update", b, "--ahead-of", a)
    wait_table(one_slot, ("second", "42", "1/1", "STATE_SCHEDULED"), ("first", "42", "0/1", "STATE_QUEUED"))
    det(one_slot, "job", "update-batch", f"{a}.priority=1", f"{b}.priority=1")
    wait_table(one_slot, ("second", "1", "1/1", "STATE_SCHEDULED"), ("first", "1", "0/1", "STATE_QUEUED"))
    for x in (first, second):
        one_slot.post(f"/api/v1/experiments/{x}/kill")
        one_slot.wait_experiment(x)


@pytest.fixture
def two_pools(new_cluster):
    c = new_cluster(config={"resource_pools": [{"pool_name": "default"}, {"pool_name": "other"}]})
    c.start_master()
    for pool in ("default", "other"):
        c.start_agent(pool, slots=1, resource_pool=pool)
    c.login()
    return c


def test_the_list_of_pools_says_what_runs_and_waits_in_them(two_pools):
    c = two_pools
    x, y = (c.create(entrypoint="sleep 600") for _ in range(2))
    wait_for("one to run", lambda: any("1/1" in line for line in det(c, "resource-pool", "list").splitlines()))
    head, *rows = list(csv.reader(det(c, "resource-pool", "list", "--csv").splitlines()))
    assert head == ["Name", "Description", "Scheduler", "Default", "Agents", "Slots (used/all)", "Aux Tasks (running/most)",
                    "Jobs (running/waiting)"]
    assert rows == [["default", "", "priority", "compute, aux", "1", "1/1", "0/100", "1/1"],
                    ["other", "", "priority", "", "1", "0/1", "0/100", "0/0"]]
    for experiment in (x, y):
        c.post(f"/api/v1/experiments/{experiment}/kill")
        c.wait_experiment(experiment)


def test_a_job_that_goes_to_another_pool_stops_there_and_runs_here(two_pools):
    c = two_pools
    x, y = (c.create(name=name, files={"wait.py": WAITS_TO_BE_PREEMPTED}, entrypoint="python3 wait.py") for name in ("first", "second"))
    job = c.experiment(x)["jobId"]
    wait_for("the first to run", lambda: c.experiment(x)["state"] == "STATE_RUNNING")
    det(c, "job", "update-batch", f"{job[:12]}.resource-pool=other")
    wait_for("the first in the other pool", lambda: table(c, "-p", "other") == [("first", "42", "1/1", "STATE_SCHEDULED")])
    wait_for("the second in its place", lambda: table(c) == [("second", "42", "1/1", "STATE_SCHEDULED")])
    assert c.experiment(x)["resourcePool"] == c.experiment(x)["config"]["resources"]["resource_pool"] == "other"
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert table(c, "-p", "other")[0][0] == "first" and table(c)[0][0] == "second"
    det(c, "job", "update", job[:12], "--resource-pool", "default")
    wait_for("the first to wait", lambda: ("first", "42", "0/1", "STATE_QUEUED") in table(c))
    assert c.experiment(x)["resourcePool"] == "default"
    for experiment in (x, y):
        c.post(f"/api/v1/experiments/{experiment}/kill")
        c.wait_experiment(experiment)


@pytest.mark.parametrize("words, says", [
    (["update", "x"], "nothing to change"),
    (["update", "x", "--priority", "100"], "between 1 and 99"),
    (["update", "x", "--priority", "4294967297"], "out of range"),
    (["update", "x", "--weight", "nan"], "weight"),
    (["update", "x", "--ahead-of", "y"], "job x not found"),
    (["update", "x", "--resource-pool", "other"], "job x not found"),
    (["update-batch", "x"], "JOB_ID.KEY=VALUE"),
    (["update-batch", ".priority=1"], "JOB_ID.KEY=VALUE"),
    (["update-batch", "x.priority="], "value is missing"),
    (["update-batch", "x.priority=one"], "not a whole number"),
    (["update-batch", "x.weight=heavy"], "not a number"),
    (["update-batch", "x.colour=red"], "it can change"),
])
def test_what_cannot_be_is_refused(master, words, says):
    done = run_det(master, "job", *words)
    assert done.returncode != 0
    assert says in done.stderr


def test_creating_what_nothing_can_hold_warns_and_says_why(one_slot, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "wide.yaml").write_text(json.dumps(one_slot.experiment_config(resources={"slots_per_trial": 2})))
    done = run_det(one_slot, "experiment", "create", tmp_path / "wide.yaml", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert "it waits for some that can: needs 2 slots: pool default has 1 agent of 1." in done.stderr
    listed = run_det(one_slot, "job", "list")
    assert listed.returncode == 0 and "needs 2 slots" in listed.stderr and "needs 2 slots" not in listed.stdout
