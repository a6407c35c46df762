"""Tests who is said to have used how many slots for how long, and what Prometheus set-ups of release 0.38.1 read."""
import csv
import datetime
import io
import json
import re
import urllib.parse

import pytest
from support.cluster import Cluster, wait_for
from support.det import det, run_det

PRICE = 3.5
DAILY, MONTHLY = (f"RESOURCE_ALLOCATION_AGGREGATION_PERIOD_{p}" for p in ("DAILY", "MONTHLY"))
SPAN = {"timestamp_after": "2020-01-01T00:00:00Z", "timestamp_before": "2100-01-01T00:00:00Z"}
LABELS = ["team, blue", "plain"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster with two slots whose pool has a price, in which one trial has run, and another has failed."""
    config = {"resource_pools": [{"pool_name": "default", "slot_hour_price": PRICE}]}
    with Cluster(tmp_path_factory.mktemp("cluster"), config) as c:
        c.start_master()
        c.login()
        c.start_agent(slots=2)
        c.done = c.create(entrypoint=["true"], labels=LABELS)
        c.failed = c.create(entrypoint=["false"], max_restarts=0)
        for x in (c.done, c.failed):
            c.wait_experiment(x)
        yield c


def page(cluster, name, **query):
    return cluster.get(f"/resources/allocation/{name}?{urllib.parse.urlencode(query)}")


def table(cluster, name, **query):
    reply = page(cluster, name, **query)
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/csv"), reply
    return list(csv.DictReader(io.StringIO(reply.body.decode())))


def month():
    """The days of this month, as a request has them. A test that begins on its last day and ends on the next is no worse off."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return {"start_date": str(today.replace(day=1) - datetime.timedelta(days=1)), "end_date": str(today + datetime.timedelta(days=1))}


def test_each_allocation_has_a_line(cluster):
    reply = page(cluster, "allocations-csv", **SPAN)
    head = reply.body.decode().splitlines()[0]
    assert head == ("allocation_id,task_type,username,workspace_name,experiment_id,slots,start_time,end_time,imagepulling_time,slot_hours,"
                    "resource_pool")
    [row] = [r for r in table(cluster, "allocations-csv", **SPAN) if r["experiment_id"] == str(cluster.done)]
    assert (row["task_type"], row["username"], row["workspace_name"], row["slots"]) == ("TRIAL", "determined", "Uncategorized", "1")
    assert row["resource_pool"] == "default" and 0 < float(row["imagepulling_time"]) <= float(row["slot_hours"]) * 3600
    assert row["start_time"] < row["end_time"] and row["end_time"].endswith("Z")


def test_the_raw_table_has_the_predecessors_columns_and_the_same_as_its_message(cluster):
    rows = table(cluster, "raw", **SPAN)
    assert list(rows[0]) == "experiment_id,kind,username,labels,slots,start_time,end_time,seconds".split(",")
    [row] = [r for r in rows if r["experiment_id"] == str(cluster.done)]
    assert row["kind"] == "training" and row["username"] == "determined"
    assert sorted(re.split(r"(?<!\\),", row["labels"])) == ["plain", r"team\, blue"]
    reply = cluster.get("/api/v1/resources/allocation/raw?timestampAfter=2020-01-01T00:00:00Z&timestampBefore=2100-01-01T00:00:00Z").json
    [entry] = [e for e in reply["resourceEntries"] if e["experimentId"] == cluster.done]
    assert sorted(entry["labels"]) == sorted(LABELS) and entry["slots"] == 1 and entry["username"] == "determined"
    assert entry["seconds"] == pytest.approx(float(row["seconds"]), rel=1e-4)


def test_sums_agree_with_each_other_and_with_the_message(cluster):
    days = table(cluster, "aggregated", **month(), period=DAILY)
    assert list(days[0]) == ["aggregation_type", "aggregation_key", "date", "seconds"]
    assert {r["aggregation_type"] for r in days} == {"experiment_label", "username", "resource_pool", "total"}
    assert {r["aggregation_key"] for r in days if r["aggregation_type"] == "experiment_label"} == set(LABELS)

    def total(rows, kind):
        return sum(float(r["seconds"]) for r in rows if r["aggregation_type"] == kind)

    used = total(days, "total")
    assert used > 0 and total(days, "username") == pytest.approx(used) == pytest.approx(total(days, "resource_pool"))
    more = table(cluster, "aggregated", **month(), period=DAILY, by="agent,workspace,experiment,task_type")
    for kind in ("agent", "workspace", "experiment", "task_type"):
        assert total(more, kind) == pytest.approx(used), kind
    assert {r["aggregation_key"] for r in more if r["aggregation_type"] == "experiment"} == {str(cluster.done), str(cluster.failed)}
    asked = {**month(), "startDate": month()["start_date"], "endDate": month()["end_date"], "period": DAILY}
    entries = cluster.get(f"/api/v1/resources/allocation/aggregated?{urllib.parse.urlencode(asked)}").json["resourceEntries"]
    assert sum(e["seconds"] for e in entries) == pytest.approx(used, rel=1e-4)
    months = table(cluster, "aggregated", **{k: v[:7] for k, v in month().items()}, period=MONTHLY)
    assert total(months, "total") == pytest.approx(used) and all(len(r["date"]) == 7 for r in months)


def test_the_summary_tells_what_was_idle_what_failed_and_what_it_costs(cluster):
    cluster.stop_agent()  # the end of its connection writes down that it was there until now
    wait_for("the agent's time", lambda: any(float(r["available_slot_hours"] or 0) > 0 for r in table(cluster, "summary", **month())))
    rows = table(cluster, "summary", **month())
    cluster.start_agent(slots=2)
    used, failed = (sum(float(r[name]) for r in rows) for name in ("used_slot_hours", "failed_slot_hours"))
    there = sum(float(r["available_slot_hours"] or 0) for r in rows)
    assert 0 < failed < used < there
    for r in rows:
        assert float(r["cost"]) == pytest.approx(float(r["used_slot_hours"]) * PRICE, abs=0.006)
    if len(rows) == 1:
        assert float(rows[0]["idle_share"]) == pytest.approx(1 - used / there, abs=0.05)  # the hours are rounded
    people = table(cluster, "summary", **month(), by="username")
    assert {r["key"] for r in people} == {"determined"} and sum(float(r["used_slot_hours"]) for r in people) == pytest.approx(used, abs=1e-5)


def test_what_was_used_stays_when_the_experiment_is_deleted(cluster):
    x = cluster.create(entrypoint=["true"], labels=["secret project"])
    cluster.wait_experiment(x)
    assert cluster.request("DELETE", f"/api/v1/experiments/{x}").status == 200
    wait_for("the deletion", lambda: cluster.get(f"/api/v1/experiments/{x}").status == 404)
    [row] = [r for r in table(cluster, "raw", **SPAN) if r["experiment_id"] == str(x)]
    assert row["labels"] == "secret project" and float(row["seconds"]) > 0


@pytest.mark.parametrize("path,words", [
    ("raw", "timestamp_after is ''"),
    ("raw?timestamp_after=yesterday&timestamp_before=2026-01-01T00:00:00Z", "timestamp_after is 'yesterday'"),
    ("raw?timestamp_after=2026-02-01T00:00:00Z&timestamp_before=2026-01-01T00:00:00Z", "later than"),
    ("allocations-csv?timestamp_after=2026-02-01T00:00:00Z", "timestamp_before is ''"),
    ("aggregated?start_date=2026-13-01&end_date=2026-12-01", "start_date is '2026-13-01'"),
    ("aggregated?start_date=2026-11-02&end_date=2026-11-01", "later than"),
    ("aggregated?start_date=2026-11&end_date=2026-11", "expected a day"),
    ("aggregated?start_date=2026-11-01&end_date=2026-11-01&period=WEEKLY", "WEEKLY"),
    ("aggregated?start_date=2026-11-01&end_date=2026-11-01&by=planet", "by has 'planet'"),
    ("summary?start_date=2026-11-01&end_date=" + "9" * 5000, "end_date is '9999"),
])
def test_wrong_requests_are_refused_with_a_sentence(cluster, path, words):
    reply = cluster.get(f"/resources/allocation/{path}")
    assert reply.status == 400 and words in reply.json["message"], reply


def test_det_shows_the_tables(cluster):
    lines = det(cluster, "resources", "allocations", *SPAN.values()).splitlines()
    assert any(f",{cluster.done}," in line for line in lines)
    assert det(cluster, "resources", "aggregated", *month().values()).startswith("aggregation_type,")
    assert det(cluster, "resources", "aggregated", *month().values(), "--by", "agent").splitlines()[1].startswith("agent,agent0,")
    assert det(cluster, "resources", "summary", *month().values()).startswith("date,resource_pool,used_slot_hours")
    refused = run_det(cluster, "resources", "summary", *month().values(), "--by", "planet")
    assert refused.returncode != 0 and "planet" in refused.stderr


# ---- Prometheus -----------------------------------------------------------------------------------------------------

NAMES = {
    "det_container_id_allocation_id": {"container_id", "allocation_id"},
    "det_allocation_id_task_id_task_actor": {"allocation_id", "task_id", "task_actor", "job_id"},
    "det_container_id_runtime_container_id": {"container_runtime_id", "container_id"},
    "det_job_id_experiment_id": {"job_id", "experiment_id"},
    "det_experiment_id_label": {"experiment_id", "label"},
    "det_gpu_uuid_container_id": {"gpu_uuid", "container_id"},
}
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} 1')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"')


