"""Pools on AWS, whose API moto stands in for, and on Google Cloud, whose API is a stub that records the calls."""
import base64
import contextlib
import datetime
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse

import boto3
import pytest
from e2e.test_elastic import agents, pool
from support.cluster import ROOT, wait_for
from support.experiments import log_of, shell
from support.ports import free_port

AWS = [sys.executable, "-m", "determined._clouds.aws"]
REGION = "us-east-1"


class Program:
    """One of the programs, without a master."""

    def __init__(self, argv, env):
        self.process = subprocess.Popen(argv, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def ask(self, do, **question):
        self.last += 1
        print(json.dumps({"id": self.last, "do": do, **question}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert answer.pop("id") == self.last
        return answer

    def open(self, provider, pool="p", host="10.0.0.1"):
        return self.ask("open", protocol=1, pool=pool, provider=provider, master={"host": host, "port": 8080, "tls": False},
                        tags={"determined-cluster": "c1", "determined-resource-pool": pool})


@contextlib.contextmanager
def program(argv, env):
    p = Program(argv, env)
    try:
        yield p
    finally:
        p.process.stdin.close()
        p.process.wait(30)


# ---- AWS ----


@pytest.fixture(scope="module")
def ec2(tmp_path_factory):
    """moto, with a client for it, and the environment in which programs find it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    log = open(tmp_path_factory.mktemp("moto") / "log", "wb")
    server = subprocess.Popen([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log)
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}
    client = boto3.client("ec2", region_name=REGION, endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="s")
    client.url = url
    client.env = {**os.environ, **keys, "AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_DISABLED": "true", "PYTHONPATH": str(ROOT / "python"),
                  "NO_PROXY": "127.0.0.1"}

    def answers():
        assert server.poll() is None
        try:
            return client.describe_key_pairs()
        except Exception:
            return None

    wait_for("moto", answers)
    client.create_key_pair(KeyName="k")
    yield client
    server.terminate()
    server.wait(30)
    log.close()


def provider_of(ec2, **more):
    image = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["x86_64"]}])["Images"][0]["ImageId"]
    return {"type": "aws", "region": REGION, "image_id": image, "ssh_key_name": "k", "instance_type": "g4dn.xlarge", **more}


def instances(ec2, pool):
    found = ec2.describe_instances(Filters=[{"Name": "tag:determined-resource-pool", "Values": [pool]}])["Reservations"]
    return [x for r in found for x in r["Instances"]]


def test_aws_machines_are_launched_listed_by_their_tags_and_ended(ec2):
    with program(AWS, ec2.env) as p:
        assert p.open(provider_of(ec2, custom_tags=[{"key": "team", "value": "vision"}], root_volume_size=120,
                                  network_interface={"public_ip": False}), pool="one") == {}
        assert p.ask("list") == {"instances": []}
        # moto launches the least number that was asked for, and EC2 as many as it has, which may be fewer than wanted
        launched = [*p.ask("launch", n=2, agent={}, files={})["launched"], *p.ask("launch", n=1, agent={}, files={})["launched"]]
        listed = p.ask("list")["instances"]
        assert sorted(launched) == sorted(x["id"] for x in listed) and len(launched) == 2
        assert {x["state"] for x in listed} <= {"pending", "running"} and all(x["launched"] > 1e9 for x in listed)
        first = instances(ec2, "one")[0]
        tags = {t["Key"]: t["Value"] for t in first["Tags"]}
        assert tags == {"Name": "determined-ai-agent", "team": "vision", "managed_by": "determined", "determined-cluster": "c1",
                        "determined-resource-pool": "one"}
        assert (first["InstanceType"], first["KeyName"]) == ("g4dn.xlarge", "k")
        assert p.ask("terminate", instance=launched[0]) == {}
        assert [x["id"] for x in p.ask("list")["instances"]] == [launched[1]]
        assert p.ask("terminate", instance="i-0123456789abcdef0") == {}  # there is none
        ec2.terminate_instances(InstanceIds=[launched[1]])  # somebody else does
        [gone] = p.ask("list")["instances"]
        assert (gone["id"], gone["state"]) == (launched[1], "stopped") and "initiated" in gone["detail"].lower()
    with program(AWS, ec2.env) as p:  # another start of the master finds what runs, and no old news
        p.open(provider_of(ec2), pool="one")
        assert p.ask("list") == {"instances": []}


@pytest.mark.parametrize("name, other", [("w*", "wide"), ("w?", "wi"), ("w\\*", "w*")])
def test_aws_machines_of_a_pool_with_a_wildcard_in_its_name_are_its_own(ec2, name, other):
    with program(AWS, ec2.env) as p:
        launched = {}
        for pool_name in (name, other):
            p.open(provider_of(ec2), pool=pool_name)
            launched[pool_name] = p.ask("launch", n=1, agent={}, files={})["launched"]
        with program(AWS, ec2.env) as fresh:  # the fresh program remembers no launch
            for pool_name, ids in launched.items():
                fresh.open(provider_of(ec2), pool=pool_name)
                assert [x["id"] for x in fresh.ask("list")["instances"]] == ids
                p.ask("terminate", instance=ids[0])


def test_aws_spot_machines_are_asked_for_with_their_price(ec2):
    with program(AWS, ec2.env) as p:
        p.open(provider_of(ec2, spot=True, spot_max_price="0.5"), pool="spot")
        [name] = p.ask("launch", n=1, agent={}, files={})["launched"]
        [found] = instances(ec2, "spot")
        assert found["InstanceId"] == name and found.get("InstanceLifecycle") == "spot"
        assert [x["id"] for x in p.ask("list")["instances"]] == [name]
        p.ask("terminate", instance=name)


UNIT = (ROOT / "packaging" / "systemd" / "determined-master.service.in").read_text()
PR_SET_MDWE = 65
# What of the master's unit can be had without systemd: no homes, a file system that cannot be written, no memory that is both written and executed.
SHUT_IN = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o ro tmpfs /home && mount -t tmpfs -o ro tmpfs /root && mount -t tmpfs tmpfs /tmp && "
           'mount -o remount,bind,ro /usr 2>/dev/null; exec "$@"', "sh", sys.executable, "-c",
           "import ctypes, os, sys\n"
           "libc = ctypes.CDLL(None, use_errno=True)\n"
           f"if libc.prctl({PR_SET_MDWE}, 1, 0, 0, 0): sys.exit('no MDWE: ' + os.strerror(ctypes.get_errno()))\n"
           "os.execvp(sys.argv[1], sys.argv[1:])"]


def is_shut_in():
    """Whether this machine can shut a program in like this, and memory cannot be made executable then."""
    done = subprocess.run([*SHUT_IN, sys.executable, "-c", "import mmap; mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)"],
                          capture_output=True, text=True)
    return "PermissionError" in done.stderr


def test_our_programs_work_in_the_masters_unit(ec2, gce):
    assert {"ProtectHome=yes", "PrivateTmp=yes", "MemoryDenyWriteExecute=yes", "SystemCallErrorNumber=EPERM"} <= set(UNIT.splitlines())
    if os.geteuid() != 0 or not is_shut_in():
        pytest.skip("this machine cannot shut a program in: it takes root, and Linux 6.3")
    with program([*SHUT_IN, *AWS], {**ec2.env, "HOME": "/var/lib/determined"}) as p:
        p.open(provider_of(ec2), pool="unit")
        [name] = p.ask("launch", n=1, agent={}, files={})["launched"]
        assert [x["id"] for x in p.ask("list")["instances"]] == [name]
        assert p.ask("terminate", instance=name) == {}
    with program([*SHUT_IN, *GCP], {**gce.env, "HOME": "/var/lib/determined"}) as p:
        p.open({"type": "gcp"}, pool="unit")
        [name] = p.ask("launch", n=1, agent={}, files={})["launched"]
        assert [x["id"] for x in p.ask("list")["instances"]] == [name]


def test_aws_failures_are_answers(ec2):
    with program(AWS, ec2.env) as p:
        p.open(provider_of(ec2, image_id="ami-00000000000000000"), pool="bad")
        assert "ami-00000000000000000" in p.ask("launch", n=1, agent={}, files={})["error"]
        p.open(provider_of(ec2, startup_script="x" * 10 + "".join(f"{n * 7919 % 104729:x}" for n in range(20000))), pool="bad")
        assert "EC2 allows 16384" in p.ask("launch", n=1, agent={}, files={})["error"]
        assert "does not know" in p.ask("dance")["error"]
        p.open(provider_of(ec2), pool="bad", host="local-ipv4")
        assert "set provider.master_url" in p.ask("launch", n=1, agent={}, files={})["error"]


def user_data(ec2, name):
    found = ec2.describe_instance_attribute(InstanceId=name, Attribute="userData")["UserData"]["Value"]
    return base64.b64decode(found).decode()


def run_script(text, tmp_path, identity):
    """Runs a machine's script with a directory in the place of /etc, and stand-ins for what it calls. Returns their calls."""
    bin, etc = tmp_path / "bin", tmp_path / "etc"
    bin.mkdir()
    for name, body in {"curl": f"echo {identity}", "systemctl": "", "apt-get": "", "docker": "", "systemd-sysusers": ""}.items():
        (bin / name).write_text(f"#!/bin/sh\necho {name} \"$@\" >>{tmp_path}/calls\n{body}\n")
        (bin / name).chmod(0o755)
    script = tmp_path / "script"
    script.write_text(text.replace("/etc/determined", f"{etc}/determined"))
    subprocess.run(["bash", script], check=True, env={"PATH": f"{bin}:{os.environ['PATH']}"})
    return (tmp_path / "calls").read_text()


def test_aws_machines_start_the_agent_with_their_own_id(ec2, tmp_path):
    with program(AWS, ec2.env) as p:
        p.open(provider_of(ec2, startup_script=f"echo first >{tmp_path}/first"), pool="script")
        agent = {"master_host": "10.0.0.1", "token": "it's secret", "resource_pool": "script"}
        [name] = p.ask("launch", n=1, agent=agent, files={"/etc/determined/master-cert.pem": "PEM\n"})["launched"]
        calls = run_script(user_data(ec2, name), tmp_path, name)
        p.ask("terminate", instance=name)
    config = tmp_path / "etc/determined/agent.yaml"
    assert json.loads(config.read_text()) == {**agent, "agent_id": name} and config.stat().st_mode & 0o077 == 0
    assert (tmp_path / "etc/determined/master-cert.pem").read_text() == "PEM\n"
    assert (tmp_path / "first").read_text() == "first\n"
    assert "systemctl restart determined-agent" in calls and "X-aws-ec2-metadata-token" in calls


def test_aws_machines_start_the_agents_image_where_one_is_named(ec2, tmp_path):
    with program(AWS, ec2.env) as p:
        p.open(provider_of(ec2, agent_docker_image="agent:1", agent_docker_runtime="nvidia", container_startup_script="echo 'in it'",
                           log_group="g", log_stream="s"), pool="image")
        [name] = p.ask("launch", n=1, agent={}, files={})["launched"]
        calls = run_script(user_data(ec2, name), tmp_path, name)
        p.ask("terminate", instance=name)
    assert "--runtime nvidia --log-driver awslogs --log-opt awslogs-group=g --log-opt awslogs-stream=s" in calls
    assert "agent:1 -c echo 'in it'\nexec determined-agent run --config-file" in calls


def test_an_experiment_gets_a_machine_of_aws_which_ends_when_it_idles(ec2, new_cluster):
    """The test starts the agent, since no machine of moto runs anything."""
    cluster = new_cluster(config={"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "2s", "provider": provider_of(
        ec2, command=AWS, max_idle_agent_period="2s", max_instances=2, master_url="http://10.0.0.1:8080")}]}, env=ec2.env)
    cluster.start_master()
    cluster.login("admin")
    assert (pool(cluster)["provider"], pool(cluster)["slotsPerAgent"]) == ("aws", 1)
    experiment = shell(cluster, "echo ran")
    [machine] = wait_for("a machine", lambda: instances(ec2, "default"))
    name = machine["InstanceId"]
    settings = user_data(ec2, name)
    assert "determined-agent" in settings
    wait_for("it in the list", lambda: pool(cluster)["instances"] == 1)
    cluster.start_agent(name)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    assert "ran" in log_of(cluster, experiment)
    wait_for("its end", lambda: instances(ec2, "default")[0]["State"]["Name"] in ("shutting-down", "terminated"))
    wait_for("the reason in the log", lambda: 'reason="idle for 2s"' in cluster.master_log())
    cluster.stop_agent(name)
    wait_for("the agent to be forgotten", lambda: not agents(cluster))


