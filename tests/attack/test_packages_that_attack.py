"""Packages run code when they are built: what such code tries to do to the agent, to other environments, and after its end."""

import os
import pathlib
import signal
import tarfile
import tempfile

import pytest
from support.control_groups import cgroup_has
from support.fake_master.agents import Agent, Master
from support.waiting import wait_for
from support.wheels import wheel

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only a root agent has another account for builds")

PROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""

# A build backend of its own, so that pip needs no other package to run it.
BACKEND = """
import glob, os, shutil, subprocess, sys
ENVIRONMENT = sys.prefix

def attempt(name, action):
    try:
        print(f"attack {name}: {action()}", file=sys.stderr, flush=True)
    except Exception as e:
        print(f"attack {name}: failed {type(e).__name__}", file=sys.stderr, flush=True)

def get_requires_for_build_wheel(config_settings=None):
    return []

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    attempt("account", lambda: f"{os.getuid()} {sorted(os.getgroups())}")
    attempt("token", lambda: open("AGENT_CONFIG").read())
    attempt("variables", lambda: [v for v in os.environ if v.startswith(("DET_", "AGENTS_"))])
    attempt("neighbour", lambda: [open(f, "a") for f in glob.glob("CACHE/*/env/lib/python3*/site-packages/tiny.py")])
    attempt("mark", lambda: open(glob.glob("CACHE/*/complete")[0], "w"))
    attempt("processes", lambda: [os.kill(int(p), 9) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()
                                  and os.stat("/proc/" + p).st_uid != os.getuid()])
    attempt("daemon", lambda: subprocess.Popen(["setsid", "sleep", "31.4159"], stdin=-3, stdout=-3, stderr=-3).poll())
    attempt("root again", lambda: subprocess.run(["su", "-c", "id"], stdin=-3, capture_output=True, check=True))
    for line in open("/proc/self/status"):
        if line.startswith("NoNewPrivs"):
            attempt("privileges", lambda: line.split()[1])
    shutil.copy("WHEELS/prey-1.0-py3-none-any.whl", wheel_directory + "/evil-1.0-py3-none-any.whl")
    raise SystemExit("no wheel after all")
"""


def sdist(directory, name, files):
    path = directory / f"{name}-1.0.tar.gz"
    with tempfile.TemporaryDirectory() as place, tarfile.open(path, "w:gz") as tar:
        for entry, text in {**files, "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"}.items():
            file = pathlib.Path(place) / entry
            file.write_text(text)
            tar.add(file, f"{name}-1.0/{entry}")
    path.chmod(0o644)


def sleeps():
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and b"31.4159" in (p / "cmdline").read_bytes():
                return True
        except OSError:
            pass
    return False


@pytest.fixture
def site():
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        (place / "wheels").mkdir()
        wheel(place / "wheels", "tiny", "1.0", {"tiny.py": "value = 41\n"})
        wheel(place / "wheels", "prey", "1.0", {"prey.py": ""})
        master = Master()
        agent = Agent(master, place / "agent", python_environments={"dir": str(place / "cache"), "wheels": str(place / "wheels")})
        agent.environment = {"PATH": "/usr/bin:/bin", "AGENTS_SECRET": "another-secret"}
        agent.start()
        (place / "agent" / "agent.yaml").chmod(0o600)
        master.wait_agent()
        yield place, master, agent
        assert agent.kill(signal.SIGTERM) == 0, agent.log_text()
        master.close()


def run(master, requirements, script):
    container = master.start([script], fetchContext=False, python={"interpreter": "", "requirements": requirements})
    return master.finish(container), master.text(container)


def test_a_package_that_is_built_reaches_neither_agent_nor_other_environments_nor_outlives_its_build(site):
    place, master, agent = site
    backend = BACKEND.replace("AGENT_CONFIG", str(place / "agent" / "agent.yaml")).replace("CACHE", str(place / "cache"))
    sdist(place / "wheels", "evil", {"pyproject.toml": PROJECT, "backend.py": backend.replace("WHEELS", str(place / "wheels"))})
    assert "41" in run(master, "tiny==1.0", "python3 -c 'import tiny; print(tiny.value)'")[1]
    exit, log = run(master, "evil==1.0", "true")
    assert exit["kind"] == "EXIT_KIND_REFUSED"
    said = dict(line.strip().split(": ", 1) for line in log.splitlines() if line.strip().startswith("attack "))
    assert said["attack account"] == "2000000 [2000000]"
    assert said["attack variables"] == "[]"
    assert said["attack privileges"] == "1"
    for name in ("token", "neighbour", "mark", "processes", "root again"):
        assert said[f"attack {name}"].startswith("failed "), said
    assert "another-secret" not in log and agent.keys["token"] not in log
    wait_for("the end of what the build has left", lambda: not sleeps())
    assert "41" in run(master, "tiny==1.0", "python3 -c 'import tiny; print(tiny.value)'")[1]


def test_only_wheels_lets_no_package_run_code(site):
    place, master, agent = site
    assert agent.kill(signal.SIGTERM) == 0
    agent.keys["python_environments"]["only_wheels"] = True
    agent.start()
    master.wait_agent(2)
    backend = f"open('{place}/cache/was-here', 'w')\n"
    sdist(place / "wheels", "evil", {"pyproject.toml": PROJECT, "backend.py": backend})
    exit, log = run(master, "evil==1.0", "true")
    assert "the requirements cannot be met" in exit["text"] and not (place / "cache" / "was-here").exists()


@pytest.mark.skipif(not cgroup_has("memory"), reason="this machine gives no control group for memory")
def test_a_package_takes_all_memory_when_it_is_built(site):
    place, master, agent = site
    assert agent.kill(signal.SIGTERM) == 0
    agent.keys["python_environments"]["build_memory"] = "192 MiB"
    agent.start()
    master.wait_agent(2)
    backend = "def get_requires_for_build_wheel(config_settings=None):\n    b = []\n    while True: b.append(bytearray(8 << 20))\n"
    sdist(place / "wheels", "evil", {"pyproject.toml": PROJECT, "backend.py": backend})
    exit, _ = run(master, "evil==1.0", "true")
    assert exit["kind"] == "EXIT_KIND_REFUSED"
    assert "took more memory than the 192 MiB" in exit["text"] and "raise python_environments.build_memory" in exit["text"], exit
    assert not list(pathlib.Path("/sys/fs/cgroup").glob(f"**/determined/python-*-{(place / 'cache').stat().st_ino:x}"))
    assert "41" in run(master, "tiny==1.0", "python3 -c 'import tiny; print(tiny.value)'")[1]
