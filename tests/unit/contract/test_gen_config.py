#!/usr/bin/env python3
"""Faults in the configuration tables stop the build with a sentence, and the same tables give the same C."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOOD = [{"key": "a", "type": "object", "default": {}, "help": "A"}, {"key": "a.b", "type": "int", "help": "B"}]


def generate(rows, parts=None):
    """Runs gen-config on tables whose master part is `rows`; gives its exit status, its words and the C."""
    with tempfile.TemporaryDirectory() as d:
        path = pathlib.Path(d)
        (path / "config-parts.json").write_text(json.dumps({"parts": parts or {}}))
        for name, keys in (("master", rows), *((name, GOOD) for name in ("agent", "experiment", "hyperparameter", "task"))):
            (path / f"{name}-config.json").write_text(json.dumps({"about": "x", "keys": keys}))
        p = subprocess.run([ROOT / "tools/gen-config", "c", d, d], capture_output=True, text=True)
        code = path / "config_tables.c"
        return p.returncode, p.stderr, code.read_text() if code.exists() else ""


class GenConfig(unittest.TestCase):
    def refused(self, rows, words, parts=None):
        status, text, _ = generate(rows, parts)
        self.assertEqual(status, 1)
        self.assertIn(words, text)

    def test_good_tables_give_the_same_c_twice(self):
        first, second = generate(GOOD), generate(GOOD)
        self.assertEqual(first[0], 0)
        self.assertEqual(first, second)
        self.assertIn('.name = "b", .types = SCHEMA_INT', first[2])

    def test_two_keys_with_one_variable(self):
        self.refused(GOOD + [{"key": "a_b", "type": "int", "help": "C"}], "a_b and a.b have the same variable DET_A_B")

    def test_a_row_without_its_parent(self):
        self.refused([{"key": "x.y", "type": "int", "help": "Y"}], "row x.y: there is no row for its parent")

    def test_words_that_no_row_has(self):
        self.refused([{"key": "x", "type": "int", "help": "X", "maximum": 3}], "row x: unknown member maximum")
        self.refused([{"key": "x", "type": "integer", "help": "X"}], "row x: unknown type integer")
        self.refused([{"key": "x", "type": "list", "help": "X", "merge": "mix"}], "row x: unknown merge mix")
        self.refused([{"key": "x", "type": "int"}], "row x: no help")

    def test_a_part_can_leave_its_defaults_behind(self):
        parts = {"p": [{"key": "n", "type": "int", "default": 5, "help": "N"}]}
        row = {"key": "s", "type": "object", "part": "p", "help": "S"}
        self.assertIn('.def = "5"', generate([row], parts)[2])
        self.assertNotIn('.def = "5"', generate([{**row, "part_defaults": False}], parts)[2])


if __name__ == "__main__":
    unittest.main()
