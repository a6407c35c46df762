"""Keeping secrets out of logs."""

import re
from typing import Any

MASK = "********"

_SECRET_KEYS = {
    "access_key",
    "secret_key",
    "connection_string",
    "credential",
    "password",
    "auth",
    "identitytoken",
    "registrytoken",
    "api_key",
    "token",
}
_SECRET_VARIABLE = re.compile(
    r"^[A-Za-z0-9_]*(?:SECRET|TOKEN|PASSW|CREDENTIAL|_KEY|APIKEY)[A-Za-z0-9_]*=", re.IGNORECASE
)


def masked(value: Any) -> Any:
    """Copy an experiment configuration with everything secret replaced by asterisks.

    These are the values of keys that name a secret, wherever they occur, and of environment variables whose names say
    so.

    >>> masked({"secret_key": "s3cr3t", "environment_variables": {"cpu": ["HF_TOKEN=abc", "LANG=C"]}})
    {'secret_key': '********', 'environment_variables': {'cpu': ['HF_TOKEN=********', 'LANG=C']}}
    """
    if isinstance(value, dict):
        return {
            key: MASK if item is not None and str(key).lower() in _SECRET_KEYS else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str) and _SECRET_VARIABLE.match(value):
        return value.partition("=")[0] + "=" + MASK
    return value
