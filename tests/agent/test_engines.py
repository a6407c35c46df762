"""The agent and an engine that a test makes misbehave; and the choice between engines and processes."""
import base64
import json
import os
import signal
import threading

import pytest
from support.fake_engine import IMAGE, INFO, FakeEngine
from support.fake_master.agents import Agent
from support.waiting import wait_for


@pytest.fixture
def engine(place):
    with FakeEngine(place / "engine.sock") as e:
        yield e


@pytest.fixture
def agent(master, place, engine):
    a = Agent(master, place / "agent", container_runtime="docker", container_socket=engine.path).start()
    master.wait_agent()
    yield a
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def start(master, image="repo/image:2", named=True, **container):
    return master.start(["true"], image=image, more_container={"imageNamed": named, "networkMode": "host", **container})


def refusal(master, **more):
    c = start(master, **more)
    return master.finish(c), master.text(c)


def test_an_engine_that_answers_what_is_not_json_is_named(master, agent, engine):
    engine.answer("GET", "/version", 200, b"<html>\x01 a proxy</html>")
    end, _ = refusal(master)
    assert end["kind"] == "EXIT_KIND_START_FAILED"
    assert all(words in end["text"] for words in (engine.path, "not JSON", "<html>  a proxy</html>")), end


@pytest.mark.parametrize("version, words", [
    ({"ApiVersion": "1.20", "MinAPIVersion": "1.12"}, ["1.12 to 1.20", "1.30 to 1.47"]),
    ({"ApiVersion": "1.60", "MinAPIVersion": "1.50"}, ["1.50 to 1.60", "1.30 to 1.47"]),
    ({"hello": 1}, ["names no ApiVersion"]),
    ([1, 2], ["names no ApiVersion"]),
])
def test_versions_of_the_api_are_agreed_on(master, agent, engine, version, words):
    engine.answer("GET", "/version", 200, version if isinstance(version, dict) else b"[1, 2]")
    end, _ = refusal(master)
    assert end["kind"] == "EXIT_KIND_START_FAILED" and all(w in end["text"] for w in words), end


def test_a_newer_engine_is_spoken_to_in_the_version_that_both_know(master, agent, engine):
    engine.answer("GET", "/version", 200, {"ApiVersion": "1.52", "MinAPIVersion": "1.44"})
    refusal(master)
    assert engine.requests("POST", "/containers/create")


def test_an_image_in_an_unknown_form_is_an_error(master, agent, engine):
    engine.answer("GET", "/images/.*/json", 200, {"Config": 7})
    end, _ = refusal(master)
    assert "a form that this agent does not know" in end["text"]


def test_a_pull_is_told_in_the_log_and_its_error_in_the_end(master, agent, engine):
    engine.answer("GET", "/images/.*/json", 404, {"message": "No such image"})
    engine.answer("POST", "/images/create", 200, (
        b'{"status":"Pulling from repo/image","id":"2"}\r\n{"status":"Downloading","progressDetail":{"current":5,"total":10},"id":"a"}\r\n',
        b'{"status":"Pull comp', b'lete","progressDetail":{},"id":"a"}\r\n',
        b'{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}\r\n'))
    auth = {"username": "u", "password": "hush?>hush"}
    end, text = refusal(master, registryAuth=json.dumps(auth))
    assert end["kind"] == "EXIT_KIND_REFUSED"
    assert "the image repo/image:2 cannot be pulled: docker says: manifest unknown; check environment.image" in end["text"]
    assert text == "Pulling image repo/image:2 with docker\n"
    ((_, _, query, headers, _),) = engine.requests("POST", "/images/create")
    assert query == "fromImage=repo/image&tag=2"
    assert json.loads(base64.urlsafe_b64decode(headers["X-Registry-Auth"])) == auth
    assert "hush" not in agent.log_text()


def test_a_disk_that_is_full_in_the_middle_of_a_pull_is_the_machines_fault(master, agent, engine):
    engine.answer("GET", "/images/.*/json", 404, {"message": "No such image"})
    reason = "failed to register layer: write /usr/lib/libcuda.so: no space left on device"
    engine.answer("POST", "/images/create", 200, b'{"errorDetail":{"message":"%b"},"error":"%b"}\r\n' % (reason.encode(), reason.encode()))
    end, _ = refusal(master)
    assert end["kind"] == "EXIT_KIND_START_FAILED"
    assert end["text"] == ("the image repo/image:2 cannot be pulled: docker says: " + reason +
                           "; make room on this machine where docker keeps its images"), end


