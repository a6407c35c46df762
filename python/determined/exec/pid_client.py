"""Run a worker under the eyes of a supervisor: ``python3 -m determined.exec.pid_client ADDRESS [--] COMMAND...``

ADDRESS is what ``determined.exec.pid_server`` or one of our launchers listens at. The exit status is the command's. See
``determined.launch._worker`` for what is said.
"""

import sys
from typing import List

from determined import _info, _network
from determined.launch import _worker, wrap_rank
from determined.launch._container import enter_local_container

USAGE = "usage: determined.exec.pid_client ADDRESS [--] COMMAND..."


def main(args: List[str]) -> int:
    """Run the command; returns its exit status."""
    address, command = args[:1], args[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not address or not command:
        print(USAGE, file=sys.stderr)
        return 2
    # One that came in by ssh was given the address of the chief's supervisor.
    supervisor_at = enter_local_container() or address[0]
    wrap = None
    if command[1:3] == ["-m", "determined.launch.wrap_rank"]:
        # The same, without a process in between: workers start sooner, and there is one less to look after.
        options = wrap_rank.parse(command[3:])
        wrap, command = wrap_rank.wrapping(options), options.script
        if wrap is None:
            return 1
        wrap_rank.enter_work_dir()
    _network.tell_libraries(_info.get_cluster_info())
    try:
        supervisor = _worker.connect(supervisor_at)
    except OSError as e:
        print(f"determined.exec.pid_client: nobody supervises at {supervisor_at}: {e}", file=sys.stderr)
        return 1
    return _worker.Worker(command, wrap, supervisor).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
