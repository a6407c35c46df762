"""What is done to experiments, trials, checkpoints, projects and workspaces: requests, answers, and what is refused."""
import json
import os
import re
import sys
import tarfile

import pytest
from support.fake_master import clients as fake_master


def sent(master):
    """The last request that was not about a login."""
    return master.requests[-1]


@pytest.mark.parametrize("words, said, change", [
    ("set max-slots 1 4", "Set `max_slots` of experiment 1 to 4\n", {"resources": {"maxSlots": 4}}),
    ("set max-slots 1 none", "Set `max_slots` of experiment 1 to None\n", {"resources": {}}),
    ("set weight 1 2.5", "Set `weight` of experiment 1 to 2.5\n", {"resources": {"weight": 2.5}}),
    ("set weight 1 3", "Set `weight` of experiment 1 to 3.0\n", {"resources": {"weight": 3}}),
    ("set notes 1 **bold**", "Set notes of experiment 1 to '**bold**'\n", {"notes": "**bold**"}),
    ("set priority 1 7", "Set `priority` of experiment 1 to 7\n", {"resources": {"priority": 7}}),
    ("set gc-policy --yes --save-experiment-best 1 --save-trial-best 2 --save-trial-latest 3 1",
     "Set GC policy of experiment 1 to\n{'save_experiment_best': 1, 'save_trial_best': 2, 'save_trial_latest': 3}\n",
     {"checkpointStorage": {"saveExperimentBest": 1, "saveTrialBest": 2, "saveTrialLatest": 3}}),
])
def test_set(det, master, words, said, change):
    assert det("experiment", *words.split()) == said
    assert {k: v for k, v in master.patches[0].items() if v is not None} == {"id": 1, **change}


def test_gc_policy_shows_what_goes_and_asks(det, master):
    words = "experiment set gc-policy --save-experiment-best 1 --save-trial-best 1 --save-trial-latest 1 1".split()
    out = det(*words, stdin="n\n")
    assert [line.split("|")[4].strip() for line in out.splitlines() if "COMPLETED" in line] == ["u-1", "u-2", "u-3"]
    assert "Validation Metric (accuracy)" in out and "will delete 3 checkpoints with validations and 0 checkpoints without" in out
    assert "Aborting operations." in out and not master.patches
    assert "Set GC policy" in det(*words, stdin="y\n") and len(master.patches) == 1


@pytest.mark.parametrize("words, method, path, body", [
    ("experiment set log-retention 1 --days 3", "PUT", "/api/v1/experiments/1/retain_logs", {"experimentId": 1, "numDays": 3}),
    ("experiment set log-retention 1 --forever", "PUT", "/api/v1/experiments/1/retain_logs", {"experimentId": 1, "numDays": -1}),
    ("trial set log-retention 1 --days 0", "PUT", "/api/v1/trials/1/retain_logs", {"trialId": 1, "numDays": 0}),
    ("experiment delete-tb-files 1", "DELETE", "/api/v1/experiments/1/tensorboard-files", None),
])
def test_what_is_silent(det, master, words, method, path, body):
    assert det(*words.split()) == ""
    assert sent(master)[0] == method and sent(master)[1] == path and sent(master)[3] == body


def test_move(det, master):
    assert det("experiment", "move", 1, "Uncategorized", "Uncategorized") == 'Moved experiment 1 to project "Uncategorized"\n'
    assert sent(master)[1] == "/api/v1/experiments/1/move" and sent(master)[3]["destinationProjectId"] == 1


def test_continue_sends_what_changes(det, master, tmp_path):
    assert det("experiment", "continue", 1) == "Continued experiment 1\n"
    assert det("experiment", "continue", 1, "--config", "searcher.max_length.batches=9") == "Continued experiment 1\n"
    path = tmp_path / "change.yaml"
    path.write_text("max_restarts: 2 # more patience\n")
    assert det("experiment", "continue", 1, "--config-file", path) == "Continued experiment 1\n"
    assert [p["overrideConfig"] for p in master.patches] == ["{}\n", "searcher:\n  max_length:\n    batches: 9\n", path.read_text()]


