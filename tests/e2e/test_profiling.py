"""System metrics of trials: asked for by the trial, sampled by its agent, kept by the master as reports."""
import signal

from support.cluster import wait_for
from support.gpu_stubs import NvidiaStub

FILES = {"train.py": """
import pathlib, time
from determined import core

with core.init() as core_context:
    core_context.profiler.on(sampling_interval=0.1, samples_per_report=2)
    print("profiling", flush=True)
    end = pathlib.Path(core_context.info.trial.hparams["end"])
    total = 0
    while not end.exists():
        total += sum(range(100_000))
    core_context.profiler.off()
"""}


def reports(cluster, trial, group):
    found = cluster.get(f"/api/v1/trials/metrics/trial_metrics?trialIds={trial}&group={group}").lines
    return [m["metrics"]["avg_metrics"] for line in found for m in line["result"]["metrics"]]


def busy(cluster, trial, after=0):
    """Whether a report says that the task has had the processor: on a busy machine it gets none for a fifth of a second at times."""
    return any(r["agent0"]["task_cpu_util"] > 0 for r in reports(cluster, trial, "cpu")[after:])


def begin(cluster, tmp_path, **resources):
    end = tmp_path / "end"
    experiment = cluster.create(files=FILES, entrypoint="python3 train.py", hyperparameters={"end": str(end)}, **resources)
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    return experiment, trial, end


def test_an_agent_samples_what_the_trial_asks_for_also_after_it_was_killed(new_cluster, tmp_path):
    cluster = new_cluster()
    cluster.start_master()
    cluster.start_agent(slots=1)
    cluster.login()
    experiment, trial, end = begin(cluster, tmp_path)
    wait_for("reports", lambda: len(reports(cluster, trial, "network")) >= 3)
    wait_for("one of the task at work", lambda: busy(cluster, trial))
    [cpu, memory, disk, network] = [reports(cluster, trial, group)[-1]["agent0"] for group in ("cpu", "memory", "disk", "network")]
    assert 0 < cpu["cpu_util_simple"] <= 100 and 0 <= cpu["task_cpu_util"] <= 101
    assert memory["memory_free"] > 2**20 and memory["task_memory"] > 2**20
    assert disk["disk_throughput_write"] >= 0 and 0 < disk["/"]["disk_util"] <= 100
    assert set(network) == {"net_throughput_sent", "net_throughput_recv"}
    cluster.stop_agent(signo=signal.SIGKILL)
    cluster.start_agent(slots=1)
    count = len(reports(cluster, trial, "cpu"))
    wait_for("more reports", lambda: len(reports(cluster, trial, "cpu")) >= count + 3)
    wait_for("one of the task at work", lambda: busy(cluster, trial, after=count))
    end.touch()
    assert cluster.wait_experiment(experiment)["state"] == "STATE_COMPLETED"


def test_gpus_of_the_trial_are_sampled_and_no_others(new_cluster, tmp_path):
    cluster = new_cluster(env=NvidiaStub(tmp_path).environment)
    cluster.start_master()
    cluster.start_agent(slots=0, slot_type="auto")
    cluster.login()
    experiment, trial, end = begin(cluster, tmp_path, resources={"slots_per_trial": 1})
    [gpus] = wait_for("a report of GPUs", lambda: reports(cluster, trial, "gpu"))[-1].values()
    [(uuid, gpu)] = gpus.items()
    assert uuid.startswith("GPU-0000000") and set(gpu) == {"gpu_util", "gpu_free_memory"}
    assert 0 <= gpu["gpu_util"] <= 100 and gpu["gpu_free_memory"] > 0
    end.touch()
    cluster.wait_experiment(experiment)
