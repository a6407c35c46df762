"""Numbers and names that the platform and its clients have agreed upon."""

from determined._storage import SHARED_FS_CONTAINER_PATH
from determined.experimental import _context, _login

# Bytes: of a message over a WebSocket, of a request, of files in base64, of files as they are, of one report.
MAX_WEBSOCKET_MSG_SIZE = 128 << 20
MAX_HTTP_REQUEST_SIZE = 128 << 20
MAX_ENCODED_SIZE = 96 << 20
MAX_CONTEXT_SIZE = _context.SIZE_MAX
MAX_METRICS_SIZE = 100 << 20

DEFAULT_DETERMINED_USER = _login.DEFAULT_USER
# The released platform's; here no account is without a password.
DEFAULT_DETERMINED_PASSWORD = ""
# Where a downloaded checkpoint goes unless it is told.
DEFAULT_CHECKPOINT_PATH = "checkpoints"
# What of a model directory stays here unless it is told.
DEFAULT_DETIGNORE = list(_context.ALWAYS_IGNORED)

__all__ = [
    "DEFAULT_CHECKPOINT_PATH",
    "DEFAULT_DETERMINED_PASSWORD",
    "DEFAULT_DETERMINED_USER",
    "DEFAULT_DETIGNORE",
    "MAX_CONTEXT_SIZE",
    "MAX_ENCODED_SIZE",
    "MAX_HTTP_REQUEST_SIZE",
    "MAX_METRICS_SIZE",
    "MAX_WEBSOCKET_MSG_SIZE",
    "SHARED_FS_CONTAINER_PATH",
]
