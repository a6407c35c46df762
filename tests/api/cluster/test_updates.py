"""Tests /stream, the WebSocket of updates: what a client is told when it subscribes, what it is told later, and what is refused."""
import contextlib
import json

import pytest
from api.cluster.test_audit import World
from support.cluster import Cluster, client_hash, wait_for
from support.websocket import Closed, Refused, WebSocket

POLICY = f"{1008:04x}"  # the code of the close frame


class Stream:
    def __init__(self, c, token=None, receive_buffer=None):
        self.ws = WebSocket(f"ws://127.0.0.1:{c.port}/stream", {"Authorization": f"Bearer {token or c.token}"}, receive_buffer=receive_buffer)

    def subscribe(self, sync_id="1", known=None, **subscribe):
        """Returns what comes between the two messages of the synchronisation."""
        self.ws.send(json.dumps({"sync_id": sync_id, "known": known or {}, "subscribe": subscribe}))
        assert self.next() == {"sync_id": sync_id, "complete": False}
        found = []
        while (message := self.next()) != {"sync_id": sync_id, "complete": True}:
            found.append(message)
        return found

    def next(self):
        return json.loads(self.ws.receive())

    def ends(self):
        with pytest.raises(Closed) as ended:
            while True:
                self.ws.receive()
        return str(ended.value)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("updates")) as c:
        c.start_master()
        yield World(c)


@contextlib.contextmanager
def stream(world, **options):
    s = Stream(world.c, **options)
    try:
        yield s
    finally:
        s.ws.close()


def test_a_client_is_told_of_what_is_there_and_of_each_change(world):
    workspace, other = world.workspace(), world.workspace()
    project = world.call("PostProject", {"name": "a", "key": "AAAAA"}, workspaceId=workspace)["project"]["id"]
    world.call("PostProject", {"name": "b"}, workspaceId=other)
    with stream(world) as s:
        found = s.subscribe(projects={"workspace_ids": [workspace]})
        assert [m["project"]["id"] for m in found] == [project]
        shown = found[0]["project"]
        assert set(shown) == {"id", "name", "description", "archived", "created_at", "notes", "workspace_id", "user_id", "immutable", "state",
                              "key", "seq"}
        assert (shown["name"], shown["key"], shown["state"], shown["notes"], shown["archived"]) == ("a", "AAAAA", "UNSPECIFIED", [], False)
        world.call("PatchProject", {"description": "new"}, id=project)
        changed = s.next()["project"]
        assert changed["description"] == "new" and changed["seq"] > shown["seq"]
        world.call("PostProject", {"name": "elsewhere"}, workspaceId=other)
        made = world.call("PostProject", {"name": "c"}, workspaceId=workspace)["project"]["id"]
        assert s.next()["project"]["id"] == made
        world.call("MoveProject", {"destinationWorkspaceId": other}, projectId=made)
        assert s.next() == {"projects_deleted": str(made)}
        world.call("MoveProject", {"destinationWorkspaceId": workspace}, projectId=made)
        assert s.next()["project"]["id"] == made


def test_a_client_resumes_with_what_it_knows(world):
    workspace = world.workspace()
    a, b, c = (world.call("PostProject", {"name": name}, workspaceId=workspace)["project"]["id"] for name in "abc")
    with stream(world) as s:
        since = max(m["project"]["seq"] for m in s.subscribe(projects={"workspace_ids": [workspace]}))
    world.call("PatchProject", {"description": "new"}, id=b)
    world.call("MoveProject", {"destinationWorkspaceId": world.workspace()}, projectId=c)
    with stream(world) as s:
        found = s.subscribe(known={"projects": f"{a}-{c}"}, projects={"workspace_ids": [workspace], "since": since})
        assert found[0] == {"projects_deleted": str(c)} and [m["project"]["id"] for m in found[1:]] == [b]
        assert [m["project"]["id"] for m in s.subscribe("2", projects={"workspace_ids": [workspace], "since": since})] == [a, b]
        assert s.subscribe("3", known={"projects": f"{a},{b}"}) == [{"projects_deleted": f"{a},{b}"}]


def test_a_project_that_is_deleted_leaves(world):
    project = world.project()
    with stream(world) as s:
        s.subscribe(projects={"project_ids": [project]})
        world.call("DeleteProject", id=project)
        message = s.next()
        while "project" in message:
            message = s.next()
        assert message == {"projects_deleted": str(project)}


def test_models_and_versions(world):
    workspace = world.workspace()
    name = world.version()
    model = world.call("GetModel", modelName=name)["model"]["id"]
    with stream(world) as s:
        found = s.subscribe(models={"model_ids": [model]}, modelversions={"model_ids": [model]})
        assert [list(m) for m in found] == [["model"], ["modelversion"]]
        assert set(found[0]["model"]) == {"id", "name", "description", "archived", "creation_time", "notes", "workspace_id", "user_id",
                                          "last_updated_time", "metadata", "labels", "seq"}
        version = found[1]["modelversion"]
        assert set(version) == {"id", "name", "version", "checkpoint_uuid", "creation_time", "last_updated_time", "metadata", "model_id",
                                "user_id", "comment", "labels", "notes", "workspace_id", "seq"}
        world.call("PatchModelVersion", {"comment": "c"}, modelName=name, modelVersionNum=1)
        assert s.next()["modelversion"]["comment"] == "c"
        world.call("MoveModel", {"destinationWorkspaceId": workspace}, modelName=name)
        moved = {}
        for _ in range(2):
            moved |= s.next()
        assert moved["model"]["workspace_id"] == moved["modelversion"]["workspace_id"] == workspace
        world.call("DeleteModel", modelName=name)
        gone = {}
        for _ in range(2):
            gone |= s.next()
        assert gone == {"models_deleted": str(model), "modelversions_deleted": str(version["id"])}


