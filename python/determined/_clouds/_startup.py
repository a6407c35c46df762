"""The script that a new machine runs at its first start: it brings the agent up."""

import base64
import json
import shlex
from typing import Any, Dict, List, Optional

# What the programs need of Debian and Ubuntu. A test compares it with packaging/clouds/machines/machine.sh.tftpl.
LIBRARIES = (
    "ca-certificates curl python3 python3-venv libarchive13 libargon2-1 libbsd0 libcjose0 libcsv3 libcurl4 "
    "libevent-2.1-7 libevent-core-2.1-7 libevent-openssl-2.1-7 libjson-c5 libpcre2-8-0 libpq5 libsqlite3-0 "
    "libssl3 libwslay1 libyaml-0-2 libzstd1"
)
_CONFIG = "/etc/determined/agent.yaml"
_ID = "@AGENT_ID@"


def _write(path: str, text: str) -> List[str]:
    encoded = base64.b64encode(text.encode()).decode()
    return [f"base64 -d > {shlex.quote(path)} <<'END_OF_FILE'", encoded, "END_OF_FILE"]


def _as_service(package_url: Optional[str]) -> List[str]:
    lines = []
    if package_url:
        lines += [
            "export DEBIAN_FRONTEND=noninteractive",
            "apt-get update",
            f"apt-get install -y --no-install-recommends {LIBRARIES}",
            f"curl -fsSL --retry 5 {shlex.quote(package_url)} | tar -xz -C /",
            "systemd-sysusers",
            "systemctl daemon-reload",
        ]
    return [*lines, "systemctl enable determined-agent", "systemctl restart determined-agent"]


def _in_docker(provider: Dict[str, Any], log_options: List[str]) -> List[str]:
    command = "exec determined-agent run --config-file " + _CONFIG
    hook = provider.get("container_startup_script")
    words = ["docker", "run", "--detach", "--init", "--name", "determined-agent", "--restart", "always", "--privileged"]
    words += ["--network", provider.get("agent_docker_network", "default")]
    words += ["--runtime", provider.get("agent_docker_runtime", "runc"), *log_options]
    for mount in ("/var/run/docker.sock:/var/run/docker.sock", "/etc/determined:/etc/determined:ro"):
        words += ["--volume", mount]
    words += [
        "--entrypoint",
        "/bin/sh",
        provider["agent_docker_image"],
        "-c",
        f"{hook}\n{command}" if hook else command,
    ]
    return [shlex.join(words)]


def script(
    provider: Dict[str, Any],
    agent: Dict[str, Any],
    files: Dict[str, str],
    id_command: str,
    log_options: Optional[List[str]] = None,
) -> str:
    """The script. `id_command` is a shell command that prints the machine's id, which becomes the agent's id."""
    lines = ["#!/bin/bash", "set -eu", "umask 077"]
    hook = provider.get("startup_script")
    if hook:
        lines += ["# startup_script of the provider", f"( umask 022\n{hook}\n)"]
    lines += ["install -d -m 0755 /etc/determined"]
    for path, text in files.items():
        lines += [*_write(path, text), f"chmod 0644 {shlex.quote(path)}"]
    # An assignment of its own: if the command fails, the script ends there, and no agent starts without an id.
    lines += [f"id=$({id_command})", *_write(_CONFIG, json.dumps({**agent, "agent_id": _ID}))]
    lines += [f'sed -i "s/{_ID}/$id/" {_CONFIG}']
    if provider.get("agent_docker_image"):
        lines += _in_docker(provider, log_options or [])
    else:
        lines += _as_service(provider.get("agent_package_url"))
    return "\n".join(lines) + "\n"
