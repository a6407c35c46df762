"""Questions about the web interface, in Debian's chromium (tests/browser/web_times.mjs): how soon it is there, how quickly it draws, what it costs.

Chromium has no graphics card here: it draws on the processor that master and page share.
"""
import contextlib
import json
import os
import re
import select
import shutil
import socket
import subprocess
import threading
import time

from ask_history import EXPERIMENTS, TRIALS_EACH, make_history
from ask_logs import a_task, load, wait_sealed
from harness import BUILD, ROOT, Cluster, Row, cpu_ms, directory, question, running_master
from support import browser
from support.cluster import wait_for
from support.pipeline import post_all
from support.websocket import WebSocket

RUNS = 7
TRIALS, POINTS = 100, int(os.environ.get("DET_WEB_POINTS", "10000"))
LOG_LINES = int(os.environ.get("DET_WEB_LINES", "10000000"))
# This text stands in the first line of the log only: whoever looks for it from the end reads all of the log.
RARE = "the only line of its kind"
DASHBOARDS, DASHBOARD_S = 1000, 20
# Nightly runs follow for an hour.
FOLLOW_S = int(os.environ.get("DET_WEB_FOLLOW_S", "150"))
LIGHTHOUSE = ROOT / "bench/lighthouse"
# How long npm may take to install Lighthouse, and Lighthouse for a page.
INSTALL_S, AUDIT_S = 300, 180


def run(argv, what, limit_s, **more):
    """Runs a program; an error says what it was for, and what the program said last."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=limit_s, **more)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{what} did not end within {limit_s} s") from None
    if done.returncode:
        raise RuntimeError(f"{what} failed: {(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout


def measure(cluster, what, limit_s=180, **wanted):
    """Runs one measurement of tests/browser/web_times.mjs. Each of its waits has a limit of its own, whose error says what the page showed."""
    reason = browser.missing()
    if reason:
        raise RuntimeError(reason)
    picture = BUILD / f"web-{what}.png"
    line = {"chromium": shutil.which("chromium"), "what": what, "url": f"{cluster.url}/det/", "cookies": [{"name": "auth", "value": cluster.token}], "screenshot": str(picture), **wanted}
    out = run(["node", browser.BROWSER / "web_times.mjs", json.dumps(line)], f"the measurement “{what}” in the browser (a picture of its page: {picture})", limit_s)
    found = json.loads(out.splitlines()[-1])
    if found["errors"]:
        raise RuntimeError(f"the page's scripts threw {found['errors']}")
    return found


@contextlib.contextmanager
def with_history():
    """A master with 10,000 experiments and 100,000 trials, and two agents to show."""
    with directory() as path, Cluster(path) as cluster:
        make_history(cluster)
        cluster.start_master()
        cluster.login()
        yield cluster


@question
def web_start():
    """How soon is the web interface there, cold, from a master on this machine?"""
    with running_master() as cluster:
        cluster.start_agent("gpu-1", slots=8)
        found = measure(cluster, "start", runs=RUNS)
    yield Row("web: first contentful paint, cold", found["paints"], "ms", "≤ 200")
    yield Row("… its lists are there, and it answers a press", found["ready"], "ms", "≤ 400")
    yield Row("… loaded for it, packed", [found["bytes"] / 1024], "KiB")


def curves(trials, points, group):
    """Reports of a curve each, as requests."""
    for trial in trials:
        for step in range(1, points + 1):
            loss = 2.2 / (1 + step * (1 + trial % 7) / POINTS) + trial % 11 / 50
            yield f"/api/v1/trials/{trial}/metrics", {"group": group, "metrics": {
                "trialId": trial, "trialRunId": 0, "stepsCompleted": step, "metrics": {"avgMetrics": {"loss": round(loss, 6)}}}}


def search_with_curves(cluster, trials, points, group):
    """An experiment of the past with so many trials, each with a curve of so many points."""
    config = {"name": f"{trials} curves", "searcher": {"name": "random", "metric": "loss", "max_trials": trials}}
    x = cluster.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": 1}).json["experiment"]["id"]
    ids = [cluster.post("/api/v1/trials", {"experimentId": x, "unmanaged": True, "hparams": {"lr": i / trials}}).json["trial"]["id"] for i in range(trials)]
    parts = [threading.Thread(target=post_all, args=(cluster, curves(ids[i::8], points, group))) for i in range(8)]
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    return x


@question
def web_chart():
    """How quickly is a chart of 100 series with 10,000 points each on the screen?"""
    with running_master() as cluster:
        small = search_with_curves(cluster, 2, 10, "validation")
        for group, what in (("training", "a metric of training"), ("validation", "validations, which stay rows")):
            large = search_with_curves(cluster, TRIALS, POINTS, group)
            if group == "training":
                # Some of a trial's last reports are too few to be packed.
                wait_for("the reports to be packed", lambda: cluster.metric("det_metric_sealed_reports_total") >= 0.99 * TRIALS * POINTS, 300)
            paths = {"warm": f"experiments/{small}/hyperparameters?view=curves", "path": f"experiments/{large}/hyperparameters?view=curves&metric={group}.loss"}
            found = measure(cluster, "chart", runs=RUNS, series=TRIALS, **paths)
            yield Row(f"web: a chart of {TRIALS} series of {POINTS:,} points of {what}, from the press until it is drawn", found["times"], "ms", "≤ 100")


@question
def web_list():
    """Does a list of 100,000 rows scroll without losing frames?"""
    total = EXPERIMENTS * TRIALS_EACH
    with with_history() as cluster:
        found = [measure(cluster, "list", path="projects/1/runs", total=total) for _ in range(3)]
    yield Row(f"web: a list of {total:,} rows is scrolled: work for a frame, p95", [one["work"] for one in found], "ms", "≤ 16")
    yield Row("… from frame to frame, p95", [one["between"] for one in found], "ms")
    yield Row("… frames with rows that are still being read", [100 * one["blank"] for one in found], "%")


@question
def web_event():
    """How long does it take from a change until it is on the screen?"""
    with running_master() as cluster:
        task = a_task(cluster)
        [trial] = cluster.trial_ids(1)
        found = measure(cluster, "event", runs=RUNS, log=f"experiments/1/trials/{trial}/logs", line={"taskId": task})
    yield Row("web: a change of a model, until every list shows it", found["told"], "ms", "≤ 200")
    yield Row("… a line of a log that is followed", found["followed"], "ms", "≤ 200")


def say(cluster, task, *lines):
    reply = cluster.post("/api/v1/task/logs", {"logs": [{"taskId": task, "log": f"{line}\n"} for line in lines]})
    if reply.status != 200:
        raise RuntimeError(f"lines of task {task} were not stored: {reply}")


@question
def web_log():
    """How soon does the log of a trial open at its end if it has 1 GB, and how soon is a word found in it?"""
    with running_master() as cluster:
        small, large = 1, 2
        say(cluster, a_task(cluster), "another log")
        long = a_task(cluster)
        [trial] = cluster.trial_ids(large)
        say(cluster, long, f"{RARE}: 17")
        load(cluster, "post", long, LOG_LINES, "fresh")
        wait_sealed(cluster)
        [first] = cluster.trial_ids(small)
        paths = {"warm": f"experiments/{small}/trials/{first}/logs", "path": f"experiments/{large}/trials/{trial}/logs"}
        found = measure(cluster, "log", runs=RUNS, last="loss", word=RARE, **paths)
    yield Row("web: the log of a trial with 1 GB opens at its end", found["opened"], "ms", "≤ 300")
    yield Row("… a rare text is found in it and shown", found["found"], "ms", "≤ 1000")


def talk(cluster, task, end):
    """A task that reports fifty lines a tenth of a second."""
    i = 0
    while not end.is_set():
        say(cluster, task, *(f"step {i + k} loss={1 / (i + k + 1):.6f} of a task that goes on" for k in range(50)))
        i += 50
        end.wait(0.1)


@contextlib.contextmanager
def talking(cluster, task):
    """Ends the task's talk also where the measurement fails: a thread that goes on would keep the program."""
    end = threading.Event()
    talker = threading.Thread(target=talk, args=(cluster, task, end))
    talker.start()
    try:
        yield
    finally:
        end.set()
        talker.join()


