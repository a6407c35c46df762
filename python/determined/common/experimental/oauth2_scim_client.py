"""Another place of names that :mod:`determined.experimental.client` has: OAuth clients."""

from determined.experimental._determined import Oauth2ScimClient

__all__ = ["Oauth2ScimClient"]
