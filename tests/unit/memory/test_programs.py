"""Each program ends in one sentence when memory does: given a large file and little memory, a bit more each time, until it
gets by. Before that the loader may be the one that gives up.

usage: test_programs.py BUILD-DIRECTORY
"""
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1])
STEP, MOST = 64 << 10, 64 << 20
RUNS = {  # {} is the file
    "det": ["-m", "http://127.0.0.1:1", "template", "create", "t", "{}"],
    "determined-master": ["--config-file", "{}", "config", "show"],
    "determined-agent": ["run", "--config-file", "{}"],
    "determined-task": ["--version"],
}


def run(words, limit):
    """With so much memory to write to (data, heap, private mappings)."""
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", timeout=60,
                          preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
                                              resource.setrlimit(resource.RLIMIT_CORE, (0, 0))))


def sweep(program, words):
    ended = 0
    for limit in range(STEP, MOST, STEP):
        done = run([str(BUILD / program), *words], limit)
        if done.returncode in (127, -signal.SIGSEGV, -signal.SIGKILL) and not ended:
            continue  # there is no program yet
        if done.returncode != -signal.SIGABRT:
            break
        # So early that it does not know its own name, a static program has none to give.
        assert re.search(rf"^({program})?: out of memory: \d+ bytes more can't be had$", done.stderr, re.M), (program, limit, done.stderr)
        ended += 1
    assert done.returncode in (0, 1, 2), (program, limit, done)
    assert ended, f"{program}: no limit was met while the program itself ran"
    print(f"memory: {program}: {ended} limits, each ended it in one sentence")


with tempfile.TemporaryDirectory() as directory:
    large = pathlib.Path(directory) / "large.yaml"
    large.write_text("labels:\n" + "- a label among very many others\n" * 20000)
    for name, arguments in RUNS.items():
        sweep(name, [word.format(large) for word in arguments])
