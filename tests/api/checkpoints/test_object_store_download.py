"""Tests checkpoints in the cluster's object store that are downloaded through the master: with each kind of store and of archive, and by
all clients."""
import contextlib
import http.client
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import uuid
import zipfile

import pytest
from support import object_stores
from support.cluster import ROOT, Cluster, wait_for
from support.det import run_det

TYPES = {"tar": "application/x-tar", "gzip": "application/gzip", "zip": "application/zip"}
FILES = {"weights": os.urandom(9_000_001), "code/model.py": b"x = 1\n", "empty": b"", "größe.txt": b"1"}


def environment(**more):
    return {"PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}", "AWS_DEFAULT_REGION": "us-east-1", **more}


@contextlib.contextmanager
def cluster_with(directory, config, **env):
    config = {"checkpoint_storage": {**config, "save_trial_latest": 1000}}
    with Cluster(directory / "cluster", config=config, env=environment(**env)) as c:
        c.start_master()
        c.login()
        yield c


@pytest.fixture(scope="module", params=["s3", "gcs", "azure"])
def stored(request, tmp_path_factory):
    """Returns (the cluster whose storage this is, a checkpoint that our library has stored there)."""
    if object_stores.missing(request.param):
        pytest.skip(object_stores.missing(request.param))
    directory = tmp_path_factory.mktemp(request.param)
    with getattr(object_stores, request.param)(directory) as store:
        with cluster_with(directory, store.config, **getattr(store, "env", {})) as c:
            yield c, report(c, store.config, directory, getattr(store, "env", {}))


def report(c, config, directory, env, **changes):
    """Uploads files as a trial does, and reports the checkpoint to the master."""
    name = str(uuid.uuid4())
    files = pathlib.Path(directory) / name
    for path, data in FILES.items():
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_bytes(data)
    program = ("import json, pathlib, sys; from determined import _storage; s = _storage.from_config(json.loads(sys.argv[1])); "
               "d = pathlib.Path(sys.argv[2]); s.upload(sys.argv[3], d, set(_storage.list_resources(d)))")
    subprocess.run([sys.executable, "-c", program, json.dumps(config), str(files), name], check=True,
                   env={**os.environ, **environment(**env), "PYTHONPATH": str(ROOT / "python")})
    x = c.create(activate=False, checkpoint_storage={**config, **changes})
    [trial] = c.trial_ids(x)
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    assert c.report_checkpoint({"uuid": name, "taskId": task, "state": "STATE_COMPLETED", "resources": {"weights": "9000001"},
                                          "metadata": {"steps_completed": 1}}).status == 200
    return name


def unpack(body, form):
    if form == "zip":
        with zipfile.ZipFile(io.BytesIO(body)) as z:
            assert z.testzip() is None
            return {i.filename: z.read(i) for i in z.infolist() if not i.is_dir()}
    with tarfile.open(fileobj=io.BytesIO(body)) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers() if m.isfile()}


@pytest.mark.parametrize("form", TYPES)
def test_each_archive_holds_all_files(stored, form):
    c, name = stored
    reply = c.get(f"/checkpoints/{name}", headers={"Accept": TYPES[form], "Range": "bytes=5-"})
    assert reply.status == 200 and reply.headers["Content-Type"] == TYPES[form] and reply.headers["Accept-Ranges"] == "none"
    assert unpack(reply.body, form) == FILES
    assert c.request("HEAD", f"/checkpoints/{name}").status == 200


def downloaded(directory):
    found = {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}
    assert "metadata.json" in found
    return {path: data for path, data in found.items() if path != "metadata.json"}


@pytest.mark.parametrize("mode", ["direct", "master", "auto"])
def test_det_downloads_it(stored, tmp_path, mode):
    """python3 reads the checkpoint directly from the store, with the store's client and the user's own environment."""
    c, name = stored
    env = {**environment(), **{key: value for key, value in c.env.items() if key == "STORAGE_EMULATOR_HOST"}}
    done = run_det(c, "checkpoint", "download", "-q", "-o", tmp_path / "to", "--mode", mode, name, **env)
    assert done.returncode == 0 and not done.stderr, done
    assert downloaded(tmp_path / "to") == FILES


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    directory = tmp_path_factory.mktemp("s3")
    with object_stores.s3(directory) as store, cluster_with(directory, store.config) as c:
        yield c, store, directory


def refusal(c, name, status=400):
    reply = c.get(f"/checkpoints/{name}")
    assert reply.status == status, reply
    return reply.json["message"]


@pytest.mark.parametrize("change", [{"bucket": "another"}, {"endpoint_url": "http://127.0.0.1:9"}, {"prefix": "of/others"}])
def test_the_master_reads_no_store_but_the_clusters_own(s3, change):
    """Otherwise whoever configures an experiment could have the master read whatever its credentials, or its place in the network,
    allow."""
    c, store, directory = s3
    name = report(c, store.config, directory, {}, **change)
    assert "not the cluster's own checkpoint_storage" in refusal(c, name)