def samples(text):
    """{name: [labels]} by the grammar of the text format, version 0.0.4."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert word in ("HELP", "TYPE") and (word == "HELP" or rest == "gauge"), line
            found.setdefault(name, [])
        else:
            name, labels = SAMPLE.fullmatch(line).groups()
            found[name].append(dict(LABEL.findall(labels)))
    return found


@pytest.fixture(scope="module")
def state(cluster):
    """The page while a trial runs, and that trial's experiment."""
    x = cluster.create(entrypoint=["sh", "-c", "sleep 1000"], labels=['a "quoted" one', "two\\lines"])
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    reply = cluster.get("/prom/det-state-metrics")
    [trial] = cluster.trial_ids(x)
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    cluster.post(f"/api/v1/experiments/{x}/kill")
    cluster.wait_experiment(x)
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return reply.body.decode(), x, trial, task


def test_the_state_page_joins_containers_with_experiments(state):
    text, x, trial, task = state
    found = samples(text)
    assert set(found) == set(NAMES)
    for name, labels in NAMES.items():
        assert all(set(s) == labels for s in found[name]), name
    [allocation] = found["det_allocation_id_task_id_task_actor"]
    assert allocation["task_id"] == task and allocation["task_actor"] == f"Trial {trial} (Experiment {x})"
    assert {"job_id": allocation["job_id"], "experiment_id": str(x)} in found["det_job_id_experiment_id"]
    assert {s["label"] for s in found["det_experiment_id_label"]} == {r'a \"quoted\" one', r"two\\lines"}
    [container] = found["det_container_id_allocation_id"]
    assert container["allocation_id"] == allocation["allocation_id"]


def test_prometheus_own_parser_reads_the_state_page(state):
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client (python/requirements/test.txt) is not installed")
    families = {f.name: f for f in parser.text_string_to_metric_families(state[0])}
    assert set(families) == set(NAMES) and all(f.type == "gauge" for f in families.values())
    assert {s.labels["label"] for s in families["det_experiment_id_label"].samples} == {'a "quoted" one', "two\\lines"}


def test_the_discovery_page_names_the_exporters_of_each_machine(cluster):
    wait_for("the agent", lambda: json.loads(cluster.get("/prom/det-http-sd-config").body))
    assert json.loads(cluster.get("/prom/det-http-sd-config").body) == [
        {"targets": ["127.0.0.1:9400", "127.0.0.1:8080"], "labels": {"det_agent_id": "agent0", "det_resource_pool": "default"}}]


def test_the_pages_for_prometheus_need_a_credential(cluster):
    for path in ("/prom/det-state-metrics", "/prom/det-http-sd-config"):
        assert cluster.get(path, token=None).status == 401
