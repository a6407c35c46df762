"""A stand-in for Apptainer, which cannot be installed on every machine that tests run on. It takes the command line that the agent uses, writes
each one down, and runs the command in an image: a tar archive (in place of a SIF file) or a directory, in namespaces of its own,
with the binds made. What it does not know of the command line is an error, so that a misspelt option is found.

    engine = apptainer.Apptainer("apptainer")     # or engines.Missing
    engine.path       # a directory for PATH
    engine.calls()    # the command lines so far, lists of words
    engine.runs()     # who ran containers, and how: {"uid": …, "no_new_privs": …, "words": …, "environment": …} each
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import tempfile

from support import engines

PROGRAM = r'''#!/usr/bin/env python3
import ctypes, io, json, os, pathlib, pwd, shlex, shutil, sys, tarfile, time

HERE = pathlib.Path(__file__).resolve().parent
NAME = pathlib.Path(__file__).name.upper()
FLAGS = {"--userns", "--cleanenv", "--no-home", "--pid", "--no-init", "--ipc", "--writable-tmpfs", "--nv", "--rocm", "--net"}
VALUES = {"--no-mount", "--pwd", "--network", "--network-args", "--add-caps", "--bind", "--env"}


def fatal(text):
    print(f"FATAL:   {text}", file=sys.stderr)
    sys.exit(255)


def pull(words):
    if words[:1] != ["--force"] or len(words) != 3:
        fatal(f"unknown words: {words}")
    file, reference = pathlib.Path(words[1]), words[2]
    told = HERE / "proxies" if os.geteuid() == 0 else file.with_suffix(".proxies")
    told.write_text(json.dumps({k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}))
    print("INFO:    Converting OCI blobs to SIF format", file=sys.stderr)
    if (HERE / "full").exists():
        file.write_bytes(b"a part")
        fatal(f"while building SIF: write {file}: no space left on device")
    while (HERE / "hang").exists():
        time.sleep(0.05)
    if os.environ.get(f"{NAME}_DOCKER_PASSWORD", "right") != "right":
        fatal("unauthorized: authentication required")
    image = HERE / "registry" / reference.split("://", 1)[1].replace("/", "_")
    if not image.exists():
        fatal(f"while making image from oci registry: manifest unknown: {reference}")
    shutil.copy(image, file)


def options(words):
    flags, values = set(), []
    while words and words[0].startswith("-"):
        if words[0] in FLAGS:
            flags.add(words.pop(0))
        elif words[0] in VALUES:
            values.append((words.pop(0), words.pop(0)))
        else:
            fatal(f'unknown flag: {words[0]}')
    return flags, values


def run(words):
    given = list(words)
    flags, values = options(words)
    status = dict(line.split(":\t", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    with open(HERE / "runs", "a") as f:
        f.write(json.dumps({"uid": os.geteuid(), "gid": os.getegid(), "groups": os.getgroups(), "words": given, "environment": dict(os.environ),
                            "no_new_privs": int(status["NoNewPrivs"]), "limit": pathlib.Path("/proc/self/cgroup").read_text()}) + "\n")
    try:
        user = pwd.getpwuid(os.geteuid())
    except KeyError:
        fatal(f"Couldn't determine user account information: user: unknown userid {os.geteuid()}")
    while (HERE / "stall").exists():
        time.sleep(0.05)
    if (HERE / "takes").exists():
        taken = b"x" * (int((HERE / "takes").read_text()) << 20)
    if (HERE / "unpacks").exists():
        pathlib.Path(os.environ[f"{NAME}_TMPDIR"], "unpacked").write_bytes(bytes(int((HERE / "unpacks").read_text()) << 20))
        while (HERE / "unpacks").exists():
            time.sleep(0.05)
    if (HERE / "broken").exists():
        fatal("Failed to create user namespace: user namespace disabled")
    if (HERE / "no-layer").exists() and "--writable-tmpfs" in flags:
        fatal("while mounting tmpfs: no such device")
    if (HERE / "breaks").exists() and "--writable-tmpfs" in flags and (HERE / "breaks").read_text() in words[0]:
        by = HERE / "breaks-by"
        fatal(by.read_text() if by.exists() else "while mounting /run/determined: not a directory")
    image, command = pathlib.Path(words[0]), words[1:]
    if not image.exists():
        fatal(f"could not open image {image}: no such file")
    root = HERE / "root"  # each container mounts its own files there, in a mount namespace that nobody else sees
    variables = ["LD_LIBRARY_PATH=/.singularity.d/libs", f"{NAME}_CONTAINER={image}", "HOME=/root", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
    script = ["set -e", f"cd {root}", "mount --make-rprivate /", f"mount -t tmpfs -o mode=755 tmpfs {root}", f"cd {root}"]
    if image.is_dir():
        script.append(f"cp -dR --preserve=mode,links {shlex.quote(str(image))}/. .")
    else:
        try:
            with tarfile.open(image) as tar:
                variables += [line for line in tar.extractfile("env").read().decode().splitlines()] if "env" in tar.getnames() else []
        except tarfile.TarError:
            fatal(f"while handling {image}: image format not recognized")
        script.append(f"tar -xf {shlex.quote(str(image))}")
    script += ["mkdir -p dev proc sys", "mount --rbind /dev dev", "mount --rbind /sys sys"]
    entry = shlex.quote(":".join([user.pw_name, "x", str(user.pw_uid), str(user.pw_gid), "", user.pw_dir, user.pw_shell]))
    script.append(f"[ ! -e etc/passwd ] || echo {entry} >>etc/passwd")
    if "--pid" in flags:
        script.append("mount -t proc proc proc")
    for option, value in values:
        if option == "--bind":
            source, target, *how = value.split(":")
            make = "mkdir -p" if os.path.isdir(source) else "touch"
            at = "." + target
            script.append(f"mkdir -p {shlex.quote(os.path.dirname(at))}; {make} {shlex.quote(at)}; mount --bind {shlex.quote(source)} {shlex.quote(at)}")
            if how == ["ro"]:
                script.append(f"mount -o remount,bind,ro {shlex.quote(at)}")
        elif option == "--env":
            variables.append(value)
    if "--writable-tmpfs" not in flags:
        script.append("mount -o remount,bind,ro .")
    enter = [sys.executable, str(HERE / pathlib.Path(__file__).name), "--become", str(os.geteuid()), str(os.getegid())]
    script.append("exec " + shlex.join([*(["chroot", "."] if os.geteuid() == 0 else enter), *command]))
    environment = dict(v.split("=", 1) for v in variables)
    environment["STAND_IN"] = "1"
    place = {**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"} if "--cleanenv" not in flags else environment
    alone = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *alone, "--mount", "--ipc", *(["--pid", "--fork", "--kill-child=SIGKILL"] if "--pid" in flags else []),
             "sh", "-c", "\n".join(script)]
    # The command itself keeps its environment, as Apptainer's does; what it runs in the container has the container's.
    words = ["unshare", *words[1:-3], "env", "-i", *[f"{k}={v}" for k, v in place.items()], *words[-3:]]
    os.execv(shutil.which("unshare"), words)


def become(uid, gid, *command):
    """Within the container's user namespace, whose root mounts: becomes the user again, with no capability, as Apptainer does."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) != 0:  # CLONE_NEWUSER
        fatal(f"while becoming uid {uid}: {os.strerror(ctypes.get_errno())}")
    for file, text in (("setgroups", "deny"), ("uid_map", f"{uid} 0 1"), ("gid_map", f"{gid} 0 1")):
        pathlib.Path("/proc/self", file).write_text(text)
    os.chroot(".")
    if os.path.isdir("/.singularity.d/env"):  # scripts of the image, which are sourced before anything else
        command = ("/bin/sh", "-c", 'for f in /.singularity.d/env/*.sh; do . "$f"; done; exec "$@"', "sh", *command)
    os.execv(command[0], command)


