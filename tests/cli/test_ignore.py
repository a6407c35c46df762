"""What .detignore leaves out, compared with git: random patterns over random trees."""
import os
import random
import subprocess

import conftest
import pytest

NAMES = ["a", "b", "ab", "a.log", "b.txt", "data", "x y", "c[1]", "#h", "!n", "deep"]
PIECES = ["a", "b", "ab", "*", "?", "*.log", "*.txt", "data", "**", "[ab]", "[!a]", "[a-c]*", "x\\ y", "\\#h", "\\!n", "c\\[1\\]", "deep", "[[:alpha:]]", "d*a", "*b*"]


def random_pattern(rng):
    pattern = "/".join(rng.choice(PIECES) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
    pattern = ("/" if rng.random() < 0.2 else "") + pattern + ("/" if rng.random() < 0.2 else "")
    return ("!" if rng.random() < 0.2 else "") + pattern + rng.choice(["", "", "", " ", "\r"])


def grow(rng, path, depth):
    for name in rng.sample(NAMES, rng.randint(2, 5)):
        if depth < 3 and rng.random() < 0.45:
            os.mkdir(f"{path}/{name}")
            grow(rng, f"{path}/{name}", depth + 1)
        else:
            open(f"{path}/{name}", "w").close()


@pytest.mark.parametrize("seed", range(60))
def test_ignore_agrees_with_git(tmp_path, seed):
    rng = random.Random(seed)
    grow(rng, tmp_path, 0)
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    subprocess.run(["git", "init", "-q", tmp_path], check=True, env=env)
    for _ in range(6):
        patterns = "\n".join(random_pattern(rng) for _ in range(rng.randint(1, 4))) + "\n"
        for name in (".gitignore", ".detignore"):
            (tmp_path / name).write_text(patterns, newline="")
        told = subprocess.run(["git", "ls-files", "-o", "-z", "--exclude-standard"], cwd=tmp_path, env=env, check=True, capture_output=True).stdout
        ours = subprocess.run([conftest.BUILD / "tests" / "unit" / "context_list", tmp_path], check=True, capture_output=True).stdout
        names = [set(text.split(b"\0")) - {b"", b".gitignore", b".detignore"} for text in (told, ours)]
        assert names[0] == names[1], f"seed {seed}, patterns {patterns!r}"


def test_a_tree_deeper_than_agents_unpack_is_refused_with_its_path(tmp_path):
    def told():
        return subprocess.run([conftest.BUILD / "tests" / "unit" / "context_list", tmp_path], capture_output=True, text=True)

    deep = tmp_path.joinpath(*["d"] * 99)
    deep.mkdir(parents=True)
    (deep / "f").touch()
    assert told().stdout.count("/") == 99
    (deep / "d").mkdir()
    (deep / "d" / "g").touch()
    assert f"{deep}/d/g has too long a path: agents unpack at most 100 names" in told().stderr
    (tmp_path / ".detignore").write_text("g\n")
    assert told().stdout.count("/") == 99, "what is left out may lie anywhere"
