#!/usr/bin/env python3
"""Which files cmake/unity.py compiles together, and which never."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "cmake" / "unity.py"
JSON = "namespace boost::json { struct value {}; }\n"
ALIAS = "namespace a { namespace {\nnamespace json = boost::json;\njson::value "


class Unity(unittest.TestCase):
    def batches(self, files, headers=None, lines=2000):
        """Names of the files that are compiled together, after the compiler accepted each batch."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "src", "one")
            source.mkdir(parents=True)
            pathlib.Path(folder, "CMakePresets.json").write_text("{}", encoding="utf-8")
            for name, text in (files | (headers or {})).items():
                (source / name).write_text(text, encoding="utf-8")
            listed = pathlib.Path(folder, "sources")
            listed.write_text("".join(f"{source};one;{source / name}\n" for name in files), encoding="utf-8")
            out = pathlib.Path(folder, "out.cmake")
            subprocess.run([sys.executable, "-B", TOOL, listed, out, "--lines", str(lines)], check=True,
                           stderr=subprocess.DEVNULL)
            made = {}
            for block in out.read_text(encoding="utf-8").split("set_source_files_properties(")[1:]:
                words = block.replace(")", " ").split()
                group = words[words.index("UNITY_GROUP") + 1]
                made[group] = [pathlib.Path(w).name for w in words if w.endswith(".cpp")]
            for batch in made.values():
                unit = source / "batch.cc"
                unit.write_text("".join(f'#include "{name}"\n' for name in batch), encoding="utf-8")
                done = subprocess.run(["g++", "-std=c++20", "-Wall", "-Wshadow", "-Werror", "-Wno-unused-function",
                                       "-Wno-unused-variable", "-Wno-unused-const-variable", "-fsyntax-only", unit],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{batch}: {done.stderr}")
            return sorted(made.values())

    def apart(self, one, other, headers=None):
        self.assertEqual(self.batches({"a.cpp": one, "b.cpp": other}, headers), [])

    def together(self, one, other, headers=None):
        self.assertEqual(self.batches({"a.cpp": one, "b.cpp": other}, headers), [["a.cpp", "b.cpp"]])

    def test_files_with_names_of_their_own_are_compiled_together(self):
        self.together("namespace a { namespace { int one() { return 1; } } int x() { return one(); } }\n",
                      "namespace a { namespace { int two() { return 2; } } int y() { return two(); } }\n")

    def test_the_same_name_in_two_anonymous_namespaces_keeps_files_apart(self):
        for one in ("int limit() { return 1; }", "constexpr int limit = 1;", "struct limit { int a; };",
                    "enum Kind { limit };", "template <class T> T limit(T a) { return a; }",
                    "const std::vector<int> limit{1};"):
            text = "#include <vector>\nnamespace a { namespace {\n" + one + "\n} }\n"
            with self.subTest(one):
                self.apart(text, text)

    def test_the_same_static_or_constant_outside_one_keeps_files_apart(self):
        self.apart("static int count;\n", "static int count;\n")
        self.apart("constexpr int kMost = 1;\n", "constexpr int kMost = 2;\n")

    def test_a_name_that_another_file_uses_for_a_local_keeps_files_apart(self):
        self.apart("namespace { int size() { return 1; } }\n", "int y() { int size = 2; return size; }\n")

    def test_a_member_of_that_name_does_not(self):
        self.together("namespace { int extent() { return 1; } }\n",
                      "struct S { int (*f)(); };\nint y(S s) { return s.f(); }\nint z(S* s) { return s->f(); }\n")

    def test_a_name_that_another_files_header_declares_keeps_files_apart(self):
        self.apart("namespace a { namespace { struct Card { int index; }; } }\n",
                   '#include "card.h"\nint y() { return a::first(); }\n',
                   {"card.h": "#pragma once\nnamespace a { struct Card { int books; };\nint first(Card c = {}); }\n"})

    def test_a_header_of_both_does_not(self):
        header = {"card.h": "#pragma once\nnamespace a { struct Card { int one; };\nint first(Card c); }\n"}
        self.together('#include "card.h"\nnamespace a { namespace { int plus(Card c) { return c.one; } }\n'
                      "int first(Card c) { return plus(c); } }\n",
                      '#include "card.h"\nint y() { return a::first({}); }\n', header)

    def test_the_same_alias_is_shared_and_another_of_that_name_is_not(self):
        json = {"json.h": "#pragma once\n" + JSON + "namespace std_json { struct value {}; }\n"}
        include = '#include "json.h"\n'
        self.together(include + ALIAS + "one() { return {}; }\n} }\n", include + ALIAS + "two() { return {}; }\n} }\n",
                      json)
        self.apart(include + ALIAS + "one() { return {}; }\n} }\n",
                   include + ALIAS.replace("boost::json", "std_json") + "two() { return {}; }\n} }\n", json)

    def test_a_macro_before_system_headers_keeps_a_file_alone(self):
        self.apart("#define _FILE_OFFSET_BITS 64\n#include <vector>\nint x();\n", "int y();\n")

    def test_a_macro_of_a_name_that_another_file_uses_keeps_files_apart(self):
        self.apart("#define limit 3\nint x() { return limit; }\n", "int limit();\n")

    def test_names_in_comments_and_strings_are_no_names(self):
        self.together("namespace { int first() { return 1; } }\n// second\n",
                      'namespace { const char* second() { return "first"; } }  // first\n')

    def test_files_with_other_using_directives_are_kept_apart(self):
        space = {"n.h": "#pragma once\nnamespace n { int a(); }\n"}
        self.apart('#include "n.h"\nusing namespace n;\nint x() { return a(); }\n', "int y();\n", space)

    def test_a_batch_has_at_most_so_many_lines(self):
        files = {f"f{i}.cpp": f"int f{i}() {{\n  return {i};\n}}\n" for i in range(10)}
        made = self.batches(files, lines=9)
        self.assertEqual([len(batch) for batch in made], [3, 3, 3])


if __name__ == "__main__":
    unittest.main()
