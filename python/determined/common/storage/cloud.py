"""Storage in an object store."""

import tempfile
from typing import Optional

from determined._storage import _objects
from determined.common.storage import base


class CloudStorageManager(base.StorageManager):
    """What managers of object stores have in common: files pass through a directory of this machine.

    Parameters
    ----------
    base_path : str
        That directory.
    """

    _storage: _objects.ObjectStorage

    def get_storage_prefix(self, storage_id: str) -> str:
        """What the keys of an id begin with."""
        return self._storage.key_of(storage_id).rstrip("/")


def passage(temp_dir: Optional[str]) -> str:
    """The directory for files on their way; ``temp_dir``, or the system's for temporary files."""
    return temp_dir if temp_dir is not None else tempfile.gettempdir()
