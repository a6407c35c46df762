"""det experiment watch: an experiment on one screen until it is over; once in a pipe."""
import os
import re

import pytest
from support.fake_master import clients as fake_master
from test_terminal import same_version  # noqa: F401  (a fixture)
from test_top import assert_left, end, pictures, screen, wait_for_pictures  # noqa: F401  (a fixture among them)

RUNNING, COMPLETED = ["STATE_RUNNING"], ["STATE_COMPLETED"]


@pytest.fixture
def running(master):
    """An experiment of two trials, both of which have validated."""
    master.states = RUNNING
    master.progress = 0.42
    master.series = {"validation.accuracy": [(100 * n, n / 10) for n in range(1, 9)]}
    master.trials_more = {"state": "STATE_RUNNING", "endTime": None,
                          "bestValidation": fake_master.workload_metrics(800, "2026-11-21T07:12:51Z", accuracy=0.8)}
    return master


def test_a_pipe_gets_it_once_and_plain(det, running):
    done = det.run("experiment", "watch", 1, LANG="C.UTF-8")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert done.stdout.startswith("Experiment 1: RUNNING   42% [####      ]   ends")
    assert "\nBest accuracy: 0.8, by trial 1 after 800 batches\n" in done.stdout
    assert re.search(r"^ +1 \| RUNNING +\| +100 +\|", done.stdout, re.M)
    assert "trial 1, accuracy: last 0.8, lowest 0.1, highest 0.8" in done.stdout and "⠁" <= max(done.stdout) <= "⣿"
    assert done.stdout.endswith("INFO: line 5\n")


@pytest.mark.parametrize("columns, rows", [(60, 20), (80, 24), (120, 40)])
def test_it_fits_the_screen(screen, running, columns, rows):  # noqa: F811
    t = screen("experiment", "watch", 1, until="line 5", columns=columns, rows=rows)
    os.write(t.ours, b"q")
    end(t)
    [picture, *_] = pictures(t)
    assert len(picture) <= rows and max(map(len, picture)) <= columns
    assert "line 5" in "\n".join(picture)


def test_q_leaves_and_nothing_stops(screen, running):  # noqa: F811
    t = screen("experiment", "watch", 1, until="line 5")
    os.write(t.ours, b"q")
    end(t)
    assert t.status == 3 and "Experiment 1 goes on. To end it: det experiment kill 1" in t.text()
    assert_left(t)
    assert all(method in ("GET", "POST") and "kill" not in path and "pause" not in path for method, path, *_ in running.requests)


@pytest.mark.parametrize("state, status, words", [("STATE_COMPLETED", 0, ""), ("STATE_ERROR", 1, "Experiment 1 ended: ERROR: trial 1 failed"),
                                                  ("STATE_CANCELED", 1, "Experiment 1 ended: CANCELED")])
def test_it_leaves_when_the_experiment_is_over(screen, running, state, status, words):  # noqa: F811
    t = screen("experiment", "watch", 1, "--interval", 1, until="line 5")
    running.failure = "trial 1 failed" if state == "STATE_ERROR" else None
    running.states = [state]
    end(t)
    assert t.status == status
    assert_left(t)
    after = t.text().split("\x1b[?1049l")[1]
    assert f"Experiment 1: {state[6:]}" in after and words in after  # the last picture stays to be read


def test_one_that_is_over_is_shown_once(screen, det, running):  # noqa: F811
    running.states = ["STATE_ERROR"]
    assert det.run("experiment", "watch", 1).returncode == 1
    t = screen("experiment", "watch", 1, until="line 5")
    end(t)
    assert t.status == 1


def test_one_without_trials_and_one_that_is_unknown(det, running):
    running.every_trial = []
    shown = det("experiment", "watch", 1)
    assert "No trial has begun yet." in shown and "Log" not in shown
    done = det.run("experiment", "watch", 99)
    assert done.returncode == 1 and "experiment '99' not found" in done.stderr
