"""Tests webhooks: what is sent when, its signature, how often it is tried, and what is refused."""
import json
import signal
import threading

import pytest
from support.cluster import Cluster, client_hash, wait_for
from support.receiver import Receiver

WEBHOOKS = "/api/v1/webhooks"
KEY = "0123456789ab"
CONFIG = {"webhooks": {"signing_key": KEY, "base_url": "https://det.example.org/", "allowed_addresses": ["127.0.0.1"]}}
ENDED = {"triggerType": "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", "condition": {"state": "CANCELED"}}
CUSTOM = {"triggerType": "TRIGGER_TYPE_CUSTOM"}
ALIAS = {**CUSTOM, "condition": {"event": "MODEL_ALIAS"}}


def log_trigger(regex):
    return {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": regex}}


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as r:
        yield r


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster"), config=CONFIG) as cluster:
        cluster.start_master()
        cluster.login()
        yield cluster


@pytest.fixture(scope="module")
def other(c):
    user = {"user": {"username": "other", "active": True}, "password": client_hash("Long-Enough-1"), "isHashed": True}
    assert c.post("/api/v1/users", user, token=c.admin_token()).status == 200
    return c.login("other", "Long-Enough-1", keep=False).json["token"]


def make(c, url, name, triggers=(ENDED,), token=None, **more):
    body = {"name": name, "url": url, "webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE", "triggers": list(triggers), **more}
    return c.post(WEBHOOKS, body, token=token or c.admin_token())


def made(*args, **more):
    reply = make(*args, **more)
    assert reply.status == 200, reply
    return reply.json["webhook"]


def why(reply, status=400):
    assert reply.status == status, reply
    return reply.json["error"]["error"]


def canceled(c, **changes):
    x = c.create(activate=False, **changes)
    assert c.post(f"/api/v1/experiments/{x}/cancel").status == 200
    return x


def one(receiver, path):
    wait_for(f"a message at {path}", lambda: receiver.of(path))
    return receiver.of(path)[0]


def fence(c, receiver):
    """Waits for a message of an event that came later, so that what was to come before has come, whatever the webhook."""
    path = f"/fence{len(receiver.messages)}"
    h = made(c, receiver.url(path), path)
    canceled(c)
    one(receiver, path)
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200


# ---- what is sent -------------------------------------------------------------------------------------------------------

def test_the_end_of_an_experiment_is_told_signed(c, receiver):
    h = made(c, receiver.url("/end"), "ends", [ENDED, CUSTOM])
    assert (h["name"], h["workspaceId"], h["mode"], h["webhookType"]) == ("ends", 0, "WEBHOOK_MODE_WORKSPACE", "WEBHOOK_TYPE_DEFAULT")
    assert [(t["triggerType"], t["condition"], t["webhookId"]) for t in h["triggers"]] == [
        (ENDED["triggerType"], {"state": "CANCELED"}, h["id"]), ("TRIGGER_TYPE_CUSTOM", {}, h["id"])]
    assert h in c.get(WEBHOOKS, token=c.admin_token()).json["webhooks"]
    before = c.metric('det_webhook_messages_total{result="delivered"}')
    x = canceled(c, name="the name")
    m = one(receiver, "/end")
    assert m.is_signed_with(KEY) and m.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert m.body["event_type"] == "EXPERIMENT_STATE_CHANGE" and m.body["condition"] == {"state": "CANCELED"} and len(m.body["event_id"]) == 36
    assert m.body["event_data"] == {"experiment": {"id": x, "state": "CANCELED", "name": "the name", "duration": 0, "resource_pool": "default",
                                                   "slots_per_trial": 1, "workspace": "Uncategorized", "project": "Uncategorized"}}
    wait_for("the count", lambda: c.metric('det_webhook_messages_total{result="delivered"}') > before)
    fence(c, receiver)
    assert len(receiver.of("/end")) == 2  # the other one is of the fence's experiment
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200
    canceled(c)
    fence(c, receiver)
    assert len(receiver.of("/end")) == 2


def test_slack_is_told_in_blocks(c, receiver):
    made(c, receiver.url("/slack"), "slack", webhookType="WEBHOOK_TYPE_SLACK")
    x = canceled(c, name="a <b> & c")
    m = one(receiver, "/slack")
    [top], [attachment] = m.body["blocks"], m.body["attachments"]
    assert top == {"text": {"text": "The status of your experiment is CANCELED", "type": "plain_text"}, "type": "section"}
    [block] = attachment["blocks"]
    assert attachment["color"] == "#009bde"
    assert block["text"]["text"] == f"<https://det.example.org/det/experiments/{x}/overview | a &lt;b&gt; &amp; c (#{x})>"
    assert [f["text"] for f in block["fields"]] == [
        "*Status*: CANCELED", "*Duration*: 0h 0min", "*Workspace*: <https://det.example.org/det/workspaces/1/projects | Uncategorized>",
        "*Project*: <https://det.example.org/det/projects/1 | Uncategorized>"]
    assert m.is_signed_with(KEY)


def test_a_workspace_hears_of_its_own_experiments_only(c, receiver, other):
    workspace = c.post("/api/v1/workspaces", {"name": "With a webhook"}).json["workspace"]["id"]
    assert c.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "P"}).status == 200
    h = made(c, receiver.url("/own"), "own", workspaceId=workspace, token=c.token)
    canceled(c)
    x = canceled(c, workspace="With a webhook", project="P")
    assert one(receiver, "/own").body["event_data"]["experiment"]["id"] == x
    # the webhook's owner and admins change it and see it, nobody else
    assert c.get(WEBHOOKS).json["webhooks"] == [h] and c.get(WEBHOOKS, token=other).json["webhooks"] == []
    assert "belongs to user" in why(make(c, receiver.url(), "x", workspaceId=workspace, token=other), 403)
    assert make(c, receiver.url(), "x", token=c.token).status == 400  # of the whole cluster: for admins
    for method, body in (("PATCH", {"url": receiver.url()}), ("DELETE", None)):
        assert c.request(method, f"{WEBHOOKS}/{h['id']}", body, token=other).status == 403
    assert c.post(f"{WEBHOOKS}/{h['id']}/test", token=other).status == 403
    assert c.patch(f"{WEBHOOKS}/{h['id']}", {"url": receiver.url("/moved")}).status == 200
    canceled(c, workspace="With a webhook", project="P")
    one(receiver, "/moved")
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}").status == 200 and c.request("DELETE", f"{WEBHOOKS}/{h['id']}").status == 404


