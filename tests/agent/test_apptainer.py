"""Tasks in containers of Apptainer: what is of its own beside tests/agent/test_runtimes.py. A stand-in takes the command lines."""
import json
import os
import pathlib
import signal
import tarfile

import pytest
from support import apptainer, engines
from support.fake_master.agents import BUILD, Agent
from support.namespaces import need
from support.waiting import wait_for


@pytest.fixture(params=["apptainer", "singularity"])
def engine(request):
    try:
        e = apptainer.Apptainer(request.param)
    except engines.Missing as why:
        pytest.skip(str(why))
    yield e
    e.end()


@pytest.fixture
def agent(master, place, engine):
    a = Agent(master, place / "agent", container_runtime=engine.name, task_program=engines.static_supervisor(BUILD),
              container_images_dir=str(place / "images"), container_images_trusted=True)
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}", "APPTAINERENV_LEAK": "x", "SECRET": "of the agent"}
    a.start()
    master.wait_agent()
    yield a
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def start(master, argv, image=engines.IMAGE, **container):
    return master.start(argv, image=image, more_container={"imageNamed": True, "networkMode": "host", **container})


def run(master, argv, **more):
    c = start(master, argv, **more)
    return master.finish(c), master.text(c)


def test_an_image_is_pulled_once_and_its_variables_are_the_tasks(master, agent, engine):
    end, text = run(master, ["echo $OF_THE_IMAGE $SECRET $LEAK; env | cut -d= -f1 | grep -E '_CONTAINER$|^STAND'; true"])
    assert end["code"] == 0 and f"Pulling image {engines.IMAGE} with {engine.name}" in text and "is pulled, after" in text
    assert text.splitlines()[2:] == ["yes", "STAND_IN"] or text.splitlines()[2:4] == ["yes", "DET_CONTAINER"], text
    _, text = run(master, ["echo again"], image=f"docker://{engines.IMAGE}")
    assert text == "again\n" and len(engine.calls("pull")) == 1
    (_, force, _, reference) = engine.calls("pull")[0]
    assert (force, reference) == ("--force", f"docker://{engines.IMAGE}")


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_may_be_a_file_or_a_directory_of_the_machine(master, agent, engine, place):
    file, directory = place / "my image.sif", place / "unpacked"
    file.write_bytes(engine.image_file(engines.IMAGE).read_bytes())
    with tarfile.open(file) as tar:
        tar.extractall(directory)
    for image in (file, directory):
        assert run(master, ["cat /in-image"], image=str(image)) [1] == "of the image\n"
    assert engine.calls("pull") == []
    file.chmod(0o600)
    end, _ = run(master, ["cat /in-image"], image=str(file))
    assert end["kind"] == "EXIT_KIND_REFUSED" and "may not read" in end["text"] and str(file) in end["text"]
    end, _ = run(master, ["true"], image=str(place / "none.sif"))
    assert end["kind"] == "EXIT_KIND_REFUSED" and f"{place}/none.sif does not exist on this machine" in end["text"]


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_that_is_none_is_the_cause(master, agent, engine, place):
    (place / "broken.sif").write_text("no image")
    end, _ = run(master, ["true"], image=str(place / "broken.sif"))
    assert end["kind"] == "EXIT_KIND_REFUSED"
    assert all(words in end["text"] for words in ("broken.sif cannot be run on this machine", "image format not recognized")), end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_machine_that_runs_no_image_at_all_is_the_cause(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "broken").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end
    assert "Failed to create user namespace" in end["text"] and "not even an empty one" in end["text"], end
    (engine.dir / "broken").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_image_that_fails_at_the_start_only_is_the_cause(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "breaks").write_text("det-test")
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_REFUSED" and "ended before its supervisor was there" in end["text"], end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_machine_that_fails_at_the_start_of_every_image_is_the_cause(master, agent, engine):
    """Variables are asked for without a layer for what the task writes, and the start is made with it."""
    (engine.dir / "no-layer").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end
    assert "ended before its supervisor was there" in end["text"] and "not even an empty one" in end["text"], end
    probe, start = engine.calls("exec")[-1], engine.calls("exec")[-2]
    assert probe[-1] == "--environment" and probe.count("--bind") == 1 < start.count("--bind")
    assert "--writable-tmpfs" in probe
    (engine.dir / "no-layer").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_disk_that_is_full_at_the_start_is_the_machines_fault(master, agent, engine):
    assert run(master, ["true"])[0]["code"] == 0
    (engine.dir / "breaks").write_text("det-test")
    (engine.dir / "breaks-by").write_text("while copying: no space left on device")
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED" and "no space left on device" in end["text"], end


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_agent_that_is_root_lets_no_image_run_scripts_as_root(master, place, engine):
    a = Agent(master, place / "agent", container_runtime="apptainer", task_program=engines.static_supervisor(BUILD))
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}"}
    a.start()
    assert a.process.wait(60) != 0
    assert "this agent is root" in a.log_text() and "container_images_trusted" in a.log_text()
    assert engine.calls() == []


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_under_an_agent_of_an_ordinary_user_nothing_of_an_image_runs_as_root(master, place, engine):
    need("nobody")
    a = Agent(master, place / "agent", container_runtime="apptainer", task_program=engines.static_supervisor(BUILD),
              container_images_dir=str(place / "images"))
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}", "HOME": str(place)}
    a.prefix = engines.ordinary_user(engines.NOBODY)
    for directory in (place, a.root):
        directory.mkdir(exist_ok=True)
        os.chown(directory, engines.NOBODY, engines.NOBODY)
    a.start()
    master.wait_agent()
    (engine.dir / "who").touch()
    (engine.dir / "who").chmod(0o666)
    end, text = run(master, ["echo $OF_THE_IMAGE"])
    assert end["code"] == 0 and text.endswith("yes\n"), end["text"]
    assert set((engine.dir / "who").read_text().split()) == {str(engines.NOBODY)}, "who ran the image"
    assert a.kill(signal.SIGTERM) == 0, a.log_text()


