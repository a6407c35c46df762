"""Programs that launch machines of a cloud: what the clouds' stand-ins of tests/e2e/test_clouds.py cannot show."""

import datetime
import io
import json
import pathlib
import re

import pytest

from determined._clouds import _lines, _startup, aws, gcp

LAUNCHED = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class FakeEc2:
    """As much of boto3's client as a list needs."""

    def __init__(self, instances, requests):
        self.instances, self.requests = instances, requests

    def get_paginator(self, name):
        assert name == "describe_instances"
        return self

    def paginate(self, **_):
        return [{"Reservations": [{"Instances": self.instances}]}]

    def describe_spot_instance_requests(self, **asked):
        [wanted] = asked["Filters"]
        assert wanted["Name"] == "spot-instance-request-id"
        assert len(wanted["Values"]) <= 200, "EC2 takes no more values in a filter"
        return {"SpotInstanceRequests": [x for x in self.requests if f"sir-{x['InstanceId']}" in wanted["Values"]]}


def ec2_of(monkeypatch, instances, requests):
    boto3 = pytest.importorskip("boto3")
    fake = FakeEc2(instances, requests)
    monkeypatch.setattr(boto3.Session, "client", lambda *_, **__: fake)
    config = {"type": "aws", "region": "us-east-1", "ssh_key_name": "k"}
    question = {"provider": config, "tags": {"determined-resource-pool": "p"}, "master": {"host": "m"}}
    return aws.Ec2(question), fake


def machine(name, state="running", pool="p", **more):
    tags = [
        {"Key": key, "Value": value}
        for key, value in {"managed_by": "determined", "determined-resource-pool": pool}.items()
    ]
    return {"InstanceId": name, "State": {"Name": state}, "LaunchTime": LAUNCHED, "Tags": tags, **more}


def request(name, code):
    return {"InstanceId": name, "Status": {"Code": code, "Message": f"about {name}"}}


def test_spot_machines_with_a_notice_are_ending(monkeypatch):
    spot = [machine(name, SpotInstanceRequestId=f"sir-{name}") for name in ("a", "b", "c")]
    requests = [request("a", "fulfilled"), request("b", "marked-for-termination"), request("c", "marked-for-stop")]
    cloud, _ = ec2_of(monkeypatch, [*spot, machine("d")], requests)
    assert [(x["id"], x["state"], x["detail"]) for x in cloud.list()] == [
        ("a", "running", ""),
        ("b", "ending", "about b"),
        ("c", "ending", "about c"),
        ("d", "running", ""),
    ]


def test_notices_of_many_spot_machines_are_asked_for_in_parts(monkeypatch):
    names = [f"i{n}" for n in range(450)]
    requests = [request(name, "marked-for-termination" if name in ("i0", "i449") else "fulfilled") for name in names]
    cloud, _ = ec2_of(monkeypatch, [machine(name, SpotInstanceRequestId=f"sir-{name}") for name in names], requests)
    assert [x["id"] for x in cloud.list() if x["state"] == "ending"] == ["i0", "i449"]


def test_machines_of_a_pool_whose_name_only_looks_like_it_are_left_out(monkeypatch):
    cloud, _ = ec2_of(monkeypatch, [machine("a"), machine("b", pool="pool"), machine("c", Tags=[])], [])
    assert [x["id"] for x in cloud.list()] == ["a"]


def test_the_machines_of_a_module_install_what_those_of_a_pool_do():
    template = pathlib.Path(__file__).parents[2] / "packaging" / "clouds" / "machines" / "machine.sh.tftpl"
    [words] = re.findall(
        r"^apt-get install -y --no-install-recommends ((?:.*\\\n)*.*)$", template.read_text(), re.MULTILINE
    )
    assert words.replace("\\\n", " ").split() == [*_startup.LIBRARIES.split(), "${packages}"]


def test_machines_that_ended_by_themselves_are_listed_until_their_end_is_asked_for(monkeypatch):
    cloud, fake = ec2_of(monkeypatch, [machine("old", "terminated")], [])
    assert cloud.list() == []
    reason = {"Message": "Server.SpotInstanceTermination"}
    fake.instances = [machine("old", "terminated"), machine("new", "terminated", StateReason=reason)]
    assert [(x["id"], x["state"], x["detail"]) for x in cloud.list()] == [("new", "stopped", reason["Message"])]
    fake.terminate_instances = lambda **_: None
    cloud.terminate("new")
    assert cloud.list() == []


def test_a_machine_is_listed_from_its_launch_on(monkeypatch):
    cloud, fake = ec2_of(monkeypatch, [], [])
    monkeypatch.setattr(cloud, "_request", lambda n, question: {})
    fake.run_instances = lambda **_: {"Instances": [{"InstanceId": "a"}]}
    assert cloud.launch(1, {}) == ["a"]
    assert [(x["id"], x["state"]) for x in cloud.list()] == [("a", "pending")]  # EC2 does not show it yet
    fake.instances = [machine("a")]
    assert [(x["id"], x["state"]) for x in cloud.list()] == [("a", "running")]
    fake.instances = []
    assert cloud.list() == []


def ask(open_cloud, *questions):
    answers = io.StringIO()
    lines = [json.dumps({"id": n, **question}) for n, question in enumerate(questions, 1)]
    _lines.serve(open_cloud, io.StringIO("\n".join(lines) + "\n"), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def test_whatever_fails_is_an_answer():
    def refuse(question):
        raise _lines.CloudError("no zone")

    class Broken:
        def list(self):
            raise KeyError("x")

    opening = {"do": "open", "protocol": 1}
    assert ask(refuse, opening, {"do": "list"}) == [
        {"id": 1, "error": "no zone"},
        {"id": 2, "error": "the first question must be 'open'"},
    ]
    assert ask(lambda q: Broken(), opening, {"do": "list"})[1] == {"id": 2, "error": "KeyError: 'x'"}
    assert ask(refuse, {"do": "open", "protocol": 2})[0]["error"] == "the master speaks protocol 2, this program 1"


def test_the_script_of_a_machine_installs_the_programs_where_their_archive_is_named():
    text = _startup.script({"agent_package_url": "https://x/d.tar.gz?a=1&b='2'"}, {}, {}, "echo id")
    assert """curl -fsSL --retry 5 'https://x/d.tar.gz?a=1&b='"'"'2'"'"'' | tar -xz -C /""" in text
    assert "apt-get" not in _startup.script({}, {}, {}, "echo id")


def test_durations_and_labels_of_google():
    assert [gcp.seconds(x) for x in ("5m", "1h30m", "1.5s", "300ms", 2_000_000_000)] == [300, 5400, 1.5, 0.3, 2]
    assert gcp.label_of("pool-a_1") == "pool-a_1"
    labels = [gcp.label_of(x) for x in ("Pool A", "pool a", "pool-a", "x" * 64, "x" * 65)]
    assert len(set(labels)) == 5 and all(len(x) <= 63 for x in labels)