def test_an_experiment_chooses_its_webhooks(c, receiver):
    h = made(c, receiver.url("/specific"), "specific", mode="WEBHOOK_MODE_SPECIFIC")
    made(c, receiver.url("/all"), "all of them")
    canceled(c)
    quiet = canceled(c, integrations={"webhooks": {"exclude": True}})
    by_id = canceled(c, integrations={"webhooks": {"webhook_id": [h["id"]]}})
    by_name = canceled(c, integrations={"webhooks": {"webhook_name": ["specific"]}})
    wait_for("both", lambda: len(receiver.of("/specific")) == 2)
    assert [m.body["event_data"]["experiment"]["id"] for m in receiver.of("/specific")] == [by_id, by_name]
    fence(c, receiver)
    assert quiet not in [m.body["event_data"]["experiment"]["id"] for m in receiver.of("/all")] and len(receiver.of("/specific")) == 2


def test_an_experiment_that_runs_elsewhere_is_told_of_too(c, receiver):
    made(c, receiver.url("/elsewhere"), "elsewhere", [{**ENDED, "condition": {"state": "COMPLETED"}}])
    config = {"name": "far away", "searcher": {"name": "single", "metric": "loss"}}
    x = c.post("/api/v1/experiments", {"config": json.dumps(config), "unmanaged": True}).json["experiment"]["id"]
    trial = c.post("/api/v1/trials", {"experimentId": x, "unmanaged": True, "hparams": {}}).json["trial"]["id"]
    for state in ("STATE_RUNNING", "STATE_COMPLETED", "STATE_COMPLETED"):
        assert c.patch(f"/api/v1/trials/{trial}", {"state": state}).status == 200
    assert one(receiver, "/elsewhere").body["event_data"]["experiment"]["id"] == x
    fence(c, receiver)
    assert len(receiver.of("/elsewhere")) == 1


