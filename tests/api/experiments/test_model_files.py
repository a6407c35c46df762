"""Tests single files of an experiment's model definition: the tree, one file, its download, and files that do not exist."""
import base64
import io
import json
import os
import tarfile

import pytest
from support.attackers import in_store

PNG = b"\x89PNG\r\n\x1a\n rest"
ODD = 'dir/a "b"\nc.txt'


def entry(path, content=b"", kind=48):
    return {"path": path, "type": kind, "content": base64.b64encode(content).decode(), "mtime": "1700000000", "mode": 0o644,
            "uid": 0, "gid": 0}


def create(c, *entries):
    reply = c.post("/api/v1/experiments", {"config": json.dumps(c.experiment_config()), "modelDefinition": list(entries),
                                           "activate": False})
    assert reply.status == 200, reply
    return reply.json["experiment"]["id"]


@pytest.fixture(scope="module")
def x(master):
    return create(master, entry("empty", kind=53), entry("dir", kind=53), entry("dir/model.py", b"print(1)\n"), entry("z.bin", b"\x00\x01"),
                  entry("./deep//er/picture.png", PNG), entry("dir.txt", b""), entry("dir/more/x", b"1"), entry(ODD, b"odd"))


def shape(nodes):
    return {n["name"]: shape(n["files"]) if n["isDir"] else n["contentLength"] for n in nodes}


def test_the_tree_has_every_file_and_directory_in_order(master, x):
    files = master.get(f"/api/v1/experiments/{x}/file_tree").json["files"]
    assert shape(files) == {"deep": {"er": {"picture.png": len(PNG)}}, "dir": {'a "b"\nc.txt': 3, "model.py": 9, "more": {"x": 1}},
                            "dir.txt": 0, "empty": {}, "z.bin": 2}
    assert [n["name"] for n in files] == sorted(n["name"] for n in files)
    by_name = {n["name"]: n for n in files}
    model = by_name["dir"]["files"][1]
    assert model["path"] == "dir/model.py" and model["contentType"] == "text/plain; charset=utf-8"
    assert model["modifiedTime"] == by_name["dir"]["modifiedTime"] == "2023-11-14T22:13:20Z"
    assert by_name["z.bin"]["contentType"] == "application/octet-stream"
    assert by_name["deep"]["files"][0]["files"][0]["contentType"] == "image/png"
    assert by_name["deep"]["modifiedTime"] is None, "stands only in the path of a file"


def test_an_experiment_without_files_has_an_empty_tree(master):
    assert master.get(f"/api/v1/experiments/{create(master)}/file_tree").json["files"] == []


def blob(data):
    """Returns the bytes as a literal of SQL, for either engine."""
    return f"'\\x{data.hex()}'::bytea" if os.environ.get("DET_TEST_DB") == "postgres" else f"x'{data.hex()}'"


def tgz(path, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo(path)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def test_a_tree_of_any_depth_that_is_stored_is_told(new_cluster):
    """Agents accept at most a hundred names in a path, so nothing deeper is accepted any more. Older versions have stored such trees."""
    c = new_cluster()
    c.start_master()
    c.login()
    deep = create(c, entry("f"))
    c.stop_master()
    in_store(c, f"UPDATE model_definitions SET tgz = {blob(tgz('d/' * 1500 + 'f', b'1'))} WHERE experiment_id = {deep}")
    c.start_master()
    nodes, depth = c.get(f"/api/v1/experiments/{deep}/file_tree").json["files"], 1
    while nodes[0]["files"]:
        nodes, depth = nodes[0]["files"], depth + 1
    assert depth == 101 and nodes[0]["path"].endswith("d/f") and not nodes[0]["isDir"]
    assert read(c, deep, "d/" * 1500 + "f") == b"1"


def read(c, x, path, status=200):
    reply = c.post(f"/api/v1/experiments/{x}/file", {"path": path})
    assert reply.status == status, reply
    return base64.b64decode(reply.json["file"]) if status == 200 else reply.json["error"]["error"]


def test_one_file_comes_by_its_path(master, x):
    assert read(master, x, "dir/model.py") == read(master, x, "./dir//model.py") == b"print(1)\n"
    assert read(master, x, "deep/er/picture.png") == PNG and read(master, x, "dir.txt") == b"" and read(master, x, ODD) == b"odd"


@pytest.mark.parametrize("path, status, words", [
    ("", 400, "path is missing"), ("dir", 400, "'dir' is a directory"), ("deep", 400, "'deep' is a directory"), ("/", 400, "is a directory"),
    ("model.py", 404, "'model.py' is not in the model definition"), ("../etc/passwd", 404, "is not in"), ("dir/model.py/x", 404, "is not in")])
def test_what_is_no_file_is_refused_by_name(master, x, path, status, words):
    assert words in read(master, x, path, status)


def test_a_file_is_downloaded_under_its_name(master, x):
    reply = master.get(f"/experiments/{x}/file/download?path=deep/er/picture.png")
    assert reply.status == 200 and reply.body == PNG and reply.headers["Content-Type"] == "image/png"
    assert reply.headers["Content-Disposition"] == f'attachment; filename="exp{x}/deep/er/picture.png"'
    odd = master.get(f"/experiments/{x}/file/download?path=dir/a%20%22b%22%0Ac.txt")
    assert odd.body == b"odd" and odd.headers["Content-Disposition"] == f'attachment; filename="exp{x}/dir/a _b__c.txt"'
    for path, status in ((f"{x}/file/download", 400), (f"{x}/file/download?path=no", 404), ("99999/file/download?path=a", 404),
                         ("x/file/download?path=a", 400)):
        assert master.get(f"/experiments/{path}").status == status
    assert master.get(f"/experiments/{x}/file/download?path=dir.txt", token=None).status == 401


def test_an_unknown_experiment_has_no_files(master):
    assert master.get("/api/v1/experiments/99999/file_tree").status == 404
    assert "experiment '99999' not found" in read(master, 99999, "a", 404)
