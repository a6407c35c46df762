"""Does with the web interface what people do with it, in a real browser, with a real master, agents and experiments."""
import gzip
import json
import re
import subprocess
import threading

import pytest
from conftest import DIST
from support.cluster import ROOT, Cluster, wait_for
from support.det import det
from support.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider
from support.pipeline import post_all
from support.prefix import PrefixProxy
from world import HOSTILE

KIB = 1024
# Pages that together have every building block: what the dark theme changes are its colours alone.
DARK = ["docs", "docs-search", "home", "experiments", "experiment", "experiment-difference", "trial-logs", "trial-profiler", "trial-environment-difference", "model-version", "create", "jobs", "cluster", "users", "roles", "policies", "usage", "settings", "experiment-heat"]


# ---- sign-in ----


def test_a_browser_without_a_session_signs_in_and_comes_back(world, see):
    found = see("signs_in", token="none", at=f"experiments/{world.ids['live']}", password=world.c.password)
    assert found["refused"] == "There is no user with this name and password."
    assert found["httpOnly"] and found["sameSite"] == "Lax" and found["seen"] == "", "no script may read the session"
    assert not found["errors"]


def test_a_sign_in_leads_nowhere_else(world, see):
    elsewhere = "https://example.com/"  # web/tests/lib.test.js has other spellings
    assert see("stays_here", token="none", password=world.c.password, elsewhere=elsewhere)["address"].startswith(f"{world.c.url}/det/")


def test_a_sign_in_leads_back_to_the_page_of_a_task__also_below_a_prefix(world, see):
    task = "/proxy/9b1deb4d/lab?token=x"
    assert see("goes_back_to_a_task", token="none", password=world.c.password, task=task)["address"] == world.c.url + task
    with PrefixProxy(world.c.port) as proxy:
        assert see("goes_back_to_a_task", url=proxy.url, token="none", password=world.c.password, task=task)["address"] == proxy.url + task


def test_a_session_that_ends_is_signed_in_again_in_place(world, see):
    token = world.c.login(keep=False).json["token"]
    found = see("session_ends", token=token, at=f"projects/{world.ids['project']}", password=world.c.password)
    assert found["open"] == 1 and found["kept"] == "half a thou"


PROVIDER = "Example <b>Inc.</b>"


@pytest.fixture(scope="module")
def at_provider(tmp_path_factory):
    """A cluster whose people log in at a provider, which logs in whoever asks."""
    with IdentityProvider() as idp, Cluster(tmp_path_factory.mktemp("at-provider"), env={"DET_OIDC_CLIENT_SECRET": CLIENT_SECRET}) as c:
        c.config["oidc"] = {"enabled": True, "provider": PROVIDER, "client_id": CLIENT_ID, "idp_sso_url": idp.url, "idp_recipient_url": c.url, "auto_provision_users": True}
        c.start_master()
        yield c, idp


def test_the_button_of_a_provider_logs_in_and_comes_back(at_provider, see):
    c, idp = at_provider
    idp.person = {"sub": "1", "email": "ada@example.com"}
    found = see("signs_in_at_a_provider", url=c.url, token="none", at="settings", provider=PROVIDER)
    assert found["buttons"] == ["Sign in", f"Sign in with {PROVIDER}"]
    assert found["httpOnly"] and found["sameSite"] == "Lax" and not found["errors"]


def test_a_login_that_fails_at_the_provider_is_told_on_a_page_of_text(at_provider, see):
    c, idp = at_provider
    idp.person = {"sub": "1", "email": HOSTILE, "email_verified": False}
    found = see("fails_at_a_provider", url=c.url, token="none", provider=PROVIDER)
    assert found["said"] == f"the provider has not verified the address {HOSTILE} (email_verified is false)."
    assert found["elements"] == ["h1", "p", "p", "a"] and not found["hacked"]
    assert found["address"] == f"{c.url}/det/login?password"


def test_always_redirect_sends_people_on_and_leaves_a_way_in_with_a_password(at_provider, see):
    c, idp = at_provider
    idp.person = {"sub": "1", "email": "ada@example.com"}
    c.stop_master()
    c.config["oidc"]["always_redirect"] = True
    c.start_master()
    assert see("is_sent_on_to_the_provider", url=c.url, token="none", provider=PROVIDER)["address"] == f"{c.url}/det/login?password"


