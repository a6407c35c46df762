"""Tests which credentials of other users' configurations a user with an ordinary account can find (docs/security.md, Secrets)."""
import json
import os
import re
import subprocess
import uuid

import pytest
from support import object_stores
from support.cluster import CONTRACT, PASSWORD, ROOT, Cluster, client_hash, error_of, wait_for

ACCESS, SECRET, WORD, TOKEN = "AKIASECRET00", "storage-secret-1", "registry-secret-2", "data-secret-3"
SECRETS = (ACCESS, SECRET, WORD, TOKEN)
S3 = {"type": "s3", "bucket": "b", "access_key": ACCESS, "secret_key": SECRET}
PARTS = {"checkpoint_storage": S3, "data": {"url": "here", "secrets": {"token": TOKEN, "more": [TOKEN, {"pin": 12345678}]}},
         "environment": {"registry_auth": {"username": "ann", "password": WORD}}}
MASK = "********"
# Each entry writes a whole submitted configuration, with a secret in a form that YAML allows.
SPELLINGS = {
    "json": lambda whole: json.dumps(whole),
    "with blanks": lambda whole: json.dumps(whole).replace('"access_key":', '"access_key"  :\t'),
    "quoted": lambda whole: json.dumps(whole).replace('"access_key"', "'access_key'"),
    "escaped": lambda whole: json.dumps(whole).replace('"access_key"', r'"acc\x65ss_key"').replace('"secret_key"', r'"secr\u0065t_key"'),
    "by an explicit key": lambda whole: json.dumps(whole).replace('"access_key"', '? "access_key" '),
    "by an alias": lambda whole: json.dumps(whole).replace('"access_key": "' + ACCESS, '"access_key": &k "' + ACCESS),
    "that begins with null": lambda whole: json.dumps({**whole, "checkpoint_storage": None}).replace(
        '"checkpoint_storage": null', f'"checkpoint_storage": {{type: s3, bucket: b, access_key: null-{ACCESS}, secret_key: {SECRET}}}'),
}


def found(reply):
    text = reply.body.decode(errors="replace")
    return [word for word in (*SECRETS, "12345678") if word in text]


class World:
    """A cluster in which Alice's experiment, its checkpoint and her template have secrets, and Bob looks for them."""

    def __init__(self, c):
        self.c = c
        self.admin = c.admin_token()
        self.alice, self.bob = self.person("alice"), self.person("bob")
        self.config = c.experiment_config(**PARTS)
        self.x = self.create(self.alice, json.dumps(self.config))
        c.token = self.alice
        [self.trial] = c.trial_ids(self.x)
        self.task = c.get(f"/api/v1/trials/{self.trial}").json["trial"]["taskId"]
        self.checkpoint = str(uuid.uuid4())
        assert c.report_checkpoint({"uuid": self.checkpoint, "taskId": self.task, "state": "STATE_COMPLETED",
                                    "resources": {"metadata.json": "2"}, "metadata": {"steps_completed": 1}}).status == 200
        self.template = "hers"
        made = c.post("/api/v1/templates/hers", {"name": self.template, "config": PARTS}, token=self.alice)
        assert made.status == 200, made

    def person(self, name):
        made = self.c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(PASSWORD),
                                             "isHashed": True}, token=self.admin)
        assert made.status == 200, made
        return self.c.login(name, PASSWORD, keep=False).json["token"]

    def create(self, token, text, **more):
        reply = self.c.post("/api/v1/experiments", {"config": text, "activate": False, **more}, token=token)
        assert reply.status == 200, reply
        return reply.json["experiment"]["id"]

    def path_of(self, pattern):
        """Returns the path of a pattern, with the ids of this world's objects as its parameters."""
        known = {"experiments": self.x, "trials": self.trial, "runs": self.trial, "checkpoints": self.checkpoint, "tasks": self.task,
                 "templates": self.template, "allocations": f"{self.task}.1"}
        at = lambda m: f"/{m.group(1)}/{known.get(m.group(1), 1)}"  # noqa: E731
        path = re.sub(r"/([a-z-]+)/(?:\{[^}]*\}|:[a-z]+)", at, pattern)
        return re.sub(r"\{[^}]*\}|:[a-z]+", "1", path)

    def looks(self):
        """Returns (name, method, path, body) of each served route that only shows something."""
        for name, row in CONTRACT.served.items():
            if name in CONTRACT.routes and CONTRACT.routes[name]["method"] == "GET":
                yield name, "GET", self.path_of(CONTRACT.routes[name]["path"]) + "?timeoutSeconds=0", None
            elif name.startswith("GET ") and "/agents" not in name and "/proxy" not in name:
                yield name, "GET", self.path_of(name[4:]), None
        yield "SearchExperiments", "POST", "/api/v1/experiments-search", {}
        yield "SearchRuns", "POST", "/api/v1/runs", {}
        yield "GetJobsV2", "GET", "/api/v1/jobs-v2?resourcePool=default", None


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("secrets")) as c:
        c.start_master()
        yield World(c)


