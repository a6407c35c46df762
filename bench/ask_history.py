"""Questions about a master with a long history: 10,000 experiments, 100,000 trials, 1,000 of the experiments live.

The history is made from two experiments that the master made itself, one live and one killed: their rows are copied in the
stopped master's database, with new numbers.
"""
import functools
import os
import sqlite3

from ask_programs import until_health
from harness import Cluster, Row, directory, fsync_ms, question
from support.cluster import wait_for

EXPERIMENTS, TRIALS_EACH = int(os.environ.get("DET_BENCH_EXPERIMENTS", "10000")), 10
LIVE = EXPERIMENTS // 10
SEARCH = {"name": "random", "metric": "loss", "max_trials": TRIALS_EACH, "max_concurrent_trials": TRIALS_EACH}


@functools.cache
def columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def copy_rows(db, table, where, **changed):
    """Rows of a table again, with some columns changed by SQL expressions."""
    names = columns(db, table)
    db.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(changed.get(n, n) for n in names)} "
               f"FROM {table} WHERE {where}")


def copy_experiment(db, source, number, first_trial, shift):
    """Experiment `source` as number `number`; its trials' numbers are shifted."""
    def own(text):  # ids of tasks and allocations begin with the experiment's number
        return f"'{number}' || substr({text}, {len(str(source)) + 1})"
    trials = f"trial_id BETWEEN {first_trial} AND {first_trial + TRIALS_EACH - 1}"
    copy_rows(db, "jobs", f"id = (SELECT job_id FROM experiments WHERE id = {source})", id=f"'job-{number}'")
    copy_rows(db, "experiments", f"id = {source}", id=str(number), job_id=f"'job-{number}'")
    for table in ("experiment_documents", "model_definitions", "searcher_snapshots"):
        copy_rows(db, table, f"experiment_id = {source}", experiment_id=str(number))
    copy_rows(db, "trials", f"experiment_id = {source}", id=f"id + {shift}", experiment_id=str(number), task_id=own("task_id"))
    copy_rows(db, "tasks", trials, id=own("id"), job_id=f"'job-{number}'", trial_id=f"trial_id + {shift}")
    of_trials = f"task_id IN (SELECT id FROM tasks WHERE {trials})"
    copy_rows(db, "allocations", of_trials, id=own("id"), task_id=own("task_id"), trial_id=f"trial_id + {shift}")


def make_history(cluster):
    cluster.start_master()
    cluster.login()
    live, over = [cluster.create({"train.py": "print(1)\n"}, searcher=SEARCH, hyperparameters={
        "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}) for _ in range(2)]
    first = {x: min(cluster.experiment(x)["trialIds"]) for x in (live, over)}
    cluster.post(f"/api/v1/experiments/{over}/kill")
    wait_for("the end of the second experiment", lambda: cluster.experiment(over)["state"] == "STATE_CANCELED")
    cluster.stop_master()
    with sqlite3.connect(next((cluster.dir / "data").glob("*.db"))) as db:
        for number in range(3, EXPERIMENTS + 1):
            source = live if number <= LIVE + 1 else over
            copy_experiment(db, source, number, first[source], number * TRIALS_EACH - first[source] + 1)
    db.close()


@question
def restart():
    """How long does a master with 10,000 experiments, 100,000 trials and 1,000 live experiments take until /health answers?"""
    with directory() as path, Cluster(path) as cluster:
        make_history(cluster)
        disk, times = [], []
        for _ in range(5):
            times.append(until_health(cluster))
            cluster.stop_master()
            disk += fsync_ms(path, runs=5)
    yield Row(f"master: start with {EXPERIMENTS:,} experiments ({LIVE:,} live), {EXPERIMENTS * TRIALS_EACH:,} trials", times, "ms", "≤ 1000", "fsync of the disk", disk)
