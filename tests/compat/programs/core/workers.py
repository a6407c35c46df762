"""Stage 4: a process for each slot, started by this script itself."""
import logging
import subprocess
import sys

import determined as det


def launch(slots):
    workers = [
        subprocess.Popen(["python3", "-m", "determined.launch.wrap_rank", str(rank), "--", "python3", __file__, str(rank)])
        for rank in range(slots)
    ]
    return max(worker.wait() for worker in workers)


def train(core_context, hparams):
    distributed = core_context.distributed
    x = 0
    for batch in range(hparams["batches"]):
        x += sum(distributed.allgather(hparams["increment_by"] * (distributed.rank + 1)))
        if core_context.preempt.should_preempt():
            return
    gathered = distributed.gather([distributed.rank, distributed.local_rank])
    told = distributed.broadcast("from the chief" if distributed.rank == 0 else None)
    with core_context.checkpoint.store_path({"steps_completed": batch + 1}, shard=True) as (path, uuid):
        path.mkdir(parents=True, exist_ok=True)
        (path / f"rank{distributed.rank}").write_text(told)
    if distributed.rank == 0:
        core_context.train.report_validation_metrics(steps_completed=batch + 1, metrics={"x": x})
        print(f"outcome {x} {gathered}", flush=True)


def work(info, rank):
    slots = len(info.slot_ids)
    distributed = det.core.DistributedContext(
        rank=rank, size=slots, local_rank=rank, local_size=slots, cross_rank=0, cross_size=1, chief_ip=info.container_addrs[0]
    )
    with det.core.init(distributed=distributed) as core_context:
        train(core_context, info.trial.hparams)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    if len(sys.argv) == 1:
        sys.exit(launch(len(info.slot_ids)))
    work(info, int(sys.argv[1]))