# ---- logging another machine in ----


def begin_device_login(c, device):
    return c.post("/api/v1/auth/device", {"device": device}, token=None).json


def poll_device_login(c, begun):
    return c.post("/api/v1/auth/device/poll", {"deviceCode": begun["deviceCode"]}, token=None)


def test_a_code_of_another_machine_is_typed_and_confirmed(world, see):
    begun = begin_device_login(world.c, HOSTILE)
    found = see("device", typed=begun["userCode"].lower(), wrong="BBBB-BBBB", answer="Log this machine in")
    assert "no login waits" in found["mistake"]
    assert found["asked"] == f"{HOSTILE} at 127.0.0.1 asks to be logged in as determined. Its code is {begun['userCode']}."
    assert found["done"] == "Done: det goes on by itself." and not found["hacked"]
    token = poll_device_login(world.c, begun).json["token"]
    assert world.c.get("/api/v1/me", token=token).json["user"]["username"] == "determined"


def test_a_code_of_another_machine_is_refused(world, see):
    begun = begin_device_login(world.c, "somebody-elses-laptop")
    found = see("device", typed=begun["userCode"], wrong="x", answer="Refuse")
    assert found["done"] == "Refused: nobody has been logged in."
    assert poll_device_login(world.c, begun).status == 403


def test_a_code_outlives_the_sign_in_before_it(world, see):
    begun = begin_device_login(world.c, "ada@laptop")
    found = see("device_after_sign_in", token="none", code=begun["userCode"], password=world.c.password)
    assert found["done"] == "Done: det goes on by itself."
    assert poll_device_login(world.c, begun).json["user"]["username"] == "determined"


# ---- pages ----


def test_home_shows_what_runs_what_ended_and_the_load(world, see):
    found = see("home", running="resnet-lr-sweep", ended="baseline")
    assert found["load"] == 12 and found["title"] == "Determined" and not found["errors"]


def test_what_ended_is_new_until_it_is_marked(world, see):
    see("ended_since", name="baseline", user=world.c.get("/api/v1/me").json["user"]["id"])


def test_the_list_of_experiments_is_searched_filtered_and_ordered_by_the_master(world, see):
    found = see("experiments", at=f"projects/{world.ids['project']}")
    assert found["all"] == 25
    assert found["byName"] == sorted(found["byName"], key=str.lower)
    assert all("resnet" in name for name in found["found"]) and len(found["found"]) > 2
    assert all(part in found["address"] for part in ("q=resnet", "state=active", "sort=name"))
    assert found["kept"] == {"search": "resnet", "rows": ["resnet-lr-sweep"]}


def test_the_palette_finds_an_object_of_each_kind(world, see):
    c, i = world.c, world.ids
    wanted = [("resnet-lr", "experiment"), (str(i["trial"]), "trial"), ("classifiers", "project"), ("vision", "workspace"), ("gpu-2", "agent"),
              ("cleo", "user"), ("vision team", "group"), ("Glossary", "document")]
    went = see("palette", wanted=wanted)["went"]
    assert went["experiment"] == f"experiments/{i['live']}" and went["trial"] == f"experiments/{i['live']}/trials/{i['trial']}"
    assert went["project"] == f"projects/{i['project']}" and went["agent"] == "cluster?agent=gpu-2"
    assert went["user"] == "users?q=cleo" and went["group"].startswith("groups?q=vision%20team") and went["document"] == "docs/glossary"
    assert went["workspace"] == f"workspaces/{c.get('/api/v1/workspaces?name=vision').json['workspaces'][0]['id']}"


def test_many_experiments_are_archived_and_that_is_taken_back(world, see):
    found = see("bulk", at=f"projects/{world.ids['project']}")
    assert int(found["chosen"].split()[0]) >= 2
    assert "Stop 1 experiment?" in found["asked"] and "The other 1 of the 2 selected" in found["asked"]
    archived = [x["name"] for x in world.c.get("/api/v1/experiments?archived=true").json["experiments"]]
    assert not archived


