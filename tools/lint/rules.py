#!/usr/bin/env python3
"""The repository rules as a test: dependency direction, budgets, what the interposer must never do.

usage: rules.py [--root DIR] [RULE ...]     (no RULE: all of them)

Every finding is one line "path:line: rule: what is wrong; what is accepted". Exit 1 if any.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import class_budget

# folder -> folders it may include from (itself always). ARCHITECTURE.md says why.
ALLOWED = {
    "base": set(),
    "asio": set(),
    "json": set(),
    "abi": set(),
    "engine": {"base"},
    "yaml": {"base"},
    "snapshot": {"engine", "base"},
    "kube": {"public_names", "yaml", "base"},
    "kubelet": {"log", "json", "base"},
    "helper": {"kubelet", "driver", "log", "base"},
    "http": {"asio", "base"},
    "history": {"base"},
    "log": set(),
    "metrics": {"public_names", "base"},
    "daemon_options": {"base"},
    "public_names": {"base"},
    "share_options": {"base"},
    "scheduler": {"kube", "http", "log", "metrics", "requests", "vendors", "engine", "share_options", "json", "asio", "base"},
    "simulator": {"snapshot", "engine", "yaml", "base"},
    "vendors": {"yaml", "base"},
    "requests": {"vendors", "engine", "base"},
    "ledger": {"base"},
    "driver": {"abi", "base"},
    "interposer": {"ledger", "abi", "base"},
    "ptx": {"base"},
    "simgpu": {"ptx", "abi", "base"},
    "sizing": {"base"},
    "arbiter": {"ledger", "base"},
    "agent": {"snapshot", "arbiter", "driver", "engine", "helper", "http", "kube", "kubelet", "ledger", "log", "metrics", "share_options", "yaml", "json", "asio", "base"},
    "doctor": {"agent", "kubelet", "ledger", "json", "base"},
    "hub": {"kube", "http", "log", "metrics", "json", "asio", "base"},
    "console": {"agent", "history", "http", "kube", "metrics", "scheduler", "engine", "sizing", "json", "asio", "base"},
    "cli": {"agent", "console", "daemon_options", "doctor", "hub", "scheduler", "kube", "metrics", "vendors", "driver", "ledger", "simulator", "snapshot", "engine", "simgpu", "sizing", "share_options", "public_names", "yaml", "json", "asio", "base"},
    "main": {"cli", "agent", "base"},
}
# The part of a folder that others may see although the folder as a whole is off limits:
# the command knows the simulated driver's catalogue, never its insides.
NARROW = {("cli", "simgpu"): {"catalog.h"}}
# Folders inside of a module: which of the others each may include from. A file that lies directly in the module's
# folder may include all, and is included by none of them but where ROOT_HEADERS names it.
SUBFOLDERS = {
    "agent": {
        "os": set(),
        "api": set(),
        "placement": set(),
        "checkpoint": {"os"},
        "device": {"os"},
        "reports": set(),
        "events": {"os"},
        "helper_process": {"device", "os"},
        "container": {"api", "device", "os"},
        "tenant_shutdown": {"api", "os"},
        "tenant": {"api", "checkpoint", "container", "device", "events", "os", "reports", "tenant_shutdown"},
        "idle": {"events", "os", "tenant", "tenant_shutdown"},
        "tenant_registration": {"container", "device", "os", "tenant"},
        "enforcement": {"checkpoint", "container", "device", "events", "os", "reports", "tenant", "tenant_shutdown"},
        "pods": {"device", "idle", "os", "tenant"},
        "node_object": {"device", "os", "pods", "tenant"},
        "deviceplugin": {"container", "device", "enforcement", "idle", "node_object", "os", "pods", "tenant_registration", "tenant"},
        "server": {"container", "device", "enforcement", "events", "idle", "os", "placement", "tenant_registration", "tenant"},
        "telemetry": {"enforcement", "events", "os", "tenant"},
    },
    "arbiter": {"policy": set()},
    "hub": {"workers": set(), "dispatch": {"workers"}},
    "cli": {
        "process": set(),
        "options": set(),
        "view": {"options"},
        "files": {"options", "view"},
        "config": {"files", "options"},
        "parser": {"config", "files", "options", "view"},
        "agent_client": {"config", "options", "view"},
        "kubernetes": {"config", "files", "options", "view"},
        "clusters": {"kubernetes", "options", "view"},
        "cluster_console": {"config", "files", "kubernetes", "options", "view"},
        "diagnose": {"agent_client", "config", "kubernetes", "options"},
        "commands": {"agent_client", "cluster_console", "clusters", "config", "diagnose", "files", "kubernetes", "options", "process", "view"},
    },
    "console": {
        "rows": set(),
        "bodies": {"view", "rows"},
        "lists": {"view", "rows"},
        "view": {"rows"},
        "sessions": set(),
        "viewers": {"rows"},
        "live": {"view", "rows"},
        "recording": {"view", "rows"},
        "reading": {"recording", "view", "viewers", "rows"},
        "reports": {"rows"},
        "api": {"bodies", "lists", "live", "recording", "reports", "rows", "sessions", "view", "viewers"},
    },
    "doctor": {"report": set(), "checks": {"report"}, "facts": {"report"}},
    "engine": {
        "usage": set(),
        "quota": set(),
        "nodes": {"usage"},
        "refusal": {"nodes"},
        "fit": {"nodes", "refusal", "usage"},
        "score": {"fit", "nodes", "refusal"},
        "core": {"fit", "nodes", "refusal", "score", "usage"},
    },
    "history": {
        "points": set(),
        "file": {"points"},
    },
    "interposer": {
        "support": set(),
        "tenant": {"support"},
        "threads": {"support"},
        "loader": {"support", "tenant", "threads"},
        "cuda": {"loader", "support", "threads"},
        "device": {"loader", "support", "threads"},
        "accounting": {"cuda", "device", "loader", "support", "threads"},
        "operands": {"cuda", "support"},
        "paging": {"cuda", "loader", "operands", "support", "threads"},
        "allocator": {"accounting", "cuda", "loader", "paging", "support"},
        "meter": {"cuda", "loader", "support", "threads"},
        "launch": {"cuda", "loader", "meter", "operands", "paging", "support", "threads"},
        "ipc": {"allocator", "cuda", "paging", "support", "threads"},
        "hooks": {"accounting", "allocator", "cuda", "device", "launch", "loader", "threads"},
        "nvml": {"device", "loader", "support", "tenant", "threads"},
        "timeslice": {"support"},
    },
    "kube": {"objects": set(), "client": {"objects"}, "schedulers": {"objects"}},
    "ledger": {
        "process": set(),
        "files": {"process"},
        "account": {"process"},
        "tenant": {"account", "files", "process"},
    },
    "ptx": {
        "program": set(),
        "parser": {"program"},
        "machine": {"parser", "program"},
        "ops": {"machine", "program"},
    },
    "scheduler": {
        "telemetry": set(),
        "runtime": {"telemetry"},
        "annotations": set(),
        "codec": {"annotations"},
        "events": {"runtime"},
        "quota": {"annotations"},
        "manifests": {"annotations"},
        "cache": {"annotations", "codec", "quota", "runtime"},
        "preemption": {"annotations", "events", "quota", "runtime", "telemetry"},
        "webhook": {"annotations", "codec", "runtime"},
        "queue": {"annotations", "codec", "events", "preemption", "quota", "runtime", "telemetry"},
        "extender": {"preemption", "queue", "runtime", "telemetry"},
        "kueue": {"codec", "preemption", "queue", "runtime", "telemetry"},
        "explain": {"annotations", "cache", "preemption", "queue", "quota"},
        "capacity": {"kueue", "preemption", "runtime"},
        "controllers": {"annotations", "codec", "events", "runtime", "telemetry"},
    },
    "simgpu": {
        "timeline": set(),
        "card": {"timeline"},
        "nvml": {"card"},
        "cuda": {"card", "timeline"},
    },
    "simulator": {"text": set(), "day": {"text"}, "cluster": {"day", "text"}},
}
# Headers that lie directly in a module's folder, for .cpp files of its subfolders.
ROOT_HEADERS = {"interposer": {"runtime.h"}, "simgpu": {"rm_stub.h"}}
# Headers that include such a header all the same. The list only shrinks.
ROOT_HEADER_USERS = {"src/interposer/accounting/charge.h", "src/interposer/launch/gated_call.h"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 70
MAX_FOLDER_FILES = 30
MAX_COLUMNS = 100
CODE = (".cpp", ".h", ".c", ".cu")

# The tenant's process is a guest space (DESIGN 3): none of these may be called there.
GUEST_FORBIDDEN = re.compile(
    r"(?<![.>])\b(exit|_exit|abort|signal|sigaction|umask|setenv|putenv|unsetenv|printf|fprintf|puts|perror|"
    r"malloc|calloc|realloc|free|system|popen|atexit|sleep|usleep)\s*\(|\bthrow\b|\btry\s*\{|"
    r"#include <(iostream|string|vector|map|unordered_map|memory|functional|thread|mutex|fstream|"
    r"sstream|stdexcept|cstdio|stdio\.h)>")
# Split so that this file does not match itself.
WORKPLACE = re.compile("/" + r"work/|/" + r"root/|bash_" + "jobs")
UNFINISHED = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(")


def tracked(root):
    """Files git knows or would add; every file below root where it is no checkout."""
    run = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                         capture_output=True, text=True, check=False)
    if run.returncode == 0 and (root / ".git").exists():
        return [root / name for name in run.stdout.splitlines() if (root / name).is_file()]
    return [path for path in root.rglob("*") if path.is_file()]


def code_files(root, *tops):
    for path in tracked(root):
        parts = path.relative_to(root).parts
        if path.suffix in CODE and (not tops or parts[0] in tops):
            yield path, parts


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def strip_noise(text):
    """Comments, strings and character constants blanked, line structure kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                         re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def rule_includes(root):
    """Dependencies run one way."""
    include = re.compile(r'^\s*#\s*include\s*"([a-z_]+)/([^"]+)"', re.M)
    for path, parts in code_files(root, "src", "abi"):
        own = parts[1] if parts[0] == "src" else "abi"
        if own not in ALLOWED:
            yield path, 1, f"folder {own} is not in the dependency table of tools/lint/rules.py"
            continue
        text = text_of(path)
        for match in include.finditer(text):
            other, header = match.groups()
            if other == own or other not in ALLOWED:
                continue
            narrow = NARROW.get((own, other))
            if other in ALLOWED[own] and (narrow is None or header in narrow):
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            allowed = ", ".join(sorted(ALLOWED[own])) or "nothing"
            yield path, line, f"{own} must not include {other}/{header}; it may include {allowed}"