def test_an_alert_of_a_tasks_code(c, receiver, other):
    made(c, receiver.url("/alert"), "alerts", [CUSTOM])
    x = c.create(activate=False)
    [trial] = c.trial_ids(x)
    alert = {"experimentId": x, "trialId": trial, "data": {"title": "T", "description": "D", "level": "LOG_LEVEL_WARNING"}}
    assert c.post(f"{WEBHOOKS}/custom", alert, token=other).status == 403
    assert c.post(f"{WEBHOOKS}/custom", alert).status == 200
    body = one(receiver, "/alert").body
    assert body["event_type"] == "CUSTOM" and body["condition"] == {} and body["event_data"]["experiment"]["trial_id"] == trial
    assert body["event_data"]["custom_data"] == {"title": "T", "description": "D", "level": "WARNING"}
    y = c.create(activate=False)
    assert "is not of experiment" in why(c.post(f"{WEBHOOKS}/custom", {**alert, "experimentId": y}))
    for bad in ({"data": None}, {"data": {"title": "x" * 10001}}, {"experimentId": 0}, {"experimentId": 4711}, {"trialId": 4711}):
        assert c.post(f"{WEBHOOKS}/custom", {**alert, **bad}).status in (400, 404), bad
    fence(c, receiver)
    assert len(receiver.of("/alert")) == 1


# ---- lines of task logs -------------------------------------------------------------------------------------------------

def task_of(c, experiment_id):
    return c.get(f"/api/v1/trials/{c.trial_ids(experiment_id)[0]}").json["trial"]["taskIds"][-1]


def log(c, task_id, *lines):
    reply = c.post("/api/v1/task/logs", {"logs": [{"taskId": task_id, "agentId": "node-7", "log": line + "\n"} for line in lines]})
    assert reply.status == 200, reply


def command(c, *words):
    reply = c.post("/api/v1/commands", {"config": {"entrypoint": list(words), "resources": {"slots": 0}}})
    assert reply.status == 200, reply
    return reply.json["command"]["id"]


def test_a_line_of_a_log_is_told_once_for_each_task_and_pattern(c, receiver):
    h = made(c, receiver.url("/log"), "logs", [log_trigger("out of mem+ory"), log_trigger("^exit [1-9]"), ENDED])
    assert [t["condition"] for t in h["triggers"]] == [{"regex": "out of mem+ory"}, {"regex": "^exit [1-9]"}, {"state": "CANCELED"}]
    assert h in c.get(WEBHOOKS, token=c.admin_token()).json["webhooks"]
    first, second = task_of(c, c.create(activate=False)), task_of(c, c.create(activate=False))
    log(c, first, "epoch 1", "CUDA out of memmory é", "out of memory again")
    m = one(receiver, "/log")
    assert m.is_signed_with(KEY) and m.body["event_type"] == "TASK_LOG" and m.body["condition"] == {"regex": "out of mem+ory"} and len(m.body["event_id"]) == 36
    assert m.body["event_data"] == {"task_log": {"task_id": first, "node_name": "node-7", "triggering_log": "CUDA out of memmory é"}}
    log(c, first, "out of memory once more", "exit 0", "no exit 1")
    log(c, first, "exit 3")
    log(c, second, "out of memory")
    wait_for("three messages", lambda: len(receiver.of("/log")) == 3)
    assert [(m.body["event_data"]["task_log"]["task_id"], m.body["event_data"]["task_log"]["triggering_log"]) for m in receiver.of("/log")] == [
        (first, "CUDA out of memmory é"), (first, "exit 3"), (second, "out of memory")]
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200
    log(c, second, "exit 3")
    fence(c, receiver)
    assert len(receiver.of("/log")) == 3