def test_another_users_secrets_in_any_reply(world):
    """Tests every served route that shows something. The owner and an admin find the secrets in every place that shows a configuration."""
    shown = {"alice": set(), "admin": set()}
    for name, method, path, body in world.looks():
        reply = world.c.request(method, path, body, token=world.bob)
        assert not found(reply), (name, path, found(reply))
        for who in shown:
            if found(world.c.request(method, path, body, token=getattr(world, who))):
                shown[who].add(name)
    assert shown["alice"] == shown["admin"] == {
        "GetExperiment", "GetExperiments", "SearchExperiments", "GetExperimentCheckpoints", "GetTrialCheckpoints", "GetCheckpoint",
        "GetTemplate", "GetTemplates"}


def test_what_others_see_instead(world):
    get = lambda path: world.c.get(path, token=world.bob).json  # noqa: E731
    reply = get(f"/api/v1/experiments/{world.x}")
    assert reply["config"] == reply["experiment"]["config"]
    assert {**S3, "access_key": MASK, "secret_key": MASK}.items() <= reply["config"]["checkpoint_storage"].items()
    assert reply["config"]["data"] == {"secrets": {"token": MASK, "more": [MASK, {"pin": MASK}]}, "url": "here"}
    assert reply["config"]["environment"]["registry_auth"] == {"username": "ann", "password": MASK}
    assert MASK in reply["experiment"]["originalConfig"] and "url: here" in reply["experiment"]["originalConfig"]
    assert get("/api/v1/templates/hers")["template"]["config"]["checkpoint_storage"] == {**S3, "access_key": MASK, "secret_key": MASK}
    mine = world.c.get(f"/api/v1/experiments/{world.x}", token=world.alice).json
    assert mine["experiment"]["originalConfig"] == json.dumps(world.config), "untouched for who has written it"
    assert mine["config"]["data"] == {"secrets": PARTS["data"]["secrets"], "url": "here"}


def test_clients_that_download_another_users_checkpoint_take_credentials_of_their_own(world):
    """The secrets are null and not stars. With stars as credentials a store would refuse the client, which then would not try a download
    through the master."""
    for path in (f"/api/v1/checkpoints/{world.checkpoint}", f"/api/v1/experiments/{world.x}/checkpoints"):
        reply = world.c.get(path, token=world.bob).json
        storage = (reply.get("checkpoint") or reply["checkpoints"][0])["training"]["experimentConfig"]["checkpoint_storage"]
        assert {**S3, "access_key": None, "secret_key": None}.items() <= storage.items()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_that_is_spelled_otherwise(world, spelling):
    text = SPELLINGS[spelling](world.config)
    x = world.create(world.alice, text)
    config = world.c.get(f"/api/v1/experiments/{x}", token=world.alice).json["config"]["checkpoint_storage"]
    assert ACCESS in config["access_key"] and config["secret_key"] == SECRET, "it is the same configuration"
    reply = world.c.get(f"/api/v1/experiments/{x}", token=world.bob)
    assert not found(reply), reply.json["experiment"]["originalConfig"]


def test_a_template_whose_secret_is_spelled_otherwise(world):
    raw = json.dumps({"name": "odd", "config": PARTS}).replace('"access_key"', r'"acc\u0065ss_key"').encode()
    assert world.c.request("POST", "/api/v1/templates/odd", raw=raw, token=world.alice).status == 200
    assert found(world.c.get("/api/v1/templates/odd", token=world.alice))
    assert not found(world.c.get("/api/v1/templates/odd", token=world.bob))
    assert world.c.request("DELETE", "/api/v1/templates/odd", token=world.alice).status == 200


def test_another_users_experiment_by_its_external_id(world):
    config = {k: v for k, v in world.config.items() if k != "entrypoint"}
    body = {"config": json.dumps(config), "unmanaged": True}
    path = "/api/v1/experiments/by-external-id/hers"
    assert found(world.c.request("PUT", path, body, token=world.alice))
    reply = world.c.request("PUT", path, {**body, "config": json.dumps({"searcher": config["searcher"], "name": "x"})}, token=world.bob)
    assert reply.status == 200 and not found(reply), reply


