"""Every command that reads prints its result as JSON, as YAML and as CSV, too."""
import csv
import io
import json
import pathlib
import re

import pytest
import yaml
from support.fake_master import clients as fake_master

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = json.loads((ROOT / "contract" / "cli.json").read_text())["commands"]
LEAVES = [row for row in ROWS if row["path"] and not any(other["path"].startswith(row["path"] + " ") for other in ROWS)]
READS = re.compile(r"(list|describe|show|get|info|whoami|version|config|logs|chart|raw|aggregated|allocations|my-permissions|config-schema"
                   r"|preview-search|compare-environments|list-.*)$")
NOT_DATA = {
    "dev bindings list": "lines about the API, for developers",
    "deploy local logs": "the text of a file",
    "template set-value config": "changes a template",
    "task cleanup-logs": "deletes lines",
    "shell ssh-config": "text for OpenSSH",
}
FORMATS = {"--json": json.loads, "--yaml": yaml.safe_load, "--csv": lambda text: list(csv.reader(io.StringIO(text, newline="")))}
ARGUMENTS = {"experiment_id": "1", "experiment_ids": "1", "trial_id": "1", "other_trial_id": "2", "uuid": fake_master.CHECKPOINT, "agent_id": "b",
             "task_id": "1.task-1", "workspace_name": "Uncategorized", "project_name": "Uncategorized", "template_name": "base", "pool_name": "default",
             "name": "digits", "group_name": "students", "role_name": "Editor", "username": "determined", "token_id": "12", "workload_type": "tasks",
             "timestamp_after": "2026-11-01T00:00:00Z", "timestamp_before": "2026-12-01T00:00:00Z", "start_date": "2026-11", "end_date": "2026-12",
             "--project-id": "vision"}


def formats_of(row):
    return {flag for o in row.get("options", []) for flag in o["flags"] if flag in FORMATS} | (set(FORMATS) if row.get("formats") else set())


@pytest.mark.parametrize("row", [row for row in LEAVES if row.get("served")], ids=lambda row: row["path"])
def test_a_command_that_reads_has_all_formats(row):
    if READS.search(row["path"]) and row["path"] not in NOT_DATA:
        assert formats_of(row) == set(FORMATS), 'the row in contract/cli.json needs "formats": true'
    else:
        assert formats_of(row) in (set(), set(FORMATS))


@pytest.fixture
def config_file(tmp_path):
    path = tmp_path / "search.yaml"
    path.write_text("searcher: {name: single, metric: loss, max_length: {batches: 100}}\n")
    return str(path)


LAUNCHED, LAUNCHED_ID = ("command", "notebook", "shell", "tensorboard"), "5e6f0000-0000-4000-8000-000000000003"


def words_of(row, config_file):
    words = row["path"].split()
    for p in row.get("args", []):
        if p["n"] == "task_id" and words[0] in LAUNCHED:
            words.append(LAUNCHED_ID)
        elif p["n"] in ARGUMENTS:
            words.append(ARGUMENTS[p["n"]])
        elif p["n"] == "config_file":
            words.append(config_file)
        else:
            assert p.get("nargs") in ("?", "*"), f"the test has no value for {p['n']}"
    for o in row.get("options", []):
        if o.get("required"):
            words += [o["flags"][0], ARGUMENTS[o["flags"][0]]]
    return words


CHANGES = re.compile(r"(create|edit|disable|register-version|simulate)$")  # commands that change something have formats, too; simulate has its own tests


@pytest.mark.parametrize("flag", FORMATS)
@pytest.mark.parametrize("row", [row for row in LEAVES if row.get("served") and row.get("formats") and not CHANGES.search(row["path"])],
                         ids=lambda row: row["path"])
def test_the_result_is_of_the_format(det, master, config_file, row, flag):
    master.sso_providers = [{"name": "okta", "sso_url": "http://idp.example/sso", "type": "OIDC", "always_redirect": False}]
    master.series = {"validation.accuracy": [(100, 0.5)]}
    master.trial_more = {"summaryMetrics": {"validation_metrics": {"accuracy": {"last": 0.5}}}}
    done = det.run(*words_of(row, config_file), flag)
    assert done.returncode == 0, done.stderr
    if flag == "--json" and row["path"].endswith("logs"):  # a document for each line
        decoder, text = json.JSONDecoder(), done.stdout.lstrip()
        while text:
            _, end = decoder.raw_decode(text)
            text = text[end:].lstrip()
        return
    value = FORMATS[flag](done.stdout)
    assert value, done.stdout
    if flag == "--csv":
        if row["path"] not in ("experiment describe", "trial describe"):  # the two commands have several tables, as they always had
            assert len({len(fields) for fields in value}) == 1, done.stdout
    else:
        assert isinstance(value, (list, dict)), done.stdout


def test_formats_exclude_each_other(det, master):
    done = det.run("model", "list", "--json", "--yaml")
    assert done.returncode == 2 and "not allowed with" in done.stderr and not master.requests


def test_documents_become_tables_and_tables_documents(det):
    assert det("user", "whoami", "--csv").splitlines()[0].startswith("active,admin,")
    whole = yaml.safe_load(det("workspace", "list-pools", "Uncategorized", "--yaml"))
    assert whole == [{"Available Resource Pools": "default", "Workspace": "Uncategorized"}]


def test_lines_of_a_log_are_one_list_and_one_table(det):
    lines = yaml.safe_load(det("trial", "logs", "1", "--yaml"))
    assert [line["id"] for line in lines] == ["1", "2", "3", "4", "5"]
    rows = list(csv.DictReader(io.StringIO(det("trial", "logs", "1", "--csv"), newline="")))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5"] and rows[0]["log"] == "line 1"
