#!/usr/bin/env python3
"""Maintain the lists in abi/ from installed NVIDIA headers.

    harvest.py report DIR...          say what the headers confirm, lack and add
    harvest.py update DIR...          the same, and rewrite the lists

Each DIR holds cuda.h and cudaTypedefs.h, or nvml.h, of one release (the include directory of a
toolkit, or of the PyPI packages nvidia-cuda-runtime and nvidia-nvml-dev, unpacked). A directory
with nvml.h alone must be named after its release ("12.4"). Classes and policies of existing lines
are never changed; a new line gets a proposed class and the policy `pass`, to be reviewed.
"""

import argparse
import sys
from pathlib import Path

import classify
import enums
import headers
import layout
import signature
from deflist import DefList, Entry, parse, render

ROOT = Path(__file__).resolve().parents[2]


def family_of(symbol: str):
    """(base, version rank, mode) of an exported name by its suffixes."""
    mode = "-"
    for candidate in ("ptds", "ptsz"):
        if symbol.endswith("_" + candidate):
            symbol, mode = symbol[:-5], candidate
    base, dash, rank = symbol.rpartition("_v")
    if dash and rank.isdigit() and len(rank) == 1:
        return base, int(rank), mode
    return symbol, 1, mode


def cuda_since(releases) -> dict:
    """Symbol -> CUDA version, by pairing each family's names with its versioned typedefs.

    The n-th oldest typedef of a family belongs to the n-th name (plain, _v2, _v3). A family whose
    counts differ is left out and reported by the caller.
    """
    names, versions = {}, {}
    for release in releases:
        for symbol in release.functions:
            base, rank, mode = family_of(symbol)
            names.setdefault((base, mode), {})[rank] = symbol
        for key, family in release.typedefs.items():
            versions.setdefault(key, set()).update(family)
    since = {}
    for key, ranked in names.items():
        found = sorted(versions.get(key, ()))
        if len(found) == len(ranked):
            for rank, version in zip(sorted(ranked), found):
                since[ranked[rank]] = str(version)
    return since


def nvml_since(releases, known) -> dict:
    """Symbol -> first release whose header shows it; "-" for those in the oldest one read."""
    since = {}
    for position, release in enumerate(releases):
        for symbol in release.functions:
            since.setdefault(symbol, "-" if position == 0 else release.version)
    since.update({entry.symbol: entry.since for entry in known})
    return since


def merge(deflist: DefList, releases, since: dict) -> list:
    """Update `deflist` in place from `releases`; returns remarks, one line each."""
    remarks = []
    read = {release.version for release in releases}
    known = {entry.symbol: entry for entry in deflist.entries}
    deflist.releases = tuple(sorted(read | set(deflist.releases), key=headers.order))
    fresh = {}
    for release in releases:
        for symbol, text in release.functions.items():
            fresh[symbol] = text
    for symbol, text in fresh.items():
        if symbol in known:
            continue
        base, _, mode = family_of(symbol)
        if symbol not in since:
            remarks.append(f"{symbol}: no typedef tells since when; `since` is a guess")
        cls = classify.propose(symbol)
        entry = Entry(symbol, base, since.get(symbol, "2000"), mode, cls, "pass", (), text)
        known[symbol] = entry
        insert(deflist, entry)
        remarks.append(f"{symbol}: new in the list, class {cls}, policy pass: review it")
    for symbol, entry in known.items():
        confirmed = set(entry.headers) - read
        for release in releases:
            if symbol not in release.functions:
                continue
            if signature.same(entry.signature, release.functions[symbol], release.aliases):
                confirmed.add(release.version)
            else:
                remarks.append(f"{symbol}: {release.version} declares it otherwise: "
                               f"{release.functions[symbol]}")
        entry.headers = tuple(sorted(confirmed, key=headers.order))
        if symbol in since and since[symbol] != entry.since:
            remarks.append(f"{symbol}: since {entry.since} in the list, {since[symbol]} in headers")
    return remarks


