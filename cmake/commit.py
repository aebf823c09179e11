#!/usr/bin/env python3
"""Writes the C++ file that names the commit a program is built from: commit.py SOURCE OUT [--commit HASH]

The commit is that of git's HEAD, and the tree counts as modified if a tracked file differs from it. A source tree that
is no checkout of its own (a tarball, also one unpacked inside another checkout) names no commit. --commit gives it for
such trees. OUT is written only if its content changes, so that an unchanged commit recompiles nothing."""
import argparse
import pathlib
import re
import subprocess
import sys

HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def git(source, *words):
    """Its output, or None if it fails or is not installed. Takes no lock that a commit beside it needs."""
    try:
        done = subprocess.run(["git", "--no-optional-locks", "-C", str(source), *words], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def commit_of(source):
    """Hash and whether the tree is modified; ("", False) without a checkout."""
    top = git(source, "rev-parse", "--show-toplevel")
    if top is None or pathlib.Path(top).resolve() != source.resolve():
        return "", False
    found = git(source, "rev-parse", "HEAD")
    if found is None:
        return "", False
    return found, git(source, "status", "--porcelain", "--untracked-files=no") != ""


def text_of(commit, modified):
    return ('// Made by cmake/commit.py.\n#include "commit.h"\n\nnamespace divvy {\n\n'
            f'const cli::SourceCommit kSourceCommit{{"{commit}", {str(modified).lower()}}};\n\n'
            "}  // namespace divvy\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--commit", default="")
    given = parser.parse_args()
    if given.commit and not HASH.fullmatch(given.commit):
        sys.exit(f"commit.py: DIVVY_COMMIT is \"{given.commit}\"; accepted: a full hash of 40 or 64 digits")
    text = text_of(*((given.commit, False) if given.commit else commit_of(given.source)))
    if not given.out.exists() or given.out.read_text() != text:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
