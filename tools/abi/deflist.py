"""The format of abi/cuda.def and abi/nvml.def: reading, checking and writing it.

A list is text, one fact per line; `#` starts a comment, blank lines are kept:

    release 11.7 11.8 12.0
        the header releases that tools/abi/harvest.py has read, oldest first
    also cuGraphInstantiate 12000 - cuGraphInstantiateWithFlags
        asking for the first name at or after that version, in that mode, finds the last symbol
    SYMBOL BASE SINCE MODE CLASS POLICY HEADERS RET(PARAMS)
        an exported function; SINCE is a CUDA version (12040), for NVML a release or `-`;
        HEADERS are the releases that declare exactly this, or `unverified`
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

CLASSES = (
    "init", "lookup", "error", "device", "context", "green", "module", "library", "link",
    "memory", "alloc", "free", "host", "managed", "vmm", "pool", "array", "copy", "set",
    "multicast", "pointer", "stream", "capture", "event", "function", "launch", "graph", "graphmem", "ipc",
    "external", "texture", "surface", "tensor", "graphics", "peer", "checkpoint", "coredump",
    "profiler", "logs", "report", "process", "unit", "control", "vgpu", "mig", "gpm",
    "fabric", "conf")
MODES = ("-", "ptds", "ptsz")
POLICIES = ("pass", "wrap")


class ListError(Exception):
    """A malformed list; the text says file, line and what is accepted."""


@dataclass
class Entry:
    """One exported function."""
    symbol: str
    base: str
    since: str
    mode: str
    cls: str
    policy: str
    headers: tuple  # releases, oldest first; empty means unverified
    signature: str

    @property
    def ret(self) -> str:
        return self.signature[:self.signature.index("(")]

    @property
    def params(self) -> str:
        return self.signature[self.signature.index("(") + 1:-1]

    @property
    def since_number(self) -> int:
        """CUDA versions are numbers already; an NVML release "12.4" becomes 12040, "-" zero."""
        if self.since == "-":
            return 0
        if "." in self.since:
            major, minor = self.since.split(".")
            return int(major) * 1000 + int(minor) * 10
        return int(self.since)


@dataclass
class Also:
    """A name under which another symbol is found from a version on."""
    base: str
    since: int
    mode: str
    symbol: str


@dataclass
class DefList:
    """A parsed list. `lines` holds raw text and Entry objects in file order."""
    path: Path
    lines: list = field(default_factory=list)
    releases: tuple = ()
    also: list = field(default_factory=list)

    @property
    def entries(self) -> list:
        return [line for line in self.lines if isinstance(line, Entry)]


def expand(text: str, releases) -> tuple:
    """"11.7-12.1,13.0" -> every known release in those ranges."""
    if text == "unverified":
        return ()
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        begin, end = releases.index(first), releases.index(last or first)
        found += releases[begin:end + 1]
    return tuple(found)


def condense(confirmed, releases) -> str:
    """The reverse of expand()."""
    marks = [release in confirmed for release in releases]
    parts, position = [], 0
    while position < len(marks):
        if not marks[position]:
            position += 1
            continue
        begin = position
        while position < len(marks) and marks[position]:
            position += 1
        first, last = releases[begin], releases[position - 1]
        parts.append(first if first == last else f"{first}-{last}")
    return ",".join(parts) or "unverified"


def _entry(words, where, releases) -> Entry:
    if len(words) != 8:
        raise ListError(f"{where}: expected 8 columns, found {len(words)}")
    symbol, base, since, mode, cls, policy, headers, signature = words
    if mode not in MODES:
        raise ListError(f"{where}: mode {mode!r} is none of {' '.join(MODES)}")
    if cls not in CLASSES:
        raise ListError(f"{where}: class {cls!r} is none of {' '.join(CLASSES)}")
    if policy not in POLICIES:
        raise ListError(f"{where}: policy {policy!r} is none of {' '.join(POLICIES)}")
    if not re.fullmatch(r"-|\d+|\d+\.\d+", since):
        raise ListError(f"{where}: since {since!r} is not a version")
    if not re.fullmatch(r"[\w* ]+\(.*\)", signature):
        raise ListError(f"{where}: {signature!r} is not RET(PARAMS)")
    if not symbol.startswith(base) or (mode != "-" and not symbol.endswith("_" + mode)):
        raise ListError(f"{where}: symbol {symbol} does not match base {base} and mode {mode}")
    try:
        confirmed = expand(headers, releases)
    except ValueError:
        raise ListError(f"{where}: {headers!r} names a release that is not on the release line"
                        ) from None
    return Entry(symbol, base, since, mode, cls, policy, confirmed, signature)


def parse(path: Path) -> DefList:
    """Read a list; raises ListError on the first thing that is wrong with it."""
    result, seen = DefList(path), set()
    for number, text in enumerate(path.read_text().splitlines(), 1):
        where, words = f"{path.name}:{number}", text.split(None, 7)
        if not words or words[0].startswith("#"):
            result.lines.append(text)
        elif words[0] == "release":
            result.releases = tuple(text.split()[1:])
            result.lines.append(text)
        elif words[0] == "also":
            if len(words) != 5:
                raise ListError(f"{where}: expected `also BASE SINCE MODE SYMBOL`")
            result.also.append(Also(words[1], int(words[2]), words[3], words[4]))
            result.lines.append(text)
        else:
            entry = _entry(words, where, result.releases)
            if entry.symbol in seen:
                raise ListError(f"{where}: {entry.symbol} is listed twice")
            seen.add(entry.symbol)
            result.lines.append(entry)
    for also in result.also:
        if also.symbol not in seen:
            raise ListError(f"{path.name}: `also {also.base}` names {also.symbol}, not in the list")
    return result


def render(deflist: DefList) -> str:
    """The text of a list, columns aligned; parse(render(x)) is x."""
    rows = {}
    for entry in deflist.entries:
        rows[entry.symbol] = (entry.symbol, entry.base, entry.since, entry.mode, entry.cls,
                              entry.policy, condense(entry.headers, deflist.releases))
    widths = [max((len(row[column]) for row in rows.values()), default=0) for column in range(7)]
    out = []
    for line in deflist.lines:
        if isinstance(line, Entry):
            cells = [cell.ljust(width) for cell, width in zip(rows[line.symbol], widths)]
            out.append("  ".join(cells) + "  " + line.signature)
        elif line.split()[:1] == ["release"]:
            out.append("release " + " ".join(deflist.releases))
        else:
            out.append(line)
    return "\n".join(out) + "\n"
