#!/usr/bin/env python3
"""Draws results of benches, and figures of concepts:
  plot.py compute SHARES.json PRIORITY.json OUT.svg
  plot.py oversubscribe OVERSUBSCRIBE.json OUT.svg
  plot.py shares|priorities|queues OUT.svg
"""
import json
import sys

import compute
import concepts
import oversubscribe

PICTURES = {"compute": (compute.draw, 2), "oversubscribe": (oversubscribe.draw, 1),
            "shares": (concepts.shares, 0), "priorities": (concepts.priorities, 0),
            "queues": (concepts.queues, 0)}


def main(words):
    draw, files = PICTURES.get(words[0] if words else "", (None, 0))
    if draw is None or len(words) != files + 2:
        sys.stderr.write(__doc__)
        return 2
    figures = []
    for path in words[1:-1]:
        try:
            with open(path, encoding="utf-8") as file:
                figures.append(json.load(file))
        except (OSError, ValueError) as error:
            sys.stderr.write(f"plot: {path}: {error}\n")
            return 1
    with open(words[-1], "w", encoding="utf-8") as file:
        file.write(draw(*figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
