"""More memory than a card has: what two batch jobs lose by taking turns, against one after the
other, by how much they need and how long a turn is; and how long a service takes that was swapped
out. A figure that is void, or was not measured, is a cross."""
from panel import GAP, LABELS, PANEL, TOP, WIDTH, Panel, foot, number
from svg import Picture

TURNS = {"auto": ("automatic", "#2f6f9f"), "4s": ("turns of 4 s", "#8f9aa3"),
         "2s": ("turns of 2 s", "#d08a4e")}
ACTIVATION = {"p50": ("p50", "#2f6f9f"), "p99": ("p99", "#d08a4e"),
              "predicted": ("its bytes alone", "#8f9aa3")}


def loss(value):
    """Percent more than 1."""
    figure = number(value)
    return None if figure is None else max((figure - 1) * 100, 0)


def loss_rows(report):
    """[(times the room, {turns: percent lost})]."""
    rows = {}
    for case, ratio in report.get("makespan_vs_serial", {}).items():
        times, _, turns = case.partition("_")
        rows.setdefault(times, {})[turns or "auto"] = loss(ratio)
    return sorted(rows.items(), key=lambda row: float(row[0]))


def activation_row(report):
    """One case: {p50, p99, predicted}, in ms."""
    found = report.get("activation_ms", {})
    return [("activation", {key: number(found.get(key)) for key in ACTIVATION})]


def draw(report):
    """The SVG document as text."""
    step = PANEL + GAP + LABELS
    picture = Picture(WIDTH, TOP + 2 * step - GAP + 24)
    bars = report.get("bars", {})
    limits = {case: loss(bars.get(f"makespan_vs_serial/{case}")) for case, _ in loss_rows(report)}
    Panel(picture, TOP, "Two jobs by turns, against serial", "% longer", loss_rows(report),
          TURNS, lambda times: [f"{times} times", "the room"],
          {case: limit for case, limit in limits.items() if limit is not None})
    limit = number(bars.get("activation_ms/p99"))
    Panel(picture, TOP + step, "First answer of a swapped-out service", "ms",
          activation_row(report), ACTIVATION, lambda _: ["four services by turns"],
          [(limit, f"bar: {limit:.0f} ms")] if limit is not None else ())
    foot(picture, report)
    return picture.document()
