#!/usr/bin/env python3
"""What tools/run-tests makes of tests that fail always, once, or not at all."""
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "run-tests"
GOOD = ("good", "true")
BAD = ("bad", "echo broken; false")
# Fails the first time that it is run in a folder.
ONCE = ("once", "test -e ran || { touch ran; echo too slow; false; }")


class RunTests(unittest.TestCase):
    def run_tests(self, *tests, arguments=()):
        with tempfile.TemporaryDirectory() as folder:
            lines = [f'add_test({name} sh -c [==[{script}]==])' for name, script in tests]
            pathlib.Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines) + "\n",
                                                                   encoding="utf-8")
            done = subprocess.run([TOOL, folder, "2", *arguments], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            return done.returncode, done.stdout

    def test_what_passes_is_run_once(self):
        code, out = self.run_tests(GOOD)
        self.assertEqual(code, 0, out)
        self.assertNotIn("once more", out)

    def test_what_passes_alone_is_named_with_its_first_output(self):
        code, out = self.run_tests(GOOD, ONCE)
        self.assertEqual(code, 0, out)
        self.assertEqual(out.splitlines()[-1], "flaky: once failed beside others and passed alone")
        self.assertIn("too slow", out)
        self.assertEqual(out.count("Test #1: good"), 1, out)

    def test_what_fails_twice_fails(self):
        code, out = self.run_tests(BAD, ONCE)
        self.assertNotEqual(code, 0, out)
        self.assertEqual(out.splitlines()[-2:],
                         ["failed: bad failed beside others and alone",
                          "flaky: once failed beside others and passed alone"])
        self.assertEqual(out.count("broken"), 2, out)

    def test_a_counterexample_is_drawn_again(self):
        drawn = ("property", 'echo "with $RC_PARAMS"; false')
        code, out = self.run_tests(drawn)
        self.assertNotEqual(code, 0, out)
        self.assertEqual(out.count("with seed="), 2, out)

    def test_a_failure_that_is_no_tests_stays_one(self):
        code, out = self.run_tests(GOOD, arguments=("-R", "nothing", "--no-tests=error"))
        self.assertNotEqual(code, 0, out)
        self.assertNotIn("once more", out)

    def test_what_is_skipped_is_counted(self):
        code, out = self.run_tests(("skips", "echo 'SKIPPED: no card'"))
        self.assertEqual(code, 0, out)
        self.assertIn("1 SKIPPED: no card", out)


if __name__ == "__main__":
    unittest.main()