def test_a_filter_and_columns_are_kept_as_a_view(world, see):
    found = see("views", at=f"projects/{world.ids['project']}", view="rate <b>1.2</b>", refusal="no setting is kept now")
    assert "baseline" in "".join(found["cells"]) and "1.2" in found["cells"]
    assert found["early"] == [0, 0], "a view is saved once the master has kept it"


def test_the_list_asks_for_no_configurations(world):
    body = {"projectId": world.ids["project"], "limit": 100}
    whole, brief = (world.c.post("/api/v1/experiments-search", {**body, **more}) for more in ({}, {"brief": True}))
    assert all(row["experiment"]["config"] == {} and row["experiment"]["originalConfig"] == "" for row in brief.json["experiments"])
    assert [row["experiment"]["id"] for row in brief.json["experiments"]] == [row["experiment"]["id"] for row in whole.json["experiments"]]
    print(f"reply for {len(brief.json['experiments'])} experiments: {len(json.dumps(whole.json))} bytes, brief {len(json.dumps(brief.json))}")
    assert len(json.dumps(brief.json)) < 0.5 * len(json.dumps(whole.json))


def test_a_list_of_100000_rows_draws_only_those_in_sight(world, see):
    found = see("many_rows", at=f"projects/{world.ids['project']}", total=100_000)
    assert found["inDocument"] < 80 and found["asked"] < 60
    print(f"frames while scrolling 100,000 rows: p95 {found['p95']:.1f} ms")


def test_the_chart_of_a_running_experiment_goes_on(world, see):
    found = see("live_chart", at=f"experiments/{world.ids['live']}")
    assert found["series"] == 4 and found["before"] != found["after"]


def test_the_log_of_a_running_trial_is_followed_and_searched(world, see):
    found = see("live_log", at=f"experiments/{world.ids['live']}/trials/{world.ids['trial']}/logs")
    assert found["levels"] > 0


def test_a_search_of_a_log_that_was_interrupted_finds_the_older_lines(world, see):
    i = world.ids
    assert see("interrupted_search", at=f"experiments/{i['done']}/trials/{i['done_trial']}/logs", text="step")["hits"] > 10


def test_a_trial_has_a_chart_for_each_metric(world, see):
    found = see("trial", at=f"experiments/{world.ids['live']}/trials/{world.ids['trial']}")
    assert found["charts"] == ["accuracy", "loss", "learning_rate"] and sorted(found["hyperparameters"]) == ["depth", "lr", "optimizer"]


def test_an_experiment_that_failed_leads_to_the_log_that_says_why(world, see):
    assert "exit code 1" in see("failed", at=f"experiments/{world.ids['failed']}")["says"]


def test_the_configuration_is_shown_as_submitted_and_as_effective(world, see):
    found = see("configuration", at=f"experiments/{world.ids['live']}/configuration")
    assert "max_concurrent_trials: 4" in found["effective"] and "max_restarts: 0" in found["effective"]
    assert json.loads(found["submitted"])["name"] == "resnet-lr-sweep"


def test_the_job_queue_is_managed_as_documented(world, see):
    found = see("manages_a_job", name="pretrain-large", priority=17)
    assert "1 to 99" in found["mistake"] and "needs 16 slots" in found["reason"]
    job = next(j["full"] for j in world.c.get("/api/v1/job-queues-v2?resourcePool=default").json["jobs"] if j["full"]["name"] == "pretrain-large")
    assert job["priority"] == 17


def test_the_cluster_is_a_picture_of_its_slots(world, see):
    assert world.c.post("/api/v1/agents/gpu-2/label", {"label": "rack 3, <b>left</b>"}, token=world.c.login("admin", keep=False).json["token"]).status == 200
    found = see("cluster")
    assert found["label"] == ["rack 3, <b>left</b>"] and len(found["requested"]) == 2 and "cores, " in found["requested"][0]
    assert found["agents"] == ["gpu-1", "gpu-2"] and found["slots"] == 12 and found["used"] >= 4 and "in use" in found["tip"]


def test_an_experiment_is_activated_and_killed_after_a_question(world, see):
    assert see("acts", at=f"experiments/{world.ids['paused']}")["dismissed"] == 0
    assert world.c.experiment(world.ids["paused"])["state"] == "STATE_CANCELED"


