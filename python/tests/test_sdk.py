"""The SDK: who logs in and how, what goes along with an experiment, and what our master does not serve yet.

What it does serve is tested in tests/compat/test_sdk.py, side by side with the published library.
"""

import base64
import hashlib
import io
import json
import os
import stat
import tarfile

import pytest
from support.fake_master.tasks import TOKEN, FakeMaster, Refusal

from determined import errors
from determined.experimental import _api, _checkpoint, _context, _login, client

NOW = "2026-01-02T03:04:05.678Z"
USER = {"id": 7, "username": "ada", "admin": False, "active": True, "displayName": "Ada"}


class Master(FakeMaster):
    """Users and the model registry."""

    def __init__(self):
        super().__init__()
        self.models = {}
        self.passwords = {"ada": "Secret123"}

    def Login(self, body, _):
        password = self.passwords.get(body["username"], "")
        hashed = hashlib.sha512(("GubPEmmotfiK9TMD6Zdw" + password).encode()).hexdigest() if password else ""
        if body["password"] != hashed:
            raise Refusal(401, "invalid credentials")
        return {"token": TOKEN, "user": {**USER, "username": body["username"]}}

    def Logout(self, _, __):
        return {}

    def GetMe(self, _, __):
        return {"user": USER}

    def GetUsers(self, _, query):
        first, n = int(query["offset"]), int(query["limit"])
        everybody = [{**USER, "id": i, "username": f"u{i}"} for i in range(450)]
        return {"users": everybody[first : first + n], "pagination": {"offset": first, "limit": n, "total": 450}}

    def PatchUser(self, user_id, body, _):
        self.patched = body
        return {"user": {**USER, **{k: v for k, v in body.items() if k in ("username", "active", "displayName")}}}

    def PostUser(self, body, _):
        self.patched = body
        return {"user": {**USER, "username": body["user"]["username"]}}

    def PostModel(self, body, _):
        if body["name"] in self.models:
            raise Refusal(409, "already exists")
        times = {"creationTime": NOW, "lastUpdatedTime": NOW}
        ids = {"id": len(self.models) + 1, "workspaceId": 1, "userId": 7, "numVersions": 0}
        self.models[body["name"]] = {"metadata": {}, **body, **times, **ids, "username": "ada", "archived": False}
        self.models[body["name"]]["versions"] = []
        return {"model": self._shown(body["name"])}

    def _shown(self, name):
        return {k: v for k, v in self.models[name].items() if k not in ("versions", "workspaceName")}

    def GetModel(self, name, _, __):
        if name not in self.models:
            raise Refusal(404, f"model {name} not found")
        return {"model": self._shown(name)}

    def GetModels(self, _, query):
        assert query["sortBy"] == "SORT_BY_NAME" and query["orderBy"] == "ORDER_BY_ASC"
        found = [self._shown(name) for name in sorted(self.models) if query.get("name", "") in name]
        return {"models": found, "pagination": {"total": len(found)}}

    def PatchModel(self, name, body, _):
        self.models[name].update(body)
        return {"model": self._shown(name)}

    def ArchiveModel(self, name, _, __):
        self.models[name]["archived"] = True
        return {}

    def UnarchiveModel(self, name, _, __):
        self.models[name]["archived"] = False
        return {}

    def DeleteModel(self, name, _, __):
        del self.models[name]
        return {}

    def GetModelLabels(self, _, __):
        return {"labels": ["a"]}

    def PostModelVersion(self, name, body, _):
        checkpoint = {"uuid": body["checkpointUuid"], "resources": {}, "metadata": {}, "state": "STATE_COMPLETED"}
        versions = self.models[name]["versions"]
        number = len(versions) + 1
        version = {"version": number, "id": number, "creationTime": NOW, "lastUpdatedTime": NOW}
        versions.append({**version, "model": self._shown(name), "checkpoint": {**checkpoint, "training": {}}})
        return {"modelVersion": versions[-1]}

    def GetModelVersions(self, name, _, query):
        versions = self.models[name]["versions"]
        if query["orderBy"] == "ORDER_BY_DESC":
            versions = versions[::-1]
        first, n = int(query["offset"]), int(query["limit"])
        found = {"modelVersions": versions[first : first + n], "pagination": {"total": len(versions)}}
        return {"model": self._shown(name), **found}

    def GetModelVersion(self, name, number, _, __):
        return {"modelVersion": self.models[name]["versions"][int(number) - 1]}

    def PatchModelVersion(self, name, number, body, _):
        self.models[name]["versions"][int(number) - 1].update(body)
        return {"modelVersion": self.models[name]["versions"][int(number) - 1]}

    def DeleteModelVersion(self, name, number, _, __):
        self.models[name]["versions"].pop(int(number) - 1)
        return {}