def test_continue_follows_and_blames_the_file(det, master, tmp_path):
    out = det("experiment", "continue", 1, "-f")
    assert out.splitlines()[:3] == ["Continued experiment 1", "Waiting for first trial to begin...", "Following first trial with ID 1"]
    path = tmp_path / "change.yaml"
    path.write_text("max_restarts: -2\n")
    master.failures["/api/v1/experiments/continue"] = fake_master.Refusal(400, "<config>.max_restarts (line 1, column 15): must be at least 0")
    assert f"{path}:1:15: <config>.max_restarts: must be" in det.run("experiment", "continue", 1, "--config-file", path).stderr
    assert "--config: <config>.max_restarts: must be" in det.run("experiment", "continue", 1, "--config", "max_restarts=-2").stderr


def test_checkpoints_are_deleted_after_a_question(det, master):
    before = len(master.requests)
    assert det("checkpoint", "delete", "a,b", stdin="n\n").endswith("Stopping deletion of checkpoints.\n")
    assert det("checkpoint", "rm", "a,b", "--glob", "*.pt", stdin="no\n").endswith("Stopping removal of files from checkpoints.\n")
    assert not [r for r in master.requests[before:] if r[0] in ("DELETE",)]
    assert det("checkpoint", "delete", "--yes", "a,,b") == "Deletion of checkpoints a,,b is in progress\n"
    assert sent(master)[:2] == ("DELETE", "/api/v1/checkpoints") and sent(master)[3] == {"checkpointUuids": ["a", "b"]}
    det("checkpoint", "rm", "a", "--glob", "x", "--glob", "y", stdin="y\n")
    assert sent(master)[3] == {"checkpointUuids": ["a"], "checkpointGlobs": ["x", "y"]}


def test_experiment_download_takes_the_best(det, master, tmp_path):
    source = tmp_path / "storage" / fake_master.CHECKPOINT
    source.mkdir(parents=True)
    (source / "state_dict.pth").write_text("weights")
    out = det("experiment", "download", 1, "-o", tmp_path / "to", "-q", "--top-n", 1)
    assert out == f"{tmp_path}/to/{fake_master.CHECKPOINT}\n"
    assert (tmp_path / f"to/{fake_master.CHECKPOINT}/state_dict.pth").read_text() == "weights"
    query = [r for r in master.requests if r[1].endswith("/checkpoints")][-1][2]
    assert query == {"sortByAttr": ["SORT_BY_SEARCHER_METRIC"], "limit": ["1"], "states": ["STATE_COMPLETED"]}
    det.run("experiment", "download", 1, "-o", tmp_path / "to", "--sort-by", "loss", "--smaller-is-better", "false")
    query = [r for r in master.requests if r[1].endswith("/checkpoints")][-1][2]
    assert query["sortByMetric"] == ["loss"] and query["orderBy"] == ["ORDER_BY_DESC"]


def test_projects_and_workspaces_are_described(det, master):
    out = det("project", "describe", "Uncategorized", "Uncategorized")
    assert out.count("Uncategorized") == 1 and "\nAssociated Experiments\n" in out and "größer" in out and "Archived" not in out
    assert "Archived" in det("project", "describe", "Uncategorized", "Uncategorized", "-a")
    assert json.loads(det("project", "describe", "Uncategorized", "Uncategorized", "--json"))["key"] == "UNC"
    det("project", "list-experiments", "Uncategorized", "Uncategorized", "--sort-by", "name", "--order-by", "desc")
    assert sent(master)[2]["projectId"] == ["1"] and sent(master)[2]["sortBy"] == ["SORT_BY_NAME"] and sent(master)[2]["users"] == ["determined"]
    assert len(json.loads(det("project", "list-experiments", "Uncategorized", "Uncategorized", "--json"))) == 3
    assert "Checkpoint Storage Config" in det("workspace", "describe", "Uncategorized")
    assert json.loads(det("workspace", "describe", "Uncategorized", "--json"))["immutable"] is True
    assert det("workspace", "list-projects", "Uncategorized") == det("project", "list", "Uncategorized")


