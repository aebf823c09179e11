#!/usr/bin/env python3
"""Decides which source files are compiled together (unity batches), so that none of them notices.

usage: unity.py SOURCES OUT [--lines N]

SOURCES: a line per file, "directory;targets;file", paths absolute. OUT: a CMake file that sets UNITY_GROUP of
each file that has company; written only when it changes. Files of one batch have the same directory and the
same targets. A file joins the first batch in which it fits: at most N lines together (default 2,000), and no
name that one file keeps to itself (anonymous namespace, static, constant, alias, macro) occurs in another file
of the batch or in a header that only the other includes. What cannot be told from the text alone is left to
the compiler, which refuses it loudly.
"""
import argparse
import bisect
import functools
import pathlib
import re
import sys

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
DIRECTIVE = re.compile(r"^\s*#(?:[^\n\\]|\\.|\\\n)*", re.M)
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)", re.M)
ANY_INCLUDE = re.compile(r"^\s*#\s*include\b", re.M)
# A token that is a member or a qualified name does not meet another file's own names.
TOKEN = re.compile(r"(->|\.|::)?\s*\b([A-Za-z_]\w*)")
LEXEME = re.compile(r"[A-Za-z_]\w*|::|->|[{}();=<>\[\],&*~]|\S")
USING = re.compile(r"using\s+namespace\s+([\w:]+)")
# Nothing in them can be meant by a name of ours.
HARMLESS = ("std::chrono_literals", "std::string_literals", "std::string_view_literals", "std::literals")


def plain(text):
    """The text without comments; strings and characters are empty ones."""
    return NOISE.sub(lambda m: " " if m.group().startswith("/") else '""', text)


def own_name(words):
    """The name that a declaration (its words up to "{", ";" or "=") introduces, or nothing."""
    depth = 0
    kind = next((w for w in words if w in ("class", "struct", "enum", "union")), None)
    if kind and "(" not in words:
        after = [w for w in words[words.index(kind) + 1:] if re.match(r"[A-Za-z_]", w) and w not in ("class", "struct", "final", "alignas")]
        return after[0] if after else None
    last = None
    for index, word in enumerate(words):
        if word == "<":
            depth += 1
        elif word == ">":
            depth -= 1
        elif depth > 0:
            continue
        elif word in ("(", "["):
            if last and last not in ("decltype", "alignas", "noexcept", "__attribute__") and index > 1:
                return None if index >= 2 and words[index - 2] == "::" else last
        elif re.match(r"[A-Za-z_]", word):
            last = word
    return last


def names_of(text):
    """The names that only this file means: name -> what it stands for, where two may stand for the same."""
    names = {}
    scopes = []  # "anonymous", "namespace" or "other"
    words = []
    body = DIRECTIVE.sub("", text)
    for name in DEFINE.findall(text):
        names[name] = None
    parens = 0
    for match in LEXEME.finditer(body):
        lexeme = match.group()
        if scopes and scopes[-1] == "other":
            if lexeme == "{":
                scopes.append("other")
            elif lexeme == "}":
                scopes.pop()
                if not scopes or scopes[-1] != "other":
                    # `struct A {...} b;` and initialisers go on until ";".
                    words = []
            continue
        if lexeme == "(":
            parens += 1
        elif lexeme == ")":
            parens -= 1
        if lexeme == "{" and parens == 0:
            if words and words[0] in ("namespace", "inline") and "namespace" in words:
                scopes.append("namespace" if len(words) > words.index("namespace") + 1 else "anonymous")
            elif words == ["extern", '"', '"']:
                scopes.append("namespace")
            else:
                note(names, words, scopes)
                if "enum" in words and "class" not in words and "struct" not in words:
                    end = body.index("}", match.end())
                    for name in re.findall(r"(?:^|,)\s*(\w+)", body[match.end():end]):
                        names[name] = None
                scopes.append("other")
            words = []
        elif lexeme == "}" and parens == 0:
            if scopes:
                scopes.pop()
            words = []
        elif lexeme == ";" and parens == 0:
            note(names, words, scopes)
            words = []
        else:
            words.append(lexeme)
    return names


