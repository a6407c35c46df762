#!/usr/bin/env python3
"""Requests made from contract/api.json against a real master and agent: every served route, by users of several kinds.

usage: fuzz.py [--seconds N] [--seed N] [--directory DIR]        DET_BUILD names the build, best one with AddressSanitizer

Values are right, at the edges of their types, or wrong, with ids that exist mixed in. What must hold: the master goes on and answers,
no sanitizer reports anything, no answer is a 5xx but 501 (what is not served) and 503 with Retry-After, and every good answer fits the
contract. The same seed makes the same requests as long as the answers are the same; requests.jsonl in the directory has them all.
"""
import argparse
import collections
import contextlib
import http.client
import json
import pathlib
import random
import re
import sys
import tempfile
import time
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]

from support.cluster import CONTRACT, Cluster, find_rpc, wait_for  # noqa: E402
from values import Values, query_of  # noqa: E402

READ_S = 20.0      # a stream that has not ended by then is given up: some repeat their answer for ever
PATIENCE_S = 2.0   # long polls and streams that follow are given up then
LOOK_EVERY = 200   # requests, between looks at the master
RAW = ["/info", "/health", "/metrics", "/debug/prom/metrics", "/agents", "/task-logs", "/users/me", "/experiments/1/file/download",
       "/checkpoints/x", "/proxy/x/", "/prom/det-state-metrics", "/no/such/path", "/oauth2/authorize?client_id=x", "/oauth2/token", "/oauth2/clients",
       "/oauth2/clients/x", "/scim/v2/Users", "/scim/v2/Users/1", "/scim/v2/Groups"]


def read_for_a_while(reply):
    """The body of a reply; TimeoutError if it has not ended after READ_S."""
    parts, end = [], time.monotonic() + READ_S
    while part := reply.read1(65536):
        parts.append(part)
        if time.monotonic() > end:
            raise TimeoutError
    return b"".join(parts)


class Finding(Exception):
    pass


