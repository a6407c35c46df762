"""Tests the message of the administrators to all users."""
import datetime
import signal

import pytest
from support.cluster import error_of
from support.det import run_det

PATH = "/api/v1/master/cluster_message"


def at(**delta):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**delta)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.fixture
def c(master):
    master.login("admin")
    yield master
    master.login("admin")
    assert master.request("DELETE", PATH).status == 200


def put(c, **body):
    return c.request("PUT", PATH, {"message": "new disks tonight", "startTime": at(hours=-1), **body})


def shown(c):
    """The message that everybody sees, also without a login."""
    return c.get("/api/v1/master", token=None).json.get("clusterMessage")


def test_a_message_is_shown_until_it_is_cleared(c):
    assert c.get(PATH).json == {} and shown(c) is None
    start = at(hours=-1)
    assert put(c, startTime=start).status == 200
    message = shown(c)
    assert message["message"] == "new disks tonight" and message["startTime"] == start and "endTime" not in message
    assert c.get(PATH).json["clusterMessage"] == message
    assert put(c, message="another").status == 200 and shown(c)["message"] == "another", "there is one message"
    c.stop_master(signal.SIGKILL)
    c.start_master()
    assert shown(c)["message"] == "another"
    assert c.request("DELETE", PATH).status == 200
    assert c.get(PATH).json == {} and shown(c) is None


def test_a_message_is_shown_between_its_start_and_its_end(c):
    start, end = at(hours=1), at(hours=2)
    assert put(c, startTime=start, endTime=end).status == 200
    assert shown(c) is None
    message = c.get(PATH).json["clusterMessage"]
    assert (message["startTime"], message["endTime"]) == (start, end), "admins see what will be shown"
    for duration, seconds in (("90m", 5400), ("24h", 86400), ("5d", 5 * 86400), ("2w", 14 * 86400)):
        assert put(c, startTime="2040-01-01T00:00:00Z", duration=duration).status == 200
        ends = datetime.datetime.fromisoformat(c.get(PATH).json["clusterMessage"]["endTime"].replace("Z", "+00:00"))
        assert ends == datetime.datetime(2040, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=seconds)


def test_bad_messages_change_nothing(c):
    assert put(c).status == 200
    before = shown(c)
    for body, says in (({"message": ""}, "is empty"), ({"message": "  "}, "is empty"), ({"message": "x" * 251}, "has 251 characters, at most 250"),
                       ({"message": "a\nb"}, "control characters"), ({"message": "\x1b[2J"}, "control characters"),
                       ({"message": "a\u009bb"}, "control characters"),
                       ({"startTime": None}, "startTime is missing"), ({"endTime": at(hours=-2)}, "must be after startTime"),
                       ({"endTime": at(minutes=-5)}, "has passed already"), ({"endTime": at(hours=1), "duration": "1h"}, "only one of the two"),
                       ({"duration": "soon"}, 'duration is "soon"'), ({"duration": "-5h"}, "duration"), ({"duration": "999999999999999999999d"}, "duration"),
                       ({"duration": "5000w"}, None), ({"duration": "6000w"}, "up to 100 years")):
        reply = put(c, **body)
        if says is None:
            assert reply.status == 200
            assert put(c).status == 200
            before = shown(c)
        else:
            assert says in error_of(reply, 400), body
    assert put(c, message="ü" * 250).status == 200, "characters are counted, not bytes"
    assert put(c).status == 200 and shown(c)["message"] == before["message"]
    assert c.request("PUT", PATH, {"message": "x", "startTime": "tomorrow"}).status == 400


def test_only_admins_set_it_and_everybody_sees_it(c, tmp_path):
    assert put(c).status == 200
    c.login()
    assert put(c).status == 403 and c.request("DELETE", PATH).status == 403
    assert c.get(PATH).json["clusterMessage"]["message"] == "new disks tonight"
    assert c.get(PATH, token=None).status == 401
    done = run_det(c, "user", "login", "determined", stdin=c.password + "\n", DET_DEBUG_CONFIG_PATH=tmp_path)
    assert done.returncode == 0 and "Message of the administrators: new disks tonight" in done.stderr, done
