"""The functions that tools/gen-python makes: each asks for the route that it is named after."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.fake_master.tasks import route_of

from determined import _routes

FUNCTIONS = {
    name: function
    for name, function in vars(_routes).items()
    if inspect.isfunction(function) and function.__module__ == _routes.__name__
}
VALUES = {"int": 7, "str": "a b/c"}


def request_of(function):
    """A request with all arguments that the function cannot do without, and the names of its other ones."""
    parameters = inspect.signature(function).parameters.values()
    given = {p.name: VALUES.get(p.annotation, {}) for p in parameters if p.default is p.empty}
    return function(**given)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function__asks_for_its_route(name):
    request = request_of(FUNCTIONS[name])
    route = route_of(request.method, request.target.partition("?")[0])
    assert re.sub("_", "", name) == route.rpc.lower()


def test_a_word_in_a_path__is_escaped():
    assert _routes.get_model("a/b c?").target == "/api/v1/models/a%2Fb%20c%3F"


def test_what_is_not_given__is_not_sent():
    assert _routes.get_users().target == "/api/v1/users"
    assert _routes.get_users(active=False, limit=3).target == "/api/v1/users?limit=3&active=false"
    assert _routes.patch_trial(5, state="STATE_ERROR").body == {"state": "STATE_ERROR"}


def test_the_files__are_what_the_contract_says():
    tool = Path(__file__).parents[2] / "tools" / "gen-python"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
