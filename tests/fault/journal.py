"""Load on a master, and a journal of what it acknowledged; afterwards the two are compared.

Every kind of write has a thread of its own. Each thing that is written has a name that is used once. What was acknowledged
must be there, exactly once; what was sent but not answered (the master was killed, or said 503) may be there, once.
"""
import collections
import contextlib
import http.client
import json
import threading
import uuid

from support.waiting import wait_for


class Writer(threading.Thread):
    """Sends the n-th thing until it is told to stop. What fails is not sent again, unless the kind says that it may be."""

    may_repeat = False
    pause_s = 0  # between one thing and the next

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.token = cluster, cluster.token
        self.sent, self.acknowledged, self.failure = [], [], None
        self.stopping = threading.Event()

    def request(self, method, path, body):
        """The reply's body; None when there was none, or a 503."""
        connection = self.cluster._connect(30)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request(method, path, json.dumps(body), {"Authorization": f"Bearer {self.token}"})
            reply = connection.getresponse()
            text = reply.read()
            if reply.status == 200:
                return text
            if reply.status != 503:
                raise AssertionError(f"{type(self).__name__}: {path}: {reply.status} {text[:300]}")
        return None

    def run(self):
        try:
            n = 0
            while not self.stopping.is_set():
                name = self.name_of(n)
                self.sent.append(name)
                while self.send(n, name) is None and not self.stopping.wait(0.02) and self.may_repeat:
                    pass
                n += 1
                self.stopping.wait(self.pause_s)
        except BaseException as e:  # noqa: B902 (shown by the test)
            self.failure = e

    def send(self, n, name):
        text = self.write(n, name)
        if text is not None:
            self.acknowledged.append(name)
        return text

    def finish(self):
        self.stopping.set()
        self.join(120)
        assert not self.is_alive() and self.failure is None, repr(self.failure)

    def read(self, path):
        """The reply to a GET. Each of the master's connections to a server that was away tries again after up to five seconds."""
        def reply():
            got = self.cluster.get(path)
            return None if got.status == 503 else got

        got = wait_for(f"an answer to GET {path}", reply)
        assert got.status == 200, got
        return got

    def check(self):
        """All that is stored, compared with the journal."""
        stored = collections.Counter(self.stored())
        lost = [name for name in self.acknowledged if name not in stored]
        twice = [name for name, times in stored.items() if times > 1]
        unknown = set(stored) - set(self.sent)
        assert not (lost or twice or unknown), f"{type(self).__name__}: lost {lost[:5]}, twice {twice[:5]}, unknown {list(unknown)[:5]}"
        return f"{self.kind} {len(self.acknowledged)}/{len(self.sent)}"


class Experiments(Writer):
    kind = "experiments"

    def name_of(self, n):
        return f"created-{n}"

    def write(self, n, name):
        config = self.cluster.experiment_config(name=name)
        return self.request("POST", "/api/v1/experiments", {"config": json.dumps(config), "activate": False})

    def stored(self):
        experiments = self.read("/api/v1/experiments?limit=-1").json["experiments"]
        return [x["name"] for x in experiments if x["name"].startswith("created-")]


class OfTrial(Writer):
    """Writes to a trial of its own, which never runs."""

    def __init__(self, cluster):
        super().__init__(cluster)
        experiment = cluster.create(activate=False)
        [self.trial] = cluster.trial_ids(experiment)
        self.task = cluster.get(f"/api/v1/trials/{self.trial}").json["trial"]["taskId"]


class Metrics(OfTrial):
    kind = "metric reports"
    may_repeat = True  # the same report again is the same report

    def name_of(self, n):
        return n + 1

    def write(self, n, name):
        metrics = {"trialId": self.trial, "trialRunId": 0, "stepsCompleted": name, "metrics": {"avgMetrics": {"loss": 1 / name}}}
        return self.request("POST", f"/api/v1/trials/{self.trial}/metrics", {"group": "training", "metrics": metrics})

    def stored(self):
        lines = self.read(f"/api/v1/trials/metrics/trial_metrics?trialIds={self.trial}").lines
        return [r["totalBatches"] for line in lines for r in line["result"]["metrics"]]


class Checkpoints(OfTrial):
    kind = "checkpoints"
    may_repeat = True

    def __init__(self, cluster):
        super().__init__(cluster)
        self.token = cluster.admin_token()  # in place of the trial's task, which never runs

    def name_of(self, n):
        return str(uuid.uuid4())

    def write(self, n, name):
        return self.request("POST", "/api/v1/checkpoints", {
            "uuid": name, "taskId": self.task, "resources": {"f": "1"}, "metadata": {"steps_completed": n},
            "state": "STATE_COMPLETED", "reportTime": "2026-01-01T00:00:00Z"})

    def stored(self):
        return [c["uuid"] for c in self.read(f"/api/v1/trials/{self.trial}/checkpoints").json["checkpoints"]]


class LogLines(OfTrial):
    kind = "log batches"

    def name_of(self, n):
        return f"batch {n}\n"

    def write(self, n, name):
        lines = [{"taskId": self.task, "log": f"{part} {name}"} for part in ("first", "last")]
        return self.request("POST", "/api/v1/task/logs", {"logs": lines})

    def stored(self):
        lines = [line["result"]["log"] for line in self.read(f"/api/v1/trials/{self.trial}/logs").lines]
        first = [line.removeprefix("first ") for line in lines if line.startswith("first ")]
        last = [line.removeprefix("last ") for line in lines if line.startswith("last ")]
        assert first == last, "half a batch"
        return first


class States(Writer):
    """An experiment is archived and taken back again and again: the last state that was acknowledged, or the next."""

    kind = "state changes"
    may_repeat = True

    def __init__(self, cluster):
        super().__init__(cluster)
        self.experiment = cluster.create(activate=False)

    def name_of(self, n):
        return n

    def write(self, n, name):
        return self.request("PATCH", f"/api/v1/experiments/{self.experiment}", {"id": self.experiment, "description": f"change {n}"})

    def stored(self):
        word = self.cluster.experiment(self.experiment).get("description") or "change -1"
        now = int(word.split()[1])
        newest = self.acknowledged[-1] if self.acknowledged else -1
        assert newest <= now <= newest + 1, f"change {newest} was acknowledged, stored is {now}"
        return range(now + 1)


class Load:
    """Without a pause, each writer writes as fast as the master lets it, and a master with many thousands of experiments takes long to start."""

    def __init__(self, cluster, pause_s=0):
        self.writers = [kind(cluster) for kind in (Experiments, Metrics, Checkpoints, LogLines, States)]
        for writer in self.writers:
            writer.pause_s = pause_s
            writer.start()

    def done(self):
        failed = [w for w in self.writers if w.failure]
        assert not failed, repr(failed[0].failure)
        return sum(len(w.acknowledged) for w in self.writers)

    def finish(self):
        for writer in self.writers:
            writer.finish()

    def check(self):
        """What was acknowledged of what was sent, in words; fails when something is lost or doubled."""
        return ", ".join(writer.check() for writer in self.writers)
