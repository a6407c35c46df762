"""Logs of trials and tasks."""

from typing import Any, Iterable, List, Optional

from determined.common.api import _session, bindings


def pprint_logs(logs: Iterable[Any]) -> None:
    """Print the lines, which end as they were written."""
    for line in logs:
        print(line.message, end="")


def levels_at_or_above(min_level: Any) -> List[Any]:
    """The levels that are no less grave than the given one."""
    levels = list(bindings.v1LogLevel)
    return levels[levels.index(min_level) :]


def _lines(fetch: Any, head: Optional[int], tail: Optional[int], follow: bool, **given: Any) -> Iterable[Any]:
    if tail is not None:
        newest_first = list(fetch(limit=tail, orderBy=bindings.v1OrderBy.DESC, **given))
        yield from reversed(newest_first)
    else:
        yield from fetch(limit=head, follow=follow, orderBy=bindings.v1OrderBy.ASC, **given)


def trial_logs(
    session: _session.Session,
    trial_id: int,
    head: Optional[int] = None,
    tail: Optional[int] = None,
    follow: bool = False,
    agent_ids: Optional[List[str]] = None,
    container_ids: Optional[List[str]] = None,
    rank_ids: Optional[List[int]] = None,
    sources: Optional[List[str]] = None,
    stdtypes: Optional[List[str]] = None,
    min_level: Optional[Any] = None,
    timestamp_before: Optional[str] = None,
    timestamp_after: Optional[str] = None,
    search_text: Optional[str] = None,
) -> Iterable[Any]:
    """The log of a trial, oldest line first.

    All of it, the first ``head`` or the last ``tail`` lines; with ``follow`` until the trial ends.
    """
    return _lines(
        lambda **given: bindings.get_TrialLogs(session, trialId=trial_id, **given),
        head,
        tail,
        follow,
        agentIds=agent_ids,
        containerIds=container_ids,
        rankIds=rank_ids,
        sources=sources,
        stdtypes=stdtypes,
        levels=levels_at_or_above(min_level) if min_level is not None else None,
        timestampBefore=timestamp_before,
        timestampAfter=timestamp_after,
        searchText=search_text,
    )


def task_logs(
    session: _session.Session,
    task_id: str,
    head: Optional[int] = None,
    tail: Optional[int] = None,
    follow: bool = False,
    allocation_ids: Optional[List[str]] = None,
    agent_ids: Optional[List[str]] = None,
    container_ids: Optional[List[str]] = None,
    rank_ids: Optional[List[int]] = None,
    sources: Optional[List[str]] = None,
    stdtypes: Optional[List[str]] = None,
    min_level: Optional[Any] = None,
    timestamp_before: Optional[str] = None,
    timestamp_after: Optional[str] = None,
) -> Iterable[Any]:
    """The log of a task; see :func:`trial_logs`."""
    return _lines(
        lambda **given: bindings.get_TaskLogs(session, taskId=task_id, **given),
        head,
        tail,
        follow,
        allocationIds=allocation_ids,
        agentIds=agent_ids,
        containerIds=container_ids,
        rankIds=rank_ids,
        sources=sources,
        stdtypes=stdtypes,
        levels=levels_at_or_above(min_level) if min_level is not None else None,
        timestampBefore=timestamp_before,
        timestampAfter=timestamp_after,
    )
