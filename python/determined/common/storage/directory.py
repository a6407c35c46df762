"""Storage in a directory of the task's own view, which somebody has mounted there."""

from typing import Any, Dict, Optional

from determined.common.storage import shared


class DirectoryStorageManager(shared.SharedFSStorageManager):
    """Directories below one that the configuration names as the task sees it.

    Parameters
    ----------
    base_path : str
        That directory.
    """

    @classmethod
    def from_config(cls, config: Dict[str, Any], container_path: Optional[str] = None) -> "DirectoryStorageManager":
        """The manager of a storage of type ``directory``.

        Parameters
        ----------
        config : dict
            Its ``container_path``.
        container_path : str, optional
            Not looked at: the configuration's own is the place.
        """
        if set(config) != {"container_path"}:
            raise TypeError(f"container_path is the one key of it, not {sorted(config)}")
        return cls(config["container_path"])