def renamed(deflist: DefList, releases) -> list:
    """Remarks on names that a header maps to another family without an `also` line for it."""
    known = {(also.base, also.symbol) for also in deflist.also}
    symbols, remarks = {entry.symbol for entry in deflist.entries}, []
    for release in releases:
        for name, target in release.renames.items():
            pair = (name, target)
            moved = family_of(target)[0] != family_of(name)[0]
            if moved and symbols.issuperset(pair) and pair not in known:
                remarks.append(f"{name}: from {release.version} on it means {target}: add `also`")
                known.add(pair)
    return remarks


def insert(deflist: DefList, entry: Entry) -> None:
    """Put a new line behind its family, else behind its class, else at the end."""
    best = len(deflist.lines)
    for position, line in enumerate(deflist.lines):
        if isinstance(line, Entry) and line.cls == entry.cls:
            best = position + 1
    for position, line in enumerate(deflist.lines):
        if isinstance(line, Entry) and line.base == entry.base:
            best = position + 1
    deflist.lines.insert(best, entry)


def run(name: str, releases, since, update: bool) -> None:
    path = ROOT / "abi" / name
    deflist = parse(path)
    for remark in merge(deflist, releases, since(deflist)):
        print(f"{name}: {remark}")
    for release in releases:
        mine = [entry for entry in deflist.entries if release.version in entry.headers]
        print(f"{name}: {release.version} confirms {len(mine)} of {len(deflist.entries)}")
    if name == "cuda.def":  # NVML is not looked up by version
        for remark in renamed(deflist, releases):
            print(f"{name}: {remark}")
    unverified = [entry.symbol for entry in deflist.entries if not entry.headers]
    print(f"{name}: {len(unverified)} unverified" + "".join(f" {symbol}" for symbol in unverified))
    if update:
        path.write_text(render(deflist))


def opening(path: Path) -> str:
    """The comment at the top of a list, which rewriting keeps."""
    lines = path.read_text().splitlines()
    return "\n".join(line for line in lines if line.startswith("#"))


def run_enums(name: str, header: str, directories, update: bool) -> None:
    """Add enumerators that the list lacks; values that moved are told and left alone."""
    path = ROOT / "abi" / name
    known, since = enums.parse(path), enums.moved(path)
    before = sum(len(names) for names in known.values())
    for directory in reversed(directories):
        version = headers.version_of(directory)
        for remark in enums.merge(known, enums.read(directory / header), version, since):
            print(f"{name}: {remark}")
    print(f"{name}: {before} enumerators, {sum(map(len, known.values())) - before} new")
    if update:
        path.write_text(enums.render(opening(path), known, since))


def run_layout(name: str, prefix: str, sources, directories, update: bool) -> None:
    """Measure every structure that our mirror defines, newest release first."""
    path = ROOT / "abi" / name
    wanted = layout.mirrored(ROOT / "abi/include/abi", prefix)
    measured = [(headers.version_of(directory), layout.measure(directory, sources, wanted))
                for directory in reversed(directories)]
    fresh = layout.harvest(measured)
    print(f"{name}: {len(fresh)} of {len(wanted)} mirrored structures found")
    if update:
        path.write_text(layout.render(opening(path), fresh))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("report", "update"))
    parser.add_argument("directories", nargs="+", type=Path)
    arguments = parser.parse_args()
    directories = sorted(arguments.directories, key=lambda d: headers.order(headers.version_of(d)))
    update = arguments.action == "update"
    with_cuda = [d for d in directories if (d / "cuda.h").exists()]
    if with_cuda:
        releases = [headers.read_cuda(d) for d in with_cuda]
        run("cuda.def", releases, lambda _: cuda_since(releases), update)
        run_enums("cuda_enums.def", "cuda.h", with_cuda, update)
        run_layout("cuda_layout.def", "cuda", ["cuda.h", "cudaEGL.h"], with_cuda, update)
    with_nvml = [d for d in directories if (d / "nvml.h").exists()]
    if with_nvml:
        releases = [headers.read_nvml(d) for d in with_nvml]
        run("nvml.def", releases, lambda deflist: nvml_since(releases, deflist.entries), update)
        run_enums("nvml_enums.def", "nvml.h", with_nvml, update)
        run_layout("nvml_layout.def", "nvml", ["nvml.h"], with_nvml, update)
    return 0


if __name__ == "__main__":
    sys.exit(main())
