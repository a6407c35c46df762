"""Runs the command line as a user of a test's cluster does."""
import os
import subprocess

from support.cluster import BUILD, TIMEOUT_S


def run_det(cluster, *words, user="determined", stdin="", **environment):
    """Runs det until it ends, with whatever status. Of the tests' environment it gets only PATH, and the variables that are given here."""
    env = {"PATH": os.environ["PATH"], "HOME": str(cluster.dir), "DET_MASTER": cluster.url, "DET_USER": user, "DET_PASS": cluster.password}
    return subprocess.run([BUILD / "det", *map(str, words)], input=stdin, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                          env={**env, **{name: str(value) for name, value in environment.items()}})


def det(cluster, *words, check=True, **options):
    """Returns what det prints. The options are those of run_det. With `check` det has to end with status 0."""
    done = run_det(cluster, *words, **options)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout
