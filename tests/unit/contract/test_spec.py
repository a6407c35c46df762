#!/usr/bin/env python3
"""The tables of docs/spec say what the code does: states and their moves, kinds of exits, variables of tasks."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
LIFECYCLE = (ROOT / "docs/spec/lifecycle.md").read_text(encoding="utf-8")
TASKS = (ROOT / "docs/spec/task-environment.md").read_text(encoding="utf-8")
STATES_C = (ROOT / "src/core/records/states.c").read_text(encoding="utf-8")
STATES_H = (ROOT / "src/core/records/states.h").read_text(encoding="utf-8")


def section(page, heading):
    [text] = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return text


def first_table(text):
    """The rows of the first table, as lists of cells, without head and rule."""
    [*_, rows] = re.search(r"((?:^\|.*\n)+)", text, re.M).groups()
    return [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in rows.splitlines()[2:]]


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


def moves_of_page(heading, stopping):
    moves = {}
    for row in first_table(section(LIFECYCLE, heading)):
        to = set(names(row[1].replace("every `STOPPING_…`", " ".join(f"`{name}`" for name in stopping))))
        moves.update({name: to for name in names(row[0])})
    return moves


def moves_of_code(table):
    macros = dict(re.findall(r"^#define (ANY_STOPPING|FAILING) (.*)", STATES_C.replace("\\\n", " "), re.M))
    [text] = re.findall(rf"{table}\[[^\]]*\] = \{{(.*?)\n\}};", STATES_C, re.S)
    moves = {}
    for name, to in re.findall(r'\{"(\w+)",(.*?),[^,]*\}', text, re.S):
        to = re.sub(r"\b(ANY_STOPPING|FAILING)\b", lambda m: macros[m.group()], to)
        moves[name] = set(re.findall(r"RUN_(\w+)", to))
    return moves


class Spec(unittest.TestCase):
    def check_moves(self, heading, table):
        code = moves_of_code(table)
        stopping = [name for name in code if name.startswith("STOPPING_")]
        page = moves_of_page(heading, stopping)
        self.assertGreater(len(code), 8)
        self.assertEqual(page, {name: to for name, to in code.items() if to})  # a state without a move has no row

    def test_moves_of_experiments(self):
        self.check_moves("Experiment states", "experiment_states")

    def test_moves_of_trials(self):
        self.check_moves("Trial states", "trial_states")

    def test_states_of_allocations_and_containers_in_their_order(self):
        for heading, prefix in (("Allocation states", "ALLOCATION"), ("Container states", "CONTAINER")):
            [text] = re.findall(rf"enum {prefix.lower()}_state \{{(.*?){prefix}_STATE_NR", STATES_H, re.S)
            in_code = re.findall(rf"{prefix}_(\w+)", text)
            self.assertEqual(names(section(LIFECYCLE, heading))[: len(in_code)], in_code)

    def test_kinds_of_exits(self):
        [text] = re.findall(r"#define EXIT_KINDS\(X\)(.*?)enum exit_kind", STATES_H, re.S)
        in_code = set(re.findall(r"X\((\w+),", text)) - {"NONE"}
        tables = re.findall(r"((?:^\|.*\n)+)", section(LIFECYCLE, "End of a trial's allocation"), re.M)
        self.assertEqual({name for line in tables[0].splitlines()[2:] for name in names(line.split("|")[1])}, in_code)

    def test_variables_of_tasks(self):
        for heading, files in (("Variables from the master", ("src/master/start_task.c", "src/master/programs/task_program.c")),
                               ("Variables from the agent", ("src/agent/task/taskenv.c",))):
            code = "".join((ROOT / file).read_text(encoding="utf-8") for file in files)
            set_there = set(re.findall(r'"(DET_[A-Z0-9_]+)[="]', code))
            of_rows = {name for line in section(TASKS, heading).splitlines() for name in names(line.split("|")[1] if "|" in line else "")}
            self.assertEqual(set_there - set(names(TASKS)), set(), heading)
            self.assertEqual({name for name in of_rows if name.startswith("DET_")} - set_there, set(), heading)


if __name__ == "__main__":
    unittest.main()
