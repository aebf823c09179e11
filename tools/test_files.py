#!/usr/bin/env python3
"""Which files of a build the chosen tests need, so that only those are built.

usage: test_files.py BUILD_DIR [CTEST ARGS]               files, relative to BUILD_DIR, one word each
       test_files.py BUILD_DIR --folders FOLDER...        a regular expression for ctest -R: tests of tests/FOLDER

A test needs its program, and what its property REQUIRED_FILES names (tests that are scripts). A test program's
own dependencies are known to the build. Exit status 2 and a line on stderr if no test is chosen.
"""
import json
import pathlib
import re
import subprocess
import sys


def tests_of(build, arguments):
    done = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1", *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"test_files: ctest: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)["tests"]


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def files_of(build, test):
    """Paths below the build directory that the test needs."""
    found = [test["command"][0]] if test.get("command") else []
    required = properties(test).get("REQUIRED_FILES", [])
    found += required if isinstance(required, list) else [required]
    for name in found:
        path = pathlib.Path(name)
        if path.is_absolute() and path.is_relative_to(build):
            yield str(path.relative_to(build))


def folder_of(build, test):
    """NAME for a test that tests/NAME/CMakeLists.txt, or one below it, adds."""
    where = pathlib.Path(properties(test).get("WORKING_DIRECTORY", "/"))
    parts = where.relative_to(build).parts if where.is_relative_to(build) else ()
    return parts[1] if len(parts) > 1 and parts[0] == "tests" else ""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:3] == ["--folders"]:
        wanted = set(sys.argv[3:])
        names = [t["name"] for t in tests_of(build, []) if folder_of(build, t) in wanted]
        print("^(" + "|".join(re.escape(name) for name in names) + ")$")
        return
    tests = tests_of(build, sys.argv[2:])
    if not tests:
        print(f"test_files: no test matches {' '.join(sys.argv[2:])}", file=sys.stderr)
        sys.exit(2)
    # `ctest -R` without programs names them by what is to be built, if that is not there yet.
    print(" ".join(sorted({name for test in tests for name in files_of(build, test)})))


if __name__ == "__main__":
    main()
