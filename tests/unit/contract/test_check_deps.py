#!/usr/bin/env python3
"""tools/check-deps, on small trees: what it finds, what it leaves alone, and what it writes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check-deps"

TABLE = """digraph rooms {
    subgraph cluster_common {
        "common" [open="core store"];
    }
    subgraph cluster_core {
        "core" [open="store"];
        "core/sched";
        "core/records" [open="store"];
        "core" -> {"core/sched"};
        "core/sched" -> {"core/records"};
    }
    "store";
    "core" -> {"common"};
    "store" -> {"common" "core"};
}
"""
STATE = "    sm_check_move(x);\n    t->row.state = to;\n"
GOOD = {
    "docs/rooms.dot": TABLE,
    "docs/ARCHITECTURE.md": "# Map\n\n<!-- made by tools/check-deps of docs/rooms.dot -->\n```\n```\n",
    "src/common/a.h": "",
    "src/core/core.h": "",
    "src/core/core.c": '#include "core/core.h"\n#include "common/a.h"\n#include "core/sched/sched.h"\n' + STATE * 4,
    "src/core/sched/sched.h": '#include "core/records/rows.h"\n',
    "src/core/records/rows.h": "#include <stdint.h>\n",
    "src/store/s.h": '#include "common/a.h"\n#include "core/core.h"\n#include "core/records/rows.h"\n',
    "src/common/README.md": "**May include:** nobody knows yet\n\n**Begin with** `a.h`.\n",
    "src/core/README.md": "**May include:** nobody knows yet\n",
    "src/core/sched/README.md": "**May include:** nobody knows yet\n",
    "src/core/records/README.md": "**May include:** nobody knows yet\n",
    "src/store/README.md": "**May include:** nobody knows yet\n",
}


class CheckDeps(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name, text in GOOD.items():
            self.write(name, text)
        self.assertEqual(self.faults("--write"), [])

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def faults(self, *args):
        done = subprocess.run([sys.executable, TOOL, *args, self.root], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1 if done.stdout else 0, done.stderr)
        return done.stdout.splitlines()

    def found(self, *expected):
        faults = self.faults()
        self.assertEqual(len(faults), len(expected), faults)
        for fault, beginning in zip(faults, expected):
            self.assertTrue(fault.startswith(beginning), f"{fault!r} instead of {beginning!r}")

    def test_a_good_tree_has_no_faults(self):
        self.found()

    def test_pages_are_written_from_the_table(self):
        text = (self.root / "src/core/sched/README.md").read_text()
        self.assertIn("**May include:** `core/records` of its own layer", text)
        self.assertIn("**May be included by:** `src/core` itself of its own layer; no other layer.", " ".join(text.split()))
        self.assertIn("**Begin with** `a.h`.", (self.root / "src/common/README.md").read_text())
        self.assertIn("store may include  common, core", (self.root / "docs/ARCHITECTURE.md").read_text())

    def test_a_page_that_says_something_else(self):
        self.write("src/core/sched/README.md", "**May include:** everything\n")
        self.found("src/core/sched/README.md:1: does not say what docs/rooms.dot says")
        self.write("src/core/sched/README.md", "# Scheduler\n")
        self.found("src/core/sched/README.md:1: lacks what docs/rooms.dot says")

    def test_an_include_within_a_layer_that_the_table_does_not_have(self):
        self.write("src/core/records/b.h", '#include "core/sched/sched.h"\n')
        self.found("src/core/records/b.h:1: includes core/sched/sched.h: of its layer, src/core/records may include nothing")

    def test_an_include_of_a_layer_above(self):
        self.write("src/core/b.h", '\n#include "store/s.h"\n')
        self.found("src/core/b.h:2: includes store/s.h: core may include common")

    def test_an_include_of_a_room_that_is_not_open(self):
        self.write("src/store/b.h", '#include "core/sched/sched.h"\n')
        self.found("src/store/b.h:1: includes core/sched/sched.h: src/core/sched is open to nothing")

    def test_what_the_table_allows_in_vain(self):
        self.write("src/core/sched/sched.h", "")
        self.write("src/store/s.h", '#include "common/a.h"\n#include "core/core.h"\n')
        self.found("docs/rooms.dot:1: lets src/core/sched include src/core/records, and no file does",
                   "docs/rooms.dot:1: opens src/core/records to store, and no file there includes it")

    def test_rooms_that_include_each_other_in_a_circle(self):
        self.write("docs/rooms.dot", TABLE.replace('"core/sched" -> {"core/records"};',
                                                   '"core/sched" -> {"core/records"};\n"core/records" -> {"core/sched"};'))
        self.write("src/core/records/b.h", '#include "core/sched/sched.h"\n')
        self.assertEqual(self.faults("--write"), ["docs/rooms.dot:1: src/core/records and src/core/sched include each other in a circle"])

    def test_a_room_that_the_table_does_not_know(self):
        self.write("src/core/queue/q.h", "")
        self.write("src/core/queue/README.md", "")
        self.found("docs/rooms.dot:1: does not know the room src/core/queue")

    def test_a_room_that_is_gone(self):
        self.write("docs/rooms.dot", TABLE.replace('"store";', '"store";\n"store/logs";'))
        self.assertIn("docs/rooms.dot:1: has a room src/store/logs that does not exist", self.faults())

    def test_a_folder_without_a_readme(self):
        (self.root / "src/core/sched/README.md").unlink()
        self.found("src/core/sched:1: has no README.md")

    def test_a_folder_of_too_many_sources(self):
        for i in range(39):
            self.write(f"src/store/s{i}.c", "")
        self.found()
        self.write("src/store/one_more.c", "")
        self.found("src/store:1: has 41 sources, at most 40 may be")

    def test_the_core_reads_no_clock(self):
        self.write("src/core/b.c", "#include <time.h>\n")
        self.found("src/core/b.c:1: includes time.h: core has no I/O, clock or randomness of its own")

    def test_a_state_that_is_set_past_its_table(self):
        self.write("src/core/core.c", GOOD["src/core/core.c"].replace("    sm_check_move(x);\n", "", 1))
        self.found("src/core/core.c:4: sets a state without asking its table")

    def test_the_store_reads_no_column_by_its_position(self):
        self.write("src/store/b.c", "int n = ops(st)->integer(s, 1);\nrun(SQL_ARGS(a, b, c, d, e, f));\n")
        self.found("src/store/b.c:1: takes or binds a column by its position", "src/store/b.c:2: binds 6 values by their position")


if __name__ == "__main__":
    unittest.main()
