#!/usr/bin/env python3
"""Faults in the configuration tables stop the build with a sentence, and the same tables give the same C."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOOD = [{"key": "a", "type": "object", "default": {}, "help": "A"}, {"key": "a.b", "type": "int", "help": "B"}]


def generate(rows, parts=None, experiment=GOOD, made="config_tables.c", task=GOOD):
    """Runs gen-config on tables whose master part is `rows`; gives its exit status, its words and the file `made`."""
    with tempfile.TemporaryDirectory() as d:
        path = pathlib.Path(d)
        (path / "config-parts.json").write_text(json.dumps({"parts": parts or {}}))
        for name, keys in (("master", rows), ("experiment", experiment), ("task", task), ("agent", GOOD), ("hyperparameter", GOOD), ("policy", GOOD)):
            (path / f"{name}-config.json").write_text(json.dumps({"about": "x", "keys": keys}))
        p = subprocess.run([ROOT / "tools/gen-config", "c", d, d], capture_output=True, text=True)
        code = path / made
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
        self.refused([{"key": "x", "type": "int|list", "help": "X", "normal": "object"}], "row x: its normal form object is none of its types")

    def test_a_part_can_leave_its_defaults_behind(self):
        parts = {"p": [{"key": "n", "type": "int", "default": 5, "help": "N"}]}
        row = {"key": "s", "type": "object", "part": "p", "help": "S"}
        self.assertIn('.def = "5"', generate([row], parts)[2])
        self.assertNotIn('.def = "5"', generate([{**row, "part_defaults": False}], parts)[2])

    def struct(self, rows, made="experiment_config.h"):
        status, text, code = generate(GOOD, experiment=rows, made=made)
        self.assertEqual((status, text), (0, ""))
        return code

    def test_fields_of_the_struct(self):
        code = self.struct([
            {"key": "n", "type": "int", "default": 3, "min": 0, "help": "N"}, {"key": "large", "type": "int", "max": 2 ** 40, "help": "L"},
            {"key": "t", "type": "int", "unit": "s", "help": "T"}, {"key": "w", "type": "string", "choices": ["a", "b-c"], "default": "a", "help": "W"},
            {"key": "gone", "type": "int", "drop": True, "help": "G"}, {"key": "m", "type": "list|string", "help": "M"}])
        for line in ("int32_t n; /* N (default 3; at least 0) */", "bool has_large; int64_t large;", "bool has_t_s; int32_t t_s;",
                     "enum exp_w { EXP_W_A, EXP_W_B_C };", "enum exp_w w;", "struct json_object *m;"):
            self.assertIn(line, code)
        self.assertNotIn("gone", code)

    def test_a_part_of_experiments_and_tasks_is_one_struct(self):
        parts = {"p": [{"key": "n", "type": "int", "default": 5, "help": "N"}], "q": [{"key": "m", "type": "bool", "help": "M"}]}
        shared, own = ({"key": name, "type": "object", "part": name, "help": "S"} for name in "pq")
        status, text, code = generate(GOOD, parts, [shared], "task_config.h", [shared, own])
        self.assertEqual((status, text), (0, ""))
        for line in ('#include "gen/experiment_config.h"', "struct exp_p p;", "struct task_q q;", "struct task_values {", "void task_q_read("):
            self.assertIn(line, code)
        self.assertNotIn("struct exp_p {", code)

    def test_a_duration_is_a_number_of_microseconds(self):
        rows = [{"key": "d", "type": "duration", "default": "1h30m", "help": "D"}, {"key": "e", "type": "duration", "help": "E"}]
        code = self.struct(rows)
        self.assertIn("int64_t d_us;", code)
        self.assertIn("bool has_e_us; int64_t e_us;", code)
        self.assertIn(".d_us = INT64_C(5400000000)", self.struct(rows, "experiment_config.c"))

    def test_a_union_is_one_struct_whose_keys_have_one_type(self):
        rows = [{"key": "u", "type": "object", "selector": "type", "help": "U"},
                {"key": "u.v", "type": "int", "only": ["x"], "default": 7, "help": "V"},
                {"key": "u.type", "type": "string", "required": True, "choices": ["x", "y"], "help": "T"}]
        code = self.struct(rows, "experiment_config.c")
        self.assertIn('{.name = "v", .type = SCHEMA_FIELD_INT32, .offset = offsetof(struct exp_u, v), .only = 0x1}', code)
        self.assertLess(code.index('.name = "type"'), code.index('.name = "v"')) # the kind is read first
        status, text, _ = generate(GOOD, experiment=rows + [{"key": "u.v", "type": "string", "only": ["y"], "help": "V"}])
        self.assertEqual(status, 1)
        self.assertIn("row u.v: has two types", text)

    def test_numbers_are_constants_unless_kinds_differ_in_them(self):
        rows = [{"key": "u", "type": "object", "selector": "type", "help": "U"},
                {"key": "u.type", "type": "string", "required": True, "choices": ["x", "y"], "help": "T"},
                {"key": "u.a", "type": "int", "only": ["x"], "default": 1, "min": 0, "help": "A"},
                {"key": "u.a", "type": "int", "only": ["y"], "default": 2, "min": 0, "help": "A"}]
        code = generate(rows, made="config_numbers.h")[2]
        self.assertIn("#define MASTER_CONFIG_U_A_MIN 0\n", code)
        self.assertNotIn("MASTER_CONFIG_U_A_DEFAULT", code)
        self.assertIn("row u.a: has two defaults", generate(GOOD, experiment=rows)[1])


if __name__ == "__main__":
    unittest.main()
