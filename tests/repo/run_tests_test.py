#!/usr/bin/env python3
"""What tools/run-tests makes of tests that fail always, once, or not at all."""
import os
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
    def run_tests(self, *tests, arguments=(), most=None):
        with tempfile.TemporaryDirectory() as folder:
            lines = [f'add_test({name} sh -c [==[{script}]==])' for name, script in tests]
            pathlib.Path(folder, "CTestTestfile.cmake").write_text("\n".join(lines) + "\n",
                                                                   encoding="utf-8")
            environment = dict(os.environ, DIVVY_FLAKES=f"{folder}/flakes.tsv")
            environment.pop("DIVVY_MOST_FLAKES", None)
            if most is not None:
                environment["DIVVY_MOST_FLAKES"] = str(most)
            done = subprocess.run([TOOL, folder, "2", *arguments], stdout=subprocess.PIPE, env=environment,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            flakes = pathlib.Path(folder, "flakes.tsv")
            self.recorded = flakes.read_text(encoding="utf-8").splitlines() if flakes.exists() else []
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
        self.assertEqual([line.split("\t")[3] for line in self.recorded], ["once"])
        self.assertRegex(self.recorded[0], r"^\d{4}-\d\d-\d\dT")

    def test_more_flakes_than_accepted_fail_the_run(self):
        others = [(f"once{i}", ONCE[1].replace("ran", f"ran{i}")) for i in range(2)]
        code, out = self.run_tests(*others, most=2)
        self.assertEqual(code, 0, out)
        code, out = self.run_tests(*others, most=1)
        self.assertEqual(code, 1, out)
        self.assertEqual(out.splitlines()[-1], "failed: 2 flaky tests in one run; at most 1 are accepted")
        self.assertEqual(len(self.recorded), 2)

    def test_what_passes_leaves_no_record(self):
        self.run_tests(GOOD, BAD)
        self.assertEqual(self.recorded, [])

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
