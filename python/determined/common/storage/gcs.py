"""Storage in Google Cloud Storage."""

from typing import Dict, List, Optional

from determined._storage._gcs import GCSStorage
from determined.common.storage import cloud


class GCSStorageManager(cloud.CloudStorageManager):
    """Objects under ``gs://bucket/[prefix/]ID/``.

    Parameters
    ----------
    bucket : str
    prefix : str, optional
        Directory within the bucket.
    temp_dir : str, optional
        Where files lie on their way; the system's directory for temporary files otherwise.

    Raises
    ------
    ImportError
        If the package google-cloud-storage is missing.
    """

    def __init__(self, bucket: str, prefix: Optional[str] = None, temp_dir: Optional[str] = None) -> None:
        super().__init__(cloud.passage(temp_dir))
        self._storage = GCSStorage(bucket, prefix, temp_dir)

    def delete(self, storage_id: str, globs: List[str]) -> Dict[str, int]:
        """Remove what the patterns ``globs`` mean of the id ``storage_id``; returns what is left, with sizes."""
        return super().delete(storage_id, globs)