def test_a_notebook_is_started_and_killed(world, see):
    found = see("notebook", name="try me")
    assert found["mistake"] == 1 and f"{world.c.url}/proxy/" in found["open"]


def test_a_workspace_a_project_and_its_notes_are_made(world, see):
    found = see("workspaces", name="speech")
    assert found["bold"] == "first" and found["html"] == 0 and "<b>text</b>" in found["text"]


def test_a_checkpoint_is_downloaded_and_registered(world, see):
    i = world.ids
    found = see("registers", at=f"experiments/{i['done']}/trials/{i['done_trial']}/checkpoints", name="ocr model")
    assert found["file"].startswith(i["checkpoints"][2]) and "production" in found["row"]


def test_a_profile_is_shown_as_shares_of_a_batch(world, see):
    i = world.ids
    found = see("profiler", at=f"experiments/{i['live']}/trials/{i['trial']}/profiler")
    assert found["shares"][0].startswith("train_batch78.") and len(found["shares"]) == 4
    assert found["charts"] == ["cpu_util_simple", "free_memory", "gpu_util"]


def test_a_search_is_drawn_in_four_ways(world, see):
    found = see("search", at=f"experiments/{world.ids['live']}/hyperparameters")
    assert found["lines"] == 4 and found["axes"] == ["depth", "lr", "optimizer", "loss"] and sorted(found["plots"]) == ["depth", "lr", "optimizer"]
    assert found["keys"] == 4 and 1 <= found["fields"] <= 4


def test_metrics_that_a_trial_reports_later_can_be_chosen(world, see):
    x = world.unmanaged(98, ends=False)
    [trial] = world.c.trial_ids(x)
    world.report(trial, 700, {"early": 1}, group="training")
    found = see("later_metrics", at=f"experiments/{x}", trial=trial, refusal="names are not to be had")
    assert found["alerts"] == 0 and found["options"] == ["validation.loss", "training.late", "training.early"]


def test_learning_curves_of_1000_trials_are_drawn(world, see):
    found = see("many_curves", at=f"experiments/{world.ids['live']}/hyperparameters", total=1000)
    assert "and 976 more" in found["more"]
    print(f"learning curves of 1,000 trials: {found['ms']} ms")


def test_code_differences_notes_and_rules_for_checkpoints(world, see):
    i = world.ids
    found = see("experiment_parts", at=f"experiments/{i['live']}", other=i["done"], done=i["done"], note="- first\n- second\n")
    assert found["gone"] == 1 and found["items"] == 2
    assert "would be removed at once" in found["preview"]


def test_two_experiments_are_compared(world, see):
    found = see("compare", at=f"compare?experiments={world.ids['live']},{world.ids['done']}")
    assert found["rows"] == ["depth", "lr", "optimizer", "steps"]


def test_an_experiment_is_created_in_the_browser(world, see, tmp_path):
    folder = tmp_path / "code"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "main.py").write_text("print('made in a browser')\n")
    (folder / "lib/part.py").write_text("x = 1\n")
    (folder / "__pycache__/main.pyc").write_bytes(b"\0")
    token = world.c.login(keep=False).json["token"]
    found = see("creates", token=token, at=f"create?project={world.ids['project']}", folder=str(folder), name="made-here", password=world.c.password)
    assert found["mistakes"] == ["line 5 resources.slots_per_trial: allowed is integer, not string", "line 6 There is no key resources.slot"]
    assert found["refused"] and found["kept"] and found["forgotten"] and sorted(found["files"]) == ["lib/part.py", "main.py"]
    assert world.c.experiment(found["id"])["projectId"] == world.ids["project"]
    assert {node["path"] for node in world.c.get(f"/api/v1/experiments/{found['id']}/file_tree").json["files"]} == {"lib", "main.py"}


def test_an_experiment_is_created_from_a_trial(world, see):
    i = world.ids
    found = see("forks", at=f"experiments/{i['live']}/trials/{i['trial']}")
    hparams = world.c.get(f"/api/v1/trials/{i['trial']}").json["trial"]["hparams"]
    made = world.c.get(f"/api/v1/experiments/{found['id']}").json
    assert made["experiment"]["forkedFrom"] == i["live"] and made["experiment"]["state"] == "STATE_PAUSED"
    assert made["config"]["searcher"]["name"] == "single"
    assert {name: value["val"] for name, value in made["config"]["hyperparameters"].items()} == hparams