@pytest.mark.parametrize("words, status, said", [
    ("experiment kill 4294967297", 2, "out of range: '4294967297'"),
    ("experiment set max-slots 1 x", 2, "max_slots must be a whole number or none, found 'x'"),
    ("experiment set max-slots 1 99999999999", 2, "max_slots must be a whole number or none"),
    ("experiment set weight 1 heavy", 2, "heavy"),
    ("experiment set priority 1 high", 2, "high"),
    ("experiment set log-retention 1", 1, "Please provide an argument to set log retention"),
    ("experiment set log-retention 1 --days none", 1, "Please provide an argument to set log retention"),
    ("experiment set log-retention 1 --days x", 2, "--days must be a whole number, found 'x'"),
    ("experiment set log-retention 1 --days 32768", 1, "between -1 and 32767 days"),
    ("trial set log-retention 1 --days -2", 1, "between -1 and 32767 days"),
    ("trial set log-retention 1 --days 1 --forever", 2, "not allowed with"),
    ("experiment set gc-policy --save-experiment-best 1 1", 2, "--save-trial-best"),
    ("experiment move 1 Uncategorized nowhere", 1, "project 'nowhere' not found in workspace 'Uncategorized'"),
    ("experiment move 1 nowhere x", 1, "workspace 'nowhere' not found"),
    ("experiment continue 1 --config novalue", 1, "expected key=value"),
    ("experiment continue 1 --config-file /no/such", 2, "/no/such"),
    ("experiment download 1 --top-n 0", 1, "--top-n must be at least 1, found 0"),
    ("experiment download 1 --sort-by loss", 1, "--sort-by and --smaller-is-better must be set together"),
    ("checkpoint delete ,", 2, "name at least one checkpoint"),
    ("checkpoint rm", 2, "checkpoints_uuids"),
    ("project describe Uncategorized nowhere", 1, "project 'nowhere' not found"),
    ("project list-experiments nowhere x", 1, "workspace 'nowhere' not found"),
    ("workspace describe nowhere", 1, "workspace 'nowhere' not found"),
    ("workspace list-projects nowhere", 1, "workspace 'nowhere' not found"),
])
def test_bad_input_is_refused_before_anything_is_changed(det, master, words, status, said):
    done = det.run(*words.split())
    assert done.returncode == status and said in done.stderr, done
    assert not [r for r in master.requests if r[0] not in ("GET",) and "auth/login" not in r[1]]


@pytest.mark.parametrize("words, path", [
    ("experiment set max-slots 1 1", "/api/v1/experiments"), ("experiment move 1 Uncategorized Uncategorized", "/api/v1/experiments"),
    ("experiment continue 1", "/api/v1/experiments"), ("checkpoint delete --yes a", "/api/v1/checkpoints"),
    ("checkpoint rm --yes a --glob x", "/api/v1/checkpoints"), ("experiment set log-retention 1 --forever", "/api/v1/experiments"),
    ("trial set log-retention 1 --forever", "/api/v1/trials"), ("experiment delete-tb-files 1", "/api/v1/experiments"),
    ("experiment download 1", "/api/v1/experiments"), ("experiment set gc-policy --save-experiment-best 0 --save-trial-best 0 --save-trial-latest 0 1",
                                                       "/experiments/1/preview_gc"),
])
def test_the_masters_no_is_passed_on(det, master, words, path):
    master.failures[path] = fake_master.Refusal(404, "it is not there")
    done = det.run(*words.split())
    assert done.returncode == 1 and done.stderr.endswith(": it is not there\n") and done.stdout == "", done


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "asha.yaml"
    path.write_text("name: digits\nsearcher: {name: adaptive_asha, metric: accuracy, max_trials: 9}\n")
    return path


def test_test_mode_judges_the_configuration_then_trains_one_batch(det, master, config):
    out = det("experiment", "create", "--test", config, "--template", "base")
    assert out.startswith("Validating experiment configuration...\nExperiment configuration validation succeeded! \U0001F389\n"
                          "Creating test experiment...\nCreated test experiment 7\nScheduling task.......... [")
    assert out.endswith("Testing checkpointing.... [\u2714]\nModel definition test succeeded! \U0001F389\n")
    judged, test = master.created
    assert judged["config"] == config.read_text() and judged["validateOnly"] is True and judged["template"] == "base"
    assert test["activate"] is True and "template" not in test and "validateOnly" not in test
    assert "searcher:\n  max_length:\n    batches: 1\n  metric: accuracy\n  name: single\n" in test["config"]
    assert "max_restarts: 0\n" in test["config"] and "save_trial_latest: 0\n" in test["config"]
    assert "hyperparameters:\n  lr: 0.1\n" in test["config"] and "description: '[test-mode] '\n" in test["config"]


