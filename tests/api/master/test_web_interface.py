"""Tests how the master serves the web interface: caching, compression, the policy of its pages, a path before it, and what is not there."""
import gzip
import http.client
import json
import re
import urllib.parse

import pytest
from support.prefix import PREFIX, PrefixProxy

PAGES = ["/det/", "/det/login", "/det/experiments/7", "/det/experiments/7/trials/9/logs", "/det/no/such/page"]


def ask(c, path, method="GET", **headers):
    """The reply as it travels: no header but those given, no redirect followed."""
    connection = http.client.HTTPConnection("127.0.0.1", c.port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, reply.headers, body


@pytest.fixture(scope="module")
def built(master):
    if b"without its web interface" in ask(master, "/det/")[2]:
        pytest.skip("the master was built without its web interface (npm is not installed)")
    return master


@pytest.fixture(scope="module")
def assets(built):
    html = ask(built, "/det/")[2].decode()
    found = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', html)
    assert any(name.endswith(".js") for name in found) and any(name.endswith(".css") for name in found), html
    return ["/det/" + name for name in found]


def test_the_root_leads_to_the_interface__relatively(master):
    for path in ("/", "/det"):
        status, headers, _ = ask(master, path)
        assert (status, headers["Location"]) == (301, "det/")


@pytest.mark.parametrize("path", PAGES)
def test_every_path_is_the_one_page__with_its_own_base(built, path):
    status, headers, body = ask(built, path)
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8"
    base = re.search(r'<base href="([^"]+)">', body.decode())[1]
    assert urllib.parse.urljoin("http://host/a/prefix" + path, base) == "http://host/a/prefix/det/"


def test_pages_have_a_strict_policy(built, assets):
    for path in [*PAGES, *assets]:
        headers = ask(built, path)[1]
        policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'" and policy["base-uri"] == "'self'" and policy["require-trusted-types-for"] == "'script'"
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "same-origin"
    html = ask(built, "/det/")[2].decode()
    assert not re.search(r"<style|<script(?![^>]* src=)|\son\w+=|\sstyle=|https?://", html), html


def test_files_with_a_hash_never_change__the_page_is_asked_again(built, assets):
    for path in assets:
        assert ask(built, path)[1]["Cache-Control"] == "public, max-age=31536000, immutable"
    for path in ("/det/", "/det/favicon.svg"):
        _, headers, body = ask(built, path)
        assert headers["Cache-Control"] == "no-cache" and body
        for known in (headers["ETag"], f'W/{headers["ETag"]}', f'"other", {headers["ETag"]}', "*"):
            status, again, rest = ask(built, path, If_None_Match=known)
            assert (status, again["ETag"], rest) == (304, headers["ETag"], b"")
        assert ask(built, path, If_None_Match='"other"')[0] == 200


def test_a_browser_gets_the_form_that_it_accepts(built, assets):
    [script] = [path for path in assets if path.endswith(".js") and "/index-" in path]
    _, headers, plain = ask(built, script)
    assert headers["Content-Encoding"] is None and headers["Vary"] == "Accept-Encoding"
    _, headers, packed = ask(built, script, Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip" and gzip.decompress(packed) == plain
    _, headers, smaller = ask(built, script, Accept_Encoding="gzip, deflate, br")
    assert headers["Content-Encoding"] == "br" and len(smaller) < len(packed) < len(plain)
    assert ask(built, script, Accept_Encoding="br;q=0, gzip;q=0")[2] == plain
    tags = {ask(built, script, Accept_Encoding=coding)[1]["ETag"] for coding in ("identity", "gzip", "br")}
    assert len(tags) == 3, "one tag must not stand for different bytes"


def test_head_says_how_long_a_file_is(built, assets):
    for path in ["/det/", *assets]:
        length = len(ask(built, path)[2])
        status, headers, body = ask(built, path, method="HEAD")
        assert (status, headers["Content-Length"], body) == (200, str(length), b"")


@pytest.mark.parametrize("path", [
    "/det/assets/none.js", "/det/assets/", "/det/assets/../../etc/passwd", "/det/assets/%2e%2e/index.html", "/det/assets/..%2f..%2fmaster.yaml",
    "/det/assets//etc/passwd", "/det/assets/index.html%00.js"])
def test_what_is_no_file_of_the_interface_is_not_found(built, path):
    status, _, body = ask(built, path)
    assert status == 404 and "has no file" in json.loads(body)["message"]


@pytest.mark.parametrize("path", ["/det/../etc/passwd", "/det/..%2f..%2fetc%2fpasswd", "/det/%2e%2e/%2e%2e/data/agent.token", "/det//etc/passwd"])
def test_a_path_that_climbs_is_the_page_or_nothing(built, path):
    status, _, body = ask(built, path)
    assert (status == 200 and body.startswith(b"<!doctype html>")) or status in (400, 401, 404), (status, body[:200])
    assert b"root:" not in body


def test_other_methods_are_no_way_in(master):
    for method in ("POST", "PUT", "DELETE"):
        assert ask(master, "/det/", method=method)[0] in (401, 404, 405)


def test_below_a_prefix_every_address_leads_below_it(built):
    def get(path):
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=60)
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply, body

    with PrefixProxy(built.port) as proxy:
        reply, _ = get(PREFIX + "/")
        at = urllib.parse.urljoin(PREFIX + "/", reply.headers["Location"])
        assert (reply.status, at) == (301, PREFIX + "/det/")
        for page in ("", "experiments/7/trials/9/logs"):
            _, html = get(at + page)
            base = urllib.parse.urljoin(at + page, re.search(rb'<base href="([^"]+)">', html)[1].decode())
            names = re.findall(r'(?:src|href)="(\./(?:assets/|favicon)[^"]+)"', html.decode())
            assert len(names) >= 3
            for name in names:
                assert get(urllib.parse.urljoin(base, name))[0].status == 200, name


# ---- polls that know the last answer ----


def test_a_poll_that_shows_the_last_tag_gets_304__until_something_changes(master):
    paths = ["/api/v1/workspaces", "/api/v1/agents", "/api/v1/resource-pools", "/api/v1/me", "/api/v1/experiments"]
    tags = {}
    for path in paths:
        first = master.get(path, headers={"If-None-Match": '"none"'})
        tags[path] = first.headers["ETag"]
        assert first.status == 200 and first.body == master.get(path).body
        again = master.get(path, headers={"If-None-Match": tags[path]})
        assert (again.status, again.body) == (304, b""), path
    master.post("/api/v1/workspaces", {"name": "one more"})
    changed = master.get("/api/v1/workspaces", headers={"If-None-Match": tags["/api/v1/workspaces"]})
    assert changed.status == 200 and changed.headers["ETag"] != tags["/api/v1/workspaces"] and changed.json["workspaces"]


def test_who_asks_for_no_tag_gets_none__and_errors_have_none(master):
    assert master.get("/api/v1/workspaces").headers["ETag"] is None
    missing = master.get("/api/v1/experiments/999999", headers={"If-None-Match": '"none"'})
    assert missing.status == 404 and missing.headers["ETag"] is None
    made = master.post("/api/v1/workspaces", {"name": "no tag"}, headers={"If-None-Match": '"none"'})
    assert made.status == 200 and made.headers["ETag"] is None
    assert master.get("/api/v1/workspaces", token=None, headers={"If-None-Match": "*"}).status == 401