def test_logs_of_all_tasks_of_its_scope_are_looked_through(c, receiver):
    workspace = c.post("/api/v1/workspaces", {"name": "With logs"}).json["workspace"]["id"]
    assert c.post(f"/api/v1/workspaces/{workspace}/projects", {"name": "P"}).status == 200
    scoped = made(c, receiver.url("/log-own"), "own logs", [log_trigger("boom")], workspaceId=workspace, token=c.token)
    everywhere = made(c, receiver.url("/log-all"), "all logs", [log_trigger("boom")])
    specific = made(c, receiver.url("/log-specific"), "chosen logs", [log_trigger("boom")], mode="WEBHOOK_MODE_SPECIFIC")
    inside, outside = task_of(c, c.create(activate=False, workspace="With logs", project="P")), task_of(c, c.create(activate=False))
    chosen = task_of(c, c.create(activate=False, integrations={"webhooks": {"webhook_id": [specific["id"]]}}))
    silent = task_of(c, c.create(activate=False, integrations={"webhooks": {"exclude": True}}))
    of_its_own = command(c, "true")
    tasks = [silent, outside, inside, chosen, of_its_own]
    for task in tasks:
        log(c, task, "boom")
    wait_for("all of them", lambda: len(receiver.of("/log-all")) == 4)
    heard = {path: [m.body["event_data"]["task_log"]["task_id"] for m in receiver.of(path)] for path in ("/log-all", "/log-own", "/log-specific")}
    assert heard == {"/log-all": tasks[1:], "/log-own": [inside], "/log-specific": [chosen]}
    for h in (scoped, everywhere, specific):
        assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200


def test_lines_that_an_agent_brings_are_looked_through_and_slack_is_told(c, receiver):
    h = made(c, receiver.url("/log-slack"), "slack logs", [log_trigger("b`[a-z]+")], webhookType="WEBHOOK_TYPE_SLACK")
    trial = c.create(activate=False)
    log(c, task_of(c, trial), "a <b`bb> \x01")
    [block] = one(receiver, "/log-slack").body["blocks"]
    [trial_id] = c.trial_ids(trial)
    assert block["text"]["text"] == (
        f"Experiment ID `{trial}`, Trial ID `{trial_id}`, running on node `node-7`, reported a log\n```a &lt;b'bb&gt; \x01```\n"
        f"This log matched the regex\n```b'[a-z]+```\n<https://det.example.org/det/experiments/{trial}/trials/{trial_id}/logs | View full logs here>")
    c.start_agent("node-1")
    task = command(c, "echo", "b`cc")
    wait_for("the line of the command", lambda: len(receiver.of("/log-slack")) == 2)
    assert receiver.of("/log-slack")[1].body["blocks"][0]["text"]["text"].startswith(
        f"Task ID `{task}`, task type `COMMAND`, running on node `node-1`, reported a log\n```b'cc```\n")
    c.stop_agent("node-1")
    assert c.request("DELETE", f"{WEBHOOKS}/{h['id']}", token=c.admin_token()).status == 200


def test_a_pattern_that_explodes_stops_nothing(c, receiver):
    costly = made(c, receiver.url("/costly"), "costly", [log_trigger("^(x+x+)+y"), log_trigger("cheap")])
    task = task_of(c, c.create(activate=False))
    log(c, task, "x" * 5000 + "zy", "it is cheap", "\0" * 3, "\ud800")
    assert one(receiver, "/costly").body["event_data"]["task_log"]["triggering_log"] == "it is cheap"
    assert f"webhook.pattern_too_expensive webhook={costly['id']}" in c.master_log()
    assert c.request("DELETE", f"{WEBHOOKS}/{costly['id']}", token=c.admin_token()).status == 200