@pytest.mark.parametrize("info, told", [(INFO, True), ({**INFO, "HttpProxy": "http://proxy:3128"}, False)])
def test_a_pull_without_the_agents_proxy_is_told_where_to_set_it(master, place, engine, info, told):
    engine.answer("GET", "/info", 200, info)
    engine.answer("GET", "/images/.*/json", 404, {"message": "No such image"})
    engine.answer("POST", "/images/create", 500, {"message": "dial tcp 1.2.3.4:443: i/o timeout"})
    a = Agent(master, place / "agent", container_runtime="docker", container_socket=engine.path, https_proxy="http://proxy:3128", no_proxy="127.0.0.1").start()
    master.wait_agent()
    end, _ = refusal(master)
    hint = "this agent has a proxy, and docker, which pulls, has none: set HTTPS_PROXY for its service"
    assert (hint in end["text"]) == told, end
    engine.answer("GET", "/info", 200, {**INFO, "HttpProxy": "http://proxy:3128"})  # somebody does that
    end, _ = refusal(master)
    assert hint not in end["text"], end
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def test_a_pull_that_reports_in_no_json_fails(master, agent, engine):
    engine.answer("GET", "/images/.*/json", 404, {"message": "No such image"})
    engine.answer("POST", "/images/create", 200, b"who are you?\n")
    end, _ = refusal(master)
    assert "what is not JSON" in end["text"]


def test_a_kill_ends_a_pull(master, agent, engine):
    hang = threading.Event()
    engine.answer("GET", "/images/.*/json", 404, {"message": "No such image"})
    engine.answer("POST", "/images/create", 200, (b'{"status":"Pulling"}\n', hang))
    c = start(master)
    wait_for("the pull", lambda: engine.requests("POST", "/images/create"))
    master.signal(c, 9)
    end = master.finish(c)
    hang.set()
    assert end["text"] == "killed before it was started"


@pytest.mark.parametrize("step, status, kind", [
    (("POST", "/containers/create"), 400, "EXIT_KIND_REFUSED"),
    (("POST", "/containers/create"), 500, "EXIT_KIND_START_FAILED"),
    (("POST", "/containers/.*/start"), 500, "EXIT_KIND_START_FAILED"),
])
def test_what_the_engine_says_is_the_cause(master, agent, engine, step, status, kind):
    engine.answer("POST", "/containers/create", 201, {"Id": "1"})
    engine.answer(*step, status, {"message": "because it is Monday"})
    end, _ = refusal(master)
    assert end["kind"] == kind and f"docker says: because it is Monday (status {status})" in end["text"], end
    wait_for("the removal of what was begun", lambda: engine.requests("DELETE", "/containers/determined-.*"))


@pytest.mark.parametrize("reason, kind", [
    ('runc create failed: error mounting "/a" to rootfs at "/run/determined": mkdirat run/determined: not a directory', "EXIT_KIND_REFUSED"),
    (f'runc create failed: error mounting "/{"a" * 200}" to rootfs at "/run/determined": open /{"b" * 200}: not a directory', "EXIT_KIND_REFUSED"),
    ("crun: creating `/run/determined`: Not a directory: OCI runtime error", "EXIT_KIND_REFUSED"),
    ('runc create failed: error mounting "proc" to rootfs at "/proc": operation not permitted', "EXIT_KIND_START_FAILED"),
    ("OCI runtime create failed: cannot set cgroup: no space left on device", "EXIT_KIND_START_FAILED"),
])
def test_an_image_is_at_fault_only_if_it_has_a_file_in_place_of_a_directory(master, agent, engine, reason, kind):
    engine.answer("POST", "/containers/create", 201, {"Id": "1"})
    engine.answer("POST", "/containers/.*/start", 500, {"message": reason})
    end, _ = refusal(master)
    assert end["kind"] == kind and reason[:40] in end["text"], end


def test_a_container_that_ends_before_its_supervisor_is_there_is_noticed(master, agent, engine):
    engine.answer("POST", "/containers/create", 201, {"Id": "1"})
    engine.answer("POST", "/containers/.*/start", 204, b"")
    engine.answer("GET", "/containers/.*/json", 200, {"State": {"Status": "exited", "Error": "a bad day"}})
    end, _ = refusal(master)
    assert end["kind"] == "EXIT_KIND_START_FAILED" and "a bad day" in end["text"], end


def test_an_engine_that_vanishes_while_it_starts_a_container_is_the_cause(master, agent, engine):
    engine.answer("POST", "/containers/create", 201, {"Id": "1"})
    go_on = threading.Event()
    engine.answer("POST", "/containers/.*/start", 204, (go_on,))
    c = start(master)
    wait_for("the request to start", lambda: engine.requests("POST", "/containers/.*/start"))
    os.rename(engine.path, engine.path + ".gone")
    go_on.set()
    engine.answer("GET", "/containers/.*/json", 404, {"message": "gone"})
    os.rename(engine.path + ".gone", engine.path)
    assert "removed while it was started" in master.finish(c)["text"]


