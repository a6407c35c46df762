"""Log policies: what a task prints decides whether, and where, its trial is restarted; once, and also across a crash of the master."""
import signal

import pytest
from support.cluster import wait_for
from support.experiments import shell, the_trial, wait_line

OOM = {"name": "memory", "pattern": "no memory: [0-9]+ MiB", "action": "cancel_retries"}
BAD_NODE = {"pattern": ".*ECC error.*", "action": "exclude_node"}


def ended(cluster, x):
    """The state of an experiment that has ended, how often its trial ran, and the trial's log."""
    state = cluster.wait_experiment(x)["state"]
    trial = the_trial(cluster, x)
    log = cluster.trial_log(trial["id"])
    return state, log.count("have started"), log


@pytest.fixture
def one(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent()
    c.login()
    return c


def test_a_match_cancels_the_retries(one):
    x = shell(one, "echo no memory: 12 MiB >&2; exit 3", max_restarts=5, log_policies=[OOM])
    state, runs, log = ended(one, x)
    assert (state, runs) == ("STATE_ERROR", 1), log
    assert log.count("log policy memory matched: the trial will not be restarted if it fails") == 1
    assert "trial failed and matched logs to a don't retry policy" in log  # scripts wait for these words
    assert the_trial(one, x)["logPolicyMatched"] == "memory" and the_trial(one, x)["restarts"] == 0


def test_without_a_match_retries_go_on(one):
    x = shell(one, "echo no memory: none >&2; exit 3", max_restarts=2, log_policies=[OOM])
    state, runs, log = ended(one, x)
    assert (state, runs) == ("STATE_ERROR", 3) and "log policy" not in log


def test_the_last_line_before_the_end_counts(one):
    """The end must not overtake the lines: a thousand lines, the last one matches, and the task is over at once."""
    for _ in range(3):
        x = shell(one, "seq 20000; printf 'no memory: 1 MiB'; exit 9", max_restarts=3, log_policies=[OOM])
        state, runs, log = ended(one, x)
        assert (state, runs) == ("STATE_ERROR", 1), log[-2000:]


def test_the_built_in_policies_only_leave_their_name(one):
    x = shell(one, "echo RuntimeError: CUDA out of memory. Tried to allocate; exit 1", max_restarts=1)
    state, runs, log = ended(one, x)
    assert (state, runs) == ("STATE_ERROR", 2)
    assert the_trial(one, x)["logPolicyMatched"] == "CUDA OOM"


def test_a_node_is_avoided_after_a_match(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent("bad")
    c.login()
    x = shell(c, "if [ \"$DET_AGENT_ID\" = bad ]; then echo uncorrectable ECC error; exit 1; fi; echo fine on $DET_AGENT_ID",
              max_restarts=3, log_policies=[BAD_NODE])
    wait_line(c, x, "log policy .*ECC error.* matched: the trial will not be restarted on node bad")
    c.start_agent("good")
    state, runs, log = ended(c, x)
    assert (state, runs) == ("STATE_COMPLETED", 2), log
    assert "fine on good" in log and log.count("will not be restarted on node bad") == 1
    assert "therefore will not schedule on" in log  # scripts wait for these words


def test_a_crash_of_the_master_loses_no_match_and_counts_none_twice(one):
    """The master dies at some time around the match; the task fails under the next one."""
    for delay in (0.0, 0.05):
        gate = one.dir / f"gate{delay}"
        x = shell(one, f"echo no memory: 7 MiB; sleep {delay}; while [ ! -e {gate} ]; do sleep 0.05; done; exit 4", max_restarts=4, log_policies=[OOM])
        wait_line(one, x, "no memory: 7 MiB")
        one.stop_master(signal.SIGKILL)
        one.start_master()
        one.login()
        gate.touch()
        state, runs, log = ended(one, x)
        assert (state, runs) == ("STATE_ERROR", 1), log
        assert log.count("log policy memory matched") == 1


def test_a_pattern_that_takes_for_ever_is_given_up(one):
    x = shell(one, "for i in 1 2 3; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$i; done; echo no memory: 1 MiB; exit 1",
              max_restarts=1, log_policies=[{"name": "slow", "pattern": "(a|aa)+[c-z]", "action": "cancel_retries"}, OOM])
    state, runs, log = ended(one, x)
    assert (state, runs) == ("STATE_ERROR", 1), "the other policy goes on"
    wait_for("a word in the master's log", lambda: "log_policy.too_expensive" in one.master_log())


def test_a_bad_pattern_is_refused_with_its_place(one):
    import json
    config = one.experiment_config(log_policies=[{"name": "x", "pattern": "a(b", "action": "cancel_retries"}])
    reply = one.post("/api/v1/experiments", {"config": json.dumps(config)})
    assert reply.status == 400 and '"a(b" is no regular expression: missing closing parenthesis at character 4' in reply.json["error"]["error"], reply


POST = """
import json, os, sys, urllib.request
lines = [{"task_id": os.environ["DET_TASK_ID"], "log": text + "\\n", "stdtype": "stderr", "source": "task", **json.loads(more)}
         for text, more in zip(sys.argv[1::2], sys.argv[2::2])]
request = urllib.request.Request(os.environ["DET_MASTER"] + "/task-logs", json.dumps(lines).encode(),
                                 {"Authorization": "Bearer " + os.environ["DET_SESSION_TOKEN"]})
urllib.request.urlopen(request, timeout=60).read()
"""


def test_lines_that_are_posted_count_like_printed_ones_and_once(one):
    """Tasks of the older releases post their own log; the task's session tells whose lines they are."""
    posts = "python3 post.py 'all is well' '{}' 'no memory: 5 MiB' '{}' && python3 post.py 'no memory: 6 MiB' '{}'"
    for script, lines in ((f"{posts}; exit 3", 2), (f"echo no memory: 7 MiB; {posts}; exit 3", 3)):
        x = shell(one, script, files={"post.py": POST}, max_restarts=3, log_policies=[OOM])
        state, runs, log = ended(one, x)
        assert (state, runs) == ("STATE_ERROR", 1), log
        assert log.count("log policy memory matched") == 1 and log.count("no memory: ") == lines
        assert the_trial(one, x)["logPolicyMatched"] == "memory"


def test_posted_lines_are_of_the_node_they_name_else_of_the_allocations(new_cluster):
    c = new_cluster()
    c.start_master()
    c.start_agent("bad")
    c.login()
    other = "'{\"agent_id\": \"other\"}'"
    x = shell(c, f"[ $DET_AGENT_ID = good ] || {{ python3 post.py 'an ECC error' {other} 'an ECC error' '{{}}'; exit 1; }}",
              files={"post.py": POST}, max_restarts=3, log_policies=[BAD_NODE])
    wait_line(c, x, "will not be restarted on node bad")
    c.start_agent("good")
    state, runs, log = ended(c, x)
    assert (state, runs) == ("STATE_COMPLETED", 2), log
    assert log.count("will not be restarted on node other") == 1 and log.count("will not be restarted on node bad") == 1