def test_the_number_of_patterns_is_limited(c, receiver):
    many = made(c, receiver.url("/patterns"), "many patterns", [log_trigger(f"p{n}") for n in range(50)])
    assert "may have 50" in why(make(c, receiver.url("/patterns"), "one more", [log_trigger("q")]))
    assert c.request("DELETE", f"{WEBHOOKS}/{many['id']}", token=c.admin_token()).status == 200


# ---- aliases of models --------------------------------------------------------------------------------------------------

def test_each_change_of_an_alias_is_told(c, receiver):
    made(c, receiver.url("/alias"), "aliases", [ALIAS])
    made(c, receiver.url("/alias-slack"), "aliases for slack", [ALIAS], webhookType="WEBHOOK_TYPE_SLACK")
    workspace = c.post("/api/v1/workspaces", {"name": "Other models"}).json["workspace"]["id"]
    made(c, receiver.url("/alias-elsewhere"), "aliases elsewhere", [ALIAS], workspaceId=workspace, token=c.token)
    model = c.post("/api/v1/models", {"name": "a <model>"}).json["model"]["id"]
    task = task_of(c, c.create(activate=False))
    for n in (1, 2):
        uuid = f"00000000-0000-4000-8000-00000000000{n}"
        report = {"uuid": uuid, "taskId": task, "resources": {}, "metadata": {"steps_completed": n}, "state": "STATE_COMPLETED"}
        assert c.report_checkpoint(report).status == 200
        assert c.post(f"/api/v1/models/{model}/versions", {"checkpointUuid": uuid}).status == 200
    alias = f"/api/v1/models/{model}/aliases/production"
    for version in (1, 2, 2):
        assert c.request("PUT", alias, {"version": version}).status == 200
    assert c.request("PUT", alias, {"version": 7}).status == 404
    assert c.request("DELETE", alias).status == 200 and c.request("DELETE", alias).status == 404
    assert c.request("PUT", alias, {"version": 1}).status == 200
    assert c.request("DELETE", f"/api/v1/models/{model}").status == 200
    wait_for("five messages", lambda: len(receiver.of("/alias")) == 5 and len(receiver.of("/alias-slack")) == 5)
    bodies = [m.body for m in receiver.of("/alias")]
    assert bodies[0]["event_type"] == "CUSTOM" and bodies[0]["condition"] == {"event": "MODEL_ALIAS"} and receiver.of("/alias")[0].is_signed_with(KEY)
    assert bodies[0]["event_data"]["model_alias"] == {"model_id": model, "model_name": "a <model>", "workspace_id": 1, "alias": "production",
                                                     "version": 1, "username": "determined"}
    changes = [b["event_data"]["model_alias"] for b in bodies]
    assert [(x.get("version"), x.get("previous_version")) for x in changes] == [(1, None), (2, 1), (None, 2), (1, None), (None, 1)]
    assert receiver.of("/alias-slack")[1].body["blocks"][0]["text"]["text"] == (
        f"Alias `production` of model <https://det.example.org/det/models/{model} | a &lt;model&gt;> is version 2 now (before: version 1), changed by determined")
    fence(c, receiver)
    assert receiver.of("/alias-elsewhere") == [] and len(receiver.of("/alias")) == 5


# ---- the test button ----------------------------------------------------------------------------------------------------

def test_the_test_button(c, receiver):
    h = made(c, receiver.url("/button"), "button", mode="WEBHOOK_MODE_SPECIFIC")
    assert c.post(f"{WEBHOOKS}/{h['id']}/test", token=c.admin_token()).json == {"completed": True}
    m = one(receiver, "/button")
    assert m.is_signed_with(KEY) and m.body["event_data"] == {"data": "test"} and m.body["condition"] == {"state": "COMPLETED"}
    s = made(c, receiver.url("/slack-button"), "slack button", mode="WEBHOOK_MODE_SPECIFIC", webhookType="WEBHOOK_TYPE_SLACK")
    assert c.post(f"{WEBHOOKS}/{s['id']}/test", token=c.admin_token()).status == 200
    assert one(receiver, "/slack-button").body == {"blocks": [{"text": {"text": "test", "type": "plain_text"}, "type": "section"}]}
    receiver.answer = lambda handler: handler.status(404)
    assert "HTTP status 404" in why(c.post(f"{WEBHOOKS}/{h['id']}/test", token=c.admin_token()))
    receiver.answer = None
    assert c.post(f"{WEBHOOKS}/4711/test", token=c.admin_token()).status == 404


