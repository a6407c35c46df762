"""determined.common.api (bindings, authentication, certs) of 0.38.1, and ours, by the same program against our master."""
import pytest
from released import OurLibrary, Released
from support.cluster import PASSWORD


@pytest.fixture(params=["released", "ours"])
def library(request, warm, cluster, tmp_path):
    released = Released(warm, cluster.url, tmp_path, password=PASSWORD)
    return released if request.param == "released" else OurLibrary(released)


def test_a_login_and_what_it_may_read(library, cluster, finished):
    got = library.sdk(f"""
        from determined.common import api
        from determined.common.api import authentication, bindings, certs
        url = os.environ['DET_MASTER']
        session = authentication.login(url, os.environ['DET_USER'], os.environ['DET_PASS'], certs.default_load(url))
        me = bindings.get_GetMe(session).user
        pages = list(api.read_paginated(lambda offset: bindings.get_GetExperiments(session, offset=offset, limit=2)))
        experiment = bindings.get_GetExperiment(session, experimentId={finished[0]}).experiment
        trials = bindings.get_GetExperimentTrials(session, experimentId={finished[0]}).trials
        lines = list(api.trial_logs(session, trials[0].id))
        tail = list(api.trial_logs(session, trials[0].id, tail=2))
        master = bindings.get_GetMaster(api.UnauthSession(url, None))
        answer = session.get("api/v1/me")
        return dict(me=me.username, experiment=[experiment.id, str(experiment.state), experiment.state.value, experiment.name],
                    ids=sorted(e.id for page in pages for e in page.experiments), total=pages[0].pagination.total,
                    trial=[trials[0].id, trials[0].state.name], lines=len(lines), tail=[line.message for line in tail],
                    same_tail=[line.message for line in lines[-2:]], cluster=bool(master.clusterId),
                    raw=[answer.status_code, answer.json()["user"]["username"]], text=str(experiment.state))
    """)
    assert got["me"] == "determined" and got["raw"] == [200, "determined"]
    assert got["experiment"][:3] == [finished[0], "COMPLETED", "STATE_COMPLETED"] and len(got["ids"]) == got["total"]
    assert got["trial"] == [cluster.trial_ids(finished[0])[0], "COMPLETED"]
    assert got["lines"] >= 2 and got["tail"] == got["same_tail"] and got["cluster"]


def test_what_the_master_refuses__is_raised_by_the_same_names(library):
    got = library.sdk("""
        from determined.common import api
        from determined.common.api import authentication, bindings, errors
        url = os.environ['DET_MASTER']
        session = authentication.login(url, os.environ['DET_USER'], os.environ['DET_PASS'])
        def raised(call):
            try:
                call()
            except errors.NotFoundException:
                return "NotFoundException"
            except errors.UnauthenticatedException:
                return "UnauthenticatedException"
            except errors.ForbiddenException:
                return "ForbiddenException"
            except errors.APIException:
                return "APIException"
        body = bindings.v1PostUserRequest(user=bindings.v1User(username="eve", admin=False, active=True))
        nobody = api.Session(url, "x", "no-token", None)
        return [raised(lambda: bindings.get_GetExperiment(session, experimentId=999999)),
                raised(lambda: authentication.login(url, "determined", "wrong")),
                raised(lambda: bindings.get_GetMe(nobody)), raised(lambda: bindings.post_PostUser(session, body=body)),
                raised(lambda: bindings.get_GetExperiments(session, limit=-7))]
    """)
    assert got[:4] == ["NotFoundException", "UnauthenticatedException", "UnauthenticatedException", "ForbiddenException"]
    assert got[4] == "APIException"


def test_a_webhook_for_task_logs(library):
    got = library.sdk("""
        from determined.common import api
        from determined.common.api import authentication, bindings
        url = os.environ['DET_MASTER']
        session = authentication.login(url, "admin", os.environ['DET_PASS'])
        trigger = bindings.v1Trigger(triggerType=bindings.v1TriggerType.TASK_LOG, condition={"regex": "out of mem+ory"})
        alias = bindings.v1Trigger(triggerType=bindings.v1TriggerType.CUSTOM, condition={"event": "MODEL_ALIAS"})
        body = bindings.v1Webhook(name="logs", url="https://hooks.example.org/x", webhookType=bindings.v1WebhookType.DEFAULT,
                                  mode=bindings.v1WebhookMode.WORKSPACE, triggers=[trigger, alias])
        made = bindings.post_PostWebhook(session, body=body).webhook
        [listed] = [w for w in bindings.get_GetWebhooks(session).webhooks if w.id == made.id]
        bindings.delete_DeleteWebhook(session, id=made.id)
        return [[t.triggerType.name, t.condition] for t in listed.triggers]
    """)
    assert got == [["TASK_LOG", {"regex": "out of mem+ory"}], ["CUSTOM", {"event": "MODEL_ALIAS"}]]