def rule_folders(root):
    """Folders inside of a module have a direction, too."""
    include = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
    for module, table in SUBFOLDERS.items():
        for name in sorted(set(table) & set(ALLOWED)):
            yield root / "src" / module, 1, f"folder {name} is called like a module"
    sizes = {}
    for path, _ in code_files(root, "src"):
        sizes[path.parent] = sizes.get(path.parent, 0) + 1
    for folder, size in sorted(sizes.items()):
        if size > MAX_FOLDER_FILES:
            yield folder, 1, f"{size} source files; a folder holds at most {MAX_FOLDER_FILES}"
    for path, parts in code_files(root, "src"):
        table = SUBFOLDERS.get(parts[1])
        if table is None or len(parts) < 4 or parts[2] == "include":
            continue
        if parts[2] not in table:
            yield path, 1, f"folder {parts[2]} is not in the table SUBFOLDERS of tools/lint/rules.py"
            continue
        text = text_of(path)
        for match in include.finditer(text):
            other = match[1].split("/")[0] if "/" in match[1] else ""
            if other == parts[2] or other not in table | {"": None}:
                continue
            if other == "" and not (root / "src" / parts[1] / match[1]).is_file():
                continue
            if other in table[parts[2]] or (other == "" and match[1] in ROOT_HEADERS.get(parts[1], ())
                                            and (path.suffix != ".h" or str(path.relative_to(root))
                                                 in ROOT_HEADER_USERS)):
                continue
            line = text.count("\n", 0, match.start(1)) + 1
            allowed = ", ".join(sorted(table[parts[2]])) or "none of the others"
            yield path, line, f"{parts[2]} must not include {match[1]}; it may include {allowed}"