# ---- what is refused ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("wrong, reason", [
    ({"name": ""}, "name"), ({"name": "a\nb"}, "control"), ({"name": "n" * 10000}, "255"), ({"url": ""}, "url"), ({"url": "ftp://x/"}, "http://"),
    ({"url": "http://"}, "host"), ({"url": "http:///x"}, "host"), ({"url": "file:///etc/passwd"}, "http://"), ({"url": "http://u:p@x/"}, "password"),
    ({"url": "http://a b/"}, "ASCII"), ({"url": "http://x/\r\nHost: y"}, "ASCII"), ({"url": "http://x/" + "y" * 2000}, "2000"), ({"triggers": []}, "triggers"),
    ({"triggers": [ENDED, ENDED]}, "same"), ({"triggers": [{**ENDED, "condition": {}}]}, "state"), ({"triggers": [{**ENDED, "condition": {"state": "x"}}]}, "no state"),
    ({"triggers": [{}]}, "triggerType"), ({"triggers": [{"triggerType": "TRIGGER_TYPE_TASK_LOG"}]}, "is a pattern"),
    ({"triggers": [log_trigger("")]}, "is a pattern"), ({"triggers": [log_trigger("x(")]}, "no regular expression"),
    ({"triggers": [log_trigger("x"), log_trigger("x")]}, "same"), ({"triggers": [log_trigger("x" * 1001)]}, "1000"), ({"triggers": [log_trigger("a\0b")]}, "U+0000"),
    ({"triggers": [{**CUSTOM, "condition": {"event": "MODEL"}}]}, "no event"),
    ({"triggers": [{"triggerType": "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED"}]}, "not served"), ({"webhookType": 0}, "webhookType"), ({"mode": 0}, "mode")])
def test_a_wrong_webhook_is_refused(c, receiver, wrong, reason):
    before = c.get(WEBHOOKS, token=c.admin_token()).json
    assert reason in why(make(c, **{"url": receiver.url(), "name": "wrong", **wrong}))
    assert c.get(WEBHOOKS, token=c.admin_token()).json == before


def test_names_are_unique_and_changes_are_checked(c, receiver):
    h = made(c, receiver.url(), "unique", mode="WEBHOOK_MODE_SPECIFIC")
    assert "is named \"unique\"" in why(make(c, receiver.url(), "unique"), 409)
    assert make(c, receiver.url(), "nowhere", workspaceId=4711).status in (404, 409)
    for body in ({"url": "gopher://x/"}, {"url": ""}, None):
        assert c.patch(f"{WEBHOOKS}/{h['id']}", body, token=c.admin_token()).status == 400
    assert c.patch(f"{WEBHOOKS}/4711", {"url": receiver.url()}, token=c.admin_token()).status == 404


# ---- a receiver that is away, and a master that dies --------------------------------------------------------------------

def test_a_message_is_tried_again_until_it_is_taken_and_a_refused_one_is_not(c, receiver):
    left = [503, 500]
    receiver.answer = lambda handler: handler.status(left.pop() if handler.path == "/again" and left else 400 if handler.path == "/refused" else 200)
    given_up = c.metric('det_webhook_messages_total{result="given_up"}')
    again, refused = made(c, receiver.url("/again"), "again"), made(c, receiver.url("/refused"), "refused")
    x = canceled(c)
    wait_for("the third attempt", lambda: len(receiver.of("/again")) == 3)
    attempts = receiver.of("/again")
    assert len({m.body["event_id"] for m in attempts}) == 1 and all(m.is_signed_with(KEY) for m in attempts)
    assert attempts[0].body["event_data"]["experiment"]["id"] == x
    wait_for("it was given up", lambda: f"webhook.given_up webhook={refused['id']} tries=1" in c.master_log())
    assert len(receiver.of("/refused")) == 1 and c.metric('det_webhook_messages_total{result="given_up"}') > given_up
    assert f"webhook.failed webhook={again['id']} tries=1/10" in c.master_log() and receiver.url("/again") not in c.master_log()
    receiver.answer = None


