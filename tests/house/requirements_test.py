#!/usr/bin/env python3
"""Every requirement on the interposer (I1-I9), what it must survive (S1-S13) and every ABI rule
(B1-B9) has at least one test named after it: I4..., S13_..., Requirement_S1_..., test_B9_..."""
import pathlib
import re
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
REQUIREMENTS = ([f"I{n}" for n in range(1, 10)] + [f"S{n}" for n in range(1, 14)]
                + [f"B{n}" for n in range(1, 10)])
NAMED = re.compile(r"^\s*(?:TEST(?:_F|_P)?\(\s*\w+,\s*|def test_)((?:[A-Z]\w*?_)*?"
                   r"(?:[ISB]\d+_?)+)(?=[A-Za-z])", re.MULTILINE)


def named(text):
    return {name for head in NAMED.findall(text)
            for name in re.findall(r"(?<![A-Za-z0-9])[ISB]\d+", head)}


class Requirements(unittest.TestCase):
    def test_names_are_read_as_they_are_written(self):
        for line, found in (("TEST_F(LookupTest, I2EveryName) {", {"I2"}),
                            ("TEST(CudaLibrary, B1_AsksForNothing) {", {"B1"}),
                            ("TEST_F(Kill, Requirement_S10_Older) {", {"S10"}),
                            ("TEST_F(Memory, I6_S12_Shrunk) {", {"I6", "S12"}),
                            ("    def test_B9_the_right_type_builds(self):", {"B9"}),
                            ("TEST_F(Any, Int8IsAType) {", set()),
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
