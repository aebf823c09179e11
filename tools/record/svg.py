"""Frames of a terminal as one animated SVG. Viewers that do not animate show one of them."""
from xml.sax.saxutils import escape

CELL, LINE, MARGIN, TOP = 7.8, 17, 14, 34  # pixels; a cell of 13 px monospace text is 7.8 wide
INK, PAPER, BAR = "#e6e6e6", "#14181d", "#232a32"
COLORS = {30: "#5c6773", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff",
          36: "#76e3ea", 37: INK}
COLORS |= {number + 60: color for number, color in COLORS.items()}


def style_of(style):
    words = f' fill="{COLORS[style["color"]]}"' if style["color"] else ""
    words += ' font-weight="bold"' if style["bold"] else ""
    return words + (' opacity="0.65"' if style["dim"] else "")


def line_of(runs, y):
    """One <text> for a line: each run has its place, so that fonts of another width do no harm."""
    column, spans = 0, ""
    for text, style in runs:
        stripped = text.lstrip(" ")
        if stripped.strip():
            x = MARGIN + CELL * (column + len(text) - len(stripped))
            spans += f'<tspan x="{x:.1f}"{style_of(style)}>{escape(stripped.rstrip())}</tspan>'
        column += len(text)
    return f'<text y="{y:g}">{spans}</text>' if spans else ""


def spaced(runs):
    """Runs cut at two or more blanks, so that columns stand below each other in any font."""
    for text, style in runs:
        part = ""
        for char in text:
            if part.endswith("  ") and char != " ":
                yield part, style
                part = ""
            part += char
        yield part, style


def frame_of(lines):
    return "".join(line_of(spaced(runs), TOP + LINE * (number + 1))
                   for number, runs in enumerate(lines))


def animation(seconds):
    """Styles that show frame after frame, for so many seconds each; in a loop."""
    whole, begin, text = sum(seconds), 0.0, ""
    for number, length in enumerate(seconds):
        first, last = 100 * begin / whole, 100 * (begin + length) / whole
        before = f"0%,{first:.2f}%{{opacity:0}}" if first else ""
        after = f"{last:.2f}%,100%{{opacity:0}}" if last < 99.995 else ""
        text += (f"@keyframes f{number}{{{before}{first + .01:.2f}%,{last - .01:.2f}%{{opacity:1}}{after}}}"
                 f".f{number}{{animation:f{number} {whole:g}s linear infinite}}")
        begin += length
    return text


def picture(frames, still, columns, rows, title):
    """frames: (seconds, lines of an Emulator). still: the one to show without animation."""
    width, height = 2 * MARGIN + CELL * columns, TOP + LINE * (rows + 1)
    groups = "".join(
        f'<g class="f{number}"{"" if number == still else " opacity=" + chr(34) + "0" + chr(34)}>'
        f"{frame_of(lines)}</g>\n" for number, (_, lines) in enumerate(frames))
    moving = animation([seconds for seconds, _ in frames])
    dots = "".join(f'<circle cx="{MARGIN + 6 + 18 * i}" cy="15" r="5" fill="{color}"/>'
                   for i, color in enumerate(("#ff5f57", "#febc2e", "#28c840")))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img">\n<title>{escape(title)}</title>\n'
            f"<style>text{{font:13px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:{INK};"
            f"white-space:pre}}@media (prefers-reduced-motion:no-preference){{{moving}}}</style>\n"
            f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>'
            f'<path d="M0 30V8a8 8 0 0 1 8-8h{width - 16:g}a8 8 0 0 1 8 8v22z" fill="{BAR}"/>'
            f"{dots}\n{groups}</svg>\n")
