"""determined.common.api.bindings has the published functions and classes, made from the contract's table."""

import inspect
import json

import pytest

from determined.common import api
from determined.common.api import bindings
from tests.conftest import PROGRAMS

PUBLISHED = PROGRAMS / "published_bindings.py"
# Not messages: what the published module is made of.
MACHINERY = {"APIHttpError", "APIHttpStreamError", "DetEnum", "Printable", "Unset", "dump_float"}
# Parameters that are annotated otherwise, which no caller notices.
DIFFERENT = {
    # Each list is sorted by its own enum; the published one names that of TensorBoards for all, with the same values.
    ("get_GetCommands", "sortBy"),
    ("get_GetNotebooks", "sortBy"),
    ("get_GetShells", "sortBy"),
    # A version is named by its number, as in the published module, or by a text: its number or an alias.
    ("delete_DeleteModelVersion", "modelVersionNum"),
    ("get_GetModelVersion", "modelVersionNum"),
    ("get_GetTrialMetricsByModelVersion", "modelVersionNum"),
    ("patch_PatchModelVersion", "modelVersionNum"),
}


def parameters(function):
    return {p.name: p for p in inspect.signature(function).parameters.values() if p.kind == p.KEYWORD_ONLY}


@pytest.fixture(scope="module")
def published(published_python):
    return json.loads(published_python(str(PUBLISHED)))


def test_every_published_name__is_here_with_its_parameters(published):
    wrong = []
    for name, what in published.items():
        if name in MACHINERY:
            continue
        ours = getattr(bindings, name, None)
        if ours is None:
            wrong.append(f"{name} is missing")
        elif "values" in what:
            if {member.name: member.value for member in ours} != what["values"]:
                wrong.append(f"{name} has other values")
        else:
            mine = parameters(ours)
            for parameter, annotation in what["parameters"].items():
                if parameter not in mine:
                    wrong.append(f"{name}: {parameter} is missing")
                # What the published function demands may be left out here: the master says what it needs.
                elif (name, parameter) not in DIFFERENT and mine[parameter].annotation not in (
                    annotation,
                    f"typing.Optional[{annotation}]",
                ):
                    wrong.append(f"{name}: {parameter} is {mine[parameter].annotation}, not {annotation}")
            more = [p.name for p in mine.values() if p.name not in what["parameters"] and p.default is p.empty]
            if more:
                wrong.append(f"{name}: {more} would have to be given")
    assert not wrong, "\n".join(wrong)
    assert len(published) > 700


def test_a_message__reads_and_writes_its_json():
    given = {
        "metadata": {"a": 1},
        "resources": {"model.pt": "12"},
        "state": "STATE_COMPLETED",
        "training": {"hparams": {"lr": 0.1}, "trialId": 7},
        "uuid": "u",
    }
    checkpoint = bindings.v1Checkpoint.from_json(given)
    assert checkpoint.state is bindings.checkpointv1State.COMPLETED and str(checkpoint.state) == "COMPLETED"
    assert checkpoint.taskId is None and checkpoint.resources == {"model.pt": "12"}
    assert checkpoint.to_json(omit_unset=True) == given
    assert checkpoint.to_json()["taskId"] is None
    assert str(bindings.v1Pagination(offset=1, limit=2)) == "v1Pagination(limit=2, offset=1)"


def test_a_message_without_what_it_needs__is_refused():
    with pytest.raises(TypeError, match="missing a required argument: 'uuid'"):
        bindings.v1Checkpoint(metadata={}, resources={}, state=None, training=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        bindings.v1Pagination(colour="red")
    with pytest.raises(AttributeError, match="no attribute 'get_Nothing'"):
        _ = bindings.get_Nothing


def test_numbers_that_json_cannot_hold__travel_as_text():
    session = Recorder()
    bindings.post_ReportTrialProgress(
        session, trialId=1, body=bindings.v1ReportTrialProgressRequest(trialId=1, progress=float("nan"))
    )
    assert session.asked["json"]["progress"] == "Nan"
    assert bindings.dump_float(float("-inf")) == "-Infinity" and bindings.dump_float(0.5) == 0.5


class Recorder:
    """A session that keeps the request and answers with what it was given."""

    def __init__(self, status=200, body=b"{}"):
        self.asked, self._status, self._body = None, status, body

    def _do_request(self, **request):
        self.asked = request
        return self

    status_code = property(lambda self: self._status)
    reason = "Some Reason"

    def json(self):
        return json.loads(self._body)

    def iter_lines(self, chunk_size=None):
        return iter(self._body.splitlines())


def test_a_call__becomes_the_request_of_the_contract():
    session = Recorder(body=b'{"experiments": [], "pagination": {}}')
    got = bindings.get_GetExperiments(
        session,
        archived=False,
        experimentIdFilter_incl=[1, 2],
        sortBy=bindings.v1GetExperimentsRequestSortBy.START_TIME,
        states=[bindings.experimentv1State.ACTIVE],
    )
    assert got.experiments == [] and session.asked["path"] == "/api/v1/experiments"
    sent = {key: value for key, value in session.asked["params"].items() if value is not None}
    assert sent == {
        "archived": "false",
        "experimentIdFilter.incl": [1, 2],
        "sortBy": "SORT_BY_START_TIME",
        "states": ["STATE_ACTIVE"],
    }


def test_paths_and_bodies__are_those_of_the_route():
    session = Recorder(body=b'{"labels": []}')
    assert bindings.put_PutExperimentLabel(session, experimentId=3, label="a b").labels == []
    assert session.asked["path"] == "/api/v1/experiments/3/labels/a%20b" and session.asked["json"] is None
    assert bindings.post_SetUserPassword(session, userId=2, body="secret") is not None
    assert (session.asked["path"], session.asked["json"]) == ("/api/v1/users/2/password", "secret")
    bindings.patch_PatchTemplateConfig(
        Recorder(body=b'{"template": {"name": "t", "config": {}, "workspaceId": 1}}'), templateName="t", body={}
    )


def test_an_answer_that_is_an_error__is_raised():
    with pytest.raises(bindings.APIHttpError, match="get_GetExperiment failed: Some Reason"):
        bindings.get_GetExperiment(Recorder(status=418), experimentId=1)
    line = {
        "id": "1",
        "level": "LOG_LEVEL_INFO",
        "message": "one",
        "timestamp": "2026-01-01T00:00:00Z",
        "trialId": 1,
        "log": "one",
    }
    lines = json.dumps({"result": line}) + "\n" + json.dumps({"error": {"message": "broken", "httpCode": 500}}) + "\n"
    stream = bindings.get_TrialLogs(Recorder(body=lines.encode()), trialId=1)
    assert next(stream).message == "one"
    with pytest.raises(bindings.APIHttpStreamError, match="Stream Error during get_TrialLogs: broken"):
        next(stream)


def test_read_paginated__asks_until_the_list_ends():
    class Page:
        def __init__(self, start):
            self.pagination = bindings.v1Pagination(endIndex=min(start + 2, 5), total=5)
            self.start = start

    assert [page.start for page in api.read_paginated(Page)] == [0, 2, 4]
    assert [page.start for page in api.read_paginated(Page, pages=api.PageOpts.single)] == [0]
