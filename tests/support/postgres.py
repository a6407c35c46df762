#!/usr/bin/env python3
"""A PostgreSQL server of a test's own, in a temporary directory: reached through a socket there, gone at the end.

    postgres.py COMMAND…      runs the command with DET_TEST_POSTGRES, the place of the server's database
    with Server() as s: …     s.place, s.new_database(); s.stop(), s.start()

Without Debian's package postgresql, postgres.py ends with 77, which Meson shows as a skipped test.
"""
import atexit
import ctypes
import functools
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BINARIES = pathlib.Path(os.environ.get("DET_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
PR_SET_PDEATHSIG = 1
# Tests are about what the master writes, not about the disk: nothing is synced, and the smallest memory will do.
SETTINGS = {"fsync": "off", "full_page_writes": "off", "listen_addresses": "", "shared_buffers": "16MB",
            "autovacuum": "off", "max_connections": "40", "unix_socket_permissions": "0777"}


def is_installed():
    return (BINARIES / "postgres").exists()


class Server:
    def __init__(self, **settings):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="det-pg-"))
        self.settings = {**SETTINGS, **settings}
        self.process = None
        self.databases = 0
        self.place = f"postgresql://postgres@/postgres?host={self.dir}"
        if os.geteuid() == 0:  # the server refuses to be root
            user = pwd.getpwnam("postgres")
            os.chown(self.dir, user.pw_uid, user.pw_gid)

    def _command(self, program, *args):
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return [*as_user, str(BINARIES / program), *args]

    def _make(self):
        subprocess.run(self._command("initdb", "-D", str(self.dir / "data"), "--auth=trust", "--no-sync", "-E", "UTF8",
                                     "--locale=C.UTF-8", "-U", "postgres"),
                       check=True, stdout=subprocess.DEVNULL, cwd=self.dir)

    def start(self):
        args = [f"-c{name}={value}" for name, value in self.settings.items()]
        log = open(self.dir / "log", "ab")
        self.process = subprocess.Popen(self._command("postgres", "-D", str(self.dir / "data"), "-k", str(self.dir), *args),
                                        stdout=log, stderr=log, cwd=self.dir, preexec_fn=self._die_with_parent)
        for _ in range(600):
            if subprocess.run([BINARIES / "pg_isready", "-q", "-h", self.dir], check=False).returncode == 0:
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL does not start:\n{(self.dir / 'log').read_text()}")

    @staticmethod
    def _die_with_parent():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)

    def new_database(self):
        """The master's configuration of a database that nobody else uses."""
        self.databases += 1
        name = f"det{self.databases}"
        subprocess.run([BINARIES / "createdb", "-h", self.dir, "-U", "postgres", name], check=True)
        return {"type": "postgres", "host": str(self.dir), "user": "postgres", "name": name}

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGQUIT)  # at once, as after a crash
            self.process.wait()
        self.process = None

    def __enter__(self):
        try:
            self._make()
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
    """The server of this test run; it ends with it."""
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
