"""Notebooks, TensorBoards and shells of a test's cluster: launched over the API, reached through the master's proxy."""
import os
import pathlib
import sys

from support.cluster import BUILD, wait_for
from support.jupyter import Jupyter

FINAL = "STATE_TERMINATED"


def environment(python=sys.executable):
    """The environment of a cluster whose agents find that Python first, and `det`."""
    return {"PATH": f"{os.path.dirname(python)}:{BUILD}:{os.environ['PATH']}"}


class Task:
    """A notebook, shell or TensorBoard. plural: how its routes call it."""

    def __init__(self, cluster, plural, body):
        self.cluster, self.plural, self.singular = cluster, plural, plural[:-1]
        reply = cluster.post(f"/api/v1/{plural}", body)
        assert reply.status == 200, reply
        self.id = reply.json[self.singular]["id"]

    def get(self):
        return self.cluster.get(f"/api/v1/{self.plural}/{self.id}").json[self.singular]

    def log(self):
        return "".join(line["result"]["log"] for line in self.cluster.get(f"/api/v1/tasks/{self.id}/logs").lines)

    def is_ready(self):
        allocations = self.cluster.get(f"/api/v1/tasks/{self.id}").json["task"]["allocations"]
        return any(a.get("isReady") for a in allocations)

    def wait_ready(self):
        def ready_or_over():
            return self.is_ready() or self.get()["state"] == FINAL

        wait_for(f"{self.singular} {self.id} to be ready", ready_or_over)
        assert self.get()["state"] != FINAL, self.log()
        return self

    def wait_end(self):
        wait_for(f"the end of {self.singular} {self.id}", lambda: self.get()["state"] == FINAL)
        return self.get()

    def kill(self):
        assert self.cluster.post(f"/api/v1/{self.plural}/{self.id}/kill", {}).status == 200
        return self.wait_end()

    @property
    def url(self):
        return f"{self.cluster.url}/proxy/{self.id}/"


class Notebook(Task):
    def __init__(self, cluster, **config):
        super().__init__(cluster, "notebooks", {"config": {"resources": {"slots": 0}, **config}})

    def jupyter(self):
        """A client of its JupyterLab, with the token that the platform tells the owner of the notebook."""
        address, _, token = self.get()["serviceAddress"].partition("?token=")
        assert address == f"/proxy/{self.id}/" and token
        return Jupyter(self.url, token)


def allow_reading(path):
    """A task's account is not that of the tests: it must be able to get to a directory of theirs."""
    for one in [pathlib.Path(path), *pathlib.Path(path).parents]:
        if one.stat().st_uid == os.geteuid() and one != pathlib.Path("/tmp"):
            one.chmod(one.stat().st_mode | 0o055)
