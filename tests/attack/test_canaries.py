"""Puts a secret of its own into every place of a configuration that takes one, and searches all that the platform puts out for them:
replies, logs, metrics, support bundles, what a task sees, and files in the data directory (docs/security.md, Secrets)."""
import json
import tarfile
import uuid

import pytest
from support.cluster import CONTRACT, Cluster, client_hash, wait_for
from support.det import det
from support.launched import launch, launch_id

# The task writes all that it sees into a file: its environment, and the files that the platform has put beside it.
SCRIPT = """
import json, os, pathlib
seen = dict(os.environ)
for name, value in os.environ.items():
    if name.endswith("_FILE") and pathlib.Path(value).is_file():
        seen["file of " + name] = pathlib.Path(value).read_text(errors="replace")
told = pathlib.Path(os.environ["TOLD"])
told.with_suffix(".new").write_text(json.dumps(seen))
told.with_suffix(".new").rename(told)
print("the task has told")
"""


def canary(what):
    return f"canary-{what}-{uuid.uuid4().hex}"


class World:
    """Alice has put secrets everywhere, and so has the admin. Bob and the tasks look for them."""

    def __init__(self, c):
        self.c = c
        self.admin = c.admin_token()
        self.alice_password, self.bob_password = canary("Password-of-alice"), "Long-Enough-1"
        self.alice, self.bob = self.person("alice", self.alice_password), self.person("bob", self.bob_password)
        self.secret = {"password of alice": self.alice_password, "session of alice": self.alice, "session of the admin": self.admin,
                       "agents' token": c.agent_token, "key of webhooks": c.signing_key, "registry of the cluster": c.registry}
        made = c.post("/api/v1/tokens", {"userId": c.get("/api/v1/me", token=self.alice).json["user"]["id"]}, token=self.alice)
        self.secret["access token of alice"] = made.json["token"]
        for name in ("storage", "registry", "data", "workspace", "template", "policy", "command", "notebook"):
            self.secret[name] = canary(name)
        self.workspace = c.post("/api/v1/workspaces", {"name": "w", "checkpointStorageConfig": self.s3("workspace")}, token=self.alice).json["workspace"]["id"]
        policy = {"invariant_config": self.registry("policy")}
        reply = c.request("PUT", f"/api/v1/config-policies/workspaces/{self.workspace}/EXPERIMENT",
                          {"workloadType": "EXPERIMENT", "workspaceId": self.workspace, "configPolicies": json.dumps(policy)}, token=self.alice)
        assert reply.status == 200, reply
        assert c.post("/api/v1/templates/hers", {"name": "hers", "config": self.registry("template")}, token=self.alice).status == 200
        self.told = c.storage / "told"
        config = c.experiment_config(data={"secrets": {"pin": self.secret["data"]}}, entrypoint=["python3", "-c", SCRIPT],
                                     environment={**self.registry("registry")["environment"], "environment_variables": [f"TOLD={self.told}"]})
        self.x = self.create(config, True)
        self.hidden = self.create(c.experiment_config(checkpoint_storage=self.s3("storage")), False)
        self.tasks = {"command": launch_id(c, "command", token=self.alice, **self.registry("command")),
                      "notebook": launch_id(c, "notebook", token=self.alice, resources={"slots": 64}, **self.registry("notebook"))}
        assert launch(c, "command", token=self.alice, templateName="hers").status == 200
        wait_for("what the task sees", self.told.exists)
        c.token = self.alice
        c.wait_experiment(self.x)
        [self.trial] = c.trial_ids(self.x)
        self.task = c.get(f"/api/v1/trials/{self.trial}").json["trial"]["taskId"]
        # refusals and failures quote what was sent
        for body in ({"username": "alice", "password": self.alice_password}, {"username": self.alice_password, "password": "x"}):
            c.post("/api/v1/auth/login", body, token=None)
        c.get("/api/v1/me", token=self.alice + "x")
        c.post("/api/v1/experiments", {"config": json.dumps({**config, "nonsense": 1}), "activate": False}, token=self.alice)

    def s3(self, name):
        return {"type": "s3", "bucket": "b", "access_key": "AKIA", "secret_key": self.secret[name]}

    def registry(self, name):
        return {"environment": {"registry_auth": {"username": "u", "password": self.secret[name]}}}

    def person(self, name, password):
        made = self.c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(password), "isHashed": True}, token=self.admin)
        assert made.status == 200, made
        return self.c.login(name, password, keep=False).json["token"]

    def create(self, config, activate):
        reply = self.c.post("/api/v1/experiments", {"config": json.dumps(config), "activate": activate}, token=self.alice)
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def found(self, text, but=()):
        text = text if isinstance(text, str) else text.decode(errors="replace")
        return [name for name, secret in self.secret.items() if secret in text and name not in but]

    def paths(self):
        """Every served GET, for each object that the name of its first parameter may mean."""
        ids = {"experiment": [self.x, self.hidden], "trial": [self.trial], "run": [self.trial], "task": [self.task, *self.tasks.values()],
               "workspace": [self.workspace], "template": ["hers"], "command": [self.tasks["command"]], "notebook": [self.tasks["notebook"]],
               "allocation": [f"{self.task}.1"], "workload": ["EXPERIMENT", "NTSC"], "user": [1, 2, 3, 4]}
        for name, row in CONTRACT.served.items():
            if name in CONTRACT.routes and CONTRACT.routes[name]["method"] == "GET":
                path = CONTRACT.routes[name]["path"]
            elif name.startswith("GET /") and not name.startswith(("GET /agents", "GET /proxy")):
                path = name[4:]
            else:
                continue
            made = [""]
            before = ""
            for part in path.strip("/").split("/"):
                if not part.startswith(("{", ":")):
                    choices, before = [part], part
                else:
                    kind = "workload" if "orkload" in part else before.rstrip("s")
                    choices = ids.get(kind, [1])
                made = [f"{m}/{choice}" for m in made for choice in choices]
            yield from (m + "?timeoutSeconds=0" for m in made)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    registry, key, token = (canary(name) for name in ("cluster-registry", "signing-key", "agents"))
    config = {"webhooks": {"signing_key": key}, "task_container_defaults": {"registry_auth": {"username": "them", "password": registry}},
              "security": {"initial_user_password": "Test-Passw0rd", "agent_token": token}}
    with Cluster(tmp_path_factory.mktemp("canaries"), config=config) as c:
        c.registry, c.signing_key, c.agent_token = registry, key, token
        c.start_master()
        (c.dir / "agents.token").write_text(token)
        (c.dir / "agents.token").chmod(0o600)
        c.start_agent(slots=1, token_file=str(c.dir / "agents.token"))
        yield World(c)


