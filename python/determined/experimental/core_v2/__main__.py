"""Tell the master of runs that were kept on disk: ``python -m determined.experimental.core_v2``

The master and the user are those of ``det``: DET_MASTER, and whoever is logged in.
"""

import argparse
import logging
import sys

import determined as det
from determined import errors
from determined.experimental._determined import Determined, session_of
from determined.experimental.core_v2 import _journal


def main() -> int:
    """Run the program; returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="determined.experimental.core_v2", description="Tell the master of runs that were kept on disk."
    )
    parser.add_argument("-m", "--master", help="address of the master (default: DET_MASTER)")
    parser.add_argument("-u", "--user", help="whose token to use (default: whoever is logged in)")
    options = parser.parse_args()
    try:
        done = _journal.sync(session_of(Determined(options.master, options.user)))
    except (errors.ApiError, errors.MasterUnreachable) as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    going = f", {done.left} go on" if done.left else ""
    refused = f", {len(done.refused)} reports were refused" if done.refused else ""
    print(f"{done.runs} runs, {done.lines} reports{going}{refused}")
    return 1 if done.refused else 0


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    sys.exit(main())