def test_who_may_not_connect_and_what_is_no_message(world):
    for token in ("", "det1.none-such"):
        with pytest.raises(Refused) as refused:
            WebSocket(f"ws://127.0.0.1:{world.c.port}/stream", {"Authorization": f"Bearer {token}"})
        assert refused.value.status == 401
    assert world.c.get("/stream").status == 400
    for text in ("{", "[]", '{"subscribe": {"projects": {"project_ids": [0]}}}', '{"subscribe": {"projects": {"project_ids": ["x"]}}}',
                 '{"subscribe": {"projects": 7}}', '{"known": {"projects": "7-3"}}', '{"known": {"projects": "3,1"}}',
                 '{"known": {"projects": "1,"}}', '{"known": {"projects": "99999999999"}}', '{"known": 7}'):
        with stream(world) as s:
            s.ws.send(text)
            assert s.ends().startswith(POLICY), text
    with stream(world) as s:
        s.ws.send(b"x")
        assert s.ends().startswith(POLICY)


def test_many_subscribers_get_each_change_once_and_in_order(world):
    project = world.project()
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(stream(world)) for _ in range(50)]
        for s in all_of_them:
            s.subscribe(projects={"project_ids": [project]})
        for i in range(20):
            world.call("PatchProject", {"description": f"d{i}"}, id=project)
        for s in all_of_them:
            seen = []
            while not seen or seen[-1]["description"] != "d19":
                seen.append(s.next()["project"])
            assert [m["seq"] for m in seen] == sorted({m["seq"] for m in seen})


def test_a_person_without_rights_sees_what_everybody_sees(world):
    user = world.user()
    token = world.c.post("/api/v1/auth/login", {"username": user["username"], "password": client_hash("CANARY-that-nobody-may-read"),
                                                 "isHashed": True}, token=None).json["token"]
    project = world.project()
    with stream(world, token=token) as s:
        assert [m["project"]["id"] for m in s.subscribe(projects={"project_ids": [project]})] == [project]


# ---- ends ---------------------------------------------------------------------------------------------------------------

def new_session(world, user):
    return world.c.post("/api/v1/auth/login", {"username": user["username"], "password": client_hash("CANARY-that-nobody-may-read"),
                                               "isHashed": True}, token=None).json["token"]


@pytest.mark.parametrize("how", ["logout", "revoked access token", "changed password", "deactivated account"])
def test_a_session_that_ends_ends_its_stream_and_no_other(world, how):
    c, user, project = world.c, world.user(), world.project()
    token, access = new_session(world, user), None
    if how == "revoked access token":
        access = c.post("/api/v1/tokens", {"userId": user["id"], "lifespan": "1h"}, token=token).json
        token = access["token"]
    with stream(world, token=token) as ended, stream(world) as other:
        for s in (ended, other):
            s.subscribe(projects={"project_ids": [project]})
        if how == "logout":
            reply = c.post("/api/v1/auth/logout", token=token)
        elif how == "revoked access token":
            reply = c.patch(f"/api/v1/tokens/{access['tokenId']}", {"setRevoked": True}, token=c.admin_token())
        elif how == "changed password":
            reply = c.request("POST", f"/api/v1/users/{user['id']}/password", client_hash("Another-Long-1"), token=c.admin_token())
        else:
            reply = c.patch(f"/api/v1/users/{user['id']}", {"active": False}, token=c.admin_token())
        assert reply.status == 200, reply
        world.call("PatchProject", {"description": "after the end"}, id=project)
        with pytest.raises(Closed) as closed:
            ended.ws.receive()  # nothing that came after the end
        assert str(closed.value).startswith(POLICY)
        assert other.next()["project"]["description"] == "after the end"


def test_a_client_that_does_not_read_is_cut_and_holds_nobody_up(world):
    project = world.project()
    with stream(world, receive_buffer=4096) as slow, stream(world) as quick:
        for s in (slow, quick):
            s.subscribe(projects={"project_ids": [project]})
        sent, cut = 0, False
        while not cut:  # 1 MiB waits in the master, and some more in the system's buffers
            assert sent < 400, "the client that does not read is still connected"
            sent += 1
            world.call("PatchProject", {"description": f"{sent} " + "x" * 100000}, id=project)
            assert quick.next()["project"]["description"].startswith(f"{sent} ")
            cut = "stream.slow" in world.c.master_log()
        with pytest.raises((Closed, ConnectionError, AssertionError)):
            while True:
                slow.ws.receive()
        world.call("PatchProject", {"description": "short"}, id=project)
        assert quick.next()["project"]["description"] == "short"


def test_there_is_a_limit_of_subscribers(new_cluster):
    c = new_cluster(config={"limits": {"stream_subscribers": 3}})
    c.start_master()
    c.login()
    with contextlib.ExitStack() as stack:
        ours = [Stream(c) for _ in range(3)]
        for s in ours:
            stack.callback(s.ws.close)
        with pytest.raises(Refused) as refused:
            Stream(c)
        assert refused.value.status == 503 and b"3 subscribers" in refused.value.text
        ours[0].ws.close()

        def connects():
            try:
                s = Stream(c)
            except Refused:
                return False
            stack.callback(s.ws.close)
            return True
        wait_for("a free place", connects)
        assert ours[1].subscribe(projects={"project_ids": [1]})
