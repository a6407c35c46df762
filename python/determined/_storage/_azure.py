"""Azure Blob Storage."""

import contextlib
import logging
import pathlib
from typing import Any, BinaryIO, Iterable, Iterator, List, Optional

from determined._storage._objects import Found, ObjectStorage, each, missing_package


class AzureStorage(ObjectStorage):
    """Checkpoints in ``container`` under ``[path/]ID/``.

    Parameters
    ----------
    container : str
        Its name, perhaps with a path within it: ``name/some/where``. Made if missing.
    connection_string : str, optional
        Holds everything that is needed to reach the account.
    account_url, credential : str, optional
        Instead of it: the account's address and, unless that is signed, a key or signature.
    temp_dir : str, optional
        As for :class:`ObjectStorage`.
    """

    def __init__(
        self,
        container: str,
        connection_string: Optional[str] = None,
        account_url: Optional[str] = None,
        credential: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        name, _, path = container.strip("/").partition("/")
        super().__init__(f"azure container {name}", path, temp_dir)
        try:
            import azure.core.exceptions
            from azure.storage import blob
        except ImportError as e:
            missing_package("azure", "azure-storage-blob", e)
        # The library of Azure would log each request.
        logging.getLogger("azure").setLevel(logging.WARNING)
        self._errors = azure.core.exceptions
        if connection_string:
            account: Any = blob.BlobServiceClient.from_connection_string(connection_string)
        elif account_url:
            account = blob.BlobServiceClient(account_url, credential=credential)
        else:
            raise ValueError("checkpoint_storage of type azure: connection_string or account_url is missing")
        self._container = account.get_container_client(name)
        self._is_there = False

    def _make_container(self) -> None:
        if self._is_there:
            return
        try:
            self._container.create_container()
        except self._errors.HttpResponseError:
            pass  # the container exists, or we may write but not make containers: the write itself tells
        self._is_there = True

    def _put(self, key: str, path: pathlib.Path) -> None:
        self._make_container()
        with open(path, "rb") as file:
            self._container.upload_blob(key, file, overwrite=True, max_concurrency=4)

    def _put_directory(self, key: str) -> None:
        self._make_container()
        self._container.upload_blob(key, b"", overwrite=True)

    def _get(self, key: str, path: pathlib.Path) -> None:
        with open(path, "wb") as file:
            self._container.download_blob(key, max_concurrency=4).readinto(file)

    def _chunks(self, key: str) -> Iterator[bytes]:
        yield from self._container.download_blob(key).chunks()

    def _get_rest(self, key: str, start: int, file: BinaryIO) -> None:
        self._container.download_blob(key, offset=start).readinto(file)

    def _list(self, prefix: str) -> Iterable[Found]:
        try:
            for blob in self._container.list_blobs(name_starts_with=prefix):
                yield Found(blob.name, blob.size, blob.etag)
        except self._errors.ResourceNotFoundError:
            return  # there is no container yet

    def _remove(self, keys: List[str]) -> None:
        def remove(key: str) -> None:
            with contextlib.suppress(self._errors.ResourceNotFoundError):
                self._container.delete_blob(key)

        each(remove, keys)

    def _is_refusal(self, error: Exception) -> bool:
        refused = isinstance(error, self._errors.HttpResponseError) and error.status_code in (401, 403)
        return refused or isinstance(error, self._errors.ClientAuthenticationError)
