"""Tests the Python of tasks: interpreters, environments that agents make of requirements, extras, the cache and its limits.

Packages come from a directory of wheels that the tests write, so no network is needed. Where a test has to hold a build, or look into
it, a script takes the place of uv.
"""

import os
import pathlib
import shutil
import signal
import stat
import sys

import pytest
from support.fake_master.agents import Agent
from support.processes import alive
from support.waiting import wait_for
from support.wheels import wheel

ROOT = os.geteuid() == 0
PYTHON = "/usr/bin/python3"
BUILDER = 2000000  # the first id of task_uids, which belongs to no user
UV = os.environ.get("DET_TEST_UV") or shutil.which("uv", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
needs_root = pytest.mark.skipif(not ROOT, reason="only a root agent has an account for builds, and other accounts for tasks")


# Takes the place of uv: makes an environment without pip, and pretends to install. %s is a directory where the test watches it.
FAKE_UV = """#!/bin/sh
if [ "$1" = venv ]; then
    for last; do :; done
    exec /usr/bin/python3 -m venv --without-pip "$last"
fi
place=%s
echo "installing as $(id -u) from index $UV_DEFAULT_INDEX with master ${DET_MASTER:-unknown}"
[ ! -e $place/daemon ] || setsid sleep 40.515 >/dev/null 2>&1 </dev/null &
: >$place/started
while [ -e $place/hold ]; do sleep 0.05; done
[ ! -e $place/fail ] || { echo "error: $(cat $place/fail)" >&2; exit 1; }
for env; do case $prev in --python) break;; esac; prev=$env; done
head -c 3000000 /dev/zero >"$(dirname $env)/../big"
"""


class Site:
    """A machine: wheels, a place for environments, and an agent whose PATH begins with `bin`."""

    def __init__(self, master, place):
        self.master, self.place = master, place
        self.cache, self.wheels, self.bin, self.watch = (place / name for name in ("cache", "wheels", "bin", "watch"))
        for directory in (self.wheels, self.bin, self.watch):
            directory.mkdir()
        self.watch.chmod(0o777)
        wheel(self.wheels, "tiny", "1.0", {"tiny.py": "value = 41\n"})
        wheel(self.wheels, "tiny", "2.0", {"tiny.py": "value = 42\n"})
        wheel(self.wheels, "other", "1.0", {"other.py": "value = 'other'\n"})
        self.agent, self.prefix = None, []

    def start(self, **keys):
        self.agent = Agent(self.master, self.place / "agent",
                           python_environments={"dir": str(self.cache), "wheels": str(self.wheels), **keys})
        self.agent.prefix = self.prefix
        self.agent.environment = {"PATH": f"{self.bin}:/usr/bin:/bin"}
        seen = len(self.master.hellos)
        self.agent.start()
        self.master.wait_agent(seen + 1)
        return self

    def fake_uv(self):
        uv = self.bin / "uv"
        uv.write_text(FAKE_UV % self.watch)
        uv.chmod(0o755)
        return self

    def real_uv(self):
        shutil.copy(UV, self.bin / "uv")
        return self

    def hold(self, on=True):
        (self.watch / "started").unlink(missing_ok=True)
        if on:
            (self.watch / "hold").touch()
        else:
            (self.watch / "hold").unlink()

    def wait_for_build(self):
        wait_for("a build", (self.watch / "started").exists)

    def task(self, script, requirements="", interpreter="", **more):
        return self.master.start([script], fetchContext=False, python={"interpreter": str(interpreter), "requirements": requirements},
                                 **more)

    def run(self, script, requirements="", interpreter="", **more):
        """Returns the task's exit, and its log."""
        container = self.task(script, requirements, interpreter, **more)
        return self.master.finish(container), self.master.text(container)

    def refused(self, *args, **more):
        exit, log = self.run("true", *args, **more)
        assert exit["kind"] == "EXIT_KIND_REFUSED", (exit, log)
        return exit["text"]

    def environments(self):
        return [p for p in self.cache.iterdir() if (p / "complete").exists()] if self.cache.exists() else []

    def stop(self):
        for container in list(self.master.expected):
            if container not in self.master.done and self.agent and self.agent.process.poll() is None:
                self.master.signal(container, signal.SIGKILL)
                self.master.finish(container)
        if self.agent and self.agent.process.poll() is None:
            assert self.agent.kill(signal.SIGTERM) == 0, self.agent.log_text()


@pytest.fixture
def site(master, place):
    s = Site(master, place)
    yield s
    s.stop()


IMPORT = "python3 -c 'import tiny, sys; print(\"tiny\", tiny.value, sys.prefix)'"


def sleeper_runs():
    for p in pathlib.Path("/proc").iterdir():
        try:
            if p.name.isdigit() and b"40.515" in (p / "cmdline").read_bytes():
                return True
        except OSError:
            pass
    return False


def builders_of(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in children if b"python-environment" in pathlib.Path(f"/proc/{c}/cmdline").read_bytes()]


# ---- requirements ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("installer", ["pip", pytest.param("uv", marks=pytest.mark.skipif(not UV, reason="uv is not installed"))])
def test_one_environment_is_made_for_two_tasks_and_found_by_a_third(site, installer):
    if installer == "uv":
        site.real_uv()
    site.start()
    two = [site.task(IMPORT, "tiny==1.0  # the older one\n\n") for _ in range(2)]
    logs = [(site.master.finish(c), site.master.text(c)) for c in two]
    for exit, log in logs:
        assert exit.get("code", 0) == 0 and "tiny 41" in log and str(site.cache) in log, log
    assert sum(f"Making a Python environment for this task with {installer}" in log for _, log in logs) == 1
    assert len(site.environments()) == 1
    exit, log = site.run(IMPORT, "# the same packages\ntiny==1.0")
    assert "tiny 41" in log and "Making" not in log
    exit, log = site.run(IMPORT, "tiny")
    assert "tiny 42" in log and len(site.environments()) == 2


def test_the_library_is_imported_in_an_environment_as_everywhere(site):
    exit, log = site.start().run("python3 -c 'import determined, tiny; print(determined.__version__, determined.__file__)'", "tiny")
    assert exit.get("code", 0) == 0 and "/python/determined/__init__.py" in log, log


@needs_root
def test_tasks_read_an_environment_and_cannot_change_it(site):
    exit, log = site.start().run("touch $VIRTUAL_ENV/mine; rm -rf $VIRTUAL_ENV/lib; id -u; " + IMPORT, "tiny==1.0")
    assert "tiny 41" in log and log.count("Read-only file system") + log.count("Permission denied") >= 2, log
    (environment,) = site.environments()
    for path in [environment, *environment.rglob("*")]:
        st = path.lstat()
        assert st.st_uid == 0 and (stat.S_ISLNK(st.st_mode) or not st.st_mode & 0o022), path


@pytest.mark.skipif(not ROOT, reason="only root can start an agent as another user")
def test_under_an_agent_that_is_not_root_tasks_read_an_environment_too(site):
    site.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={site.place}"]
    (site.place / "agent").mkdir()
    for directory in (site.place, site.place / "agent"):
        directory.chmod(0o777)
    exit, log = site.start().run("touch $VIRTUAL_ENV/mine; id -u; " + IMPORT, "tiny==1.0")
    assert exit.get("code", 0) == 0 and "tiny 41" in log, log
    if "this machine refuses" not in log:
        assert "Read-only file system" in log
    (environment,) = site.environments()
    assert environment.stat().st_uid == 65534


@needs_root
def test_packages_are_installed_by_an_account_of_nobody_without_the_agents_variables(site):
    exit, log = site.fake_uv().start().run("true", "tiny")
    assert f"installing as {BUILDER} " in log and "with master unknown" in log


@needs_root
def test_a_process_that_a_build_leaves_behind_is_ended(site):
    (site.watch / "daemon").touch()
    exit, log = site.fake_uv().start().run("true", "tiny")
    assert exit.get("code", 0) == 0 and not sleeper_runs(), log


# ---- progress, and ends that come in the middle ------------------------------------------------------------------------------


def test_progress_is_in_the_log_while_the_environment_is_made(site):
    site.fake_uv().start().hold()
    container = site.task("echo from the task", "tiny")
    site.master.wait(lambda: "installing as" in site.master.text(container))
    assert site.master.states_of(container) == ["STATE_PULLING"]
    site.master.drop()  # what is written meanwhile is sent afterwards
    site.master.wait_agent(2)
    site.hold(False)
    assert site.master.finish(container).get("code", 0) == 0
    log = site.master.text(container)
    assert log.index("installing as") < log.index("The Python environment is ready") < log.index("from the task")
    assert sorted(site.master.lines[container]) == list(range(1, len(site.master.lines[container]) + 1))


def test_a_build_ends_with_its_task_and_the_next_task_makes_it_anew(site):
    (site.watch / "daemon").touch()
    site.fake_uv().start().hold()
    container = site.task("true", "tiny")
    site.wait_for_build()
    waiting = site.task("echo made after all", "tiny")
    site.master.wait(lambda: "Waiting for the same Python environment" in site.master.text(waiting))
    site.master.signal(container, signal.SIGKILL)
    assert site.master.finish(container)["text"] == "killed before it was started"
    site.hold(False)
    assert site.master.finish(waiting).get("code", 0) == 0
    log = site.master.text(waiting)
    assert "Making a Python environment" in log and "made after all" in log
    wait_for("the end of the first build's processes", lambda: not sleeper_runs())
    assert len(site.environments()) == 1


@pytest.mark.parametrize("also_the_builder", [False, True])
def test_an_agent_that_is_killed_in_a_build_leaves_nothing_that_counts_and_the_next_one_begins_again(site, also_the_builder):
    (site.watch / "daemon").touch()
    site.fake_uv().start().hold()
    container = site.task("echo made after all", "tiny")
    site.wait_for_build()
    (builder,) = builders_of(site.agent.process.pid)
    site.agent.process.send_signal(signal.SIGSTOP)  # so that it does not notice
    if also_the_builder:
        os.kill(builder, signal.SIGKILL)
    site.agent.kill(signal.SIGKILL)
    if ROOT or not also_the_builder:
        wait_for("the end of the build", lambda: not sleeper_runs() and not alive(builder))
    assert site.environments() == [] and any(site.cache.glob("*/env")) == also_the_builder
    site.hold(False)
    site.agent.start()
    assert site.master.finish(container).get("code", 0) == 0
    log = site.master.text(container)
    assert log.index("The agent was restarted") < log.index("The Python environment is ready") < log.index("made after all"), log
    assert sorted(site.master.lines[container]) == list(range(1, len(site.master.lines[container]) + 1))
    assert len(site.environments()) == 1
    wait_for("the removal of the task", lambda: not (site.place / "agent/tasks" / container).exists())


def test_a_task_that_was_killed_in_a_build_does_not_begin_again(site):
    site.fake_uv().start().hold()
    container = site.task("true", "tiny")
    site.wait_for_build()
    (builder,) = builders_of(site.agent.process.pid)
    site.agent.kill(signal.SIGKILL)
    wait_for("the end of the first build", lambda: not alive(builder))
    site.master.expected.pop(container)  # killed while the agent is away
    seen = len(site.master.hellos)
    site.agent.start()
    site.master.wait_agent(seen + 1)
    site.hold(False)
    wait_for("the removal of the task", lambda: not (site.place / "agent/tasks" / container).exists())
    wait_for("the end of the build", lambda: not builders_of(site.agent.process.pid))
    assert site.environments() == [] and "The Python environment is ready" not in site.master.text(container)


def test_an_agent_that_is_stopped_ends_its_builds(site):
    (site.watch / "daemon").touch()
    site.fake_uv().start().hold()
    site.task("true", "tiny")
    site.wait_for_build()
    (builder,) = builders_of(site.agent.process.pid)
    assert site.agent.kill(signal.SIGTERM) == 0
    wait_for("the end of the build", lambda: not sleeper_runs() and not alive(builder))
    assert site.environments() == []


# ---- the cache ---------------------------------------------------------------------------------------------------------------


def test_the_least_recently_used_environment_goes_first_and_none_that_is_in_use(site):
    site.fake_uv().start(max_size="10 MiB")
    used = site.task("echo runs; sleep 300", "first")
    site.master.wait(lambda: "runs" in site.master.text(used))
    (first,) = site.environments()
    site.run("true", "second")
    (second,) = set(site.environments()) - {first}
    site.run("true", "third")
    site.run("true", "second")  # used again: the third is older now
    (third,) = set(site.environments()) - {first, second}
    exit, log = site.run("true", "fourth")
    assert exit.get("code", 0) == 0 and {first, second} < set(site.environments()) and third not in site.environments(), log
    site.agent.kill(signal.SIGKILL)  # the task's supervisor goes on to hold it
    site.start(max_size="10 MiB")
    for name in ("fifth", "sixth"):
        assert site.run("true", name)[0].get("code", 0) == 0
    assert first in site.environments() and second not in site.environments()


def test_an_environment_that_does_not_fit_is_refused_with_the_option_to_raise(site):
    text = site.fake_uv().start(max_size="1 MiB").refused("tiny")
    assert "cannot be kept" in text and "may hold 1 MiB" in text and "python_environments.max_size" in text
    assert site.environments() == [] and not any(site.cache.glob("*/env"))


def test_a_build_that_takes_too_long_is_ended_and_the_option_is_named(site):
    (site.watch / "daemon").touch()
    site.fake_uv().start(build_timeout=1).hold()
    text = site.refused("tiny")
    assert "took longer than 1 s, and was ended" in text and "raise python_environments.build_timeout of the agent" in text
    assert site.environments() == [] and not sleeper_runs()
    site.hold(False)


def test_a_full_disk_is_told_as_what_it_is(site):
    (site.watch / "fail").write_text("failed to write to file: No space left on device (os error 28)")
    text = site.fake_uv().start().refused("tiny")
    assert f"the disk of {site.cache} is full" in text and "python_environments.dir" in text


def test_two_agents_share_environments(site, master, place):
    site.fake_uv().start()
    site.run("true", "tiny")
    assert site.agent.kill(signal.SIGTERM) == 0
    site.place = place / "second"
    site.place.mkdir(mode=0o755)
    exit, log = site.start().run("echo found", "tiny")
    assert "found" in log and "Making" not in log


# ---- what cannot be made -----------------------------------------------------------------------------------------------------


def test_requirements_that_no_wheel_meets_are_refused_with_the_package_and_the_directory(site):
    text = site.start().refused("tiny==7.0")
    assert "the requirements cannot be met" in text and "tiny==7.0" in text and str(site.wheels) in text


@pytest.mark.skipif(not UV, reason="uv is not installed")
def test_uv_says_as_well_what_is_missing(site):
    text = site.real_uv().start().refused("nothing-of-the-kind")
    assert "the requirements cannot be met" in text and "nothing-of-the-kind" in text and str(site.wheels) in text


@pytest.mark.parametrize("installer", ["pip", pytest.param("uv", marks=pytest.mark.skipif(not UV, reason="uv is not installed"))])
def test_without_network_the_task_is_refused_with_what_to_do(site, installer):
    if installer == "uv":
        site.real_uv()
    text = site.start(wheels="", index_url="http://127.0.0.1:9/simple").refused("tiny")
    assert "the package index cannot be reached" in text and "python_environments.wheels" in text


def test_a_password_of_an_index_is_in_no_log(site):
    site.fake_uv().start(wheels="", index_url="https://ada:geheim-4711@packages.example/simple")
    exit, log = site.run("true", "tiny")
    assert "from index https://***@packages.example/simple" in log
    assert "geheim-4711" not in log + site.agent.log_text()


def test_a_directory_of_wheels_that_is_not_there_is_named(site):
    text = site.start(wheels=str(site.place / "nowhere")).refused("tiny")
    assert str(site.place / "nowhere") in text and "python_environments.wheels" in text


def test_wheels_and_an_index_exclude_each_other(site):
    site.agent = Agent(site.master, site.place / "agent", python_environments={"wheels": "/w", "index_url": "https://x/simple"}).start()
    assert site.agent.process.wait(60) != 0 and "no index is asked" in site.agent.log_text()


def test_requirements_that_name_files_of_the_agent_are_refused_by_the_agent_too(site):
    assert "names a file" in site.start().refused("/etc/shadow")


# ---- interpreters ------------------------------------------------------------------------------------------------------------


def test_an_interpreter_by_its_path_is_python3_of_the_task(site):
    python = site.place / "strange" / "python9"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\nSTRANGE=yes exec {PYTHON} \"$@\"\n")
    python.chmod(0o755)
    exit, log = site.start().run("python3 -c 'import os; print(os.environ[\"STRANGE\"])'; echo $DET_PYTHON_EXECUTABLE", interpreter=python)
    assert "yes\n" in log and str(python) in log, log


