"""The cluster itself with the released command line: agents, slots, queue, workspaces, the master."""
import csv
import io
import json
import re

from released import Ours
from support.cluster import BUILD


def records(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_agents_and_slots__are_listed(det):
    [agent] = records(det("agent list --csv"))
    assert (agent["Agent ID"], agent["Slots"], agent["Containers"], agent["Resource Pool"], agent["Enabled"], agent["Draining"]) == \
        ("agent0", "2", "0", "default", "True", "False")
    assert json.loads(det("agent list --json"))[0]["id"] == "agent0"
    slots = records(det("slot list --csv"))
    assert [(s["Agent ID"], s["Slot ID"], s["Enabled"], s["Allocation ID"], s["Task Name"], s["Type"]) for s in slots] == \
        [("agent0", str(i), "True", "FREE", "FREE", "cpu") for i in (0, 1)]


def test_agents_and_slots__are_switched_by_admins_only(det, admin):
    done = det.run("agent disable agent0")
    assert done.status == 1 and "forbidden" in done.err.lower(), done
    done = admin.run("agent disable agent0")
    assert done.status == 0 and "Disabled agent agent0." in done.err, done
    assert records(admin("agent list --csv"))[0]["Enabled"] == "False"
    done = admin.run("agent enable agent0")
    assert done.status == 0 and "Enabled agent agent0." in done.err, done
    assert "Disabled slot 1 of agent agent0" in admin("slot disable agent0 1")
    assert [s["Enabled"] for s in records(admin("slot list --csv"))] == ["True", "False"]
    admin("slot enable agent0 1")
    assert records(admin("agent list --csv"))[0]["Enabled"] == "True"


def test_unknown_agents__are_named(admin):
    done = admin.run("agent disable nowhere")
    assert done.status == 1 and "nowhere" in done.err and "not found" in done.err, done


def test_an_idle_queue__is_an_empty_table(det):
    assert len(det("task list").splitlines()) == 2
    assert json.loads(det("task list --json")) == {}
    assert len(det("job list").splitlines()) == 2
    assert json.loads(det("job list --json")) == {"jobs": []}


def test_the_default_workspace_and_project(det):
    [workspace] = json.loads(det("workspace list --json"))
    assert (workspace["id"], workspace["name"], workspace["numProjects"], workspace["immutable"]) == (1, "Uncategorized", 1, True)
    assert json.loads(det("workspace describe --json Uncategorized"))["name"] == "Uncategorized"
    [project] = json.loads(det("project list --json Uncategorized"))
    assert (project["id"], project["name"], project["workspaceId"]) == (1, "Uncategorized", 1)
    assert json.loads(det("workspace list-projects --json Uncategorized")) == [project]
    assert "Associated Experiments" in det("project describe Uncategorized Uncategorized")
    done = det.run("workspace describe nowhere")
    assert done.status == 1 and "Failed to describe workspace" in done.err, done


def test_master_info_version_and_config(det, admin, cluster):
    info = json.loads(det("master info --json"))
    assert info["clusterId"] == cluster.get("/api/v1/master").json["clusterId"] and info["branding"] == "determined"
    assert re.findall(r"^ *version: (\S+)", det("version"), re.M) == ["0.38.1", info["version"]]
    config = json.loads(admin("master config show --json"))
    assert config["checkpoint_storage"]["host_path"] == str(cluster.storage)
    assert cluster.password not in admin("master config show")
    assert "forbidden" in det.run("master config show").err.lower()


def test_the_released_client_says_nothing_of_versions(det):
    assert det.run("user whoami").err == ""


def test_requests_of_ones_own(det, cluster):
    assert json.loads(det("dev curl /api/v1/me"))["user"]["username"] == "determined"
    assert cluster.get("/api/v1/me", token=det("dev auth-token").strip()).json["user"]["username"] == "determined"
    assert "determined" in det("dev bindings call get_GetMe")


def test_configuration_policies(det, admin, tmp_path):
    (tmp_path / "policy.yaml").write_text("constraints: {priority_limit: 10}\ninvariant_config: {debug: true}\n")
    assert admin("config-policies set tasks policy.yaml").startswith("Set global tasks config policies:\nconstraints:\n  priority_limit: 10\n")
    assert "priority_limit: 10" in det("config-policies describe tasks") and det("config-policies describe experiment").strip() == "{}"
    assert "forbidden" in det.run("config-policies set tasks policy.yaml -w Uncategorized").err.lower()
    assert "debug: true" in admin("config-policies set experiment policy.yaml -w Uncategorized")
    assert json.loads(det("config-policies describe experiment -w Uncategorized --json"))["invariant_config"] == {"debug": True}
    refused = det.run("command run --config resources.slots=0 --config resources.priority=9 true")
    assert "requested priority [9] exceeds limit set by admin [10]: submitted workload failed priority constraint" in refused.err
    assert admin("config-policies delete tasks") == "Successfully deleted global NTSC config policies\n"
    assert "Successfully deleted EXPERIMENT config policies" in admin("config-policies delete experiment -w Uncategorized")
    assert det("config-policies describe tasks").strip() == "{}"


def test_the_message_to_all_users(det, admin):
    assert json.loads(det("master cluster-message get --json")) == {"clusterMessage": None}
    assert "forbidden" in det.run("master cluster-message set -m hello").err.lower()
    admin("master cluster-message set -m 'new disks tonight' -d 24h")
    message = json.loads(det("master cluster-message get --json"))["clusterMessage"]
    assert message["message"] == "new disks tonight" and message["endTime"] > message["startTime"]
    assert json.loads(det("master info --json"))["clusterMessage"] == message
    admin("master cluster-message clear")
    assert json.loads(det("master cluster-message get --json")) == {"clusterMessage": None}


def test_the_masters_log(admin, det, cluster):
    """The same lines by both clients, of the end of the log and in the order in which they came; for admins."""
    lines = admin("master logs").splitlines()
    assert any("[INFO]: master.ready" in line for line in lines), lines[:3]
    assert cluster.password not in "\n".join(lines) and cluster.token not in "\n".join(lines)
    ours = Ours(BUILD / "det", admin)
    assert ours("master logs").splitlines()[0].split("]: ")[1] == lines[0].split("]: ")[1]
    assert len(ours("master logs --tail 2").splitlines()) == len(admin("master logs --tail 2").splitlines()) == 2
    assert "forbidden" in det.run("master logs").err.lower()