@question
def web_memory():
    """Does a page that follows a log, and one that shows the cluster, keep its memory?"""
    with running_master() as cluster:
        cluster.start_agent("gpu-1", slots=8)
        task = a_task(cluster)
        [trial] = cluster.trial_ids(1)
        # A page keeps its last 50,000 lines; it has them before the first sample.
        for path, ready, first in ((f"experiments/1/trials/{trial}/logs", ".entry", min(110, FOLLOW_S * 0.7)), ("", ".line, .empty", FOLLOW_S * 0.2)):
            with talking(cluster, task):
                found = measure(cluster, "memory", limit_s=FOLLOW_S + 120, path=path, ready=ready, seconds=FOLLOW_S, every=max(5, FOLLOW_S / 60), **{"from": first})["samples"]
            what = "follows a log" if path else "shows the first page"
            yield Row(f"web: heap of a page that {what}, after {FOLLOW_S} s", [found[-1]["heap"]], "MB")
            yield Row("… grown since it had what it keeps", [found[-1]["heap"] - found[0]["heap"]], "MB", "≤ 2")


@question
def web_lighthouse():
    """What does Lighthouse say of the first page and of a list, for desktops?"""
    program = LIGHTHOUSE / "node_modules/.bin/lighthouse"
    if not program.exists():
        run(["npm", "ci", "--prefix", LIGHTHOUSE, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], "the installation of Lighthouse", INSTALL_S)
    with running_master() as cluster, directory() as path:
        cluster.start_agent("gpu-1", slots=8)
        headers = json.dumps({"Cookie": f"auth={cluster.token}"})
        for name, page in (("home", ""), ("experiments", "projects/1"), ("sign-in", "login")):
            out = path / f"{name}.json"
            run([program, f"{cluster.url}/det/{page}", "--quiet", "--preset=desktop", "--output=json", f"--output-path={out}",
                 *([f"--extra-headers={headers}"] if page != "login" else []), "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage --disable-gpu"],
                f"Lighthouse of the page {name}", AUDIT_S, env={**os.environ, "CHROME_PATH": shutil.which("chromium")})
            found = json.loads(out.read_text())
            if found["finalDisplayedUrl"] != f"{cluster.url}/det/{page}":
                raise RuntimeError(f"Lighthouse was led from the page {name} to {found['finalDisplayedUrl']}")
            for key, category in found["categories"].items():
                yield Row(f"web: Lighthouse, {name}: {key}", [score_of(found, name, key, category)], "", "≥ 95")