def test_users_tokens_webhooks_and_templates_are_made(world, see):
    experiments = world.c.get("/api/v1/experiments?limit=1").json["pagination"]["total"]
    found = see("administers", token=world.c.admin_token(), user="grace", hook="https://example.com/hook")
    assert world.c.get("/api/v1/me", token=found["token"]).json["user"]["username"] == "admin"
    assert "slots_per_trial: 2" in found["changes"]
    assert world.c.get("/api/v1/experiments?limit=1").json["pagination"]["total"] == experiments, "a dry run creates nothing"
    assert see("master_log", token=world.c.admin_token())["lines"] > 0


def test_groups_get_members_and_roles(world, see):
    c, w = world.c, world.ids["workspace"]
    found = see("groups_and_roles", token=c.admin_token(), group="crew", member="cleo", workspace=w)
    assert found["given"].startswith("Viewer in the whole cluster")
    assert found["early"] == ["", "", True, True], "neither role nor place is chosen beforehand"
    group = next(g["group"]["groupId"] for g in c.post("/api/v1/groups/search", {"limit": 100}).json["groups"] if g["group"]["name"] == "crew")
    assert [u["username"] for u in c.get(f"/api/v1/groups/{group}").json["group"]["users"]] == ["cleo"]
    given = c.get(f"/api/v1/roles/search/by-group/{group}").json["assignments"]
    assert {(a["roleId"], a["scopeCluster"], tuple(a["scopeWorkspaceIds"])) for a in given} == {(4, True, ()), (5, False, (w,))}


def test_a_quota_is_set_and_removed(world, see):
    found = see("quotas", token=world.c.admin_token(), user="cleo")
    assert found["mistake"] == "At least the quota" and found["shown"].split()[-2:] == ["4", "6"]


def test_a_policy_is_checked_set_and_removed(world, see):
    found = see("policies", token=world.c.admin_token(), workspace=world.ids["workspace"])
    assert found["mistake"].startswith("line 2 constraints.priority_limit") and found["refused"]
    assert found["kept"] == "constraints:\n  priority_limit: 20\n"


def test_the_audit_log_is_searched_and_saved(world, see):
    found = see("audit", token=world.c.admin_token(), kind="quota", text="max_slots")
    assert found["all"] > 10 and found["gone"] == 1
    head, *lines = found["csv"].strip().split("\r\n")
    assert head.startswith("seq,time,") and len(lines) >= 2 and all(",quota," in line for line in lines)


def test_who_may_not_read_the_audit_log_is_told(world, see):
    assert "admin" in see("refused", at="audit")["says"]


def test_usage_is_summed_and_saved(world, see):
    found = see("usage")
    assert found["figures"] == ["Used", "Available", "Idle", "Failed", "Cost"]
    assert found["name"] == "usage-by-workspace.csv" and found["csv"].startswith("Workspace,Slot-hours,Share,Failed\r\nvision,")
    assert found["picture"] == "PNG" and found["whole"].startswith("date,by,key,")


def test_people_change_their_own_name_and_password(world, see):
    c = world.c
    token = c.post("/api/v1/auth/login", {"username": "ann", "password": "Long-Enough-1", "isHashed": False}, token=None).json["token"]
    found = see("settings", token=token, name="Ann B. Alder", password="Long-Enough-2")
    assert found["refused"] and found["theme"] == "dark"
    assert c.post("/api/v1/auth/login", {"username": "ann", "password": "Long-Enough-2", "isHashed": False}, token=None).json["user"]["displayName"] == "Ann B. Alder"


def test_runs_are_one_list(world, see):
    assert see("runs", at=f"projects/{world.ids['project']}")["depth"] == 1


def test_a_job_is_dragged_to_another_place(see):
    found = see("drags_a_job")
    assert found["after"][0] == found["before"][-1] != found["before"][0] and sorted(found["after"]) == sorted(found["before"])


def test_a_change_of_somebody_else_is_told_at_once(see):
    assert see("updates", name="told at once")["shown"] == 1


