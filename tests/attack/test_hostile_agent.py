"""Tests an agent that an attacker controls: values out of every range, and messages about tasks of others."""
import re
import signal
import uuid

import pytest
from hostile_agent import HostileAgent, Refused
from support.cluster import Cluster, wait_for

SLEEP = ["sh", "-c", "echo begun; sleep 1000"]
BIG = 2147483647


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("hostile")) as c:
        c.start_master()
        c.start_agent(slots=2)
        c.login("determined")
        yield c


@pytest.fixture(scope="module")
def victim(cluster):
    """Starts a trial of another user on the honest agent, and returns (experiment id, trial id, allocation id, container id, task id)."""
    x = cluster.create(entrypoint=SLEEP, name="victim")
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    [trial] = cluster.trial_ids(x)
    wait_for("its first line", lambda: "begun" in cluster.trial_log(trial))
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    [agent] = [a for a in cluster.get("/api/v1/agents").json["agents"] if a["id"] == "agent0"]
    [container] = list(agent["containers"])
    yield x, trial, f"{task}.1", container, task


def state(**changes):
    return {"containerId": str(uuid.uuid4()), "allocationId": "1.x.1", "state": "STATE_TERMINATED", "address": "",
            "exit": {"kind": "EXIT_KIND_EXITED", "code": 0, "signal": 0, "text": ""}, **changes}


def exit(**changes):
    return state(exit={"kind": "EXIT_KIND_SIGNALED", "code": 137, "signal": 9, "text": "", **changes})


def line(**changes):
    return {"timestamp": "2026-01-01T00:00:00Z", "stdtype": "stdout", "level": "LOG_LEVEL_INFO", "log": "forged\n", **changes}


def logs(**changes):
    return {"containerId": str(uuid.uuid4()), "allocationId": "1.x.1", "taskId": "1.x", "firstSeq": "1", "lines": [line()], **changes}


OUT_OF_RANGE = {
    "a signal beyond an int": {"state": exit(signal=BIG)},
    "a negative signal": {"state": exit(signal=-BIG - 1)},
    "an exit code beyond a process's": {"state": exit(code=BIG)},
    "a negative exit code": {"state": exit(code=-BIG - 1)},
    "an exit of no kind": {"state": exit(kind=77)},
    "an endless last word": {"state": exit(text="x" * 1_000_000)},
    "no state": {"state": state(state=0)},
    "a state that is none": {"state": state(state=99)},
    "no container": {"state": state(containerId="")},
    "a container that is a path": {"state": state(containerId="../../etc")},
    "a container's name without end": {"state": state(containerId="a" * 100_000)},
    "an address with a line of its own": {"state": state(state="STATE_RUNNING", address="a\nerror fake=1")},
    "an address without end": {"state": state(state="STATE_RUNNING", address="a" * 1000)},
    "an account that ssh takes for an option": {"state": state(state="STATE_RUNNING", account="-oProxyCommand=touch /tmp/x")},
    "an account without end": {"state": state(state="STATE_RUNNING", account="a" * 1000)},
    "an engine's id with a line of its own": {"state": state(state="STATE_RUNNING", runtimeId='a"} 1\nerror{x="')},
    "an engine's id without end": {"state": state(state="STATE_RUNNING", runtimeId="a" * 1000)},
    "an allocation without end": {"state": state(allocationId="a" * 1000)},
    "logs of no container": {"logs": logs(containerId="")},
    "logs of a task without end": {"logs": logs(taskId="1" * 1000)},
    "a line number beyond all": {"logs": logs(firstSeq=str(2**63 - 1))},
    "a line number below all": {"logs": logs(firstSeq=str(-(2**63)))},
    "a rank beyond all": {"logs": logs(lines=[line(rankId=BIG)])},
    "a rank below all": {"logs": logs(lines=[line(rankId=-BIG - 1)])},
    "a level that is none": {"logs": logs(lines=[line(level=99)])},
    "a stream without end": {"logs": logs(lines=[line(stdtype="x" * 10_000)])},
    "a source without end": {"logs": logs(lines=[line(source="x" * 10_000)])},
    "lost devices without end": {"devices": {"lostIds": list(range(100_000))}},
    "a lost device below all": {"devices": {"lostIds": [-BIG - 1]}},
    "troubles without end": {"devices": {"troubles": [{"id": 0, "reason": "x", "sinceUs": "5"}] * 100_000}},
    "a trouble whose reason has no end": {"devices": {"troubles": [{"id": 0, "reason": "x" * 100_000, "sinceUs": "5"}]}},
    "a trouble that writes lines of its own": {"devices": {"troubles": [{"id": 0, "reason": "a\nb", "sinceUs": "5"}]}},
    "a trouble after the end of time": {"devices": {"troubles": [{"id": 0, "reason": "x", "sinceUs": str(2**62)}]}},
    "use of no container": {"use": {"tasks": [{"containerId": "", "idleMs": "5"}]}},
    "use of tasks without end": {"use": {"tasks": [{"containerId": "c", "idleMs": "5"}] * 100_000}},
    "idle for longer than time": {"use": {"tasks": [{"containerId": "c", "idleMs": str(2**62)}]}},
    "idle for less than no time": {"use": {"tasks": [{"containerId": "c", "idleMs": "-1"}]}},
    "a problem that writes lines of its own": {"use": {"tasks": [{"containerId": "c", "problem": "a\nb"}]}},
    "a problem without end": {"use": {"tasks": [{"containerId": "c", "problem": "x" * 10_000}]}},
    "metrics of no container": {"metrics": {"containerId": "", "group": "cpu", "metrics": {}}},
}


