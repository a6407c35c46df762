"""Checkpoint storage: directories, and the object stores S3, GCS and Azure.

A checkpoint is what lies under its id: a directory, or all keys that begin with ``[prefix/]ID/``. Its *resources* are
its contents as the master wants them: path relative to the checkpoint, with ``/`` in between and at the end of
directories, to size in bytes (0 for directories). These layouts are the published library's, too.

``_base`` says what every storage can do, ``_directory`` and ``_objects`` how; ``_s3``, ``_gcs`` and ``_azure`` hold
what their official clients are asked for. Those clients are imported when a storage of their kind is used.
"""

from determined._storage._base import ALL_FILES, Selector, Storage
from determined._storage._config import (
    SHARED_FS_CONTAINER_PATH,
    from_config,
    from_shortcut,
    path_below,
    shared_fs_path,
    shortcut_to_config,
)
from determined._storage._directory import DirectoryStorage, default_base_path
from determined._storage._resources import METADATA_FILE, changed_files, list_resources, matches

__all__ = [
    "ALL_FILES",
    "METADATA_FILE",
    "SHARED_FS_CONTAINER_PATH",
    "DirectoryStorage",
    "Selector",
    "Storage",
    "changed_files",
    "default_base_path",
    "from_config",
    "from_shortcut",
    "list_resources",
    "matches",
    "path_below",
    "shared_fs_path",
    "shortcut_to_config",
]
