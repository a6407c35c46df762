"""GPUs from a stub of NVIDIA's library, from the agent through the master to the command line and into a task."""
from support.cluster import wait_for
from support.det import det
from support.gpu_stubs import NvidiaStub


def test_gpus__are_listed_and_the_tasks_on_them_get_the_variables_of_their_kind(new_cluster, tmp_path):
    cluster = new_cluster(env=NvidiaStub(tmp_path).environment)
    cluster.start_master()
    cluster.start_agent(slots=0, slot_type="auto")
    cluster.login()
    lists = [det(cluster, noun, "list") for noun in ("slot", "agent")]
    assert lists[0].count("Stub S100") == 2 and lists[0].count("cuda") == 2, lists
    assert "agent0" in lists[1], lists
    experiment = cluster.create(
        resources={"slots_per_trial": 2}, entrypoint="echo $KIND $CUDA_VISIBLE_DEVICES",
        environment={"environment_variables": {"cpu": ["KIND=cpu"], "cuda": ["KIND=cuda"]}})
    [trial] = wait_for("its trial", lambda: cluster.trial_ids(experiment))
    cluster.wait_experiment(experiment)
    assert "cuda GPU-00000000-aaaa,GPU-00000001-aaaa" in cluster.trial_log(trial)


def test_a_lost_gpu__takes_no_work_until_an_admin_enables_it_again(new_cluster, tmp_path):
    stub = NvidiaStub(tmp_path)
    cluster = new_cluster(env=stub.environment)
    cluster.start_master()
    cluster.start_agent(slots=0, slot_type="auto")
    cluster.login()

    def enabled():
        [agent] = cluster.get("/api/v1/agents").json["agents"]
        return [agent["slots"][slot]["enabled"] for slot in sorted(agent["slots"])]

    assert enabled() == [True, True]
    stub.tell("count=2 lost=1")
    wait_for("the slot of the lost GPU", lambda: enabled() == [True, False])
    experiment = cluster.create(resources={"slots_per_trial": 1}, entrypoint="echo on $CUDA_VISIBLE_DEVICES")
    cluster.wait_experiment(experiment)
    assert "on GPU-00000000-aaaa" in cluster.trial_log(cluster.trial_ids(experiment)[0])
    stub.tell("count=2")
    path = "/api/v1/agents/agent0/slots/1/enable"
    wait_for("the slot of the GPU that is back",
             lambda: cluster.post(path, token=cluster.admin_token()).status == 200 and enabled() == [True, True])