@pytest.mark.parametrize("what", OUT_OF_RANGE)
def test_an_agent_says_what_no_agent_can(cluster, what):
    with HostileAgent(cluster) as evil:
        evil.hello().welcome()
        evil.send(**OUT_OF_RANGE[what])
        assert evil.refusal()
    assert cluster.get("/api/v1/master").status == 200


DEVICE = {"id": 0, "brand": "b", "uuid": "u", "type": "TYPE_CPU"}
BAD_HELLOS = {
    "a version with a line of its own": {"version": "1\nerror fake=1"},
    "a version without end": {"version": "1" * 1000},
    "a host name with a line of its own": {"hostname": "a\nerror fake=1"},
    "a device below all": {"devices": [{**DEVICE, "id": -1}]},
    "a device beyond all": {"devices": [{**DEVICE, "id": BIG}]},
    "a trouble of a device below all": {"troubles": [{"id": -1, "reason": "x", "sinceUs": "5"}]},
    "a device of no type": {"devices": [{**DEVICE, "type": 99}]},
    "a brand without end": {"devices": [{**DEVICE, "brand": "b" * 100_000}]},
    "a thousand devices": {"devices": [{**DEVICE, "id": i} for i in range(1000)]},
    "one device twice": {"devices": [DEVICE, DEVICE]},
    "a task with a signal beyond an int": {"tasks": [exit(signal=BIG)]},
    "a hundred thousand tasks": {"tasks": [state() for _ in range(100_000)]},
    "a cluster without end": {"clusterId": "c" * 10_000},
    "no pool of ours": {"resourcePool": "nowhere"},
}


@pytest.mark.parametrize("what", BAD_HELLOS)
def test_an_agent_introduces_itself_as_what_no_agent_is(cluster, what):
    with HostileAgent(cluster) as evil:
        evil.hello(**BAD_HELLOS[what])
        assert evil.refusal()
    assert "\nerror fake=1" not in cluster.master_log()


@pytest.mark.parametrize("name", ["a b", "a\nerror fake=1", "a/b", "", "x" * 1000, "a\x7f"])
def test_an_agent_has_a_name_that_breaks_lines_and_paths(cluster, name):
    with pytest.raises(Refused):
        HostileAgent(cluster, agent_id=name)
    assert "\nerror fake=1" not in cluster.master_log()


def test_an_agent_ends_a_task_of_another_agent(cluster, victim):
    x, trial, allocation, container, _ = victim
    with HostileAgent(cluster) as evil:
        evil.hello().welcome()
        evil.send(state=state(containerId=container, allocationId=allocation,
                              exit={"kind": "EXIT_KIND_EXITED", "code": 1, "signal": 0, "text": "forged"}))
        evil.hear_until("stateAck")  # the master acknowledges the message, so that the agent does not send it again
        evil.send(state=state(containerId=container, allocationId=allocation, state="STATE_RUNNING", address="6.6.6.6", exit=None))
        assert evil.hear_until("signal")["signal"] == 9  # the master has the container killed, since it does not belong to this agent
    assert cluster.experiment(x)["state"] == "STATE_RUNNING"
    assert "6.6.6.6" not in cluster.get(f"/api/v1/allocations/{allocation}").body.decode()


def test_an_agent_that_claims_it_on_arrival(cluster, victim):
    x, _, allocation, container, _ = victim
    with HostileAgent(cluster) as evil:
        evil.hello(tasks=[state(containerId=container, allocationId=allocation)])
        assert evil.welcome().get("expected", []) == []
    assert cluster.experiment(x)["state"] == "STATE_RUNNING"


def test_an_agent_writes_into_logs_of_others(cluster, victim):
    _, trial, allocation, container, task = victim
    before = cluster.trial_log(trial)
    with HostileAgent(cluster) as evil:
        evil.hello().welcome()
        evil.send(logs=logs(containerId=container, allocationId=allocation, taskId=task))
        evil.send(logs=logs(containerId=container, allocationId=allocation, taskId=task, firstSeq="2"))
        fresh = str(uuid.uuid4())  # the id of a container that does not exist, for a task of another user
        evil.send(logs=logs(containerId=fresh, allocationId=allocation, taskId=task))
        # the lines are dropped; the last of the three messages was handled, so all were
        assert evil.hear_until("logsAck")["containerId"] == fresh
    assert cluster.trial_log(trial) == before
    assert "forged" not in before


