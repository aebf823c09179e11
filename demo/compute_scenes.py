"""The scenes about time on the card: shares that hold, and a service beside a training.

On a simulated card everything is judged by the card's own log of who had it when. A real card keeps
none: there the programs' own counts of finished kernels are taken, and the table says so.
"""
import time

from screen import bar
from stage import Broken

GIB = 1 << 30
SETTLE, WINDOW = 1.0, 4.0  # seconds: to start up, and to be judged
OFF, OFF_SECOND = 2, 5  # percentage points that a share may be off, over WINDOW and over any second
BUSY = 90  # percent of the time that the card must work while several want it
LAUNCH_US, LAUNCHES, RATE = 200, 10, 100  # a request of 2 ms; requests per second
TRAINER_US = 400
SERVED = 12.0  # seconds of requests on a simulated card, SLOWER than it says; 5 on a real one
SLOWER = 5
HARM = 25  # percent that the service's p99 may grow beside the training
GAPS = 75  # percent of the time that the service leaves, for the training
TRIES = 3  # of what is judged in milliseconds: the machine may have stood still


def play(stage, screen):
    shares(stage, screen, "5. Two tenants share the card's time, 30 to 70",
           (("gina", 30, "1000"), ("hugo", 70, "5000")))
    shares(stage, screen, "6. Three tenants, 10 to 20 to 70, with kernels of 0.2, 1 and 10 ms",
           (("ines", 10, "200"), ("jack", 20, "1000"), ("kate", 70, "10000")), top=True)
    service(stage, screen)


def settle(screen, attempt):
    """attempt() gives lines for the table: those of the first that are all as asked, else of the
    last. Every miss is told."""
    for left in reversed(range(TRIES)):
        checks = attempt()
        if left == 0 or all(passed for *_, passed in checks):
            break
        for what, asked, seen, passed in checks:
            if not passed:
                screen.event(f"{what}: {seen}, not {asked}; once more")
    for check in checks:
        screen.check(*check, timed=True)


def shares(stage, screen, title, cast, top=False):
    screen.scene(title)
    for name, cores, us in cast:
        screen.event(f"{name} has --cores {cores} and wants it all: kernels of "
                     f"{float(us) / 1000:g} ms")
    if not stage.simulated:
        screen.skip("the card's own log of time", "a real card keeps none")
    settle(screen, lambda: share(stage, screen, cast, top))


def share(stage, screen, cast, top):
    tenants = {name: stage.tenant(name, 2 * GIB, "timed", "train", us, cores=cores)
               for name, cores, us in cast}
    pids = {name: tenant.line()["pid"] for name, tenant in tenants.items()}
    begin = time.monotonic() + 0.1
    judged, end = begin + SETTLE, begin + SETTLE + WINDOW
    for tenant in tenants.values():
        tenant.tell(moments(begin if stage.simulated else judged, end))
    shown = not top
    while (now := time.monotonic()) < end:
        if not shown and now > judged + WINDOW / 2:
            shown = True
            screen.event("divvy top, while they compute:")
            screen.show(part_of_top(stage.view("top", 80)), indent=0)
        screen.live(bars(cast, got_lately(stage, pids, now)))
        time.sleep(0.1)
    done = {name: tenant.finish() for name, tenant in tenants.items()}
    for name, (status, result) in done.items():
        if status != 0 or result is None:
            raise Broken(f"{name} gave no result: {tenants[name].error_text()}")
    if stage.simulated:
        got = {name: stage.busy(judged, end).get(pid, 0) for name, pid in pids.items()}
    else:
        got = {name: result["busy_ns"] * 1e-9 for name, (_, result) in done.items()}
    whole = sum(got.values()) or 1.0
    screen.show("\n".join(bars(cast, {name: part / whole for name, part in got.items()})), indent=0)
    return judge(stage, cast, pids, got, judged, end)


def judge(stage, cast, pids, got, begin, end):
    whole = sum(got.values()) or 1.0
    checks = []
    for name, cores, _ in cast:
        percent = 100 * got[name] / whole
        checks.append((f"{name}'s part of the card's time", f"{cores} % +- {OFF}",
                       f"{percent:.1f} %", abs(percent - cores) <= OFF))
    if stage.simulated:
        worst = max(worst_second(stage, cast, pids, begin + i) for i in range(int(end - begin)))
        checks.append(("furthest off in any second", f"<= {OFF_SECOND} points",
                       f"{worst:.1f} points", worst <= OFF_SECOND))
    used = 100 * whole / (end - begin)
    checks.append(("of the time, the card worked", f">= {BUSY} %", f"{used:.1f} %", used >= BUSY))
    return checks


def worst_second(stage, cast, pids, begin):
    """Percentage points by which the worst tenant is off in this second."""
    busy = stage.busy(begin, begin + 1)
    got = {name: busy.get(pid, 0) for name, pid in pids.items()}
    whole = sum(got.values()) or 1.0
    return max(abs(100 * got[name] / whole - cores) for name, cores, _ in cast)


