"""What the tests of checkpoints and of storage roots share: two ordinary users, and trials of theirs."""
import json
import pathlib
import uuid

from support.cluster import PASSWORD, client_hash, wait_for

ANN, BOB = "ann", "bob"
# A task that prints its token in a form that is not masked in its log, and then does not end.
STAYS = ["sh", "-c", 'printf "token=%s\\n" "$(printenv DET_SESSION_TOKEN | od -An -v -tx1 | tr -d " \\n")"; '
                     'echo "latest=$DET_LATEST_CHECKPOINT."; exec sleep 10000']


def with_users(c):
    """Makes ann and bob; returns their tokens."""
    tokens = []
    for name in (ANN, BOB):
        made = c.post("/api/v1/users", {"user": {"username": name, "active": True}, "password": client_hash(PASSWORD), "isHashed": True},
                      token=c.admin_token())
        assert made.status == 200, made
        tokens.append(c.login(name, PASSWORD, keep=False).json["token"])
    return tokens


def unmanaged_trial(c, token, **config):
    """Makes a trial that runs outside of the cluster, and returns (experiment, trial, task)."""
    config = c.experiment_config(**config)
    del config["entrypoint"]
    x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True}, token=token)
    assert x.status == 200, x
    x = x.json["experiment"]["id"]
    t = c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True}, token=token).json["trial"]
    return x, t["id"], t["taskId"]


def running_trial(c, token, **config):
    """Starts a trial on an agent, which runs until it is killed, and returns (experiment, trial, task, token of the task's session)."""
    c.token = token
    x = c.create(entrypoint=STAYS, preemption_timeout=1, **config)
    [trial] = wait_for("the trial", lambda: c.trial_ids(x))
    task = c.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    return x, trial, task, told(c, trial, "token")[-1]


def told(c, trial, word, n=1):
    """Returns what the trial's runs have printed after `word=`, once there are n such values."""
    def values():
        lines = [line for line in c.trial_log(trial).splitlines() if f"{word}=" in line]
        return lines if len(lines) >= n else None
    found = [line.partition(f"{word}=")[2].strip() for line in wait_for(f"{word} of trial {trial}", values)]
    return [bytes.fromhex(value).decode().strip() for value in found] if word == "token" else [value.rstrip(".") for value in found]


def body(task, name=None, step=1, **more):
    return {"uuid": name or str(uuid.uuid4()), "taskId": task, "state": "STATE_COMPLETED", "resources": {"metadata.json": "2", "w": "1"},
            "metadata": {"steps_completed": step}, **more}


def report(c, token, task, name=None, step=1, **more):
    return c.post("/api/v1/checkpoints", body(task, name, step, **more), token=token)


def files(place, name=None, content="w"):
    """Writes files as the library would store them, and returns the checkpoint's UUID."""
    name = name or str(uuid.uuid4())
    directory = pathlib.Path(place) / name
    directory.mkdir(parents=True)
    (directory / "metadata.json").write_text("{}")
    (directory / "w").write_text(content)
    return name


def seen(c, name):
    return c.get(f"/api/v1/checkpoints/{name}", token=c.admin_token()).json["checkpoint"]


def sentence(reply, status):
    assert reply.status == status, reply
    return reply.json["error"]["error"] if "error" in reply.json else reply.json["message"]