def glossary(root):
    """(folders, word that a definition there must not have as its name) of each row of GLOSSARY.md."""
    folders = []
    page = root / "GLOSSARY.md"
    for line in text_of(page).splitlines() if page.is_file() else []:
        if line.startswith("## "):
            folders = re.findall(r"`([a-z_/]+)`", line)
        elif line.startswith("|") and folders:
            for word in re.findall(r"`(\w+)`", line.rstrip("| ").rpartition("|")[2]):
                yield folders, word


def rule_names(root):
    """Types, files and public functions have the words of GLOSSARY.md."""
    forbidden = {}
    for folders, word in glossary(root):
        for folder in folders:
            forbidden.setdefault(folder, set()).add(word)
    accepted = set(text_of(root / "tools/lint/file_words.txt").split()) if forbidden else None
    defined = re.compile(r"^\s*(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum class|enum|union|using)\s+(\w+)", re.M)
    constant = re.compile(r"\b(k[A-Z][a-z]+)(?=[A-Z]|\b)")
    function = re.compile(r"\b(\w+)\(")
    for path, parts in code_files(root, "src"):
        words = set().union(*(forbidden.get("/".join(parts[:depth]), set()) for depth in (1, 2)))
        stem = {path.stem}
        for word in sorted(words & stem | forbidden.get("src", set()) & set(path.stem.split("_"))):
            yield path, 1, f"a file called \"{word}\"; GLOSSARY.md has the word that is used"
        for word in sorted(set(path.stem.split("_")) - accepted if accepted is not None else ()):
            yield path, 1, (f"\"{word}\" is no word of tools/lint/file_words.txt; a term of Kubernetes, CUDA, POSIX or "
                            "GLOSSARY.md is accepted, and added there")
        if not words:
            continue
        clean = strip_noise(text_of(path))
        found = {word: at for pattern in (defined, constant) for word, at in
                 ((match[1], match.start(1)) for match in pattern.finditer(clean))}
        if parts[2] == "include":
            found.update({match[1]: match.start(1) for match in function.finditer(clean)})
        for word in sorted(words & set(found)):
            line = clean.count("\n", 0, found[word]) + 1
            yield path, line, f"\"{word}\"; GLOSSARY.md has the word that is used"


