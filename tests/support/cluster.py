"""A real master (and agents) in a temporary directory, for tests. It is started on a free port and stopped by its process id, and its logs
are kept.

    with Cluster(tmp_path) as c:
        c.start_agent(slots=2)
        c.login("determined")
        c.get("/api/v1/me")

The programs are taken from $DET_BUILD (default: build/ of the tree).
"""
import contextlib
import functools
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from contract_check import Contract  # noqa: E402

from support import postgres  # noqa: E402
from support.first_store import copy_first_store  # noqa: E402
from support.ports import free_port  # noqa: E402
from support.waiting import TIMEOUT_S, wait_for  # noqa: E402

CONTRACT = Contract()
BUILD = pathlib.Path(os.environ.get("DET_BUILD", ROOT / "build"))
# The memory of a program with a sanitizer says nothing about the program's own.
SANITIZED = any(name in (BUILD / "determined-master").read_bytes() for name in (b"__asan_init", b"__tsan_init"))
# The thread of this sanitizer keeps a supervisor that is not root from making a user namespace, which must have one thread only.
THREAD_SANITIZED = b"__tsan_init" in (BUILD / "determined-task").read_bytes()
# AddressSanitizer keeps freed memory, by default 256 MB of it, so that a use after it was freed is noticed. Tests of memory would see that.
SANITIZER_SETTINGS = {"ASAN_OPTIONS": "quarantine_size_mb=32"} if SANITIZED else {}
PASSWORD = "Test-Passw0rd"
FIRST_SECURITY = {"initial_user_password": PASSWORD}
STOP_PATIENCE_S = 60  # far more than any program should need, since it is no fault of the program if the machine is busy
ENDS_WELL = (0, -signal.SIGKILL)  # a test may have killed the program
SANITIZER_REPORT = re.compile(r"^.*(ERROR: AddressSanitizer|ERROR: LeakSanitizer|WARNING: ThreadSanitizer|runtime error: )", re.M)


def client_hash(password):
    return hashlib.sha512(("GubPEmmotfiK9TMD6Zdw" + password).encode()).hexdigest() if password else ""


def find_rpc(method, path):
    """Returns the row of the contract for a request: the first that matches, in the order of the contract, as in the master."""
    parts = urllib.parse.unquote(path.split("?")[0]).strip("/").split("/")
    for rpc, row in CONTRACT.routes.items():
        pattern = row["path"].strip("/").split("/")
        if row["method"] == method and len(pattern) == len(parts) and all(
                p.startswith("{") or p == q for p, q in zip(pattern, parts)):
            return rpc
    return None


def check_contract(method, path, reply):
    """Compares every successful reply of a test with the contract."""
    rpc = find_rpc(method, path) if path.startswith("/api/v1/") and reply.status == 200 else None
    if rpc and CONTRACT.routes[rpc].get("stream"):
        for line in reply.lines:
            if "result" in line:
                CONTRACT.check_line(rpc, line)
    elif rpc:
        CONTRACT.check_reply(rpc, reply.json)


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines() if line]

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


def error_of(reply, status=None):
    """Returns the sentence of a refusal, as docs/spec/wire.md has it for a route, for a stream and for a raw route. status None: any status of
    400 to 499 is expected."""
    assert reply.status == status if status else 400 <= reply.status < 500, reply
    error = reply.json.get("error", reply.json)
    assert set(error) in ({"code", "reason", "error"}, {"grpcCode", "httpCode", "httpStatus", "message", "details"}, {"message"}), reply
    return error.get("error") or error["message"]


