"""Tests a master.yaml of release 0.38.1 that asks for a protection which this master does not have: it must not start without it."""
import json
import pathlib
import subprocess

import pytest
from support.cluster import BUILD, ROOT

PARTS = json.loads((ROOT / "contract/config-parts.json").read_text())["parts"]


def rows(name):
    for row in json.loads((ROOT / f"contract/{name}-config.json").read_text())["keys"]:
        if "[" not in row["key"]:
            yield row
            if "part" in row and "refused" not in row and "ignored" not in row and "list" not in row["type"]:
                yield from ({**sub, "key": f"{row['key']}.{sub['key']}"} for sub in PARTS[row["part"]] if "[" not in sub["key"])


def of_kind(name, kind):
    return {row["key"]: row for row in rows(name) if kind in row and not row.get("only")}


SAMPLES = {
    "ui_customization": {"logo_paths": dict.fromkeys(("light_horizontal", "light_vertical", "dark_horizontal", "dark_vertical"), __file__)},
    "registry_auth": {"username": "u"}, "add_capabilities": ["SYS_PTRACE"], "drop_capabilities": ["SYS_PTRACE"],
    "slurm": {"gpu_type": "x"}, "pbs": {"slots_per_node": 2}, "kubernetes": {"max_slots_per_pod": 2}, "fluent": {"image": "x"}, "role_id": 7,
}


def asked(row):
    """Returns a value for the key that asks for the protection."""
    leaf = row["key"].split(".")[-1]
    if leaf in SAMPLES:
        return SAMPLES[leaf]
    kind = row["type"].split("|")[0]
    if "choices" in row:
        return next(c for c in row["choices"] if c != row.get("default"))
    low = row.get("min", 1)
    return {"bool": not row.get("default"), "int": low + 1, "size": low + 1, "string": "1000:2000", "duration": "1h", "list": [{}],
            "map": {"a": "b"}, "object": {"a": "b"}}[kind]


def document(key, value):
    for step in reversed(key.split(".")):
        value = {step: value}
    return value


def check(directory, program, config):
    path = pathlib.Path(directory) / "config.yaml"
    path.write_text(json.dumps(config))
    return subprocess.run([BUILD / program, "config", "check", path], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("key", of_kind("master", "refused"))
def test_a_protection_is_asked_for_and_ignored(tmp_path, key):
    row = of_kind("master", "refused")[key]
    done = check(tmp_path, "determined-master", document(key, asked(row)))
    assert done.returncode != 0 and f"{key}: refused: {row['refused']}" in done.stderr
    started = subprocess.run([BUILD / "determined-master", "--config-file", tmp_path / "config.yaml", "--data-dir", tmp_path / "data"],
                             capture_output=True, text=True, timeout=60)
    assert started.returncode != 0 and f"{key}: refused: " in started.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("key", of_kind("master", "ignored"))
def test_a_key_without_effect_passes_in_silence(tmp_path, key):
    row = of_kind("master", "ignored")[key]
    done = check(tmp_path, "determined-master", document(key, asked(row)))
    assert f"{key}: ignored: {row['ignored']}" in done.stderr, done.stderr


@pytest.mark.parametrize("key", of_kind("agent", "ignored"))
def test_a_key_of_the_agent_without_effect_passes_in_silence(tmp_path, key):
    row = of_kind("agent", "ignored")[key]
    done = check(tmp_path, "determined-agent", {"master_host": "x", **document(key, asked(row))})
    assert f"{key}: ignored: {row['ignored']}" in done.stderr, done.stderr


TLS = {
    "a certificate without its key": {"security": {"tls": {"cert": "/dev/null"}}},
    "a certificate that is not there": {"security": {"tls": {"cert": "/nonexistent/c", "key": "/nonexistent/k"}}},
    "agents' certificates without an authority": {"resource_manager": {"require_authentication": True}},
    "an authority that is not there": {"resource_manager": {"client_ca": "/nonexistent/ca"}},
    "a server's certificate that nothing verifies": {"db": {"host": "h", "user": "u", "name": "n", "ssl_mode": "verify-full"}},
    "a mode of TLS that there is not": {"db": {"ssl_mode": "always"}},
    "a kind of rights that there is not": {"security": {"authz": {"type": "strict"}}},
    "the role of an admin for everybody who makes a workspace": {"security": {"authz": {"workspace_creator_assign_role": {"role_id": 1}}}},
    "a misspelt protection": {"security": {"tsl": {"cert": "c"}}},
}


@pytest.mark.parametrize("what", TLS)
def test_protection_that_cannot_hold(tmp_path, what):
    assert check(tmp_path, "determined-master", TLS[what]).returncode != 0


def test_an_agent_that_is_told_to_trust_a_certificate_which_is_not_there(tmp_path):
    tls = {"enabled": True, "master_cert": "/nonexistent/c"}
    done = check(tmp_path, "determined-agent", {"master_host": "x", "security": {"tls": tls}, "token_file": "/nonexistent/t"})
    # both mistakes are reported at once
    assert done.returncode != 0 and "/nonexistent/c" in done.stderr and "/nonexistent/t" in done.stderr
