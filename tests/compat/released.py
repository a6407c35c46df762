"""The released client (determined==0.38.1 from PyPI, in .venv-compat), as tests drive it.

    det = Released(url, directory)
    det("experiment list")                                # its stdout; an exit status other than 0 fails the test
    det.run("experiment wait 1").status
    det.sdk("return client.get_experiment(1).name")       # what the Python code returns, by way of JSON
"""
import json
import os
import pathlib
import shlex
import subprocess
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-compat/bin/python"
PROGRAM = ROOT / ".venv-compat/bin/det"
CONTEXTS = pathlib.Path(__file__).resolve().parent / "contexts"


class Done:
    """One command that has ended."""

    def __init__(self, command, status, out, err):
        self.command, self.status, self.out, self.err = command, status, out, err

    def __repr__(self):
        return f"{self.command} → {self.status}\nstdout: {self.out}\nstderr: {self.err}"


class Warm:
    """warm.py, started once for all tests."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.process = subprocess.Popen([PYTHON, pathlib.Path(__file__).with_name("warm.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def run(self, what, **request):
        out, err = self.directory / "out", self.directory / "err"
        self.process.stdin.write(json.dumps({**request, "out": str(out), "err": str(err)}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "warm.py has ended"
        return Done(what, json.loads(answer), out.read_bytes().decode(), err.read_bytes().decode())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


def environment(url, logins, user="determined", password=None, **more):
    env = {"PATH": os.environ["PATH"], "HOME": str(logins), "DET_MASTER": url, "DET_DEBUG_CONFIG_PATH": str(logins)}
    if password:
        env.update(DET_USER=user, DET_PASS=password)
    return {**env, **more}


class Released:
    """The released client with the store of logins in `directory`, on one master."""

    def __init__(self, warm, url, directory, user="determined", password=None):
        self.warm, self.directory = warm, pathlib.Path(directory)
        self.environment = environment(url, directory, user, password)

    def run(self, words, stdin="", **more):
        return self.warm.run(f"det {words}", argv=shlex.split(words), stdin=stdin, directory=str(self.directory),
                             environment={**self.environment, **more})

    def __call__(self, words, **more):
        done = self.run(words, **more)
        assert done.status == 0, done
        return done.out

    def sdk(self, code):
        """Runs the body of a function in which `client` is logged in; gives back what it returns."""
        done = self.warm.run("SDK", source=program(code), stdin="", directory=str(self.directory), environment=self.environment)
        assert done.status == 0, done
        return json.loads(done.out.splitlines()[-1])


def program(code):
    return "import json, os, warnings\nwarnings.simplefilter('ignore')\ndef body():\n" + textwrap.indent(
        "client.login(os.environ['DET_MASTER'], os.environ['DET_USER'], os.environ['DET_PASS'])\n" +
        textwrap.dedent(code), "    ") + "\nvalue = body()\nprint()\nprint(json.dumps(value))\n"


class OurLibrary:
    """The same programs with our library."""

    def __init__(self, released):
        self.directory = released.directory
        self.environment = {**released.environment, "PYTHONPATH": str(ROOT / "python"), "DET_RUN_DIR": str(self.directory / "nowhere")}

    def sdk(self, code):
        source = "from determined.experimental import client\n" + program(code)
        done = subprocess.run([ROOT / ".venv/bin/python", "-c", source], capture_output=True, timeout=120, cwd=self.directory,
                              env=self.environment, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


class Ours:
    """Our `det` with the same logins."""

    def __init__(self, program, released):
        self.program, self.directory, self.environment = program, released.directory, released.environment

    def run(self, words, stdin="", **more):
        done = subprocess.run([self.program, *shlex.split(words)], input=stdin.encode(), capture_output=True, timeout=60,
                              cwd=self.directory, env={**self.environment, **more}, start_new_session=True)
        return Done(f"det {words}", done.returncode, done.stdout.decode(), done.stderr.decode())

    def __call__(self, words, **more):
        done = self.run(words, **more)
        assert done.status == 0, done
        return done.out
