#!/usr/bin/env python3
"""Version script of an older driver: the names of abi/cuda.def that came no later than a release."""
import sys


def main():
    source, newest, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    names = []
    with open(source, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if len(words) > 7 and words[0].startswith("cu") and words[2].isdigit():
                if int(words[2]) <= newest:
                    names.append(words[0])
    with open(target, "w", encoding="utf-8") as out:
        out.write("{\n  global:\n")
        out.writelines(f"    {name};\n" for name in names)
        out.write("  local: *;\n};\n")


if __name__ == "__main__":
    main()