def test_the_request_says_everything_that_the_order_says(master, agent, engine):
    refusal(master, networkMode="bridge", ports=[8080], addCapabilities=["SYS_PTRACE"],
            devices=[{"hostPath": "/dev/null", "containerPath": "/dev/x", "mode": "r"}])
    (_, _, query, _, body) = engine.requests("POST", "/containers/create")[0]
    asked = json.loads(body)
    host = asked["HostConfig"]
    assert query.startswith("name=determined-") and asked["Image"] == "repo/image:2" and asked["User"] in ("0:0", f"{os.geteuid()}:{os.getegid()}")
    assert asked["Entrypoint"] == ["/run/determined.task", "--container", "/run/determined.supervisor"]
    assert host["NetworkMode"] == "bridge" and host["PortBindings"] == {"8080/tcp": [{"HostPort": "8080"}]}
    assert host["CapAdd"] == ["SYS_PTRACE"] and host["Privileged"] is False and host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Devices"] == [{"PathOnHost": "/dev/null", "PathInContainer": "/dev/x", "CgroupPermissions": "r"}]
    assert host["Memory"] > 0 and host["ShmSize"] == host["Memory"] // 2 and host["PidsLimit"] == 16384
    mounts = {m["Target"]: m for m in host["Mounts"]}
    assert mounts["/run/determined.task"]["ReadOnly"] and not mounts["/run/determined"]["ReadOnly"]
    assert all(m["BindOptions"]["Propagation"] == "rprivate" for m in mounts.values())


def test_an_image_for_another_processor_comes_with_a_warning(master, agent, engine):
    engine.answer("GET", "/images/.*/json", 200, {**IMAGE, "Architecture": "arm64"})
    _, text = refusal(master)
    assert "WARNING: the image repo/image:2 is built for arm64, and this machine is amd64" in text


def test_ports_that_nobody_can_reach_come_with_a_warning(master, agent, engine):
    c = master.start(["true"], image="a:1", proxyPorts=[8888], more_container={"imageNamed": True, "networkMode": "bridge"})
    master.finish(c)
    assert 'WARNING: the container has the network "bridge"' in master.text(c)


def test_leftovers_are_only_those_of_this_run_root(master, place, engine):
    mine = {"Id": "abc123", "Labels": {"ai.determined.container.id": "gone"}}
    engine.answer("GET", "/containers/json", 200, [mine, {"Id": "../x", "Labels": {"ai.determined.container.id": "y"}}, 7])
    a = Agent(master, place / "agent", container_runtime="docker", container_socket=engine.path).start()
    wait_for("the removal", lambda: engine.requests("DELETE", "/containers/.*"))
    (_, path, _, _, _) = engine.requests("DELETE", "/containers/.*")[0]
    assert path == "/containers/abc123" and len(engine.requests("DELETE", "/containers/.*")) == 1
    assert str(a.root / "tasks") in engine.requests("GET", "/containers/json")[0][2].replace("%2F", "/")
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def test_leftovers_are_removed_once_an_engine_that_was_away_answers(master, place, engine):
    engine.answer("GET", "/containers/json", 200, [{"Id": "abc123", "Labels": {"ai.determined.container.id": "gone"}}])
    os.rename(engine.path, engine.path + ".away")
    a = Agent(master, place / "agent", container_runtime="docker", container_socket=engine.path).start()
    master.wait_agent()
    assert not engine.requests("DELETE", "/containers/.*")
    os.rename(engine.path + ".away", engine.path)
    wait_for("the removal", lambda: engine.requests("DELETE", "/containers/abc123"))
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def test_leftovers_are_looked_for_again_after_an_engine_could_not_list_them(master, place, engine):
    engine.answer("GET", "/containers/json", 500, {"message": "not yet"})
    a = Agent(master, place / "agent", container_runtime="docker", container_socket=engine.path).start()
    wait_for("the first look", lambda: engine.requests("GET", "/containers/json"))
    engine.answer("GET", "/containers/json", 200, [{"Id": "abc123", "Labels": {"ai.determined.container.id": "gone"}}])
    wait_for("the removal", lambda: engine.requests("DELETE", "/containers/abc123"))
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


# ---- auto ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def choosing(master, place):
    a = Agent(master, place / "agent", container_socket=str(place / "engine.sock")).start()
    master.wait_agent()
    yield a
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def test_auto_takes_a_process_if_no_engine_answers_and_says_so(master, place, choosing):
    c = start(master, image="mine:1")
    assert master.finish(c)["code"] == 0
    assert "WARNING: this task runs as a process of the machine" in master.text(c) and "the image mine:1" in master.text(c)
    c = start(master, image="the/default:1", named=False)
    assert master.finish(c)["code"] == 0 and master.text(c) == ""


def test_auto_takes_an_engine_for_an_image_that_is_named(master, place, choosing):
    with FakeEngine(place / "engine.sock") as engine:
        c = start(master, named=False)
        assert master.finish(c)["code"] == 0 and not engine.requests("POST", "/containers/create")
        engine.answer("POST", "/containers/create", 400, {"message": "I was asked"})
        assert "I was asked" in master.finish(start(master))["text"]
