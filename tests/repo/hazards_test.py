#!/usr/bin/env python3
"""Every test that docs/concepts/oversubscription.md names as the proof of a hazard's rule is there."""
import pathlib
import re
import unittest

from page_table import rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "concepts" / "oversubscription.md"
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def there():
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        name = f"{path.parent.name}_{path.stem}"
        found |= {name, name.removesuffix("_test")}
    for path in (ROOT / "tests").rglob("*.cpp"):
        found |= {".".join(test) for test in TEST.findall(path.read_text(encoding="utf-8"))}
    return found


class Hazards(unittest.TestCase):
    def test_each_row_names_tests_that_exist(self):
        known = there()
        table = list(rows(PAGE.read_text(encoding="utf-8"), "### Hazards"))
        self.assertGreaterEqual(len(table), 20)
        for cells in table:
            self.assertEqual(len(cells), 3, cells)
            named = re.findall(r"`([^`]+)`", cells[2])
            self.assertTrue(named, f"{cells[0]}: no test")
            for name in named:
                self.assertTrue(name in known, f"{cells[0]}: no test {name}")

    def test_what_is_missing_would_be_seen(self):
        known = there()
        self.assertTrue("PagerTest.SwappedOutAndIn_SameBytes" in known)
        self.assertFalse("PagerTest.NoSuch_Test" in known)


if __name__ == "__main__":
    unittest.main()
