"""Experiments, trials and checkpoints with the released command line: what it prints and what the master then holds."""
import base64
import csv
import io
import json
import re
import tarfile

import pytest
from released import CONTEXTS
from support.cluster import wait_for

TRAIN = CONTEXTS / "train"


def table(text):
    """Rows of a `presto` table as lists of cells, the header first."""
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
    return [lines[0]] + lines[2:]


def create(det, config, *words, context=TRAIN):
    out = det(f"experiment create {' '.join(words)} {config} {context}")
    return int(re.search(r"Created experiment (\d+)\n", out).group(1))


def test_create_follow__tells_the_story_to_its_end(finished):
    experiment, out = finished
    for words in (f"Created experiment {experiment}\n", "Waiting for first trial to begin...", "Following first trial with ID",
                  "training starts", "resources exited successfully with a zero exit code", "Trial log stream ended."):
        assert words in out, out


def test_describe__shows_experiment_trials_and_workloads(det, finished):
    experiment, _ = finished
    out = det(f"experiment describe --metrics {experiment}")
    assert [line for line in out.splitlines() if line.endswith(":")] == ["Experiment:", "Trials:", "Workloads:"]
    blocks = dict(zip(("experiment", "trials", "workloads"), re.split(r"\w+:\n", out)[1:]))
    header, row = table(blocks["experiment"].strip())
    shown = dict(zip(header, row))
    assert (shown["Experiment ID"], shown["State"], shown["Progress"], shown["Name"], shown["Description"], shown["Labels"]) == \
        (str(experiment), "COMPLETED", "100.0%", "compat", "three steps", "one")
    workloads = table(blocks["workloads"].strip())
    assert "Training Metric: loss" in workloads[0] and "Validation Metric: accuracy" in workloads[0]
    assert [row[1] for row in workloads[1:]] == ["1", "2", "3"]


def test_describe__as_json_and_csv_and_into_a_directory(det, finished, tmp_path):
    experiment, _ = finished
    [document] = json.loads(det(f"experiment describe --json {experiment}"))
    assert document["experiment"]["id"] == experiment and document["config"]["hyperparameters"]["units"] == {"type": "const", "val": 4}
    assert f"\n{experiment},COMPLETED,100.0%," in det(f"experiment describe --csv {experiment}")
    (tmp_path / "out").mkdir()
    det(f"experiment describe --metrics --outdir {tmp_path / 'out'} {experiment}")
    read = {p.name: list(csv.DictReader(p.open())) for p in (tmp_path / "out").iterdir()}
    assert sorted(read) == ["experiments.csv", "trials.csv", "workloads.csv"]
    assert [row["Validation Metric: loss"] for row in read["workloads.csv"]] == ["1.5", "0.75", "0.5"]


def test_lists__of_experiments_trials_and_checkpoints(det, cluster, finished):
    experiment, _ = finished
    [trial] = cluster.trial_ids(experiment)
    header, *rows = table(det("experiment list"))
    assert header == ["ID", "Owner", "Name", "Parent ID", "State", "Progress", "Started", "Ended", "Resource Pool"]
    assert [str(experiment), "determined"] in [row[:2] for row in rows]
    assert table(det("experiment list --show_project"))[0][:2] == ["Workspace", "Project"]
    [row] = list(csv.DictReader(io.StringIO(det(f"experiment list-trials --csv {experiment}"))))
    assert (row["Trial ID"], row["State"], row["# of Batches"]) == (str(trial), "COMPLETED", "3")
    rows = list(csv.DictReader(io.StringIO(det(f"experiment list-checkpoints --csv {experiment}"))))
    assert [row["# of Batches"] for row in rows] == ["1", "2", "3"]
    assert rows[0]["Resources"].splitlines() == ["metadata.json", "state.txt"]
    [best] = list(csv.DictReader(io.StringIO(det(f"experiment list-checkpoints --csv --best 1 {experiment}"))))
    assert (best["# of Batches"], best["Validation Metric"]) == ("3", "0.5")


