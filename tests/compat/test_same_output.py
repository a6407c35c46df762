"""On one cluster both clients print the same: our `det` and the released one, standard output and exit status, byte by byte."""
import re

import pytest
from support.cluster import wait_for

# {x} an experiment, {t} its trial, {c} one of its checkpoints, {k} its task.
COMMANDS = """
agent list
agent list --csv
agent list --json
slot list
slot list --csv
slot list --json
task list
task list --csv
task list --json
job list --json
workspace list-pools Uncategorized
workspace list-pools nowhere
resource-pool bindings list-workspaces default
resource-pool bindings list-workspaces nowhere
resource-pool bindings add default Uncategorized
job list --yaml
user list
user list --all
user whoami
workspace list
workspace list --json
workspace describe Uncategorized
workspace describe --json Uncategorized
workspace list-projects Uncategorized
project describe Uncategorized Uncategorized
project list-experiments Uncategorized Uncategorized
project list-experiments -a --json Uncategorized Uncategorized
template list
template list -d
template describe plain
template describe none
project list Uncategorized
project list --json Uncategorized
master info
master info --json
experiment list
experiment list --all
experiment list --csv
experiment list --show_project
experiment describe {x}
experiment describe --metrics {x}
experiment describe --json {x}
experiment describe --csv --metrics {x}
experiment describe {x},{x}
experiment list-trials {x}
experiment list-trials --csv {x}
experiment list-checkpoints {x}
experiment list-checkpoints --csv {x}
experiment list-checkpoints --best 1 {x}
experiment config {x}
experiment logs {x}
experiment wait {x}
trial describe {t}
trial describe --metrics {t}
trial describe --json --metrics {t}
trial describe --csv {t}
trial logs {t}
trial logs --head 2 {t}
trial logs --tail 2 {t}
trial logs -f --source task {t}
trial logs --agent-id agent0 --stdtype stdout {t}
trial logs --timestamp-before 2020-01-01T00:00:00Z {t}
experiment logs --tail 2 {x}
experiment list --limit 1 --pages 1
experiment list --offset 100
trial describe --metrics-summary {t}
task logs {k}
checkpoint describe {c}
checkpoint download -q -o {d}/of-one {c}
trial download --latest -q -o {d}/of-trial {t}
experiment describe 999999
trial describe 999999
checkpoint describe 00000000-0000-0000-0000-000000000000
""".strip().splitlines()


# While {r} runs, {q} waits for its slots and {p} is paused; {o} has failed, and what it was given is odd.
BUSY = """
agent list
slot list
slot list --json
task list
task list --csv
task list --json
job list --json
job list --yaml
experiment list
experiment list --csv
experiment describe {r},{q},{p},{o}
experiment describe --metrics --csv {r},{q},{p},{o}
experiment list-trials {r}
experiment list-trials {o}
experiment logs {o}
trial describe {ot}
trial logs --level ERROR {ot}
trial logs --rank-id 3 {ot}
""".strip().splitlines()


@pytest.fixture(scope="module")
def things(cluster, finished):
    [trial] = cluster.trial_ids(finished[0])
    for name, config in (("plain", {"description": "d", "labels": ["b", "a"], "data": {"x": {"nested": [1, {"z": None}]}}}), ("empty", {})):
        assert cluster.post(f"/api/v1/templates/{name}", {"name": name, "config": config}).status == 200
    checkpoint = cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"][0]["uuid"]
    return {"x": finished[0], "t": trial, "c": checkpoint, "k": cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]}


def unfolded(text):
    """The released client's YAML puts a long word on a line of its own; the document is the same."""
    return re.sub(r": \n +", ": ", text)


def without_additions(text):
    """What ours says besides, a line each: of a job why it waits and when it may start, of an agent whether it keeps users apart, what it has of cores and memory,
    and its certificate, of the master its own version, of a workspace when it was changed."""
    return re.sub(r'\n *"?(?:estimatedStart|reason|isolated|isolation_gap|certificate|certificate_until|cpus|cpus_used|memory_bytes|memory_used_bytes|programVersion|passwordMinLength|modifiedAt)"?:.*', "", text)


def reason(err):
    """The last line without the name of the command that failed, which each client takes from its own help."""
    return err.strip().splitlines()[-1].partition(": ")[2]


@pytest.mark.parametrize("words", COMMANDS)
def test_both_print(words, det, ours, things, tmp_path):
    words = words.format(**things, d=tmp_path)
    theirs, mine = det.run(words), ours.run(words)
    shown = without_additions(mine.out) if words.startswith(("agent list --json", "master info", "workspace")) else mine.out
    assert (shown, mine.status) == (unfolded(theirs.out), theirs.status), f"{mine}\n{theirs}"
    if theirs.status:
        assert reason(mine.err) == reason(theirs.err) != "", f"{mine}\n{theirs}"


@pytest.fixture(scope="module")
def busy(cluster, finished):
    odd = {"name": 'odd, "named" | so', "description": "two\nlines | and a bar", "labels": ["b", "a,c", "\u00fc"],
           "hyperparameters": {"lr": 1e-4, "nested": {"a": 1, "b": [1, "two", 3.0]}, "none": None, "large": 10_000_000_000}}
    failed = cluster.create(entrypoint="echo '[rank=3] ERROR: tab\there, a \u2713 and a lone\rreturn'; exit 3", **odd)
    cluster.wait_experiment(failed)
    running = cluster.create(**{**odd, "name": "running"}, entrypoint="sleep 600")
    wait_for("a running experiment", lambda: cluster.experiment(running)["state"] == "STATE_RUNNING")
    queued = cluster.create(name="queued", entrypoint="sleep 600", resources={"slots_per_trial": 2})
    paused = cluster.create(name="paused", activate=False)
    yield {"r": running, "q": queued, "p": paused, "o": failed, "ot": cluster.trial_ids(failed)[0]}
    for experiment in (queued, running):
        cluster.post(f"/api/v1/experiments/{experiment}/kill")
        cluster.wait_experiment(experiment)


@pytest.mark.parametrize("words", BUSY)
def test_both_print_of_a_busy_cluster(words, det, ours, busy):
    words = words.format(**busy)
    theirs, mine = det.run(words), ours.run(words)
    shown = without_additions(mine.out) if words.startswith("job list") else mine.out
    assert (shown, mine.status) == (unfolded(theirs.out), theirs.status), f"{mine}\n{theirs}"
    assert theirs.status == 0, theirs
