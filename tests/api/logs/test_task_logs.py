"""Tests task logs on both engines: sealed blocks, searching, following, retention, and hostile senders."""
import contextlib
import datetime
import itertools
import json
import signal
import socket
import threading
import urllib.parse

import pytest
from support import postgres
from support.cluster import Cluster, wait_for
from support.det import run_det

ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(not postgres.is_installed(), reason="no PostgreSQL is installed"))]
TEXT = "INFO: train.py:214: epoch 0 step {0} loss 0.{0:05} lr 3.000e-04 grad_norm 1.{0:03} 1516.6 samples/s\n"


@pytest.fixture(scope="module", params=ENGINES)
def master(request, tmp_path_factory):
    with contextlib.ExitStack() as stack:
        config = {}
        if request.param == "postgres":
            config = {"db": stack.enter_context(postgres.Server()).new_database()}
        c = stack.enter_context(Cluster(tmp_path_factory.mktemp("cluster"), config=config))
        c.start_master()
        c.login()
        yield c


class Log:
    """The task of a trial, and what was posted to its log."""

    def __init__(self, master, **config):
        self.master = master
        self.experiment = master.create(activate=False, **config)
        [self.trial] = master.trial_ids(self.experiment)
        self.task = master.get(f"/api/v1/trials/{self.trial}").json["trial"]["taskId"]
        self.posted = 0

    def entry(self, text, **more):
        return {"taskId": self.task, "log": text, "timestamp": "2026-01-02T03:04:05Z", **more}

    def post(self, *texts, **more):
        reply = self.master.post("/api/v1/task/logs", {"logs": [self.entry(text, **more) for text in texts]})
        if reply.status == 200:
            self.posted += len(texts)
        return reply

    def post_many(self, batches, lines=1000):
        """Posts lines as a run on two ranks would print them: each rank is in a container of its own, and every 500th line is an error."""
        for _ in range(batches):
            entries = []
            for i in range(self.posted, self.posted + lines):
                rank = i % 2
                entries.append(self.entry(TEXT.format(i), rankId=rank, containerId=f"container-{rank}", stdtype="stdout",
                                          level="LOG_LEVEL_ERROR" if i % 500 == 0 else "LOG_LEVEL_INFO"))
            assert self.master.post("/api/v1/task/logs", {"logs": entries}).status == 200
            self.posted += lines

    def read(self, query=""):
        return [line["result"] for line in self.master.get(f"/api/v1/tasks/{self.task}/logs?{query}").lines]

    def texts(self, query=""):
        return [line["log"] for line in self.read(query)]


def wait_sealed(master, rounds, others=0):
    """Waits until there were more rounds of sealing, and less than a block is left to seal besides the bytes of other tests' logs."""
    wait_for("the heads to be sealed", lambda: master.metric("det_log_seal_rounds_total") > rounds and
             master.metric("det_log_unsealed_bytes") < others + 256 * 1024)


@pytest.fixture(scope="module")
def long_log(master):
    """Returns a log with 20,000 lines, about 2 MB, in sealed blocks followed by heads."""
    rounds = master.metric("det_log_seal_rounds_total")
    log = Log(master)
    log.post_many(20)
    wait_sealed(master, rounds)
    return log


# ---- blocks ----


def test_sealed_lines_are_what_was_posted_and_keep_their_numbers(long_log):
    found = long_log.read()
    assert [int(line["id"]) for line in found] == list(range(1, 20001))
    assert [line["log"] for line in found] == [TEXT.format(i) for i in range(20000)]
    assert {(line["rankId"], line["containerId"]) for line in found} == {(0, "container-0"), (1, "container-1")}
    down = long_log.read("orderBy=ORDER_BY_DESC&limit=7000")
    assert [int(line["id"]) for line in down] == list(range(20000, 13000, -1))


