"""Write a checkpoint in an object store to stdout, as an archive: what the master runs for downloads through it.

``python3 -m determined.exec.fetch_checkpoint < REQUEST``; the request is JSON: ``storage`` (a ``checkpoint_storage``),
``uuid``, ``format`` (``tar``, ``gzip`` or ``zip``). Nothing is compressed (weights hardly can be), and nothing is kept
on disk: bytes go from the store into the archive. Exit status 0: all of it was written; 3: the checkpoint is not there;
1: anything else. Then the last line on stderr says why.
"""

import contextlib
import gzip
import io
import json
import os
import sys
import tarfile
import time
import zipfile
from typing import Any, BinaryIO, Dict, Iterator, Optional

from determined import _storage, errors
from determined._storage._objects import ObjectStorage

NOT_THERE = 3


class _Contents(io.RawIOBase):
    """Chunks of bytes as a file that is read from its beginning to its end."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk: Optional[bytes] = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def _write_tar(storage: ObjectStorage, uuid: str, resources: Dict[str, int], out: BinaryIO) -> None:
    # GNU's format has names as the bytes they are; those of pax need the reader's locale to know UTF-8.
    with tarfile.open(fileobj=out, mode="w|", bufsize=1 << 20, format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(resources):
            member = tarfile.TarInfo(name.rstrip("/"))
            member.mtime = int(time.time())
            if name.endswith("/"):
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(member)
                continue
            member.size = resources[name]
            with contextlib.closing(storage.chunks(uuid, name)) as chunks:
                tar.addfile(member, io.BufferedReader(_Contents(chunks), 1 << 20))


def _write_zip(storage: ObjectStorage, uuid: str, resources: Dict[str, int], out: BinaryIO) -> None:
    now = time.localtime()[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(resources):
            member = zipfile.ZipInfo(name, now)
            if name.endswith("/"):
                archive.writestr(member, b"")
                continue
            n = 0
            with archive.open(member, "w", force_zip64=True) as target:
                for chunk in storage.chunks(uuid, name):
                    target.write(chunk)
                    n += len(chunk)
            if n != resources[name]:
                raise OSError(f"{name} has {n} bytes, and had {resources[name]} a moment ago")


def write_archive(storage: ObjectStorage, uuid: str, form: str, out: BinaryIO) -> None:
    """Write the whole checkpoint, in the order of its names."""
    resources = storage.resources(uuid)
    if form == "zip":
        _write_zip(storage, uuid, resources, out)
    elif form == "gzip":
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=0) as packed:
            _write_tar(storage, uuid, resources, packed)  # type: ignore[arg-type]
    else:
        _write_tar(storage, uuid, resources, out)
    out.flush()


def main() -> int:
    request = json.load(sys.stdin)
    # Whatever a client prints must not end up in the archive.
    with os.fdopen(os.dup(1), "wb", buffering=1 << 20) as out:
        os.dup2(2, 1)
        try:
            storage = _storage.from_config({**request["storage"], "temp_dir": None})
            if not isinstance(storage, ObjectStorage):
                raise ValueError("the storage is no object store")
            write_archive(storage, request["uuid"], request["format"], out)
        except errors.CheckpointNotFound as e:
            print(e, file=sys.stderr)
            return NOT_THERE
        except Exception as e:
            print(" ".join(f"{type(e).__name__}: {e}".split()), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