def test_no_reply_to_another_user_has_a_secret(world):
    leaks, asked = {}, 0
    for path in world.paths():
        reply = world.c.get(path, token=world.bob)
        asked += reply.status == 200
        if found := world.found(reply.body):
            leaks[path] = found
    assert leaks == {} and asked > 60


def test_a_reply_to_the_owner_has_only_what_is_hers(world):
    """Alice's own configurations have her secrets, and those that the cluster, her template and her workspace have given them. Nothing
    shows passwords, sessions, tokens and keys of the cluster, to whomever."""
    hers = {"storage", "registry", "data", "template", "policy", "command", "notebook", "registry of the cluster"}
    leaks = {path: found for path in world.paths() if (found := world.found(world.c.get(path, token=world.alice).body, but=hers))}
    assert leaks == {}


def test_no_reply_to_an_admin_has_a_credential(world):
    hers = {"storage", "registry", "data", "template", "policy", "command", "notebook", "registry of the cluster"}
    leaks = {path: found for path in world.paths() if (found := world.found(world.c.get(path, token=world.admin).body, but=hers))}
    assert leaks == {}
    shown = world.c.get("/api/v1/master/config", token=world.admin)
    assert shown.status == 200 and world.found(shown.body) == [], "the master's own configuration has none at all"


def test_no_log_has_a_secret(world):
    c = world.c
    logs = {path.name: path.read_text(errors="replace") for path in c.dir.glob("*.log")}
    logs["task"] = c.get(f"/api/v1/trials/{world.trial}/logs", token=world.alice).body.decode()
    assert {"master.log", "agent0.log", "task"} <= set(logs) and "the task has told" in logs["task"]
    assert {name: found for name, text in logs.items() if (found := world.found(text))} == {}


def test_no_support_bundle_has_a_secret(world, tmp_path):
    """The owner makes a bundle to send it to others."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    det(world.c, "trial", "support-bundle", world.trial, "-o", bundle, DET_USER_TOKEN=world.alice, DET_USER="", DET_PASS="")
    [archive] = bundle.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
    assert any(name.endswith("api_experiment_call.json") for name in files)
    assert {name: found for name, text in files.items() if (found := world.found(text))} == {}


def test_a_task_sees_only_what_it_needs(world):
    """A task needs the secrets of its own `data`. Credentials of registries are for the agent."""
    seen = world.told.read_text()
    assert "DET_EXPERIMENT_CONFIG" in seen and world.secret["data"] in seen
    assert world.found(seen, but={"data"}) == []
    assert json.loads(json.loads(seen)["DET_EXPERIMENT_CONFIG"])["environment"]["registry_auth"] is None


def test_the_store_has_neither_passwords_nor_tokens(world):
    """The store has configurations, with the secrets in them, and only hashes of what lets somebody in."""
    credentials = ("password of alice", "session of alice", "session of the admin", "access token of alice", "agents' token", "key of webhooks")
    leaks = {}
    for path in (world.c.dir / "data").rglob("*"):
        if path.is_file() and path.name != "agent.token":
            found = [name for name in world.found(path.read_bytes()) if name in credentials]
            if found:
                leaks[path.name] = found
    assert leaks == {}
