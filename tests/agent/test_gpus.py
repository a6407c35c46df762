"""Tests GPUs through their makers' libraries. The libraries are replaced by stubs that are built here and report what a test wants."""

import json
import os
import signal

import pytest
from support.fake_master.agents import Agent
from support.gpu_stubs import build_stub
from support.waiting import wait_for


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    root = tmp_path_factory.mktemp("stubs")
    (root / "broken").mkdir()
    (root / "broken/libnvidia-ml.so.1").write_text("no library at all")
    (root / "none").mkdir()
    return {
        "nvidia": build_stub(root / "nvidia", "nvml_stub.c", "libnvidia-ml.so.1"),
        "no-mig": build_stub(root / "no-mig", "nvml_stub.c", "libnvidia-ml.so.1", "-DNO_MIG"),
        "old": build_stub(root / "old", "nvml_stub.c", "libnvidia-ml.so.1", "-DOLD"),
        "amd": build_stub(root / "amd", "rocm_stub.c", "librocm_smi64.so.1"),
        "broken": root / "broken", "none": root / "none",
    }


@pytest.fixture
def agent(master, place, libraries):
    """Returns a function agent(library, what the stub reports, keys…), which makes an agent without starting it."""
    made = []

    def make(library="nvidia", tells="count=2", environment=None, **keys):
        a = Agent(master, place / f"agent{len(made)}", **keys)
        a.root.mkdir()
        a.tells = a.root / "stub"
        a.tells.write_text(tells)
        for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            os.environ.pop(name, None)
        a.environment = {"LD_LIBRARY_PATH": str(libraries[library]), "STUB_NVML": str(a.tells), **(environment or {})}
        made.append(a)
        return a

    yield make
    for a in made:
        if a.process and a.process.poll() is None:
            a.kill(signal.SIGTERM)


def devices(master, a):
    a.start()
    master.wait_agent()
    return [(d["id"], d["type"], d["brand"], d["uuid"]) for d in master.hellos[0][1]["devices"]]


CPU = ["TYPE_CPU"]


def test_each_gpu_is_a_slot_with_model_and_uuid(master, agent):
    a = agent(tells="count=2")
    assert devices(master, a) == [(0, "TYPE_CUDA", "Stub S100", "GPU-00000000-aaaa"), (1, "TYPE_CUDA", "Stub S100", "GPU-00000001-aaaa")]
    assert 'gpu.found maker=NVIDIA index=1 uuid=GPU-00000001-aaaa model="Stub S100" memory_mib=81920 driver=535.104.05' in a.log_text()


