"""Real container engines for tests, with paths of their own: Docker's daemon, and Podman's service as root and as an ordinary user. Each is started once for a session of
pytest, with images that are made here: nothing is downloaded.

    engine = engines.start("docker")     # or a sentence that says why there is none, as engines.Missing
    engine.socket
"""
import atexit
import contextlib
import http.client
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tarfile
import tempfile

from support.waiting import wait_for

RUN_IS_A_FILE = "det-test/run-is-a-file:latest"
IMAGE, WITHOUT_SHELL, OTHER_PROCESSOR = "det-test/busybox:latest", "det-test/without-shell:latest", "det-test/other-processor:latest"  # Podman 4 imports nothing else
SIZES = {"nofile": 1024, "nproc": 1024}  # no rights are needed to have these limits


class Missing(Exception):
    """Why an engine cannot be started here."""


def static_supervisor(build):
    """A determined-task that runs in any image: that of the build, unless a sanitizer has made it one that needs libraries."""
    for place in (pathlib.Path(build), pathlib.Path(__file__).parents[2] / "build"):
        program = place / "determined-task"
        if program.exists() and b"ld-linux" not in program.read_bytes()[:4096]:
            return str(program)
    raise Missing("a supervisor that is built with a sanitizer runs in no image, and there is none without in build/")


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    def __init__(self, name, command, env=None, uid=None):
        self.name, self.uid = name, uid
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"det-{name}-"))
        self.dir.chmod(0o755)
        if uid:
            os.chown(self.dir, uid, uid)
        self.socket = str(self.dir / "engine.sock")
        self.command, self.env = command(self.dir, self.socket), {**os.environ, **(env(self.dir) if env else {})}
        self.process = None
        self.prefix = ordinary_user(uid) if uid else []
        self.start()

    def start(self):
        with open(self.dir / "engine.log", "ab") as log:
            # In its own directory: Podman's monitor of a container leaves a file "oom" where it was started when memory runs out.
            self.process = subprocess.Popen([*self.prefix, *self.command], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.env,
                                            cwd=self.dir)
        wait_for(f"{self.name}'s answer", self._answers)

    def start_again(self):
        """Starts an engine that was killed. Programs that it has begun itself (containerd) may still be ending, and keep the next one from
        starting."""
        def starts():
            try:
                self.start()
            except Missing:
                return False
            return True

        wait_for(f"{self.name} to start again", starts)

    def _answers(self):
        if self.process.poll() is not None:
            raise Missing(f"{self.name} does not start here: {(self.dir / 'engine.log').read_text(errors='replace')[-1000:]}")
        try:
            return self.request("GET", "/_ping")[0] == 200
        except OSError:
            return False

    def stop(self, signo=signal.SIGTERM):
        self.process.send_signal(signo)
        self.process.wait(60)

    def end(self):
        """Stops the engine for good, with what it runs."""
        if self.process.poll() is None:
            for container in self.containers():
                self.request("DELETE", f"/v1.40/containers/{container['Id']}?force=true")
            self.stop()
        self._end_what_a_killed_one_left()
        for pause in self.dir.rglob("pause.pid"):  # a process of Podman that keeps an ordinary user's namespaces
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(pause.read_text()), signal.SIGKILL)
        shutil.rmtree(self.dir, ignore_errors=True)

    def _end_what_a_killed_one_left(self):
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if bytes(self.dir) in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
        for line in pathlib.Path("/proc/mounts").read_text().splitlines():
            if line.split()[1].startswith(f"{self.dir}/"):
                subprocess.run(["umount", "-l", line.split()[1]], stderr=subprocess.DEVNULL)

    def request(self, method, path, body=None, headers=None):
        connection = _Connection(self.socket, 60)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def containers(self):
        status, body = self.request("GET", "/v1.40/containers/json?all=true")
        assert status == 200, body
        return json.loads(body)

    def inspect(self, task):
        status, body = self.request("GET", f"/v1.40/containers/determined-{task}/json")
        assert status == 200, body
        return json.loads(body)

    def kill(self, task):
        status, body = self.request("POST", f"/v1.40/containers/determined-{task}/kill")
        assert status < 300, body

    def away(self):
        os.rename(self.socket, self.socket + ".away")

    def back(self):
        os.rename(self.socket + ".away", self.socket)

    def add_image(self, name, files, more=""):
        repository, tag = name.split(":")
        status, body = self.request("POST", f"/v1.40/images/create?fromSrc=-&repo={repository}&tag={tag}{more}", archive(files),
                                    {"Content-Type": "application/x-tar"})
        assert status == 200 and b'"error"' not in body, body

    def add_images(self):
        self.add_image(IMAGE, busybox_files())
        self.add_image(WITHOUT_SHELL, {"hello.txt": (b"hello\n", 0o644)})
        self.add_image(RUN_IS_A_FILE, {"run": (b"no directory\n", 0o644)})
        self.add_image(OTHER_PROCESSOR, {"bin/sh": (foreign_program(), 0o755)}, "&platform=linux/arm64")


