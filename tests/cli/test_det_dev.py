"""det dev: the API itself, by path and by name."""
import json
import os
import pathlib
import signal
import subprocess

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.fake_master.messages import CONTRACT as API
from test_terminal import Terminal

CONTRACT = pathlib.Path(__file__).resolve().parents[2] / "contract"


@pytest.fixture
def recording_curl(tmp_path):
    """A directory with a program curl that says how it was started, and ends as the file `end` beside it says."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "curl").write_text("""#!/bin/sh
printf '%s\\n' "$@" >"$0.words"
while [ $# -gt 0 ]; do case "$1" in @*) cat "${1#@}" >"$0.header";; esac; shift; done
[ ! -f "${0%curl}end" ] || . "${0%curl}end"
""")
    (place / "curl").chmod(0o755)
    return place


def test_curl_sends_what_it_is_told_with_the_token(det, master):
    assert det("dev", "curl", "/api/v1/me") == json.dumps({"user": master.users[1]})
    assert det("dev", "c", "api/v1/users/2", "-X", "PATCH", "-d", '{"displayName": "D"}', "-H", "Content-Type: application/json")
    assert master.requests[-1] == ("PATCH", "/api/v1/users/2", {}, {"displayName": "D"})
    det("dev", "curl", "/api/v1/experiments?limit=3&labels=[a]")
    assert master.requests[-1][2] == {"limit": ["3"], "labels": ["[a]"]}


def test_curl_lays_json_out_on_a_terminal(det, master):
    shown = Terminal(det, "dev", "curl", "/api/v1/me")
    assert json.dumps({"user": master.users[1]}, indent=2, sort_keys=True) in shown.end() and shown.status == 0
    shown = Terminal(det, "dev", "curl", "/api/v1/trials/1/logs")
    assert shown.end().count('{"result": {') == 5 and shown.status == 0


def test_curl_keeps_binary_data_off_a_terminal(det, recording_curl):
    (recording_curl / "end").write_text("printf '\\377\\000'")
    shown = Terminal(det, "dev", "curl", "/x", PATH=f"{recording_curl}:{det.environment['PATH']}")
    assert "The reply is no text. Redirect the output to keep it." in shown.end() and "\0" not in shown.text()


def test_exit_status_of_curl_is_passed_on(det, master, recording_curl):
    master.failures["/api/v1/agents"] = fake_master.Refusal(404, "not here")
    assert '"not here"' in det("dev", "curl", "/api/v1/agents")  # to curl an answer is a success
    assert det.run("dev", "curl", "/api/v1/agents", "--fail").returncode == 22
    environment = {"PATH": f"{recording_curl}:{det.environment['PATH']}"}
    for end, status in (("exit 7", 7), (f"kill -{signal.SIGKILL:d} $$", 137)):
        (recording_curl / "end").write_text(end)
        assert det.run("dev", "curl", "/x", **environment).returncode == status


def test_token_is_neither_a_word_of_the_command_nor_shown(det, recording_curl):
    done = det.run("dev", "curl", "-x", "/x", "-d", "it's", PATH=f"{recording_curl}:{det.environment['PATH']}")
    words = (recording_curl / "curl.words").read_text()
    assert fake_master.TOKEN not in words + done.stdout + done.stderr
    assert (recording_curl / "curl.header").read_text() == f"Authorization: Bearer {fake_master.TOKEN}\n"
    [line] = [line for line in done.stderr.splitlines() if line.startswith("curl ")]
    assert line == f"""curl {det.url}/x -H "Authorization: Bearer $(det -m {det.url} dev auth-token)" -s --globoff -d 'it'"'"'s'"""


def test_shown_command_does_the_same_when_it_is_typed(det, master, tmp_path):
    done = det.run("dev", "curl", "-x", "/api/v1/me")
    [line] = [line for line in done.stderr.splitlines() if line.startswith("curl ")]
    path = f"{tmp_path}/path"
    pathlib.Path(path).mkdir()
    pathlib.Path(path, "det").symlink_to(conftest.BUILD / "det")
    typed = subprocess.run(line, shell=True, capture_output=True, text=True,
                           env={**det.environment, "PATH": f"{path}:{det.environment['PATH']}"})
    assert typed.stdout == done.stdout != ""


def test_curl_trusts_what_det_trusts(det, tls_server):
    url = tls_server.url.replace("127.0.0.1", "localhost")
    asked = ("dev", "curl", "/api/v1/me")
    for trust in ({"DET_MASTER_CERT_FILE": str(tls_server.certificate[0])}, {"DET_MASTER_CERT_FILE": "noverify"}):
        assert "Det Ermined" in det(*asked, DET_MASTER=url, **trust)
    assert "Det Ermined" in det(*asked, DET_MASTER=tls_server.url, DET_MASTER_CERT_FILE=str(tls_server.certificate[0]),
                                DET_MASTER_CERT_NAME="localhost")
    det("user", "whoami", DET_MASTER=url, stdin="y\n")
    assert "Det Ermined" in det(*asked, DET_MASTER=url)  # by the certificate that was accepted and stored


@pytest.mark.parametrize("path", ["http://elsewhere/api/v1/me", "//elsewhere/x", "file:/etc/passwd"])
def test_curl_takes_no_whole_url(det, master, path):
    done = det.run("dev", "curl", path)
    assert done.returncode == 2 and f"the path '{path}' must not be a whole URL" in done.stderr
    assert [r[1] for r in master.requests] == ["/info"]


def test_missing_curl_is_told(det, tmp_path):
    done = det.run("dev", "curl", "/x", PATH=str(tmp_path))
    assert done.returncode == 1 and "curl is not installed on this machine" in done.stderr


# Bindings


def test_bindings_are_listed_with_their_parameters_and_without_a_master(det):
    nowhere = {"DET_MASTER": "http://127.0.0.1:1"}
    listed = det("dev", "bindings", **nowhere).splitlines()
    assert "get_GetExperiment <= experimentId: int" in listed and "get_GetMaster" in listed and listed == sorted(listed)
    assert "patch_PatchExperiment <= body: 'experiment.v1.PatchExperiment', experiment_id: int" in listed
    every = det("dev", "b", "ls", "--show-unusable", **nowhere).splitlines()
    served = json.loads((CONTRACT / "served.json").read_text())
    names = {f"{route['method'].lower()}_{route['rpc']}": route["rpc"] in served for route in API["routes"]}
    assert {line.split(" ")[0] for line in every} == set(names)
    assert {line.split(" ")[0] for line in listed} == {name for name, is_served in names.items() if is_served}


@pytest.mark.parametrize("words, method, path, query, body", [
    (["get_GetExperiment", "1"], "GET", "/api/v1/experiments/1", {}, None),
    (["get_GetExperiments", "limit=3", 'states=["STATE_RUNNING", "STATE_PAUSED"]', "experimentIdFilter_gt=2", "archived=false"], "GET",
     "/api/v1/experiments", {"limit": ["3"], "states": ["STATE_RUNNING", "STATE_PAUSED"], "experimentIdFilter.gt": ["2"], "archived": ["false"]}, None),
    (["get_GetTrialCheckpoints", "1", "states=STATE_COMPLETED"], "GET", "/api/v1/trials/1/checkpoints", {"states": ["STATE_COMPLETED"]}, None),
    (["get_GetUserByUsername", "username=determined"], "GET", "/api/v1/users/determined/by-username", {}, None),
    (["patch_PatchUser", '{"displayName": "a=b"}', "2"], "PATCH", "/api/v1/users/2", {}, {"displayName": "a=b"}),
    (["patch_PatchExperiment", "experiment_id=1", 'body={"notes": "a b"}'], "PATCH", "/api/v1/experiments/1", {}, {"notes": "a b"}),
])
def test_binding_is_called_with_its_arguments(det, master, words, method, path, query, body):
    out = det("dev", "bindings", "call", *words)
    assert master.requests[-1] == (method, path, query, body)
    assert out == json.dumps(json.loads(out), indent=2, sort_keys=True) + "\n"


def test_binding_of_a_stream_prints_each_record_and_one_without_reply_nothing(det, master):
    out = det("dev", "bindings", "call", "get_TrialLogs", "1", "limit=2")
    assert out.count('"log": "line') == 2 and out.count("\n}\n") == 2
    assert det("dev", "bindings", "call", "delete_DeleteExperiment", "1") == ""
    assert master.requests[-1][:2] == ("DELETE", "/api/v1/experiments/1")


def test_part_of_a_bindings_name_is_enough_if_it_is_confirmed(det, master):
    done = det.run("dev", "b", "c", "-y", "get-user-by-username", "determined")
    assert "Auto picked 'get_GetUserByUsername' for 'get-user-by-username'" in done.stderr and "Det Ermined" in done.stdout
    done = det.run("dev", "b", "c", "userbyuser", "determined")
    assert done.returncode == 2 and "no binding is called 'userbyuser'. Did you mean:\nget_GetUserByUsername\n" in done.stderr
    done = det.run("dev", "b", "c", "-y", "getmaster")
    assert done.returncode == 2 and "\nget_GetMaster\nget_GetMasterConfig\n" in done.stderr
    shown = Terminal(det, "dev", "b", "c", "UserByUser", "determined", columns=200)
    shown.wait_for("(a number)? ")
    os.write(shown.ours, b"0\n")
    assert "Det Ermined" in shown.end() and shown.status == 0


@pytest.mark.parametrize("words, status, said", [
    ("nonsense", 2, "no such binding: 'nonsense'; 'det dev bindings list' shows all"),
    ("get_GetExperiment", 2, "get_GetExperiment needs the parameter 'experimentId'\nUsage: get_GetExperiment <= experimentId: int"),
    ("get_GetExperiment x", 2, "experimentId"),
    ("get_GetExperiment 1 2", 2, "too many arguments, from '2' on"),
    ("get_GetExperiment 1 experimentId=1", 2, "the parameter 'experimentId' is given twice"),
    ("get_GetExperiment experimntId=1", 2, "has no parameter 'experimntId'; did you mean 'experimentId'?"),
    ("get_GetExperiments archived=perhaps", 2, "archived"),
    ("get_GetExperiments states=[", 2, "states"),
    ("patch_PatchUser {broken 2", 2, "body"),
    ("get_GetExperiment 99", 1, "Failed to call an API binding: experiment '99' not found"),
])
def test_call_of_a_binding_with_mistakes(det, master, words, status, said):
    done = det.run("dev", "bindings", "call", *words.split())
    assert done.returncode == status and said in done.stderr and done.stdout == "", done
    assert status == 1 or [r[1] for r in master.requests] == ["/info"]
