"""One set of grouped bars in a picture."""
import math

from svg import steps

WIDTH, LEFT, RIGHT = 860, 60, 20
PANEL, GAP, TOP, LABELS = 220, 74, 64, 34
GREY, INK, BAR = "#dddddd", "#222222", "#b03030"


def number(value):
    """A finite float, or None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


class Panel:
    """`rows`: [(case, {variant: value or None})]; `variants`: {variant: (name, colour)}, in order;
    `words`: the lines that name a case; `bars`: [(value, label)] across all, or {case: value}."""

    def __init__(self, picture, top, title, unit, rows, variants, words, bars=()):
        self.picture, self.top, self.rows, self.variants = picture, top, rows, variants
        self.bottom = top + PANEL
        of_case = bars if isinstance(bars, dict) else {}
        across = () if of_case else bars
        values = [value for _, row in rows for value in row.values() if value is not None]
        values += [*(bar for bar, _ in across), *of_case.values()]
        self.ticks = steps(max(values, default=1))
        picture.text(LEFT, top - 34, title, size=14, weight="bold")
        self._axis(unit)
        self._groups(words, of_case)
        for value, label in across:
            y = self._y(value)
            picture.line(LEFT, y, WIDTH - RIGHT, y, BAR, dash="5 3")
            self._legend_of_bars(label)
        if of_case:
            self._legend_of_bars("bar")

    def _y(self, value):
        return self.bottom - max(value, 0) / self.ticks[-1] * PANEL

    def _legend_of_bars(self, label):
        x = WIDTH - RIGHT - 110 * (len(self.variants) + 1)
        self.picture.line(x - 10, self.top - 39, x + 12, self.top - 39, BAR, dash="5 3")
        self.picture.text(x + 17, self.top - 35, label)

    def _axis(self, unit):
        for tick in self.ticks:
            y = self._y(tick)
            self.picture.line(LEFT, y, WIDTH - RIGHT, y, GREY if tick else INK)
            self.picture.text(LEFT - 6, y + 4, f"{tick:g}", size=10, anchor="end")
        self.picture.text(LEFT - 40, self.top - 10, unit, size=10)
        x = WIDTH - RIGHT - 110 * len(self.variants)
        for name, colour in self.variants.values():
            self.picture.rect(x, self.top - 45, 12, 12, colour)
            self.picture.text(x + 17, self.top - 35, name)
            x += 110

    def _groups(self, words, bar_of):
        group = (WIDTH - LEFT - RIGHT) / max(len(self.rows), 1)
        bar = min(group * 0.8 / len(self.variants), 34)
        for i, (name, row) in enumerate(self.rows):
            middle = LEFT + group * (i + 0.5)
            for j, variant in enumerate(self.variants):
                x = middle + (j - len(self.variants) / 2) * bar
                if variant in row:
                    self._bar(x, bar, name, variant, row[variant])
            if name in bar_of:
                half = bar * len(self.variants) / 2 + 6
                y = self._y(bar_of[name])
                self.picture.line(middle - half, y, middle + half, y, BAR, dash="5 3")
            for line, text in enumerate(words(name)):
                self.picture.text(middle, self.bottom + 15 + 13 * line, text, size=10,
                                  anchor="middle")

    def _bar(self, x, width, name, variant, value):
        if value is None:
            self.picture.text(x + width / 2, self.bottom - 4, "×", size=13, colour=BAR,
                              anchor="middle")
            return
        y = self._y(value)
        shown, colour = self.variants[variant]
        self.picture.rect(x, y, width - 2, self.bottom - y, colour, f"{name}, {shown}: {value:g}")
        self.picture.text(x + width / 2 - 1, y - 3, f"{value:.1f}", size=8, anchor="middle")


def foot(picture, report):
    """Where the figures are from."""
    picture.text(LEFT, picture.height - 8,
                 f"{report.get('driver', '')}, {report.get('host', '')}, {report.get('date', '')}",
                 size=9, colour="#777777")
