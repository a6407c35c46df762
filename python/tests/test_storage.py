"""Checkpoint storages, each against the official client's counterpart: moto, gcp-storage-emulator, azurite."""

import contextlib
import json
import os
import pathlib
import random
import sys
import uuid

import pytest
from support import object_stores

from determined import _storage, errors

KINDS = ["directory", "s3", "gcs", "azure"]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Servers by kind, started when first asked for."""
    started = {}
    with contextlib.ExitStack() as stack:

        def server(kind):
            reason = object_stores.missing(kind)
            if reason:
                pytest.skip(reason)
            if kind not in started:
                start = getattr(object_stores, kind)
                started[kind] = stack.enter_context(start(tmp_path_factory.mktemp(kind)))
            return started[kind]

        yield server


@pytest.fixture(params=KINDS)
def config(request, servers, tmp_path, monkeypatch):
    """checkpoint_storage of each kind, with a prefix of its own."""
    if request.param == "directory":
        return {"type": "directory", "container_path": str(tmp_path / "storage")}
    server = servers(request.param)
    for name, value in getattr(server, "env", {}).items():
        monkeypatch.setenv(name, value)
    prefix = f"of/{uuid.uuid4()}"
    if request.param == "azure":
        return {**server.config, "container": f"{server.config['container']}/{prefix}"}
    return {**server.config, "prefix": prefix}


@pytest.fixture
def storage(config):
    return _storage.from_config(config)


@pytest.fixture
def source(tmp_path):
    root = tmp_path / "source"
    for name, size in {"weights.bin": 20_000_000, "code/model.py": 10, "code/data/x.csv": 0, "logs/1.log": 5}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(os.urandom(size))
    (root / "empty").mkdir()
    return root


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def stored(storage, source):
    storage_id = str(uuid.uuid4())
    storage.upload(storage_id, source, set(_storage.list_resources(source)))
    return storage_id


def test_storage__gives_back_what_it_was_given(storage, source, tmp_path):
    storage_id = stored(storage, source)
    assert storage.resources(storage_id) == _storage.list_resources(source)
    storage.download(storage_id, tmp_path / "all")
    assert contents(tmp_path / "all") == contents(source) and (tmp_path / "all" / "empty").is_dir()
    storage.download(storage_id, tmp_path / "some", selector=lambda name: name.startswith("logs"))
    assert [p.name for p in (tmp_path / "some").iterdir()] == ["logs"]
    with storage.restore_path(storage_id) as path:
        assert contents(path) == contents(source)


def test_storage__says_which_checkpoint_is_not_there(storage, tmp_path):
    storage_id = str(uuid.uuid4())
    for ask in (storage.resources, storage.delete, lambda x: storage.download(x, tmp_path / "x")):
        with pytest.raises(errors.CheckpointNotFound, match=storage_id):
            ask(storage_id)


def test_storage__deletes_by_pattern_and_says_what_is_left(storage, source):
    storage_id, other = stored(storage, source), stored(storage, source)
    left = storage.delete(storage_id, ["**/*.log", "*.bin"])
    assert left == {"code/": 0, "code/model.py": 10, "code/data/": 0, "code/data/x.csv": 0, "empty/": 0}
    assert storage.resources(storage_id) == left
    assert storage.delete(storage_id, ["*.bin"]) == left
    assert storage.delete(storage_id) == {}
    with pytest.raises(errors.CheckpointNotFound):
        storage.resources(storage_id)
    assert storage.resources(other) == _storage.list_resources(source)


def test_store_path__stores_what_lies_there_at_the_end(storage):
    storage_id = str(uuid.uuid4())
    with storage.store_path(storage_id) as path:
        (path / "a").write_text("A")
    assert storage.resources(storage_id) == {"a": 1}


def test_store_path__of_a_body_that_fails_stores_nothing(storage):
    storage_id = str(uuid.uuid4())
    with pytest.raises(ZeroDivisionError), storage.store_path(storage_id) as path:
        (path / "a").write_text("A")
        _ = 1 / 0
    with pytest.raises(errors.CheckpointNotFound):
        storage.resources(storage_id)


def test_storage__keeps_files_beside_checkpoints(storage, source):
    storage_id = stored(storage, source)
    for trial in (1, 10):
        storage.put_file(source / "code/model.py", f"cluster/tensorboard/experiment/{trial}/trial/5/events")
    storage.delete_tree("cluster/tensorboard/experiment/1")
    storage.delete_tree("cluster/tensorboard/experiment/1")
    assert storage.resources(storage_id)
    storage.put_file(source / "code/model.py", "cluster/tensorboard/experiment/10/trial/5/events")
    with pytest.raises(ValueError, match="leads out of"):
        storage.put_file(source / "code/model.py", "cluster/../../x")


def test_storage__can_be_tried_out(storage):
    storage.validate()


@pytest.mark.parametrize("storage_id", ["", "..", "a/b"])
def test_storage__takes_no_id_that_leads_elsewhere(storage, storage_id):
    with pytest.raises(ValueError, match="is not a checkpoint id"):
        storage.resources(storage_id)


def test_object_store__leaves_the_users_random_numbers_alone(storage, source):
    random.seed(7)
    expected = random.random()
    random.seed(7)
    storage.resources(stored(storage, source))
    assert random.random() == expected


def test_s3__refuses_names_that_lead_out_of_a_checkpoint(servers, tmp_path):
    s3 = servers("s3")
    storage_id = str(uuid.uuid4())
    s3.client.put_object(Bucket=s3.config["bucket"], Key=f"{storage_id}/../../escaped", Body=b"x")
    with pytest.raises(ValueError, match="leads out of its checkpoint"):
        _storage.from_config(s3.config).download(storage_id, tmp_path / "a" / "b")
    assert not (tmp_path / "escaped").exists()


def test_s3__without_credentials_names_the_storage(servers, monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    config = {k: v for k, v in servers("s3").config.items() if not k.endswith("_key")}
    with pytest.raises(errors.NoDirectStorageAccess, match="s3://checkpoints"):
        _storage.from_config(config).resources("x")


@pytest.mark.parametrize(
    ("kind", "module", "package"),
    [
        ("s3", "boto3", "boto3"),
        ("gcs", "google.cloud.storage", "google-cloud-storage"),
        ("azure", "azure.storage", "azure-storage-blob"),
    ],
)
def test_object_store__names_the_package_that_is_missing(kind, module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    config = {"type": kind, "bucket": "b", "container": "c", "connection_string": "x"}
    with pytest.raises(ImportError, match=f"pip install {package}"):
        _storage.from_config(config)


@pytest.mark.parametrize("kind", ["s3", "gcs"])
def test_prefix__must_not_lead_upwards(kind):
    with pytest.raises(ValueError, match=r"prefix 'a/\.\./b'"):
        _storage.from_config({"type": kind, "bucket": "b", "prefix": "a/../b"})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"type": "s3"}, "bucket is missing"),
        ({"type": "azure"}, "container is missing"),
        ({"type": "azure", "container": "c"}, "account_url is missing"),
        ({"type": "floppy"}, "'floppy' is unknown"),
        ({}, "None is unknown"),
    ],
)
def test_from_config__says_what_is_wrong(config, message):
    with pytest.raises(ValueError, match=message):
        _storage.from_config(config)


STORE = """
import json, sys, os
from determined.common import storage
config, checkpoint, directory = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
manager = storage.build(config, container_path=None)
"""
THEIR_UPLOAD = STORE + "manager.upload(directory, checkpoint); print('ok')"
THEIR_DOWNLOAD = STORE + "manager.download(checkpoint, directory); print('ok')"
THEIR_DELETE = STORE + "print(json.dumps(manager.delete(checkpoint, ['**/*.log'])))"


@pytest.fixture(params=["shared_fs", "s3"])
def common_config(request, servers, tmp_path):
    if request.param == "s3":
        return {**servers("s3").config, "prefix": "/some//where/"}
    return {"type": "shared_fs", "host_path": str(tmp_path / "host"), "storage_path": "some/where"}


def test_published_library__reads_what_ours_stored(published_python, common_config, source, tmp_path):
    storage_id = stored(_storage.from_config(common_config), source)
    argument = json.dumps(common_config)
    pathlib.Path(common_config.get("host_path", tmp_path)).mkdir(exist_ok=True)
    assert published_python("-c", THEIR_DOWNLOAD, argument, storage_id, str(tmp_path / "theirs"), cwd=tmp_path) == "ok"
    assert contents(tmp_path / "theirs") == contents(source)
    assert "logs/1.log" not in json.loads(published_python("-c", THEIR_DELETE, argument, storage_id, "", cwd=tmp_path))


def test_our_library__reads_what_the_published_one_stored(published_python, common_config, source, tmp_path):
    storage_id = str(uuid.uuid4())
    pathlib.Path(common_config.get("host_path", tmp_path)).mkdir(exist_ok=True)
    published_python("-c", THEIR_UPLOAD, json.dumps(common_config), storage_id, str(source), cwd=tmp_path)
    storage = _storage.from_config(common_config)
    assert storage.resources(storage_id) == _storage.list_resources(source)
    storage.download(storage_id, tmp_path / "ours")
    assert contents(tmp_path / "ours") == contents(source) and (tmp_path / "ours" / "empty").is_dir()
    assert storage.delete(storage_id) == {}


def test_tensorboard_files_of_several_users_go_below_directories_that_all_of_them_may_add_to(tmp_path):
    source = tmp_path / "events"
    source.write_text("x")
    base = tmp_path / "storage"
    storage = _storage.DirectoryStorage(base)
    before = os.umask(0o022)
    try:
        for experiment in (7, 8):
            storage.put_file(source, f"c/tensorboard/experiment/{experiment}/trial/11/events")
        storage.put_file(source, "uuid/some/thing/else")
    finally:
        os.umask(before)
    modes = {str(p.relative_to(base)): p.stat().st_mode & 0o7777 for p in base.rglob("*") if p.is_dir()}
    assert [modes[p] for p in ("c", "c/tensorboard", "c/tensorboard/experiment")] == [0o1777] * 3
    own = ("c/tensorboard/experiment/7", "c/tensorboard/experiment/8/trial/11", "uuid/some/thing")
    assert [modes[p] for p in own] == [0o755] * 3


def test_managers_of_the_released_names__do_the_same(config, source, tmp_path):
    """``determined.common.storage``, for programs."""
    from determined.common import storage

    manager = storage.build({**config, "save_trial_best": 1}, container_path=None)
    storage.validate_manager(manager)
    assert isinstance(manager, storage.CloudStorageManager) == (config["type"] != "directory")
    storage_id = str(uuid.uuid4())
    manager.upload(source, storage_id, {"logs/", "logs/1.log", "code/", "code/model.py"})
    manager.download(storage_id, tmp_path / "all")
    assert (tmp_path / "all/logs/1.log").read_bytes() == (source / "logs/1.log").read_bytes()
    assert _storage.from_config(config).resources(storage_id).keys() >= {"logs/1.log", "code/model.py"}
    path = manager.pre_store_path(f"{storage_id}-2")
    (path / "a").write_text("A")
    manager.post_store_path(path, f"{storage_id}-2")
    assert path.exists() == manager.store_path_is_direct_access()
    assert manager.delete(f"{storage_id}-2", ["**/*"]) == manager.delete(storage_id, ["**/*"]) == {}
    with pytest.raises(errors.CheckpointNotFound):
        manager.delete(storage_id, ["**/*"])


def test_a_manager_of_a_mounted_directory__looks_where_it_is_mounted(tmp_path):
    from determined.common import storage

    config = {"type": "shared_fs", "host_path": "/somewhere/else", "storage_path": "mine"}
    with storage.build(config, container_path=str(tmp_path)).store_path("one") as path:
        assert path == tmp_path / "mine" / "one"
    with pytest.raises(TypeError, match="unknown keys"):
        storage.build({**config, "colour": "red"}, None)
    with pytest.raises(ValueError, match="leads out of"):
        storage.build({**config, "storage_path": "../x"}, None)


def test_list_tree__tells_files_by_name_with_a_version_that_changes_with_them(storage, tmp_path):
    if isinstance(storage, _storage.DirectoryStorage):
        pytest.skip("directories are read where they are")
    (tmp_path / "file").write_bytes(b"12345")
    for name in ("a/trial/1", "a/trial/2", "ab/trial/3"):
        storage.put_file(tmp_path / "file", name)
    before = storage.list_tree("a")
    assert {name: found.size for name, found in before.items()} == {"trial/1": 5, "trial/2": 5}
    (tmp_path / "file").write_bytes(b"abcde")
    storage.put_file(tmp_path / "file", "a/trial/2")
    after = storage.list_tree("a")
    assert [after[n].version == before[n].version for n in ("trial/1", "trial/2")] == [True, False]
    assert storage.list_tree("nothing") == {}


def test_fetch__gives_a_file_or_adds_what_is_missing_of_it(storage, tmp_path):
    if isinstance(storage, _storage.DirectoryStorage):
        pytest.skip("directories are read where they are")
    content = os.urandom(9_000_000)
    (tmp_path / "file").write_bytes(content)
    storage.put_file(tmp_path / "file", "a/1")
    key = storage.list_tree("a")["1"].key
    storage.fetch(key, tmp_path / "fetched")
    assert (tmp_path / "fetched").read_bytes() == content
    (tmp_path / "fetched").write_bytes(content[:1000])
    storage.fetch(key, tmp_path / "fetched", 1000)
    assert (tmp_path / "fetched").read_bytes() == content
