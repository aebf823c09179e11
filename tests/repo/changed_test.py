#!/usr/bin/env python3
"""Which tests `./dev test --changed` and `./dev test -R` choose and build.

usage: changed_test.py BUILD_DIR
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = sys.argv.pop() if len(sys.argv) > 1 else "build/release"


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **more)


class Changed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "changed-folders", self.root / "tools")
        for name in ("tests/engine/a.cpp", "tests/repo/a.py", "tests/cli/a.cpp", "src/engine/e.cpp", "docs/page.md"):
            self.write(name, "one\n")
        self.git("init", "-q")
        self.commit()

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *words):
        done = run("git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-qm", "a change")

    def folders(self, *words):
        done = run(self.root / "tools" / "changed-folders", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_a_file_of_src_that_is_not_committed_chooses_its_folder(self):
        self.write("src/engine/e.cpp", "two\n")
        self.assertEqual(self.folders(), ["engine"])

    def test_a_new_file_does_too(self):
        self.write("src/engine/new.cpp", "one\n")
        self.assertEqual(self.folders(), ["engine"])

    def test_with_all_committed_it_is_the_last_commit(self):
        self.write("docs/page.md", "two\n")
        self.commit()
        self.assertEqual(self.folders(), ["cli", "repo"])

    def test_a_base_reaches_further(self):
        for name in ("src/engine/e.cpp", "docs/page.md"):
            self.write(name, "two\n")
            self.commit()
        self.assertEqual(self.folders("HEAD~2"), ["cli", "engine", "repo"])

    def test_a_base_that_is_no_commit_is_refused_by_name(self):
        done = run(self.root / "tools" / "changed-folders", "nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nowhere", done.stderr)


class Files(unittest.TestCase):
    TOOL = ROOT / "tools" / "test_files.py"

    def test_a_program_is_its_own_file(self):
        done = run(sys.executable, "-B", self.TOOL, BUILD, "-R", "^engine_test$")
        self.assertEqual(done.stdout.split(), ["tests/engine_test"], done.stderr)

    def test_a_script_needs_the_product(self):
        done = run(sys.executable, "-B", self.TOOL, BUILD, "-R", "^e2e_tenants$")
        self.assertIn("bin/divvy", done.stdout.split(), done.stderr)
        self.assertFalse([name for name in done.stdout.split() if name.endswith("_test")])

    def test_a_folder_has_only_its_own_tests(self):
        done = run(sys.executable, "-B", self.TOOL, BUILD, "--folders", "scheduler")
        self.assertIn("scheduler_test", done.stdout)
        self.assertNotIn("engine_test", done.stdout)

    def test_no_test_is_an_error(self):
        done = run(sys.executable, "-B", self.TOOL, BUILD, "-R", "^there_is_none$")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there_is_none", done.stderr)


if __name__ == "__main__":
    unittest.main()