@pytest.fixture
def master():
    master = Master()
    yield master
    master.close()
    assert master.complaints == []


@pytest.fixture(autouse=True)
def _nobody_is_logged_in(monkeypatch, tmp_path):
    monkeypatch.setenv("DET_DEBUG_CONFIG_PATH", str(tmp_path / "config"))
    for name in ("DET_MASTER", "DET_MASTER_ADDR", "DET_USER", "DET_PASS", "DET_USER_TOKEN", "DET_MASTER_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(client._determined, "_current", None)


@pytest.fixture
def cluster_of_ada(master):
    return client.Determined(master.url, "ada", "Secret123")


# ---- logging in ----


def test_login__keeps_its_token_where_det_does(master, tmp_path):
    client.Determined(master.url, "ada", "Secret123")
    store = tmp_path / "config" / "auth.json"
    kept = json.loads(store.read_text())
    assert kept == {"version": 2, "masters": {master.url: {"tokens": {"ada": TOKEN}}}}
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    # The token is as good as the password from now on.
    assert client.Determined(master.url, "ada").whoami().username == "ada"
    assert [r.path for r in master.requests].count("/api/v1/auth/login") == 1


def test_login__with_a_wrong_password_is_refused(master, tmp_path):
    with pytest.raises(errors.Unauthenticated, match="invalid credentials"):
        client.Determined(master.url, "ada", "wrong")
    assert not (tmp_path / "config" / "auth.json").exists()


def test_login__with_a_token_that_has_ended_logs_in_anew(master):
    store = _login.TokenStore(master.url)
    store.change("ada", "an old one")
    with pytest.raises(errors.Unauthenticated):
        client.Determined(master.url, "ada")
    client.Determined(master.url, "ada", "Secret123")
    assert store.read().tokens == {"ada": TOKEN}


def test_login__by_the_environment(master, monkeypatch):
    monkeypatch.setenv("DET_MASTER", master.url)
    monkeypatch.setenv("DET_USER", "ada")
    monkeypatch.setenv("DET_PASS", "Secret123")
    assert client.whoami().display_name == "Ada" and client.get_session_username() == "ada"
    with pytest.raises(RuntimeError, match="comes first and once"):
        client.login(master.url)
    client.logout()
    assert _login.TokenStore(master.url).read().tokens == {}


def test_login__of_a_task_is_its_owners(master, monkeypatch):
    monkeypatch.setenv("DET_MASTER", master.url)
    monkeypatch.setenv("DET_USER", "ada")
    monkeypatch.setenv("DET_USER_TOKEN", TOKEN)
    assert client.whoami().user_id == 7
    client.logout()
    assert master.rpcs() == ["GetMe"]  # a token that is lent is not ended


@pytest.mark.parametrize("address", ["ftp://x", "http://", "", "http://x?y=1"])
def test_an_address_that_is_none__is_refused(address):
    with pytest.raises(ValueError, match="is not of the form"):
        _login.canonical_address(address)


def test_a_damaged_store__is_said_so(master, tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "auth.json").write_text("{")
    with pytest.raises(RuntimeError, match="auth.json: is damaged"):
        client.Determined(master.url, "ada", "Secret123")


# ---- users ----


def test_lists__come_page_by_page(cluster_of_ada, master):
    assert [u.user_id for u in cluster_of_ada.list_users()] == list(range(450))
    assert master.rpcs().count("GetUsers") == 3


def test_users__are_changed(cluster_of_ada, master):
    ada = cluster_of_ada.whoami()
    ada.rename("countess")
    assert ada.username == "countess" and master.patched == {"username": "countess"}
    ada.deactivate()
    assert ada.active is False
    ada.link_with_agent(1000, 1000, "ada", "users")
    assert master.patched == {
        "agentUserGroup": {"agentUid": 1000, "agentGid": 1000, "agentUser": "ada", "agentGroup": "users"}
    }
    ada.change_password("Another1")
    assert len(master.patched["password"]) == 128 and master.patched["isHashed"] is True


@pytest.mark.parametrize("password", ["Short1", "nouppercase1", "NOLOWERCASE1", "NoDigitsHere"])
def test_a_password_that_is_too_easy__never_leaves(cluster_of_ada, master, password):
    before = len(master.requests)
    with pytest.raises(ValueError, match="at least 8 characters"):
        cluster_of_ada.create_user("bob", False, password)
    assert len(master.requests) == before


def test_a_user_without_a_password__is_remote(cluster_of_ada):
    with pytest.raises(ValueError, match="needs a password"):
        cluster_of_ada.create_user("bob", False)
    assert cluster_of_ada.create_user("bob", False, remote=True).username == "bob"


# ---- models ----


def test_models__from_the_first_to_the_last(cluster_of_ada, master):
    model = cluster_of_ada.create_model("digits", "reads digits", {"a": 1}, ["x"])
    assert (model.model_id, model.labels, model.creation_time.year) == (1, ["x"], 2026)
    with pytest.raises(errors.Conflict):
        cluster_of_ada.create_model("digits")
    assert model.get_version() is None
    versions = [model.register_version(f"uuid{i}") for i in range(3)]
    assert [v.model_version for v in model.list_versions()] == [3, 2, 1]
    assert model.get_version().checkpoint.uuid == "uuid2" and model.get_version(1).checkpoint.uuid == "uuid0"
    versions[0].set_name("first")
    versions[0].set_notes("noted")
    versions[0].reload()
    assert (versions[0].name, versions[0].notes) == ("first", "noted")
    versions[2].delete()
    assert len(model.list_versions()) == 2
    model.add_metadata({"b": 2})
    model.remove_metadata(["a", "nothing"])
    model.set_labels(["y"])
    model.set_description("better")
    model.archive()
    again = cluster_of_ada.get_model("digits")
    assert (again.metadata, again.labels, again.description, again.archived) == ({"b": 2}, ["y"], "better", True)
    again.unarchive()
    assert [m.name for m in cluster_of_ada.list_models(name="dig")] == ["digits"]
    assert cluster_of_ada.list_models(name="other") == [] and cluster_of_ada.get_model_labels() == ["a"]
    again.delete()
    with pytest.raises(errors.NotFound, match="model digits not found"):
        cluster_of_ada.get_model("digits")


# ---- files of an experiment ----


def names(directory, includes=None):
    return [e["path"] for e in _context.read(directory, includes)]


def test_context__leaves_out_what_nobody_needs(tmp_path):
    for name in ("model.py", "__pycache__/model.pyc", ".git/config", "data/big.bin", "data/small.txt", "x.pyc"):
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / name).write_text(name)
    assert names(tmp_path / "c") == ["data", "model.py", "data/big.bin", "data/small.txt"]
    (tmp_path / "c" / ".detignore").write_text("*.bin\n!x.pyc\n")
    assert names(tmp_path / "c") == ["data", ".detignore", "model.py", "data/small.txt"]