def note(names, words, scopes):
    if not words:
        return
    if words[0] == "template":
        depth = 0
        for index, word in enumerate(words):
            depth += (word == "<") - (word == ">")
            if index > 0 and depth == 0:
                words = words[index + 1:]
                break
    if not words:
        return
    if words[0] == "using" or words[0] == "namespace":
        if "=" in words:
            names[words[1]] = " ".join(words) + " in " + " ".join(scopes)
        elif words[0] == "using" and words[1:2] != ["namespace"]:
            names[words[-1]] = " ".join(words) + " in " + " ".join(scopes)
        return
    declared = words[:words.index("=")] if "=" in words else words
    internal = "anonymous" in scopes or any(w in declared for w in ("static", "constexpr", "const")) or \
        ("(" not in declared and any(w in ("class", "struct", "enum", "union") for w in declared))
    if internal:
        name = own_name(declared)
        if name:
            names[name] = None


class File:
    """What a file has to do with others."""

    def __init__(self, path):
        text = plain(path.read_text(errors="replace"))
        self.path = path
        self.lines = text.count("\n")
        self.names = names_of(text)
        self.tokens = {m.group(2) for m in TOKEN.finditer(text) if not m.group(1)}
        self.using = frozenset(n for n in USING.findall(text) if n not in HARMLESS)
        self.headers = closure(path)
        # A macro that changes what a header means changes it for the files behind it, too.
        last = max((m.end() for m in ANY_INCLUDE.finditer(text)), default=0)
        self.alone = any(m.start() < last for m in DEFINE.finditer(text))


def find(name, path):
    for parent in (path.parent, *roots_of(path)):
        if (parent / name).is_file():
            return parent / name
    return None


@functools.cache
def roots_of_root(root):
    return sorted(root.glob("src/*/include")) + sorted(root.glob("src/*")) + [root / "abi" / "include"]


def roots_of(path):
    for parent in path.parents:
        if (parent / "CMakePresets.json").is_file():
            folder = next((p for p in path.parents if p.parent == parent / "src"), None)
            return ([folder] if folder else []) + roots_of_root(parent)
    return []


@functools.cache
def direct(path):
    found = (find(name, path) for name in INCLUDE.findall(path.read_text(errors="replace")))
    return frozenset(f for f in found if f)


@functools.cache
def header_tokens(path):
    text = plain(path.read_text(errors="replace"))
    return frozenset(m.group(2) for m in TOKEN.finditer(text) if m.group(1) not in (".", "->"))


def closure(path):
    seen, todo = set(), [path]
    while todo:
        for header in direct(todo.pop()):
            if header not in seen:
                seen.add(header)
                todo.append(header)
    return frozenset(seen)


def meets(one, other):
    """Whether a name of `one` would be taken for another in `other`."""
    names = one.names.keys()
    common = names & other.tokens
    for header in other.headers - one.headers:
        if names & header_tokens(header):
            return True
    for name in common:
        if one.names[name] is None or other.names.get(name) != one.names[name]:
            return True
    return False


def fits(file, batch, most):
    if sum(f.lines for f in batch) + file.lines > most:
        return False
    return all(f.using == file.using and not meets(f, file) and not meets(file, f) for f in batch)


def batches_of(files, most):
    batches = []
    for file in files:
        if file.alone:
            continue
        home = next((b for b in batches if fits(file, b, most)), None)
        if home is None:
            batches.append([file])
        else:
            home.append(file)
    return [b for b in batches if len(b) > 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--lines", type=int, default=2000)
    given = parser.parse_args()
    groups = {}
    for line in given.sources.read_text().splitlines():
        directory, targets, name = line.split(";")
        groups.setdefault((directory, targets), set()).add(name)
    lines = []
    total = count = 0
    for (directory, targets), names in sorted(groups.items()):
        files = [File(pathlib.Path(name)) for name in sorted(names)]
        total += len(files)
        made = batches_of(files, given.lines)
        count += len(made) + len(files) - sum(len(b) for b in made)
        for number, batch in enumerate(made):
            target = targets.split(",")[0]
            lines.append(f"set_source_files_properties({' '.join(str(f.path) for f in batch)}\n"
                         f"  TARGET_DIRECTORY {target} PROPERTIES UNITY_GROUP {target}_{number})\n")
    print(f"{total} files in {count} compilations", file=sys.stderr)
    text = "".join(lines)
    if not given.out.exists() or given.out.read_text() != text:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
