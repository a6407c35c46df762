"""Google Cloud Storage."""

import contextlib
import pathlib
from typing import Any, BinaryIO, Iterable, Iterator, List, Optional

from determined._storage._objects import CHUNK, Found, ObjectStorage, each, missing_package


class GCSStorage(ObjectStorage):
    """Checkpoints under ``gs://bucket/[prefix/]ID/``, with the application default credentials.

    Parameters
    ----------
    bucket : str
    prefix, temp_dir : str, optional
        As for :class:`ObjectStorage`.
    """

    def __init__(self, bucket: str, prefix: Optional[str] = None, temp_dir: Optional[str] = None) -> None:
        super().__init__(f"gs://{bucket}", prefix, temp_dir)
        try:
            import google.api_core.exceptions
            import google.auth.exceptions
            import google.cloud.storage
            from google.cloud.storage.retry import DEFAULT_RETRY
        except ImportError as e:
            missing_package("gcs", "google-cloud-storage", e)
        self._errors = google.api_core.exceptions
        self._auth_error = google.auth.exceptions.GoogleAuthError
        # What is written has one content for ever, so that writing it twice does no harm.
        self._retry = DEFAULT_RETRY
        with self._access():
            self._client: Any = google.cloud.storage.Client()
        self._bucket = self._client.bucket(bucket)

    def _put(self, key: str, path: pathlib.Path) -> None:
        self._bucket.blob(key).upload_from_filename(str(path), retry=self._retry)

    def _put_directory(self, key: str) -> None:
        self._bucket.blob(key).upload_from_string(b"", retry=self._retry)

    def _get(self, key: str, path: pathlib.Path) -> None:
        self._bucket.blob(key).download_to_filename(str(path))

    def _chunks(self, key: str) -> Iterator[bytes]:
        with self._bucket.blob(key).open("rb", chunk_size=CHUNK) as file:
            while data := file.read(CHUNK):
                yield data

    def _get_rest(self, key: str, start: int, file: BinaryIO) -> None:
        # The store's checksum is that of the whole object.
        self._bucket.blob(key).download_to_file(file, start=start, checksum=None)

    def _list(self, prefix: str) -> Iterable[Found]:
        for blob in self._client.list_blobs(self._bucket, prefix=prefix):
            yield Found(blob.name, blob.size, str(blob.generation))

    def _remove(self, keys: List[str]) -> None:
        def remove(key: str) -> None:
            with contextlib.suppress(self._errors.NotFound):
                self._bucket.blob(key).delete(retry=self._retry)

        each(remove, keys)

    def _is_refusal(self, error: Exception) -> bool:
        return isinstance(error, (self._auth_error, self._errors.Forbidden, self._errors.Unauthorized))
