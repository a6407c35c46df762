"""Certificates by which a master is trusted."""

import os
import pathlib
import tempfile
from typing import Any, Optional, Union

from determined.experimental import _login


class Cert:
    """How a master's certificate is checked.

    Parameters
    ----------
    cert_pem : str, optional
        Certificates in PEM to check it with, instead of the system's.
    noverify : bool
        Check nothing.
    name : str, optional
        The name that it bears, where that is not the host's.
    """

    def __init__(self, cert_pem: Optional[str] = None, noverify: bool = False, name: Optional[str] = None) -> None:
        self.cert_pem = cert_pem
        self.noverify = noverify
        self._name = name
        self._file: Any = None

    @property
    def name(self) -> Optional[str]:
        """The name that the certificate bears, where that is not the host's."""
        return self._name

    @property
    def bundle(self) -> Union[str, bool, None]:
        """What the package ``requests`` takes as ``verify``.

        A file with the certificates, False if nothing is to be checked, None for the system's.
        """
        if self.noverify or self.cert_pem is None:
            return False if self.noverify else None
        if self._file is None:
            self._file = tempfile.NamedTemporaryFile("w", prefix="determined-", suffix=".pem")
            self._file.write(self.cert_pem)
            self._file.flush()
        return str(self._file.name)


def default_load(
    master_url: str,
    explicit_path: Optional[str] = None,
    explicit_cert_name: Optional[str] = None,
    explicit_noverify: bool = False,
) -> Cert:
    """What ``det`` would check the master's certificate with.

    That is the file that is named here or by ``DET_MASTER_CERT_FILE``, or else what somebody has trusted with ``det``.

    Parameters
    ----------
    master_url : str
    explicit_path, explicit_cert_name : str, optional
        The file, and the name that the certificate bears.
    explicit_noverify : bool
        Check nothing.

    Raises
    ------
    OSError
        The named file cannot be read.
    """
    name = explicit_cert_name or os.environ.get("DET_MASTER_CERT_NAME") or None
    path = explicit_path or os.environ.get("DET_MASTER_CERT_FILE") or None
    if explicit_noverify or (path and path.lower() == "noverify"):
        return Cert(noverify=True, name=name)
    if path:
        return Cert(pathlib.Path(path).read_text(), name=name)
    return Cert(_login.stored_certificate(_login.canonical_address(master_url)), name=name)