def test_the_documentation_is_read_and_searched(see):
    found = see("documentation", word="max_restarts")
    assert found["hits"] > 3 and found["inSight"] and found["pages"] > 30
    assert not found["lost"], "\n".join(found["lost"])
    assert not found["refused"] and not found["errors"]


def test_plots_are_used_by_keyboard_and_saved_as_pictures(world, see):
    found = see("plots", at=f"experiments/{world.ids['live']}/hyperparameters")
    for view, picture in found["pictures"].items():
        assert picture["width"] > 500 and picture["colours"] > 20 and picture["rows"] >= 2, view
    assert found["said"]["parallel"].startswith("Trial ") and found["said"]["scatter"].startswith("trial ") and "trial" in found["said"]["heat"]


def test_a_long_list_is_whole__and_one_that_cannot_be_read_says_so(world, see):
    found = see("long_lists", token=world.c.admin_token(), total=1234, refusal="workspaces are not to be had", noPools="pools are not to be had")
    assert found["pages"] == 3
    assert found["says"] == "The list could not be read: workspaces are not to be had"
    assert "The list could not be read: pools are not to be had" in found["pools"]


def test_more_versions_of_a_model_than_one_request_reads_are_listed(world, see):
    c, total = world.c, 1150
    model = c.post("/api/v1/models", {"name": "many versions"}).json["model"]["id"]
    for i in range(1, total + 1):
        reply = c.post(f"/api/v1/models/{model}/versions", {"checkpointUuid": world.ids["checkpoints"][0], "name": f"version {i} of many"})
        assert reply.status == 200, reply
    assert see("versions", at=f"models/{model}", total=total)["inDocument"] < 80


def test_what_a_trial_ran_in_is_shown__and_beside_another(world, see):
    c, i = world.c, world.ids
    x = world.create("other environment", entrypoint=["sh", "-c", "exit 0"], resources={"slots_per_trial": 2, "priority": 5}, environment={"environment_variables": [f"TEXT={HOSTILE}"]})
    c.wait_experiment(x)
    [trial] = c.trial_ids(x)
    here, there = (c.get(f"/api/v1/trials/{one}/environments").json["environments"][0] for one in (i["done_trial"], trial))
    found = see("environment", at=f"experiments/{i['done']}/trials/{i['done_trial']}/environment", other=trial, same=i["done_trial"], wanted=max(here["python"]["packages"]))
    facts, differences = found["facts"], found["differences"]
    assert facts["host"] == here["host"]["hostname"] and facts["python"] == here["python"]["version"] and facts["interpreter"] == here["python"]["executable"]
    assert differences["devices"] == ["1 x Artificial", "2 x Artificial"] and differences == found["kept"] and not found["errors"]
    assert found["stays"] == differences, "what could not be read again stays"
    asked = [value for name, (_, value) in differences.items() if name.startswith("environment.environment_variables")]
    assert asked and all(json.loads(value) == [f"TEXT={HOSTILE}"] for value in asked), differences
    assert "host" not in differences and there["host"]["hostname"] == here["host"]["hostname"], "what both have is left out"
    command = json.loads(det(c, "trial", "compare-environments", i["done_trial"], trial, "--json"))
    assert command == {name: [value if value != "–" else None for value in both] for name, both in differences.items() if not name.startswith("environment.")}


def test_what_is_typed_while_a_page_is_drawn_stays(world, see):
    assert see("typed_at_once", at=f"experiments/{world.ids['live']}/configuration", label="Difference to experiment", typed=str(world.ids["done"]))["kept"] == str(world.ids["done"])


def test_the_log_of_a_trial_is_separated_by_rank(world, see):
    i = world.ids
    found = see("ranks", at=f"experiments/{i['done']}/trials/{i['done_trial']}/logs")
    assert {"rank 0", "rank 1"} <= set(found["all"])
    assert found["lines"] == ["batch 1 on rank 1", "batch 2 on rank 1"] and found["kept"] == "1"


