"""Commands, notebooks, shells, TensorBoards and generic tasks, as a master for clients has them."""
import json
import re
import urllib.parse

from support.fake_master.messages import message, page
from support.fake_master.server import Refusal

KINDS = {"commands": ("command", "command.v1.Command", "LaunchCommandResponse"),
         "notebooks": ("notebook", "notebook.v1.Notebook", "LaunchNotebookResponse"),
         "shells": ("shell", "shell.v1.Shell", "LaunchShellResponse"),
         "tensorboards": ("tensorboard", "tensorboard.v1.Tensorboard", "LaunchTensorboardResponse")}
ID, SIBLING, OTHER = ("1a2b3c4d-0000-4000-8000-000000000001", "1a2b3c4d-0000-4000-8000-000000000002", "5e6f0000-0000-4000-8000-000000000003")
NEW = "9f8e7d6c-0000-4000-8000-000000000009"  # what is launched
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nsecret\n-----END OPENSSH PRIVATE KEY-----\n"


def launched(kind, tid, **more):
    given = dict(id=tid, description=f"{KINDS[kind][0].capitalize()} (quick-fox)", state="STATE_RUNNING", startTime="2026-11-21T07:12:01Z",
                 username="determined", userId=2, resourcePool="default", jobId=f"job-of-{tid}", workspaceId=1)
    if kind in ("notebooks", "tensorboards"):
        given["serviceAddress"] = f"/proxy/{tid}/" + ("?token=T" if kind == "notebooks" else "")
    if kind == "tensorboards":
        given.update(experimentIds=[7, 8], trialIds=[])
    if kind == "shells":
        given.update(privateKey=KEY, publicKey="ssh-ed25519 AAAA", agentUserGroup={"user": "ann"})
    given.update(more)
    return message(KINDS[kind][1], **given)


def allocation(tid=NEW, number=1, **more):
    return message("task.v1.Allocation", **{"taskId": tid, "allocationId": f"{tid}.{number}", "state": "STATE_RUNNING", **more})


class LaunchedTasks:
    """Mixed into the master for clients."""

    def prepare_launched(self):
        self.every_launched = {kind: [launched(kind, ID), launched(kind, SIBLING, startTime="2026-11-21T07:12:00.5Z", description="older"),
                                      launched(kind, OTHER, state="STATE_TERMINATED", exitStatus="allocation exited successfully",
                                               startTime="2026-11-20T07:12:00Z", workspaceId=9)] for kind in KINDS}
        self.looks = [{"allocations": [allocation(isReady=True)]}]  # fields of a task at each look at it; the last stays
        self.generic_tasks = {}  # id → fields of the task
        self.launch_more = {}    # further fields of the answer to a launch
        self.port_statuses = [200]  # what the proxy answers at each request; the last stays
        self.shell_port = None  # port of this machine that /proxy/ID/ leads to
        self.task_config = {"entrypoint": ["sleep", "1"], "resources": {"slots": 0}}

    def get_all_launched(self, match, query, body):
        of_user = [{key: "" if key == "privateKey" else value for key, value in t.items()} for t in self.every_launched[match[1]] if t["username"] in query.get("users", [t["username"]])]
        return {match[1]: of_user, "pagination": page(len(of_user))}

    def find_launched(self, kind, tid):
        for task in self.every_launched[kind]:
            if task["id"] == urllib.parse.unquote(tid):
                return task
        raise Refusal(404, f"{KINDS[kind][0]} '{tid}' not found")

    def get_launched(self, match, query, body):
        return {KINDS[match[1]][0]: self.find_launched(match[1], match[2]), "config": self.task_config}

    def change_launched(self, match, query, body):
        self.patches.append((match[1], match[2], match[3], body))
        return {KINDS[match[1]][0]: self.find_launched(match[1], match[2])}

    def launch(self, match, query, body):
        self.created.append(body)
        noun, _, reply = KINDS[match[1]]
        task = launched(match[1], NEW)
        if not body.get("preview"):
            self.every_launched[match[1]].append(task)
        return message(f"api.v1.{reply}", **{noun: task, "config": self.task_config, **self.launch_more})

    def get_task(self, match, query, body):
        fields = {"taskType": "TASK_TYPE_COMMAND", "startTime": "2026-11-21T07:12:01Z"}
        if match[1] in self.generic_tasks:
            fields.update(self.generic_tasks[match[1]], taskType="TASK_TYPE_GENERIC")
        else:
            fields.update(self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])
        return {"task": message("task.v1.Task", taskId=match[1], **fields)}

    def create_generic_task(self, match, query, body):
        self.created.append(body)
        return message("api.v1.CreateGenericTaskResponse", taskId=NEW, **self.launch_more)

    def get_generic_task_config(self, match, query, body):
        return {"config": json.dumps(self.task_config)}

    def change_generic_task(self, match, query, body):
        self.patches.append((match[1], match[2], body))
        return {}

    def proxied(self, match, query, body):
        status = self.port_statuses.pop(0) if len(self.port_statuses) > 1 else self.port_statuses[0]
        if status >= 300:
            raise Refusal(status, "connection refused")
        return {}

    _ONE = f"/api/v1/({'|'.join(KINDS)})"
    ROUTES = [
        ("GET", _ONE, get_all_launched), ("POST", _ONE, launch), ("GET", _ONE + r"/([^/]+)", get_launched),
        ("POST", _ONE + r"/([^/]+)/(kill|set_priority)", change_launched), ("GET", r"/api/v1/tasks/([^/]+)", get_task),
        ("POST", r"/api/v1/generic-tasks", create_generic_task), ("GET", r"/api/v1/tasks/([^/]+)/config", get_generic_task_config),
        ("POST", r"/api/v1/tasks/([^/]+)/(kill|pause|unpause)", change_generic_task), ("GET", r"/proxy/(.*)", proxied),
    ]


def paths(master, pattern):
    return [path for _, path, _, _ in master.requests if re.fullmatch(pattern, path)]
