"""Logging in on a machine without a browser: a code that somebody confirms who is logged in (docs/decisions/0019-device-logins.md)."""
import os
import re
import subprocess

import pytest
from support.cluster import BUILD, error_of

START, POLL, ANSWER = "/api/v1/auth/device", "/api/v1/auth/device/poll", "/api/v1/auth/device/answer"


def begin(master, device="ada@laptop"):
    reply = master.post(START, {"device": device}, token=None)
    assert reply.status == 200, reply
    return reply.json


def poll(master, begun):
    return master.post(POLL, {"deviceCode": begun["deviceCode"]}, token=None)


def answer(master, code, allow=True, token=""):
    return master.post(ANSWER, {"userCode": code, "allow": allow}, token=token)


def test_a_confirmed_code_opens_one_session_of_who_confirmed_it(master):
    begun = begin(master)
    assert re.fullmatch(r"[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}", begun["userCode"]) and begun["path"] == "/det/device"
    assert poll(master, begun).json["pending"] is True
    assert master.get(f"/api/v1/auth/device/{begun['userCode']}").json == {"device": "ada@laptop", "address": "127.0.0.1"}
    assert answer(master, begun["userCode"].replace("-", "").lower()).status == 200
    reply = poll(master, begun).json
    assert reply["pending"] is False and reply["user"]["username"] == "determined"
    assert master.get("/api/v1/me", token=reply["token"]).json["user"]["username"] == "determined"
    assert "ended" in error_of(poll(master, begun), 404)


def test_a_refused_code_opens_nothing(master):
    begun = begin(master)
    answer(master, begun["userCode"], allow=False)
    assert "refused by determined" in error_of(poll(master, begun), 403)
    assert "ended" in error_of(poll(master, begun), 404)


def test_a_code_is_answered_once(master):
    begun = begin(master)
    answer(master, begun["userCode"], allow=False)
    assert "no login waits" in error_of(answer(master, begun["userCode"]), 404)


@pytest.mark.parametrize("code", ["BBBB-BBBB", "x", "%20", "B" * 3000])
def test_a_code_that_nobody_has_is_not_found(master, code):
    assert "no login waits" in error_of(master.get(f"/api/v1/auth/device/{code}"), 404)
    assert "no login waits" in error_of(answer(master, code), 404)
    assert "ended" in error_of(poll(master, {"deviceCode": code}), 404)


def test_the_code_that_people_see_does_not_open_the_session(master):
    begun = begin(master)
    answer(master, begun["userCode"])
    assert poll(master, {"deviceCode": begun["userCode"]}).status == 404


def test_an_access_token_confirms_nothing(master):
    begun = begin(master)
    made = master.post("/api/v1/tokens", {"userId": master.get("/api/v1/me").json["user"]["id"]}).json
    assert answer(master, begun["userCode"], token=made["token"]).status == 403
    assert answer(master, begun["userCode"], token=None).status == 401
    assert poll(master, begun).json["pending"] is True


def test_a_login_that_has_ended_has_confirmed_nothing(master):
    begun = begin(master)
    token = master.login(keep=False).json["token"]
    assert answer(master, begun["userCode"], token=token).status == 200
    assert master.post("/api/v1/auth/logout", token=token).status == 200
    assert "has ended" in error_of(poll(master, begun), 403)


@pytest.mark.parametrize("device", ["a\nb", "x" * 129])
def test_a_device_with_a_strange_name_is_refused(master, device):
    assert "no control characters" in error_of(master.post(START, {"device": device}, token=None), 400)


def test_det_waits_for_the_code_to_be_confirmed(master, tmp_path):
    env = {**os.environ, "HOME": str(tmp_path), "DET_MASTER": master.url}
    with subprocess.Popen([BUILD / "det", "auth", "login", "--device"], env=env, stdout=subprocess.PIPE, text=True) as det:
        head = "".join(det.stdout.readline() for _ in range(5))
        code = re.search(r"/det/device\?code=(\S+)", head)[1]
        assert answer(master, code).status == 200
        assert "determined" in det.communicate(timeout=60)[0]
        assert det.returncode == 0
    who = subprocess.run([BUILD / "det", "user", "whoami"], env=env, capture_output=True, text=True, timeout=60)
    assert "determined" in who.stdout


def test_one_address_cannot_fill_the_table(new_cluster):
    c = new_cluster()
    c.start_master()
    for _ in range(20):
        begin(c)
    assert "wait to be confirmed already" in error_of(c.post(START, {}, token=None), 429)
    assert c.login("admin", keep=False).status == 200
