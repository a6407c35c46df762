"""Tests determined-master config show | check: the values that would be used, where they come from, and that no secret is shown."""
import subprocess

import pytest
from support.cluster import BUILD

CONFIG = """\
cluster_name: blue
log:
  level: warning
security:
  agent_token: hush-hush
resource_pools:
  - pool_name: default
"""


@pytest.fixture
def config(tmp_path):
    def run(*words, text=CONFIG, env=None):
        (tmp_path / "master.yaml").write_text(text)
        return subprocess.run([BUILD / "determined-master", "config", *words, "--config-file", tmp_path / "master.yaml"],
                              capture_output=True, text=True, timeout=60, env={"PATH": "/usr/bin:/bin", **(env or {})})
    run.file = tmp_path / "master.yaml"
    return run


def origins(text):
    """Returns key → (value, origin)."""
    rows = {}
    for line in text.splitlines():
        key, rest = line.split(": ", 1)
        rows[key] = tuple(rest.rsplit("  # ", 1))
    return rows


def test_origin_names_file_variable_option_default_and_what_was_derived(config):
    done = config("show", "--origin", "--data-dir", "/srv/det", "--cluster-name", "green",
                  env={"DET_PORT": "9090", "DET_LOG_LEVEL": "debug"})
    assert done.returncode == 0, done.stderr
    rows = origins(done.stdout)
    assert rows["cluster_name"] == ("green", "--cluster-name")
    assert rows["port"] == ("9090", "DET_PORT")
    assert rows["log.level"] == ("debug", "DET_LOG_LEVEL")
    assert rows["bind_host"] == ("0.0.0.0", "default")
    assert rows["db.path"] == ("/srv/det/determined.db", "derived")
    assert rows["resource_pools"][1].startswith(f"{config.file}:7:")


def test_without_origin_it_is_a_configuration_file_again(config):
    shown = config("show").stdout
    again = config("show", text="\n".join(line for line in shown.splitlines() if "agent_token" not in line))
    assert again.returncode == 0, again.stderr
    assert "cluster_name: blue" in again.stdout
    assert "level: warning" in again.stdout


@pytest.mark.parametrize("words", [["show"], ["show", "--origin"]])
def test_secrets_are_never_printed(config, words):
    done = config(*words)
    assert "agent_token: '********'" in done.stdout or "agent_token: ********" in done.stdout
    assert "hush-hush" not in done.stdout + done.stderr


def test_check_names_all_mistakes_at_once_and_starts_nothing(config, tmp_path):
    done = config("check", "--data-dir", tmp_path / "data", text="port: http\nlog:\n  level: loud\n")
    assert done.returncode == 1
    assert f"{config.file}:1" in done.stderr and "port" in done.stderr
    assert f"{config.file}:3" in done.stderr and "loud" in done.stderr
    good = config("check", "--data-dir", tmp_path / "data")
    assert (good.returncode, good.stdout) == (0, "the configuration is good\n")
    assert not (tmp_path / "data").exists()


def test_an_unknown_verb_is_a_mistake_on_the_command_line(config):
    done = config("sing")
    assert done.returncode == 2
    assert "config show" in done.stderr