def test_an_agent_hides_the_end_of_anothers_task(cluster):
    """The attacker sends a forged end while the real lines are on their way. It must not replace the real end."""
    x = cluster.create(entrypoint=["sh", "-c", "read line </dev/null; sleep 1; seq 1 20000; exit 3"])
    wait_for("the trial to run", lambda: cluster.experiment(x)["state"] == "STATE_RUNNING")
    containers = lambda: [c for a in cluster.get("/api/v1/agents").json["agents"] for c in a["containers"]]  # noqa: E731
    with HostileAgent(cluster) as evil:
        evil.hello().welcome()
        while cluster.experiment(x)["state"] == "STATE_RUNNING":
            for c in containers():
                evil.send(state=state(containerId=c))
    assert cluster.wait_experiment(x)["state"] == "STATE_ERROR"


def test_an_agent_reports_metrics_of_others(cluster, victim):
    _, trial, allocation, container, _ = victim
    with HostileAgent(cluster) as evil:
        evil.hello().welcome()
        evil.send(metrics={"containerId": container, "allocationId": allocation, "group": "cpu", "time": "2026-01-01T00:00:00Z",
                           "metrics": {"forged": 1}})
        evil.send(state=state())
        evil.hear_until("stateAck")
    assert "forged" not in cluster.get(f"/api/v1/trials/{trial}").body.decode()


def test_an_agent_of_another_clusters_past_is_taken_on(cluster):
    """The old agent's epoch is higher than this master's, but does not count, since it is that of another cluster."""
    past = str(uuid.uuid4())
    with HostileAgent(cluster) as old:
        old.epoch = 9_000_000
        old.hello(clusterId="another-cluster", tasks=[state(containerId=past, state="STATE_RUNNING", exit=None)])
        assert old.welcome().get("expected", []) == []
        assert old.hear_until("signal")["containerId"] == past
    log = cluster.master_log()
    assert re.search(r"agent.of_another_cluster id=evil cluster=another-cluster containers=1", log)
    assert f"container={past} action=kill" in log


def test_an_agent_that_has_followed_a_later_master_is_refused(cluster):
    own = cluster.get("/api/v1/master").json["clusterId"]
    with HostileAgent(cluster) as old:
        old.epoch = 9_000_000
        old.hello(clusterId=own)
        assert "another master has taken over" in old.refusal()


def ids_for_prometheus(c):
    """{container: what its engine calls it}"""
    text = c.get("/prom/det-state-metrics", token=c.admin_token()).body.decode()
    return dict(reversed(pair) for pair in re.findall(r'^det_container_id_runtime_container_id\{container_runtime_id="([^"]*)",container_id="([^"]*)"\} 1$', text, re.M))


def test_the_engines_id_of_a_container_outlives_master_and_agent(new_cluster):
    c = new_cluster()
    c.start_master()
    c.login("determined")
    told = "fedcba9876543210" * 4
    with HostileAgent(c, agent_id="honest") as agent:
        agent.hello().welcome()
        c.create(entrypoint=SLEEP, resources={"slots_per_trial": 1})
        start = agent.hear_until("start")
        mine = state(containerId=start["containerId"], allocationId=start["allocationId"], exit=None, state="STATE_RUNNING")
        agent.send(state=mine)
        wait_for("the container to run", lambda: start["containerId"] in c.get("/prom/det-state-metrics", token=c.admin_token()).body.decode())
        agent.send(state={**mine, "runtimeId": told})  # also when nothing but the id is news
        wait_for("the id on the page", lambda: ids_for_prometheus(c) == {start["containerId"]: told})
        c.stop_master(signal.SIGKILL)
    c.start_master()
    with HostileAgent(c, agent_id="honest") as agent:  # an agent that was started again does not know the id any more
        agent.hello(tasks=[mine]).welcome()
        assert ids_for_prometheus(c) == {start["containerId"]: told}


def test_the_engines_id_of_a_container_that_an_agent_tells_is_shown_to_prometheus(cluster):
    def ids():
        return ids_for_prometheus(cluster)

    told = "0123456789abcdef" * 4
    with HostileAgent(cluster, agent_id="honest") as agent:
        agent.hello(devices=8).welcome()
        x = cluster.create(entrypoint=SLEEP, resources={"slots_per_trial": 8})
        start = agent.hear_until("start")
        mine = state(containerId=start["containerId"], allocationId=start["allocationId"], exit=None)
        agent.send(state={**mine, "state": "STATE_RUNNING", "runtimeId": told})
        wait_for("the id on the page", lambda: ids() == {start["containerId"]: told})
        # an agent that was started again does not know the id any more
        agent.send(state={**mine, "state": "STATE_RUNNING"})
        cluster.post(f"/api/v1/experiments/{x}/kill")
        agent.hear_until("signal")
        assert ids() == {start["containerId"]: told}
        agent.send(state=state(containerId=start["containerId"], allocationId=start["allocationId"]))
        cluster.wait_experiment(x)
        assert ids() == {}
