#!/usr/bin/env python3
"""The commit that `divvy version` names: what cmake/commit.py writes for a checkout, a changed one and a tarball, and that
the program built here names this tree's."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "cmake" / "commit.py"
PROGRAM = pathlib.Path(os.environ["DIVVY_BUILD_DIR"], "bin/divvy")
GIVEN = "0123456789abcdef0123456789abcdef01234567"


def git(folder, *words):
    done = subprocess.run(["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com", *words],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(source, out, *words):
    return subprocess.run([sys.executable, "-B", str(SCRIPT), str(source), str(out), *words], capture_output=True, text=True)


def line_of(commit, modified):
    return f'kSourceCommit{{"{commit}", {modified}}};'


class Commit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = pathlib.Path(self.folder.name, "source")
        self.out = pathlib.Path(self.folder.name, "commit.cpp")
        self.source.mkdir()
        (self.source / "file").write_text("a\n")

    def checkout(self):
        git(self.source, "init", "-q")
        git(self.source, "add", "file")
        git(self.source, "commit", "-qm", "a")
        return git(self.source, "rev-parse", "HEAD")

    def written(self, *words, source=None):
        done = write(source or self.source, self.out, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.out.read_text()

    def test_a_checkout_names_its_commit(self):
        commit = self.checkout()
        self.assertIn(line_of(commit, "false"), self.written())

    def test_a_changed_file_counts_and_a_new_one_does_not(self):
        commit = self.checkout()
        (self.source / "new").write_text("b\n")
        self.assertIn(line_of(commit, "false"), self.written())
        (self.source / "file").write_text("b\n")
        self.assertIn(line_of(commit, "true"), self.written())

    def test_an_unchanged_commit_leaves_the_file_alone(self):
        self.checkout()
        self.written()
        os.utime(self.out, (1, 1))
        self.written()
        self.assertEqual(self.out.stat().st_mtime, 1)
        git(self.source, "commit", "-qm", "b", "--allow-empty")
        self.written()
        self.assertNotEqual(self.out.stat().st_mtime, 1)

    def test_a_tarball_names_no_commit(self):
        self.assertIn(line_of("", "false"), self.written())

    def test_a_tarball_inside_another_checkout_names_no_commit(self):
        self.checkout()
        inner = self.source / "inner"
        inner.mkdir()
        self.assertIn(line_of("", "false"), self.written(source=inner))

    def test_a_given_commit_wins(self):
        self.checkout()
        (self.source / "file").write_text("b\n")
        self.assertIn(line_of(GIVEN, "false"), self.written("--commit", GIVEN))

    def test_what_is_no_hash_is_refused(self):
        for given in ("main", GIVEN[:12], '"; int x'):
            done = write(self.source, self.out, f"--commit={given}")
            self.assertIn("accepted: a full hash", done.stderr)
            self.assertNotEqual(done.returncode, 0)
            self.assertFalse(self.out.exists())


class Program(unittest.TestCase):
    def test_it_names_a_commit_of_this_tree(self):
        """HEAD can be ahead of the build, so its ancestors count. A build with DIVVY_COMMIT is not compared."""
        done = subprocess.run([PROGRAM, "version", "-o", "json"], capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)
        made = pathlib.Path(os.environ["DIVVY_BUILD_DIR"], "src/main/commit.cpp").read_text()
        self.assertIn(line_of(said.get("commit", ""), str(said.get("modified", False)).lower()), made)
        if "commit" not in said:
            self.assertFalse((ROOT / ".git").exists(), "this is a checkout: its commit should be named")


if __name__ == "__main__":
    unittest.main()
