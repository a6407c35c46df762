"""Tests templates: the routes, experiments that are created with a template, and what is refused."""
import json

import pytest
from support.cluster import error_of
from support.det import run_det

TEMPLATES = "/api/v1/templates"


def put(master, name, config, **more):
    reply = master.post(f"{TEMPLATES}/{name}", {"name": name, "config": config, **more})
    assert reply.status == 200, reply
    return reply.json["template"]


def create(master, template, validate_only=False, **changes):
    return master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config(**changes)), "template": template,
                                               "activate": False, "validateOnly": validate_only})


def test_a_template_comes_back_changes_and_goes(master):
    made = put(master, "first", {"description": "d", "environment": {"environment_variables": ["A=1"]}})
    assert made == {"name": "first", "config": {"description": "d", "environment": {"environment_variables": ["A=1"]}}, "workspaceId": 1}
    assert master.get(f"{TEMPLATES}/first").json["template"] == made
    changed = master.patch(f"{TEMPLATES}/first", {"description": "e"}).json["template"]
    assert changed["config"] == {"description": "e"}
    renamed = master.patch("/api/v1/template/rename", {"oldName": "first", "newName": "a b.c-d"}).json["template"]
    assert renamed["name"] == "a b.c-d"
    assert error_of(master.get(f"{TEMPLATES}/first")) == "template 'first' not found"
    assert master.request("DELETE", f"{TEMPLATES}/a%20b.c-d").status == 200
    assert master.request("DELETE", f"{TEMPLATES}/a%20b.c-d").status == 404


def test_put_makes_or_replaces(master):
    for config in ({"description": "1"}, {"description": "2"}):
        reply = master.request("PUT", f"{TEMPLATES}/put", {"name": "put", "config": config})
        assert reply.status == 200 and reply.json["template"]["config"] == config, reply


def test_lists_by_name_with_filters_and_pages(master):
    for name in ("list-b", "list-a", "list-C"):
        put(master, name, {})
    names = lambda query: [t["name"] for t in master.get(f"{TEMPLATES}?{query}").json["templates"]]  # noqa: E731
    assert names("name=LIST-&sortBy=SORT_BY_NAME") == ["list-C", "list-a", "list-b"]
    assert names("name=list-&orderBy=ORDER_BY_DESC&limit=2") == ["list-b", "list-a"]
    assert names("name=list-&offset=2") == ["list-b"] and names("name=list-&offset=9") == []
    assert names("name=list-&workspaceIds=1&limit=1") == ["list-C"] and names("workspaceIds=77") == []


def test_an_experiment_lies_upon_its_template_and_keeps_what_it_got(master):
    put(master, "base", {"description": "from the template", "max_restarts": 3, "labels": ["t"],
                         "data": {"list": [1, 2], "deep": {"a": 1, "b": 1}},
                         "bind_mounts": [{"host_path": "/t", "container_path": "/x"}, {"host_path": "/t", "container_path": "/y"}],
                         "resources": {"devices": ["/dev/t:/dev/x", "/dev/t:/dev/y"]},
                         "environment": {"environment_variables": ["A=t", "B=t"]}})
    reply = create(master, "base", max_restarts=1, labels=["c"], data={"list": [3], "deep": {"b": 2}},
                   bind_mounts=[{"host_path": "/c", "container_path": "/x"}],
                   resources={"slots_per_trial": 1, "devices": ["/dev/c:/dev/x:r"]}, environment={"environment_variables": ["B=c"]})
    assert reply.status == 200, reply
    config = reply.json["config"]
    assert (config["description"], config["max_restarts"], config["labels"]) == ("from the template", 1, ["c", "t"])
    assert config["data"] == {"list": [1, 2, 3], "deep": {"a": 1, "b": 2}}
    assert [(m["host_path"], m["container_path"]) for m in config["bind_mounts"]] == [("/c", "/x"), ("/t", "/y")]
    assert [(d["host_path"], d["container_path"]) for d in config["resources"]["devices"]] == [("/dev/c", "/dev/x"), ("/dev/t", "/dev/y")]
    assert config["environment"]["environment_variables"]["cpu"] == ["A=t", "B=t", "B=c"]

    master.patch(f"{TEMPLATES}/base", {"description": "changed"})
    master.request("DELETE", f"{TEMPLATES}/base")
    x = master.experiment(reply.json["experiment"]["id"])
    assert x["config"] == config and json.loads(x["originalConfig"])["max_restarts"] == 1


