"""Errors of the SDK by their published names; ``determined.errors`` has ours, which are the same classes."""

from typing import Any

from determined.errors import ApiError as APIException
from determined.errors import ApiError as BadRequestException  # there it is what all others derive from
from determined.errors import Forbidden as ForbiddenException
from determined.errors import MasterUnreachable as MasterNotFoundException
from determined.errors import NotFound as NotFoundException
from determined.errors import Unauthenticated as UnauthenticatedException

# The released library refuses a login by a class of its own.
InvalidCredentialsException = UnauthenticatedException
# … and a deletion, too.
DeleteFailedException = APIException


class BadResponseException(Exception):
    """The master's answer is not what was expected.

    Parameters
    ----------
    message : str
    *args
        Kept with it.
    """

    def __init__(self, message: str, *args: Any) -> None:
        super().__init__(message, *args)
        self.message = message


class EmptyResultException(BadResponseException):
    """The master's answer holds nothing where something was expected; ``message`` says what."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


class CorruptTokenCacheException(RuntimeError):
    """The file of kept logins is damaged."""

    def __init__(self) -> None:
        super().__init__("the file of kept logins is damaged: log in again")


class CorruptCertificateCacheException(RuntimeError):
    """The file of trusted certificates is damaged."""

    def __init__(self) -> None:
        super().__init__("the file of trusted certificates is damaged")


__all__ = [
    "APIException",
    "BadRequestException",
    "BadResponseException",
    "CorruptCertificateCacheException",
    "CorruptTokenCacheException",
    "DeleteFailedException",
    "EmptyResultException",
    "ForbiddenException",
    "InvalidCredentialsException",
    "MasterNotFoundException",
    "NotFoundException",
    "UnauthenticatedException",
]
