"""The Core API in several processes; threads stand for them. And a master that is away for long."""

import concurrent.futures
import time

import pytest
from support.ports import free_port
from support.waiting import wait_for

from determined import _http, core
from determined.core import _preempt


@pytest.fixture
def ranks(cluster, tmp_path):
    """Run ``work(rank, core_context)`` in two processes of the trial; returns what both return."""
    cluster.write(slot_ids=[0, 1])

    def run(work, **options):
        port = free_port()

        def one(rank):
            distributed = core.DistributedContext(
                rank=rank, size=2, local_rank=rank, local_size=2, cross_rank=0, cross_size=1, pub_port=port
            )
            with core.init(distributed=distributed, **options) as core_context:
                return work(rank, core_context)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return [f.result(timeout=600) for f in [pool.submit(one, rank) for rank in range(2)]]

    return run


def batches_until_preempted(core_context, ask):
    batches = 0
    while not ask(core_context):
        batches += 1
        time.sleep(0.005)  # a batch takes its time
        assert batches < 10_000
    return batches


def test_workers_that_ask_the_chief__stop_after_the_same_batch(ranks, cluster):
    def work(rank, core_context):
        assert not core_context.preempt.should_preempt()
        if rank == 0:
            cluster.master.ask_to_preempt()
        return batches_until_preempted(core_context, lambda c: c.preempt.should_preempt())

    first, second = ranks(work)
    assert first == second and cluster.master.acknowledged
    # The chief alone listens to the master.
    assert cluster.master.rpcs().count("AckAllocationPreemptionSignal") == 1


def test_the_chief_only__may_ask_where_it_is_said_so(ranks, cluster):
    def work(rank, core_context):
        if rank == 1:
            with pytest.raises(RuntimeError, match="rank 1 in PreemptMode.ChiefOnly"):
                core_context.preempt.should_preempt()
            return core_context.distributed.broadcast(None)
        cluster.master.ask_to_preempt()
        wait_for("the preemption", core_context.preempt.should_preempt)
        return core_context.distributed.broadcast("stop")

    assert ranks(work, preempt_mode=core.PreemptMode.ChiefOnly) == ["stop", "stop"]


def test_workers_that_ask_the_master__each_hear_of_it(ranks, cluster):
    def work(rank, core_context):
        wait_for("two long polls", lambda: cluster.master.polling == 2)
        core_context.distributed.allgather(rank)
        if rank == 1:
            cluster.master.ask_to_preempt()
        return batches_until_preempted(core_context, lambda c: c.preempt.should_preempt()) >= 0

    assert ranks(work, preempt_mode=core.PreemptMode.WorkersAskMaster) == [True, True]
    assert cluster.master.rpcs().count("AckAllocationPreemptionSignal") == 1


def test_operations__are_the_same_for_all_and_reported_by_the_chief(ranks, cluster):
    cluster.config["searcher"] = {"name": "adaptive_asha", "metric": "loss", "max_length": {"batches": 8}}
    cluster.write(slot_ids=[0, 1])
    cluster.master.operations = [2, 8]

    def work(rank, core_context):
        lengths = []
        for op in core_context.searcher.operations():
            lengths.append(op.length)
            if rank == 0:
                op.report_completed(1 / op.length)
            else:
                with pytest.raises(RuntimeError, match="for the chief"):
                    op.report_completed(0)
        return lengths

    assert ranks(work) == [[2, 8], [2, 8]]
    assert cluster.master.searcher_metrics == [0.5, 0.125]


def test_a_master_that_is_away__does_not_stop_training(cluster, monkeypatch):
    """For a minute, as patience counts it: thousands of reports wait in the meantime, and all arrive, in order."""
    quick = _http.Retry(attempts=1000, first_pause_s=0.005, max_pause_s=0.01)
    monkeypatch.setitem(_http.Session.__init__.__kwdefaults__, "retry", quick)
    monkeypatch.setattr(_preempt, "PAUSE_AFTER_FAILURE_S", 0.01)
    with core.init() as core_context:
        core_context.train.report_training_metrics(steps_completed=1, metrics={"loss": 1})
        wait_for("a training report", lambda: cluster.master.reports("training"))
        cluster.master.faults["ReportTrialMetrics"] = ["drop"] * 300
        cluster.master.faults["AllocationPreemptionSignal"] = [503] * 20
        for step in range(2, 3001):
            core_context.train.report_training_metrics(steps_completed=step, metrics={"loss": step})
            assert not core_context.preempt.should_preempt()
        # All of this went on while the master said nothing.
        assert len(cluster.master.reports("training")) == 1
        core_context.train.report_progress(0.5)
        core_context.train.set_status("training")
    assert cluster.master.reports("training") == [(step, {"loss": step}) for step in range(1, 3001)]
