#!/usr/bin/env python3
"""Draws what the benches of shared cards found: plot.py SHARES.json PRIORITY.json OUT.svg

Above: how wrong each case's shares are, by the card's own time slicing and under Divvy. Below: the
99th percentile of a latency service's answers alone, beside best-effort work with time slicing, and
under Divvy. A figure that was not measured, or whose case failed, is a cross.
"""
import json
import math
import sys

from svg import Picture, steps

WIDTH, LEFT, RIGHT = 860, 60, 20
PANEL, GAP, TOP, LABELS = 220, 74, 64, 34
COLOURS = {"alone": "#8f9aa3", "timeslice": "#d08a4e", "divvy": "#2f6f9f"}
NAMES = {"alone": "alone", "timeslice": "time slicing", "divvy": "Divvy"}
GREY, INK, BAR = "#dddddd", "#222222", "#b03030"


def number(value):
    """A finite float, or None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def share_rows(shares):
    """[(case, {variant: pp over 1 s})] of the cases that share."""
    rows = []
    for name, variants in shares.get("cases", {}).items():
        if any("error_pp_1s" in figures for figures in variants.values()):
            rows.append((name, {variant: None if figures.get("failed") else
                                number(figures.get("error_pp_1s"))
                                for variant, figures in variants.items()}))
    return rows


def latency_rows(priority):
    """[(case, {variant: p99 in ms})]."""
    return [(name, {variant: number(figures.get("p99_ms"))
                    for variant, figures in variants.items()})
            for name, variants in priority.get("cases", {}).items()]


def words(name):
    """A case's name for people, in two lines."""
    first, _, rest = name.partition("_")
    if name.startswith("rate"):
        return [f"{first[4:]}/s", f"{rest[4:]} ms"]
    kinds = {"k005": "0.05 ms", "k1": "1 ms", "k20": "20 ms", "mixed": "20 + 0.3 ms",
             "streams4": "4 streams", "gaps": "launch-bound", "over": "sum > 100",
             "graph200": "200 ms graph"}
    return [kinds.get(first, first), rest.replace("_", " : ")]


class Panel:
    """One set of grouped bars."""

    def __init__(self, picture, top, title, unit, rows, variants, bars=()):
        self.picture, self.top, self.rows, self.variants = picture, top, rows, variants
        self.bottom = top + PANEL
        values = [value for _, row in rows for value in row.values() if value is not None]
        self.ticks = steps(max([*values, *(bar for bar, _ in bars)], default=1))
        picture.text(LEFT, top - 34, title, size=14, weight="bold")
        self._axis(unit)
        self._groups()
        for value, label in bars:
            y = self._y(value)
            picture.line(LEFT, y, WIDTH - RIGHT, y, BAR, dash="5 3")
            x = WIDTH - RIGHT - 110 * (len(variants) + 1)
            picture.line(x - 10, top - 39, x + 12, top - 39, BAR, dash="5 3")
            picture.text(x + 17, top - 35, label)

    def _y(self, value):
        return self.bottom - value / self.ticks[-1] * PANEL

    def _axis(self, unit):
        for tick in self.ticks:
            y = self._y(tick)
            self.picture.line(LEFT, y, WIDTH - RIGHT, y, GREY if tick else INK)
            self.picture.text(LEFT - 6, y + 4, f"{tick:g}", size=10, anchor="end")
        self.picture.text(LEFT - 40, self.top - 10, unit, size=10)
        x = WIDTH - RIGHT - 110 * len(self.variants)
        for variant in self.variants:
            self.picture.rect(x, self.top - 45, 12, 12, COLOURS[variant])
            self.picture.text(x + 17, self.top - 35, NAMES[variant])
            x += 110

    def _groups(self):
        group = (WIDTH - LEFT - RIGHT) / max(len(self.rows), 1)
        bar = min(group * 0.8 / len(self.variants), 34)
        for i, (name, row) in enumerate(self.rows):
            middle = LEFT + group * (i + 0.5)
            for j, variant in enumerate(self.variants):
                x = middle + (j - len(self.variants) / 2) * bar
                self._bar(x, bar, name, variant, row.get(variant))
            for line, text in enumerate(words(name)):
                self.picture.text(middle, self.bottom + 15 + 13 * line, text, size=10,
                                  anchor="middle")

    def _bar(self, x, width, name, variant, value):
        if value is None:
            self.picture.text(x + width / 2, self.bottom - 4, "×", size=13, colour=BAR,
                              anchor="middle")
            return
        y = self._y(value)
        self.picture.rect(x, y, width - 2, self.bottom - y, COLOURS[variant],
                          f"{name}, {NAMES[variant]}: {value:g}")
        self.picture.text(x + width / 2 - 1, y - 3, f"{value:.1f}", size=8, anchor="middle")


def draw(shares, priority):
    """The SVG document as text."""
    step = PANEL + GAP + LABELS
    picture = Picture(WIDTH, TOP + 2 * step - GAP + 24)
    Panel(picture, TOP, "Share error, worst tenant in the worst second", "pp", share_rows(shares),
          ("timeslice", "divvy"), [(5, "bar: 5 pp")])
    Panel(picture, TOP + step, "Latency p99 beside best-effort work", "ms", latency_rows(priority),
          ("alone", "timeslice", "divvy"))
    picture.text(LEFT, picture.height - 8,
                 f"{shares.get('driver', '')}, {shares.get('host', '')}, {shares.get('date', '')}",
                 size=9, colour="#777777")
    return picture.document()


def main(words_given):
    if len(words_given) != 3:
        sys.stderr.write(__doc__.splitlines()[0] + "\n")
        return 2
    figures = []
    for path in words_given[:2]:
        try:
            with open(path, encoding="utf-8") as file:
                figures.append(json.load(file))
        except (OSError, ValueError) as error:
            sys.stderr.write(f"plot: {path}: {error}\n")
            return 1
    with open(words_given[2], "w", encoding="utf-8") as file:
        file.write(draw(*figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