def test_logs__head_tail_and_filters(det, cluster, finished):
    experiment, _ = finished
    [trial] = cluster.trial_ids(experiment)
    every = det(f"experiment logs {experiment}").splitlines()[:-1]
    task = cluster.get(f"/api/v1/trials/{trial}").json["trial"]["taskId"]
    assert det(f"trial logs {trial}").splitlines()[:-1] == every
    assert det(f"task logs {task}").splitlines()[:-1] == every
    assert det(f"trial logs --head 2 {trial}").splitlines()[:-1] == every[:2]
    assert det(f"trial logs --tail 2 {trial}").splitlines()[:-1] == every[-2:]
    assert det(f"trial logs -f {trial}").splitlines()[:-1] == every
    from_task = det(f"trial logs --source task {trial}").splitlines()[:-1]
    assert len(from_task) == 1 and from_task[0].endswith("training starts")
    assert re.fullmatch(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\] \w{8} \|\| training starts", from_task[0])


def test_trial_describe__in_all_forms(det, cluster, finished):
    experiment, _ = finished
    [trial] = cluster.trial_ids(experiment)
    out = det(f"trial describe --metrics {trial}")
    assert "Summary Metrics" in out and "Workloads:" in out and '"loss": 1.5' in out
    document = json.loads(det(f"trial describe --json {trial}"))
    assert document["trial"]["experimentId"] == experiment and document["workloads"]
    assert f"\n{experiment},COMPLETED," in det(f"trial describe --csv {trial}")


def test_checkpoints__are_described_and_downloaded(det, cluster, finished, tmp_path):
    experiment, _ = finished
    [trial] = cluster.trial_ids(experiment)
    checkpoints = cluster.get(f"/api/v1/trials/{trial}/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER").json["checkpoints"]
    uuid = checkpoints[1]["uuid"]
    header, row, *_ = table(det(f"checkpoint describe {uuid}"))
    assert dict(zip(header, row))["Checkpoint UUID"] == uuid and dict(zip(header, row))["Steps Completed"] == "2"
    assert det(f"checkpoint download -q -o {tmp_path / 'one'} {uuid}") == f"{tmp_path / 'one'}\n"
    assert (tmp_path / "one/state.txt").read_text() == "2"
    assert det(f"trial download -o {tmp_path / 'two'} --latest {trial}").startswith(f"Local checkpoint path:\n{tmp_path / 'two'}")
    assert (tmp_path / "two/state.txt").exists()


@pytest.mark.parametrize("client", ["det", "ours"])
def test_checkpoints__are_downloaded_through_the_master(client, request, cluster, finished, tmp_path):
    experiment, _ = finished
    [trial] = cluster.trial_ids(experiment)
    uuid = cluster.get(f"/api/v1/trials/{trial}/checkpoints?sortByAttr=SORT_BY_BATCH_NUMBER").json["checkpoints"][1]["uuid"]
    run = request.getfixturevalue(client)
    moved = cluster.storage.with_name("elsewhere")
    assert run(f"checkpoint download -q --mode master -o {tmp_path / 'sub/one'} {uuid}") == f"{tmp_path / 'sub/one'}\n"
    assert (tmp_path / "sub/one/state.txt").read_text() == "2" and (tmp_path / "sub/one/metadata.json").exists()
    assert [p.name for p in (tmp_path / "sub").iterdir()] == ["one"] and not moved.exists()


def test_model_definition_and_config__come_back_as_sent(det, finished, tmp_path):
    experiment, _ = finished
    det(f"experiment download-model-def --output-dir {tmp_path} {experiment}")
    [archive] = tmp_path.glob("*model_def*")
    with tarfile.open(archive) as tar:
        assert tar.extractfile("train.py").read() == (TRAIN / "train.py").read_bytes()
    config = det(f"experiment config {experiment}")
    assert "entrypoint: python3 train.py" in config and "name: single" in config


def test_changes__of_name_description_labels_and_archive(det, cluster, finished):
    experiment, _ = finished
    assert det(f"experiment set name {experiment} renamed") == f"Set name of experiment {experiment} to 'renamed'\n"
    assert det(f"experiment set description {experiment} told") == f"Set description of experiment {experiment} to 'told'\n"
    assert det(f"experiment label add {experiment} two") == f"Added label 'two' to experiment {experiment}\n"
    assert det(f"experiment label remove {experiment} one") == f"Removed label 'one' from experiment {experiment}\n"
    assert det(f"experiment archive {experiment}") == f"Archived experiment {experiment}\n"
    shown = cluster.experiment(experiment)
    assert (shown["name"], shown["description"], shown["labels"], shown["archived"]) == ("renamed", "told", ["two"], True)
    assert str(experiment) not in [row[0] for row in table(det("experiment list"))]
    assert [str(experiment), "True"] in [[row[0], row[-1]] for row in table(det("experiment list --all"))]
    assert det(f"experiment unarchive {experiment}") == f"Unarchived experiment {experiment}\n"
    for undo in ("set name {} compat", "set description {} 'three steps'", "label remove {} two", "label add {} one"):
        det("experiment " + undo.format(experiment))