def archive(files):
    """Makes a tar archive: a text is a link's target, a pair is content and mode."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, value in files.items():
            entry = tarfile.TarInfo(name)
            if value is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            elif isinstance(value, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, value
                tar.addfile(entry)
            else:
                entry.size, entry.mode = len(value[0]), value[1]
                tar.addfile(entry, io.BytesIO(value[0]))
    return out.getvalue()


def busybox_files():
    busybox = pathlib.Path(shutil.which("busybox") or "/bin/busybox")
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    return {"bin/busybox": (busybox.read_bytes(), 0o755), **{f"bin/{name}": "busybox" for name in names if name != "busybox"},
            "etc": None, "etc/passwd": (b"root:x:0:0:root:/root:/bin/sh\n", 0o644), "etc/group": (b"root:x:0:\n", 0o644),
            "root": None, "proc": None, "sys": None, "dev": None, "run": None, "tmp": None, "in-image": (b"of the image\n", 0o644)}


def foreign_program():
    """A program for ARM's 64-bit processors, or for Intel's if this machine is one of those: nothing here can execute it."""
    machine = 0x3E if os.uname().machine == "aarch64" else 0xB7
    return struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, machine, 1, 0x400000, 64, 0, 0, 64, 56, 0, 64, 0, 0)


def _docker(more=(), env=None):
    if os.geteuid() != 0:
        raise Missing("only root can start Docker's daemon")
    if not shutil.which("dockerd"):
        raise Missing("Docker is not installed (Debian's package docker.io)")
    return Engine("docker", lambda place, sock: [
        "dockerd", "--storage-driver=overlay2", "--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false",
        "-H", f"unix://{sock}", "--data-root", place / "data", "--exec-root", place / "exec", "--pidfile", place / "pid", *more], lambda _: env or {})


NOBODY = 65534


def ordinary_user(uid):
    """Words of a program that executes another one as this user."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def _podman(uid=None):
    if not shutil.which("podman"):
        raise Missing("Podman is not installed (Debian's package podman)")

    def env(place):
        (place / "containers.conf").write_text(
            "[containers]\ndefault_ulimits = [" + ", ".join(f'"{k}={v}:{v}"' for k, v in SIZES.items()) + "]\nlog_driver = \"k8s-file\"\n"
            '[engine]\nruntime = "runc"\nevents_logger = "file"\ncgroup_manager = "cgroupfs"\n')
        # A user without ranges in /etc/subuid has one id in containers. That is enough for images whose files are root's.
        driver = "overlay"
        (place / "storage.conf").write_text(
            f'[storage]\ndriver = "{driver}"\ngraphroot = "{place}/storage"\nrootless_storage_path = "{place}/storage"\n'
            f'runroot = "{place}/run"\n[storage.options]\nignore_chown_errors = "true"\n'
            f'[storage.options.{driver}]\nignore_chown_errors = "true"\n')
        for private in ("home", "xdg"):
            (place / private).mkdir(mode=0o700)
            os.chown(place / private, uid or 0, uid or 0)
        return {"CONTAINERS_CONF": str(place / "containers.conf"), "CONTAINERS_STORAGE_CONF": str(place / "storage.conf"),
                "HOME": str(place / "home"), "XDG_RUNTIME_DIR": str(place / "xdg")}

    if os.geteuid() != 0:
        raise Missing("Podman is tested by root here, who can be other users")
    return Engine("podman", lambda place, sock: ["podman", "system", "service", "--time=0", f"unix://{sock}"], env, uid)


_started = {}


def make(name, more=(), env=None):
    """An engine with images, for the caller alone, who calls end(); or Missing. more, env: further words and variables for Docker's daemon."""
    engine = {"docker": lambda: _docker(more, env), "podman": _podman, "podman-rootless": lambda: _podman(NOBODY)}[name]()
    if not shutil.which("busybox"):
        engine.end()
        raise Missing("there is no busybox to make an image of (Debian's package busybox-static)")
    engine.add_images()
    return engine


def start(name):
    """The engine of this session, or Missing."""
    if name not in _started:
        try:
            _started[name] = make(name)
            atexit.register(_started[name].end)
        except Missing as why:
            _started[name] = why
    if isinstance(_started[name], Missing):
        raise _started[name]
    return _started[name]
