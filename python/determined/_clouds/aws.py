"""Machines of a pool on Amazon EC2.

Needs boto3 (``pip install 'determined[s3]'``), which finds the credentials: variables, files of ``~/.aws``, or the role
of the master's machine.
"""

import gzip
import os
import re
import sys
import time
import urllib.error
import urllib.request
from typing import Any, Dict, List, Set

from determined._clouds import _lines, _startup

_STATES = {
    "pending": "pending",
    "running": "running",
    "stopping": "stopped",
    "stopped": "stopped",
    "shutting-down": "stopped",
    "terminated": "stopped",
}
_GONE = ("shutting-down", "terminated")
# How long a machine that was just launched may be missing in EC2's lists, which are brought up to date with a delay.
_SETTLING_S = 60.0
_USER_DATA_MAX = 16384
# How many values EC2 takes in one filter.
_FILTER_VALUES_MAX = 200
_IMAGE = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
_METADATA = "http://169.254.169.254"
# The names that provider.master_url may have for an address of the master's machine.
_OWN_ADDRESSES = ("local-ipv4", "public-ipv4", "local-hostname", "public-hostname")
# Prints the machine's id, on that machine.
_ID_COMMAND = (
    f"token=$(curl -fsS -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {_METADATA}/latest/api/token); "
    f'curl -fsS -H "X-aws-ec2-metadata-token: $token" {_METADATA}/latest/meta-data/instance-id'
)


def _metadata(path: str) -> str:
    """What EC2's metadata service says of this machine; raises OSError where there is none."""
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", _METADATA).rstrip("/")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    ask = urllib.request.Request(
        f"{base}/latest/api/token", method="PUT", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    )
    with opener.open(ask, timeout=2) as reply:
        token = reply.read().decode()
    ask = urllib.request.Request(f"{base}/latest/meta-data/{path}", headers={"X-aws-ec2-metadata-token": token})
    with opener.open(ask, timeout=2) as reply:
        text: str = reply.read().decode()
    return text


def _region(config: Dict[str, Any]) -> str:
    if config.get("region"):
        return str(config["region"])
    if os.environ.get("AWS_DEFAULT_REGION"):
        return os.environ["AWS_DEFAULT_REGION"]
    try:
        return _metadata("placement/region")
    except OSError as e:
        raise _lines.CloudError(f"the region is not known: set provider.region (the metadata service says: {e})") from e


def master_host(host: str) -> str:
    """The address at which machines reach the master, from the one in the question."""
    if host in ("127.0.0.1", "::1", "localhost"):  # nobody has set provider.master_url
        host = "local-ipv4"
    if host not in _OWN_ADDRESSES:
        return host
    try:
        return _metadata(host)
    except OSError as e:
        raise _lines.CloudError(f"the master's address is not known: set provider.master_url ({e})") from e