def test_life__paused_activated_paused_canceled(det, cluster, config):
    experiment = create(det, config, "--paused", "--config name=slow", "--config", "'entrypoint=sleep 60'")
    assert cluster.experiment(experiment)["state"] == "STATE_PAUSED" and cluster.experiment(experiment)["name"] == "slow"
    assert det(f"experiment activate {experiment}") == f"Activated experiment {experiment}\n"
    wait_for("its task to run", lambda: cluster.experiment(experiment)["state"] == "STATE_RUNNING")
    header, row = table(det("task list"))
    assert dict(zip(header, row))["Name"].startswith("Trial ") and dict(zip(header, row))["Agent"] == "agent0"
    header, row = table(det("job list"))
    job = dict(zip(header, row))
    assert job["Job Name"] == f"slow ({experiment})" and job["Slots (acquired/needed)"] == "1/1" and job["User"] == "determined"
    det(f"job update {job['ID']} --priority 7")
    assert dict(zip(*table(det("job list"))))["Priority"] == "7"
    det(f"job update-batch {job['ID']}.priority=8")
    assert dict(zip(*table(det("job list"))))["Priority"] == "8"
    assert det.run(f"job update {job['ID']} --priority 100").status == 1
    assert "resource pool is unchanged" in det.run(f"job update {job['ID']} --resource-pool default").err
    assert "does not exist" in det.run(f"job update-batch {job['ID']}.resource-pool=nowhere").err
    assert "has no weights" in det.run(f"job update {job['ID']} --weight 2").err
    assert [row[6] for row in table(det("slot list"))[1:]].count("FREE") == 1
    assert det(f"experiment pause {experiment}") == f"Paused experiment {experiment}\n"
    assert cluster.experiment(experiment)["state"] == "STATE_PAUSED"
    assert det(f"experiment cancel {experiment}") == f"Canceled experiment {experiment}\n"
    assert det(f"experiment kill {experiment}") == f"Killed experiment {experiment}\n"
    assert det.run(f"experiment wait {experiment}").status == 1
    assert cluster.wait_experiment(experiment)["state"] == "STATE_CANCELED"


def test_trial_kill__ends_a_running_trial(det, cluster, config):
    experiment = create(det, config, "--config", "'entrypoint=sleep 60'")
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    wait_for("its task to run", lambda: cluster.experiment(experiment)["state"] == "STATE_RUNNING")
    assert det(f"trial kill {trial}") == f"Killed trial {trial}\n"
    cluster.wait_experiment(experiment)
    assert cluster.get(f"/api/v1/trials/{trial}").json["trial"]["state"] == "STATE_CANCELED"


def test_wait__succeeds_only_for_what_completed(det, cluster, config, finished):
    assert det.run(f"experiment wait {finished[0]}").status == 0
    failing = create(det, config, "--config", "'entrypoint=echo no luck; exit 1'")
    assert det.run(f"experiment wait {failing}").status == 1
    log = det(f"experiment logs {failing}")
    assert "no luck" in log and "container failed with non-zero exit code: 1" in log


def test_support_bundle__holds_what_the_released_client_shows_of_the_trial(det, ours, cluster, finished, tmp_path):
    [trial] = cluster.trial_ids(finished[0])
    (tmp_path / "to").mkdir()
    path = re.fullmatch(r"bundle path: (.*)\n", ours(f"trial support-bundle {trial} -o {tmp_path / 'to'}")).group(1)
    with tarfile.open(path) as tar:
        files = {m.name.split("/")[1]: tar.extractfile(m).read().decode() for m in tar}
    log = det(f"trial logs {trial}")
    assert "training starts" in files["trial_logs.txt"] and log.startswith(files["trial_logs.txt"])
    described = json.loads(det(f"trial describe --json {trial}"))
    assert json.loads(files["api_trial_call.json"])["summaryMetrics"] == described["trial"]["summaryMetrics"] != {}
    assert json.loads(files["api_experiment_call.json"])["experiment"]["name"] == "compat"
    assert ("master_logs.txt" in files) != ("Left out: the master's logs" in files["README.txt"])


