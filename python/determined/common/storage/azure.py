"""Storage in Azure Blob Storage."""

from typing import Optional

from determined._storage._azure import AzureStorage
from determined.common.storage import cloud


class AzureStorageManager(cloud.CloudStorageManager):
    """Blobs under ``container/ID/``.

    Parameters
    ----------
    container : str
    connection_string : str, optional
        Or ``account_url``, with ``credential`` where it asks for one.
    account_url, credential : str, optional
    temp_dir : str, optional
        Where files lie on their way; the system's directory for temporary files otherwise.

    Raises
    ------
    ImportError
        If the package azure-storage-blob is missing.
    """

    def __init__(
        self,
        container: str,
        connection_string: Optional[str] = None,
        account_url: Optional[str] = None,
        credential: Optional[str] = None,
        temp_dir: Optional[str] = None,
    ) -> None:
        super().__init__(cloud.passage(temp_dir))
        self._storage = AzureStorage(container, connection_string, account_url, credential, temp_dir)
