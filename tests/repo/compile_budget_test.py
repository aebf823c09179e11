#!/usr/bin/env python3
"""What tools/lint/compile_budget.py finds: modules and compilations over their budget, and new modules."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint"))
sys.dont_write_bytecode = True
import compile_budget  # noqa: E402

BUDGET = {"compilation": 100, "modules": {"src/a": 150}}


class CompileBudget(unittest.TestCase):
    def findings(self, modules, objects):
        return list(compile_budget.findings(BUDGET, modules, objects))

    def test_within_the_budget_nothing_is_found(self):
        self.assertEqual(self.findings({"src/a": 150}, {"src/a/one.o": 100, "src/a/two.o": 50}), [])

    def test_a_module_above_its_budget_is_named_with_both_figures(self):
        found = self.findings({"src/a": 151}, {"src/a/one.o": 100, "src/a/two.o": 51})
        self.assertEqual(found, ["src/a: its compilations read 151 thousand lines; the budget is 150"])

    def test_a_compilation_above_the_budget_is_named(self):
        found = self.findings({"src/a": 101}, {"src/a/one.o": 101})
        self.assertEqual(found, ["src/a/one.o: reads 101 thousand lines; the budget of a compilation is 100"])

    def test_a_module_without_a_budget_is_a_finding(self):
        self.assertIn("src/b: no budget", self.findings({"src/b": 1}, {"src/b/one.o": 1})[0])


if __name__ == "__main__":
    unittest.main()
