"""The watch that tells the master whether a notebook is used, against stand-ins of JupyterLab and of the master."""

import os
import subprocess
import sys
import threading

import pytest
from jupyter_stand_in import BASE_URL, TOKEN, JupyterStandIn, kernel

from determined import _http
from determined.exec import idle_watch

REPOSITORY = str(idle_watch.__file__).split("/determined/")[0]


@pytest.fixture
def jupyter():
    stand_in = JupyterStandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture
def watch(cluster, jupyter):
    """Makes a watch of an idle type; it tries each report once."""
    sessions = []

    def make(idle_type="kernels_or_terminals", port=None):
        session = _http.Session(cluster.master.url, "a-session-token", retry=_http.ONCE)
        sessions.append(session)
        server = idle_watch.Jupyter(port or jupyter.port, BASE_URL, TOKEN)
        return idle_watch.IdleWatch(server, session, "7.6f4e", idle_type)

    yield make
    for session in sessions:
        session.close()


@pytest.mark.parametrize("what", ["kernels", "terminals", "sessions"])
def test_kernels_or_terminals__one_of_them_is_not_idle(watch, jupyter, what):
    assert watch().look() is True
    jupyter.answers[what] = [kernel()]
    assert watch().look() is False
    assert jupyter.paths[-1] == f"{BASE_URL}api/sessions"


def test_kernels_or_terminals__a_server_without_terminals_can_be_idle(watch, jupyter):
    jupyter.answers["terminals"] = 404
    assert watch().look() is True


def test_kernel_connections__a_kernel_that_nobody_has_open_is_idle_even_if_it_is_busy(watch, jupyter):
    jupyter.answers["kernels"] = [kernel(connections=0, state="busy")]
    jupyter.answers["terminals"] = [{"name": "1"}]
    assert watch("kernel_connections").look() is True
    jupyter.answers["kernels"].append(kernel(connections=1))
    assert watch("kernel_connections").look() is False


def test_activity__is_idle_from_the_second_look_at_which_nothing_has_changed(watch, jupyter):
    jupyter.answers["kernels"] = [kernel()]
    watched = watch("activity")
    assert [watched.look(), watched.look()] == [False, True]
    jupyter.answers["kernels"] = [kernel(last_activity="2026-11-23T05:00:31.000000Z")]
    assert [watched.look(), watched.look()] == [False, True]
    jupyter.answers["terminals"] = [{"name": "1", "last_activity": "2026-11-23T05:01:00.000000Z"}]
    assert [watched.look(), watched.look()] == [False, True]


def test_activity__a_busy_kernel_is_not_idle(watch, jupyter):
    jupyter.answers["kernels"] = [kernel(state="busy")]
    watched = watch("activity")
    assert [watched.look(), watched.look()] == [False, False]


def test_before_jupyter_answers__nothing_is_known(watch, jupyter):
    port = jupyter.port
    jupyter.close()
    assert watch(port=port).look() is None


@pytest.mark.parametrize("failure", [None, 500, {"message": "no list"}])
def test_while_jupyter_does_not_answer__its_last_answer_counts(watch, jupyter, failure, caplog):
    jupyter.answers["kernels"] = [kernel()]
    watched = watch()
    assert watched.look() is False
    jupyter.answers["kernels"] = failure
    assert [watched.look(), watched.look()] == [False, False]
    assert caplog.text.count("its last answer counts") == 1
    jupyter.answers["kernels"] = []
    assert watched.look() is True


def test_a_report__survives_a_master_that_is_away(cluster, watch, caplog):
    caplog.set_level("INFO")
    watched = watch()
    watched.report(True)
    cluster.master.faults["IdleNotebook"] = [503, 503]
    watched.report(False)
    watched.report(False)
    watched.report(True)
    assert cluster.master.idle_reports == [True, True]
    assert cluster.master.requests[-1].path == "/api/v1/notebooks/7.6f4e/report_idle"
    assert cluster.master.requests[-1].method == "PUT"
    assert caplog.text.count("could not be told") == 1 and caplog.text.count("is told again") == 1


def test_a_report_that_is_refused__does_not_end_the_watch(cluster, watch, caplog):
    cluster.master.faults["IdleNotebook"] = [404, 401]
    watched = watch()
    watched.report(True)
    watched.report(True)
    watched.report(True)
    assert cluster.master.idle_reports == [True] and caplog.text.count("could not be told") == 1


def test_the_watch__looks_often_until_jupyter_answers_and_reports_what_it_sees(cluster, watch, jupyter, capsys):
    pauses = []

    class Stop(threading.Event):
        def wait(self, timeout=None):
            pauses.append(timeout)
            jupyter.answers["kernels"] = {1: [], 2: [kernel()]}.get(len(pauses), [])
            if len(pauses) == 3:
                self.set()
            return self.is_set()

    jupyter.answers["kernels"] = None
    watch().run(Stop())
    assert pauses == [0.1, 30.0, 30.0]
    assert cluster.master.idle_reports == [True, False]
    assert capsys.readouterr().out == f"JupyterLab answers on port {jupyter.port}\n"


def run_program(cluster, **env):
    argv = [sys.executable, "-m", "determined.exec.idle_watch"]
    env = {**os.environ, "PYTHONPATH": REPOSITORY, "DET_RUN_DIR": str(cluster.run_dir), **env}
    return subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)


def test_the_program__takes_everything_from_the_task(cluster, jupyter):
    cluster.write(task_type="NOTEBOOK")
    jupyter.answers["kernels"] = [kernel(connections=1)]
    program = run_program(
        cluster, NOTEBOOK_PORT=str(jupyter.port), DET_NOTEBOOK_TOKEN=TOKEN, NOTEBOOK_IDLE_TYPE="kernel_connections"
    )
    try:
        with cluster.master.lock:
            assert cluster.master.lock.wait_for(lambda: cluster.master.idle_reports, 30)
        assert cluster.master.idle_reports == [False]
    finally:
        program.terminate()
        program.wait()
        program.stderr.close()


def test_a_configuration_that_is_too_long_for_a_variable__is_read_from_its_file(tmp_path, monkeypatch):
    assert idle_watch.read_config() == {}
    monkeypatch.setenv("NOTEBOOK_CONFIG", '{"idle_timeout": "9s"}')
    assert idle_watch.pause_s(idle_watch.read_config()) == 3
    (tmp_path / "config.json").write_text('{"idle_timeout": "12s"}')
    monkeypatch.setenv("NOTEBOOK_CONFIG_FILE", str(tmp_path / "config.json"))
    assert idle_watch.pause_s(idle_watch.read_config()) == 4


@pytest.mark.parametrize(
    "task_type, idle_type, sentence",
    [
        ("TRIAL", "activity", "in notebooks on a cluster only"),
        ("NOTEBOOK", "sleep", "'sleep' is unknown; use kernels_or"),
    ],
)
def test_the_program__says_what_is_wrong(cluster, task_type, idle_type, sentence):
    cluster.write(task_type=task_type)
    program = run_program(cluster, NOTEBOOK_IDLE_TYPE=idle_type)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 1 and sentence in said


def test_a_stand_in__refuses_a_wrong_token(jupyter):
    with pytest.raises(idle_watch.JupyterAway, match="403"):
        idle_watch.Jupyter(jupyter.port, BASE_URL, "another").ask("kernels")
