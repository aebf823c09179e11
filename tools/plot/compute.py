"""Shared cards: how wrong each case's shares are, by the card's own time slicing and under Divvy;
and the 99th percentile of a latency service's answers alone, beside best-effort work with time
slicing, and under Divvy. A figure that was not measured, or whose case failed, is a cross."""
from panel import GAP, LABELS, PANEL, TOP, WIDTH, Panel, foot, number
from svg import Picture

VARIANTS = {"alone": ("alone", "#8f9aa3"), "timeslice": ("time slicing", "#d08a4e"),
            "divvy": ("Divvy", "#2f6f9f")}
KINDS = {"k005": "0.05 ms", "k1": "1 ms", "k20": "20 ms", "mixed": "20 + 0.3 ms",
         "streams4": "4 streams", "gaps": "launch-bound", "over": "sum > 100",
         "graph200": "200 ms graph"}


def only(*variants):
    return {variant: VARIANTS[variant] for variant in variants}


def share_rows(shares, variants):
    """[(case, {variant: pp over 1 s})] of the cases that share."""
    rows = []
    for name, cases in shares.get("cases", {}).items():
        if any("error_pp_1s" in figures for figures in cases.values()):
            found = {variant: None if figures.get("failed") else number(figures.get("error_pp_1s"))
                     for variant, figures in cases.items()}
            rows.append((name, {variant: found.get(variant) for variant in variants}))
    return rows


def latency_rows(priority, variants):
    """[(case, {variant: p99 in ms})]."""
    return [(name, {variant: number(cases.get(variant, {}).get("p99_ms")) for variant in variants})
            for name, cases in priority.get("cases", {}).items()]


def words(name):
    """A case's name for people, in two lines."""
    first, _, rest = name.partition("_")
    if name.startswith("rate"):
        return [f"{first[4:]}/s", f"{rest[4:]} ms"]
    return [KINDS.get(first, first), rest.replace("_", " : ")]


def draw(shares, priority):
    """The SVG document as text."""
    step = PANEL + GAP + LABELS
    picture = Picture(WIDTH, TOP + 2 * step - GAP + 24)
    two, three = only("timeslice", "divvy"), only("alone", "timeslice", "divvy")
    Panel(picture, TOP, "Share error, worst tenant in the worst second", "pp",
          share_rows(shares, two), two, words, [(5, "bar: 5 pp")])
    Panel(picture, TOP + step, "Latency p99 beside best-effort work", "ms",
          latency_rows(priority, three), three, words)
    foot(picture, shares)
    return picture.document()
