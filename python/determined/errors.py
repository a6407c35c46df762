"""Everything the library raises on purpose.

::

    Exception
    ├─ InvalidHP                         raised by user code: this combination of hyperparameters makes no sense
    ├─ CheckpointNotFound                the storage holds no checkpoint of that id
    ├─ NoDirectStorageAccess             the checkpoint storage does not let us in
    ├─ StorageUnusable (an OSError)      the directory for checkpoints cannot be written or read
    ├─ InvalidCheckpointException        the checkpoint is there, but cannot be used for this
    ├─ MasterUnreachable                 no answer from the master, after all retries
    └─ ApiError                          the master answered, with an error (``status``, ``url``)
       ├─ BadRequest        400
       ├─ Unauthenticated   401
       ├─ Forbidden         403
       ├─ NotFound          404
       └─ Conflict          409

    BaseException
    └─ InvalidExperimentException        the trial or its configuration is wrong; nothing may swallow it
       ├─ InvalidConfigurationException  … the experiment configuration
       ├─ InvalidDataTypeException       … the data handed to the framework
       └─ InvalidModelException          … the model
"""

from typing import Any, Dict, Type


class InvalidHP(Exception):
    """Raise this in a trial whose hyperparameters cannot work: the trial ends, the search goes on without it.

    Parameters
    ----------
    msg : str
        Why they cannot work; it appears in the task's log.

    Attributes
    ----------
    msg : str
        The same.

    Raises
    ------
    TypeError
        If ``msg`` is not a string.
    """

    def __init__(self, msg: str = "...") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"InvalidHP takes a message, not {msg!r} of type {type(msg).__name__}")
        super().__init__(msg)
        self.msg = msg


class CheckpointNotFound(Exception):
    """No checkpoint of that id lies in the checkpoint storage."""


class NoDirectStorageAccess(Exception):
    """The checkpoint storage does not let us in: credentials are missing, or not good enough."""


class StorageUnusable(OSError):
    """The directory for checkpoints cannot be written or read: it is somebody else's, full, read-only, not mounted.

    Its text is a sentence that tells the cause and the way out. A program that ends with it shows that sentence only.
    """

    def __str__(self) -> str:
        return self.strerror or ""


class InvalidCheckpointException(Exception):
    """The checkpoint exists, but it is not of the kind asked for."""

    def __init__(self, message: str = "the checkpoint does not hold what was expected of it") -> None:
        super().__init__(message)


class MasterUnreachable(Exception):
    """The master gave no answer within all retries.

    Attributes
    ----------
    message : str
        The whole sentence.
    url : str
        What was asked.
    attempts : int
        How often.
    """

    def __init__(self, method: str, url: str, attempts: int, cause: object) -> None:
        super().__init__(f"{method} {url}: no answer from the master after {attempts} attempts: {cause}")
        self.message = str(self)
        self.url = url
        self.attempts = attempts


class ApiError(Exception):
    """The master answered with an error.

    Attributes
    ----------
    status, status_code : int
        HTTP status of the answer; the latter is the released library's name.
    url : str
        What was asked.
    message, response_error : str
        The master's own words.
    maybe_done : bool
        An earlier attempt of the same request broke off after it was sent, so the master may have carried it out and
        this error may stem from the repetition.
    """

    def __init__(self, method: str, url: str, status: int, message: str, *, maybe_done: bool = False) -> None:
        super().__init__(f"{method} {url}: {status}: {message}")
        self.status = self.status_code = status
        self.url = url
        self.message = self.response_error = message
        self.maybe_done = maybe_done


class BadRequest(ApiError):
    """400: the master found a mistake in the request."""


class Unauthenticated(ApiError):
    """401: the task's session token is unknown or has ended."""


class Forbidden(ApiError):
    """403: the task's owner may not do this."""


class NotFound(ApiError):
    """404: the master knows no such thing."""


class Conflict(ApiError):
    """409: it contradicts what the master already knows."""


API_ERRORS: Dict[int, Type[ApiError]] = {
    400: BadRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
}


class InvalidExperimentException(BaseException):
    """The trial or its configuration is wrong."""


class InvalidConfigurationException(InvalidExperimentException):
    """The experiment configuration ``config`` does not fit the trial; ``message`` says why."""

    def __init__(self, config: Dict[str, Any], message: str) -> None:
        super().__init__(f"{message}\nconfiguration: {config}")


class InvalidDataTypeException(InvalidExperimentException):
    """Data of a type ``typ`` that the trial cannot take; ``message`` says what to do."""

    def __init__(self, typ: Type[Any], message: str) -> None:
        super().__init__(f"unsupported data type {typ.__name__}: {message}")


class InvalidModelException(InvalidExperimentException):
    """The model does not fit the trial."""
