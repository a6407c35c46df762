"""Machines of a pool on Google Compute Engine.

Needs Python's standard library only. The credentials are those of the master's machine: a token of its service account
from the metadata server.
"""

import datetime
import hashlib
import json
import os
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

from determined._clouds import _lines, _startup

_STATES = {
    "PROVISIONING": "pending",
    "STAGING": "pending",
    "RUNNING": "running",
    "REPAIRING": "running",
    "STOPPING": "ending",  # for 30 seconds, if Google takes back a preemptible machine
    "SUSPENDING": "ending",
    "PENDING_STOP": "ending",
    "STOPPED": "stopped",
    "SUSPENDED": "stopped",
    "TERMINATED": "stopped",
}
_IMAGE = "projects/ml-images/global/images/family/common-cu124-ubuntu-2204-py310"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_METADATA = "http://metadata.google.internal"
# The names that provider.master_url may have for an address of the master's machine.
_OWN_ADDRESSES = {
    "internal-ip": "instance/network-interfaces/0/ip",
    "external-ip": "instance/network-interfaces/0/access-configs/0/external-ip",
}
_ID_COMMAND = f"curl -fsS -H 'Metadata-Flavor: Google' {_METADATA}/computeMetadata/v1/instance/name"
_TIMEOUT_S = 30
_WAIT_TIMEOUT_S = 150  # Compute Engine answers `operations/…/wait` after two minutes at the latest
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def seconds(duration: Any) -> float:
    """A duration of master.yaml: a text such as 1h30m, or nanoseconds."""
    if isinstance(duration, (int, float)):
        return duration / 1e9
    return sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([0-9.]+)(h|ms|m|s|us|ns)", duration))