def test_the_credentials_of_a_registry_reach_the_pull_alone(master, agent, engine):
    end, text = run(master, ["true"], registryAuth=json.dumps({"username": "u", "password": "hush-hush"}))
    assert end["kind"] == "EXIT_KIND_REFUSED" and "authentication required" in end["text"] and "environment.registry_auth" in end["text"]
    assert "hush" not in agent.log_text() + text + str(engine.calls())
    end, _ = run(master, ["env | grep -i docker_password"], registryAuth=json.dumps({"username": "u", "password": "right"}))
    assert end["code"] == 1


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_disk_that_is_full_in_the_middle_of_a_pull_leaves_no_part_of_an_image(master, agent, engine, place):
    (engine.dir / "full").touch()
    end, _ = run(master, ["true"])
    assert end["kind"] == "EXIT_KIND_START_FAILED", end  # of the machine, and no mistake of the task
    assert "no space left on device" in end["text"] and f"make room on this machine, in container_images_dir ({place}/images)" in end["text"]
    assert list((place / "images").iterdir()) == []
    (engine.dir / "full").unlink()
    assert run(master, ["true"])[0]["code"] == 0


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_kill_ends_a_pull(master, agent, engine, place):
    (engine.dir / "hang").touch()
    c = start(master, ["true"])
    wait_for("the pull", lambda: engine.calls("pull"))
    master.signal(c, signal.SIGKILL)
    assert master.finish(c)["text"] == "killed before it was started"
    assert list((place / "images").iterdir()) == []
    (engine.dir / "hang").unlink()


def unfinished(place):
    return sorted(path.name for path in (place / "images").glob("*.unfinished"))


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_an_agent_removes_its_own_unfinished_pulls_and_old_ones_of_other_agents(master, agent, engine, place):
    """The directory of images may belong to several agents, on one machine or on several."""
    (engine.dir / "hang").touch()
    c = start(master, ["true"])
    [call] = wait_for("the pull", lambda: engine.calls("pull"))
    own = pathlib.Path(call[2])
    links = len(master.hellos)
    agent.kill()
    own.touch()
    (place / "images" / "0123456789abcdef.running.unfinished").touch()
    (place / "images" / "0123456789abcdef.ended.unfinished").touch()
    os.utime(place / "images" / "0123456789abcdef.ended.unfinished", (0, 0))
    os.rename(agent.root / "tasks" / c, place / "hidden")  # nobody waits for this pull any more
    agent.start()
    master.wait_agent(links + 1)
    wait_for("the removal of the parts", lambda: unfinished(place) == ["0123456789abcdef.running.unfinished"])
    assert master.finish(c)["kind"] == "EXIT_KIND_LOST"
    (engine.dir / "hang").unlink()


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_device_has_its_own_path_or_is_refused(master, agent, engine):
    devices = [{"hostPath": "/dev/full", "containerPath": "/dev/mine", "mode": "rw"}]
    end, _ = run(master, ["true"], devices=devices)
    assert end["kind"] == "EXIT_KIND_REFUSED" and "/dev/full cannot be /dev/mine" in end["text"]
    end, text = run(master, ["ls -l /dev/full"], devices=[{**devices[0], "containerPath": "/dev/full"}])
    assert end["code"] == 0 and text.splitlines()[-1].startswith("c"), text


@pytest.mark.parametrize("engine", ["apptainer"], indirect=True)
def test_a_pull_goes_by_the_proxies_of_the_agent(master, place, engine):
    a = Agent(master, place / "agent", container_runtime="apptainer", task_program=engines.static_supervisor(BUILD),
              container_images_dir=str(place / "images"), container_images_trusted=True, https_proxy="http://proxy.invalid:3128", no_proxy="10.0.0.0/8,127.0.0.1")
    a.environment = {"PATH": f"{engine.path}:{os.environ['PATH']}"}
    a.start()
    master.wait_agent()
    assert run(master, ["true"])[0]["code"] == 0
    told = json.loads((engine.dir / "proxies").read_text())
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://proxy.invalid:3128" and told["NO_PROXY"] == "10.0.0.0/8,127.0.0.1", told
    assert a.kill(signal.SIGTERM) == 0, a.log_text()
