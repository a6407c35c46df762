"""Processes that came in by ssh and bring another container's environment along: back to their own."""

import json
import os
from typing import Any, Dict, Optional

# sshd tells them where this container's description is.
VARIABLE = "DET_LOCAL_ENVIRONMENT"

# What differs between the containers of an allocation, and must not come from the chief.
OWN_VARIABLES = (
    *("DET_RUN_DIR", "DET_WORKDIR", "DET_AGENT_ID", "DET_CONTAINER_ID", "DET_RESOURCES_ID", "DET_SLOT_IDS"),
    *("DET_SESSION_TOKEN", "DET_USER_TOKEN", "DET_MASTER_CERT_FILE", "PYTHONUSERBASE", "HOME", "HOSTNAME"),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
)


def description(supervisor: str) -> str:
    """This container's, as text.

    Parameters
    ----------
    supervisor : str
        Where its supervisor listens.
    """
    own = {name: os.environ[name] for name in OWN_VARIABLES if name in os.environ}
    return json.dumps({"environment": own, "supervisor": supervisor, "work_dir": os.getcwd()})


def enter_local_container() -> Optional[str]:
    """Make environment and directory those of this container, if this process came in by ssh.

    Returns
    -------
    str or None
        Where the supervisor listens; None if this process did not.
    """
    path = os.environ.pop(VARIABLE, None)
    if path is None:
        return None
    with open(path, encoding="utf-8") as f:
        local: Dict[str, Any] = json.load(f)
    for name in OWN_VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(local["environment"])
    os.chdir(local["work_dir"])
    return str(local["supervisor"])
