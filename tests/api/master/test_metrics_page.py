"""Tests GET /metrics as a collector reads it: the OpenMetrics text is compared with its grammar and its reference page."""
import pathlib
import re

import pytest
from support.cluster import ROOT, wait_for

SAMPLE = re.compile(r'^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SUFFIXES = {"gauge": {""}, "counter": {"_total"}, "histogram": {"_bucket", "_sum", "_count"}}


def parse(text):
    """Returns {family: (kind, help, [(suffix, labels, value)])}. Raises AssertionError if the text is not OpenMetrics."""
    assert text.endswith("# EOF\n") and "\n\n" not in text
    families, current = {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            if word == "TYPE":
                assert name not in families and rest in SUFFIXES, line
                current = families[name] = {"name": name, "kind": rest, "samples": []}
            elif word == "UNIT":
                assert name.endswith("_" + rest), line
            assert name == current["name"] and not current["samples"], f"out of its family: {line}"
            current[word] = rest
            continue
        name, labels, value = SAMPLE.match(line).groups()
        suffix = name.removeprefix(current["name"])
        assert name.startswith(current["name"]) and suffix in SUFFIXES[current["kind"]], line
        assert "".join(m.group(0) for m in LABEL.finditer(labels or "")) == (labels or ""), line
        current["samples"].append((suffix, dict(LABEL.findall(labels or "")), float(value)))
    return families


def check_histogram(family):
    buckets = [(float(labels["le"]), value) for suffix, labels, value in family["samples"] if suffix == "_bucket"]
    count = [value for suffix, _, value in family["samples"] if suffix == "_count"]
    assert buckets == sorted(buckets) and [v for _, v in buckets] == sorted(v for _, v in buckets)
    assert buckets[-1] == (float("inf"), count[0])


def test_the_page_is_openmetrics_and_is_what_its_reference_says(cluster):
    families = parse(cluster.get("/metrics").body.decode())
    documented = {}
    for line in (ROOT / "docs/reference/metrics.md").read_text().splitlines():
        row = re.match(r"\| `(\w+)` \| (\w+) \| (.*?) \| (.*) \|", line)
        if row:
            documented[row[1]] = (row[2], set(re.findall(r"`(\w+)`", row[3])), row[4])
    assert documented and set(documented) == set(families)
    for name, family in families.items():
        kind, labels, text = documented[name]
        assert (family["kind"], family["HELP"]) == (kind, text)
        if kind == "histogram":
            check_histogram(family)
        else:
            assert all(set(sample[1]) == labels for sample in family["samples"]), name


def test_a_collector_has_a_token_of_its_own_that_reads_metrics_and_nothing_else(new_cluster, tmp_path):
    token = "0123456789abcdef0123456789abcdef"
    (tmp_path / "token").write_text(token + "\n")
    c = new_cluster(config={"observability": {"token_file": str(tmp_path / "token")}}).start_master()
    for path in ("/metrics", "/debug/prom/metrics"):
        assert parse(c.get(path, token=token).body.decode())
        assert [c.get(path, token=wrong).status for wrong in (token[:-1], token + "0", "", None)] == [401] * 4
    for path in ("/api/v1/agents", "/api/v1/experiments", "/api/v1/me", "/tasks", "/agents", "/no-such"):
        assert c.get(path, token=token).status == 401, path


@pytest.mark.parametrize("text, words", [("short\n", "must be a token of 32 to 127 characters, found 5"), ("\n" + "x" * 40, "found 0"),
                                         (None, "cannot read")])
def test_a_token_of_collectors_that_is_none_keeps_the_master_from_starting(new_cluster, tmp_path, text, words):
    if text:
        (tmp_path / "token").write_text(text)
    c = new_cluster(config={"observability": {"token_file": str(tmp_path / "token")}}).start_master(wait=False)
    assert c.master.wait(60) != 0
    c.master = None
    assert "observability.token_file: " in c.master_log() and words in c.master_log()


def test_the_page_counts_what_there_is(cluster):
    def value(name, **labels):
        found = [v for _, has, v in families["det_" + name]["samples"] if labels.items() <= has.items()]
        assert len(found) == 1, (name, labels, families["det_" + name])
        return found[0]

    running = cluster.create(entrypoint="sleep 1000", resources={"slots_per_trial": 2})
    waiting = cluster.create(entrypoint="true", resources={"slots_per_trial": 2})

    def used():
        return parse(cluster.get("/metrics").body.decode())["det_slots_used"]["samples"][0][2] == 2
    wait_for("the first job's slots", used)
    families = parse(cluster.get("/metrics").body.decode())
    assert value("agents") == value("agents_by_state", state="enabled") == 1
    assert value("slots") == value("pool_slots", pool="default") == value("pool_slots_used", pool="default") == 2
    assert value("jobs", pool="default", state="scheduled") == value("jobs", pool="default", state="queued") == 1
    assert value("containers") == 1
    assert value("commits") > 0 and value("resident_bytes") > 1 << 20 and value("cpu_seconds") > 0
    counts = {suffix: v for suffix, _, v in families["det_commit_seconds"]["samples"]}
    assert counts["_count"] == value("commits") and counts["_sum"] > 0
    assert any(v for suffix, _, v in families["det_loop_delay_seconds"]["samples"] if suffix == "_count")
    if cluster.config.get("db", {}).get("type") != "postgres":
        assert value("store_bytes", file="database") == pathlib.Path(cluster.dir / "data/determined.db").stat().st_size
    for experiment in (waiting, running):
        cluster.post(f"/api/v1/experiments/{experiment}/kill")
        cluster.wait_experiment(experiment)