def test_what_is_not_there_and_a_store_that_does_not_answer(s3, tmp_path):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    for key in store.keys(name):
        store.client.delete_object(Bucket=store.config["bucket"], Key=key)
    assert f"checkpoint {name} does not exist in s3://" in refusal(c, name, 404)
    with cluster_with(tmp_path, {**store.config, "secret_key": "wrong", "endpoint_url": "http://127.0.0.1:9"}) as other:
        x = other.create(activate=False)
        task = other.get(f"/api/v1/trials/{other.trial_ids(x)[0]}").json["trial"]["taskId"]
        assert other.report_checkpoint({"uuid": name, "taskId": task, "state": "STATE_COMPLETED", "resources": {"a": "1"},
                                                  "metadata": {"steps_completed": 1}}).status == 200
        message = refusal(other, name)
        assert "the object store: " in message and "127.0.0.1:9" in message and "wrong" not in message


def broken_python(directory, lines):
    """Returns a PATH with a python3 that is a script."""
    (directory / "bin").mkdir()
    (directory / "bin/python3").write_text(f"#!/bin/sh\n{lines}\n")
    (directory / "bin/python3").chmod(0o755)
    return {"PATH": f"{directory / 'bin'}:/usr/bin:/bin"}


def test_det_reads_any_store_that_its_user_can(s3, tmp_path):
    """The master reads no other store than its own. A client that has credentials for another store reads that itself."""
    c, store, directory = s3
    store.client.create_bucket(Bucket="theirs")
    name = report(c, {**store.config, "bucket": "theirs", "prefix": "deep/er"}, directory, {})
    done = run_det(c, "checkpoint", "download", "-q", "-o", tmp_path / "to", name, **environment())
    assert done.returncode == 0 and downloaded(tmp_path / "to") == FILES, done


def test_det_without_the_stores_client_goes_through_the_master(s3, tmp_path):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    path = broken_python(tmp_path, "echo \"ModuleNotFoundError: No module named 'boto3'\" >&2; exit 1")
    done = run_det(c, "checkpoint", "download", "-q", "-o", tmp_path / "to", name, **path)
    assert done.returncode == 0 and downloaded(tmp_path / "to") == FILES, done
    done = run_det(c, "checkpoint", "download", "--mode", "direct", "-o", tmp_path / "direct", name, **path)
    assert done.returncode == 1 and "reading s3 by python3" in done.stderr and "No module named 'boto3'" in done.stderr, done


def test_det_names_what_became_of_an_archive_that_broke_off(s3, tmp_path):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    half = f"tar -cf - -C '{directory / name}' weights | head -c 100000; echo the store went away >&2; exit 1"
    done = run_det(c, "checkpoint", "download", "--mode", "direct", "-o", tmp_path / "to", name, **broken_python(tmp_path, half))
    assert done.returncode == 1 and "the store went away" in done.stderr, done
    assert not (tmp_path / "to/metadata.json").exists(), "it is not taken for a whole one"
    done = run_det(c, "checkpoint", "download", "-q", "-o", tmp_path / "to", "--mode", "direct", name, **environment())
    assert done.returncode == 0 and {path: downloaded(tmp_path / "to")[path] for path in FILES} == FILES, done


def test_det_says_that_a_checkpoint_is_gone_from_its_store(s3, tmp_path):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    for key in store.keys(name):
        store.client.delete_object(Bucket=store.config["bucket"], Key=key)
    done = run_det(c, "checkpoint", "download", "-o", tmp_path / "to", name, **environment())
    assert done.returncode == 1 and done.stderr.count(f"checkpoint {name} does not exist in s3://") == 2 and "through the master" in done.stderr


def test_a_client_that_leaves_ends_the_process_that_reads(s3):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    connection = http.client.HTTPConnection("127.0.0.1", c.port, timeout=60)
    connection.request("GET", f"/checkpoints/{name}", headers={"Authorization": f"Bearer {c.token}"})
    assert connection.getresponse().read(1000)
    connection.close()

    def readers():
        children = pathlib.Path(f"/proc/{c.master.pid}/task/{c.master.pid}/children")
        tasks = pathlib.Path(f"/proc/{c.master.pid}/task").glob("*/children")
        return [pid for path in {children, *tasks} for pid in path.read_text().split()]
    wait_for("the end of the process", lambda: not readers())


def test_a_python_without_the_library_is_named(s3, tmp_path):
    c, store, directory = s3
    name = report(c, store.config, directory, {})
    c.stop_master()
    c.config["python_path"] = str(tmp_path)
    c.start_master()
    try:
        assert "determined" in refusal(c, name)
        c.stop_master()
        c.config["python_executable"] = "no-such-python"
        c.start_master()
        assert "object stores are read by no-such-python, which cannot be run" in refusal(c, name)
    finally:
        c.stop_master()
        del c.config["python_path"]
        c.config.pop("python_executable", None)
        c.start_master()
