"""What small functions of the library answer, as JSON: run with the released library and with ours, and compared.

Each line of CALLS is an expression; an error is told by the name of its class.
"""

# ruff: noqa: F401 (what the expressions use)

import datetime
import enum
import json
import os
import pathlib
import stat
import sys
import tempfile
import uuid
import warnings

import numpy as np

warnings.simplefilter("ignore")
HERE = pathlib.Path(tempfile.mkdtemp())
os.environ.update(PATH=f"{HERE}:{os.environ['PATH']}", DET_DEBUG="yes", XDG_CONFIG_HOME="/somewhere")
os.environ.pop("DET_DEBUG_CONFIG_PATH", None)

import determined as det  # noqa: E402
from determined import constants, gpu, util  # noqa: E402
from determined.common import api, check, context, detignore, storage, v1file_utils  # noqa: E402
from determined.common import constants as common_constants  # noqa: E402
from determined.common import util as common_util  # noqa: E402


class Colour(enum.Enum):
    RED = 1


class Parent:
    def method(self):
        pass

    def other(self):
        pass


class Child(Parent):
    def method(self, a=1):
        pass


class OfItsOwn:
    def __json__(self):
        return {"a": (1, 2)}


SMI = """#!/bin/sh
case "$*" in
*query-gpu*) printf '1, GPU-b, [N/A], 512, 1024\\n0, GPU-a, 25, 256, 1024\\n' ;;
*query-compute-apps*) printf '12, python3, GPU-a, 256 MiB\\n' ;;
esac
"""


def with_gpus():
    """A machine with two GPUs, as far as nvidia-smi tells."""
    path = HERE / "nvidia-smi"
    path.write_text(SMI)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return gpu


def model():
    """A model directory, and a file beside it."""
    root = HERE / "model"
    (root / "inner").mkdir(parents=True, exist_ok=True)
    for name in ("train.py", "inner/data.csv", "inner/notes.txt", "secret.env"):
        (root / name).write_text(name)
        os.utime(root / name, (1, 1))
    os.utime(root / "inner", (1, 1))
    (root / ".detignore").write_text("*.env\n")
    os.utime(root / ".detignore", (1, 1))
    return root


def files(found):
    return sorted([f.path, f.type, f.content, f.mode & 0o777, f.mtime] for f in found if f.path != ".detignore")


def in_storage(ask):
    """What ``ask`` makes of a manager whose storage holds one checkpoint."""
    manager = storage.build({"type": "shared_fs", "host_path": str(HERE / "storage"), "storage_path": "a"}, None)
    with manager.store_path("one") as path:
        (path / "inner").mkdir()
        (path / "inner/weights").write_text("12345")
        (path / "log").write_text("1")
    try:
        return ask(manager)
    finally:
        manager.delete("one", ["**/*"])


def restored(manager):
    with manager.restore_path("one") as path:
        return sorted(str(p.relative_to(path)) for p in path.rglob("*"))


def downloaded(manager):
    manager.download("one", HERE / "down", selector=lambda name: name.startswith("inner"))
    return sorted(str(p.relative_to(HERE / "down")) for p in (HERE / "down").rglob("*"))


def uploaded(manager):
    manager.upload(model(), "two", {"train.py"})
    return manager.delete("two", ["nothing"]), manager.delete("two", ["**/*"])