@pytest.mark.parametrize("keys, environment, ids", [
    ({"visible_gpus": "2,GPU-00000000-aaaa"}, {}, [0, 2]),
    ({"visible_gpus": "GPU-00000001"}, {}, [1]),
    ({}, {"CUDA_VISIBLE_DEVICES": "1"}, [1]),
    ({}, {"ROCR_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, [0]),
    ({"visible_gpus": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}, [0]),
    ({"slot_type": "gpu"}, {}, [0, 1, 2]),
])
def test_only_visible_gpus_are_offered(master, agent, keys, environment, ids):
    assert [d[0] for d in devices(master, agent(tells="count=3", environment=environment, **keys))] == ids


def test_a_gpu_that_is_cut_counts_as_its_instances(master, agent):
    assert [(d[0], d[3]) for d in devices(master, agent(tells="count=2 mig=0"))] == [
        (0, "MIG-00000000-0001"), (1, "MIG-00000000-0002"), (2, "GPU-00000001-aaaa")]


def test_a_driver_that_knows_no_instances_does(master, agent):
    assert len(devices(master, agent("no-mig", "count=2 mig=0"))) == 2


def test_a_lost_gpu_is_left_out_and_told(master, agent):
    a = agent(tells="count=3 lost=1")
    assert [d[0] for d in devices(master, a)] == [0, 2]
    assert 'gpu.unusable maker=NVIDIA index=1 reason="GPU is lost"' in a.log_text()


@pytest.mark.parametrize("library, tells, words", [
    ("none", "", None),
    ("nvidia", "count=0", None),
    ("nvidia", "init=9", "the kernel's driver is not loaded: Driver Not Loaded"),
    ("nvidia", "count=2 error=3", "cannot count the GPUs: some error"),
    ("old", "count=2", "nvmlDeviceGetUtilizationRates: the driver is too old"),
    ("broken", "", "cannot be loaded"),
    ("nvidia", "count=2 hidden", None),
])
def test_without_usable_gpus_auto_takes_the_processors_and_cuda_ends_with_the_reason(master, agent, library, tells, words):
    environment = {"CUDA_VISIBLE_DEVICES": ""} if "hidden" in tells else {}
    a = agent(library, tells, environment)
    assert [d[1] for d in devices(master, a)] == CPU
    assert ("gpu.ignored maker=NVIDIA" in a.log_text()) == bool(words) and (words or "agent.start") in a.log_text()
    b = agent(library, tells, environment, slot_type="cuda").start()
    assert b.process.wait(60) != 0
    text = b.log_text()
    assert "slot_type is cuda, but no such device was found" in text and "set slot_type to auto, cpu or none" in text
    assert (words or "NVIDIA") in text


def test_a_gpu_that_is_not_there_cannot_be_made_visible(master, agent):
    a = agent(tells="count=2", visible_gpus="0,7").start()
    assert a.process.wait(60) != 0
    assert 'the GPU \\"7\\", which is not one of the 2 that are there' in a.log_text().replace('"7"', '\\"7\\"')


@pytest.mark.parametrize("slot_type, expected", [("cpu", CPU), ("none", [])])
def test_slot_type_leaves_gpus_alone(master, agent, slot_type, expected):
    a = agent(tells="count=2", slot_type=slot_type)
    assert [d[1] for d in devices(master, a)] == expected
    assert "gpu.found" not in a.log_text()


def test_amd_gpus(master, agent):
    a = agent("amd", environment={"STUB_ROCM": "2"}, slot_type="rocm")
    assert devices(master, a) == [(0, "TYPE_ROCM", "Stub MI100", "GPU-000000000000abc0"), (1, "TYPE_ROCM", "Stub MI101", "GPU-000000000000abc1")]
    c = master.start(["echo [$ROCR_VISIBLE_DEVICES] [$CUDA_VISIBLE_DEVICES]"], deviceIds=[1])
    master.finish(c)
    assert master.text(c) == "[GPU-000000000000abc1] []\n"
    assert "initialization failed" in (lambda b: b.process.wait(60) and b.log_text())(agent("amd", slot_type="rocm").start())


def test_a_task_sees_its_own_gpus_by_uuid_and_one_without_slots_none(master, agent):
    devices(master, agent(tells="count=3", environment={"CUDA_VISIBLE_DEVICES": "0,1,2"}))
    script = ["echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES $DET_SLOT_IDS; cat $DET_RUN_DIR/info/resources.json"]
    c = master.start(script, deviceIds=[2, 0], taskType="TASK_TYPE_TRIAL", more_env=["CUDA_VISIBLE_DEVICES=1"])
    master.finish(c)
    uuids = ["GPU-00000002-aaaa", "GPU-00000000-aaaa"]
    first, second = master.text(c, "stdout").splitlines()
    assert first == f"{','.join(uuids)} {','.join(uuids)} [2,0]"
    assert json.loads(second) == {"gpu_uuids": uuids}
    master.wait(lambda: any("acceleratorData" in p for p, _ in master.posts))
    [told] = [body for path, body in master.posts if "acceleratorData" in path]
    told = json.loads(told) if isinstance(told, (str, bytes)) else told
    assert told["acceleratorData"]["acceleratorUuids"] == uuids and told["acceleratorData"]["acceleratorType"] == "Stub S100"
    c = master.start(["echo [$CUDA_VISIBLE_DEVICES] $NVIDIA_VISIBLE_DEVICES"], deviceIds=[])
    master.finish(c)
    assert master.text(c) == "[] void\n"


def troubles(master):
    """What the agent has told of devices in trouble, in its hello or later."""
    told = [t for _, hello in master.hellos for t in hello.get("troubles", [])]
    return told + [t for m in master.devices for t in m.get("troubles", [])]


@pytest.mark.parametrize("tells, reason", [
    ("count=2 xid=79", "its driver reported Xid 79"),
    ("count=2 ecc=3", "its memory had 3 errors that could not be corrected (ECC)"),
    ("count=2 degrees=97", "it is 97 °C hot, at which it switches itself off"),
    ("count=2 mig=1 xid=48", "its driver reported Xid 48"),
])
def test_a_gpu_that_fails_is_told_with_its_reason(master, agent, tells, reason):
    a = agent(tells=tells)
    devices(master, a)
    master.wait(lambda: troubles(master))
    found = troubles(master)[0]
    assert found["reason"] == reason and int(found["sinceUs"]) > 0 and found["id"] == 1
    assert "gpu.trouble index=1" in a.log_text() and reason in a.log_text()


@pytest.mark.parametrize("tells", ["count=2 xid=31", "count=2 degrees=94"])
def test_what_is_no_fault_of_the_gpu_is_no_trouble(master, agent, tells):
    a = agent(tells=tells, log={"level": "debug"})
    devices(master, a)
    wait_for("the first check", lambda: "gpu.usage index=1" in a.log_text())
    assert not troubles(master) and "gpu.trouble" not in a.log_text()


def test_slots_that_share_a_gpu_tell_their_task_its_part_of_the_memory(master, agent):
    found = devices(master, agent(tells="count=2", slots_per_device=4))
    assert [d[0] for d in found] == list(range(8)) and found[5][2:] == ("Stub S100, part 2 of 4", "GPU-00000001-aaaa")
    c = master.start(["echo $CUDA_VISIBLE_DEVICES $DET_GPU_MEMORY_BUDGET"], deviceIds=[5, 1, 2])
    master.finish(c)
    assert master.text(c) == f"GPU-00000001-aaaa,GPU-00000000-aaaa {20 << 30},{40 << 30}\n"


def test_a_gpu_of_ones_own_has_no_budget(master, agent):
    devices(master, agent(tells="count=2"))
    c = master.start(["echo [$DET_GPU_MEMORY_BUDGET]"], deviceIds=[1])
    master.finish(c)
    assert master.text(c) == "[]\n"
