"""A script of a user's inside a task: the released client with what the environment gives it, DET_USER and DET_USER_TOKEN."""
import json
import os

from determined.common.api import errors
from determined.experimental import client

experiment = client.get_experiment(int(os.environ["DET_EXPERIMENT_ID"]))
experiment.set_description("described from inside")
created = client.create_experiment(
    {"name": "from-inside", "entrypoint": "true", "searcher": {"name": "single", "metric": "loss", "max_length": 1}}, ".")
refused = []
for name, forbidden in (("users", lambda: client.create_user("eve", False, password="Another-Passw0rd")),
                        ("display name", lambda: client.whoami().change_display_name(display_name="eve")),
                        ("password", lambda: client.whoami().change_password(new_password="Another-Passw0rd"))):
    try:
        forbidden()
    except (errors.ForbiddenException, errors.APIException) as e:
        refused.append((name, type(e).__name__))
print("facts " + json.dumps({"me": client.whoami().username, "created": created.id, "refused": refused}), flush=True)
