"""Runs commands of the released `det` and calls of its SDK, one child process each: python warm.py (in .venv-compat).

Starting the released client costs a second, nearly all of it imports. This program pays once, then reads one request a line,

    {"argv": ["experiment", "list"], "environment": {…}, "directory": "…", "stdin": "", "out": FILE, "err": FILE}
    {"source": "…Python text…", …}

and forks: the child is what `det ARGV…` or `python -c SOURCE` would be. The answer is a line with its exit status. The child
has a session of its own, so that a password prompt finds no terminal and reads its standard input.
"""
import json
import os
import signal
import sys
import tempfile
import traceback

from determined.cli.cli import main as det_main
from determined.experimental import client

LIMIT_S = 90


def become(request):
    """What a new process would find: its environment, directory and the three standard streams."""
    os.setsid()
    signal.alarm(LIMIT_S)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    with tempfile.TemporaryFile() as text:
        text.write(request["stdin"].encode())
        text.seek(0)
        os.dup2(text.fileno(), 0)
    for number, name in ((1, "out"), (2, "err")):
        with open(request[name], "wb") as file:
            os.dup2(file.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)


def run(request):
    try:
        become(request)
        if "argv" in request:
            # The client reads DET_MASTER while it is imported, which was before this request.
            det_main(["-m", os.environ["DET_MASTER"], *request["argv"]])
        else:
            exec(compile(request["source"], "sdk.py", "exec"), {"client": client, "__name__": "__main__"})
        return 0
    except SystemExit as e:
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
            return 1
        return e.code or 0
    except BaseException:
        traceback.print_exc()
        return 1


def child(request):
    status = run(request)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main():
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(request)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])), flush=True)


main()
