"""What docs/python-environment.md says about the Python of tasks."""
import pathlib
import subprocess
import tempfile

import pytest
from support.experiments import log_of, shell, task_lines, the_trial
from support.wheels import wheel

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


@pytest.fixture
def site():
    """An agent's directory of environments, and a directory of wheels, which every user can read."""
    with tempfile.TemporaryDirectory() as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        (place / "wheels").mkdir()
        wheel(place / "wheels", "tiny", "1.0", {"tiny.py": "value = 41\n"})
        yield place


def with_environments(new_cluster, site, **config):
    cluster = new_cluster(env={"PATH": "/usr/bin:/bin"}, config=config).start_master()
    cluster.start_agent(python_environments={"dir": str(site / "cache"), "wheels": str(site / "wheels")})
    cluster.login()
    return cluster


TRIAL = """import determined as det, sys, tiny
with det.core.init() as core:
    core.train.report_validation_metrics(1, {"loss": float(tiny.value)})
print("prefix=" + sys.prefix)
"""


def test_an_experiment_imports_the_packages_that_it_requires(new_cluster, site):
    cluster = with_environments(new_cluster, site)
    files = {"train.py": TRIAL}
    experiment = cluster.create(files=files, entrypoint="python3 train.py", environment={"python": ["tiny==1.0"]}, max_restarts=0)
    assert said(cluster, experiment)["prefix"].startswith(str(site / "cache"))
    log = log_of(cluster, experiment)
    assert log.index("Making a Python environment") < log.index("The Python environment is ready") < log.index("prefix=")
    config = cluster.get(f"/api/v1/experiments/{experiment}").json["experiment"]["config"]
    assert config["environment"]["python"] == {"requirements": ["tiny==1.0"]}


def test_the_clusters_default_counts_where_an_experiment_names_no_python(new_cluster, site, venv):
    cluster = with_environments(new_cluster, site, task_container_defaults={"python": venv})
    assert said(cluster, shell(cluster, SAYS))["prefix"] == venv
    assert said(cluster, shell(cluster, SAYS, environment={"python": {"requirements": "tiny\n"}}))["prefix"] != venv


def test_requirements_that_cannot_be_met_end_the_experiment_with_the_reason_in_its_log(new_cluster, site):
    cluster = with_environments(new_cluster, site)
    experiment = shell(cluster, "true", environment={"python": ["tiny==9"]}, max_restarts=0)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_ERROR"
    log = log_of(cluster, experiment)
    assert "the task's Python environment cannot be made: the requirements cannot be met" in log and "tiny==9" in log
