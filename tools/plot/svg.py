"""A few shapes of SVG, and a scale from values to lengths."""
from xml.sax.saxutils import escape

FONT = "font-family='DejaVu Sans, Verdana, sans-serif'"


class Picture:
    def __init__(self, width, height):
        self.width, self.height = width, height
        self.parts = []

    def rect(self, x, y, width, height, fill, title=None):
        inside = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(f"<rect x='{x:.1f}' y='{y:.1f}' width='{max(width, 0):.1f}' "
                          f"height='{max(height, 0):.1f}' fill='{fill}'>{inside}</rect>")

    def line(self, x1, y1, x2, y2, colour, dash=None, width=1):
        dashes = f" stroke-dasharray='{dash}'" if dash else ""
        self.parts.append(f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' "
                          f"stroke='{colour}' stroke-width='{width}'{dashes}/>")

    def text(self, x, y, words, size=11, colour="#222", anchor="start", weight="normal"):
        self.parts.append(f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' fill='{colour}' "
                          f"text-anchor='{anchor}' font-weight='{weight}'>{escape(words)}</text>")

    def document(self):
        head = (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
                f"width='{self.width}' height='{self.height}'>")
        back = f"<rect width='{self.width}' height='{self.height}' fill='white'/>"
        return "\n".join([head, back, *self.parts, "</svg>"]) + "\n"


def steps(most, count=5):
    """Round values from 0 to at least `most`, about `count` of them."""
    if most <= 0:
        return [0, 1]
    raw = most / count
    size = 1.0
    while size > raw:
        size /= 10
    while size * 10 <= raw:
        size *= 10
    size *= next(factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    values = [0.0]
    while values[-1] < most:
        values.append(values[-1] + size)
    return values
