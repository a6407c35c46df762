"""The JSON Schema that editors use says of a configuration what the master says, as far as a schema can."""
import json
import pathlib

import jsonschema
import pytest

CASES = json.loads((pathlib.Path(__file__).parents[2] / "contract/cases/experiment-config-cases.json").read_text())["cases"]
# What only the whole document tells, or only arithmetic.
BEYOND_A_SCHEMA = ("begin_on_batch must be less than", "container Image is not configurable")
ACCEPTED_HERE = ("shm_size of type int",)  # docs/compatibility.md


@pytest.fixture
def validator(det):
    schema = json.loads(det("experiment", "config-schema", DET_MASTER="http://127.0.0.1:1"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def as_sent(det, master, text):
    """The document that det makes of a YAML text; None if it is no document at all."""
    if det.run("template", "create", "x", "-", stdin=text).returncode:
        return None
    return master.created[-1]["config"]


def test_it_agrees_with_the_cases_of_the_contract(det, master, validator):
    judged = 0
    for case in CASES:
        document = as_sent(det, master, case["yaml"])
        error = case.get("parse_error", "")
        if document is None or any(words in error for words in BEYOND_A_SCHEMA):
            continue
        good = case["parse_ok"] or any(words in error for words in ACCEPTED_HERE)
        mistakes = [f"{'.'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(document)]
        assert (not mistakes) == good, f"{case['yaml']}\n{error}\n{mistakes}"
        judged += 1
    assert judged >= len(CASES) - 5


@pytest.mark.parametrize("document, place", [
    ({"nmae": "x"}, []),
    ({"max_restarts": -1}, ["max_restarts"]),
    ({"max_restarts": 99999999999}, ["max_restarts"]),
    ({"resources": {"priority": 100}}, ["resources", "priority"]),
    ({"resources": {"devices": ["/dev/a"]}}, ["resources", "devices", 0]),
    ({"labels": [None]}, ["labels", 0]),
    ({"entrypoint": []}, ["entrypoint"]),
    ({"searcher": {"name": "single", "max_trials": 3}}, ["searcher"]),
    ({"searcher": {"name": "bayes"}}, ["searcher", "name"]),
    ({"searcher": {"name": "adaptive_asha", "mode": "slow"}}, ["searcher", "mode"]),
    ({"searcher": {"name": "random", "divisor": 4}}, ["searcher"]),
    ({"searcher": {"name": "grid", "max_length": {"batches": 1, "epochs": 1}}}, ["searcher", "max_length"]),
    ({"min_validation_period": {}}, ["min_validation_period"]),
    ({"hyperparameters": {"a": {"b": {"type": "double", "minval": 0}}}}, ["hyperparameters", "a", "b"]),
    ({"hyperparameters": {"a": {"type": "int", "minval": 0.5, "maxval": 2}}}, ["hyperparameters", "a", "minval"]),
    ({"hyperparameters": {"a": {"type": "log", "base": 0, "minval": 0, "maxval": 2}}}, ["hyperparameters", "a", "base"]),
    ({"checkpoint_storage": {"type": "shared_fs", "bucket": "b"}}, ["checkpoint_storage"]),
    ({"bind_mounts": [{"host_path": "/a"}]}, ["bind_mounts", 0]),
    ({"checkpoint_storage": {"type": "s3", "bucket": "b", "prefix": "a/../b"}}, ["checkpoint_storage", "prefix"]),
    ({"log_policies": [{"pattern": "x"}]}, ["log_policies", 0]),
])
def test_it_names_the_place_of_a_mistake(validator, document, place):
    assert place in [list(e.absolute_path) for e in validator.iter_errors(document)]


@pytest.mark.parametrize("document", [
    {}, {"name": None, "searcher": None}, {"entrypoint": "model_def:Class"}, {"entrypoint": ["python3", "x.py"]},
    {"searcher": {"max_trials": 3, "mode": "aggressive"}}, {"searcher": {"name": "single", "max_length": 5}},
    {"hyperparameters": {"a": 1, "b": None, "c": [1, {"type": "x"}], "d": {}, "e": {"f": {"type": "const", "val": None}}}},
    {"resources": {"shm_size": "1.5 GiB", "devices": ["/a:/b:rwm", {"host_path": "/a", "container_path": "/b"}]}},
    {"data": {"anything": [{"at": {"all": None}}]}, "environment": {"image": "i", "environment_variables": {"gpu": ["A=1"]}}},
])
def test_it_accepts_every_form(validator, document):
    assert not list(validator.iter_errors(document))
