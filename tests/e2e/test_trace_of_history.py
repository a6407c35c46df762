"""docs/pools.md says how the cluster's own history becomes a trace for `det simulate`."""
import csv
import json
import pathlib
import re
import signal
import sqlite3

import pytest
from support.det import det

GUIDE = pathlib.Path(__file__).parents[2] / "docs/pools.md"


def test_history_becomes_a_trace(new_cluster, tmp_path):
    c = new_cluster()
    if "db" in c.config:
        pytest.skip("the guide's query is for the file of a backup")
    c.start_master()
    c.start_agent(slots=2)
    c.login()
    for slots, priority in ((1, 42), (2, 10)):
        c.wait_experiment(c.create(entrypoint="sleep 0.1", resources={"slots_per_trial": slots, "priority": priority}))
    c.stop_master(signal.SIGTERM)
    [query] = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    rows = sqlite3.connect(c.dir / "data/determined.db").execute(query)
    with open(tmp_path / "jobs.csv", "w", newline="") as file:
        csv.writer(file).writerows([[column[0] for column in rows.description], *rows])
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("resource_pools: [{pool_name: default, agents: [{count: 1, slots: 2}]}]\n")
    result = json.loads(det(c, "simulate", tmp_path / "jobs.csv", "--cluster", cluster, "--json"))
    assert result[0]["all"]["jobs"] == 2 and result[0]["all"]["slots"] == 2
    [first, second] = csv.DictReader(open(tmp_path / "jobs.csv"))
    assert (first["slots"], first["priority"], first["pool"]) == ("1", "42", "default")
    assert (second["slots"], second["priority"]) == ("2", "10") and float(second["submit"]) > float(first["duration"]) > 0
