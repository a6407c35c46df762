"""Storage in Amazon S3, and in what speaks its protocol."""

from typing import Optional

from determined._storage._s3 import S3Storage
from determined.common.storage import cloud


class S3StorageManager(cloud.CloudStorageManager):
    """Objects under ``s3://bucket/[prefix/]ID/``.

    Parameters
    ----------
    bucket : str
    access_key, secret_key : str, optional
        Otherwise those that boto3 finds: variables, files of ``~/.aws``, the machine's role.
    endpoint_url : str, optional
        Of a store that is not Amazon's.
    prefix : str, optional
        Directory within the bucket.
    temp_dir : str, optional
        Where files lie on their way; the system's directory for temporary files otherwise.

    Raises
    ------
    ImportError
        If the package boto3 is missing.
    """

    def __init__(
        self,
        bucket: str,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        endpoint_url: Optional[str] = None,
        prefix: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        super().__init__(cloud.passage(temp_dir))
        self._storage = S3Storage(bucket, access_key, secret_key, endpoint_url, prefix, temp_dir)
