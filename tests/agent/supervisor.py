"""Takes the place of the agent: writes the orders of tasks, and speaks the frames of src/common/task/taskproto.h."""

import os
import pathlib
import socket
import struct
import subprocess
import time

from support.waiting import TIMEOUT_S, wait_for

NOT_EXECUTED = 3  # the exit status of determined-task for a program that it could not execute
HELLO, LOG_ACK, SIGNAL, EXIT_ACK = 1, 2, 3, 4
HELLO_REPLY, LOGS, EXIT = 64, 65, 66
EXITED, SIGNALED, OUT_OF_MEMORY, START_FAILED, LOST, REFUSED = 1, 2, 3, 4, 5, 6
BUILD = pathlib.Path(os.environ.get("DET_BUILD", pathlib.Path(__file__).parents[2] / "build"))


def _string(s):
    raw = s.encode()
    return struct.pack("<I", len(raw)) + raw + b"\0"


def _strings(items):
    return struct.pack("<I", len(items)) + b"".join(_string(i) for i in items)


def spec(argv, env=(), cwd="/", uid=None, gid=0, groups=(), procs=(), oom="", log_links="", spool_max=64 << 20, mounts=(), hidden=(),
         memory=0, processes=0, disk=0, pids_file="", boot_id="", tmp="", isolated=False, drop_capabilities=0, terminal_gid=None,
         image="", places=(), own_processes=False, shm=0):
    """Makes the bytes of an order. uid None: the task runs as the same user as its supervisor. image: of the container whose first process
    the supervisor is. Without image and terminal_gid, the order is that of an older agent, which knows no locks, no containers and no
    terminals of the task's own."""
    env = [f"PATH={os.environ['PATH']}", *env]
    older = terminal_gid is None and not image and not own_processes and not shm
    return b"".join([
        struct.pack("<I", 0x32535444 if older else 0x35535444), _strings(argv), _strings(env), _string(cwd),
        struct.pack("<IIII", (uid is not None) + 2 * isolated + 4 * (terminal_gid is not None) + 8 * own_processes, uid or 0, gid, len(groups)),
        b"".join(struct.pack("<I", g) for g in groups), _strings(procs), _string(oom), _string(log_links),
        struct.pack("<Q", spool_max), struct.pack("<I", len(mounts)),
        b"".join(_string(str(source)) + _string(target) + struct.pack("<I", sum(flags)) for source, target, *flags in mounts),
        _strings(list(map(str, hidden))), struct.pack("<QQQ", memory, processes, disk), _string(pids_file), _string(boot_id),
        _string(str(tmp)), struct.pack("<Q", drop_capabilities),
        *([] if older else [_strings([]), _string(image), _string("docker" if image else ""), struct.pack("<I", len(places)),
                            *(_string(target) + struct.pack("<QQ", dev, ino) for target, dev, ino in places), _string(""),
                            struct.pack("<IQ", terminal_gid or 0, shm)]),
    ])


class Line:
    def __init__(self, number, data):
        self.number = number
        self.time_us, self.stdtype, self.level, has_rank, rank, n = struct.unpack_from("<QBBBiI", data)
        self.rank = rank if has_rank else None
        self.text = data[19:19 + n].decode()
        self.size = 19 + n + 1


class Task:
    """The directory of one task, and the connection to its supervisor."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.sock, self.buf, self.lines, self.exit = None, b"", [], None
        self.pid = None
        self.prefix = []  # words of programs that execute the supervisor, such as setpriv

    def write(self, argv, **options):
        self.dir.mkdir(mode=0o700, exist_ok=True)
        (self.dir / "spec").write_bytes(spec(argv, **options))
        return self

    def launch(self, *options):
        r = subprocess.run([*self.prefix, BUILD / "determined-task", *options, self.dir], capture_output=True, text=True, timeout=TIMEOUT_S)
        return r.returncode, r.stderr

    def launch_container(self):
        """Starts the supervisor as the first process of a container is started, but outside of any; returns its process."""
        os.mkfifo(self.dir / "ready")
        told = os.open(self.dir / "ready", os.O_RDWR | os.O_NONBLOCK)
        process = subprocess.Popen([*self.prefix, BUILD / "determined-task", "--container", self.dir])

        def look():
            try:
                return os.read(told, 512)
            except BlockingIOError:
                return None
        self.executed = wait_for("the supervisor's word", look)[:1] == b"R"
        os.close(told)
        return process

    def start(self, *options):
        code, error = self.launch(*options)
        assert code in (0, NOT_EXECUTED), error
        self.executed = code == 0
        return self

    def adopt(self):
        """Starts a supervisor that adopts the directory of an earlier one, as soon as that one has ended and released its lock."""
        wait_for("the earlier supervisor's end", lambda: self.launch("--adopt")[0] == 0)
        return self

    def connect(self, resume=0):
        if self.sock:
            self.sock.close()
        self.buf = b""
        self.sock = socket.socket(socket.AF_UNIX)
        here = os.open(self.dir, os.O_RDONLY)
        self.sock.connect(f"/proc/self/fd/{here}/socket")
        os.close(here)
        self.send(HELLO, struct.pack("<IQ", 1, resume))
        kind, payload = self.frame(TIMEOUT_S)
        assert kind == HELLO_REPLY
        _, self.pid, self.state, self.last = struct.unpack("<IIBQ", payload)
        return self

    def send(self, kind, payload=b""):
        self.sock.sendall(struct.pack("<IB", 1 + len(payload), kind) + payload)

    def ack(self, number):
        self.send(LOG_ACK, struct.pack("<Q", number))

    def signal(self, signo):
        self.send(SIGNAL, struct.pack("<I", signo))

    def frame(self, timeout):
        """Returns the next frame, or None if none comes in time. Raises ConnectionError if the supervisor has closed the connection."""
        deadline = time.monotonic() + timeout
        while True:
            if len(self.buf) >= 4:
                (n,) = struct.unpack_from("<I", self.buf)
                if len(self.buf) >= 4 + n:
                    kind, payload = self.buf[4], self.buf[5:4 + n]
                    self.buf = self.buf[4 + n:]
                    return kind, payload
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.sock.settimeout(left)
            try:
                data = self.sock.recv(1 << 20)
            except socket.timeout:
                return None
            if not data:
                raise ConnectionError("the supervisor has closed the connection")
            self.buf += data

    def take(self, kind, payload):
        if kind == LOGS:
            first, count = struct.unpack_from("<QI", payload)
            at = 12
            for i in range(count):
                line = Line(first + i, payload[at:])
                at += line.size
                self.lines.append(line)
            assert at == len(payload)
        elif kind == EXIT:
            kind, code, signo, _time_us, n = struct.unpack_from("<BiiQI", payload)
            self.exit = (kind, code, signo, payload[21:21 + n].decode())
        return kind

    def pump(self, until, timeout=TIMEOUT_S, ack=True):
        """Reads frames until `until(self)` is true."""
        deadline = time.monotonic() + timeout
        while not until(self):
            f = self.frame(max(0, deadline - time.monotonic()))
            assert f, f"nothing more after {len(self.lines)} lines, exit {self.exit}"
            if self.take(*f) == LOGS and ack:
                self.ack(self.lines[-1].number)
        return self

    def finish(self, timeout=TIMEOUT_S):
        self.pump(lambda t: t.exit is not None, timeout)
        self.send(EXIT_ACK)
        return self

    def text(self, stdtype=None):
        return "".join(line.text for line in self.lines if stdtype in (None, line.stdtype))
