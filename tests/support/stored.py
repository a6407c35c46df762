#!/usr/bin/env python3
"""Stores of earlier versions, as their own programs left them: tests/stores/vNNNN-ENGINE.sql, and vNNNN.json with their contents.

    tests/support/stored.py make [PROGRAMS]    makes them with the programs of a build (default: build/); to be run at each release

NNNN is the number of the last migration. A file that exists is never made again, since it is what users have on their disks.
"""
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support import postgres  # noqa: E402
from support.cluster import BUILD, Cluster, client_hash  # noqa: E402

STORES = pathlib.Path(__file__).resolve().parent.parent / "stores"
USER, PASSWORD = "ann", "Ann-Passw0rd"
CHECKPOINT = "0a1b2c3d-1111-4222-8333-444455556666"


def versions():
    return sorted(int(path.stem[1:]) for path in STORES.glob("v*.json"))


# ---- what is stored, and what every later version has to show ----

def ok(reply):
    assert reply.status == 200, reply
    return reply.json


def fill(c):
    """Stores some of everything that version 1 serves: users, an experiment that ran, one that waits, metrics, a checkpoint, logs,
    settings."""
    c.login("admin")
    ann = ok(c.post("/api/v1/users", {"user": {"username": USER, "active": True, "displayName": "Ann A."},
                                      "password": client_hash(PASSWORD), "isHashed": True}))["user"]["id"]
    c.login(USER, PASSWORD)
    ok(c.post("/api/v1/users/setting", {"settings": [{"storagePath": "p", "key": "k", "value": "{\"v\":1}"}]}))
    ran = c.create(files={"train.sh": "for i in 1 2 3; do echo line $i; done; echo grün >&2\n"}, entrypoint=["sh", "train.sh"],
                   name="ran", labels=["a", "b"], description="words")
    assert c.wait_experiment(ran)["state"] == "STATE_COMPLETED"
    [trial] = c.trial_ids(ran)
    for group, step, metrics in (("training", 10, {"loss": 0.5}), ("training", 20, {"loss": 0.25, "note": "x"}),
                                 ("validation", 20, {"loss": 0.375, "nan": "NaN"}), ("mine", 1, {"x": {"deep": [1, None]}})):
        ok(c.post(f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
            "trialId": trial, "trialRunId": 1, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}}))
    task = ok(c.get(f"/api/v1/trials/{trial}"))["trial"]["taskId"]
    ok(c.report_checkpoint({"uuid": CHECKPOINT, "taskId": task, "resources": {"a": "3", "b/": 0},
                            "metadata": {"steps_completed": 20, "k": [1]}, "state": "STATE_COMPLETED"}))
    waits = c.create(name="waits", activate=False, searcher={"name": "random", "metric": "loss", "max_trials": 2},
                     hyperparameters={"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}})
    return {"user": ann, "ran": ran, "waits": waits, "trial": trial}


def some(value, *names):
    return {name: value.get(name) for name in names}


def observe(c, ids):
    """Returns what a user sees of all that. Every later version has to show the same."""
    c.login(USER, PASSWORD)
    trial = ok(c.get(f"/api/v1/trials/{ids['trial']}"))["trial"]
    reports = [r for group in ("training", "validation", "mine")
               for line in c.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={ids['trial']}&group={group}").lines
               for r in line["result"]["metrics"]]
    return {
        "me": some(ok(c.get("/api/v1/me"))["user"], "id", "username", "displayName", "admin", "active"),
        "settings": ok(c.get("/api/v1/users/setting"))["settings"],
        "experiments": [some(c.experiment(x), "id", "name", "state", "labels", "description", "startTime", "endTime", "numTrials",
                             "projectName", "workspaceName", "username", "checkpointCount", "checkpointSize", "originalConfig")
                        for x in (ids["ran"], ids["waits"])],
        "model": ok(c.get(f"/api/v1/experiments/{ids['ran']}/model_def"))["b64Tgz"],
        "trial": some(trial, "id", "state", "hparams", "startTime", "endTime", "totalBatchesProcessed", "restarts", "bestValidation",
                      "latestValidation", "summaryMetrics", "checkpointCount"),
        "reports": [some(r, "totalBatches", "metrics", "endTime", "group", "trialRunId") for r in reports],
        "checkpoint": some(ok(c.get(f"/api/v1/checkpoints/{CHECKPOINT}"))["checkpoint"], "uuid", "resources", "metadata", "state",
                           "reportTime", "training"),
        "log": [some(line["result"], "id", "timestamp", "log", "level", "stdtype", "agentId", "rankId")
                for line in c.get(f"/api/v1/trials/{ids['trial']}/logs").lines],
    }


# ---- writing a store to a file and reading it ----

def sqlite_file(cluster):
    return cluster.dir / "data/determined.db"


def dump_sqlite(cluster):
    with contextlib.closing(sqlite3.connect(sqlite_file(cluster))) as db:
        return "\n".join(db.iterdump()) + "\n"


def load_sqlite(text, cluster):
    sqlite_file(cluster).parent.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(sqlite_file(cluster))) as db:
        db.executescript(text)


def dump_postgres(server, name):
    text = subprocess.run([postgres.BINARIES / "pg_dump", "-h", server.dir, "-U", "postgres", "--inserts", "--no-owner",
                           "--no-privileges", name], check=True, stdout=subprocess.PIPE, text=True).stdout
    # Older versions of psql do not know these commands.
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("\\restrict ", "\\unrestrict ")))


