"""Counts what a class has: member functions, data members, .cpp files that implement it.

usage: class_budget.py [--root DIR] [--write]

A class of src/ has at most 25 member functions and 12 data members, and is implemented in at most two .cpp files. A struct
with five member functions or fewer is plain data and may have as many members as its format. What is above that is listed in class_budget.json with its figures, which may only fall. --write lists what is there now.
"""
import argparse
import json
import pathlib
import re
import sys

BUDGET = {"functions": 25, "members": 12, "files": 2}
LIST = "tools/lint/class_budget.json"
_CLASS = re.compile(r"\b(class|struct)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\([^)]*\)\s*)?((?:\w+::)*\w+)\s*(?:final\s*)?(?::[^;{]*)?\{")
_NOT_A_MEMBER = re.compile(r"^\s*(?:using|typedef|friend|static_assert|template\s*<[^{;]*>\s*(?:class|struct)|enum|class|struct|union)\b")


def _body(text, start):
    """Text between the brace at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return text[start + 1:at]
    return text[start + 1:]


def _statements(body):
    """Statements of a class body; a nested brace block is left out and ends a function's definition."""
    out, depth, text = [], 0, ""
    for char in body:
        if char == "{":
            if depth == 0:
                text += " {"
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0 and re.search(r"\)[^=;]*\{$", text):
                out.append(text)
                text = ""
        elif depth == 0:
            if char == ";":
                out.append(text)
                text = ""
            else:
                text += char
    return out


def _counts(body):
    functions = members = 0
    for statement in _statements(body):
        statement = re.sub(r"\b(?:public|private|protected)\s*:", "", statement).strip()
        if not statement or _NOT_A_MEMBER.match(statement):
            continue
        head = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>", "", statement))
        head = re.split(r"=(?!=)", head)[0] if "operator" not in head else head
        if "(" in head and not re.match(r"^[\w:\s*&]*std::function\b", head):
            functions += not re.search(r"=\s*(?:delete|default)\s*$", statement)
        elif not re.match(r"^\s*(?:inline\s+)?(?:static\s+)?(?:inline\s+)?constexpr\b", statement):
            members += 1
    return functions, members


def classes(root, strip_noise):
    """{"module/Class": {"functions": n, "members": n, "files": n}} of the classes of src/."""
    found = {}
    sources = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        module = path.relative_to(root / "src").parts[0]
        text = strip_noise(path.read_text(encoding="utf-8", errors="replace"))
        if path.suffix == ".cpp":
            sources.setdefault(module, []).append(text)
        for match in _CLASS.finditer(text):
            functions, members = _counts(_body(text, match.end() - 1))
            name = f"{module}/{match[2]}"
            known = found.setdefault(name, {"functions": 0, "members": 0, "files": 0})
            known["functions"] = max(known["functions"], functions)
            if match[1] == "class" or functions > 5:
                known["members"] = max(known["members"], members)
    for module, texts in sources.items():
        for text in texts:
            for name in set(re.findall(r"^[^\s/#}][^;={}]*?\b((?:\w+::)*\w+)::~?\w+\s*\(", text, re.M)):
                known = found.get(f"{module}/{name}")
                if known is not None:
                    known["files"] += 1
    return found


def over(found):
    return {name: {key: value for key, value in counts.items() if value > BUDGET[key]}
            for name, counts in sorted(found.items())
            if any(value > BUDGET[key] for key, value in counts.items())}


def findings(root, strip_noise):
    """(path, line, text) of each class that is over budget and not listed so, and of each stale line of the list."""
    page = root / LIST
    if not page.is_file():
        return
    listed = json.loads(page.read_text(encoding="utf-8"))
    now = over(classes(root, strip_noise))
    for name, counts in now.items():
        for key, value in counts.items():
            if value > listed.get(name, {}).get(key, BUDGET[key]):
                yield page, 1, (f"{name} has {value} {key}; accepted are {listed.get(name, {}).get(key, BUDGET[key])}: "
                                "split the class by what it owns")
    for name, counts in listed.items():
        for key, value in counts.items():
            if now.get(name, {}).get(key, 0) < value:
                yield page, 1, f"{name} has {now.get(name, {}).get(key, 'few enough')} {key}, listed are {value}: lower the list"


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from rules import strip_noise  # noqa: PLC0415  (rules imports this file)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    found = over(classes(options.root, strip_noise))
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if options.write:
        (options.root / LIST).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
