"""A user who chooses the image and the mounts of a container tries to get at what the machine closes to them."""
import os
import pathlib
import sys
import tempfile

import pytest
from support import engines
from support.fake_master.agents import OWNER, Agent, Master

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "agent"))
from supervisor import START_FAILED, Task  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run tasks as other users")
LINKED_PASSWD = "det-test/linked-passwd:latest"


@pytest.fixture(scope="module")
def world():
    try:
        engine = engines.start("docker")
        program = engines.static_supervisor(os.environ.get("DET_BUILD", pathlib.Path(__file__).parents[2] / "build"))
    except engines.Missing as why:
        pytest.skip(str(why))
    files = engines.busybox_files()
    engine.add_image(LINKED_PASSWD, {**files, "etc/passwd": "/mnt/passwd", "bin/busybox-of-root": (files["bin/busybox"][0], 0o4755)})
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        master = Master()
        agent = Agent(master, pathlib.Path(directory) / "agent", container_runtime="docker", container_socket=engine.socket,
                      task_program=program).start()
        master.wait_agent()
        yield master
        agent.kill(15)
        master.close()


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


def run(master, command, image=engines.IMAGE, **more):
    c = master.start([command], image=image, more_container={"imageNamed": True, "networkMode": "host"}, fetchContext=False, **more)
    return master.finish(c), master.text(c)


def test_a_mount_opens_a_directory_below_one_that_is_closed(world, place):
    (place / "closed").mkdir(mode=0o700)
    (place / "closed/open").mkdir(mode=0o755)
    (place / "link").symlink_to(place / "closed/open")
    for source in ("closed/open", "link", "closed/../closed/open"):
        end, _ = run(world, "ls /mnt", bindMounts=[{"hostPath": str(place / source), "containerPath": "/mnt"}])
        assert end["kind"] == "EXIT_KIND_REFUSED" and "may not reach it" in end["text"], source


def test_a_file_of_root_is_read_or_written_through_a_mount(world, place):
    (place / "secret").write_text("secret\n")
    (place / "secret").chmod(0o600)
    _, text = run(world, "cat /mnt/secret; echo mine >/mnt/secret; echo mine >/mnt/new; chown 0 /mnt",
                  bindMounts=[{"hostPath": str(place), "containerPath": "/mnt"}])
    assert "secret\n" not in text.replace("/mnt/secret", "") and (place / "secret").read_text() == "secret\n" and not (place / "new").exists()


def test_the_images_passwd_is_a_link_to_a_file_of_the_machine(world, place):
    """The supervisor, which is root in the container, adds the task's account to the image's /etc/passwd."""
    (place / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    end, _ = run(world, "true", image=LINKED_PASSWD, bindMounts=[{"hostPath": str(place), "containerPath": "/mnt"}])
    assert end["code"] == 0
    assert (place / "passwd").read_text() == "root:x:0:0::/root:/bin/sh\n"


def test_the_directory_of_the_machines_accounts_is_mounted_at_etc(world, place):
    (place / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    run(world, "true", bindMounts=[{"hostPath": str(place), "containerPath": "/etc"}])
    assert (place / "passwd").read_text() == "root:x:0:0::/root:/bin/sh\n"


def test_a_task_reads_the_order_of_its_own_supervisor_or_signals_it(world):
    _, text = run(world, "cat /run/determined.supervisor/spec; ls /run/determined.supervisor; kill -9 1; kill -TERM 1; echo still here")
    assert "still here\n" in text and "DET_SESSION_TOKEN" not in text  # the two streams may come in any order


def test_a_task_gets_rights_by_a_set_user_id_program(world):
    _, text = run(world, "ls -l /bin/busybox-of-root; /bin/busybox-of-root id", image=LINKED_PASSWD)
    assert text.startswith("-rwsr-xr-x") and f"uid={2000000 + OWNER}" in text and "euid=0" not in text


def test_the_source_of_a_mount_is_swapped_after_it_was_checked(place):
    """The container's supervisor sees another directory than the agent has checked."""
    (place / "mounted").mkdir()
    task = Task(place / "task").write(["true"], places=[(str(place / "mounted"), 1, 2)], image="some/image")
    task.prefix = ["timeout", "60"]
    process = task.launch_container()
    try:
        task.connect().finish()
        assert "its source was changed while the container was started" in task.exit[3]
    finally:
        process.kill()
        process.wait()


def test_a_mount_that_cannot_be_looked_at_is_the_machines_fault(place):
    """A disk of the network that fails is no change of the source."""
    task = Task(place / "task").write(["true"], places=[(str(place / "gone"), 1, 2)], image="some/image")
    task.prefix = ["timeout", "60"]
    process = task.launch_container()
    try:
        task.connect().finish()
        assert task.exit[0] == START_FAILED and f"cannot look at what is mounted at {place}/gone" in task.exit[3], task.exit
    finally:
        process.kill()
        process.wait()
