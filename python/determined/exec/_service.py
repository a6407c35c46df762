"""What a program that serves people in a task looks at before it starts."""

import importlib.util
import logging
import os
import sys
from typing import NamedTuple, Optional, Sequence

import determined as det

logger = logging.getLogger("determined")


class Service(NamedTuple):
    """A program of one type of task, and the Python package that it runs."""

    program: str
    task_type: str
    #: What people call tasks of this type, in the plural.
    tasks: str
    #: What people call the package.
    title: str
    package: str
    variables: Sequence[str]


def find_task(service: Service) -> Optional[det.ClusterInfo]:
    """Look whether the program runs in its type of task, with its package and its variables.

    Returns
    -------
    ClusterInfo or None
        None if something is missing; a line of the log says what, and what to do.
    """
    info = det.get_cluster_info()
    if info is None or info.task_type != service.task_type:
        logger.error("%s runs in %s on a cluster only", service.program, service.tasks)
        return None
    missing = [name for name in service.variables if not os.environ.get(name)]
    if missing:
        what = "variable %s is" if len(missing) == 1 else "variables %s are"
        logger.error(f"the {what} not set: is the master of another version?", " and ".join(missing))
        return None
    if importlib.util.find_spec(service.package) is None:
        logger.error(
            "%s cannot be imported by this task's Python, %s: install the package %s there, or name an environment "
            "that has it in environment.python of the task's configuration",
            service.title,
            sys.executable,
            service.package,
        )
        return None
    return info