def test_the_directory_of_an_environment_is_enough(site):
    conda = site.place / "conda"
    (conda / "bin").mkdir(parents=True)
    (conda / "conda-meta").mkdir()
    (conda / "bin" / "python3").symlink_to(PYTHON)
    exit, log = site.start().run("command -v python3; echo in $VIRTUAL_ENV", interpreter=f"{conda}/")
    assert f"{conda}/bin/python3" in log and f"in {conda}" in log


def test_an_environment_is_made_with_the_interpreter_that_is_named(site):
    exit, log = site.start().run(IMPORT, "tiny==1.0", interpreter=PYTHON)
    assert "tiny 41" in log


@pytest.mark.parametrize("path, words", [
    ("/no/such/python", ["there is no /no/such/python on this agent's machine", "install it"]),
    ("/usr/share", ["the directory /usr/share has no bin/python3", "conda or virtual environment"]),
    ("/etc/passwd", ["/etc/passwd is no program"]),
])
def test_an_interpreter_that_is_none_is_refused_with_a_sentence(site, path, words):
    text = site.start().refused(interpreter=path)
    assert all(word in text for word in words), text


def test_a_program_that_is_no_python_cannot_make_an_environment(site):
    assert "/bin/ls does not run as a Python interpreter" in site.start().refused("tiny", interpreter="/bin/ls")


