"""GET /api/v1/openapi.json: a valid document, of the routes that are served and of no others, which the replies fit."""
import base64
import hashlib
import html.parser
import json
import re

import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from support.cluster import CONTRACT, ROOT

SERVED = json.loads((ROOT / "contract/served.json").read_text())
# Routes that need parameters in their query.
WITH_PARAMETERS = {"CompareTrials", "GetWorkspaceIDFromTask"}


@pytest.fixture(scope="module")
def document(master):
    reply = master.get("/api/v1/openapi.json")
    assert reply.status == 200 and reply.headers["Content-Type"].startswith("application/json")
    return reply.json


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_it_is_valid_openapi(document):
    assert document["openapi"] == "3.1.0"
    OpenAPIV31SpecValidator(document).validate()


def test_it_has_the_served_routes_and_no_others(document):
    described = {operation["operationId"] for _, path, operation in operations(document) if path.startswith("/api/v1/")}
    assert described - {"raw_openapi_get_api_v1_openapi_json", "raw_openapi_page_get_api_v1_openapi_html"} == {name for name in SERVED if " " not in name}
    assert document["paths"]["/experiments/{id}/model_def"]["get"]["summary"] == "Model definition as .tar.gz."


def test_it_says_who_may_use_a_route(document):
    by_id = {operation["operationId"]: operation for _, _, operation in operations(document)}
    assert by_id["Login"]["description"] == "It needs no credentials." and by_id["Login"]["security"] == []
    assert by_id["GetMasterConfig"]["description"] == ("Only an admin may see the master's configuration. "
                                                       'With roles it needs the permission "view master config" in the cluster.')
    assert by_id["ActivateExperiment"]["description"].startswith("Users may use it for what they own. Admins may use it for everything.")
    assert "security" not in by_id["GetMe"] and document["security"] == [{"token": []}]


def test_requests_are_described_with_their_parameters_and_bodies(document):
    patch = document["paths"]["/api/v1/experiments/{experiment.id}"]["patch"]
    assert [p["name"] for p in patch["parameters"]] == ["experiment.id"]
    schema = patch["requestBody"]["content"]["application/json"]["schema"]
    assert "experiment.v1.PatchExperiment" in json.dumps(schema)
    listed = {p["name"]: p for p in document["paths"]["/api/v1/experiments"]["get"]["parameters"]}
    assert listed["states"]["schema"]["type"] == "array" and "experimentIdFilter.incl" in listed


def test_replies_fit_their_schemas(master, document):
    experiment = master.create(activate=False, description="an experiment, so that lists are not empty")
    admin, seen = master.login("admin", keep=False).json["token"], 0
    for method, path, operation in operations(document):
        reply = operation["responses"].get("200")
        if method != "GET" or not reply or operation["operationId"] in WITH_PARAMETERS or CONTRACT.routes[operation["operationId"]].get("stream"):
            continue
        path = path.replace("{experimentId}", str(experiment)).replace("{workspaceId}", "1").replace("{projectId}", "1")
        if "{" in path:
            continue
        answer = master.get(path, token=admin)
        if answer.status != 200:
            assert answer.status in (400, 404), (path, answer)
            continue
        schema = {**reply["content"]["application/json"]["schema"], "components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json)
        seen += 1
    assert seen >= 20


def test_it_needs_a_login(master):
    assert master.get("/api/v1/openapi.json", token=None).status == 401


# ---- the page ---------------------------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """What a browser would do with the page: which names it has, and what it loads, runs and links to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.tags, self.attributes = [], [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]


def test_the_page_has_every_route_and_every_message(master, document):
    reply = master.get("/api/v1/openapi.html")
    assert reply.status == 200 and reply.headers["Content-Type"] == "text/html; charset=utf-8"
    page = Page(reply.body.decode())
    names = {operation["operationId"] for _, _, operation in operations(document)} | set(document["components"]["schemas"])
    assert names <= set(page.ids) and len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids), "no link leads nowhere"


def test_the_page_runs_and_loads_nothing(master):
    reply = master.get("/api/v1/openapi.html")
    page = Page(reply.body.decode())
    assert not page.tags & {"script", "img", "link", "iframe", "object", "base", "form"}
    assert page.attributes <= {"lang", "charset", "name", "content", "class", "id", "href"}
    assert {link for link in page.links if not link.startswith("#")} == {"openapi.json"}
    style = re.search(r"<style>(.*?)</style>", reply.body.decode(), re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = reply.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy and "script-src" not in policy
    assert master.get("/api/v1/openapi.html", token=None).status == 401
