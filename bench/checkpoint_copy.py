"""Checkpoints to a directory by our library and by cp, in turns: checkpoint_copy.py DIRECTORY MIB TURNS; JSON on stdout.

Either copies the same files and waits until they are on the disk: ours by core_context.checkpoint.upload(), the other by `cp -r`
and `sync -f`; `cp` by itself, which leaves them in memory, is timed on the way. Each copy is removed before the next.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from determined import core

LARGE_FILES, SMALL_FILES, SMALL_BYTES = 4, 200, 4096


def make(source, mib):
    (source / "parts").mkdir(parents=True)
    block = os.urandom(1 << 20)
    for n in range(LARGE_FILES):
        with open(source / f"weights-{n}", "wb") as file:
            for _ in range(mib // LARGE_FILES):
                file.write(block)
    for n in range(SMALL_FILES):
        (source / "parts" / str(n)).write_bytes(block[:SMALL_BYTES])


def by_cp(source, target):
    began = time.perf_counter()
    subprocess.run(["cp", "-r", source, target], check=True)
    copied = time.perf_counter()
    subprocess.run(["sync", "-f", target], check=True)
    ended = time.perf_counter()
    shutil.rmtree(target)
    return copied - began, ended - began


def by_us(context, source, storage):
    began = time.perf_counter()
    name = context.checkpoint.upload(source, {"steps_completed": 1})
    ended = time.perf_counter()
    shutil.rmtree(storage / name)
    return ended - began


def main():
    directory, mib, turns = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    source, storage = directory / "source", directory / "storage"
    make(source, mib)
    os.sync()
    found = []
    with core.init(checkpoint_storage=str(storage)) as context:
        by_us(context, source, storage)  # what is loaded once
        for _ in range(turns):
            bare, cp = by_cp(source, directory / "copy")
            found.append({"cp": mib / cp, "bare": mib / bare, "ours": mib / by_us(context, source, storage)})
    print(json.dumps(found))


main()