def test_context__takes_more_files_along(tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "more" / "deep").mkdir(parents=True)
    (tmp_path / "more" / "deep" / "file").write_text("content")
    (tmp_path / "one").write_text("1")
    entries = _context.read(tmp_path / "c", [tmp_path / "more", tmp_path / "one"])
    assert [e["path"] for e in entries] == ["more", "more/deep", "more/deep/file", "one"]
    assert base64.b64decode(entries[2]["content"]) == b"content" and entries[0]["type"] == 53


def test_context__that_is_too_large_or_missing_is_refused(tmp_path):
    with open(tmp_path / "large", "wb") as f:
        f.truncate(_context.SIZE_MAX + 1)
    with pytest.raises(_context.ContextTooLarge, match="more than the 99,614,720"):
        _context.read(tmp_path)
    with pytest.raises(NotADirectoryError, match="model_dir"):
        _context.read(tmp_path / "nowhere")


# ---- checkpoints ----


def test_an_archive__cannot_write_elsewhere(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("../outside")
        archive.addfile(member, io.BytesIO())
    packed.seek(0)
    target = tmp_path / "checkpoint"
    target.mkdir()
    with tarfile.open(fileobj=packed) as archive, pytest.raises(ValueError, match="leads out of it"):
        _checkpoint._unpack(archive, target)
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_a_checkpoint_that_is_gone__is_not_downloaded():
    checkpoint = client.Checkpoint(None, "a-uuid")
    with pytest.raises(ValueError, match=r"state is unknown; call reload\(\) first"):
        checkpoint.download()
    checkpoint.state = client.CheckpointState.DELETED
    with pytest.raises(ValueError, match="state is DELETED"):
        checkpoint.download()


def test_an_order_without_a_key__is_refused():
    with pytest.raises(AssertionError, match="together, or neither"):
        client.Experiment(1, None).list_checkpoints(order_by=client.OrderBy.ASC)
    with pytest.raises(ValueError, match="name of a metric"):
        client.Trial(1, None).list_checkpoints(sort_by=5, order_by=client.OrderBy.ASC)
    with pytest.raises(AssertionError, match="exactly one"):
        client.Trial(1, None).select_checkpoint()
    with pytest.raises(ValueError, match="only one can be given"):
        client.Trial(1, None).iter_logs(follow=True, tail=3)


@pytest.mark.parametrize(
    ("text", "microsecond"), [("2026-01-02T03:04:05Z", 0), ("2026-01-02T03:04:05.5Z", 500000), (NOW, 678000)]
)
def test_times__of_any_precision_are_read(text, microsecond):
    assert _api.time_of(text).microsecond == microsecond
