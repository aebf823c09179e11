#!/usr/bin/env python3
"""The linter's own canary: each rule must find a planted violation and accept its clean twin."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

RULES = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lint" / "rules.py"
CLEAN = '#pragma once\n#include "base/bytes.h"\n'


def run(rule, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, str(RULES), "--root", folder, rule],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class Rules(unittest.TestCase):
    def finds(self, rule, name, text, what):
        code, out = run(rule, {name: text})
        self.assertEqual(code, 1, out)
        self.assertIn(what, out)
        self.assertIn(name, out)

    def accepts(self, rule, name, text):
        code, out = run(rule, {name: text})
        self.assertEqual(code, 0, out)

    def test_includes_run_one_way(self):
        self.finds("includes", "src/ledger/a.h", '#include "agent/agent.h"\n', "must not include")
        self.finds("includes", "src/interposer/a.cpp", '#include "driver/nvml.h"\n', "interposer")
        self.finds("includes", "src/cli/a.cpp", '#include "simgpu/runtime.h"\n', "simgpu/runtime.h")
        self.finds("includes", "src/newcomer/a.cpp", "\n", "not in the dependency table")
        self.accepts("includes", "src/ledger/a.h", CLEAN)
        self.accepts("includes", "src/cli/a.cpp", '#include "simgpu/catalog.h"\n')

    def test_folders_of_a_module_run_one_way(self):
        self.finds("folders", "src/scheduler/codec/a.cpp", '#include "cache/b.h"\n', "must not include cache/b.h")
        self.finds("folders", "src/scheduler/attic/a.cpp", "\n", "not in the table SUBFOLDERS")
        self.accepts("folders", "src/scheduler/cache/a.cpp", '#include "codec/b.h"\n')
        many = {f"src/base/f{number}.cpp": "\n" for number in range(31)}
        code, out = run("folders", many)
        self.assertIn("31 source files", out)
        self.assertEqual(code, 1, out)

    def test_names_follow_the_glossary(self):
        page = {"GLOSSARY.md": "## Part (`src/base`)\n| term | means | `Books` `kicker` |\n",
                "tools/lint/file_words.txt": "cache kicker\n"}
        for name, text, what in (("src/base/cache.h", "#pragma once\nclass Books {};\n", '"Books"'),
                                 ("src/base/kicker.h", "#pragma once\n", 'a file called "kicker"'),
                                 ("src/base/zebra.h", "#pragma once\n", '"zebra" is no word'),
                                 ("src/base/include/base/cache.h", "#pragma once\nint kicker();\n", '"kicker"')):
            code, out = run("names", page | {name: text})
            self.assertEqual(code, 1, out)
            self.assertIn(what, out)
        code, out = run("names", page | {"src/base/cache.h": "#pragma once\n// Books\nclass Cache {};\n",
                                         "src/yaml/cache.h": "#pragma once\nclass Books {};\n"})
        self.assertEqual(code, 0, out)

    def test_classes_have_a_budget(self):
        functions = "".join(f"  void f{number}();\n" for number in range(26))
        large = {"src/base/a.h": "class Large {\n public:\n" + functions + "};\n"}
        code, out = run("classes", large | {"tools/lint/class_budget.json": "{}"})
        self.assertEqual(code, 1, out)
        self.assertIn("base/Large has 26 functions; accepted are 25", out)
        listed = '{"base/Large": {"functions": 26}}'
        self.assertEqual(run("classes", large | {"tools/lint/class_budget.json": listed})[0], 0)
        stale = '{"base/Large": {"functions": 27}}'
        self.assertIn("lower the list", run("classes", large | {"tools/lint/class_budget.json": stale})[1])
        data = {"src/base/a.h": "class Data {\n" + "".join(f"  int m{n}_;\n" for n in range(13)) + "};\n"}
        self.assertIn("13 members", run("classes", data | {"tools/lint/class_budget.json": "{}"})[1])
        spread = {f"src/base/{name}.cpp": "void Data::f() {}\n" for name in "abc"}
        plain = {"src/base/d.h": "class Data {\n  void f();\n};\n"}
        self.assertIn("3 files", run("classes", spread | plain | {"tools/lint/class_budget.json": "{}"})[1])

    def test_guest_never_leaves_traces(self):
        for line in ("exit(1);", "umask(0);", 'printf("x");', "void* p = malloc(3);",
                     "#include <string>", "throw 3;"):
            self.finds("guest", "src/interposer/a.cpp", line + "\n", "no place")
        self.accepts("guest", "src/interposer/a.cpp", '// never exit(1)\nconst char* s = "exit(1)";\n')
        self.accepts("guest", "src/agent/a.cpp", "exit(1);\n")

    def test_budgets(self):
        self.finds("budgets", "src/base/a.cpp", "int x;\n" * 501, "501 lines")
        self.finds("budgets", "src/base/a.cpp", "// " + "x" * 100 + "\n", "103 columns")
        long = "void f() {\n" + "  g();\n" * 71 + "}\n"
        self.finds("budgets", "src/base/a.cpp", long, "a function of 72 lines")
        nested = "namespace n {\nclass C {\n  void f() {\n" + "  g();\n" * 71 + "  }\n};\n}\n"
        self.finds("budgets", "src/base/a.cpp", nested, "a function of 72 lines")
        self.accepts("budgets", "src/base/a.cpp", "namespace n {\n" + "void f() {\n}\n" * 60 + "}\n")

    def test_hygiene(self):
        self.finds("hygiene", "docs/a.md", "see /wo" + "rk/main\n", "somebody's machine")
        self.finds("hygiene", "src/base/a.cpp", "// TO" + "DO later\n", "unfinished")
        self.finds("hygiene", "tests/a.cpp", "usleep" + "(3);\n", "sleep")
        self.accepts("hygiene", "src/base/a.cpp", "// usleep" + "(3) would be wrong here\n")

    def test_names_of_tests(self):
        self.finds("tests", "tests/base/a_test.cpp", "TEST(Bytes, WorkAsTheyShould) {}\n", "Condition_Expectation")
        self.finds("tests", "tests/base/a_test.cpp", f"TEST_F(Bytes, {'A' * 40}_{'B' * 20}) {{}}\n", "letters")
        self.accepts("tests", "tests/base/a_test.cpp", "TEST(Bytes, TooMany_AreRefused) {}\n")

    def test_headers(self):
        self.finds("headers", "src/base/a.h", "int x;\n", "#pragma once")
        code, out = run("headers", {"src/base/a.cpp": "int x;\n"})
        self.assertEqual(code, 1, out)
        self.assertIn("src/base:1: headers: no README.md", out)


if __name__ == "__main__":
    unittest.main(verbosity=1)