def test_support_bundle__of_the_released_client_is_for_people_who_are_no_admins_too(det, ours, cluster, finished, tmp_path):
    [trial] = cluster.trial_ids(finished[0])
    for client, name in ((det, "released"), (ours, "own")):
        (tmp_path / name).mkdir()
        assert "bundle path: " in client(f"trial support-bundle {trial} -o {tmp_path / name}")
        [path] = (tmp_path / name).iterdir()
        with tarfile.open(path) as tar:
            files = {m.name.split("/")[1]: tar.extractfile(m).read().decode() for m in tar}
        assert "training starts" in files["trial_logs.txt"] and "api_trial_call.json" in files
        assert "Left out: " in files["master_logs.txt" if client is det else "README.txt"]


def test_a_killed_process__is_exit_code_137(det, config):
    experiment = create(det, config, "--config", "'entrypoint=kill -9 $$'")
    assert det.run(f"experiment wait {experiment}").status == 1
    assert "container failed with non-zero exit code: 137" in det(f"experiment logs {experiment}")


def test_test_mode__tries_the_model_definition(det, config):
    out = det(f"experiment create --test {config} {TRAIN} --config searcher.max_length.batches=3")
    assert "Model definition test succeeded!" in out


def test_errors__name_what_is_wrong(det, config, tmp_path):
    done = det.run("experiment create missing.yaml .")
    assert done.status == 2 and "No such file or directory" in done.err, done
    for words, text in (
            ("experiment describe 999999", "experiment '999999' not found"),
            ("trial describe 999999", "trial '999999' not found"),
            ("checkpoint describe 00000000-0000-0000-0000-000000000000", "not found"),
            (f"experiment create {config} {tmp_path / 'non-existent-path'}", "non-existent-path' doesn't exist"),
            (f"experiment create --config nonsense=1 {config} {TRAIN}", 'unknown field "nonsense"')):
        done = det.run(words)
        assert done.status == 1 and text in done.err, done


def test_both_clients_send_the_same_context(det, ours, cluster, config, tmp_path):
    context = tmp_path / "context"
    for name, text in {"train.py": "print(1)", "sub/deep/data.txt": "x" * 5000, "sub/skip.log": "-", ".detignore": "*.log\n/build/\n",
                       "build/out.o": "-", "kept/build/out.o": "+", "__pycache__/m.pyc": "-", "a b/ü.txt": "ü", ".hidden": "h"}.items():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(text)
    (context / "train.py").chmod(0o755)
    (context / "link.py").symlink_to("train.py")
    (context / "linked").symlink_to("sub")
    (context / "empty").mkdir()
    sent = []
    for client in (det, ours):
        experiment = int(client(f"experiment create --paused {config} {context}").split("Created experiment ")[1])
        client(f"experiment kill {experiment}")
        archive = base64.b64decode(cluster.get(f"/api/v1/experiments/{experiment}/model_def").json["b64Tgz"])
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            sent.append(sorted((e.name, e.type, e.mode, e.mtime, tar.extractfile(e).read() if e.isfile() else b"") for e in tar))
    assert sent[0] == sent[1]
    names = [entry[0].rstrip("/") for entry in sent[0]]
    assert "kept/build/out.o" in names and "a b/ü.txt" in names and "link.py" in names and "empty" in names
    assert not {"build", "build/out.o", "sub/skip.log", ".detignore", "__pycache__"} & set(names), names


def test_more_slots_than_there_are__is_a_warning_and_the_experiment_waits(det, cluster, config):
    done = det.run(f"experiment create --config resources.slots_per_trial=1000 {config} {TRAIN}")
    assert done.status == 0 and "requires more slots than currently available" in done.err, done
    experiment = int(done.out.split("Created experiment ")[1])
    assert cluster.experiment(experiment)["state"] == "STATE_QUEUED"
    det(f"experiment kill {experiment}")


def test_too_large_a_context__is_refused_before_it_is_sent(det, config, tmp_path):
    (tmp_path / "large").mkdir()
    with (tmp_path / "large/file").open("wb") as file:
        file.truncate(100 << 20)
    done = det.run(f"experiment create {config} {tmp_path / 'large'}")
    assert done.status == 1 and "maximum allowed size" in done.err, done
