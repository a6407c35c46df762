"""Ports and paths of a trial, for launchers of your own."""

from determined.core._distributed import PUB_PORT as INTER_TRAIN_PROCESS_COMM_PORT_1
from determined.core._distributed import PULL_PORT as INTER_TRAIN_PROCESS_COMM_PORT_2
from determined.launch import _ssh, horovod

# Of sshd in the trial's containers. The platform gives each trial of a machine ports of its own.
DTRAIN_SSH_PORT = int(_ssh.port())
HOROVOD_STARTUP_TIMEOUT_SECONDS = int(horovod.START_TIMEOUT_S)
HOROVOD_GLOO_TIMEOUT_SECONDS = int(horovod.GLOO_TIMEOUT_S)
HOROVOD_AUTOTUNE_LOG_FILEPATH = horovod.AUTOTUNE_LOG

# What a process of several writes there appears in the trial's log.
CONTAINER_STDOUT = "/run/determined/train/logs/stdout.log"
CONTAINER_STDERR = "/run/determined/train/logs/stderr.log"
# The model definition as it was submitted.
MANAGED_TRAINING_MODEL_COPY = "/run/determined/train/model"

__all__ = [
    "CONTAINER_STDERR",
    "CONTAINER_STDOUT",
    "DTRAIN_SSH_PORT",
    "HOROVOD_AUTOTUNE_LOG_FILEPATH",
    "HOROVOD_GLOO_TIMEOUT_SECONDS",
    "HOROVOD_STARTUP_TIMEOUT_SECONDS",
    "INTER_TRAIN_PROCESS_COMM_PORT_1",
    "INTER_TRAIN_PROCESS_COMM_PORT_2",
    "MANAGED_TRAINING_MODEL_COPY",
]