class Ec2:
    """The machines of one pool."""

    def __init__(self, question: _lines.Question) -> None:
        try:
            import boto3
            import botocore.config
            import botocore.exceptions
        except ImportError as e:
            raise _lines.CloudError(
                f"{sys.executable} has no boto3: install it there, or name another Python in provider.command ({e})"
            ) from e
        self._errors = botocore.exceptions
        self._config: Dict[str, Any] = question["provider"]
        self._master = question["master"]["host"]
        key, value = self._config.get("tag_key", "managed_by"), self._config.get("tag_value") or "determined"
        self._tags: Dict[str, str] = {key: value, **question["tags"]}
        settings = botocore.config.Config(
            retries={"max_attempts": 5, "mode": "standard"}, connect_timeout=10, read_timeout=30
        )
        session = boto3.Session(region_name=_region(self._config))
        self._ec2: Any = session.client("ec2", config=settings)
        self._ssm: Any = session.client("ssm", config=settings)
        self._launched: Dict[str, float] = {}  # launched, but not in a list of EC2 yet: id and time
        self._ended: Set[str] = set()  # ended machines, which EC2 still lists for a while
        # Machines that had ended before this program began are not listed: the master has been told of them.
        self._ended.update(x["InstanceId"] for x in self._instances() if x["State"]["Name"] in _GONE)

    # ---- list

    def _instances(self) -> List[Dict[str, Any]]:
        # EC2 takes * and ? of a value for wildcards, and a backslash for what takes that meaning away. In their places
        # stands a ?, so that EC2 lists the pool's machines and perhaps others, which are left out here.
        filters = [{"Name": f"tag:{key}", "Values": [re.sub(r"[*?\\]", "?", v)]} for key, v in self._tags.items()]
        pages = self._ec2.get_paginator("describe_instances").paginate(Filters=filters)
        listed = [x for page in pages for reservation in page["Reservations"] for x in reservation["Instances"]]
        return [x for x in listed if self._tags.items() <= {t["Key"]: t["Value"] for t in x.get("Tags", [])}.items()]

    def _notices(self, instances: List[Dict[str, Any]]) -> Dict[str, str]:
        """Ids of the spot machines that EC2 takes back within two minutes, with EC2's reason."""
        requests = [
            x["SpotInstanceRequestId"]
            for x in instances
            if x["State"]["Name"] == "running" and x.get("SpotInstanceRequestId")
        ]
        notices = {}
        for begin in range(0, len(requests), _FILTER_VALUES_MAX):
            some = requests[begin : begin + _FILTER_VALUES_MAX]
            found = self._ec2.describe_spot_instance_requests(
                Filters=[{"Name": "spot-instance-request-id", "Values": some}]
            )
            for x in found["SpotInstanceRequests"]:
                if x.get("InstanceId") and x.get("Status", {}).get("Code", "").startswith("marked-for-"):
                    notices[x["InstanceId"]] = x["Status"].get("Message") or x["Status"]["Code"]
        return notices

    def list(self) -> List[Dict[str, Any]]:
        instances = [x for x in self._instances() if x["InstanceId"] not in self._ended]
        notices = self._notices(instances)
        listed = []
        for x in instances:
            name, state = x["InstanceId"], _STATES[x["State"]["Name"]]
            self._launched.pop(name, None)
            reason = x.get("StateReason", {}).get("Message") or x.get("StateTransitionReason") or ""
            listed.append(
                {
                    "id": name,
                    "state": "ending" if name in notices else state,
                    "launched": x["LaunchTime"].timestamp(),
                    "detail": notices.get(name) or (reason if state == "stopped" else ""),
                }
            )
        return listed + self._not_listed_yet()

    def _not_listed_yet(self) -> List[Dict[str, Any]]:
        now = time.time()
        self._launched = {name: at for name, at in self._launched.items() if now - at < _SETTLING_S}
        return [{"id": name, "state": "pending", "launched": at, "detail": ""} for name, at in self._launched.items()]

    # ---- launch

    def _image(self) -> str:
        if self._config.get("image_id"):
            return str(self._config["image_id"])
        return str(self._ssm.get_parameter(Name=_IMAGE)["Parameter"]["Value"])

    def _root_device(self, image: str) -> str:
        found = self._ec2.describe_images(ImageIds=[image])["Images"]
        return str(found[0].get("RootDeviceName") or "/dev/sda1") if found else "/dev/sda1"

    def _user_data(self, question: _lines.Question) -> bytes:
        c = self._config
        log_options = []
        if c.get("log_group"):
            log_options = ["--log-driver", "awslogs", "--log-opt", f"awslogs-group={c['log_group']}"]
            log_options += ["--log-opt", f"awslogs-stream={c['log_stream']}"] if c.get("log_stream") else []
        agent = {**question["agent"], "master_host": master_host(self._master)}
        text = _startup.script(c, agent, question.get("files", {}), _ID_COMMAND, log_options).encode()
        if len(text) > _USER_DATA_MAX:
            text = gzip.compress(text)  # cloud-init unpacks it
        if len(text) > _USER_DATA_MAX:
            raise _lines.CloudError(
                f"what a new machine is given has {len(text)} bytes, and EC2 allows {_USER_DATA_MAX}: shorten "
                "provider.startup_script and agent_config_file_contents"
            )
        return text  # boto3 encodes it

    def _network(self) -> Dict[str, Any]:
        wanted = self._config.get("network_interface") or {}
        network: Dict[str, Any] = {
            "DeviceIndex": 0,
            "AssociatePublicIpAddress": wanted.get("public_ip", True),
            "DeleteOnTermination": True,
        }
        if wanted.get("subnet_id"):
            network["SubnetId"] = wanted["subnet_id"]
        if wanted.get("security_group_id"):
            network["Groups"] = [wanted["security_group_id"]]
        return network

    def _all_tags(self) -> List[Dict[str, str]]:
        tags = {"Name": self._config.get("instance_name", "determined-ai-agent")}
        tags.update({tag["key"]: tag["value"] for tag in self._config.get("custom_tags") or []})
        return [{"Key": key, "Value": value} for key, value in {**tags, **self._tags}.items()]

    def _spot(self) -> Dict[str, Any]:
        options: Dict[str, Any] = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        if self._config.get("spot_max_price"):
            options["MaxPrice"] = str(self._config["spot_max_price"])
        return {"MarketType": "spot", "SpotOptions": options}

    def _request(self, n: int, question: _lines.Question) -> Dict[str, Any]:
        c, image, tags = self._config, self._image(), self._all_tags()
        disk = {"VolumeSize": c.get("root_volume_size", 200), "VolumeType": "gp3", "DeleteOnTermination": True}
        request: Dict[str, Any] = {
            "MinCount": 1,
            "MaxCount": n,
            "ImageId": image,
            "InstanceType": c.get("instance_type", "g4dn.metal"),
            "KeyName": c["ssh_key_name"],
            "UserData": self._user_data(question),
            "BlockDeviceMappings": [{"DeviceName": self._root_device(image), "Ebs": disk}],
            "NetworkInterfaces": [self._network()],
            "InstanceInitiatedShutdownBehavior": "terminate",
            # Two hops, so that tasks in containers get the credentials of the machine's role.
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            "TagSpecifications": [{"ResourceType": what, "Tags": tags} for what in ("instance", "volume")],
        }
        if c.get("iam_instance_profile_arn"):
            request["IamInstanceProfile"] = {"Arn": c["iam_instance_profile_arn"]}
        if c.get("spot"):
            request["InstanceMarketOptions"] = self._spot()
        return request

    def launch(self, n: int, question: _lines.Question) -> List[str]:
        made = self._ec2.run_instances(**self._request(n, question))["Instances"]
        names = [str(x["InstanceId"]) for x in made]
        self._launched.update({name: time.time() for name in names})
        return names

    # ---- terminate

    def terminate(self, instance: str) -> None:
        try:
            self._ec2.terminate_instances(InstanceIds=[instance])
            self._ended.add(instance)
        except self._errors.ClientError as e:
            # EC2 may not know a machine yet that was just launched: it must be listed if it appears later.
            if e.response["Error"]["Code"] != "InvalidInstanceID.NotFound":
                raise
        self._launched.pop(instance, None)


if __name__ == "__main__":
    _lines.serve(Ec2)