def test_test_mode_shows_the_log_of_what_failed(det, master, config):
    master.states = ["STATE_ERROR"]
    done = det.run("experiment", "create", "-t", config)
    assert done.returncode == 1 and "[\u2717]" in done.stdout and "INFO: line 5" in done.stdout
    assert "Model definition test failed" in done.stderr
    master.failures["/api/v1/experiments"] = fake_master.Refusal(400, "<config>.searcher (line 2, column 11): no")
    done = det.run("experiment", "create", "-t", config)
    assert done.returncode == 1 and f"{config}:2:11: <config>.searcher: no" in done.stderr and "Creating" not in done.stdout


def run_local(det, tmp_path, entrypoint, *words):
    (tmp_path / "model").mkdir(exist_ok=True)
    path = tmp_path / "local.yaml"
    path.write_text(json.dumps({"entrypoint": entrypoint}))
    return det.run("experiment", "create", "--local", path, tmp_path / "model", *words)


def test_local_runs_the_entrypoint_here(det, master, tmp_path):
    done = run_local(det, tmp_path, "echo in $(basename $PWD); exit 7")
    assert (done.returncode, done.stdout) == (7, "in model\n")
    assert run_local(det, tmp_path, ["printf", "%s|", "a b", "$c"]).stdout == "a b|$c|"
    assert run_local(det, tmp_path, "kill -9 $$").returncode == 137
    assert not master.created


@pytest.mark.parametrize("entrypoint, words, status, said", [
    ([], [], 1, "needs an entrypoint"),
    (None, [], 1, "needs an entrypoint"),
    ("true", ["--template", "t"], 2, "goes without --template"),
    ("true", ["--test"], 1, "trains one batch of a trial class (module:Class); the entrypoint of this configuration is a program"),
    (["model_def:Trial"], ["--test"], 1, "is a program"),
    (["/no/such/program"], [], 127, "/no/such/program: No such file or directory"),
])
def test_local_refuses_what_it_cannot_run(det, tmp_path, entrypoint, words, status, said):
    done = run_local(det, tmp_path, entrypoint, *words)
    assert done.returncode == status and said in done.stderr, done


TRIAL = """
import pathlib
import torch
from determined import pytorch

class Line(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=context.get_hparam("lr")))
        pathlib.Path("seen").write_text(f"{context.get_hparams()} {context.get_experiment_config()['name']} ")

    def build_training_data_loader(self):
        return pytorch.DataLoader([float(i) for i in range(64)], batch_size=self.context.get_per_slot_batch_size())

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        pathlib.Path("trained").open("a").write(f"{batch_idx}\\n")
        loss = self.model(batch.float().unsqueeze(1) / 64).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"loss": self.model(batch.float().unsqueeze(1) / 64).square().mean()}
"""


