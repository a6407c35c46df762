"""The scripts of `det completion`, in the shells that they are for: commands, options, values, and what the master has."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest
from conftest import BUILD
from support.fake_master import clients as fake_master


@pytest.fixture
def shell_environment(det, tmp_path):
    """det is found by the shells, and has logged in: completion asks nobody for a password."""
    assert "alice" not in det("user", "whoami")
    det("experiment", "list")
    return {**det.environment, "PATH": f"{BUILD}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def needs(shell):
    return pytest.mark.skipif(not shutil.which(shell), reason=f"{shell} is not installed")


# ---- bash ----

@pytest.fixture
def bash(det, tmp_path, shell_environment):
    (tmp_path / "det.bash").write_text(det("completion", "bash"))
    ask = f"source {tmp_path}/det.bash; COMP_WORDS=($0 \"$@\"); COMP_CWORD=$#; _det; echo ${{COMPREPLY[@]}}"

    def complete(*words, **more):
        return subprocess.run(["bash", "-c", ask, "det", *words], capture_output=True, text=True, check=True,
                              env={**shell_environment, **more}).stdout.split()
    return complete


def test_bash_completes_commands_options_and_values(bash):
    assert bash("exp") == ["experiment"]
    assert bash("e", "li") == ["list", "list-checkpoints", "list-trials"]
    assert bash("e", "ls", "--st") == ["--state"]
    assert bash("e", "list", "--state", "RUN") == ["RUNNING"]
    assert bash("completion", "f") == ["fish"]
    assert bash("complete") == [] and "complete-ids" not in bash("")


def test_bash_completes_what_the_master_has(bash, master):
    assert bash("e", "kill", "") == ["1", "2"]
    assert bash("-m", "x", "e", "kill", "1", "") == ["1", "2"]  # several
    assert bash("e", "config", "1", "") == []  # only one
    assert bash("agent", "disable", "") == ["a", "b"]
    assert bash("e", "logs", "1", "--agent-id", "") == ["a", "b"]
    assert bash("model", "describe", "") == ["digits"] and bash("model", "create", "") == []
    assert bash("user-group", "describe", "") == ["students"] == bash("rbac", "assign-role", "Editor", "--group-name-to-assign", "")
    assert bash("rbac", "describe-role", "") == ["Editor", "Viewer"] and bash("token", "revoke", "") == ["12", "13"]
    assert bash("user-group", "create", "new", "--add-user", "") == ["admin", "determined"]
    assert bash("oauth", "client", "remove", "") == ["4f2a"] and bash("checkpoint", "describe", "") == [fake_master.CHECKPOINT, fake_master.GONE_CHECKPOINT]
    assert bash("config-policies", "describe", "") == ["experiment", "tasks"] and bash("model", "list", "--y") == ["--yaml"]


def test_completion_is_silent_where_nobody_has_logged_in_and_where_no_master_is(bash, det, tmp_path):
    assert bash("e", "kill", "", DET_PASS="wrong", DET_DEBUG_CONFIG_PATH=str(tmp_path / "another")) == []
    assert bash("e", "kill", "", DET_MASTER="http://127.0.0.1:1") == []
    done = det.run("-u", "bob", "complete-ids", "experiment", stdin="secret\n")
    assert done.returncode != 0 and "Password" not in done.stdout + done.stderr


# ---- fish ----

@needs("fish")
def test_fish_completes_commands_options_values_and_what_the_master_has(det, tmp_path, shell_environment):
    completions = tmp_path / "completions"
    completions.mkdir()
    (completions / "det.fish").write_text(det("completion", "fish"))  # where fish looks for it by itself

    def complete(line):
        done = subprocess.run(["fish", "--no-config", "-c", f"set -p fish_complete_path {completions}; complete -C '{line}'"],
                              capture_output=True, text=True, env=shell_environment, timeout=60)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert complete("det exp") == ["experiment"]
    assert complete("det e li") == ["list", "list-checkpoints", "list-trials"]
    assert complete("det e ls --st") == ["--state"]
    assert complete("det e list --state RUN") == ["RUNNING"]
    assert complete("det completion f") == ["fish"]
    assert "complete-ids" not in complete("det ")
    assert sorted(complete("det e kill ")) == ["1", "2"]
    assert sorted(complete("det agent disable ")) == ["a", "b"]


# ---- zsh ----

class Zsh:
    """An interactive one, at a terminal: completion happens nowhere else."""

    def __init__(self, environment, *setup):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**environment, "PS1": "% "})
        for line in ("unsetopt beep zle_bracketed_paste; PROMPT='READY '; LISTMAX=1000", *setup):
            self.type(line + "\r")
        self.after("echo no'th'ing left\r", "nothing left")

    def type(self, text):
        os.write(self.fd, text.encode())

    def after(self, text, wanted, patience_s=60):
        """What the terminal shows once `text` was typed and `wanted`, a regular expression, is there."""
        self.type(text)
        seen, deadline = "", time.monotonic() + patience_s
        while not re.search(wanted, seen):
            assert time.monotonic() < deadline, f"no {wanted!r} in {seen!r}"
            if select.select([self.fd], [], [], 1)[0]:
                seen += os.read(self.fd, 65536).decode(errors="replace")
        return seen

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@needs("zsh")
@pytest.mark.parametrize("way", ["eval", "fpath"])
def test_zsh_completes_commands_options_values_and_what_the_master_has(det, tmp_path, shell_environment, way):
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions/_det").write_text(det("completion", "zsh"))
    compinit = f"autoload -U compinit; compinit -u -d {tmp_path}/dump"
    zsh = Zsh(shell_environment, *({"eval": [compinit, 'eval "$(det completion zsh)"'],
                                    "fpath": [f"fpath=({tmp_path}/functions $fpath)", compinit]}[way]))
    clear = "\x15"  # control-U: the line is empty again
    try:
        zsh.after("det exp\t", "det experiment ")
        zsh.after(clear + "det e cre\t", "det e create ")
        zsh.after(clear + "det e ls --st\t", "det e ls --state ")
        zsh.after(clear + "det e list --state RUN\t", "--state RUNNING ")
        assert "complete-ids" not in zsh.after(clear + "det compl\t", "det completion ")
        zsh.after(clear + "det completion f\t", "det completion fish ")
        zsh.after(clear + "det e kill \t", r"\n1 +2\b")
        zsh.after(clear + "det agent disable b\t", "det agent disable b ")
        zsh.after(clear + f"cat {tmp_path}/functions/_d\t", "functions/_det ")  # PATH and all else is as it was
    finally:
        zsh.close()