def test_a_template_may_hold_half_of_a_section_and_the_whole_is_judged(master):
    put(master, "half", {"searcher": {"name": "random", "max_trials": 16}, "hyperparameters": {"lr": {"type": "double", "maxval": 1}}})
    whole = create(master, "half", validate_only=True, searcher={"metric": "loss", "max_length": {"batches": 1}},
                   hyperparameters={"lr": {"minval": 0}})
    assert whole.json["config"]["hyperparameters"]["lr"]["maxval"] == 1 and whole.json["config"]["searcher"]["max_trials"] == 16
    alone = create(master, "half", validate_only=True)
    assert alone.status == 400
    assert error_of(alone).startswith('with the template merged: <config>.searcher: unknown field "max_trials" with name "single"; allowed:')
    assert '\n<config>.hyperparameters.lr: "minval" must be set' in error_of(alone)


@pytest.mark.parametrize("config, words", [
    ({"template": "other"}, "templates cannot be nested"),
    ({"bogus": 1}, '<template>: unknown field "bogus"'),
    ({"resources": {"slots_per_trial": "x"}}, "<template>.resources.slots_per_trial: expected a whole number, found a text"),
    ({"max_restarts": -1}, "<template>.max_restarts: must be"),
    (None, "config is missing"),
])
def test_a_bad_configuration_is_refused_at_every_door(master, config, words):
    put(master, "good", {})
    try:
        for method, path, body in (("POST", f"{TEMPLATES}/bad", {"name": "bad", "config": config}),
                                   ("PUT", f"{TEMPLATES}/bad", {"name": "bad", "config": config}),
                                   ("PATCH", f"{TEMPLATES}/good", config)):
            reply = master.request(method, path, body)
            assert reply.status == 400 and words in error_of(reply), reply
        assert master.get(f"{TEMPLATES}/bad").status == 404
        assert master.get(f"{TEMPLATES}/good").json["template"]["config"] == {}
    finally:
        master.request("DELETE", f"{TEMPLATES}/good")


def test_names_and_places_that_cannot_be(master):
    put(master, "taken", {})
    put(master, "other", {})
    assert "already exists" in error_of(master.post(f"{TEMPLATES}/taken", {"name": "taken", "config": {}}))
    assert "already exists" in error_of(master.patch("/api/v1/template/rename", {"oldName": "other", "newName": "taken"}))
    assert "1 to 255 bytes" in error_of(master.patch("/api/v1/template/rename", {"oldName": "other", "newName": ""}))
    assert "'/'" in error_of(master.patch("/api/v1/template/rename", {"oldName": "other", "newName": "a/b"}))
    assert "1 to 255 bytes" in error_of(master.post(f"{TEMPLATES}/{'x' * 256}", {"config": {}}))
    assert "workspace 99 does not exist" in error_of(master.post(f"{TEMPLATES}/lost", {"config": {}, "workspaceId": 99}))
    for reply in (master.get(f"{TEMPLATES}/none"), master.patch(f"{TEMPLATES}/none", {}),
                  master.patch("/api/v1/template/rename", {"oldName": "none", "newName": "n"})):
        assert reply.status == 404 and error_of(reply) == "template 'none' not found"
    unknown = create(master, "none")
    assert unknown.status == 404 and error_of(unknown) == "template 'none' not found"


def test_a_configuration_cannot_name_its_template_itself(master):
    reply = master.post("/api/v1/experiments", {"config": json.dumps(master.experiment_config(template="base"))})
    assert reply.status == 400 and "a template is named when an experiment is created" in error_of(reply)


def test_nonsense_upon_a_template_is_refused_like_any_other(master):
    """In an earlier version a list of labels with a null in it, in template and configuration, ended the master."""
    put(master, "labelled", {"labels": ["t", "u"]})
    reply = create(master, "labelled", labels=[None, "c", 5, {}])
    assert reply.status == 400 and "<config>.labels" in error_of(reply)
    assert master.get("/health").status == 200


