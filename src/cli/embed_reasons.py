"""Makes a table of C++ of the reasons on docs/operations/troubleshooting.md: embed_reasons.py PAGE OUT"""
import json
import re
import sys

ROW = re.compile(r'^\| <a name="([^"]+)"></a>`[^`]+` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$')


def plain(text):
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text.strip())
    return text.replace("`", "")


def main(page, out):
    rows, group = [], ""
    with open(page, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("## "):
                group = line[3:].strip()
            elif found := ROW.match(line.rstrip("\n")):
                rows.append([found.group(1), group, *map(plain, found.group(2, 3, 4))])
    assert rows, f"{page} has no rows"
    with open(out, "w", encoding="utf-8") as to:
        to.write('// Made by embed_reasons.py.\n#include "commands/reasons.h"\n\nnamespace divvy::cli {\n\n'
                 "const std::vector<Reason>& reasons() {\n  static const std::vector<Reason> all{\n")
        for row in rows:
            to.write("      {" + ", ".join(json.dumps(part, ensure_ascii=False) for part in row) + "},\n")
        to.write("  };\n  return all;\n}\n\n}  // namespace divvy::cli\n")


main(*sys.argv[1:])
