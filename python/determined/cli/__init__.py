"""The command line for programs: ``det`` as a function (:mod:`determined.cli.cli`), and the sessions that it uses.

``python3 -m determined.cli`` starts ``det``.
"""

import argparse
import functools
from typing import TYPE_CHECKING, Any, Callable, Optional

from determined.cli.errors import CliError

if TYPE_CHECKING:
    from determined.common.api import Session, UnauthSession, certs

__all__ = ["CliError", "cert", "session", "setup_session", "unauth_session"]

# How the master's certificate is checked, if a program says so; else as default_load() finds.
cert: "Optional[certs.Cert]" = None


def _address(args: argparse.Namespace) -> str:
    from determined.common.api import get_default_master_url

    return getattr(args, "master", None) or get_default_master_url()


def _certificate(args: argparse.Namespace) -> "certs.Cert":
    from determined.common.api import certs

    return cert if cert is not None else certs.default_load(_address(args))


def unauth_session(args: argparse.Namespace) -> "UnauthSession":
    """A session without a login, with the master that ``args.master`` or ``DET_MASTER`` names."""
    from determined.common.api import UnauthSession

    return UnauthSession(_address(args), _certificate(args))


def setup_session(args: argparse.Namespace) -> "Session":
    """A session of the user that ``args.user`` names, or whoever is logged in with ``det``.

    Raises
    ------
    determined.common.api.errors.UnauthenticatedException
        If nobody is logged in.
    """
    from determined.common.api import authentication

    return authentication.login_with_cache(_address(args), getattr(args, "user", None), cert=_certificate(args))


def session(fn: Callable[[argparse.Namespace, "Session"], Any]) -> Callable[[argparse.Namespace], Any]:
    """A decorator that gives a function ``fn`` a session beside its arguments, which ends with it."""

    @functools.wraps(fn)
    def with_session(args: argparse.Namespace) -> Any:
        with setup_session(args) as given:
            return fn(args, given)

    return with_session