def test_an_experiment_is_created_from_another(world, see):
    i = world.ids
    found = see("creates_from", at=f"experiments/{i['done']}", name="baseline again")
    made = world.c.get(f"/api/v1/experiments/{found['id']}").json
    before = world.c.get(f"/api/v1/experiments/{i['done']}").json
    assert made["experiment"]["forkedFrom"] == i["done"] and made["experiment"]["name"] == "baseline again" and made["experiment"]["state"] == "STATE_PAUSED"
    assert made["config"]["hyperparameters"] == before["config"]["hyperparameters"]


def test_a_master_that_restarts_is_awaited__and_what_was_typed_is_saved(see, tmp_path):
    with Cluster(tmp_path / "cluster") as c:
        c.start_master()
        c.login()
        x = c.create({"train.py": "print(1)\n"}, activate=False)

        def restart():
            wait_for("something typed", (tmp_path / "seen.typed").exists)
            c.stop_master()
            wait_for("the page to say that the master is away", (tmp_path / "seen.away").exists)
            c.start_master()

        other = threading.Thread(target=restart)
        other.start()
        found = see("restart", url=c.url, token=c.token, at=f"experiments/{x}/notes", note="half a thought", seen=str(tmp_path / "seen"))
        other.join()
        assert found["kept"] == "half a thought" and found["dialogs"] == 0
        assert c.experiment(x)["notes"] == "half a thought"


def test_notes_that_are_being_written_outlast_a_session(world, see):
    token = world.c.login(keep=False).json["token"]
    x = world.ids["failed"]
    assert see("session_ends_in_notes", token=token, at=f"experiments/{x}/notes", note="long thoughts", password=world.c.password)["kept"] == "long thoughts"
    assert world.c.experiment(x)["notes"] == "long thoughts"


def test_a_trial_with_10000_metrics_is_shown(world, see):
    c = world.c
    x = world.unmanaged(99, ends=False)
    [trial] = c.trial_ids(x)
    odd = ["NaN", "Infinity", "-Infinity", 0.5]
    for first in range(0, 10_000, 1000):
        for step in (1, 2):
            world.report(trial, 1000 + step + first, {f"metric {n:04}": odd[(n + step) % 4] if n % 3 else n / step for n in range(first, first + 1000)})
    found = see("many_metrics", at=f"experiments/{x}/trials/{trial}", total=10_001, name="metric 9999")
    assert found["drawn"] == 24 and "validation" in found["legend"] and not found["errors"]


def test_an_experiment_with_10000_trials_is_shown(world, see):
    c = world.c
    config = {"name": "many trials", "searcher": {"name": "random", "metric": "loss", "max_trials": 10_000}}
    x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True, "activate": False, "projectId": 1}).json["experiment"]["id"]
    post_all(c, (("/api/v1/trials", {"experimentId": x, "unmanaged": True, "hparams": {"lr": i / 10_000, "depth": i % 9}}) for i in range(10_000)))
    for trial in c.trial_ids(x)[:30]:
        world.report(trial, 10, {"loss": 1 / trial}, run=0)
    found = see("many_trials", at=f"experiments/{x}", total=10_000)
    assert found["rows"] == 10_000 and found["inDocument"] < 80 and found["drawn"] > 0 and not found["errors"]


def test_a_wrong_clock_of_the_browser_makes_no_wrong_ages(world, see):
    for clock in ("2031-05-06T07:08:09Z", "2019-05-06T07:08:09Z"):
        ages = see("wrong_clock", at=f"projects/{world.ids['project']}", clock=clock)["ages"]
        assert ages and all(re.fullmatch(r"just now|\d+ (s|min) ago", age) for age in ages), (clock, ages)


def test_a_phone_leads_to_all_pages(see):
    assert not see("phone_places")["typing"], "the keyboard would hide the list"


# ---- what holds for all pages ----