def load_postgres(text, server, name):
    subprocess.run([postgres.BINARIES / "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-h", server.dir, "-U", "postgres", "-d", name],
                   check=True, input=text, stdout=subprocess.DEVNULL, text=True)


def place(engine, version, cluster):
    """Puts the stored store of that version where the cluster's master will look for it."""
    text = (STORES / f"v{version:04}-{engine}.sql").read_text()
    if engine == "sqlite":
        cluster.config.pop("db", None)
        load_sqlite(text, cluster)
    else:
        cluster.config["db"] = postgres.shared().new_database()
        load_postgres(text, postgres.shared(), cluster.config["db"]["name"])


def expected(version, engine):
    stored = json.loads((STORES / f"v{version:04}.json").read_text())[engine]
    return stored["ids"], stored["seen"]


# ---- making the stores ----

def filled(programs, directory, config):
    """Makes a store, and returns the stopped cluster and what is in its store."""
    with Cluster(directory, config=config, programs=programs) as c:
        c.start_master()
        c.start_agent()
        ids = fill(c)
        seen = observe(c, ids)
        c.stop_agent()
        c.stop_master()
        return c, {"ids": ids, "seen": seen}


def version_of(cluster):
    with contextlib.closing(sqlite3.connect(sqlite_file(cluster))) as db:
        [[version]] = db.execute("SELECT max(number) FROM migrations")
    return version


def make(programs):
    with tempfile.TemporaryDirectory(prefix="det-stored-") as path:
        directory = pathlib.Path(path)
        directory.chmod(0o711)
        db = postgres.shared().new_database()
        c, in_file = filled(programs, directory / "sqlite", {})
        _, on_server = filled(programs, directory / "postgres", {"db": db})
        name = f"v{version_of(c):04}"
        if (STORES / f"{name}.json").exists():
            sys.exit(f"tests/stores/{name} is there already, and stays what it is")
        (STORES / f"{name}-sqlite.sql").write_text(dump_sqlite(c))
        (STORES / f"{name}-postgres.sql").write_text(dump_postgres(postgres.shared(), db["name"]))
        made = {"sqlite": in_file, "postgres": on_server}
        (STORES / f"{name}.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        print(f"made tests/stores/{name}*")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] != "make":
        sys.exit(__doc__)
    make(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else BUILD)