def main(words):
    if words[:1] == ["--become"]:
        become(*words[1:])
    if words[:2] == ["--quiet", "exec"]:
        words = words[1:]
    with open(HERE / "calls", "a") as f:
        f.write(json.dumps(words) + "\n")
    if words == ["--version"]:
        print("apptainer version 1.3.0")
    elif words and words[0] == "pull":
        pull(words[1:])
    elif words and words[0] == "exec":
        run(words[1:])
    else:
        fatal(f"unknown command: {words}")


main(sys.argv[1:])
'''


class Apptainer:
    def __init__(self, name):
        if os.geteuid() != 0:
            raise engines.Missing(f"only root can run the stand-in for {name}, which mounts and changes its root")
        if not shutil.which("busybox"):
            raise engines.Missing("there is no busybox to make an image of (Debian's package busybox-static)")
        self.name = name
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix=f"det-{name}-"))
        self.dir.chmod(0o755)
        self.path = str(self.dir)
        self.program = self.dir / name
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        for directory in ("registry", "root"):
            (self.dir / directory).mkdir()
        for file in ("calls", "runs"):
            (self.dir / file).touch()
            (self.dir / file).chmod(0o666)  # ordinary users write there, too
        self.add_images()

    def image_file(self, name):
        """Where the registry keeps an image: a file that can also be named by its path."""
        return self.dir / "registry" / name.replace("/", "_")

    def add_image(self, name, files):
        self.image_file(name).write_bytes(engines.archive(files))

    def add_images(self):
        self.add_image(engines.IMAGE, {**engines.busybox_files(), "env": (b"OF_THE_IMAGE=yes\n", 0o644)})
        self.add_image(engines.WITHOUT_SHELL, {"hello.txt": (b"hello\n", 0o644)})
        self.add_image(engines.RUN_IS_A_FILE, {"run": (b"no directory\n", 0o644)})
        self.add_image(engines.OTHER_PROCESSOR, {"bin/sh": (engines.foreign_program(), 0o755)})

    def calls(self, command=None):
        lines = [json.loads(line) for line in (self.dir / "calls").read_text().splitlines()]
        return [words for words in lines if command in (None, words[0])]

    def runs(self):
        return [json.loads(line) for line in (self.dir / "runs").read_text().splitlines()]

    def _processes(self):
        """(process id, id of the task) of each process of a container."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for v in variables:
                if v.startswith(b"DETERMINED_CONTAINER="):
                    yield int(entry.name), v.decode().rsplit("/", 1)[1]

    def containers(self):
        return sorted({task for _, task in self._processes()})

    def kill(self, task):
        """Ends the first process of a container, and the command above it; the supervisor goes on."""
        for pid, of in list(self._processes()):
            with contextlib.suppress(OSError):  # one ends with another
                if of == task and not pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"/supervisor\0"):
                    os.kill(pid, signal.SIGKILL)

    def away(self):
        self.program.rename(self.dir / "away")

    def back(self):
        (self.dir / "away").rename(self.program)

    def end(self):
        shutil.rmtree(self.dir, ignore_errors=True)