@needs_root
def test_a_python_that_only_its_owner_can_read_makes_no_environment(site):
    home = site.place / "home"
    home.mkdir(mode=0o700)
    (home / "python3").symlink_to(PYTHON)
    shutil.copy(PYTHON, home / "python9")
    text = site.start().refused("tiny", interpreter=home / "python9")
    assert f"(uid {BUILDER}) may not run {home}/python9" in text


@needs_root
def test_an_environment_is_made_with_the_first_python_that_every_user_may_run(site):
    """A root agent started from a shell often has a Python below /root first on its PATH."""
    home = site.place / "home"
    home.mkdir(mode=0o700)
    shutil.copy(PYTHON, home / "python3")
    exit, log = site.start().run(IMPORT, "tiny==1.0", more_env=[f"PATH={home}:/usr/bin:/bin"])
    assert "tiny 41" in log, (exit, log)
    assert f"The task runs with /usr/bin/python3: {home}/python3 comes first on PATH, but not every user may run it" in log


def test_without_any_python_the_task_is_told_so(site):
    site.start()
    text = site.refused("tiny", more_env=["PATH=/nowhere"])
    assert "there is no python3 on its PATH (/nowhere)" in text


# ---- extras ------------------------------------------------------------------------------------------------------------------


def lists_of(site):
    lists = site.place / "lists"
    lists.mkdir()
    digest = wheel(site.wheels, "jupyterlab", "9.0", {"jupyterlab.py": "value = 'lab'\n"})
    (lists / "notebook.txt").write_text(f"jupyterlab==9.0 \\\n    --hash=sha256:{digest}\n")
    return {"lists_dir": str(lists)}