@pytest.mark.parametrize("part", ["checkpoint_storage", "environment"])
def test_stars_that_are_sent_back(world, part):
    """A user may copy another user's configuration and send it. The stars in it would then be stored as the secret."""
    shown = world.c.get(f"/api/v1/experiments/{world.x}", token=world.bob).json["config"]
    config = world.c.experiment_config(**{part: shown[part]})
    words = error_of(world.c.post("/api/v1/experiments", {"config": json.dumps(config)}, token=world.bob), 400)
    assert "is ********, which stands for a secret that is not shown" in words and part in words
    shown[part].pop("access_key", None)  # without this key only the mistake about the stars is left to report
    assert "which stands for a secret" in error_of(world.c.post("/api/v1/templates/stars", {"name": "stars", "config": {part: shown[part]}},
                                                                token=world.bob), 400)


STAYS = ["python3", "-c", "import os, pathlib, time; p = pathlib.Path(os.environ['TOLD']); "
         "p.with_suffix('.new').write_text(os.environ['DET_SESSION_TOKEN'] + ' ' + os.environ['DET_USER_TOKEN']); "
         "p.with_suffix('.new').rename(p); time.sleep(3600)"]


def test_tasks_see_the_secrets_of_their_owner_and_nobody_elses(world):
    """A task's own session is enough for its requests. The task of an admin has no rights of an admin."""
    c = world.c
    c.start_agent(slots=3)
    experiments = []
    try:
        for name, token, sees in (("alice", world.alice, True), ("bob", world.bob, False), ("admin", world.admin, False)):
            told = c.storage / f"tokens-of-{name}"
            config = c.experiment_config(entrypoint=STAYS, environment={"environment_variables": [f"TOLD={told}"]}, preemption_timeout=1)
            experiments.append(world.create(token, json.dumps(config), activate=True))
            wait_for(f"the task of {name}", told.exists)
            for credential in told.read_text().split():
                for path in (f"/api/v1/experiments/{world.x}", f"/api/v1/checkpoints/{world.checkpoint}", "/api/v1/templates/hers"):
                    reply = c.get(path, token=credential)
                    assert reply.status == 200 and bool(found(reply)) is sees, (name, path)
    finally:
        for x in experiments:
            c.post(f"/api/v1/experiments/{x}/kill", token=world.admin)
            c.token = world.admin
            c.wait_experiment(x)
        c.stop_agent()


def test_where_everybody_changes_everything_everybody_sees_them(new_cluster):
    c = new_cluster(config={"security": {"initial_user_password": PASSWORD, "sharing": "open"}})
    c.start_master()
    world = World(c)
    for path in (f"/api/v1/experiments/{world.x}", f"/api/v1/checkpoints/{world.checkpoint}", "/api/v1/templates/hers"):
        assert found(c.get(path, token=world.bob)), path


DOWNLOAD = """
import sys
from determined.experimental import client
client.login(sys.argv[1], "bob", sys.argv[2])
client.get_checkpoint(sys.argv[3]).download(sys.argv[4])
"""


@pytest.mark.skipif(object_stores.missing("s3") is not None, reason="moto is missing")
@pytest.mark.parametrize("library", ["released", "ours"])
def test_another_users_checkpoint_is_still_downloaded_by_whoever_may_read_it(new_cluster, tmp_path, library):
    """A client without credentials downloads a checkpoint from the cluster's own store through the master."""
    python = ROOT / (".venv-compat/bin/python" if library == "released" else ".venv/bin/python")
    if not python.exists():
        pytest.skip(f"{python} is not installed")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    environment.update(AWS_DEFAULT_REGION="us-east-1", AWS_EC2_METADATA_DISABLED="true", HOME=str(tmp_path))
    with object_stores.s3(tmp_path) as store:
        own = {**store.config, "access_key": ACCESS, "secret_key": SECRET, "save_trial_latest": 9}
        c = new_cluster(config={"checkpoint_storage": own}, env={**environment, "PATH": f"{ROOT}/.venv/bin:{os.environ['PATH']}"})
        c.start_master()
        c.login("admin")
        c.post("/api/v1/users", {"user": {"username": "bob", "active": True}, "password": client_hash(PASSWORD), "isHashed": True})
        [trial] = c.trial_ids(x := c.create(activate=False))
        assert found(c.get(f"/api/v1/experiments/{x}"))
        name = str(uuid.uuid4())
        for path in ("metadata.json", "weights"):
            store.client.put_object(Bucket=own["bucket"], Key=f"{own.get('prefix', '')}/{name}/{path}".lstrip("/"), Body=b"{}")
        task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
        assert c.report_checkpoint({"uuid": name, "taskId": task, "state": "STATE_COMPLETED",
                                    "resources": {"metadata.json": "2", "weights": "2"}, "metadata": {"steps_completed": 1}}).status == 200
        more = {"PYTHONPATH": str(ROOT / "python")} if library == "ours" else {}
        done = subprocess.run([python, "-c", DOWNLOAD, c.url, PASSWORD, name, tmp_path / "out"], env={**environment, **more},
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "out/weights").read_bytes() == b"{}"
        assert SECRET not in done.stdout + done.stderr