def test_script_in_texts_of_users_is_text(world, see):
    i = world.ids
    paths = ["", f"projects/{i['project']}", f"experiments/{i['hostile']}", f"experiments/{i['hostile']}/trials", f"experiments/{i['hostile']}/configuration", f"experiments/{i['hostile']}/notes", f"compare?experiments={i['hostile']},{i['odd']}&tab=hyperparameters",
             f"experiments/{i['hostile']}/trials/{i['hostile_trial']}/environment", f"experiments/{i['odd']}",
             f"experiments/{i['odd']}/trials/{i['odd_trial']}", f"experiments/{i['odd']}/trials/{i['odd_trial']}/hyperparameters", "jobs", "cluster",
             "models", f"models/{i['model']}", f"models/{i['model']}/notes", f"models/{i['model']}/metadata", f"models/{i['model']}/versions/1", "tasks", f"tasks/{i['command']}/configuration",
             f"projects/{i['project']}/runs", "usage?by=experiment_label", "groups"]
    found = see("hostile", paths=paths, silent=["jobs", "cluster"], text="<img src=x onerror=")
    assert found["violations"] == [] and not found["errors"]
    for path, page in found["seen"].items():
        assert (page["hacked"], page["images"], page["scripts"]) == (None, [], 0), path
    assert found["refused"] == {"said": ["script", "markup"], "hacked": None}


def test_a_log_with_escapes_is_text_with_colours(world, see):
    found = see("hostile_log", at=f"experiments/{world.ids['hostile']}/trials/{world.ids['hostile_trial']}/logs")
    lines = found["lines"]
    for text in ("<script>window.hacked=1</script>", "after a title", "red bold plain", "cleared?", "backspace", "righttoleft" if "righttoleft" in lines else "rightotleft", "link", "tab\there"):
        assert any(text in line for line in lines), (text, lines)
    assert not found["hacked"] and found["title"].startswith("Trial ") and found["links"] == 0
    assert not any(re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", line) for line in lines)


def test_a_hidden_page_asks_nothing(see):
    found = see("hidden")
    assert found["hidden"] == 0 and found["visible"] > 1 and found["again"] > 1, found


def test_a_page_whose_script_cannot_be_had_says_so(see):
    found = see("not_loaded", path="jobs", script="**/assets/JobsPage*.js", heading="Job queue")
    assert found["before"] == found["after"] > 0


def test_a_master_that_is_away_is_told_and_awaited(see):
    assert see("away")["shown"] == 2


def test_rows_are_reached_by_keyboard(world, see):
    found = see("keyboard", at=f"projects/{world.ids['project']}?sort=id")
    assert len({found["first"], found["second"], found["third"]}) == 3


def test_no_page_is_wider_than_a_phone(world, see):
    assert see("narrow", paths=list(world.paths().values()))["wide"] == []


def test_axe_finds_nothing_on_any_page(world, see):
    paths = world.paths()
    dark = [paths[name] for name in DARK]
    found = see("accessible", paths=list(paths.values()), dark=dark)["found"]
    assert not found, "\n".join(found)


def test_a_theme_that_was_chosen_stays(see):
    found = see("theme")
    assert found["light"] != found["dark"] == found["kept"]


def test_everything_works_below_a_prefix(world, see):
    with PrefixProxy(world.c.port) as proxy:
        found = see("home", url=proxy.url, running="resnet-lr-sweep", ended="baseline")
        assert found["load"] == 12 and not found["errors"]


def test_the_first_page_is_there_soon(see):
    found = see("times")
    print(f"first contentful paint {found['paint']:.0f} ms, {found['files']} files, {found['bytes']} bytes")
    assert found["bytes"] < 100 * KIB


# ---- the files ----


def first_scripts():
    """The page's script and what it imports at once."""
    html = (DIST / "index.html").read_text()
    todo, found = re.findall(r'src="\./(assets/[^"]+\.js)"', html), []
    while todo:
        name = todo.pop()
        if name not in found:
            found.append(name)
            text = (DIST / name).read_text()
            todo += [f"assets/{other}" for other in re.findall(r'(?:import|from)\s*"\./([^"]+\.js)"', text)]
    return found


def packed(name):
    return len(gzip.compress((DIST / name).read_bytes(), 9))


def test_the_interface_stays_small():
    first = sum(map(packed, first_scripts()))
    everything = sum(packed(path.relative_to(DIST)) for path in DIST.rglob("*") if path.suffix in (".js", ".css", ".html", ".svg"))
    print(f"first JavaScript {first / KIB:.1f} KiB, everything {everything / KIB:.1f} KiB, gzipped")
    assert first <= 100 * KIB and everything <= 300 * KIB


def test_its_logic():
    done = subprocess.run(["npm", "test", "--silent", "--prefix", ROOT / "web"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
