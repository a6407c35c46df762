"""``python3 -m determined.launch.autohorovod …``: the launcher ``horovod`` with ``--autohorovod``."""

import sys
from typing import List

from determined.launch import _command, horovod


def main(args: List[str]) -> int:
    """Run the script; returns its exit status."""
    overrides, rest = _command.overrides_and_rest(args)
    rest = rest if rest[:1] == ["--autohorovod"] else ["--autohorovod", *rest]
    return horovod.main([*overrides, "--", *rest])


if __name__ == "__main__":
    sys.exit(_command.run(main, horovod.USAGE, horovod.__doc__))
