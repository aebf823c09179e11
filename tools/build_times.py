#!/usr/bin/env python3
"""Names the compilations of a build that took longest, and the headers that cost most.

usage: build_times.py BUILD_DIR [--top N]

Compilations: wall seconds as ninja logged them; one from the compiler cache took less. Headers: each system header that
a file of ours includes is parsed alone with the product's flags, and that is multiplied by the number of
compilations that read it. A header's figure contains those that it includes itself.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compile_costs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.M)


def flags_of(build):
    """Compiler and flags of one of the product's files that may include everything."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if "/src/cli/" in entry["file"] or "divvy_cli.dir" in entry["command"]:
            words = shlex.split(entry["command"])
            words = words[words.index(next(w for w in words if w.endswith("++") or "/c++" in w or "g++" in w)):]
            cut = words.index("-o")
            return [w for w in words[:cut]]
    sys.exit(f"build_times: {build}/compile_commands.json names no file of src/cli")


def cost_of(header, flags):
    """(header, processor seconds to parse it alone, preprocessed lines); None if it does not compile alone."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder, "unit.cpp")
        unit.write_text(f"#include <{header}>\n", encoding="utf-8")
        text = subprocess.run([*flags, "-w", "-E", "-P", str(unit)], capture_output=True, check=False)
        pid = os.posix_spawnp(flags[0], [*flags, "-w", "-fsyntax-only", str(unit)], os.environ,
                              file_actions=[(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
        _, status, usage = os.wait4(pid, 0)
        if status or text.returncode:
            return None
        return header, usage.ru_utime + usage.ru_stime, text.stdout.count(b"\n")


def headers_of_ours():
    names = subprocess.run(["git", "-C", str(ROOT), "ls-files", "src", "tests", "bench"], capture_output=True, text=True,
                           check=True).stdout.split()
    found = set()
    for name in names:
        if name.endswith((".h", ".cpp")):
            found |= set(INCLUDE.findall((ROOT / name).read_text(encoding="utf-8", errors="replace")))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--top", type=int, default=20)
    given = parser.parse_args()
    build = given.build.resolve()
    took = {o: s for o, s in compile_costs.seconds_of(build).items() if o.endswith(".o")}
    print(f"\n{len(took)} compilations, {sum(took.values()):.0f} s of them together; the {given.top} longest:")
    print(f"{'seconds':>8}  object")
    for output, seconds in sorted(took.items(), key=lambda one: -one[1])[:given.top]:
        members = compile_costs.members_of(build, output)
        name = output.replace("CMakeFiles/", "").replace(".dir", "")
        print(f"{seconds:>8.1f}  {name}" + (f"  ({', '.join(members)})" if members else ""))
    reads = compile_costs.reads_of(build)
    flags = flags_of(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        costs = [c for c in pool.map(lambda h: cost_of(h, flags), headers_of_ours()) if c]
    users = collections.Counter()
    for files in reads.values():
        text = "\n".join(files) + "\n"
        for header, _, _ in costs:
            users[header] += f"/{header}\n" in text
    print(f"\nsystem headers, the {given.top} that cost most in {len(reads)} compilations:")
    print(f"{'all, s':>8}{'once, s':>9}{'lines':>9}{'read by':>9}  header")
    for header, seconds, lines in sorted(costs, key=lambda c: -c[1] * users[c[0]])[:given.top]:
        print(f"{seconds * users[header]:>8.0f}{seconds:>9.2f}{lines:>9,}{users[header]:>9}  <{header}>")


if __name__ == "__main__":
    main()
