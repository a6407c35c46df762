"""Checkpoints that are stored while training goes on."""

import concurrent.futures
from typing import Callable, List, Optional


class PendingUpload:
    """A checkpoint that is being stored in the background: what ``core_context.checkpoint.upload_async()`` returns.

    Attributes
    ----------
    storage_id : str
        Id of the checkpoint, which exists once :meth:`wait` has returned.
    """

    def __init__(
        self, storage_id: str, transfer: "concurrent.futures.Future[None]", finish: Callable[[], None]
    ) -> None:
        self.storage_id = storage_id
        self._transfer = transfer
        self._finish: Optional[Callable[[], None]] = finish
        self.was_asked = False  # by wait(): then whatever went wrong is known

    def done(self) -> bool:
        """Whether the files of this process are stored, or could not be; does not wait."""
        return self._transfer.done()

    def wait(self) -> str:
        """Wait until the checkpoint is stored and the master knows of it; with ``shard``, in all processes.

        Returns
        -------
        str
            Its id.

        Raises
        ------
        Exception
            What went wrong; the checkpoint does not exist then.
        """
        self.was_asked = True
        finish, self._finish = self._finish, None
        if finish is not None:
            finish()
        self._transfer.result()
        return self.storage_id


class Background:
    """One thread, which carries out uploads in the order in which they were asked for."""

    def __init__(self) -> None:
        self._thread: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._kept: List[PendingUpload] = []

    def start(self, work: Callable[[], None]) -> "concurrent.futures.Future[None]":
        if self._thread is None:
            self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="checkpoint-upload")
        return self._thread.submit(work)

    def keep(self, pending: PendingUpload) -> PendingUpload:
        """A failure of the upload that nobody has asked for is raised at the end."""
        self._kept = [one for one in self._kept if not (one.done() and one.was_asked)] + [pending]
        return pending

    def close(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=True)
        kept, self._kept = self._kept, []
        for pending in kept:
            if not pending.was_asked:
                pending.wait()
