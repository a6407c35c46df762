"""Mark what a worker prints with its rank: ``python3 -m determined.launch.wrap_rank RANK [--] SCRIPT...``

RANK is a number, or a comma-separated list of environment variables, the first of which that is set holds it. Lines
go to the task's log, whoever started us (``$DET_RUN_DIR/train/logs``), or with ``--no-redirect-stdio`` to our own
output.
"""

import argparse
import os
import sys
from typing import List, NamedTuple, Optional

from determined import _info
from determined.launch._worker import Worker, Wrapping

CONTAINER_WORK_DIR = "/run/determined/workdir"


class Options(NamedTuple):
    """The command line."""

    rank: str
    script: List[str]
    redirect: bool


def parse(args: List[str]) -> Options:
    """Read the command line.

    >>> parse(["RANK,OMPI_COMM_WORLD_RANK", "--", "python3", "train.py"])
    Options(rank='RANK,OMPI_COMM_WORLD_RANK', script=['python3', 'train.py'], redirect=True)
    """
    parser = argparse.ArgumentParser(prog="determined.launch.wrap_rank", description="Mark output with a rank.")
    parser.add_argument("--no-redirect-stdio", action="store_true", help="print to our own output in any case")
    parser.add_argument("rank", metavar="RANK", help="a number, or names of environment variables")
    parser.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER, help="what to run")
    options = parser.parse_args(args)
    script = options.script[1:] if options.script[:1] == ["--"] else options.script
    if not script:
        parser.error("empty script is not allowed")
    return Options(options.rank, script, not options.no_redirect_stdio)


def rank_of(words: str) -> Optional[str]:
    """The rank that the command line means; None if it names variables of which none is set.

    >>> rank_of("3")
    '3'
    """
    if words.isdigit():
        return words
    return next((os.environ[name] for name in words.split(",") if name in os.environ), None)


def _log(name: str, fallback: int) -> int:
    try:
        return os.open(_info.run_dir() / "train" / "logs" / name, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return fallback


def wrapping(options: Options) -> Optional[Wrapping]:
    """What to do with the output; None (and a message) if the rank is unknown."""
    rank = rank_of(options.rank)
    if rank is None:
        print(f"rank environment variable is set to {options.rank}, but it is not in os.environ", file=sys.stderr)
        return None
    if not options.redirect:
        return Wrapping(rank)
    return Wrapping(rank, _log("stdout.log", 1), _log("stderr.log", 2))


def enter_work_dir() -> None:
    """Call the work directory by its name in the container, where a launcher has used that on the host."""
    if os.getcwd().endswith(CONTAINER_WORK_DIR) and os.path.isdir(CONTAINER_WORK_DIR):
        os.chdir(CONTAINER_WORK_DIR)


def main(args: List[str]) -> int:
    """Run the script; returns its exit status."""
    options = parse(args)
    wrap = wrapping(options)
    if wrap is None:
        return 1
    enter_work_dir()
    return Worker(options.script, wrap).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
