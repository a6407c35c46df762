"""The model registry against our master: `det model` of the released client and ours, the SDK of 0.38.1 and ours."""
import json

import pytest
from released import OurLibrary, Released
from support.cluster import PASSWORD


@pytest.fixture(params=["released", "ours"])
def sdk(request, warm, cluster, tmp_path):
    released = Released(warm, cluster.url, tmp_path, password=PASSWORD)
    return released if request.param == "released" else OurLibrary(released)


@pytest.fixture
def checkpoints(cluster, finished):
    [trial] = cluster.trial_ids(finished[0])
    return [c["uuid"] for c in cluster.get(f"/api/v1/trials/{trial}/checkpoints").json["checkpoints"]]


def test_a_model_lives_and_dies_by_the_sdk(sdk, checkpoints):
    name = type(sdk).__name__
    got = sdk.sdk(f"""
        model = client.create_model("{name}", "reads digits", {{"a": 1}})
        empty = model.get_version()
        first, second = [model.register_version(u) for u in {checkpoints[:2]}]
        second.set_name("better"); second.set_notes("# why")
        model.add_metadata({{"b": [2]}}); model.remove_metadata(["a"]); model.set_labels(["x", "y"]); model.set_description("all digits")
        again = client.get_model("{name}")
        model.archive(); again.reload(); archived = again.archived; model.unarchive()
        newest, one = again.get_version(), again.get_version(1)
        listed = client.get_models(name="{name}", sort_by=client.ModelSortBy.NUM_VERSIONS)
        labels = set(client.get_model_labels())
        by_id = client.get_model(again.model_id).name
        versions = [(v.model_version, v.checkpoint.uuid) for v in again.list_versions()]
        metrics = list(one.iter_metrics())
        first.delete()
        left = [v.model_version for v in model.list_versions(client.OrderBy.ASC)]
        found = dict(description=again.description, metadata=again.metadata, labels=again.labels, username=again.username)
        model.delete()
        gone = False
        try:
            client.get_model("{name}")
        except Exception as e:
            gone = type(e).__name__[:8]
        return dict(empty=empty, numbers=[first.model_version, second.model_version], archived=archived, found=found, by_id=by_id,
                    newest=[newest.model_version, newest.name, newest.notes], one=[one.model_version, one.checkpoint.uuid],
                    listed=[m.name for m in listed], labels=sorted(labels & {{"x", "y"}}), versions=versions, metrics=metrics, left=left,
                    gone=gone)
    """)
    assert got == {
        "empty": None, "numbers": [1, 2], "archived": True, "by_id": name, "newest": [2, "better", "# why"], "one": [1, checkpoints[0]],
        "found": {"description": "all digits", "metadata": {"b": [2]}, "labels": ["x", "y"], "username": "determined"}, "listed": [name],
        "labels": ["x", "y"], "versions": [[2, checkpoints[1]], [1, checkpoints[0]]], "metrics": [], "left": [2], "gone": "NotFound"}


def test_a_version_is_asked_for_by_an_alias(sdk, cluster, checkpoints):
    name = f"aliased-{type(sdk).__name__}"
    cluster.post("/api/v1/models", {"name": name})
    for checkpoint in checkpoints[:2]:
        assert cluster.post(f"/api/v1/models/{name}/versions", {"checkpointUuid": checkpoint}).status == 200
    assert cluster.request("PUT", f"/api/v1/models/{name}/aliases/production", {"version": 1}).status == 200
    assert sdk.sdk(f"return client.get_model('{name}').get_version('production').model_version") == 1
    if isinstance(sdk, OurLibrary):
        assert sdk.sdk(f"""
            model = client.get_model('{name}')
            model.set_alias("production", 2); model.set_alias("old", 1)
            aliases = model.list_aliases()
            model.remove_alias("old")
            return [aliases, model.get_version("production").aliases, model.list_aliases()]
        """) == [{"old": 1, "production": 2}, ["production"], {"production": 2}]
    assert cluster.request("DELETE", f"/api/v1/models/{name}").status == 200


def test_both_command_lines_manage_models_alike(det, ours, cluster, checkpoints):
    assert cluster.post("/api/v1/workspaces", {"name": "Models here"}).status == 200
    for client, name in ((det, "by the released one"), (ours, "by ours")):
        client(f"model create '{name}' --description 'reads digits' -w 'Models here'")
        client(f"model register-version '{name}' {checkpoints[0]}")
        assert json.loads(client(f"model register-version '{name}' {checkpoints[1]} --json"))["modelVersion"]["version"] == 2
    for words in ("model list -w 'Models here' --sort-by name", "model list -w 'Models here' --json --order-by desc", "model describe 'by ours'",
                  "model describe 'by ours' --version 1", "model describe 'by ours' --json", "model list-versions 'by ours'",
                  "model list-versions 'by ours' --json", "m ls -w none", "model describe none"):
        mine, theirs = ours.run(words), det.run(words)
        assert (mine.status, mine.out) == (theirs.status, theirs.out), (mine, theirs)
    for client, name in ((det, "by the released one"), (ours, "by ours")):
        client(f"model move '{name}' -w Uncategorized")
        client(f"model delete '{name}'")
        assert "not found" in client.run(f"model describe '{name}'").err


def test_aliases_by_the_command_line(ours, cluster, checkpoints):
    ours("model create staged")
    ours(f"model register-version staged {checkpoints[0]}")
    ours(f"model register-version staged {checkpoints[1]}")
    assert ours("model alias set staged production -- -1") == "Alias production of model staged stands for version 2.\n"
    ours("model alias set staged previous 1")
    rows = [line.split(",") for line in ours("model alias list staged --csv").splitlines()]
    assert [row[:3] for row in rows] == [["Alias", "Version #", "Set By"], ["previous", "1", "determined"], ["production", "2", "determined"]]
    ours("model alias set staged production previous")
    assert json.loads(ours("model alias list staged --json"))[1]["Version #"] in (1, "1")
    assert checkpoints[0] in ours("model describe staged --version production")
    for words, why in ((f"model alias set staged production {9}", "version '9' not found"), ("model alias set staged 7 1", "alias '7'"),
                       ("model alias remove staged none", "alias 'none'"), ("model alias list none", "model 'none' not found"),
                       ("model describe staged --version nothing", "version 'nothing' not found")):
        done = ours.run(words)
        assert done.status == 1 and why in done.err, done
    ours("model alias remove staged production")
    ours("model delete staged")
