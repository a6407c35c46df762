#!/usr/bin/env python3
"""tools/check-citations, on small trees: what it finds, and what it leaves alone."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check-citations"

GOOD = {
    "README.md": "The rules: [restarts](docs/spec/lifecycle.md#trial-restarts), `src/core/trial.c`.\n",
    "docs/spec/lifecycle.md": "# Lifecycle\n\n## Trial restarts\n\nAt most `RETRY_MAX_US`.\n\n```\nsrc/not/looked_at.c\n```\n",
    "docs/decisions/0001-steps.md": "# Steps\n",
    "src/core/trial.h": "enum { TRIAL_RETRY_MAX_US = 5 };\nvoid trial_patch(void);\n",
    "src/core/trial.c": "/* Rules: docs/spec/lifecycle.md#trial-restarts (docs/decisions/0001). */\nvoid trial_patch(void) {}\n",
}


def faults_of(files):
    """What the tool prints of a tree, line by line."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name, text in {**GOOD, **files}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout.splitlines()


class CheckCitations(unittest.TestCase):
    def found(self, name, text, *expected):
        self.assertEqual(faults_of({name: text}), [f"{name}:{fault}" for fault in expected])

    def test_a_good_tree_has_no_faults(self):
        self.assertEqual(faults_of({}), [])

    def test_a_file_that_does_not_exist(self):
        self.found("src/core/a.c", "\n/* See experiment.c, trial.h\n * and core/trial.c. */\n", "2: experiment.c does not exist")
        self.found("python/a.py", '"""See docs/training.md."""\n', "1: docs/training.md does not exist")
        self.found("src/store/migrations/0001_a.sql", "-- as docs/x.md says\n", "1: docs/x.md does not exist")
        self.found("docs/a.md", "See [there](b.md).\n", "1: b.md does not exist", "1: the link to b.md leads nowhere")

    def test_an_anchor_that_does_not_exist(self):
        self.found("src/core/a.c", "/* docs/spec/lifecycle.md#restarts */\n", "1: docs/spec/lifecycle.md has no heading #restarts")
        self.found("docs/a.md", "[x](spec/lifecycle.md#restarts)\n", "1: spec/lifecycle.md has no heading #restarts")
        self.found("docs/a.md", "# One\n\n[x](#two)\n", "3: a.md has no heading #two")

    def test_a_decision_that_does_not_exist(self):
        self.found("src/core/a.c", "/* docs/decisions/0002 */\n", "1: docs/decisions/0002 does not exist")

    def test_a_function_or_constant_that_is_gone(self):
        self.found("src/core/a.c", "/* trial_patch() follows trial_move(). */\n", "1: no code has trial_move()")
        self.found("src/core/a.c", "/* At most TRIAL_RETRY_MAX_US, or RETRY_LEAST_US. */\n", "1: no code has RETRY_LEAST_US")
        self.found("docs/a.md", "`trial_free()` in `src/core/trial.c`\n", "1: no code has trial_free()",
                   "1: src/core/trial.c has no trial_free")

    def test_a_function_that_another_file_has(self):
        self.found("docs/a.md", "`TRIAL_RETRY_MAX_US` in `src/core/trial.c`\n", "1: src/core/trial.c has no TRIAL_RETRY_MAX_US")

    def test_a_rule_without_a_place(self):
        self.found("src/core/a.c", "/* By the contract's rule. */\n", '1: "contract\'s rule" cites nothing: name a heading of docs/spec')

    def test_what_is_no_citation_of_the_tree(self):
        self.found("src/core/a.c", 'const char *s = "/* docs/gone.md */";\n/* src/cli/cmd/NOUN_VERB.c, model/train.py, time.h */\n#include <time.h>\n')


if __name__ == "__main__":
    unittest.main()
