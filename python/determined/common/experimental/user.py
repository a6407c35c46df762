"""Another place of names that :mod:`determined.experimental.client` has: users."""

from determined.experimental._user import User

__all__ = ["User"]