CALLS = """
util.is_overridden(Child().method, Parent)
util.is_overridden(Child().other, Parent)
util.is_overridden("x", Parent)
util.has_param(Child.method, "a")
util.has_param(Child.method, "b")
util.has_param(Child.method, "b", 1)
util.has_param(Child.method, "b", 2)
util.get_member_func(Child(), "nothing")
util.get_member_func(Child(), "method") is not None
util.merge_dicts({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "e": {}})
util.make_metrics(10, [{"loss": 1, "text": None}, {"loss": 2.0, "text": None}])["avg_metrics"]["loss"]
util.make_metrics(None, [{"loss": np.array([1.0, 3.0])}])["avg_metrics"]
sorted(util.make_metrics(10, [{"loss": 1}]))
sorted(util.make_metrics(None, [{"loss": 1}]))
util.validate_batch_metrics([{"a": 1}, {"a": 2}])
json.loads(util.json_encode({"a": np.float32(0.5), "b": np.arange(3), "c": float("inf"), "d": Colour.RED, "e": b"x"}))
json.loads(util.json_encode([OfItsOwn(), uuid.UUID(int=7), datetime.datetime(2026, 1, 2), float("nan"), (1, None)]))
util.json_encode({"b": 1, "a": 2}, sort_keys=True)
util.json_encode(object())
sorted(util.filter_duplicates([3, 1, 3, 2, 1]))
[util.humanize_float(x) for x in (0.0, 1.0, 0.00012345678, 123456.0, 12.345678, -0.5)]
util.make_timing_log("trained", 2.0, 100, 10)
util.calculate_batch_sizes({"global_batch_size": 33}, 4, "Trial")
util.calculate_batch_sizes({"global_batch_size": 3}, 4, "Trial")
util.calculate_batch_sizes({}, 4, "Trial")
[util.match_legacy_trial_class(s) for s in ("a.b:C", "python3 train.py", "a:B.C", "a/b:C", "model_def:T")]
util.legacy_trial_entrypoint_to_script("a:B")
[util.is_numerical_scalar(n) for n in (1, 1.5, True, "1", None)]
[util.is_numerical_scalar(n) for n in (np.float32(1), np.array(1), np.array([1]), np.array("a"))]
util.mask_checkpoint_storage({"type": "s3", "access_key": "a", "secret_key": "b", "bucket": "c"})
util.mask_config_dict({"checkpoint_storage": {"type": "s3", "secret_key": "b"}})
util.mask_config_dict({"environment": {"registry_auth": {"username": "u", "password": "p"}}, "name": "n"})
list(common_util.chunks("ABCDEFG", 3))
list(common_util.chunks([1, 2, 3], 2))
[common_util.sizeof_fmt(n) for n in (0, 5, 2048, 10**9, 10**27)]
common_util.debug_mode()
[common_util.strtobool(s) for s in ("", "n", "NO", "false", "0", "off", "1", "yes", "what")]
str(common_util.get_config_path())
common_util.parse_protobuf_timestamp("2026-01-02T03:04:05Z").isoformat()
[common_util.is_protobuf_timestamp(s) for s in ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.123456Z", "2026", "")]
common_util.is_protobuf_timestamp("2026-13-02T03:04:05Z")
common_util.wait_for(lambda: (True, 5))
common_util.wait_for(lambda: (False, 5), timeout=0, interval=0.01)
common_util.deprecated("old")(lambda x: x + 1)(1)
check.eq(1, 1)
check.eq(1, 2)
check.check_gt_eq(2, 2)
check.is_in(3, [1, 2])
check.is_instance(True, int)
check.is_type(True, int)
check.len_eq([1], 2)
check.true(False, "why")
[api.canonicalize_master_url(u) for u in ("localhost", "https://a.b/x", "http://h:1/")]
api.salt_and_hash("secret")
[storage.normalize_prefix(p) for p in ("a/b/", None, "/a", "a")]
storage.normalize_prefix("a/../b")
storage.build({"host_path": "/x"}, None)
storage.build({"type": 3}, None)
storage.build({"type": "tape"}, None)
[c.__name__ for c in type(storage.from_string("/tmp/x")).__mro__ if "Shared" in c.__name__]
storage.validate_config({"type": "shared_fs", "host_path": str(HERE / "v")}, None)
storage.validate_config({"type": "directory", "container_path": str(HERE / "w")}, None)
storage.validate_config({"type": "shared_fs", "host_path": "/x", "storage_path": "y"}, str(HERE / "mounted"))
in_storage(restored)
in_storage(downloaded)
in_storage(uploaded)
in_storage(lambda m: m.delete("one", ["log"]))
in_storage(lambda m: m.store_path_is_direct_access())
in_storage(lambda m: m.download("three", HERE / "nowhere"))
in_storage(lambda m: m.pre_store_path("new").name)
files(context.read_v1_context(model()))
[f["content"] for f in context.read_legacy_context(None, [HERE / "model/train.py"])]
files(context.read_v1_context(None, [HERE / "model/train.py"]))
context.read_v1_context(model(), limit=3)
sorted(detignore.make_shutil_ignore(model())(str(HERE / "model"), ["train.py", "secret.env"]))
v1file_utils.v1File_size(context.read_v1_context(None, [HERE / "model/train.py"])[0]) in (8, 9)
v1file_utils.v1File_to_dict(v1file_utils.v1File_from_local_file("x", HERE / "model/train.py"))["path"]
[common_constants.MAX_CONTEXT_SIZE, common_constants.SHARED_FS_CONTAINER_PATH, common_constants.MAX_ENCODED_SIZE]
[constants.DTRAIN_SSH_PORT, constants.CONTAINER_STDOUT, constants.HOROVOD_STARTUP_TIMEOUT_SECONDS]
[constants.INTER_TRAIN_PROCESS_COMM_PORT_1 - constants.INTER_TRAIN_PROCESS_COMM_PORT_2]
gpu.get_gpus()
with_gpus().get_gpus()
gpu.get_gpu_uuids()
gpu.get_gpu_processes()
det.util is util
"""


def answer(expression):
    try:
        return eval(expression)
    except BaseException as e:
        return next(c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins")


def answers():
    for expression in CALLS.strip().splitlines():
        yield expression, json.loads(json.dumps(answer(expression), default=str))


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(list(answers())) + "\n")