def rule_classes(root):
    """A class has one owner's worth of functions, members and files (class_budget.py)."""
    yield from class_budget.findings(root, strip_noise)


def rule_guest(root):
    """What is loaded into tenants behaves like a guest."""
    for path, parts in code_files(root, "src"):
        if parts[1] != "interposer":
            continue
        for number, line in enumerate(strip_noise(text_of(path)).splitlines(), 1):
            found = GUEST_FORBIDDEN.search(line)
            if found:
                yield path, number, f"\"{found.group().strip()}\" has no place in a tenant's process"


def rule_budgets(root):
    """Small rooms: file, function and column budgets."""
    for path, _ in code_files(root):
        lines = text_of(path).splitlines()
        if len(lines) > MAX_FILE_LINES:
            yield path, 1, f"{len(lines)} lines; a file is one noun of at most {MAX_FILE_LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield path, number, f"{len(line)} columns; at most {MAX_COLUMNS}"
        yield from long_functions(path)


def long_functions(path):
    """A function is a brace block at namespace, class or file depth whose head ends in ')'."""
    clean = strip_noise(text_of(path)).splitlines()
    depth, start, outer = 0, None, []
    head = ""
    for number, line in enumerate(clean, 1):
        for char in line:
            if char == "{":
                scope = re.search(r"\b(namespace|class|struct|union|enum|extern)\b[^;()]*$|=\s*$|"
                                  r"\bextern\s*$", head)
                outer.append("scope" if scope else "block")
                if start is None and not scope and ")" in head:
                    start, depth = number, len(outer)
                head = ""
            elif char == "}":
                if start is not None and len(outer) == depth:
                    if number - start > MAX_FUNCTION_LINES:
                        yield path, start, (f"a function of {number - start} lines; "
                                            f"at most {MAX_FUNCTION_LINES}")
                    start = None
                if outer:
                    outer.pop()
                head = ""
            elif char == ";":
                head = ""
            else:
                head += char
        head += " "


