"""Commands, notebooks, shells and TensorBoards with the released command line: what it prints and what the master then holds."""
import json
import re

from support.launched import launch_id, wait_state


def table(text):
    """Rows of a `presto` table as lists of cells, the header first."""
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return [lines[0]] + lines[2:]


def start(det, words):
    """Launches a command in the background; returns its id."""
    return det(f"command run --detach {words}").strip()


def test_run__follows_the_output_of_a_command_with_its_files(det, tmp_path):
    context = tmp_path / "context"
    context.mkdir()
    (context / "told.txt").write_text("told by the context\n")
    done = det.run(f"command run --config resources.slots=0 --context {context} cat told.txt")
    assert done.status == 0 and "told by the context" in done.out, done


def test_run__with_a_configuration_file_and_keys_of_the_command_line(det, cluster, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("description: by the file\nresources: {slots: 0}\nenvironment:\n  environment_variables: [A=1]\n")
    made = start(det, f"--config-file {config} --config description=by-the-key sh -c 'echo $A'")
    x = wait_state(cluster, made, "TERMINATED")
    assert x["description"] == "by-the-key" and x["exitStatus"] == "allocation exited successfully"
    assert "|| 1" in det(f"command logs {made}")
    assert re.search(r"slots: 0", det(f"command config {made}"))


def test_list_describe_and_kill(det, cluster):
    made = start(det, "--config resources.slots=0 --config description=long sleep 1000")
    wait_state(cluster, made, "RUNNING")
    for words in ("list", f"describe {made}"):
        rows = table(det(f"command {words}"))
        assert rows[0] == ["id", "username", "description", "state", "exitStatus", "resourcePool", "workspaceName"]
        assert [made, "determined", "long", "RUNNING", "", "default", "Uncategorized"] in rows
    assert made in det("command list -q").split()
    assert det(f"command kill {made}") == f"Killed command {made}\n"
    assert wait_state(cluster, made, "TERMINATED")["exitStatus"] == "task was killed by the master"
    assert det(f"command kill {made}") == f"Killed command {made}\n"


def test_set_priority_and_the_job_list(det, cluster):
    made = start(det, "--config resources.slots=64 true")
    det(f"command set priority {made} 7")
    [job] = [j["full"] for j in cluster.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"] if j["full"]["entityId"] == made]
    assert job["priority"] == 7
    assert job["jobId"][:8] in det("job list") and "COMMAND" in det("job list")
    det(f"command kill {made}")


def test_a_configuration_with_a_mistake_is_refused_with_the_key(det):
    done = det.run("command run --config resources.slotz=0 true")
    assert done.status != 0 and "slotz" in done.out + done.err


def test_lists_of_the_other_kinds(det, cluster):
    for kind in ("notebook", "shell", "tensorboard"):
        more = {"experimentIds": [cluster.create(activate=False)]} if kind == "tensorboard" else {}
        made = launch_id(cluster, kind, resources={"slots": 64}, **more)
        assert made in det(f"{kind} list")
        assert made in [x.get("id") for x in json.loads(det(f"{kind} list --json"))]
        det(f"{kind} set priority {made} 9")
        det(f"{kind} kill {made}")
        wait_state(cluster, made, "TERMINATED", kind)
