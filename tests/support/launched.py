"""Tasks that users launch (commands, notebooks, shells, TensorBoards), for tests."""
import base64

from support.cluster import wait_for

KINDS = ("command", "notebook", "shell", "tensorboard")


def file_of(path, content):
    """A file of a request's context."""
    return {"path": path, "type": ord("0"), "content": base64.b64encode(content.encode()).decode(), "mtime": 0, "mode": 0o644,
            "uid": 0, "gid": 0}


def launch(c, kind="command", files=(), expect=200, token="", **config):
    """Launches a task without slots, unless the configuration asks for some. Returns the reply."""
    more = {key: config.pop(key) for key in ("workspaceId", "templateName", "preview", "data", "experimentIds", "trialIds", "filters")
            if key in config}
    config.setdefault("resources", {"slots": 0})
    if kind == "command":
        config.setdefault("entrypoint", ["true"])
    reply = c.post(f"/api/v1/{kind}s", {"config": config, "files": list(files), **more}, token=token)
    assert reply.status == expect, reply
    return reply


def launch_id(c, kind="command", **options):
    return launch(c, kind, **options).json[kind]["id"]


def shown(c, task_id, kind="command", token=""):
    reply = c.get(f"/api/v1/{kind}s/{task_id}", token=token)
    assert reply.status == 200, reply
    return reply.json[kind]


def wait_state(c, task_id, state, kind="command"):
    return wait_for(f"{kind} {task_id} in {state}",
                    lambda: (x := shown(c, task_id, kind))["state"] == f"STATE_{state}" and x)


def log_of(c, task_id):
    """The lines of the task's output, without those of the master."""
    lines = [line["result"] for line in c.get(f"/api/v1/tasks/{task_id}/logs").lines]
    return [line["log"].rstrip("\n") for line in lines if line["source"] == "task"]


def master_log_of(c, task_id):
    lines = [line["result"] for line in c.get(f"/api/v1/tasks/{task_id}/logs").lines]
    return [line["log"].rstrip("\n") for line in lines if line["source"] == "master"]