def rule_hygiene(root):
    """No traces of a workplace, nothing unfinished, no sleeps."""
    for path in tracked(root):
        if path.suffix in (".png", ".json") or path.name == "LICENSE":
            continue
        text = text_of(path)
        for number, line in enumerate(text.splitlines(), 1):
            if WORKPLACE.search(line):
                yield path, number, "names a path of somebody's machine"
            if UNFINISHED.search(line):
                yield path, number, "unfinished marker; finish it or open an issue"
        if path.suffix in CODE:
            raw = text.splitlines()
            for number, line in enumerate(strip_noise(text).splitlines(), 1):
                # The one excuse: slowness is what is simulated; the line says so.
                if SLEEPS.search(line) and "slow on purpose" not in raw[number - 1]:
                    yield path, number, "a sleep; wait on a condition with a bound instead"


TEST_CASE = re.compile(r"^\s*(?:TEST(?:_F|_P)?|TYPED_TEST|RC_GTEST(?:_FIXTURE)?_PROP)\(\s*(\w+),\s*(\w+)", re.M)
CASE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*_[A-Z0-9][A-Za-z0-9]*")
MAX_CASE_NAME = 60


def rule_tests(root):
    """A test is Unit.Condition_Expectation."""
    for path, _ in code_files(root, "tests"):
        text = text_of(path)
        for match in TEST_CASE.finditer(text):
            suite, case = match.groups()
            line = text.count("\n", 0, match.start(1)) + 1
            if not CASE_NAME.fullmatch(case):
                yield path, line, f'"{case}" has not the form Condition_Expectation'
            elif len(f"{suite}_{case}") > MAX_CASE_NAME:
                yield path, line, f'"{suite}_{case}" has {len(suite) + len(case) + 1} letters; at most {MAX_CASE_NAME} are accepted'


def rule_headers(root):
    """Headers have #pragma once; each folder of src has a README of a screen."""
    for path, parts in code_files(root, "src", "abi"):
        if path.suffix == ".h" and "#pragma once" not in text_of(path):
            yield path, 1, "no #pragma once"
    src = root / "src"
    for folder in sorted(src.iterdir()) if src.is_dir() else []:
        if not folder.is_dir() or not any(folder.rglob("*.cpp")):
            continue
        readme = folder / "README.md"
        if not readme.is_file():
            yield folder, 1, "no README.md"
        elif len(text_of(readme).splitlines()) > 80:
            yield readme, 1, "longer than a screen (80 lines)"


RULES = {name[len("rule_"):]: fn for name, fn in globals().items() if name.startswith("rule_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    options = parser.parse_args()
    unknown = [name for name in options.rules if name not in RULES]
    if unknown:
        parser.error(f"unknown rule {unknown[0]}; accepted: {', '.join(RULES)}")
    findings = 0
    root = options.root.resolve()
    for name in options.rules or RULES:
        for path, line, what in RULES[name](root):
            print(f"{path.relative_to(root)}:{line}: {name}: {what}")
            findings += 1
    print(f"{findings} finding(s) in {', '.join(options.rules or RULES)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
