"""What the demo prints: plain lines of at most 80 columns, a moving status line on a terminal."""
import os
import textwrap
import time

WIDTH = 80


def size(count):
    """4 GiB, 512 MiB, 1.5 GiB: at most one decimal."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            text = f"{count / unit:.1f}"
            return f"{text.removesuffix('.0')} {name}"
    return f"{count} B"


def bar(part, mark, width=40):
    """A bar of `part` (0..1), with a mark where it should end."""
    cells = ["#" if (i + 0.5) / width <= part else "." for i in range(width)]
    cells[min(width - 1, max(0, round(mark * width) - 1))] = "|"
    return "".join(cells)


class Screen:
    def __init__(self, out):
        self.out = out
        self.started = time.monotonic()
        self.moving = out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.color = self.moving and "NO_COLOR" not in os.environ
        self.shown = 0  # lines that whatever comes next replaces
        self.checks = []  # (what, asked, seen, passed)
        self.wrong = 0  # failed, and not for want of time

    def elapsed(self):
        return time.monotonic() - self.started

    def say(self, text=""):
        self._clear()
        for line in text.splitlines() or [""]:
            for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ") or [""]:
                print(part, file=self.out)
        self.out.flush()

    def event(self, text):
        """Something happened now."""
        self.say(f"  {self.elapsed():5.1f} s  {text}")

    def show(self, text, indent=4):
        """The output of a command, as it is."""
        self._clear()
        for line in text.rstrip("\n").splitlines():
            print((" " * indent + line)[:WIDTH], file=self.out)
        self.out.flush()

    def scene(self, title):
        self.say()
        self.say(self._paint("1", title))

    def status(self, text):
        """A line that is replaced by whatever comes next; only on a terminal."""
        self.live([f"  {self.elapsed():5.1f} s  {text}"])

    def live(self, lines):
        """Lines that are replaced by whatever comes next; only on a terminal."""
        if not self.moving:
            return
        self._clear()
        print("\n".join(line[:WIDTH] for line in lines), end="", file=self.out, flush=True)
        self.shown = len(lines)

    def check(self, what, asked, seen, passed, timed=False):
        """timed: it is judged in milliseconds, which a busy machine may not have."""
        self.wrong += not passed and not timed
        self.checks.append((what, str(asked), str(seen), passed))
        self.event(f"{what}: {seen}" + ("" if passed else self._paint("31", "  FAIL")))
        return passed

    def skip(self, what, why):
        self.checks.append((what, "-", f"skipped: {why}", None))
        self.event(f"{what}: skipped, {why}")

    def table(self):
        self.say()
        self.say(f"{'what':<37}{'asked':<17}{'seen':<20}")
        self.say("-" * WIDTH)
        for what, asked, seen, passed in self.checks:
            verdict = {True: self._paint("32", "pass"), False: self._paint("31", "FAIL"),
                       None: "skip"}[passed]
            print(f"{what[:36]:<37}{asked[:16]:<17}{seen[:20]:<21} {verdict}", file=self.out)
        failed = sum(passed is False for *_, passed in self.checks)
        self.say("-" * WIDTH)
        self.say(f"{len(self.checks) - failed} of {len(self.checks)} as expected, "
                 f"{self.elapsed():.0f} s" if failed else
                 f"everything as expected, in {self.elapsed():.0f} s")
        if failed and not self.wrong:
            self.say("What failed is a matter of milliseconds: try again when less else runs here.")
        return failed == 0

    def _clear(self):
        if self.shown:
            print("\r\033[K" + "\033[A\033[K" * (self.shown - 1), end="", file=self.out)
            self.shown = 0

    def _paint(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self.color else text
