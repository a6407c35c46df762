"""Runs the command line as a user of a test's cluster does."""
import os
import pathlib
import subprocess

from support.cluster import BUILD, ROOT, TIMEOUT_S

RELEASED = pathlib.Path(os.environ.get("DET_RELEASED_CLIENT", ROOT / ".venv-compat" / "bin" / "det"))


def environment(cluster, user="determined"):
    """Of the tests' environment, det gets only PATH."""
    return {"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "DET_MASTER": cluster.url, "DET_USER": user, "DET_PASS": cluster.password}


def run_det(cluster, *words, user="determined", stdin="", program=BUILD / "det", **variables):
    """Runs det until it ends, with whatever status. The variables are added to its environment."""
    env = environment(cluster, user)
    return subprocess.run([program, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={**env, **{name: str(value) for name, value in variables.items()}})


def det(cluster, *words, check=True, **options):
    """Returns what det prints. The options are those of run_det. With `check` det has to end with status 0."""
    done = run_det(cluster, *words, **options)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout
