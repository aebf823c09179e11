#!/usr/bin/env python3
"""Holds how many lines a build's compilations read, each and by module: time to compile follows from it.

usage: compile_budget.py BUILD_DIR [--write]

A compilation reads its sources and once every header (as the compiler told ninja). tools/lint/compile_budget.json has the
budget of each module in thousands of lines, and the budget of any one compilation. --write: takes what is now, and a
tenth on top, for the budget. `./dev build --times` names the headers that cost most.

Exit status 1 and a line per finding if a budget is exceeded, 77 (skipped) if the build has not compiled most of itself.
"""
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import compile_costs  # noqa: E402

BUDGET = pathlib.Path(__file__).with_suffix(".json")
LEAST_COMPILATIONS = 300  # fewer are no whole build


def measured(build):
    """(thousands of lines by module, {object: thousands of lines})."""
    modules, objects = collections.Counter(), {}
    for output, files in compile_costs.reads_of(build).items():
        if not (build / output).exists():
            continue
        lines = compile_costs.lines_read(build, files) / 1000
        objects[output] = lines
        modules[compile_costs.module_of(output)] += lines
    return modules, objects


def findings(budget, modules, objects):
    for module, lines in sorted(modules.items()):
        most = budget["modules"].get(module)
        if most is None:
            yield f"{module}: no budget; add it to {BUDGET.name} ({lines:.0f} thousand lines now)"
        elif lines > most:
            yield f"{module}: its compilations read {lines:.0f} thousand lines; the budget is {most}"
    for output, lines in sorted(objects.items()):
        if lines > budget["compilation"]:
            yield f"{output}: reads {lines:.0f} thousand lines; the budget of a compilation is {budget['compilation']}"


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    if len(words) != 1:
        sys.exit(__doc__)
    build = pathlib.Path(words[0]).resolve()
    modules, objects = measured(build)
    if len(objects) < LEAST_COMPILATIONS:
        print(f"SKIPPED: {len(objects)} compilations are no whole build")
        sys.exit(77)
    if "--write" in sys.argv:
        text = {"compilation": round(max(objects.values()) * 1.1),
                "modules": {name: round(lines * 1.1) for name, lines in sorted(modules.items())}}
        BUDGET.write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")
        return
    found = list(findings(json.loads(BUDGET.read_text(encoding="utf-8")), modules, objects))
    print("\n".join(found), end="\n" if found else "")
    print(f"{len(found)} finding(s) in {len(objects)} compilations, {sum(modules.values()):.0f} thousand lines")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
