#!/usr/bin/env python3
"""Every test of a build has exactly one label, and one that docs/development/testing.md describes.

usage: labels_test.py BUILD_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop() if len(sys.argv) > 1 else "build/release"


class Labels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        page = (ROOT / "docs" / "development" / "testing.md").read_text(encoding="utf-8")
        cls.described = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
        done = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True,
                              check=True)
        cls.tests = json.loads(done.stdout)["tests"]

    def labels(self, test):
        return next((p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"), [])

    def test_each_has_one_that_the_page_describes(self):
        self.assertGreater(len(self.tests), 100)
        for test in self.tests:
            with self.subTest(test["name"]):
                self.assertEqual(len(self.labels(test)), 1)
                self.assertIn(self.labels(test)[0], self.described)

    def test_each_that_is_a_script_names_the_files_it_needs(self):
        scripts = re.compile(r"^(e2e|bench_(quick|works)|card|cli_pages|prometheus)")
        for test in filter(lambda one: scripts.match(one["name"]), self.tests):
            have = {p["name"] for p in test["properties"]}
            with self.subTest(test["name"]):
                self.assertIn("REQUIRED_FILES", have)

    def test_promises_are_those_of_the_page(self):
        page = (ROOT / "docs" / "development" / "testing.md").read_text(encoding="utf-8")
        table = (ROOT / "tools" / "test_times.py").read_text(encoding="utf-8")
        promised = re.search(r"PROMISED = \{(.*?)\}", table, re.S).group(1)
        for label, seconds in re.findall(r'"(\w+)": (\d+)', promised):
            with self.subTest(label):
                self.assertRegex(page, rf"(?m)^\| `{label}` \|.*\| {seconds} s \|")


if __name__ == "__main__":
    unittest.main()
