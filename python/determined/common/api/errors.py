"""Errors of the SDK by their published names; ``determined.errors`` has ours, which are the same classes."""

from determined.errors import ApiError as APIException
from determined.errors import ApiError as BadRequestException  # there it is what all others derive from
from determined.errors import Forbidden as ForbiddenException
from determined.errors import MasterUnreachable as MasterNotFoundException
from determined.errors import NotFound as NotFoundException
from determined.errors import Unauthenticated as UnauthenticatedException

__all__ = [
    "APIException",
    "BadRequestException",
    "ForbiddenException",
    "MasterNotFoundException",
    "NotFoundException",
    "UnauthenticatedException",
]