def test_det_tells_where_in_the_file_a_templates_mistakes_are(master, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("descr: x\nresources:\n  slots_per_trial: zz\n  bogus: 1\nbind_mounts:\n- {host_path: /a}\n- 5\n")
    places = [f'{path}:1:1: <template>: unknown field "descr"', f"{path}:3:20: <template>.resources.slots_per_trial: expected a whole number",
              f'{path}:4:3: <template>.resources: unknown field "bogus"', f"{path}:7:3: <template>.bind_mounts[1]: expected a mapping"]
    for words in (["create", "bad"], ["set", "bad"]):
        done = run_det(master, "template", *words, path)
        told = done.stderr.splitlines()[-len(places) - 1:]
        assert done.returncode == 1 and told[0].endswith("template:"), done.stderr
        assert [line[:len(place)] for line, place in zip(told[1:], places)] == places, done.stderr
    path.write_text("resources: {slots_per_trial: zz}\n")
    alone = run_det(master, "template", "create", "bad", path).stderr
    assert f"template: {path}:1:30: <template>.resources.slots_per_trial: expected" in alone
    path.write_text("template: other\n")
    assert "templates cannot be nested" in run_det(master, "template", "create", "bad", path).stderr
    assert run_det(master, "template", "describe", "bad").returncode == 1


def test_a_template_may_hold_what_tasks_and_experiments_want(master):
    put(master, "for-both", {"resources": {"slots": 2, "slots_per_trial": 1, "agent_label": "big"}})
    made = create(master, "for-both")
    assert made.status == 200, made
    assert "slots" not in made.json["config"]["resources"] and made.json["config"]["resources"]["slots_per_trial"] == 1
    assert [w.split(" has no effect: ")[0] for w in made.json["configWarnings"]] == ["resources.slots", "resources.agent_label"]


def test_keys_without_effect_say_so_at_creation_and_once_in_the_log(master, tmp_path):
    config = tmp_path / "container.yaml"
    config.write_text("entrypoint: run\nsearcher: {name: single, metric: m}\nmax_restarts: 0\n"
                      "resources: {agent_label: big, slots: 2}\n")
    done = run_det(master, "experiment", "create", config, "--paused")
    assert done.returncode == 0, done
    experiment = max(x["id"] for x in master.get("/api/v1/experiments").json["experiments"])
    trial = master.get(f"/api/v1/experiments/{experiment}/trials").json["trials"][0]["id"]
    log = master.trial_log(trial)
    for key in ("resources.agent_label", "resources.slots"):
        assert f"Warning: {key} has no effect: " in done.stderr
        assert log.count(f"warning: {key} has no effect: ") == 1
    config.write_text("entrypoint: run\nsearcher: {name: single, metric: m}\n")
    assert "no effect" not in run_det(master, "experiment", "create", config, "--paused").stderr


YES_AND_NO = """\
entrypoint: run
searcher: {name: single, metric: m}
hyperparameters:
  n: 5
  augment: off
  optimizer: {type: categorical, vals: [y, "n", adam]}
  dropout: false
data: {on: 1}
resources: {is_single_node: on}
"""


def test_words_that_yaml_1_1_takes_for_truth_values_are_told_at_creation(master, tmp_path):
    """The words are read as release 0.38.1 reads them: names become "true" and "false"."""
    config = tmp_path / "words.yaml"
    config.write_text(YES_AND_NO)
    done = run_det(master, "experiment", "create", config, "--paused")
    assert done.returncode == 0, done
    x = master.get("/api/v1/experiments?limit=-1").json["experiments"][-1]
    parameters = x["config"]["hyperparameters"]
    assert parameters["false"] == {"type": "const", "val": 5} and parameters["augment"]["val"] is False
    assert parameters["optimizer"]["vals"] == [True, "n", "adam"] and x["config"]["data"] == {"true": 1}
    told = [line for line in done.stderr.splitlines() if "as YAML 1.1 has it" in line]
    assert [line.split(" as YAML")[0].removeprefix("Warning: ") for line in told] == [
        'hyperparameters: the key n (line 4) is read as "false",', "hyperparameters.augment: off (line 5) is read as false,",
        "hyperparameters.optimizer.vals[0]: y (line 6) is read as true,", 'data: the key on (line 8) is read as "true",']
    assert master.trial_log(master.trial_ids(x["id"])[0]).count("as YAML 1.1 has it") == 4
    # det warns itself of words that it sends in another form; the words of a template are those of the template's file
    assert run_det(master, "experiment", "create", config, "--paused", "--config", "name=x").stderr.count("as YAML 1.1 has it") == 4
    put(master, "words", {"hyperparameters": {"n": 1}})
    made = create(master, "words", hyperparameters={"y": 2})
    assert "configWarnings" not in made.json or made.json["configWarnings"] == []
    config.write_text("hyperparameters: {n: 1}\n")
    assert 'the key n (line 1) is read as "false"' in run_det(master, "template", "create", "from-file", config).stderr

