"""The REST API for programs: sessions, logins, and a function for each request (:mod:`determined.common.api.bindings`).

The names are those of the released library. Nothing of the training library needs this package.
"""

from determined.common.api import authentication, bindings, certs, errors
from determined.common.api._names import not_found_errs, usernames_to_user_ids, workspace_by_name
from determined.common.api._session import BaseSession, Session, TaskSession, UnauthSession
from determined.common.api._util import (
    WARNING_MESSAGE_MAP,
    AnyNTSC,
    NTSC_Kind,
    PageOpts,
    canonicalize_master_url,
    get_default_master_url,
    get_ntsc_details,
    read_paginated,
    wait_for_ntsc_state,
    wait_for_task_ready,
)
from determined.common.api.authentication import salt_and_hash
from determined.common.api.logs import pprint_logs, task_logs, trial_logs

__all__ = [
    "AnyNTSC",
    "BaseSession",
    "NTSC_Kind",
    "PageOpts",
    "Session",
    "TaskSession",
    "UnauthSession",
    "WARNING_MESSAGE_MAP",
    "authentication",
    "bindings",
    "canonicalize_master_url",
    "certs",
    "errors",
    "get_default_master_url",
    "get_ntsc_details",
    "not_found_errs",
    "pprint_logs",
    "read_paginated",
    "salt_and_hash",
    "task_logs",
    "trial_logs",
    "usernames_to_user_ids",
    "wait_for_ntsc_state",
    "wait_for_task_ready",
    "workspace_by_name",
]
