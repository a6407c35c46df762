"""Remove checkpoints from their storage: what tasks of type CHECKPOINT_GC run, with their owner's rights.

``python3 -m determined.exec.gc_checkpoints --experiment-id N --storage-config FILE [--delete FILE --globs FILE]
[--delete-tensorboards]``; the files hold JSON: ``checkpoint_storage``, a list of ids, a list of patterns.

What is left of each checkpoint is told to the master soon, so that little is done twice when the task is cut short. A
checkpoint that is gone already counts as removed. What could not be removed is not told: the master has it tried again,
later.
"""

import argparse
import json
import logging
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import determined as det
from determined import _http, _routes, _secrets, _storage, errors
from determined.core import _checkpoint, _tensorboard

if TYPE_CHECKING:
    from determined import _messages

logger = logging.getLogger("determined")

# Reports are small and checkpoints may be many: this many are told of at once.
REPORT_EVERY = 20


def _json_file(path: str) -> Any:
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def _report(session: _http.Session, left: Dict[str, Dict[str, int]]) -> None:
    checkpoints: List[_messages.PatchCheckpoint] = [
        {"uuid": storage_id, "resources": {"resources": _checkpoint.resources_sent(sizes)}}
        for storage_id, sizes in left.items()
    ]
    if checkpoints:
        session.send(_routes.patch_checkpoints(checkpoints=checkpoints))


def _check_mounted(storage: _storage.Storage) -> None:
    """Where the storage is not, nothing is found either: that must not pass for removed."""
    if isinstance(storage, _storage.DirectoryStorage) and not storage.base_path.is_dir():
        raise NotADirectoryError(f"{storage.base_path} does not exist here; is the checkpoint storage mounted?")


def delete_checkpoints(
    session: _http.Session, storage: _storage.Storage, storage_ids: List[str], globs: List[str]
) -> int:
    """Remove what the patterns mean of each checkpoint, and report it; returns how many failed."""
    failed = 0
    left: Dict[str, Dict[str, int]] = {}
    for storage_id in storage_ids:
        try:
            left[storage_id] = storage.delete(storage_id, globs)
            logger.info("checkpoint %s: removed %s", storage_id, " ".join(globs))
        except errors.CheckpointNotFound:
            left[storage_id] = {}
            logger.info("checkpoint %s: is gone already", storage_id)
        except Exception as e:
            failed += 1
            logger.error("checkpoint %s: could not be removed: %s", storage_id, e)
        if len(left) == REPORT_EVERY:
            _report(session, left)
            left = {}
    _report(session, left)
    return failed


def main(argv: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Determined checkpoint GC", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"Determined checkpoint GC, version {det.__version__}")
    parser.add_argument("--experiment-id", type=int, required=True, help="the experiment whose files these are")
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    parser.add_argument("--storage-config", type=_json_file, required=True, help="file with checkpoint_storage")
    parser.add_argument("--delete", type=_json_file, default=[], help="file with the ids of checkpoints")
    parser.add_argument("--globs", type=_json_file, default=list(_storage.ALL_FILES), help="file with patterns")
    parser.add_argument("--delete-tensorboards", action="store_true", help="remove the experiment's TensorBoard files")
    args = parser.parse_args(argv)
    logging.getLogger().setLevel(args.log_level)

    info = det.get_cluster_info()
    if info is None:
        logger.error("determined.exec.gc_checkpoints runs in tasks on a cluster only")
        return 1
    logger.info("checkpoint storage: %s", json.dumps(_secrets.masked(args.storage_config)))
    try:
        storage = _storage.from_config(args.storage_config)
        _check_mounted(storage)
    except Exception as e:
        logger.error("the checkpoint storage cannot be used: %s", e)
        return 1
    session = _http.Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        failed = delete_checkpoints(session, storage, args.delete, args.globs)
        if args.delete_tensorboards:
            storage.delete_tree(_tensorboard.experiment_path(info.cluster_id, args.experiment_id))
            logger.info("removed the TensorBoard files of experiment %s", args.experiment_id)
    finally:
        session.close()
    return 1 if failed else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
