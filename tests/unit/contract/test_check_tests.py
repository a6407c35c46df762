#!/usr/bin/env python3
"""tools/check-tests, on small trees: which pauses of tests it minds."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check-tests"


class CheckTests(unittest.TestCase):
    def faults(self, name, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
            done = subprocess.run([sys.executable, TOOL, directory], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1 if done.stdout else 0, done.stderr)
        return done.stdout.splitlines()

    def test_a_pause_without_a_reason_is_told(self):
        [fault] = self.faults("tests/api/test_x.py", "import time\ntime.sleep(1)\n")
        self.assertTrue(fault.startswith("tests/api/test_x.py:2: time.sleep()"), fault)

    def test_a_pause_with_a_reason_is_not(self):
        self.assertEqual(self.faults("python/tests/test_x.py", "import time\ntime.sleep(1)  # time to do it wrong\n"), [])

    def test_programs_that_tests_start_may_pause(self):
        self.assertEqual(self.faults("tests/compat/programs/train.py", "import time\ntime.sleep(1)\n"), [])
        self.assertEqual(self.faults("tests/api/test_x.py", "PROGRAM = 'time.sleep(1)'\n"), [])

    def test_a_second_wait_for_is_told_and_a_method_of_that_name_is_not(self):
        self.assertEqual(len(self.faults("tests/api/test_x.py", "def wait_for(condition):\n    pass\n")), 1)
        self.assertEqual(self.faults("tests/api/test_x.py", "class T:\n    def wait_for(self, text):\n        pass\n"), [])


if __name__ == "__main__":
    unittest.main()
