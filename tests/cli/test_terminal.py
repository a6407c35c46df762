"""What det shows on a terminal, of a given width: a pseudo-terminal stands in for one. Pipes get what they always got."""
import fcntl
import http.server
import json
import os
import pty
import re
import signal
import socketserver
import struct
import subprocess
import termios
import threading

import conftest
import pytest
from support.fake_master import clients as fake_master
from support.fake_master.messages import message

NOW_PAGER = {"DET_PAGER": "cat"}


class Terminal:
    """A command on a terminal of so many columns and rows."""

    def __init__(self, det, *words, columns=80, rows=24, controlling=False, **environment):
        """controlling: the command's Ctrl-C and Ctrl-Z are signals, as for a command of a shell."""
        self.ours, theirs = pty.openpty()
        self.settings = termios.tcgetattr(theirs)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        env = {**det.environment, "LANG": "C.UTF-8", "TERM": "xterm", **NOW_PAGER, **environment}
        self.process = subprocess.Popen([conftest.BUILD / "det", *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env={k: v for k, v in env.items() if v is not None}, start_new_session=True,
                                        preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if controlling else None)
        os.close(theirs)
        self.seen = b""

    def read(self):
        try:
            data = os.read(self.ours, 10000)
        except OSError:  # nobody has the other end open
            data = b""
        self.seen += data
        return data

    def wait_for(self, text):
        while text not in self.text():
            assert self.read(), self.text()

    def text(self):
        return re.sub(r"\x1b\[[0-9;]*m", "", self.seen.decode(errors="replace")).replace("\r\n", "\n")

    def end(self):
        while self.read():
            pass
        os.close(self.ours)
        self.status = self.process.wait()
        return self.text()


@pytest.fixture(autouse=True)
def same_version(master):
    master.version = re.search(r"det (\S+)", subprocess.run([conftest.BUILD / "det", "--version"], capture_output=True, text=True).stdout)[1]


@pytest.fixture
def on_terminal(det):
    return lambda *words, **more: Terminal(det, *words, **more).end()


@pytest.fixture
def many(master):
    """Thirty experiments with long names, the newest first, as the master sorts them."""
    master.every_experiment = [fake_master.experiment(n, name=f"a long name that no terminal has the room for {n}", progress=1.0,
                                                      endTime="2026-11-21T07:13:01Z") for n in range(30, 0, -1)]
    return master


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("words", ["experiment list -a", "experiment describe 1 --metrics", "experiment list-trials 1", "trial describe 1", "job list",
                                   "experiment list-checkpoints 1 --best 2", "slot list", "task list", "user list", "workspace list"])
def test_no_line_is_wider_than_the_terminal(on_terminal, many, words, columns):
    shown = on_terminal(*words.split(), columns=columns)
    assert max(map(len, shown.splitlines())) <= columns, shown


@pytest.mark.parametrize("words", ["--help", "experiment --help", "experiment create --help", "trial logs --help", "experimnt", "job list --limit x"])
def test_help_and_words_are_broken_at_the_terminals_width(on_terminal, words):
    shown = on_terminal(*words.split(), columns=80)
    assert max(map(len, shown.splitlines())) <= 80, shown


def test_a_pipe_has_the_whole_table(det, many):
    rows = det("experiment", "list").splitlines()
    assert rows[0].split("|")[2].strip() == "Name" and rows[0].count("|") == 8
    assert "a long name that no terminal has the room for 30" in rows[2] and "2026-11-21 07:12:01+0000" in rows[2]


def test_empty_columns_are_left_out_and_times_are_relative(on_terminal, det, master):
    shown = on_terminal("experiment", "list", columns=150)
    assert "Parent ID" in shown  # one has a parent
    master.every_experiment = [fake_master.experiment(1)]
    assert "Parent ID" not in on_terminal("experiment", "list", columns=150) and "Parent ID" in det("experiment", "list")
    assert re.search(r"\| (\d+[hd] ago|2026-11-21) ", shown) and "+0000" not in shown
    assert "Agent Uid" in det("user", "list") and "Remote" in det("user", "list")


def test_agents_show_on_a_terminal_what_was_asked_for_of_them_and_their_certificates(on_terminal, det, master):
    """Pipes get the columns of release 0.38.1."""
    agent = {"enabled": True, "registeredTime": "2026-11-21T07:00:00Z", "resourcePools": ["default"], "slotStats": message("agent.v1.SlotStats")}
    master.every_agent = [
        message("agent.v1.Agent", id="a", **agent, label="rack 3", cpus=4, cpusUsed=1.5, memoryBytes=str(8 << 30), memoryUsedBytes=str(2 << 30),
                certificateExpiry="2999-01-01T00:00:00Z"),
        message("agent.v1.Agent", id="b", **agent, certificateExpiry="2020-01-01T00:00:00Z"), message("agent.v1.Agent", id="c", **agent)]
    rows = {line.split("|")[0].strip(): line for line in on_terminal("agent", "list", columns=300).splitlines()}
    assert all(words in rows["a"] for words in ("rack 3", "1.5 of 4", "2.0GB of 8.0GB", "| valid", "2999-01-01")), rows
    assert "expired" in rows["b"] and " of " not in rows["b"] and "valid" not in rows["c"] and "expired" not in rows["c"], rows
    for more in ([], ["--csv"]):
        assert "Cores" not in det("agent", "list", *more) and "Certificate" not in det("agent", "list", *more)


def test_a_title_takes_several_lines_where_its_cells_are_narrow(on_terminal):
    shown = on_terminal("experiment", "list-trials", 1, columns=60)
    assert " Trial |" in shown.splitlines()[0] and "    ID |" in shown.splitlines()[1]


def test_hyperparameters_and_metrics_are_brief(on_terminal, det):
    assert "lr=0.1, nested.width=3" in on_terminal("trial", "describe", 1, columns=120)
    shown = on_terminal("trial", "describe", 1, columns=120)
    assert re.search(r"100 \| .*loss=0.5 .*accuracy=0.9625 .*COMPLETED", shown), shown  # one row for a step
    assert '"nested": {' in det("trial", "describe", 1)


def test_the_searchers_metric_is_beside_each_trial(on_terminal, det, master):
    best = fake_master.workload_metrics(100, "2026-11-21T07:12:51Z", accuracy=0.9625)
    master.trials_more = {"bestValidation": best}
    assert re.search(r"accuracy.*\n.*\n.*0\.9625", on_terminal("experiment", "list-trials", 1, columns=120))
    assert det("experiment", "list-trials", 1).splitlines()[0].split("|")[-1].strip() == "# of Batches"
    assert det("experiment", "list-trials", 1, "--metric").splitlines()[0].split("|")[-1].strip() == "Searcher Metric (accuracy)"
    det("experiment", "list-trials", 1, "--best", 3)
    query = master.requests[-1][2]
    assert query["sortBy"] == ["SORT_BY_BEST_VALIDATION_METRIC"] and query["limit"] == ["3"] and query["orderBy"] == ["ORDER_BY_ASC"]


def test_best_checkpoints_have_their_hyperparameters(on_terminal, det):
    assert "lr=0.1" in on_terminal("experiment", "list-checkpoints", 1, "--best", 1, columns=120)
    assert "H-Params" not in det("experiment", "list-checkpoints", 1, "--best", 1)
    assert "H-Params" in det("experiment", "list-checkpoints", 1, "--hparams")


# Lists


def test_list_is_newest_first_filtered_and_limited(det, many):
    rows = det("experiment", "list", "--limit", 3, "--offset", 2, "--state", "error", "--label", "a", "--label", "b", "--name", "digits").splitlines()
    query = many.requests[-1][2]
    assert [row.split("|")[0].strip() for row in rows[2:]] == ["28", "27", "26"]
    assert query["sortBy"] == ["SORT_BY_ID"] and query["orderBy"] == ["ORDER_BY_DESC"]
    assert query["states"] == ["STATE_ERROR"] and query["labels"] == ["a", "b"] and query["name"] == ["digits"]
    assert len(det("experiment", "list", "--limit", 3, "--pages", "all").splitlines()) == 32
    assert len(json.loads(det("experiment", "list", "--limit", 4, "--json"))) == 4


def test_a_pipe_without_limit_has_the_oldest_first_as_ever(det, many):
    det("experiment", "list")
    assert many.requests[-1][2]["orderBy"] == ["ORDER_BY_ASC"]
    det("experiment", "list", "--reverse")
    assert many.requests[-1][2]["orderBy"] == ["ORDER_BY_DESC"]


def test_long_lists_go_to_the_pager_short_ones_do_not(det, many, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\necho $LESS >{tmp_path}/less\ncat >{tmp_path}/paged\n")
    pager.chmod(0o755)
    Terminal(det, "experiment", "list", rows=100, DET_PAGER=str(pager)).end()
    Terminal(det, "--no-pager", "experiment", "list", DET_PAGER=str(pager)).end()
    det("experiment", "list", DET_PAGER=str(pager))
    assert not (tmp_path / "paged").exists()
    assert Terminal(det, "experiment", "list", rows=20, DET_PAGER=None, PAGER=str(pager)).end() == ""
    assert len((tmp_path / "paged").read_text().splitlines()) >= 32 and (tmp_path / "less").read_text() == "FRX\n"
    assert "a long name" in Terminal(det, "experiment", "list", rows=20, DET_PAGER="no-such-pager-anywhere").end()


def test_several_ids_at_once(det, master):
    master.states = ["STATE_RUNNING"]
    assert det("experiment", "kill", 1, 7) == "Killed experiment 1\nKilled experiment 7\n"
    done = det.run("experiment", "pause", 1, 7)
    assert done.stdout == "Paused experiment 1\nPaused experiment 7\n"
    done = det.run("experiment", "kill", 1, 99, 7)  # the one that is not there does not keep det from the others
    assert done.stdout == "Killed experiment 1\nKilled experiment 7\n"
    assert done.returncode == 1 and "experiment '99' not found" in done.stderr
    done = det.run("experiment", "delete", 1, 7, stdin="y\n")
    assert "Deleting 2 experiments" in done.stdout and done.stdout.count("is in progress") == 2


def test_killed_is_said_only_of_what_was_killed(det, master):
    master.states = ["STATE_COMPLETED"]
    assert det("experiment", "kill", 1) == "Experiment 1 has ended already (COMPLETED); nothing was changed\n"
    assert ("POST", "/api/v1/experiments/1/kill") not in [r[:2] for r in master.requests]


@pytest.mark.parametrize("words, key", [("experiment config 1", "searcher"), ("template describe base", "config"), ("user whoami", "username"),
                                        ("version", "client")])
def test_json_documents(det, words, key):
    assert key in json.loads(det(*words.split(), "--json"))


def test_json_lists(det):
    assert [t["name"] for t in json.loads(det("template", "list", "--json"))] == ["base", "elsewhere"]


def test_json_logs_are_nothing_but_records(det):
    decoder, text, n = json.JSONDecoder(), det("trial", "logs", 1, "--json"), 0
    while text.strip():
        _, end = decoder.raw_decode(text.lstrip())
        text, n = text.lstrip()[end:], n + 1
    assert n == 5


def test_job_list_tells_equal_names_apart(on_terminal, det):
    rows = [[cell.strip() for cell in line.split("|")] for line in det("job", "list", "--details").splitlines() if "|" in line]
    assert rows[0][-3:] == ["Experiment", "Estimated Start", "Reason"]
    assert rows[2][-3:] == ["1", "2026-11-21 08:00:00+00:00", "needs 1 slot: none is free in pool default"]
    assert len(det("job", "list").splitlines()[0].split("|")) == 9
    assert "1: digits" in on_terminal("job", "list") and "1: digits" not in det("job", "list")


# Following an experiment


@pytest.fixture
def config(tmp_path):
    (tmp_path / "config.yaml").write_text("name: digits\nentrypoint: true\nsearcher: {name: single, metric: accuracy}\n")
    return tmp_path / "config.yaml"


def test_create_tells_how_it_ended(det, master, config):
    master.states = ["STATE_COMPLETED"]
    done = det.run("e", "create", config, "-f")
    assert done.returncode == 0 and "Experiment 7 ended: COMPLETED" in done.stderr
    assert f"checkpoint:  {fake_master.CHECKPOINT}" in done.stderr and f"det checkpoint download {fake_master.CHECKPOINT[:8]}" in done.stderr
    master.states, master.failure = ["STATE_ERROR"], "trial 1 failed: exit code 1"
    done = det.run("e", "create", config, "-f")
    assert done.returncode == 1 and "Experiment 7 ended: ERROR: trial 1 failed: exit code 1" in done.stderr
    assert "det experiment logs 7" in done.stderr


def test_wait_and_describe_tell_why_it_failed(det, on_terminal, master):
    master.states, master.failure = ["STATE_ERROR"], "trial 1 failed: exit code 1"
    done = det.run("e", "wait", 1)
    assert done.returncode == 1 and done.stderr.endswith("Experiment 1 ended: ERROR: trial 1 failed: exit code 1\n")
    assert det.run("e", "wait", 1, "--quiet").stderr.count("ended") == 0
    done = det.run("e", "describe", 1)
    assert "Reason" not in done.stdout and "trial 1 failed: exit code 1" in done.stderr
    assert re.search(r"Reason: +trial 1 failed: exit code 1\n", on_terminal("e", "describe", 1))
    master.every_experiment = [fake_master.experiment(1, state="STATE_ERROR", failure="trial 1 failed: exit code 1")]
    assert "trial 1 faile" in on_terminal("e", "list") and "trial 1" not in det("e", "list")


def test_create_prints_the_id_or_json_only(det, config):
    assert det("e", "create", "-q", config) == "7\n"
    assert json.loads(det("e", "create", "--json", config, config.parent))["id"] == 7


def test_last_line_without_newline_stands_alone(det, master):
    for line in master.lines:
        line["message"] = line["message"].rstrip("\n")
    lines = det("trial", "logs", 1).splitlines()
    assert [line[-6:] for line in lines[:5]] == [f"line {i}" for i in range(1, 6)] and lines[5].startswith("Trial log stream ended")


def test_interrupt_says_how_to_go_on(det, master):
    master.lines = [fake_master.log_line(1, "first")]
    master.stall = threading.Event()
    try:
        t = Terminal(det, "trial", "logs", "-f", 1)
        t.wait_for("first")
        os.killpg(t.process.pid, signal.SIGINT)
        assert "Interrupted.\nThe trial goes on. To reopen the log stream, run: det trial logs -f 1\n" in t.end()
        assert t.status == 3
    finally:
        master.stall.set()


def test_test_mode_is_redrawn_in_one_line(on_terminal, master, config):
    master.states = ["STATE_RUNNING", "STATE_COMPLETED"]
    shown = on_terminal("e", "create", config, "--test")
    [line] = [line for line in shown.split("\n") if "scheduling" in line]
    assert all(len(drawn) < 80 for drawn in line.split("\r")), line


# Help


def test_help_has_an_example_and_a_note_and_marks_what_is_planned(det):
    kill = det("help", "experiment", "kill")
    assert "example:\n  det experiment kill 12 13\n" in kill and "'det experiment cancel' lets trials finish" in " ".join(kill.split())
    assert kill == det("experiment", "kill", "--help")
    rows = json.loads((conftest.BUILD.parent / "contract" / "cli.json").read_text())["commands"]
    nouns = {row["path"].split(" ")[0] for row in rows if row["path"]}
    served = {row["path"].split(" ")[0] for row in rows if row.get("served")}
    marked = set(re.findall(r"(?m)^  ([\w-]+)(?: \([\w, -]+\))? .*\(planned\)$", det("--help", COLUMNS="200")))
    assert marked == nouns - served


# Errors


def test_address_errors_name_the_source_and_the_schemes(det):
    done = det.run("-m", "ftp://host", "user", "whoami")
    assert done.returncode == 2 and "http:// or https://, not ftp:// (from -m)" in done.stderr
    assert "(from DET_MASTER)" in det.run("user", "whoami", DET_MASTER="host:port").stderr
    assert "this one is from DET_MASTER" in det.run("user", "whoami", DET_MASTER="127.0.0.1:1").stderr


def test_https_to_an_http_port_says_so(det):
    done = det.run("-m", det.url.replace("http:", "https:"), "user", "whoami")
    assert "this port does not speak HTTPS" in done.stderr and "http://" in done.stderr


class Closing(socketserver.BaseRequestHandler):
    def handle(self):
        """As a TLS server does with anything that is no handshake."""
        self.request.recv(1000)


def test_http_to_an_https_port_says_so(det):
    with socketserver.TCPServer(("127.0.0.1", 0), Closing) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        done = det.run("-m", f"http://127.0.0.1:{server.server_address[1]}", "user", "whoami")
        server.shutdown()
    assert "write https:// instead of http://" in done.stderr


def test_a_proxy_that_is_down_is_named_without_its_password(det):
    done = det.run("user", "whoami", http_proxy="http://u:secret@127.0.0.1:1")
    assert "through the proxy 127.0.0.1:1" in done.stderr and "secret" not in done.stderr
    assert det("user", "whoami", HTTP_PROXY="http://127.0.0.1:1", NO_PROXY="10.0.0.0/8,127.0.0.0/8")
    assert "through the proxy" in det.run("user", "whoami", HTTP_PROXY="http://127.0.0.1:1").stderr


def test_no_proxy_takes_ranges_names_and_ports(det):
    port = det.url.rsplit(":", 1)[1]
    by_name = f"http://localhost:{port}"
    for address, excepted in [(det.url, "127.0.0.0/8"), (det.url, f"127.0.0.1:{port}"), (det.url, f"10.0.0.0/8,127.0.0.0/8:{port}"),
                              (det.url, "*"), (det.url, "10.0.0.0/8, *"), (by_name, "localhost"), (by_name, ".localhost"),
                              (by_name, f"localhost:{port}")]:
        assert det("-m", address, "user", "whoami", HTTP_PROXY="http://127.0.0.1:1", NO_PROXY=excepted), (address, excepted)
    for address, others in [(det.url, "127.0.0.1:1"), (det.url, "127.0.1.0/24"), (by_name, "127.0.0.0/8"), (by_name, "host")]:
        done = det.run("-m", address, "user", "whoami", HTTP_PROXY="http://127.0.0.1:1", NO_PROXY=others)
        assert "through the proxy" in done.stderr, (address, others)


def test_a_master_that_is_down_is_not_blamed_on_a_proxy_that_is_not_used(det):
    done = det.run("-m", "http://127.0.0.1:2", "user", "whoami", HTTP_PROXY="http://127.0.0.1:1", NO_PROXY="127.0.0.0/8")
    assert done.returncode != 0 and "proxy" not in done.stderr


PAGE = "<html>\r\n<head><title>{title}</title></head>\r\n<body><center><h1>{title}</h1></center><hr><center>nginx</center></body></html>"


@pytest.fixture
def proxied(det):
    """`det` behind a reverse proxy that answers as it is told: status, title."""
    said = {}

    class Proxy(http.server.BaseHTTPRequestHandler):
        def answer(self):
            page = PAGE.format(title=said["title"]).encode()
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(said["status"])
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    def run(status, title):
        said.update(status=status, title=title)
        return det.run("-m", f"http://127.0.0.1:{server.server_address[1]}", "e", "kill", "1")

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield run
        server.shutdown()


@pytest.mark.parametrize(("status", "words"), [
    (502, "a server in front of the master answers with status 502"),
    (504, "a server in front of the master answers with status 504"),
    (404, "look at the address, and at the proxy in front of the master"),
    (401, "as no master does"), (403, "as no master does"), (200, "as no master does")])
def test_a_page_for_browsers_is_told_in_a_sentence(proxied, status, words):
    done = proxied(status, "It is not here")
    assert done.returncode != 0 and done.stdout == ""
    assert words in done.stderr and f'status {status} and a page for browsers "It is not here"' in done.stderr
    assert "<" not in done.stderr and "JSON" not in done.stderr and "log in with" not in done.stderr


@pytest.mark.parametrize("title", ["", "\x1b[2Jgone", "x" * 500])
def test_a_title_that_is_none_is_left_out(proxied, title):
    done = proxied(404, title)
    assert "a page for browsers, as no master does" in done.stderr and "\x1b[2J" not in done.stderr


def test_yaml_errors_show_the_line_with_a_caret(det, tmp_path):
    (tmp_path / "bad.yaml").write_text("name: x\nhyperparameters:\n  löss: a: b\n")
    done = det.run("e", "create", tmp_path / "bad.yaml")
    assert "bad.yaml:3:10: " in done.stderr
    assert "    3 |   löss: a: b\n      |          ^\n" in done.stderr


def test_a_checkpoint_is_deleted_by_the_beginning_of_its_id(det, master):
    master.checkpoint_beginning = fake_master.CHECKPOINT[:8]
    det("checkpoint", "delete", "--yes", fake_master.CHECKPOINT[:8])
    assert master.requests[-1][3]["checkpointUuids"] == [fake_master.CHECKPOINT]


def test_colours_are_left_out_where_nobody_wants_them(det, master):
    def seen(*words, **environment):
        shown = Terminal(det, *words, **environment)
        shown.end()
        return shown.seen
    red = ("experiment", "describe", 99)
    assert b"\x1b[31m" in seen(*red) and b"\x1b[31m" in seen(*red, NO_COLOR="") and b"\x1b[" not in seen(*red, NO_COLOR="1")
    json_in_colours = {"DET_CLI_COLORIZE": "1"}
    assert b"\x1b[34m" in seen("user", "whoami", "--json", **json_in_colours)
    assert b"\x1b[" not in seen("user", "whoami", "--json", NO_COLOR="yes", **json_in_colours)
