"""What docs/python-environment.md says about the Python of tasks."""
import subprocess
import tempfile

import pytest
from support.experiments import log_of, shell, task_lines, the_trial

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
    environment = {"environment_variables": [f"PATH={venv}/bin:/usr/bin:/bin", "PYTHONUNBUFFERED="]}
    answer = said(cluster, shell(cluster, SAYS, environment=environment))
    assert (answer["prefix"], answer["buffer"]) == (venv, "")


def test_the_agents_path_chooses_it_otherwise(new_cluster, venv):
    cluster = new_cluster(env={"PATH": f"{venv}/bin:/usr/bin:/bin"}).start_master()
    cluster.start_agent()
    cluster.login()
    answer = said(cluster, shell(cluster, SAYS))
    assert (answer["prefix"], answer["buffer"]) == (venv, "1")


def test_the_user_base_is_the_tasks_own_unless_a_startup_hook_names_another(cluster):
    assert said(cluster, shell(cluster, SAYS))["user"].endswith("/pythonuserbase")
    hook = "export PYTHONUSERBASE=$HOME/.local\n"
    with_hook = said(cluster, shell(cluster, f"echo home=$HOME; {SAYS}", files={"startup-hook.sh": hook}))
    assert with_hook["user"].endswith("/.local")


@pytest.mark.parametrize("entrypoint", ["python3 model_def.py", "model_def:Trial"])
def test_a_package_that_is_missing_is_told_with_the_python_that_misses_it(cluster, venv, entrypoint):
    environment = {"environment_variables": [f"PATH={venv}/bin:/usr/bin:/bin"]}
    files = {"model_def.py": "import no_such_package\n"}
    experiment = cluster.create(files=files, entrypoint=entrypoint, environment=environment, max_restarts=0)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_ERROR"
    [line] = [line for line in task_lines(cluster, the_trial(cluster, experiment)["id"]) if "was not found" in line]
    assert "the module 'no_such_package'" in line and f"which is {venv}/bin/python3," in line, line
    assert "docs/python-environment.md" in line


def test_the_user_base_of_the_configuration_counts(cluster):
    environment = {"environment_variables": ["PYTHONUSERBASE=/opt/mine"]}
    assert said(cluster, shell(cluster, SAYS, environment=environment))["user"] == "/opt/mine"