BOTH = "python3 -c 'import jupyterlab, tiny; print(jupyterlab.value, tiny.value)'"


def test_a_notebook_gets_what_it_needs_above_the_packages_of_the_task(site):
    site.start(**lists_of(site))
    exit, log = site.run(BOTH, "tiny==1.0", extras=["notebook"])
    assert exit.get("code", 0) == 0 and "lab 41" in log and log.count("Making a Python environment") == 2, log
    exit, log = site.run(IMPORT, "tiny==1.0")
    assert "tiny 41" in log and "Making" not in log, "the environment of the requirements is one of its own"
    exit, log = site.run("python3 -c 'import jupyterlab'", extras=["notebook"])
    assert exit.get("code", 0) == 0 and log.count("Making a Python environment") == 1, log


def test_a_python_that_has_what_a_notebook_needs_is_used_as_it_is(site):
    keys = lists_of(site)
    (site.place / "lists" / "notebook.txt").unlink()
    wheel(site.wheels, "jupyterlab", "8.0", {"jupyterlab.py": "value = 'own'\n"})
    exit, log = site.start(**keys).run(BOTH, "tiny==1.0\njupyterlab==8.0", extras=["notebook"])
    assert "own 41" in log and log.count("Making a Python environment") == 1, log


def test_a_package_with_another_hash_is_refused(site):
    keys = lists_of(site)
    wheel(site.wheels, "jupyterlab", "9.0", {"jupyterlab.py": "value = 'evil'\n"})
    assert "does not have the hash" in site.start(**keys).refused(extras=["notebook"])


def test_a_list_that_is_not_installed_is_named(site):
    text = site.start(lists_dir=str(site.place)).refused(extras=["tensorboard"])
    assert "the list of packages for a tensorboard" in text and str(site.place / "tensorboard.txt") in text


def test_an_extra_that_this_agent_does_not_know_is_refused(site):
    assert 'knows no list of packages "cafe"' in site.start().refused(extras=["cafe"])