def test_every_filter_works_across_blocks(long_log):
    assert long_log.texts("levels=LOG_LEVEL_ERROR") == [TEXT.format(i) for i in range(0, 20000, 500)]
    assert long_log.texts("searchText=STEP%2012345%20") == [TEXT.format(12345)]
    assert long_log.texts("searchText=step%20777%5B05%5D%20.*samples&enableRegex=true") == [TEXT.format(7770), TEXT.format(7775)]
    assert long_log.texts("searchText=gradient%20overflow") == []
    assert len(long_log.texts("rankIds=1&levels=LOG_LEVEL_INFO")) == 10000
    assert len(long_log.texts("containerIds=container-0&limit=123")) == 123
    assert long_log.texts("containerIds=nobody") == long_log.texts("agentIds=nobody") == long_log.texts("stdtypes=stderr") == []
    assert len(long_log.texts("stdtypes=stdout&stdtypes=stderr&orderBy=ORDER_BY_DESC")) == 20000
    assert long_log.texts("timestampAfter=2026-01-02T03:04:05Z") == []
    fields = long_log.master.get(f"/api/v1/tasks/{long_log.task}/logs/fields").lines[0]["result"]
    assert fields["containerIds"] == ["container-0", "container-1"] and fields["rankIds"] == [0, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_master_killed_while_it_seals_loses_no_line_and_doubles_none(engine, new_cluster):
    """Every line that was acknowledged must be stored once, with its number, however often the master is killed meanwhile."""
    with contextlib.ExitStack() as stack:
        config = {"db": stack.enter_context(postgres.Server()).new_database()} if engine == "postgres" else {}
        c = new_cluster(config=config)
        c.start_master()
        c.login()
        log = Log(c)
        for _ in range(4):
            log.post_many(6)
            c.master.send_signal(signal.SIGKILL)
            c.master.wait()
            c.start_master()
        wait_for("the rest to be sealed", lambda: c.metric("det_log_unsealed_bytes") < 256 * 1024)
        found = log.read()
        assert [int(line["id"]) for line in found] == list(range(1, log.posted + 1))
        assert [line["log"] for line in found] == [TEXT.format(i) for i in range(log.posted)]


# ---- following ----


class Follower:
    """A client that reads a followed log in a thread of its own."""

    def __init__(self, master, path):
        self.socket = socket.create_connection(("127.0.0.1", master.port), timeout=120)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {master.token}\r\n\r\n".encode())
        self.results = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        with contextlib.suppress(OSError), self.socket.makefile("rb") as stream:
            for line in stream:
                if line.startswith(b'{"result"'):
                    self.results.append(json.loads(line)["result"])
                if line == b"0\r\n":
                    break
        self.ended.set()

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(60)
        self.socket.close()


def test_followers_get_each_line_once_and_the_end(master):
    log = Log(master)
    log.post("first\n")
    path = f"/api/v1/tasks/{log.task}/logs?follow=true"
    all_lines, errors = Follower(master, path), Follower(master, path + "&levels=LOG_LEVEL_ERROR")
    trial = Follower(master, f"/api/v1/trials/{log.trial}/logs?follow=true")
    wait_for("the first line", lambda: all_lines.results)
    for i in range(200):
        log.post(f"line {i}\n", level="LOG_LEVEL_ERROR" if i % 10 == 0 else "LOG_LEVEL_INFO")
    wait_for("all lines", lambda: len(all_lines.results) == 201 and len(errors.results) == 20 and len(trial.results) == 201)
    late = Follower(master, path)
    wait_for("the lines of before", lambda: len(late.results) == 201)
    expected = ["first\n"] + [f"line {i}\n" for i in range(200)]
    assert [r["log"] for r in all_lines.results] == [r["log"] for r in trial.results] == [r["log"] for r in late.results] == expected
    assert [r["log"] for r in errors.results] == expected[1::10]
    assert [int(r["id"]) for r in all_lines.results] == list(range(1, 202))
    assert master.post(f"/api/v1/experiments/{log.experiment}/kill").status == 200
    for follower in (all_lines, errors, trial, late):
        assert follower.ended.wait(60)
        follower.close()


def test_followers_that_are_up_to_date_read_no_store(master):
    log = Log(master)
    log.post("first\n")
    followers = [Follower(master, f"/api/v1/tasks/{log.task}/logs?follow=true") for _ in range(4)]
    wait_for("the first line", lambda: all(f.results for f in followers))
    log.post("second\n")  # a follower that was still reading from the store has come to the feed when it gets this line
    wait_for("the second line", lambda: all(len(f.results) == 2 for f in followers))
    read, fed = master.metric("det_log_batches_read_total"), master.metric("det_log_batches_fed_total")
    for i in range(50):
        log.post(f"line {i}\n")
        wait_for("the line", lambda: all(len(f.results) == i + 3 for f in followers))  # noqa: B023
    assert master.metric("det_log_batches_read_total") == read
    assert master.metric("det_log_batches_fed_total") >= fed + 200
    for follower in followers:
        follower.close()


def test_fields_are_followed_and_told_only_when_they_change(master):
    log = Log(master)
    fields = Follower(master, f"/api/v1/tasks/{log.task}/logs/fields?follow=true")
    wait_for("what there is", lambda: fields.results)
    for container in ("a", "a", "a", "b"):
        log.post("x\n", "y\n", containerId=container)
    wait_for("both containers", lambda: fields.results[-1]["containerIds"] == ["a", "b"])
    told = [r["containerIds"] for r in fields.results]
    assert [key for key, _ in itertools.groupby(told)] == told
    fields.close()


def test_fields_of_a_trial_are_those_of_all_its_tasks(cluster):
    x = cluster.create(entrypoint="echo first; exit 3")
    cluster.wait_experiment(x)
    [trial] = cluster.trial_ids(x)
    path = f"/api/v1/trials/{trial}/logs/fields"
    [first] = cluster.get(path).lines
    assert len(first["result"]["containerIds"]) == 1 and first["result"]["agentIds"] == ["agent0"]
    assert "allocationIds" not in first["result"]
    again = {"id": x, "overrideConfig": "entrypoint: sleep 1; echo again >&2"}
    assert cluster.post("/api/v1/experiments/continue", again).status == 200
    followed = cluster.get(path + "?follow=true").lines  # ends when the trial's last task is over
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED"
    both = followed[-1]["result"]
    assert first["result"]["containerIds"][0] in both["containerIds"] and len(both["containerIds"]) == 2
    assert both["containerIds"] == sorted(both["containerIds"]) and "stderr" in both["stdtypes"]
    assert cluster.get("/api/v1/trials/99999/logs/fields").status == 404


def test_a_follower_that_does_not_read_or_goes_holds_nobody_up(master):
    log = Log(master)
    path = f"/api/v1/tasks/{log.task}/logs?follow=true"
    reading, gone = Follower(master, path), Follower(master, path)
    deaf = socket.create_connection(("127.0.0.1", master.port))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    deaf.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {master.token}\r\n\r\n".encode())
    log.post("first\n")
    wait_for("both", lambda: reading.results and gone.results)
    gone.close()
    log.post_many(10)
    wait_for("all lines", lambda: len(reading.results) == 10001)
    # The client that did not read now reads, and gets everything from the store.
    deaf.settimeout(60)
    got = b""
    while b'"id":"10001"' not in got[-200000:]:
        part = deaf.recv(1 << 20)
        assert part
        got += part
    assert got.count(b'{"result"') == 10001
    deaf.close()
    reading.close()


# ---- retention ----


def ended(master, log):
    assert master.post(f"/api/v1/experiments/{log.experiment}/kill").status == 200
    master.wait_experiment(log.experiment)


def admin_token(master):
    return master.login("admin", keep=False).json["token"]


def cleanup(master):
    reply = master.post("/api/v1/cleanup_logs", {}, token=admin_token(master))
    assert reply.status == 200, reply
    return int(reply.json["removedCount"])


def remaining(master, log):
    return master.get(f"/api/v1/trials/{log.trial}/remaining_log_retention_days").json.get("remainingDays")


def test_logs_go_when_their_time_is_over(master):
    kept, short, now, never = Log(master), Log(master), Log(master), Log(master, retention_policy={"log_retention_days": -1})
    running = Log(master, retention_policy={"log_retention_days": 0})
    for log in (kept, short, now, never, running):
        log.post("one\n", "two\n")
    for log in (kept, short, now, never):
        ended(master, log)
    cleanup(master)
    assert master.get(f"/api/v1/trials/{never.trial}").json["trial"]["logRetentionDays"] == -1
    assert remaining(master, kept) == remaining(master, never) == -1
    assert remaining(master, running) == 0
    assert master.request("PUT", f"/api/v1/trials/{short.trial}/retain_logs", {"numDays": 10}).status == 200
    assert remaining(master, short) == 10
    assert master.request("PUT", f"/api/v1/trials/{now.trial}/retain_logs", {"numDays": 0}).status == 200
    lines = len(now.texts())
    assert lines >= 2 and cleanup(master) == lines
    assert now.texts() == [] and cleanup(master) == 0
    for log in (kept, short, never, running):
        assert log.texts()[:2] == ["one\n", "two\n"]
    bad = master.request("PUT", f"/api/v1/trials/{now.trial}/retain_logs", {"numDays": -2})
    assert bad.status == 400 and "num_days is -2, allowed is -1 (for ever) to 32767" in bad.json["error"]["error"]
    assert master.request("PUT", "/api/v1/trials/999999/retain_logs", {"numDays": 1}).status == 404


def test_only_admins_clean_up(master):
    reply = master.post("/api/v1/cleanup_logs", {})
    assert reply.status == 403 and "only an admin may delete old task logs" in reply.json["error"]["error"]
    assert master.post("/api/v1/cleanup_logs", {}, token=None).status == 401


def test_the_schedule_and_the_clusters_default(new_cluster):
    c = new_cluster(config={"retention_policy": {"log_retention_days": 0, "schedule": "100ms"}})
    c.start_master()
    c.login()
    log, kept = Log(c), Log(c, retention_policy={"log_retention_days": 30})
    for each in (log, kept):
        each.post("a line\n")
        ended(c, each)
    wait_for("the sweep", lambda: not log.texts())
    assert kept.texts()[0] == "a line\n"


def det(master, *words, user="determined"):
    done = run_det(master, *words, user=user)
    return done.returncode, done.stdout + done.stderr


def test_det_sets_retention_and_cleans_up(master):
    log = Log(master)
    log.post("one\n")
    code, text = det(master, "experiment", "set", "log-retention", log.experiment, "--days", 3)
    assert code == 1 and "experiment in non terminal state" in text
    ended(master, log)
    assert det(master, "experiment", "set", "log-retention", log.experiment, "--days", 3) == (0, "")
    assert remaining(master, log) == 3
    assert det(master, "trial", "set", "log-retention", log.trial, "--forever") == (0, "")
    assert remaining(master, log) == -1
    assert det(master, "trial", "set", "log-retention", log.trial, "--days", 0) == (0, "")
    lines = len(log.texts())
    assert det(master, "task", "cleanup-logs", user="admin") == (0, f"Deleted {lines} rows of log entries.\n")


# ---- zero bytes: texts of PostgreSQL cannot hold them, and texts of C end with them ----


def test_zero_bytes_stay_in_logs(master):
    log = Log(master)
    texts = ["\0\n", "a\0b\0\0c needle\n", "é\0𝄞 last\0"]
    assert log.post(*texts, stdtype="stdout", source="task").status == 200
    assert log.texts() == texts
    assert [line["message"].split(" || ", 1)[1] for line in log.read()] == texts
    assert log.texts("searchText=NEEDLE") == texts[1:2]
    for pattern in ("a.b..c needle", r"a\x00b", "^é.𝄞"):
        assert len(log.texts(f"searchText={urllib.parse.quote(pattern)}&enableRegex=true")) == 1, pattern
    shown = run_det(master, "task", "logs", log.task).stdout
    assert all(text.rstrip("\n") in shown for text in texts)
    records = [json.loads(line) for line in run_det(master, "trial", "logs", log.trial, "--json").stdout.replace("}\n{", "}\r{").split("\r")]
    assert [r["log"] for r in records] == texts


def test_zero_bytes_stay_in_blocks(master):
    log, rounds, others = Log(master), master.metric("det_log_seal_rounds_total"), master.metric("det_log_unsealed_bytes")
    for _ in range(3):
        log.post(*(f"{i}\0 " + "x" * 990 + "\n" for i in range(400)))
    wait_sealed(master, rounds, others)
    assert [text.split(" ")[0] for text in log.texts("limit=1200")] == [f"{i}\0" for i in range(400)] * 3
    assert len(log.texts("searchText=%5E399.%20x&enableRegex=true")) == 3


# ---- bad input ----


def test_a_line_of_ten_megabytes_with_any_bytes(master):
    log = Log(master)
    long = "x" * 5_000_000 + "\0" + "é" * 2_500_000 + "needle in the end"
    assert log.post("before\n", long, "after\n").status == 200
    assert log.texts() == ["before\n", long, "after\n"]
    assert log.texts("searchText=NEEDLE%20in%20the%20e") == [long]
    body = json.dumps({"logs": [log.entry("broken @@\n")]}).encode().replace(b"@@", b"\xc3\x28 \xff")
    reply = master.request("POST", "/api/v1/task/logs", raw=body)
    assert reply.status == 400 and "expected UTF-8" in reply.json["error"]["error"]
    assert len(log.texts()) == 3


def test_batches_that_are_refused_store_nothing(master):
    log, other = Log(master), Log(master)
    empty = master.post("/api/v1/task/logs", {"logs": []})
    assert empty.status == 400 and "at least one entry" in empty.json["error"]["error"]
    many = [{"taskId": f"task-{i}", "log": "x\n"} for i in range(5000)]
    mixed = master.post("/api/v1/task/logs", {"logs": many})
    assert mixed.status == 400 and "logs[1].taskId: all entries of one request must have the same task id" in mixed.json["error"]["error"]
    two = master.post("/api/v1/task/logs", {"logs": [log.entry("x"), other.entry("y")]})
    assert two.status == 400
    numbered = master.post("/api/v1/task/logs", {"logs": [log.entry("x", id=7)]})
    assert numbered.status == 400 and "logs[0].id must be left out" in numbered.json["error"]["error"]
    assert master.post("/api/v1/task/logs", {"logs": [{"taskId": "nobody's", "log": "x"}]}).status == 404
    assert log.texts() == other.texts() == []


def test_a_regular_expression_that_explodes_says_so(long_log):
    log = Log(long_log.master)
    log.post("a" * 60 + "!\n")
    reply = log.master.get(f"/api/v1/tasks/{log.task}/logs?searchText=%5E(a%2B)%2B%24&enableRegex=true")
    assert reply.status == 400
    assert 'search "^(a+)+$" takes too long on line 1' in reply.json["error"]["message"]
    # The same holds in a sealed block.
    reply = log.master.get(f"/api/v1/tasks/{long_log.task}/logs?searchText=%5E(%5CS%2B%5Cs*)%2B%5B@%23%5D&enableRegex=true")
    assert reply.status == 400 and "takes too long" in reply.json["error"]["message"]


def test_times_at_the_edges(master):
    log = Log(master)
    for time in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z"):
        assert log.post(time, timestamp=time).status == 200
    assert [datetime.datetime.fromisoformat(r["timestamp"].replace("Z", "+00:00")).year for r in log.read()] == [1, 9999, 1970]
