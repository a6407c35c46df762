"""What trials ran in, from the task to det."""
import json

from support.cluster import wait_for
from support.det import det, run_det
from support.experiments import log_of, the_trial

PROGRAM = "from determined import core\nwith core.init() as context:\n    context.train.report_training_metrics(1, {'loss': 1.0})\n"


def trial_with(cluster, version):
    """The trial of an experiment that finds a package of this version."""
    files = {"train.py": PROGRAM, f"packages/some_package-{version}.dist-info/METADATA": ""}
    x = cluster.create(files=files, entrypoint="PYTHONPATH=$PWD/packages:$PYTHONPATH python3 train.py")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]

    def record():
        found = cluster.get(f"/api/v1/trials/{trial}/environments").json["environments"]
        return len(found) == 1 and found[0]["host"] and found[0]["python"] and found[0]

    return trial, wait_for("the record", record)


def test_two_trials_are_compared(cluster):
    (first, record), (second, _) = trial_with(cluster, "1.0"), trial_with(cluster, "2.0")
    assert record["python"]["packages"]["some-package"] == "1.0" and record["python"]["frameworks"]["determined"]
    assert [d["brand"] for d in record["host"]["devices"]] == ["Artificial"]
    assert json.loads(det(cluster, "trial", "compare-environments", first, second, "--json")) == {"package some-package": ["1.0", "2.0"]}
    table = det(cluster, "trial", "compare-environments", first, second).splitlines()
    assert table[0].split("|")[1].strip() == f"Trial {first}" and "some-package" in table[2] and len(table) == 3
    assert det(cluster, "trial", "compare-environments", first, first) == "Both ran in the same environment.\n"
    assert record["host"]["hostname"] in det(cluster, "trial", "describe", first, "--environment")
    assert json.loads(det(cluster, "trial", "describe", first, "--environment", "--json"))["environments"] == [record]


def test_a_program_without_our_library_has_the_python_that_its_agent_sees(cluster, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text("#!/bin/sh\n")
    (tmp_path / "bin/python3").chmod(0o755)
    (tmp_path / "pyvenv.cfg").write_text("version = 3.12.7\n")
    (tmp_path / "lib/python3.12/site-packages/Some_Package-4.0.dist-info").mkdir(parents=True)
    x = cluster.create(entrypoint=f"echo instead of {tmp_path}/bin/python3")
    assert cluster.wait_experiment(x)["state"] == "STATE_COMPLETED", log_of(cluster, x)
    trial = the_trial(cluster, x)["id"]
    [record] = wait_for("the record", lambda: cluster.get(f"/api/v1/trials/{trial}/environments").json["environments"])
    python = record["python"]
    assert python["seenByAgent"] and python["executable"] == f"{tmp_path}/bin/python3", python
    assert (python["version"], python["packages"]["some-package"]) == ("3.12.7", "4.0")
    assert "(seen by the agent)" in det(cluster, "trial", "describe", trial, "--environment")


def test_trials_that_never_ran_are_not_compared(cluster):
    first, _ = trial_with(cluster, "1.0")
    x = cluster.create(entrypoint="true", resources={"slots_per_trial": 16})
    [waiting] = wait_for("its trial", lambda: cluster.trial_ids(x))
    assert cluster.get(f"/api/v1/trials/{waiting}/environments").json["environments"] == []
    for words in ((first, waiting), (999999, first)):
        done = run_det(cluster, "trial", "compare-environments", *words)
        assert done.returncode == 1 and done.stdout == ""
        assert "is not recorded" in done.stderr or "trial '999999' not found" in done.stderr, done.stderr
    cluster.post(f"/api/v1/experiments/{x}/kill")
