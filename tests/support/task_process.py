"""A program of the library that runs as a task would run it."""
import contextlib
import os
import subprocess


class TaskProcess:
    """A process whose output is in a file. The fixture of a test closes it (started_tasks)."""

    def __init__(self, argv, cluster, directory, env, **options):
        self.output = directory / "output"
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(argv, env={**os.environ, "DET_RUN_DIR": str(cluster.run_dir), **env}, stdout=output,
                                            stderr=subprocess.STDOUT, **options)

    @property
    def said(self):
        return self.output.read_text()

    def ends(self):
        """Waits for the end, and returns the exit status."""
        return self.process.wait(timeout=60)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.ends()


@contextlib.contextmanager
def started_tasks(kind):
    """Yields kind as a function; what it has made is closed at the end."""
    with contextlib.ExitStack() as started:
        yield lambda *args, **k: started.enter_context(contextlib.closing(kind(*args, **k)))
