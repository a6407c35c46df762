"""What docs/python-environment.md says about the Python of tasks."""
import subprocess
import tempfile

import pytest
from e2e.helpers import log_of, shell, task_lines, the_trial

SAYS = 'python3 -c "import os, site, sys; print(\'prefix=\' + sys.prefix, \'user=\' + site.getuserbase(), \'buffer=\' + os.environ.get(\'PYTHONUNBUFFERED\', \'no\'))"'


@pytest.fixture
def cluster(new_cluster):
    c = new_cluster().start_master()
    c.start_agent()
    c.login()
    return c


@pytest.fixture
def venv():
    """A virtual environment that every user can read, with a package of its own."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["chmod", "755", directory], check=True)
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{directory}/training"], check=True)
        yield f"{directory}/training"


def said(cluster, experiment):
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED", log_of(cluster, experiment)
    [line] = [line for line in task_lines(cluster, the_trial(cluster, experiment)["id"]) if line.startswith("prefix=")]
    return dict(word.split("=", 1) for word in line.split())


def test_a_path_in_the_configuration_chooses_the_python(cluster, venv):
    environment = {"environment_variables": [f"PATH={venv}/bin:/usr/bin:/bin", "PYTHONUNBUFFERED=1"]}
    answer = said(cluster, shell(cluster, SAYS, environment=environment))
    assert (answer["prefix"], answer["buffer"]) == (venv, "1")


def test_the_agents_path_chooses_it_otherwise(new_cluster, venv):
    cluster = new_cluster(env={"PATH": f"{venv}/bin:/usr/bin:/bin"}).start_master()
    cluster.start_agent()
    cluster.login()
    assert said(cluster, shell(cluster, SAYS))["prefix"] == venv


def test_the_user_base_is_the_tasks_own_unless_a_startup_hook_names_another(cluster):
    assert said(cluster, shell(cluster, SAYS))["user"].endswith("/pythonuserbase")
    hook = "export PYTHONUSERBASE=$HOME/.local\n"
    with_hook = said(cluster, shell(cluster, f"echo home=$HOME; {SAYS}", files={"startup-hook.sh": hook}))
    assert with_hook["user"].endswith("/.local")