@pytest.fixture
def train_here(det, tmp_path):
    """Runs `det experiment create --local` of a trial class, with the library that det finds; returns what it did in model/."""
    pytest.importorskip("torch")
    model = tmp_path / "model"
    (model / "nets").mkdir(parents=True)
    (model / "line.py").write_text(TRIAL)
    (model / "nets" / "line.py").write_text(TRIAL)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    (bin_dir / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (bin_dir / "python3").chmod(0o755)

    def run(*words, **changes):
        config = {"name": "here", "entrypoint": "line:Line", "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 5}},
                  "hyperparameters": {"global_batch_size": 8, "lr": {"type": "log", "base": 10, "minval": -3, "maxval": -1},
                                      "net": {"width": {"type": "const", "val": 4}}}, **changes}
        (tmp_path / "local.yaml").write_text(json.dumps(config))
        return det.run("experiment", "create", "--local", tmp_path / "local.yaml", model, *words, patience_s=300,
                       PATH=f"{bin_dir}:{os.environ['PATH']}")

    run.model = model
    return run


def test_local_trains_a_trial_class(train_here, master):
    done = train_here()
    assert done.returncode == 0, done.stderr
    assert (train_here.model / "seen").read_text() == "{'global_batch_size': 8, 'lr': 0.01, 'net': {'width': 4}} here "
    assert (train_here.model / "trained").read_text().split() == ["0", "1", "2", "3", "4"]
    assert "there is no search off the cluster; this trains with lr=0.01" in done.stderr and not master.created


def test_local_trains_a_class_in_a_directory_one_batch_with_test(train_here):
    done = train_here("--test", entrypoint="./nets/line:Line", searcher={"name": "single", "metric": "loss"})
    assert done.returncode == 0, done.stderr
    assert (train_here.model / "trained").read_text().split() == ["0"]


@pytest.mark.parametrize("changes, said", [
    ({"searcher": {"name": "single", "metric": "loss"}}, "searcher.max_length is missing: how long to train"),
    ({"hyperparameters": {"global_batch_size": 8, "net": {"lr": {"type": "int", "minval": 1}}}}, "hyperparameters.net.lr: type int needs 'maxval'"),
    ({"hyperparameters": {"lr": {"type": "lgo"}}}, "hyperparameters.lr: type 'lgo' is none of const, categorical"),
    ({"entrypoint": "nowhere:Line"}, "there is no module nowhere"),
])
def test_local_says_in_a_line_what_is_wrong_with_a_trial_class(train_here, changes, said):
    done = train_here(**changes)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not (train_here.model / "trained").exists()


def bundle_of(out, directory):
    """The name and the files of the one archive that `det trial support-bundle` has left."""
    (path,) = directory.iterdir()
    assert out.splitlines()[-1] == f"bundle path: {path}"
    assert re.fullmatch(r"det-bundle-trial-1-\d{8}T\d{6}\.tar\.gz", path.name) and path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as tar:
        files = {m.name: tar.extractfile(m).read().decode() for m in tar}
    assert {name.split("/")[0] for name in files} == {path.name[:-len(".tar.gz")]}
    return {name.split("/")[1]: text for name, text in files.items()}


def test_support_bundle(det, master, tmp_path):
    (tmp_path / "to").mkdir()
    files = bundle_of(det("trial", "support-bundle", 1, "-o", tmp_path / "to"), tmp_path / "to")
    assert sorted(files) == ["README.txt", "api_experiment_call.json", "api_trial_call.json", "master_logs.txt", "trial_logs.txt"]
    assert files["trial_logs.txt"] == "".join(line["message"] for line in master.lines) != ""
    assert files["master_logs.txt"] == det("master", "logs") != ""
    assert json.loads(files["api_trial_call.json"])["id"] == 1
    assert json.loads(files["api_experiment_call.json"])["experiment"]["description"] == "handwritten"
    assert files["README.txt"].startswith("Trial 1 of experiment 1, master http://") and "Left out" not in files["README.txt"]


@pytest.mark.parametrize("status, why", [(501, "this master does not serve them"), (403, "this user may not read them")])
def test_support_bundle_without_the_masters_logs_says_so(det, master, tmp_path, status, why):
    (tmp_path / "to").mkdir()
    master.failures["/api/v1/master/logs"] = fake_master.Refusal(status, "no")
    done = det.run("trial", "support-bundle", 1, "-o", tmp_path / "to")
    files = bundle_of(done.stdout, tmp_path / "to")
    assert done.returncode == 0 and f"The master's logs are not in the bundle: {why}." in done.stderr
    assert "master_logs.txt" not in files and f"Left out: the master's logs, because {why}." in files["README.txt"]


def test_support_bundle_that_fails_leaves_nothing(det, master, tmp_path):
    (tmp_path / "to").mkdir()
    for path in ("/api/v1/trials/1/logs", "/api/v1/experiments/1", "/api/v1/master/logs"):
        master.failures[path] = fake_master.Refusal(500, "the disk is full")
        done = det.run("trial", "support-bundle", 1, "-o", tmp_path / "to")
        assert done.returncode == 1 and "the disk is full" in done.stderr and not done.stdout
        del master.failures[path]
    done = det.run("trial", "support-bundle", 1, "-o", tmp_path / "nowhere")
    assert done.returncode == 1 and f"the directory to write to, {tmp_path}/nowhere: No such file" in done.stderr
    assert list((tmp_path / "to").iterdir()) == []
