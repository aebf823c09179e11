#!/usr/bin/env python3
"""Every requirement on the interposer (I1-I9), what it must survive (S1-S13) and every ABI rule
(B1-B9) has at least one test named after it: ArraysOfEveryShape_I4Charged, test_B9_..."""
import pathlib
import re
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ([f"I{n}" for n in range(1, 10)] + [f"S{n}" for n in range(1, 14)]
                + [f"B{n}" for n in range(1, 10)])
NAMED = re.compile(r"^\s*(?:TEST(?:_F|_P)?\(\s*\w+,\s*\w+?_|def test_)((?:[ISB]\d+_?)+)(?=[A-Za-z])",
                   re.MULTILINE)


def named(text):
    return {name for head in NAMED.findall(text)
            for name in re.findall(r"[ISB]\d+", head)}


class Requirements(unittest.TestCase):
    def test_names_are_read_as_they_are_written(self):
        for line, found in (("TEST_F(LookupTest, EveryName_I2Found) {", {"I2"}),
                            ("TEST_F(Memory, Shrunk_I6S12FreeIsZero) {", {"I6", "S12"}),
                            ("    def test_B9_the_right_type_builds(self):", {"B9"}),
                            ("TEST_F(Any, Int8_IsAType) {", set()),
                            ("// I7: not a test", set())):
            self.assertEqual(named(line), found, line)

    def test_each_has_a_test(self):
        found = set()
        for path in TESTS.rglob("*"):
            if path.suffix in (".cpp", ".py") and path != pathlib.Path(__file__).resolve():
                found |= named(path.read_text(encoding="utf-8"))
        self.assertEqual([r for r in REQUIREMENTS if r not in found], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
