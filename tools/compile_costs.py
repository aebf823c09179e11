"""What the compilations of a build read and how long they took, as ninja recorded it."""
import functools
import pathlib
import re
import subprocess


def seconds_of(build):
    """Output -> seconds that its latest compilation or link took."""
    took = {}
    log = build / ".ninja_log"
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        if not line.startswith("#"):
            begin, end, _, output, _ = line.split("\t")
            took[output] = (int(end) - int(begin)) / 1000
    return took


def reads_of(build):
    """Object -> files that its compilation read, the source first."""
    done = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True, check=True)
    found, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            found[current].append(line.strip())
        elif ": #deps" in line:
            current = line.split(": #deps")[0]
            found[current] = []
    return found


@functools.cache
def lines_of(path):
    """Lines of a file; 0 for one that is gone."""
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except OSError:
        return 0


def lines_read(build, files):
    """Lines that one compilation reads: of its source, and once of every header."""
    return sum(lines_of(name if name.startswith("/") else str(build / name)) for name in files)


def module_of(output):
    """src/scheduler, tests/cli, tests, bench: where the source of an object is."""
    parts = pathlib.PurePath(output).parts
    return "/".join(parts[:2]) if parts[0] in ("src", "tests") and parts[1] != "CMakeFiles" else parts[0]


def members_of(build, output):
    """The files that a unity batch compiles together, or nothing."""
    if "/Unity/" not in output:
        return []
    unit = build / output.removesuffix(".o")
    if not unit.exists():
        return []
    return [pathlib.PurePath(name).name
            for name in re.findall(r'^#include "([^"]+)"', unit.read_text(encoding="utf-8"), re.M)]
