"""Stage 0: a program that knows nothing of the platform but who it is."""
import logging

import determined as det

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    assert info is not None
    x = 0
    for batch in range(info.trial.hparams["batches"]):
        x += info.trial.hparams["increment_by"]
    print(f"outcome {x}", flush=True)
