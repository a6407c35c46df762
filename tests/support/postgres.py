#!/usr/bin/env python3
"""A PostgreSQL server for one test run, in a temporary directory. It is reached through a socket there, and removed at the end.

    postgres.py COMMAND…      runs the command with DET_TEST_POSTGRES, the place of the server's database
    with Server() as s: …     s.place, s.new_database(); s.stop(), s.start()

Without Debian's package postgresql, postgres.py ends with status 77, which Meson shows as a skipped test.
"""
import atexit
import contextlib
import ctypes
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARIES = pathlib.Path(os.environ.get("DET_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
MEMORY = pathlib.Path("/dev/shm")
MEMORY_NEEDED = 4 << 30
KEPT = pathlib.Path(__file__).resolve().parents[2] / "build" / "empty-postgres"
PR_SET_PDEATHSIG = 1
# The tests are about what the master writes, not about the disk. So nothing is synced to it, and little memory is used.
SETTINGS = {"fsync": "off", "full_page_writes": "off", "listen_addresses": "", "shared_buffers": "16MB",
            "autovacuum": "off", "max_connections": "40", "unix_socket_permissions": "0777"}


def is_installed():
    return (BINARIES / "postgres").exists()


def as_postgres(program, *args):
    """Returns a command of the server, run as another user if this one is root, whom the server refuses."""
    as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    return [*as_user, str(BINARIES / program), *args]


def give_to_postgres(directory):
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "postgres:postgres", directory], check=True)


@functools.cache
def empty_server():
    """Returns the data of an empty server, which is made by initdb once for all test runs. Copying it takes a tenth of the time."""
    version = subprocess.run([BINARIES / "postgres", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    kept = KEPT / "".join(c if c.isalnum() else "-" for c in version.strip())
    if not kept.exists():
        made = pathlib.Path(tempfile.mkdtemp(prefix="det-pg-"))
        give_to_postgres(made)
        try:
            subprocess.run(as_postgres("initdb", "-D", str(made / "data"), "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8",
                                       "-U", "postgres"), check=True, stdout=subprocess.DEVNULL, cwd=made)
            KEPT.mkdir(parents=True, exist_ok=True)
            beside = kept.with_suffix(f".{os.getpid()}")
            shutil.copytree(made / "data", beside)
            try:
                beside.rename(kept)
            except OSError:  # another test was faster
                shutil.rmtree(beside)
        finally:
            shutil.rmtree(made)
    return kept


def new_directory():
    """Returns a directory for a server. It is in memory where there is enough: a database consists of 700 files, and on some machines'
    disks it takes a quarter of a millisecond of a core to make one."""
    in_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED
    return pathlib.Path(tempfile.mkdtemp(prefix="det-pg-", dir=MEMORY if in_memory else None))


class Session:
    """A connection that keeps the transaction that was begun on it."""

    def __init__(self, server, database):
        self.psql = subprocess.Popen([BINARIES / "psql", "-qAtX", "-h", server.dir, "-U", "postgres", "-d", database],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, sql):
        """Runs statements, and returns when they have been carried out."""
        self.psql.stdin.write(f"{sql}\n\\echo done\n")
        self.psql.stdin.flush()
        while self.psql.stdout.readline() != "done\n":
            assert self.psql.poll() is None, "psql has ended"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.psql.stdin.close()
        self.psql.wait()
        self.psql.stdout.close()


class SmallDisk:
    """A tablespace on a file system of its own, which can become full while the server's own disk does not."""

    def __init__(self, server, size):
        self.dir, self.name = server.dir / "small", "small"
        self.dir.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", self.dir], check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise NotPossible(done.stderr.strip())
        (self.dir / "space").mkdir()
        give_to_postgres(self.dir / "space")
        server.sql(f"CREATE TABLESPACE {self.name} LOCATION '{self.dir / 'space'}'")

    @contextlib.contextmanager
    def filled(self):
        with contextlib.suppress(OSError), open(self.dir / "filler", "wb", buffering=0) as f:
            while True:
                f.write(b"x" * 4096)
        try:
            yield
        finally:
            (self.dir / "filler").unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.dir], check=True)


class NotPossible(Exception):
    """This machine does not allow what a test needs."""


class Server:
    def __init__(self, **settings):
        self.dir = new_directory()
        self.settings = {**SETTINGS, **settings}
        self.process = None
        self.port = 5432  # a part of the socket's name; a port of the network only with listen_addresses
        self.databases = 0
        self.place = f"postgresql://postgres@/postgres?host={self.dir}"
    def start(self):
        args = [f"-c{name}={value}" for name, value in self.settings.items()]
        log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen(as_postgres("postgres", "-D", str(self.dir / "data"), "-k", str(self.dir), "-p", str(self.port), *args),
                                        stdout=log, stderr=log, cwd=self.dir, preexec_fn=self._die_with_parent)
        for _ in range(600):
            if subprocess.run([BINARIES / "pg_isready", "-q", *self.here()], check=False).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)  # this file also runs as a program of its own, without support.waiting
        raise RuntimeError(f"PostgreSQL does not start:\n{(self.dir / 'log').read_text()}")

    @staticmethod
    def _die_with_parent():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    def here(self):
        return ["-h", str(self.dir), "-p", str(self.port)]

    def new_database(self, *options):
        """Makes a database that nobody else uses, and returns the master's configuration for it. The options are those of createdb."""
        self.databases += 1
        name = f"det{self.databases}"
        subprocess.run([BINARIES / "createdb", *self.here(), "-U", "postgres", *options, name], check=True)
        return {"type": "postgres", "host": str(self.dir), "user": "postgres", "name": name}

    def sql(self, text, database="postgres"):
        done = subprocess.run([BINARIES / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", *self.here(), "-U", "postgres", "-d", database,
                               "-c", text], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def cut_connections(self, database):
        self.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")

    def _signal_all(self, signo):
        """Sends a signal to the server and to the processes that serve its connections."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in [self.process.pid, *map(int, children)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signo)

    @contextlib.contextmanager
    def frozen(self):
        """Makes the server take connections and statements without answering, like a network that drops all packets."""
        self._signal_all(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal_all(signal.SIGCONT)

    def stop(self, signo=signal.SIGQUIT):
        """Stops the server at once, as a crash would; with SIGINT it ends in good order."""
        if self.process:
            self.process.send_signal(signo)
            self.process.wait()
        self.process = None

    def __enter__(self):
        try:
            shutil.copytree(empty_server(), self.dir / "data")
            give_to_postgres(self.dir)
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)


@functools.cache
def shared():
    """Returns the server of this test run. It ends together with the run."""
    server = Server().__enter__()
    atexit.register(server.__exit__)
    return server


def main():
    if not is_installed():
        print(f"skipped: no PostgreSQL in {BINARIES}")
        return 77
    with Server() as server:
        return subprocess.run(sys.argv[1:], env={**os.environ, "DET_TEST_POSTGRES": server.place}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