# ---- Google Cloud ----


class ComputeEngine(http.server.ThreadingHTTPServer):
    """The part of the REST API that the program uses, and the metadata server. Keeps the calls and the instances."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _ComputeCalls)
        self.calls, self.instances, self.operations, self.refuse = [], {}, {}, None
        self.created = lambda: datetime.datetime.now(datetime.timezone.utc).isoformat()
        host = f"127.0.0.1:{self.server_port}"
        self.env = {**os.environ, "GCE_METADATA_HOST": host, "PYTHONPATH": str(ROOT / "python"), "NO_PROXY": "127.0.0.1",
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"http://{host}/compute/v1/"}


class _ComputeCalls(http.server.BaseHTTPRequestHandler):
    METADATA = {"project/project-id": "our-project", "instance/zone": "projects/123/zones/us-west1-b",
                "instance/service-accounts/default/token": json.dumps({"access_token": "tok", "expires_in": 3600}),
                "instance/network-interfaces/0/ip": "10.1.2.3"}
    BASE = "/compute/v1/projects/our-project/zones/us-west1-b/"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        body = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def operation(self, error=None):
        name = f"op-{len(self.server.operations)}"
        self.server.operations[name] = {"name": name, "status": "DONE", **({"error": {"errors": [error]}} if error else {})}
        self.reply(200, {"name": name, "status": "RUNNING"})

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        if url.path.startswith("/computeMetadata/v1/"):
            assert self.headers["Metadata-Flavor"] == "Google"
            return self.reply(200, self.METADATA[url.path.removeprefix("/computeMetadata/v1/")])
        s, what = self.server, url.path.removeprefix(self.BASE)
        s.calls.append((self.command, what, body))
        if self.headers["Authorization"] != "Bearer tok":
            return self.reply(401, {"error": {"message": "who are you?"}})
        if (self.command, what) == ("GET", "instances"):
            return self.list(urllib.parse.parse_qs(url.query))
        if (self.command, what) == ("POST", "instances"):
            if s.refuse:
                return self.operation(s.refuse)
            s.instances[body["name"]] = {**body, "status": "RUNNING", "creationTimestamp": s.created()}
            return self.operation()
        if self.command == "POST":
            return self.reply(200, s.operations[what.split("/")[1]])
        if s.instances.pop(what.removeprefix("instances/"), None):
            return self.operation()
        return self.reply(404, {"error": {"message": "not found"}})

    def list(self, query):
        """A page for each instance, by a filter of terms such as `(labels.team = "vision")`."""
        wanted = dict(re.findall(r'\(labels\.([a-z-]+) = "([^"]*)"\)', query["filter"][0]))
        found = [x for x in self.server.instances.values() if wanted.items() <= x["labels"].items()]
        at = int(query.get("pageToken", ["0"])[0])
        self.reply(200, {"items": found[at:at + 1], **({"nextPageToken": str(at + 1)} if at + 1 < len(found) else {})})

    do_GET = do_POST = do_DELETE = answer


@pytest.fixture
def gce():
    server = ComputeEngine()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


GCP = [sys.executable, "-m", "determined._clouds.gcp"]


def test_gcp_machines_are_launched_listed_by_their_labels_and_ended(gce):
    provider = {"type": "gcp", "labels": {"team": "vision"}, "name_prefix": "det", "network_tags": ["agents"], "boot_disk_size": 120,
                "network_interface": {"network": "projects/our-project/global/networks/n", "external_ip": True},
                "service_account": {"email": "a@b"}, "base_config": {"minCpuPlatform": "Intel Skylake", "tags": {"items": ["base"]}},
                "instance_type": {"machine_type": "n1-standard-8", "gpu_type": "nvidia-tesla-v100", "gpu_num": 2, "preemptible": True}}
    gce.created = lambda: "2026-01-31T04:00:00.123-08:00"
    with program(GCP, gce.env) as p:
        assert p.open(provider, pool="Pool A") == {}
        launched = p.ask("launch", n=2, agent={"token": "t"}, files={})["launched"]
        listed = p.ask("list")["instances"]
        assert sorted(launched) == sorted(x["id"] for x in listed) == sorted(gce.instances) and len(launched) == 2
        assert {x["state"] for x in listed} == {"running"} and {x["launched"] for x in listed} == {1769860800.123}
        made = gce.instances[launched[0]]
        assert launched[0].startswith("det-") and made["minCpuPlatform"] == "Intel Skylake"
        assert made["labels"]["team"] == "vision" and made["labels"]["managed-by"] == "determined"
        assert re.fullmatch("pool-a-[0-9a-f]{10}", made["labels"]["determined-resource-pool"])
        assert made["machineType"] == "zones/us-west1-b/machineTypes/n1-standard-8" and made["scheduling"]["preemptible"]
        assert made["guestAccelerators"] == [{"acceleratorType": "zones/us-west1-b/acceleratorTypes/nvidia-tesla-v100",
                                              "acceleratorCount": 2}]
        assert made["scheduling"]["onHostMaintenance"] == "TERMINATE" and made["tags"]["items"] == ["base", "agents"]
        assert made["serviceAccounts"] == [{"email": "a@b", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}]
        assert made["disks"][0]["initializeParams"]["diskSizeGb"] == "120" and made["networkInterfaces"][0]["accessConfigs"]
        gce.instances[launched[1]]["status"] = "STOPPING"
        states = {x["id"]: (x["state"], x["detail"]) for x in p.ask("list")["instances"]}
        assert states[launched[1]] == ("ending", "it is STOPPING, as preemptible machines may be at any time")
        assert p.ask("terminate", instance=launched[0]) == {} and p.ask("terminate", instance=launched[0]) == {}
        assert list(gce.instances) == [launched[1]]
    with program(GCP, gce.env) as p:
        p.open(provider, pool="pool a")
        assert p.ask("list") == {"instances": []}  # the machines are of a pool whose name differs in its letters only


def test_gcp_failures_are_answers(gce):
    with program(GCP, gce.env) as p:
        p.open({"type": "gcp"})
        gce.refuse = {"code": "QUOTA_EXCEEDED", "message": "Quota 'GPUS_ALL_REGIONS' exceeded"}
        assert p.ask("launch", n=1, agent={}, files={})["error"] == "QUOTA_EXCEEDED: Quota 'GPUS_ALL_REGIONS' exceeded"
        _ComputeCalls.METADATA["instance/service-accounts/default/token"] = json.dumps({"access_token": "old", "expires_in": 0})
        try:
            p.open({"type": "gcp"})
            assert p.ask("list")["error"] == "Compute Engine answered 401: who are you?"
        finally:
            _ComputeCalls.METADATA["instance/service-accounts/default/token"] = json.dumps({"access_token": "tok", "expires_in": 3600})
        assert [x["id"] for x in p.ask("list")["instances"]] == []


def test_gcp_machines_start_the_agent_with_their_own_name(gce, tmp_path):
    with program(GCP, gce.env) as p:
        p.open({"type": "gcp"}, host="127.0.0.1")
        [name] = p.ask("launch", n=1, agent={"resource_pool": "p"}, files={})["launched"]
    [script] = [x["value"] for x in gce.instances[name]["metadata"]["items"] if x["key"] == "startup-script"]
    run_script(script, tmp_path, name)
    assert json.loads((tmp_path / "etc/determined/agent.yaml").read_text()) == {
        "resource_pool": "p", "master_host": "10.1.2.3", "agent_id": name}


def test_an_experiment_gets_a_machine_of_gcp_which_ends_when_it_idles(gce, new_cluster):
    """By the program that the master finds itself, with the first python3 of its PATH."""
    env = {name: value for name, value in gce.env.items() if name != "PYTHONPATH"}
    cluster = new_cluster(config={"resource_pools": [{"pool_name": "default", "agent_reconnect_wait": "2s", "provider": {
        "type": "gcp", "max_idle_agent_period": "2s", "instance_type": {"gpu_num": 1}}}]}, env=env)
    cluster.start_master()
    cluster.login("admin")
    experiment = shell(cluster, "echo ran")
    [name] = wait_for("a machine", lambda: list(gce.instances))
    wait_for("it in the list", lambda: pool(cluster)["instances"] == 1)
    cluster.start_agent(name)
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"
    wait_for("its end", lambda: not gce.instances)
    cluster.stop_agent(name)
    wait_for("the agent to be forgotten", lambda: not agents(cluster))
