#!/usr/bin/env python3
"""tools/check-comments, on small trees: which openings of comments it minds."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check-comments"


def faults_of(name, text):
    """What the tool prints of a tree of one file, line by line."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        done = subprocess.run([sys.executable, TOOL, directory], capture_output=True, text=True)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return done.stdout.splitlines()


class CheckComments(unittest.TestCase):
    def minded(self, name, text, *expected):
        """expected: LINE: WORD of each comment that is minded."""
        said = [f'{name}:{place.partition(": ")[0]}: a comment opens with "{place.partition(": ")[2]}": name the thing that it is about'
                for place in expected]
        self.assertEqual(faults_of(name, text), said)

    def test_comments_of_each_language(self):
        self.minded("src/core/a.c", "int a;\n/* Its size. */\nint b; /* it is small */\n", "2: Its", "3: it")
        self.minded("src/core/a.h", "/** They are two. */\n", "1: They")
        self.minded("python/a.py", '"""It runs."""\n\n\ndef f():\n    """\n    His name."""\n    return 1  # it is one\n', "1: It", "5: His", "7: it")
        self.minded("web/src/a.tsx", "{/* She may. */}\n// they ask\n", "1: She", "2: they")
        self.minded("src/store/queries/a.sql", "-- Its rows.\nSELECT 1;\n", "1: Its")
        self.minded("tests/meson.build", "# It is built.\n", "1: It")
        self.minded("Makefile", "# It is made.\n", "1: It")

    def test_words_that_point_at_something_which_is_not_named(self):
        self.minded("src/core/a.c", "/* This is small. */\n/* These two write. */\n/* Those of the pool. */\n/* That would do. */\n",
                    "1: This", "2: These", "3: Those", "4: That")

    def test_words_that_point_at_something_which_is_named(self):
        self.minded("src/core/a.c", "/* This agent is small. */\n/* These two functions write. */\n/* Those agents go. */\n")

    def test_a_pronoun_within_a_comment_has_its_noun_before_it(self):
        self.minded("src/core/a.c", "/* An agent.\n *\n * It has slots. */\n// A pool has agents.\n// It is stored.\n")
        self.minded("python/a.py", "# A pool has agents.\n# It is stored.\n\n# It is not.\n", "4: It")

    def test_the_comment_of_a_line_does_not_go_on_in_the_next_line(self):
        self.minded("python/a.py", "a = 1  # a number\n# It is stored.\n", "2: It")

    def test_what_is_no_comment(self):
        self.minded("src/core/a.c", 'const char *s = "/* It is text. */";\n')
        self.minded("python/a.py", 'S = "# It is text."\n')

    def test_words_that_begin_like_a_pronoun(self):
        self.minded("src/core/a.c", "/* Items. */\n/* IT-systems. */\n/* Hearing of agents. */\n/* Thesaurus. */\n")

    def test_what_nobody_edits_or_writes(self):
        self.minded("src/store/migrations/0001_a.sql", "-- Its rows.\n")
        self.minded("web/src/a.gen.ts", "// Its rows.\n")
        self.minded("web/node_modules/a.ts", "// Its rows.\n")


if __name__ == "__main__":
    unittest.main()