class Fuzz:
    def __init__(self, directory, seed):
        self.directory, self.seed, self.number = pathlib.Path(directory), seed, 0
        self.directory.mkdir(parents=True, exist_ok=True)
        self.routes = [row for rpc, row in CONTRACT.routes.items() if rpc in CONTRACT.served]
        self.statuses, self.asked = collections.Counter(), collections.Counter()
        self.clusters, self.cluster = 0, None
        self.log = open(self.directory / "requests.jsonl", "w")

    # ---- a cluster with something in it ----

    def start(self):
        self.clusters += 1
        c = self.cluster = Cluster(self.directory / f"cluster{self.clusters}", config={"scim": {"enabled": True, "auth": {"type": "oauth"}}})
        c.start_master()
        c.start_agent(slots=4)
        admin = c.login("admin", keep=False).json["token"]
        user = c.login("determined").json["token"]
        def made(name):
            c.request("POST", "/api/v1/users", {"user": {"username": name, "active": True}, "password": c.password, "isHashed": False}, token=admin)
            return c.login(name, c.password, keep=False).json.get("token", "")
        other, inactive = made("fuzz-other"), made("fuzz-inactive")
        token = c.storage / "token"
        experiment = c.create(files={"a.py": "print(1)", "d/b.py": "x"}, entrypoint=["sh", "-c", f"echo $DET_SESSION_TOKEN > {token}; sleep 100000"],
                              environment={"environment_variables": ["A=b"]}, hyperparameters={"lr": 0.1})
        wait_for("a task's token", lambda: token.exists() and token.read_text().strip())
        done = c.create(entrypoint=["echo", "done"])
        c.wait_experiment(done)
        paused = c.create(activate=False)
        [trial] = c.trial_ids(experiment)
        task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
        row = c.experiment(experiment)
        for name in ("fuzz-template", "t2"):
            c.request("POST", f"/api/v1/templates/{name}", {"name": name, "config": {"description": "x"}, "workspaceId": 1}, token=admin)
        workspace = c.request("POST", "/api/v1/workspaces", {"name": "fuzz"}, token=admin).json["workspace"]["id"]
        project = c.request("POST", f"/api/v1/workspaces/{workspace}/projects", {"name": "fuzz", "workspaceId": workspace}, token=admin)
        checkpoint = "5f9ef9aa-5c50-4a9b-9f0f-3f7c2a3a7b11"
        c.request("POST", "/api/v1/checkpoints", {"uuid": checkpoint, "taskId": task, "allocationId": f"{task}.1", "state": "STATE_COMPLETED",
                  "resources": {"a": "1"}, "metadata": {"steps_completed": 1}}, token=token.read_text().strip())
        [agent] = c.get("/api/v1/agents").json["agents"]
        self.tokens = {"admin": admin, "owner": user, "other": other, "inactive": inactive, "task": token.read_text().strip(), "none": None,
                       "forged": "v2.public.forged"}
        users = {u["username"]: u["id"] for u in c.request("GET", "/api/v1/users", token=admin).json["users"]}
        victims = [users["fuzz-other"], users["fuzz-inactive"]]
        c.request("PATCH", f"/api/v1/users/{users['fuzz-inactive']}", {"active": False}, token=admin)
        experiments, projects = [experiment, done, paused], [1, project.json["project"]["id"]] if project.status == 200 else [1]
        real = {"experiment": experiments, "experimentid": experiments, "experimentids": experiments, "trial": [trial], "trialid": [trial],
                "run": [trial], "runid": [trial], "task": [task], "taskid": [task], "allocation": [f"{task}.1"], "allocationid": [f"{task}.1"],
                "agent": ["agent0"], "agentid": ["agent0"], "slot": ["0", "1"], "slotid": ["0", "1"], "resourceid": list(agent["containers"]),
                "resourcesid": list(agent["containers"]), "containerid": list(agent["containers"]), "user": victims, "userid": victims,
                "username": ["determined", "fuzz-other"], "workspace": [1, workspace], "workspaceid": [1, workspace], "project": projects,
                "projectid": projects, "destinationprojectid": projects, "destinationworkspaceid": [1, workspace], "checkpoint": [checkpoint],
                "checkpointuuid": [checkpoint], "uuid": [checkpoint], "template": ["fuzz-template"], "templatename": ["fuzz-template", "t2"],
                "name": ["fuzz", "loss"], "pool": ["default"], "resourcepool": ["default"], "resourcepoolname": ["default"], "poolname": ["default"],
                "jobid": [row["jobId"]], "job": [row["jobId"]], "group": ["training", "validation"], "metricname": ["loss"], "path": ["a.py", "d"],
                "limit": [0, 1, 10, -1], "offset": [0, 1, -1], "stepscompleted": [1, 2], "trialrunid": [1], "timeoutsecond": [0, 0, 1],
                "config": [json.dumps(c.experiment_config(entrypoint=["true"]))], "follow": [False], "periodsecond": [0, 1]}
        self.values = Values(CONTRACT, real)
        return self

    # ---- one request ----

    def make(self, rng):
        who = rng.choice(list(self.tokens))
        if rng.random() < 0.7:
            who = rng.choice(["admin", "owner", "other", "task"])
        wrongness = rng.choice([0, 0, 0, 0.05, 0.3])
        if rng.random() < 0.02:
            return "raw", rng.choice(["GET", "POST", "DELETE", "PUT"]), rng.choice(RAW), rng.choice([None, b"", b"{", b"[]", b"null"]), who
        row = rng.choice(self.routes)
        place = re.search(r"/(\w+?)s?/\{", row["path"])
        place = place.group(1) if place else None
        names, path = [], row["path"]
        for p in row.get("path_params", []):
            names.append(p["n"].split(".")[0])
            value = self.values.one(rng, p["t"], p["n"].split(".")[-1], place, wrongness, 0)
            path = re.sub(r"\{%s[^}]*\}" % re.escape(p["n"]), lambda _: urllib.parse.quote(str(value).replace("\ud7ff", ""), safe=""), path)
        path = re.sub(r"\{[^}]*\}", "1", path)
        message = self.values.message(rng, row["req"], wrongness, place=place, without=names if row.get("body") != "experiment" else ())
        body = None
        if row.get("body") == "*":
            body = message
        elif row.get("body"):
            body = message.pop(row["body"], None)
            if body is None and rng.random() < 0.8:
                body = self.values.one(rng, row.get("body_type", "string"), row["body"], place, wrongness, 0)
        if row.get("body") != "*":
            pairs = list(query_of(message))[:40]
            path += "?" + urllib.parse.urlencode(pairs, errors="replace") if pairs else ""
        data = None if body is None else json.dumps(body).encode()
        if data and rng.random() < wrongness / 3:  # and texts that are no JSON
            at = rng.randrange(len(data))
            data = rng.choice([data[:at], data[:at] + rng.randbytes(3) + data[at:], data + data, b"\xff" + data])
        return row["rpc"], row["method"], path, data, who

    def send(self, rpc, method, path, data, who):
        token, c = self.tokens[who], self.cluster
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection = http.client.HTTPConnection("127.0.0.1", c.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path[:60000], body=data, headers=headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, read_for_a_while(reply)
        except TimeoutError:
            return None, None, b""  # the request waits for something, or follows a log
        except http.client.IncompleteRead as e:
            return None, None, e.partial
        finally:
            connection.close()

    def judge(self, rpc, status, headers, body):
        if status is None:
            return
        self.statuses[status] += 1
        if status == 503 and not headers.get("Retry-After"):
            raise Finding("503 without Retry-After")
        if status >= 500 and status not in (501, 503):
            raise Finding(f"status {status}")
        row = CONTRACT.routes.get(rpc)
        if not row:
            return
        if status != 200:
            error = json.loads(body)["error"]
            if not {"code", "reason", "error"} <= set(error) and "grpcCode" not in error:
                raise Finding("an error without its members")
        elif row.get("stream"):
            for text in body.splitlines():
                if text and "result" in (line := json.loads(text)):
                    CONTRACT.check_line(rpc, line)
        else:
            CONTRACT.check_reply(rpc, json.loads(body))

    def step(self):
        rng = random.Random(f"{self.seed}:{self.number}")
        request = rpc, method, path, data, who = self.make(rng)
        self.log.write(json.dumps([self.number, rpc, method, path, repr(data), who]) + "\n")
        self.number += 1
        self.asked[rpc] += 1
        status, body = None, b""
        try:
            status, headers, body = self.send(*request)
            self.judge(find_rpc(method, path), status, headers, body)  # an empty id may lead to another route
        except (Finding, AssertionError, ValueError, KeyError, TypeError, OSError, http.client.HTTPException) as fault:
            self.log.flush()
            raise Finding(f"request {self.number - 1} of seed {self.seed}: {rpc} by {who}: {method} {path[:2000]}\n  body {data!r:.3000}\n"
                          f"  answer {status} {body[:1500]!r}\n  {type(fault).__name__}: {fault}") from fault
        return status

    # ---- all of them ----

    def look(self):
        """Whether the master is well. False: our own accounts were changed, and another cluster is needed."""
        c = self.cluster
        if c.master.poll() is not None:
            raise Finding(f"the master ended with {c.master.returncode} before request {self.number} of seed {self.seed}:\n{c.master_log()[-6000:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            if c.request("GET", "/health", token=None, timeout=30).status == 200:
                return all(self.log_in_again(who, name) for who, name in (("admin", "admin"), ("owner", "determined"), ("other", "fuzz-other")))
        raise Finding(f"the master does not answer after request {self.number} of seed {self.seed}")

    def log_in_again(self, who, name):
        """After a logout that was one of the requests. Of a user who was switched off nothing is expected."""
        if self.cluster.request("GET", "/api/v1/me", token=self.tokens[who], timeout=30).status != 200:
            reply = self.cluster.login(name, keep=False)
            if reply.status == 200:
                self.tokens[who] = reply.json["token"]
            elif who != "other":
                return False
        return True

    def end(self):
        if self.cluster:
            self.cluster.__exit__(None)  # ends both programs well, and looks for reports of sanitizers
        self.cluster = None

    def run(self, seconds):
        self.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self.step()
                if self.number % LOOK_EVERY == 0 and not self.look():
                    self.end()
                    self.start()
            self.look()
        except BaseException:
            with contextlib.suppress(AssertionError):
                self.end()
            raise
        self.end()
        return self


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--seconds", type=float, default=600)
    a.add_argument("--seed", type=int, default=int(time.time()))
    a.add_argument("--directory", help="keeps logs and requests there")
    args = a.parse_args()
    directory = args.directory or tempfile.mkdtemp(prefix="fuzz-api-")
    fuzz = Fuzz(directory, args.seed)
    said = "nothing found"
    try:
        fuzz.run(args.seconds)
    except (Finding, AssertionError) as finding:
        said = f"FOUND: {str(finding).splitlines()[0]}"
        print(finding, file=sys.stderr)
    missing = sorted(row["rpc"] for row in fuzz.routes if not fuzz.asked[row["rpc"]])
    line = (f"fuzz-api seed {args.seed}: {fuzz.number} requests to {len(fuzz.routes) - len(missing)} of {len(fuzz.routes)} served routes, "
            f"{fuzz.clusters} clusters, {dict(sorted(fuzz.statuses.items()))}: {said}")
    print(line)
    if said != "nothing found":
        print(f"requests and logs: {directory}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
