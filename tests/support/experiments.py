"""What the tests of the whole system share: tasks that are shell scripts, their logs, their processes."""
import http.client
import json
import os
import pathlib
import threading

from support.cluster import TIMEOUT_S, wait_for

FINAL = {"STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR"}


def shell(cluster, script, files=None, slots=1, **config):
    """Creates an experiment whose task is a shell script."""
    return cluster.create(files=files, entrypoint=["sh", "-c", script], resources={"slots_per_trial": slots}, **config)


def the_trial(cluster, experiment):
    [trial] = cluster.get(f"/api/v1/experiments/{experiment}/trials").json["trials"]
    return trial


def log_of(cluster, experiment):
    return cluster.trial_log(the_trial(cluster, experiment)["id"])


def task_lines(cluster, trial_id):
    """Returns what the task itself has printed, in the order of the log, without the platform's own lines."""
    return [line["result"]["log"].rstrip("\n") for line in cluster.get(f"/api/v1/trials/{trial_id}/logs").lines
            if line["result"].get("source") == "task"]


def wait_line(cluster, experiment, text):
    """Waits until the log holds the text, and returns the whole log."""
    return wait_for(f"{text!r} in the log of experiment {experiment}",
                    lambda: (lambda log: log if text in log else None)(log_of(cluster, experiment)))


def wait_file(path):
    """Waits for a file that is not empty, and returns its text."""
    path = pathlib.Path(path)
    return wait_for(f"{path.name}", lambda: path.exists() and path.read_text().strip())


def slots_used(cluster):
    return sum(1 for a in cluster.get("/api/v1/agents").json["agents"] for s in a["slots"].values() if s.get("container"))


def wait_slots_free(cluster):
    wait_for("all slots to be free", lambda: slots_used(cluster) == 0)


def wait_no_supervisors(cluster):
    wait_for("the end of all supervisors", lambda: not cluster.supervisors())


def final_states(cluster, experiments):
    return {x: cluster.wait_experiment(x)["state"] for x in experiments}


def master_epoch(cluster):
    return int(cluster.master_log().rsplit("epoch=", 1)[1].split()[0])


class Follower:
    """Follows a trial's log in a thread, line by line as the lines arrive."""

    def __init__(self, cluster, trial_id):
        self.lines, self.ended = [], False
        self.connection = http.client.HTTPConnection("127.0.0.1", cluster.port, timeout=TIMEOUT_S)
        self.connection.request("GET", f"/api/v1/trials/{trial_id}/logs?follow=true",
                                headers={"Authorization": f"Bearer {cluster.token}"})
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        reply = self.connection.getresponse()
        for line in reply:
            self.lines.append(json.loads(line)["result"]["log"].rstrip("\n"))
        self.ended = True

    def wait(self, text):
        wait_for(f"{text!r} in the stream", lambda: text in self.lines)

    def wait_end(self):
        self.thread.join(TIMEOUT_S)
        self.connection.close()
        assert self.ended, "the stream did not end well"


def is_root():
    return os.geteuid() == 0