def test_many_messages_come_once_each_and_in_order(c, receiver):
    """A message was once sent twice: the queue had been looked at just before its delivery was noted."""
    made(c, receiver.url("/many"), "many", [CUSTOM])
    x = c.create(activate=False)
    for n in range(100):
        assert c.post(f"{WEBHOOKS}/custom", {"experimentId": x, "data": {"title": str(n)}}).status == 200
    wait_for("the last one", lambda: receiver.of("/many")[-1:] and receiver.of("/many")[-1].body["event_data"]["custom_data"]["title"] == "99")
    assert [m.body["event_data"]["custom_data"]["title"] for m in receiver.of("/many")] == [str(n) for n in range(100)]


def test_a_receiver_that_hangs_delays_nobody_else(c, receiver):
    release = threading.Event()
    receiver.answer = lambda handler: release.wait(60) if handler.path == "/hang" else handler.status(200)
    made(c, receiver.url("/hang"), "hang")
    made(c, receiver.url("/quick"), "quick")
    first, second = canceled(c), canceled(c)
    wait_for("both", lambda: len(receiver.of("/quick")) >= 2)
    assert [m.body["event_data"]["experiment"]["id"] for m in receiver.of("/quick")][:2] == [first, second]
    assert len(receiver.of("/hang")) == 1  # one at a time
    release.set()
    receiver.answer = None


def test_a_message_that_goes_with_its_webhook_takes_no_other_with_it(c, receiver):
    """The outcome of a message on its way was once noted for the next message, which had been given the same id."""
    release, left, paused = threading.Event(), [503], {**ENDED, "condition": {"state": "PAUSED"}}

    def answer(handler):
        if handler.path == "/gone":
            release.wait(60)
        handler.status(left.pop() if handler.path == "/new" and left else 200)

    def pause():
        assert c.post(f"/api/v1/experiments/{c.create()}/pause").status == 200

    receiver.answer = answer
    gone = made(c, receiver.url("/gone"), "gone", [paused])
    pause()
    one(receiver, "/gone")
    assert c.request("DELETE", f"{WEBHOOKS}/{gone['id']}", token=c.admin_token()).status == 200
    new = made(c, receiver.url("/new"), "new", [paused])
    pause()
    one(receiver, "/new")
    release.set()
    assert new["id"] > gone["id"]
    wait_for("the second attempt", lambda: len(receiver.of("/new")) == 2)
    receiver.answer = None


def test_messages_survive_a_crash_of_the_master(new_cluster):
    c = new_cluster(config=CONFIG)
    c.start_master()
    c.login()
    with Receiver() as away:
        port = away.port
    made(c, f"http://127.0.0.1:{port}/late", "late")
    x = canceled(c)
    wait_for("an attempt", lambda: "webhook.failed" in c.master_log())
    c.stop_master(signal.SIGKILL)
    with Receiver(port) as receiver:
        c.start_master()
        assert one(receiver, "/late").body["event_data"]["experiment"]["id"] == x
        c.stop_master()


def test_a_key_of_its_own_is_kept_and_told_to_nobody(new_cluster):
    with Receiver() as receiver:
        c = new_cluster(config={"webhooks": {"allowed_addresses": ["127.0.0.0/8"]}})
        c.start_master()
        c.login()
        key = (c.dir / "data/webhooks.key").read_text().strip()
        assert len(key) == 64 and (c.dir / "data/webhooks.key").stat().st_mode & 0o777 == 0o600
        made(c, receiver.url("/key"), "key")
        canceled(c)
        assert one(receiver, "/key").is_signed_with(key)
        assert key not in c.master_log() and key not in str(c.get("/api/v1/master/config", token=c.admin_token()).body)
