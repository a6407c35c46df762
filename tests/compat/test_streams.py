"""Streaming updates with the released library (determined.common.streams)."""
import subprocess

from released import PYTHON

PROGRAM = """
import sys
from determined.common import streams
from determined.common.api import authentication
from determined.common.streams import wire
from determined.common.streams._client import ModelSpec, ModelVersionSpec

url, user, password = sys.argv[1:]
session = authentication.login(url, user, password)

def synced(stream):
    assert next(stream) == streams.Sync("mine", False)
    found = []
    while not isinstance(event := next(stream), streams.Sync):
        found.append(event)
    return found

with streams.Stream(streams.LomondStreamWebSocket(session)) as stream:
    stream.subscribe(sync_id="mine", projects=streams.ProjectSpec(workspace_id=1), models=ModelSpec(workspace_id=1),
                     model_versions=ModelVersionSpec(model_id=1))
    found = synced(stream)
    assert any(isinstance(p, wire.ProjectMsg) and p.name == "Uncategorized" for p in found), found
    made = session.post("/api/v1/models", json={"name": "streamed", "labels": ["a"]}).json()["model"]["id"]
    message = next(stream)
    assert isinstance(message, wire.ModelMsg) and (message.id, message.labels) == (made, ["a"]), message
    session.patch("/api/v1/models/streamed", json={"description": "new"})
    assert next(stream).description == "new"
    session.delete("/api/v1/models/streamed")
    assert next(stream) == wire.ModelsDeleted(str(made))
print("done")
"""


def test_the_released_library_follows_changes(cluster):
    done = subprocess.run([PYTHON, "-c", PROGRAM, cluster.url, "admin", cluster.password], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "done\n", done.stderr
