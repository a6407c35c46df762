"""Errors of command-line programs."""


class FeatureFlagDisabled(Exception):
    """The cluster does not have what a command needs."""


class CliError(Exception):
    """A mistake to tell whoever has typed a command.

    Parameters
    ----------
    message : str
    exit_code : int
        The program's exit status.
    """

    name: str = "Error"

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