def got_lately(stage, pids, now, span=0.5):
    """What each tenant had of the last half second, 0 to 1."""
    if stage.simulated:
        busy = stage.busy(now - span, now)
        return {name: busy.get(pid, 0) / span for name, pid in pids.items()}
    return {row["name"]: max(0, row["shares"][0]["got_permille"] or 0) / 1000
            for row in stage.rows("ls")}


def bars(cast, got):
    """A line for each tenant: the bar is what it got, the mark what it asked for."""
    return [f"    {name:<6}{cores:>3} % {bar(got.get(name, 0), cores / 100)} "
            f"{100 * got.get(name, 0):5.1f} %" for name, cores, _ in cast]


def service(stage, screen):
    """The same requests alone, with plain time slicing, and with Divvy."""
    screen.scene("7. A service beside a training: requests of 2 ms, 100 in a second")
    if stage.simulated:
        screen.event(f"on three simulated cards, {SLOWER} times slower: figures in their time")
        stage = stage.slowed(SLOWER)
    else:
        screen.skip("the card's own log of the training", "a real card keeps none")
    screen.event("alone; plain, beside a training; and so with --priority high and low")
    settle(screen, lambda: serve(stage, screen))


def serve(stage, screen):
    service_words = ("timed", "serve", str(LAUNCH_US), str(LAUNCHES), str(RATE / stage.slower))
    training = ("timed", "train", str(TRAINER_US))
    variants = {
        "alone": lambda: [stage.plain("alone", *service_words)],
        "plain": lambda: [stage.plain("shared", *service_words), stage.plain("shared", *training)],
        "Divvy": lambda: [stage.tenant("serve", 2 * GIB, *service_words, priority="high"),
                          stage.tenant("train", 2 * GIB, *training, priority="low")]}
    together = [list(variants)] if stage.simulated else [[name] for name in variants]
    runs = {}
    for names in together:
        started = {name: Served(variants[name](), stage.slower) for name in names}
        serve_all(stage, screen, started)
        runs |= started
    for name, run in runs.items():
        if not run.finish():
            raise Broken(f"{name} gave no answer: {run.failure}")
        screen.event(f"{name}: {run.requests} requests, p99 {run.p99:.1f} ms")
    return judge_service(stage, runs)


def judge_service(stage, runs):
    alone, plain, divvy = (runs[name].p99 for name in ("alone", "plain", "Divvy"))
    least = LAUNCH_US * LAUNCHES / 1000
    kept = 100 * runs["Divvy"].trained(stage) / runs["Divvy"].gaps()
    return [("p99 alone", f">= {least:g} ms", f"{alone:.1f} ms", alone >= least),
            ("p99 beside a training, with Divvy", f"<= alone + {HARM} %", f"{divvy:.1f} ms",
             divvy <= alone * (1 + HARM / 100)),
            ("p99 beside a training, without", "worse", f"{plain:.1f} ms", plain > divvy),
            ("of the gaps, the training got", f">= {GAPS} %", f"{kept:.0f} %", kept >= GAPS)]


class Served:
    """A service, and a training beside it if there is one; on a card whose time is slower."""

    def __init__(self, processes, slower):
        self.processes, self.slower = processes, slower
        self.begin = self.end = 0.0
        self.requests, self.p99, self.counted, self.failure = 0, 0.0, 0.0, ""

    def ready(self):
        self.pids = [process.line()["pid"] for process in self.processes]

    def tell(self, begin, end):
        self.begin, self.end = begin, end
        for process in self.processes:
            process.tell(moments(begin, end))

    def finish(self):
        """False when a program failed."""
        results = []
        for process in self.processes:
            status, result = process.finish()
            if status != 0 or result is None:
                self.failure = process.error_text()
                return False
            results.append(result)
        self.requests = results[0]["requests"]
        self.p99 = results[0]["p99_us"] / 1000 / self.slower
        self.counted = results[-1].get("busy_ns", 0) * 1e-9 * self.slower
        return True

    def gaps(self):
        """Seconds that the requests left."""
        return self.end - self.begin - self.requests * LAUNCH_US * LAUNCHES * 1e-6 * self.slower

    def trained(self, stage):
        """Seconds that the training had the card."""
        if not stage.simulated:
            return self.counted
        return stage.busy(self.begin, self.end).get(self.pids[-1], 0)


def serve_all(stage, screen, runs):
    for run in runs.values():
        run.ready()
    begin = time.monotonic() + 0.1
    end = begin + (SERVED if stage.simulated else 5)
    for run in runs.values():
        run.tell(begin, end)
    while (now := time.monotonic()) < end and not any(run.processes[0].ended()
                                                      for run in runs.values()):
        screen.status(f"{', '.join(runs)}: {end - now:.0f} s left")
        time.sleep(0.1)


def moments(begin, end):
    return f"{int(begin * 1e9)} {int(end * 1e9)}"


def part_of_top(text):
    """The table of time, without what stands above it."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if "COMPUTE" in line]
    return "\n".join(lines[starts[0]:] if starts else lines)
