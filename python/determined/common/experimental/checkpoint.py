"""Another place of names that :mod:`determined.experimental.client` has: checkpoints."""

from determined.experimental._checkpoint import (
    Checkpoint,
    CheckpointOrderBy,
    CheckpointSortBy,
    CheckpointState,
    DownloadMode,
)

__all__ = ["Checkpoint", "CheckpointOrderBy", "CheckpointSortBy", "CheckpointState", "DownloadMode"]
