#!/usr/bin/env python3
"""Each row of the checklist in docs/concepts/security-model.md has an id and a state, and names proofs that are there."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

from page_table import rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop(1)
PAGE = ROOT / "docs" / "concepts" / "security-model.md"
STATES = {"holds", "partly", "no"}
IDS = [f"{area}{number}" for area, last in (("A", 7), ("B", 7), ("C", 4), ("D", 5)) for number in range(1, last + 1)]


def names():
    """What a proof may be called: a test of ctest, a file or folder of tests, a fuzz target, a check of a cluster."""
    shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], capture_output=True, text=True,
                           check=True).stdout
    found = {test["name"] for test in json.loads(shown)["tests"]}
    for path in (ROOT / "tests").rglob("*"):
        if path.is_dir() or path.suffix in {".py", ".cpp"}:
            found.add(str(path.relative_to(ROOT).with_suffix("")))
        if path.suffix == ".cpp" and path.stem.startswith("fuzz_"):
            found.add(path.stem)
        if path.suffix == ".go":
            found |= set(re.findall(r'Check\{Name:\s*"([a-z][a-z0-9-]+)"', path.read_text(encoding="utf-8")))
    return found


class SecurityRows(unittest.TestCase):
    def test_each_id_is_there_once_in_order(self):
        self.assertEqual([cells[0] for cells in rows(PAGE.read_text(encoding="utf-8"), "## Checklist")], IDS)

    def test_each_row_names_proofs_that_are_there_or_what_is_missing(self):
        known = names()
        commands = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=False).stdout
        for name, _, state, proof in rows(PAGE.read_text(encoding="utf-8"), "## Checklist"):
            self.assertIn(state, STATES, name)
            named = re.findall(r"`([^`]+)`", proof)
            if state != "no":
                self.assertTrue(named, f"{name}: no proof")
            for one in named:
                if one.startswith("./dev "):
                    self.assertIn(one.split()[1], commands, name)
                elif one.endswith("*"):
                    self.assertTrue(any(other.startswith(one[:-1]) for other in known), f"{name}: {one}")
                elif state != "no":
                    self.assertTrue(one in known, f"{name}: there is no {one}")

    def test_a_promise_that_holds_lacks_nothing(self):
        for name, _, state, proof in rows(PAGE.read_text(encoding="utf-8"), "## Checklist"):
            if state == "partly":
                self.assertRegex(proof, r";|: |no ", f"{name}: what is missing is not said")


if __name__ == "__main__":
    unittest.main()
