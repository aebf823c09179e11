"""Figures that explain a concept. They show no measurement."""
from svg import Picture

BLUE, GREY, ORANGE, PALE, RED, NOTE = "#2f6f9f", "#8f9aa3", "#d08a4e", "#eef2f5", "#b03030", "#555"
TENANTS = {"serve": (24, 20, BLUE), "train": (40, 33, ORANGE), "batch": (12, 5, GREY)}
TURNS = ["train", "serve", "train", "batch", "train", "serve", "train", "serve", "train", "batch"]
LEFT, WIDTH = 40, 780


def axis(picture, y, left, right, count, label):
    picture.line(left, y, right, y, "#222")
    for k in range(count + 1):
        x = left + (right - left) * k / count
        picture.line(x, y - 4, x, y + 4, "#222")
        picture.text(x, y + 19, label(k), colour=NOTE, anchor="end" if k == count else "middle")


def shares():
    """Three tenants: memory by size, compute by turns."""
    picture = Picture(860, 285)
    picture.text(LEFT, 30, "Memory: divided by size", 14, weight="bold")
    x = LEFT
    for name, (limit, used, colour) in TENANTS.items():
        width = WIDTH * limit / 80
        picture.rect(x, 45, width, 46, colour + "55", f"{name}: limit {limit} GiB")
        picture.rect(x, 45, width * used / limit, 46, colour, f"{name}: {used} GiB in use")
        picture.text(x + 8, 65, name, 12, "white", weight="bold")
        picture.text(x + 8, 82, f"{used} of {limit}", 11, "white")
        x += width
        picture.line(x, 39, x, 97, RED, "5 3", 2)
    picture.rect(x + 1, 45, LEFT + WIDTH - x - 1, 46, PALE)
    picture.text(x + 8, 73, "free", colour=NOTE)
    picture.text(LEFT, 115, "Dashed: the limit of each share, in GiB. An allocation beyond it is out of memory, "
                 "whatever other tenants leave unused.", colour=NOTE)
    picture.text(LEFT, 152, "Compute: divided by time", 14, weight="bold")
    for k in range(20):
        picture.rect(LEFT + 39 * k, 166, 38, 46, TENANTS[TURNS[k % 10]][2], TURNS[k % 10])
    axis(picture, 222, LEFT, LEFT + WIDTH, 4, lambda k: f"{50 * k} ms")
    picture.text(LEFT, 265, "Turns of about 10 ms on the whole GPU: train 50 %, serve 30 %, batch 20 %. "
                 "An idle tenant is skipped.", colour=NOTE)
    return picture.document()


def priorities():
    """Requests of high priority, and the gaps between them."""
    picture = Picture(860, 232)
    requests = [(250, 310), (430, 490), (540, 600), (700, 760)]
    picture.text(LEFT, 26, "One GPU during 20 ms", 14, weight="bold")
    for y, name, priority in ((52, "serve", "high"), (112, "train", "low")):
        picture.rect(170, y, 650, 46, PALE)
        picture.text(LEFT, y + 20, name, 13, weight="bold")
        picture.text(LEFT, y + 36, f"priority {priority}", colour=NOTE)
    at = 170
    for begin, end in [*requests, (820, 820)]:
        while at < begin - 1:
            picture.rect(at, 112, min(13, begin - at), 46, ORANGE)
            at += 14
        picture.rect(begin, 52, end - begin, 46, BLUE)
        at = end + 4
    for begin, _ in requests:
        picture.line(begin - 3, 38, begin - 3, 52, RED, width=2)
    picture.text(requests[0][0] - 8, 46, "request", colour=RED, anchor="end")
    axis(picture, 168, 170, 820, 4, lambda k: f"{5 * k} ms")
    picture.text(LEFT, 214, "A request waits at most for the kernel that runs. The training has little work "
                 "in flight, so it yields quickly.", colour=NOTE)
    return picture.document()


def queues():
    """Two queues of 32 GPUs: borrowing, reclaim, guarantees."""
    picture = Picture(860, 322)
    base, unit = 250, 5.6
    picture.text(LEFT, 26, "GPUs in use by two queues (32 GPUs; guarantee 16 and limit 24 each)", 14,
                 weight="bold")
    states = (("speech needs little", 24, 4, "vision borrows, up to its limit"),
              ("speech needs more", 20, 12, "Divvy evicts pods that borrow"),
              ("both are busy", 16, 16, "each has its guarantee"))
    for k, (title, vision, speech, note) in enumerate(states):
        left = 60 + 255 * k
        for x, name, value, colour in ((left + 20, "vision", vision, BLUE), (left + 100, "speech", speech, ORANGE)):
            picture.rect(x, base - unit * value, 60, unit * min(value, 16), colour, f"{name}: {value}")
            picture.rect(x, base - unit * min(value, 16), 60, unit * min(value, 16), colour)
            if value > 16:
                picture.rect(x, base - unit * value, 60, unit * (value - 16), "#9fc3de", "borrowed")
                picture.text(x + 30, base - unit * (value + 16) / 2 + 4, f"{value - 16} borrowed", 9,
                             "#123", "middle")
            picture.text(x + 30, base - unit * value - 5, str(value), 12, anchor="middle")
            picture.text(x + 30, base + 16, name, colour=NOTE, anchor="middle")
        picture.line(left + 8, base, left + 172, base, "#222")
        picture.line(left + 8, base - unit * 16, left + 172, base - unit * 16, "#222", "5 3")
        picture.line(left + 8, base - unit * 24, left + 172, base - unit * 24, RED, "5 3")
        picture.text(left + 90, base + 38, title, 12, anchor="middle", weight="bold")
        picture.text(left + 90, base + 56, note, colour=NOTE, anchor="middle")
    picture.text(750, base - unit * 16 + 4, "guarantee")
    picture.text(750, base - unit * 24 + 4, "limit", colour=RED)
    return picture.document()
