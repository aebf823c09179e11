"""Checks the prose that people read against the rules of Divvy/ by Vale, as rates that may only fall.

usage: prose.py VALE [--root DIR] [--write] [--list AREA]

An area is a kind of text in a folder: pages, help, messages, alerts, crd, chart, contracts (comments of public headers).
Each rule has a bar, in findings per 1,000 words. An area above a bar is listed in budget.json with its rate, and must not
exceed it. --write lowers the list to the rates of now; --list prints every finding of the areas that begin with AREA.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Findings per 1,000 words that every area may have.
BARS = {"Actors": 0.5, "Nobody": 0.5, "NounClauses": 1.0, "Speech": 1.0, "Words": 0.0, "FrontedOf": 0.5, "Likewise": 0.5,
        "LongSentences": 3.0, "LongLines": 0.0}
COLUMNS = 100
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.S)
_NOT_TEXT = re.compile(r"^\s*(#include|//|\*)")


def files(root):
    done = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if (root / line).is_file() and not (root / line).is_symlink()]


def literals(text):
    """String literals that hold words, each in the line where it is; all other lines are empty."""
    lines = [""] * (text.count("\n") + 1)
    for found in _RAW.finditer(text):
        first = text.count("\n", 0, found.start())
        for at, line in enumerate(found.group(2).split("\n")):
            lines[first + at] = line
    bare = _RAW.sub(lambda found: "\n" * found.group(0).count("\n"), text)
    for at, line in enumerate(bare.split("\n")):
        words = [] if _NOT_TEXT.match(line) else [word for word in _LITERAL.findall(line) if " " in word.strip()]
        if words:
            # A literal that another one continues is at the end of its line; any other one is a text of its own.
            end = "" if line.rstrip().endswith('"') else "."
            lines[at] = " ".join(words).replace("\\n", " ").replace('\\"', '"') + end
    return "\n".join(lines)


def comments(text):
    lines = text.split("\n")
    found = [re.search(r"//+<?\s?(.*)", line) for line in lines]
    out = [one.group(1) if one else "" for one in found]
    for at, one in enumerate(found):
        # A comment behind code is a text of its own, unless the next line continues it in the same column.
        behind = one is not None and lines[at][:one.start()].strip()
        follows = found[at + 1] if at + 1 < len(found) else None
        if behind and not (follows and follows.start() == one.start() and not lines[at + 1][:follows.start()].strip()):
            out[at] += "."
    return "\n".join(out)


def described(text):
    """What follows `description:`, `summary:` or `message:` in YAML, folded blocks included."""
    out, indent = [], None
    for line in text.split("\n"):
        begins = re.match(r"(\s*)(?:- )?(?:description|summary|message):\s*(.*)", line)
        depth = len(line) - len(line.lstrip())
        if begins:
            indent = len(begins.group(1))
            out.append(begins.group(2).strip("'\"|> -"))
        elif indent is not None and (depth > indent or not line.strip()):
            out.append(line.strip())
        else:
            indent = None
            out.append("")
    return "\n".join(out)


def remarks(text):
    return "\n".join(found.group(1) if (found := re.search(r"(?:^|\s)#\s?(.*)", line)) else "" for line in text.split("\n"))


def area_of(path):
    """The area of a file and how its text is taken out; None where it has none that people read."""
    parts = pathlib.PurePath(path).parts
    if path.endswith(".md"):
        if parts[0] == "bench" or path in ("CHANGELOG.md", "docs/progress.md") or ".github" in parts:
            return None
        return "pages " + ("/".join(parts[:2]) if len(parts) > 2 else parts[0] if len(parts) > 1 else "."), str
    if re.match(r"src/(cli/(parser/|view/help)|daemon_options/)", path) and path.endswith(".cpp"):
        return "help", literals
    if parts[0] == "src" and "include" in parts and path.endswith(".h"):
        return "contracts " + parts[1], comments
    if parts[0] == "src" and path.endswith((".cpp", ".h")) and parts[1] not in ("simgpu", "ptx"):
        return "messages " + parts[1], literals
    if path == "deploy/prometheus/alerts.yaml":
        return "alerts", described
    if path.startswith("src/scheduler/manifests/templates/") and path.endswith(".yaml"):
        return "crd", described
    if path.startswith("deploy/helm/") and path.endswith("NOTES.txt"):
        return "chart", str
    if path.startswith("deploy/helm/") and path.endswith("values.yaml"):
        return "chart", remarks
    return None


def long_lines(text):
    """Lines of prose beyond the limit; tables, code and a line that is one link cannot be wrapped."""
    fenced = False
    for at, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        if len(line) > COLUMNS and not fenced and not line.startswith(("|", "    ", "<", "!", "[")):
            yield at


def words_of(text):
    return len(re.findall(r"[A-Za-z][A-Za-z'-]*", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)))


def findings(vale, root):
    """Per area: words, and (rule, path, line, message) of each finding."""
    words, found = collections.Counter(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = {}
        for path in files(root):
            kind = area_of(path)
            if kind is None:
                continue
            text = kind[1]((root / path).read_text("utf-8"))
            copy = folder / (path if path.endswith(".md") else path + ".txt")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, "utf-8")
            names[str(copy)] = (path, kind[0])
            words[kind[0]] += words_of(text)
            if path.endswith(".md"):
                found[kind[0]] += [("LongLines", path, at, f"More than {COLUMNS} columns.") for at in long_lines(text)]
        done = subprocess.run([vale, "--config", str(HERE / "vale.ini"), "--output=JSON", "--no-exit", str(folder)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"prose: vale failed: {(done.stderr or done.stdout).strip()[:500]}")
        for copy, alerts in json.loads(done.stdout or "{}").items():
            path, area = names[copy]
            found[area] += [(one["Check"].split(".")[1], path, one["Line"], one["Message"]) for one in alerts]
    return words, found


def rates(words, found):
    out = {}
    for area in sorted(words):
        count = collections.Counter(rule for rule, *_ in found[area])
        out[area] = {rule: round(1000 * count[rule] / max(words[area], 1), 2) for rule in BARS}
    return out


def bar(rule, words):
    """The bar of a rule; in a short area one finding, where the rule allows any at all."""
    return max(BARS[rule], round(1000 / max(words, 1), 2)) if BARS[rule] else 0


def excess(now, budget, words):
    """Rates above both the bar and the listed one, as lines for a reader."""
    for area, rules in now.items():
        for rule, rate in rules.items():
            # Shorter text without a finding less is no worse: a twentieth is left for that.
            accepted = max(bar(rule, words[area]), round(1.05 * budget.get(area, {}).get(rule, 0), 2))
            if rate > accepted:
                yield f"{area}: prose: {rule}: {rate} findings per 1,000 words; at most {accepted}"


def listed(now, budget, words):
    """The list that holds now: rates above a bar, never higher than before where an area was listed."""
    out = {}
    for area, rules in now.items():
        above = {rule: min(rate, budget.get(area, {}).get(rule, rate)) for rule, rate in rules.items()
                 if rate > bar(rule, words[area])}
        if above:
            out[area] = above
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vale")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parents[1])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", metavar="AREA")
    options = parser.parse_args()
    kept = options.root / "tools/prose/budget.json"
    budget = json.loads(kept.read_text()) if kept.exists() else {}
    words, found = findings(options.vale, options.root)
    if options.list is not None:
        for area in sorted(found):
            if area.startswith(options.list):
                for rule, path, line, message in sorted(found[area], key=lambda one: (one[1], one[2])):
                    print(f"{path}:{line}: {rule}: {message}")
        return 0
    now = rates(words, found)
    if options.write:
        kept.write_text(json.dumps(listed(now, budget, words), indent=1, sort_keys=True) + "\n")
        return 0
    wrong = list(excess(now, budget, words))
    print("\n".join(wrong), end="\n" if wrong else "")
    if wrong:
        print("prose: tools/prose/README.md explains the rules; `./dev prose AREA` lists the findings of an area")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
