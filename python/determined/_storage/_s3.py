"""Amazon S3, and what speaks its protocol."""

import contextlib
import pathlib
from typing import Any, BinaryIO, Iterable, Iterator, List, Optional

from determined._storage._objects import CHUNK, Found, ObjectStorage, missing_package

_NO_ACCESS = {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "403"}
_KEYS_AT_ONCE = 1000


class S3Storage(ObjectStorage):
    """Checkpoints under ``s3://bucket/[prefix/]ID/``.

    Parameters
    ----------
    bucket : str
    access_key, secret_key : str, optional
        Otherwise those that boto3 finds: variables, files of ``~/.aws``, the machine's role.
    endpoint_url : str, optional
        Of a store that is not Amazon's.
    prefix, temp_dir : str, optional
        As for :class:`ObjectStorage`.
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
        super().__init__(f"s3://{bucket}", prefix, temp_dir)
        try:
            import boto3
            import botocore.config
            import botocore.exceptions
        except ImportError as e:
            missing_package("s3", "boto3", e)
        self._bucket = bucket
        self._errors = botocore.exceptions
        # As many connections as there are transfers, each of which may have ten parts under way.
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=endpoint_url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=botocore.config.Config(max_pool_connections=64, retries={"max_attempts": 8, "mode": "standard"}),
        )
        self._keeps_directories: Optional[bool] = None

    def _put(self, key: str, path: pathlib.Path) -> None:
        self._client.upload_file(str(path), self._bucket, key)

    def _put_directory(self, key: str) -> None:
        # MinIO answers to such an object in a way that boto3 does not understand; its directories are those of files.
        if self._keeps_directories is None:
            answer = self._client.head_bucket(Bucket=self._bucket)
            server = answer["ResponseMetadata"]["HTTPHeaders"].get("server", "")
            self._keeps_directories = server.lower() != "minio"
        if self._keeps_directories:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=b"")

    def _get(self, key: str, path: pathlib.Path) -> None:
        self._client.download_file(self._bucket, key, str(path))

    def _chunks(self, key: str) -> Iterator[bytes]:
        with contextlib.closing(self._client.get_object(Bucket=self._bucket, Key=key)["Body"]) as body:
            yield from body.iter_chunks(CHUNK)

    def _get_rest(self, key: str, start: int, file: BinaryIO) -> None:
        answer = self._client.get_object(Bucket=self._bucket, Key=key, Range=f"bytes={start}-")
        with contextlib.closing(answer["Body"]) as body:
            for chunk in body.iter_chunks(CHUNK):
                file.write(chunk)

    def _list(self, prefix: str) -> Iterable[Found]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix)
        for page in pages:
            for found in page.get("Contents", ()):
                yield Found(found["Key"], found["Size"], found["ETag"])

    def _remove(self, keys: List[str]) -> None:
        for i in range(0, len(keys), _KEYS_AT_ONCE):
            names = [{"Key": key} for key in keys[i : i + _KEYS_AT_ONCE]]
            answer = self._client.delete_objects(Bucket=self._bucket, Delete={"Objects": names, "Quiet": True})
            failed = answer.get("Errors")
            if failed:
                raise OSError(f"s3://{self._bucket}/{failed[0]['Key']}: {failed[0].get('Message', failed[0]['Code'])}")

    def _is_refusal(self, error: Exception) -> bool:
        if isinstance(error, (self._errors.NoCredentialsError, self._errors.PartialCredentialsError)):
            return True
        response = getattr(error, "response", None) or {}
        return response.get("Error", {}).get("Code") in _NO_ACCESS