def label_of(text: str) -> str:
    """The text as a label's value: lower-case letters, digits, - and _ only. Different texts stay different."""
    label = re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63]
    return label if label == text else f"{label[:52]}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _metadata(path: str) -> str:
    """What the metadata server says of this machine; raises OSError where there is none."""
    host = os.environ.get("GCE_METADATA_HOST")
    base = f"http://{host}" if host else _METADATA
    ask = urllib.request.Request(f"{base}/computeMetadata/v1/{path}", headers={"Metadata-Flavor": "Google"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(ask, timeout=5) as reply:
        text: str = reply.read().decode()
    return text


def _own(path: str, key: str) -> str:
    """What the metadata server says. The error names `key` of the provider, which can be set instead."""
    try:
        return _metadata(path)
    except OSError as e:
        raise _lines.CloudError(f"set provider.{key}: the metadata server of this machine does not say it ({e})") from e


def master_host(host: str) -> str:
    """The address at which machines reach the master, from the one in the question."""
    if host in ("127.0.0.1", "::1", "localhost"):  # nobody has set provider.master_url
        host = "internal-ip"
    return _own(_OWN_ADDRESSES[host], "master_url") if host in _OWN_ADDRESSES else host


class Gce:
    """The machines of one pool."""

    def __init__(self, question: _lines.Question) -> None:
        self._config: Dict[str, Any] = question["provider"]
        self._master = question["master"]["host"]
        api = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", "https://compute.googleapis.com/compute/v1/")
        project = self._config.get("project") or _own("project/project-id", "project")
        self._zone = self._config.get("zone") or _own("instance/zone", "zone").rsplit("/", 1)[-1]
        self._base = f"{api.rstrip('/')}/projects/{project}/zones/{self._zone}"
        key, value = self._config.get("label_key", "managed-by"), self._config.get("label_value") or "determined"
        self._labels = {key: label_of(value), **{name: label_of(text) for name, text in question["tags"].items()}}
        self._patience_s = seconds(self._config.get("operation_timeout_period", "5m"))
        self._token: Tuple[str, float] = ("", 0.0)

    # ---- the API

    def _bearer(self) -> str:
        token, until = self._token
        if time.monotonic() >= until:
            found = json.loads(_own("instance/service-accounts/default/token", "command"))
            token = found["access_token"]
            self._token = token, time.monotonic() + max(0.0, found["expires_in"] - 60.0)
        return token

    def _call(
        self,
        method: str,
        path: str,
        body: Optional[Dict[str, Any]] = None,
        query: Optional[Dict[str, str]] = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> Dict[str, Any]:
        url = f"{self._base}/{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        ask = urllib.request.Request(url, method=method, data=json.dumps(body).encode() if body is not None else None)
        ask.add_header("Authorization", f"Bearer {self._bearer()}")
        ask.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(ask, timeout=timeout_s) as reply:
                answer: Dict[str, Any] = json.load(reply)
        except urllib.error.HTTPError as e:
            if e.code == 401:
                self._token = "", 0.0
            text = e.read().decode(errors="replace")
            try:
                text = json.loads(text)["error"]["message"]
            except (ValueError, KeyError, TypeError):
                text = text[:300]
            raise _GceError(f"Compute Engine answered {e.code}: {text}", e.code) from e
        return answer

    def _wait(self, operation: Dict[str, Any]) -> None:
        """Waits for the end of an operation; raises what it failed with."""
        until = time.monotonic() + self._patience_s
        while operation["status"] != "DONE":
            if time.monotonic() >= until:
                raise _lines.CloudError(
                    f"operation {operation['name']} still runs after {self._patience_s:g} s (operation_timeout_period)"
                )
            operation = self._call("POST", f"operations/{operation['name']}/wait", timeout_s=_WAIT_TIMEOUT_S)
        errors = operation.get("error", {}).get("errors", [])
        if errors:
            raise _lines.CloudError("; ".join(f"{x.get('code')}: {x.get('message')}" for x in errors))

    # ---- list

    def list(self) -> List[Dict[str, Any]]:
        wanted = " AND ".join(f'(labels.{key} = "{value}")' for key, value in self._labels.items())
        found: List[Dict[str, Any]] = []
        query = {"filter": wanted}
        while True:
            answer = self._call("GET", "instances", query=query)
            found += answer.get("items", [])
            if not answer.get("nextPageToken"):
                return [self._describe(x) for x in found]
            query["pageToken"] = answer["nextPageToken"]

    def _describe(self, x: Dict[str, Any]) -> Dict[str, Any]:
        state = _STATES.get(x["status"], "running")
        launched = datetime.datetime.fromisoformat(x["creationTimestamp"].replace("Z", "+00:00")).timestamp()
        preemptible = x.get("scheduling", {}).get("preemptible")
        why = f"it is {x['status']}" + (", as preemptible machines may be at any time" if preemptible else "")
        detail = x.get("statusMessage") or (why if state in ("ending", "stopped") else "")
        return {"id": x["name"], "state": state, "launched": launched, "detail": detail}

    # ---- launch

    def _disk(self) -> Dict[str, Any]:
        c = self._config
        initial = {
            "sourceImage": c.get("boot_disk_source_image") or _IMAGE,
            "diskSizeGb": str(c.get("boot_disk_size", 200)),
            "diskType": f"zones/{self._zone}/diskTypes/{c.get('boot_disk_type', 'pd-standard')}",
            "labels": self._labels,
        }
        return {"boot": True, "autoDelete": True, "initializeParams": initial}

    def _network(self) -> Dict[str, Any]:
        wanted = self._config.get("network_interface") or {}
        network: Dict[str, Any] = {key: wanted[key] for key in ("network", "subnetwork") if wanted.get(key)}
        if wanted.get("external_ip"):
            network["accessConfigs"] = [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]
        return network or {"network": "global/networks/default"}

    def _machine(self) -> Dict[str, Any]:
        kind = self._config.get("instance_type") or {}
        gpus, spare = kind.get("gpu_num", 4), kind.get("preemptible", False)
        machine: Dict[str, Any] = {
            "machineType": f"zones/{self._zone}/machineTypes/{kind.get('machine_type', 'n1-standard-32')}",
            "scheduling": {"onHostMaintenance": "TERMINATE", "automaticRestart": False, "preemptible": spare},
        }
        if gpus > 0:
            gpu = f"zones/{self._zone}/acceleratorTypes/{kind.get('gpu_type', 'nvidia-tesla-t4')}"
            machine["guestAccelerators"] = [{"acceleratorType": gpu, "acceleratorCount": gpus}]
        return machine

    def _body(self, name: str, script: str) -> Dict[str, Any]:
        """The instance: what the administrator gives in base_config, and the pool's settings over it."""
        c = self._config
        base: Dict[str, Any] = dict(c.get("base_config") or {})
        body = {**base, "name": name, **self._machine(), "disks": [self._disk(), *base.get("disks", [])]}
        body["networkInterfaces"] = base.get("networkInterfaces") or [self._network()]
        body["labels"] = {**base.get("labels", {}), **(c.get("labels") or {}), **self._labels}
        items = [x for x in base.get("metadata", {}).get("items", []) if x.get("key") != "startup-script"]
        body["metadata"] = {"items": [*items, {"key": "startup-script", "value": script}]}
        tags = [*base.get("tags", {}).get("items", []), *(c.get("network_tags") or [])]
        if tags:
            body["tags"] = {"items": tags}
        account = c.get("service_account") or {}
        if account.get("email"):
            body["serviceAccounts"] = [{"email": account["email"], "scopes": account.get("scopes") or [_SCOPE]}]
        return body

    def launch(self, n: int, question: _lines.Question) -> List[str]:
        c = self._config
        agent = {**question["agent"], "master_host": master_host(self._master)}
        log_options = ["--log-driver", "gcplogs"] if c.get("use_cloud_logging") else []
        script = _startup.script(c, agent, question.get("files", {}), _ID_COMMAND, log_options)
        prefix = (c.get("name_prefix") or "determined-").lower()
        prefix = prefix if prefix.endswith("-") else f"{prefix}-"
        names = [f"{prefix}{secrets.token_hex(4)}" for _ in range(n)]
        operations = [self._call("POST", "instances", self._body(name, script)) for name in names]
        for operation in operations:
            self._wait(operation)
        return names

    # ---- terminate

    def terminate(self, instance: str) -> None:
        try:
            self._call("DELETE", f"instances/{urllib.parse.quote(instance, safe='')}")
        except _GceError as e:
            if e.status != 404:
                raise


class _GceError(_lines.CloudError):
    """A refusal of the API, with its HTTP status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


if __name__ == "__main__":
    _lines.serve(Gce)