def score_of(found, name, key, category):
    """A category's score; says which audits took from it. One that could not be judged has none."""
    lacking = [audit["id"] for audit in category["auditRefs"] if audit["weight"] and (found["audits"][audit["id"]]["score"] or 0) < 0.9]
    if category["score"] is None:
        raise RuntimeError(f"Lighthouse could not judge {key} of the page {name}: {found.get('runtimeError') or lacking}")
    if lacking:
        print(f"  {name}, {key}: {', '.join(lacking)}")
    return 100 * category["score"]


class Dashboard:
    """One browser that shows the first page: a connection that asks what such a page asks, when it would."""

    def __init__(self, cluster):
        self.sock = socket.create_connection(("127.0.0.1", cluster.port))
        self.sock.setblocking(False)
        self.todo, self.busy, self.rest = [], False, b""

    def ask(self, request):
        if self.busy:
            self.todo.append(request)
        else:
            self.busy = True
            self.sock.send(request)

    def heard(self):
        """Whether a reply is whole."""
        self.rest += self.sock.recv(1 << 16)
        head, gap, body = self.rest.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if not gap or (b" 304 " not in head[:20] and length and len(body) < int(length[1])):
            return False
        self.rest, self.busy = b"", False
        if self.todo:
            self.ask(self.todo.pop(0))
        return True


def requests_of(cluster, asked):
    """The requests of a dashboard, each with its pace in seconds; with the tags of the replies that it has."""
    made = []
    for path, times in asked.items():
        reply = cluster.get(path, headers={"If-None-Match": '"none"'})
        tag = f"If-None-Match: {reply.headers['ETag']}\r\n" if reply.headers.get("ETag") else ""
        made.append((DASHBOARD_S / times, f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\n{tag}\r\n".encode()))
    return made


def subscribed(cluster):
    ws = WebSocket(f"ws://127.0.0.1:{cluster.port}/stream", {"Authorization": f"Bearer {cluster.token}"})
    ws.send(json.dumps({"sync_id": "1", "known": {"projects": "", "models": "", "modelversions": ""}, "subscribe": {
        "projects": {"workspace_ids": [1], "project_ids": [], "since": 0}, "models": {"workspace_ids": [1], "model_ids": [], "user_ids": [], "since": 0},
        "modelversions": {"model_ids": [], "model_version_ids": [], "user_ids": [1, 2], "since": 0}}}))
    while not json.loads(ws.receive()).get("complete"):
        pass
    return ws


def keep_open(cluster, n, seconds):
    """Plays n dashboards; returns (requests, share of a core that the master took)."""
    asked = measure(cluster, "asks", seconds=DASHBOARD_S, settled=40)["asked"]
    paces = requests_of(cluster, asked)
    streams = [subscribed(cluster) for _ in range(n)]
    boards, poll = {}, select.epoll()
    for _ in range(n):
        board = Dashboard(cluster)
        boards[board.sock.fileno()] = board
        poll.register(board.sock, select.EPOLLIN)
    everyone = list(boards.values())
    # Browsers were opened at different times: the requests of all of them are spread evenly over each pace.
    plan = sorted((pace * (i + 1) / n + turn * pace, number, request) for i, _ in enumerate(everyone) for number in [i] for pace, request in paces for turn in range(int(seconds / pace)))
    begin, cpu, answers = time.monotonic(), cpu_ms(cluster.master.pid), 0
    for at, number, request in plan:
        while (left := begin + at - time.monotonic()) > 0:
            for fd, _ in poll.poll(left):
                answers += boards[fd].heard()
        everyone[number].ask(request)
    took, cpu = time.monotonic() - begin, cpu_ms(cluster.master.pid) - cpu
    for stream in streams:
        stream.sock.close()
    for board in everyone:
        board.sock.close()
    return answers / took, 100 * cpu / 1000 / took


@question
def web_dashboards():
    """What do 1,000 open dashboards take of the master?"""
    with running_master() as cluster:
        cluster.start_agent("gpu-1", slots=8)
        for _ in range(20):
            cluster.create({"train.py": "print(1)\n"}, activate=False)
        rate, share = keep_open(cluster, DASHBOARDS, DASHBOARD_S)
    yield Row(f"web: {DASHBOARDS:,} open dashboards: CPU of the master, of one core", [share], "%", "≤ 5")
    yield Row("… requests", [rate], "/s")
