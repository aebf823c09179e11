"""The scenes of the demo. Each shows something and checks it; the table at the end is the sum."""
import os
import signal
import sys
import time

import compute_scenes
import memory_scenes
from screen import size

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
RACERS, ATTEMPTS = 64, 1_000_000
RACE_ROOM = 4 * GIB  # what the racers fight for, beside their contexts


def play(stage, screen, console=False):
    """All scenes in order. True when every check passed. console: with the web page beside them."""
    opening(stage, screen)
    page = stage.console() if console else None
    if page:
        screen.event("the console shows it live; this link opens one session:")
        screen.show(page.link)
    three_tenants(stage, screen)
    too_much(stage, screen)
    killed(stage, screen)
    race(stage, screen)
    compute_scenes.play(stage, screen)
    memory_scenes.play(stage, screen)
    passed = screen.table()
    if page and sys.stdin.isatty() and sys.stdout.isatty():
        linger(stage, screen, page)
    return passed


def linger(stage, screen, page):
    """Keeps the console, and a tenant to look at, until Enter or Ctrl-C."""
    stage.tenant("visitor", GIB, "hold", str(GIB // 4)).line()
    screen.say("The console stays until you press Enter. This link opens one session:")
    screen.show(page.newest())
    sys.stdin.readline()


def opening(stage, screen):
    card = stage.rows("gpus")[0]
    kind = f"simulated {stage.profile}" if stage.simulated else "this machine's own"
    screen.event(f"the card: {card['model']}, {size(card['physical'])} ({kind})")


def three_tenants(stage, screen):
    """Different limits, different work, one card; each result is verified by its own program."""
    screen.scene("1. Three tenants with different limits compute on one card")
    unit = GIB if stage.rows("gpus")[0]["physical"] < 40 * GIB else 4 * GIB
    cast = (("alice", unit, "matmul", 30), ("bob", unit * 3 // 2, "sums", 30),
            ("carol", unit * 2, "shuffle", 40))
    tenants = {}
    for name, limit, work, cores in cast:
        tenants[name] = stage.tenant(name, limit, "compute", work, cores=cores)
        screen.event(f"{name} asks for {size(limit)} and {cores} % and starts \"{work}\"")
    openings = {name: tenants[name].line() for name, *_ in cast}
    screen.event("divvy ls, while they compute:")
    screen.show(stage.view("ls"))
    for name, limit, work, _ in cast:
        seen = openings[name]["total"]
        screen.check(f"{name}'s card has", size(limit), size(seen), seen == limit)
    for name, _, work, _ in cast:
        while not tenants[name].ended():
            screen.status(f"{name} computes")
            time.sleep(0.01)
        status, result = tenants[name].finish()
        good = status == 0 and result is not None and result["wrong"] == 0
        seen = f"{result['checked']:,} verified" if result else tenants[name].error_text()
        screen.check(f"{name}'s {work}", "right results", seen, good)
    stage.wait(lambda: stage.rows("ls") == [], "the shares come back")
    left = len(stage.rows("ls"))
    screen.check("shares left when they are done", "0", str(left), left == 0)


def too_much(stage, screen):
    screen.scene("2. One asks for more than its limit")
    limit, wanted = 2 * GIB, 3 * GIB
    dave = stage.tenant("dave", limit, "greedy", str(wanted))
    status, seen = dave.finish()
    if status != 0 or seen is None:
        screen.check("dave", "an answer", dave.error_text(), False)
        return
    for what, code in ((f"dave asks for {size(wanted)} of {size(limit)}", seen["beyond_code"]),
                       ("dave asks for all that is free + 1", seen["over_free_code"])):
        screen.check(what, f"error {OUT_OF_MEMORY}", f"error {code}", code == OUT_OF_MEMORY)
    screen.check("refusals cost dave", "0 B", size(seen["free"] - seen["left"]),
                 seen["free"] == seen["left"])
    screen.check("dave's next allocation, 64 MiB", "success", f"error {seen['modest_code']}"
                 if seen["modest_code"] else "success", seen["modest_code"] == 0)


def killed(stage, screen):
    screen.scene("3. One is killed; its bytes come back at once")
    held = 3 * GIB
    before = stage.used()
    erin = stage.tenant("erin", 4 * GIB, "hold", str(held))
    hold = erin.line()
    during = stage.used()
    screen.event(f"erin holds {size(held)}; in use on the card: {size(during)}")
    screen.show(stage.view("gpus"))
    screen.check("erin's bytes are on the card", f">= {size(held)}", size(during - before),
                 during - before >= held)
    os.kill(hold["pid"], signal.SIGKILL)
    took = stage.wait(lambda: stage.used() <= before, "the bytes come back")
    left = max(0, stage.used() - before)
    screen.check("bytes of erin after SIGKILL", "0 B", size(left), left == 0)
    screen.check("back after", "<= 1 s", f"{took * 1000:.0f} ms", took <= 1)
    status, _ = erin.finish()
    ended_by = signal.Signals(-status).name if status < 0 else f"status {status}"
    screen.check("divvy run ends as erin did", "SIGKILL", ended_by, ended_by == "SIGKILL")
    stage.wait(lambda: stage.rows("gpus")[0]["allocated"] == 0, "the share is free")
    screen.show(stage.view("gpus"))


def race(stage, screen):
    screen.scene(f"4. {RACERS} processes race for memory in one share")
    card = stage.rows("gpus")[0]
    context = card["context"] or 512 * MIB
    racers = min(RACERS, max(2, (card["physical"] - card["used"] - RACE_ROOM) // context - 2))
    limit = racers * context + RACE_ROOM
    screen.event(f"{racers} contexts and {size(RACE_ROOM)} to fight for: a share of {size(limit)}")
    frank = stage.tenant("frank", limit, "race", str(racers), str(ATTEMPTS))
    while not frank.ended():
        screen.status(f"{racers} processes race, in use on the card: {size(stage.used())}")
        time.sleep(0.05)
    status, seen = frank.finish()
    if status != 0 or seen is None:
        screen.check("the race", "a result", frank.error_text(), False)
        return
    tried = seen["granted"] + seen["refused"]
    screen.event(f"{seen['granted']:,} granted, {seen['refused']:,} refused")
    screen.check("racing allocations", f"{ATTEMPTS // racers * racers:,}", f"{tried:,}",
                 tried == ATTEMPTS // racers * racers and seen["refused"] > 0)
    if stage.simulated:
        peak = stage.card()["peak"]
        over = max(0, peak - limit)
        screen.event(f"the most that was ever on the card: {size(peak)} of {size(limit)}")
        screen.check("bytes over, by the card's own books", "0 B", size(over), over == 0)
    else:
        screen.skip("bytes over, by the card's own books", "a real card keeps none")
        over = max(0, seen["most"] - limit)
        screen.check("bytes over, by the racers' own sum", "0 B", size(over), over == 0)
    screen.check("bytes left after the race", "0 B", size(seen["left"]), seen["left"] == 0)