class Cluster:
    """With DET_TEST_DB=postgres the master has a database of its own, on a PostgreSQL server that all clusters share."""

    def __init__(self, directory, config=None, password=PASSWORD, env=None, programs=BUILD):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.programs = pathlib.Path(programs)
        self.port = free_port()
        self.password = password
        self.token = self._admin_token = None
        self.env = {**SANITIZER_SETTINGS, **os.environ, **(env or {})}
        self.master = None
        self.agents = {}
        self.storage = self.dir / "checkpoints"
        self.storage.mkdir(exist_ok=True)
        self.storage.chmod(0o777)
        self.tls = None  # an ssl.SSLContext, if the master speaks TLS
        self.config = {
            # Tests look at checkpoints of experiments that are over, so these are kept unless a test says otherwise.
            "checkpoint_storage": {"type": "shared_fs", "host_path": str(self.storage), "save_trial_latest": 1000},
            "security": {"initial_user_password": password},
            **({"db": postgres.shared().new_database()} if os.environ.get("DET_TEST_DB") == "postgres" else {}),
            **(config or {}),
        }

    # ---- programs ----

    @staticmethod
    def wire_password():
        """What a client sends for the password of the first accounts."""
        return client_hash(PASSWORD)

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def start_master(self, wait=True, expect_accounts=True, prefix=(), bind_host="127.0.0.1", use_template=True):
        """Starts the master. prefix: words of a program that executes the master, such as prlimit. use_template: it may begin with
        a copy of the store of a master that was started before, unless something about its first start is special."""
        (self.dir / "master.yaml").write_text(json.dumps(self.config))
        expect_accounts = wait and expect_accounts and self.password and not (self.dir / "data").exists()
        if use_template and expect_accounts and not prefix and self._begins_as_others_do():
            expect_accounts = not copy_first_store(Cluster, self.dir / "data", self.config.get("db", {"type": "sqlite"}))
        log = open(self.dir / "master.log", "ab")
        self.master = subprocess.Popen(
            [*prefix, self.programs / "determined-master", "--config-file", self.dir / "master.yaml", "--data-dir", self.dir / "data",
             "--port", str(self.port), "--bind-host", bind_host],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env)
        log.close()
        if wait:
            wait_for("the master's /health", self._healthy)
        if expect_accounts:
            wait_for("the first accounts", self._accounts_exist)
        return self

    def _begins_as_others_do(self):
        db = self.config.get("db", {"type": "sqlite"})
        shared = db == {"type": "sqlite"} or (db.get("type") == "postgres" and db.get("host") == str(postgres.shared().dir))
        return shared and (self.programs == BUILD and self.password == PASSWORD and self.config["security"] == FIRST_SECURITY
                           and "LD_PRELOAD" not in self.env)

    def _accounts_exist(self):
        """Whether the initial accounts have their password. A login costs a tenth of a second of processor time, so one is tried only if
        the log does not tell: the database may have been another master's before."""
        if " accounts.created " in self.master_log():
            return True
        return self.config.get("db", {}).get("type") == "postgres" and self.login("admin", keep=False).status == 200

    def trust_any(self):
        """The master of this cluster speaks TLS. The requests of this class check no certificate, since they test something else."""
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE

    def _connect(self, timeout):
        if self.tls:
            return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def _healthy(self):
        if self.master.poll() is not None:
            raise AssertionError(f"the master ended with {self.master.returncode}:\n{self.master_log()[-4000:]}")
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/health", token=None).status == 200
        return False

    def master_log(self):
        return (self.dir / "master.log").read_text(errors="replace")

    def stop_master(self, signo=signal.SIGTERM):
        status = self._stop(self.master, signo, "the master") if self.master else None
        self.master = None
        return status

    def start_agent(self, name="agent0", slots=1, wait=True, prefix=(), **options):
        """Starts an agent. prefix: words of a program that executes the agent, such as setpriv."""
        config = {"master_host": "127.0.0.1", "master_port": self.port, "agent_id": name, "artificial_slots": slots,
                  "container_runtime": "process", "token_file": str(self.dir / "data/agent.token"),
                  "data_dir": str(self.dir / name), "allow_root_tasks": True, **options}
        path = self.dir / f"{name}.yaml"
        path.write_text(json.dumps(config))
        log = open(self.dir / f"{name}.log", "ab")
        self.agents[name] = subprocess.Popen([*prefix, self.programs / "determined-agent", "run", "--config-file", path],
                                             stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env)
        log.close()
        if wait:
            wait_for(f"agent {name}", lambda: self.agent_is_up(name))
        return self.agents[name]

    def agent_is_up(self, name):
        if self.agents[name].poll() is not None:
            text = (self.dir / f"{name}.log").read_text(errors="replace")
            raise AssertionError(f"agent {name} ended with {self.agents[name].returncode}:\n{text[-4000:]}")
        if not self.token:
            self.login("admin")
        return any(a["id"] == name and a["registeredTime"] for a in self.get("/api/v1/agents").json["agents"])

    def stop_agent(self, name="agent0", signo=signal.SIGTERM):
        return self._stop(self.agents.pop(name), signo, f"agent {name}")

    def _stop(self, process, signo, name):
        """Ends a program and returns its exit status. A program that is asked to end has to do so, with a good status."""
        if process.poll() is None:
            process.send_signal(signo)
            try:
                process.wait(STOP_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise AssertionError(f"{name} went on for {STOP_PATIENCE_S} s after signal {signo}") from None
        assert process.returncode in ENDS_WELL, f"{name} ended with {process.returncode}"
        return process.returncode

    def supervisors(self):
        """Returns the process ids of the task supervisors, and of other processes, that work below this cluster's directory."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(self.dir).encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
        known = {p.pid for p in [self.master, *self.agents.values()] if p}
        return [pid for pid in found if pid not in known]

    def __enter__(self):
        return self

    def __exit__(self, kind=None, *exc):
        """Asks all programs to end, the master first, while its agents are connected. The test fails if a program does not end well, or
        if its log holds a sanitizer's report."""
        faults = []
        for stop in [self.stop_master, *(functools.partial(self.stop_agent, name) for name in self.agents)]:
            try:
                stop()
            except AssertionError as fault:
                faults.append(str(fault))
        for pid in self.supervisors():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        faults += self.sanitizer_reports()
        if faults and kind is None:
            raise AssertionError("\n".join(faults) + f"\nsee the logs in {self.dir}")

    def sanitizer_reports(self):
        """Returns what AddressSanitizer, LeakSanitizer, UBSan and ThreadSanitizer have written to the programs' logs."""
        found = []
        for path in sorted(self.dir.rglob("*.log")):
            if path.is_symlink():  # a task may have made stdout.log a link to /dev/stdout, which is the stdout of the process that opens it
                continue
            with contextlib.suppress(OSError):
                text = path.read_text(errors="replace")
                match = SANITIZER_REPORT.search(text)
                if match:
                    found.append(f"{path}:\n{text[match.start():match.start() + 6000]}")
        return found

    # ---- requests ----

    def request(self, method, path, body=None, token="", headers=None, raw=None, timeout=TIMEOUT_S):
        """Sends a request. body: a value, sent as JSON; raw: bytes, sent as they are. token None: no credentials; "": the token of
        login()."""
        connection = self._connect(timeout)
        sent = dict(headers or {})
        token = self.token if token == "" else token
        if token:
            sent.setdefault("Authorization", f"Bearer {token}")
        data = raw if raw is not None else (json.dumps(body).encode() if body is not None else None)
        try:
            connection.request(method, path, body=data, headers=sent)
            reply = connection.getresponse()
            answer = Reply(reply.status, reply.headers, reply.read())
        finally:
            connection.close()
        check_contract(method, path, answer)
        return answer

    def get(self, path, **k):
        return self.request("GET", path, **k)

    def post(self, path, body=None, **k):
        return self.request("POST", path, body, **k)

    def patch(self, path, body=None, **k):
        return self.request("PATCH", path, body, **k)

    def login(self, user="determined", password=None, keep=True):
        password = self.password if password is None else password
        reply = self.request("POST", "/api/v1/auth/login",
                             {"username": user, "password": client_hash(password), "isHashed": True}, token=None)
        if keep and reply.status == 200:
            self.token = reply.json["token"]
        return reply

    # ---- experiments ----

    def admin_token(self):
        """Returns the token of an admin's login, which does not replace the token kept in this object. It is made once, and again when
        it is not valid any more."""
        if not self._admin_token or self.get("/api/v1/me", token=self._admin_token).status != 200:
            self._admin_token = self.login("admin", keep=False).json["token"]
        return self._admin_token

    def report_checkpoint(self, body, **k):
        """Reports a checkpoint as an admin instead of the trial's task: nobody else may report checkpoints of trials that run on the
        cluster."""
        return self.post("/api/v1/checkpoints", body, token=self.admin_token(), **k)

    def experiment_config(self, **changes):
        config = {"name": "test", "entrypoint": ["python3", "-c", "print('hello')"],
                  "searcher": {"name": "single", "metric": "loss"}, "max_restarts": 0,
                  "resources": {"slots_per_trial": 1}}
        config.update(changes)
        return config

    def create(self, files=None, activate=True, config=None, **changes):
        import base64
        entries = [{"path": name, "type": 48, "content": base64.b64encode(text.encode()).decode(), "mtime": "0", "mode": 0o644,
                    "uid": 0, "gid": 0} for name, text in (files or {}).items()]
        reply = self.post("/api/v1/experiments", {
            "config": json.dumps(config or self.experiment_config(**changes)), "modelDefinition": entries, "activate": activate})
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def experiment(self, experiment_id):
        reply = self.get(f"/api/v1/experiments/{experiment_id}")
        assert reply.status == 200, reply
        return reply.json["experiment"]

    def wait_experiment(self, experiment_id, timeout_s=TIMEOUT_S):
        final = {"STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR"}
        return wait_for(f"the end of experiment {experiment_id}",
                        lambda: (lambda x: x if x["state"] in final else None)(self.experiment(experiment_id)), timeout_s)

    def trial_ids(self, experiment_id):
        return [t["id"] for t in self.get(f"/api/v1/experiments/{experiment_id}/trials").json["trials"]]

    def trial_log(self, trial_id):
        return "".join(line["result"]["log"] for line in self.get(f"/api/v1/trials/{trial_id}/logs").lines)

    def metric(self, name):
        """Returns a number of GET /metrics."""
        text = self.get("/metrics").body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        assert found, f"{name} is not in /metrics"
        return float(found.group(1))
