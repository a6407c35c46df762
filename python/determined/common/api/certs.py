"""Certificates by which a master is trusted."""

import os
import pathlib
from typing import Optional

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
        self.name = name


def default_load(
    master_url: str,
    explicit_path: Optional[str] = None,
    explicit_cert_name: Optional[str] = None,
    explicit_noverify: bool = False,
) -> Cert:
    """What ``det`` would check the master's certificate with.

    That is the file that is named here or by ``DET_MASTER_CERT_FILE``, or else what somebody has trusted with ``det``.

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
