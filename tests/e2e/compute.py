"""What the compute tests share: tenants that keep a simulated card busy, and the card's own log."""
import glob
import os
import socket
import subprocess
import time

from product import (BOUND, BUILD, BUSY, PROFILE, SUCCESS, Hand, ProductTest, Tenant,
                     wait_until)


class Window:
    """What the card did in a stretch of its time, by its own log."""

    def __init__(self, length, busy):
        self.length, self.busy = length, busy
        self.starved = 0.0  # the part of it that a busy machine may have cost the card, 0..LOST

    def got(self, *hands):
        """The part of the window that these processes had the card, 0..1."""
        return sum(self.busy.get(str(hand.pid), 0) for hand in hands) / self.length

    def of(self, tenant):
        return self.got(*tenant.hands)

    @property
    def total(self):
        return sum(self.busy.values()) / self.length


# A window is starved if the product's threads waited for processors for more than this part of it.
STARVED = 0.1
# A second in which a thread waits for a processor idles the card for a second at most. This part of a window is excused.
LOST = 0.15


def processor_wait():
    """Seconds that threads of this process and its descendants were ready to run and had no processor, so far."""
    parents, waits = {}, {}
    for stat in glob.glob("/proc/[0-9]*/stat"):
        pid = int(stat.split("/")[2])
        try:
            with open(stat, encoding="utf-8", errors="replace") as file:
                parents[pid] = int(file.read().rsplit(")", 1)[1].split()[1])
            waits[pid] = 0
            for thread in glob.glob(f"/proc/{pid}/task/*/schedstat"):
                with open(thread, encoding="utf-8") as file:
                    waits[pid] += int(file.read().split()[1])
        except (OSError, IndexError):
            waits.setdefault(pid, 0)
    total = 0
    for pid, wait in waits.items():
        at = pid
        while at not in (0, 1, os.getpid()):
            at = parents.get(at, 0)
        total += wait if at == os.getpid() else 0
    return total / 1e9


class ComputeTest(ProductTest):
    """Tests of which tenant gets how much of a card. `scale` is how fast the card's time runs: slower, and a
    machine that is busy with other tests distorts less. Divvy's own times stretch alike."""

    scale = 0.4
    profile = PROFILE

    def setUp(self):
        super().setUp()
        self.product.environment["SIMGPU_TIME_SCALE"] = str(self.scale)

    def idle(self, name, *arguments, count=1, devices=1, environment=()):
        """A tenant that is ready to work: contexts and kernels are there."""
        tenant = Tenant(self.product, name, "4Gi", count, arguments, environment, BUSY, BOUND)
        for hand in tenant.hands:
            self.assertEqual(hand.ask("open", devices), [SUCCESS])
        return tenant

    def bare(self, name):
        """A process that is ready to work on a card where nobody knows of Divvy."""
        root = self.product.root
        environment = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "simgpu"),
                           SIMGPU_PROFILE=self.profile, SIMGPU_DIR=str(root / "bare"),
                           SIMGPU_TIME_SCALE=str(self.scale))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(root / f"{name}.sock"))
            listener.listen(1)
            listener.settimeout(BOUND)
            process = subprocess.Popen([BUSY, root / f"{name}.sock"], env=environment)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            connection = listener.accept()[0]
        connection.settimeout(BOUND)
        hand = Hand(connection.makefile("r"), connection.makefile("w"), connection.close)
        self.addCleanup(hand.close)
        self.assertEqual(hand.ask("open", 1), [SUCCESS])
        return hand

    def entangled(self, name, *arguments, path=None, **options):
        """A tenant whose kernels can wait for flags in a file, and the file."""
        tenant = self.idle(name, *arguments, **options)
        if path is None:
            path = self.product.root / f"{name}.flags"
            path.write_bytes(bytes(4096))
        for hand in tenant.hands:
            self.assertEqual(hand.ask("map", path), [SUCCESS])
        return tenant, path

    def busy(self, name, *arguments, us=1000, **options):
        """A tenant that keeps its cards busy with kernels of `us` until it rests."""
        tenant = self.idle(name, *arguments, **options)
        self.work(tenant, us)
        return tenant

    def work(self, tenant, us=1000):
        for hand in tenant.hands:
            self.assertEqual(hand.ask("run", us), [SUCCESS])
        self.assert_goes_on(tenant, f"{tenant.name} starts")

    def rest(self, tenant):
        for hand in tenant.hands:
            hand.tell("rest")
        for hand in tenant.hands:
            self.assertEqual(hand.answer()[0], SUCCESS)

    def end(self, tenant):
        """Its work is over and nothing went wrong."""
        self.rest(tenant)
        self.assertEqual(tenant.end(), 0)

    def card_now(self):
        return int(time.monotonic_ns() * self.scale)

    def window(self, seconds, index=0):
        """The next `seconds` of the clock, by the card's log."""
        begin = self.card_now()
        end = begin + int(seconds * 1e9 * self.scale)

        def logged():
            log = self.product.card_log(begin, end, index)
            return log if log and log["horizon"] >= end else None

        log = wait_until(logged, f"the card's log reaches {seconds} s further", seconds + 30)
        self.assertEqual(log["dropped"], 0)
        return Window(end - begin, log["busy"])

    def card_time(self, tenant, index=0):
        """Seconds of the clock that the tenant has had of the card so far."""
        log = self.product.card_log(0, self.card_now(), index)
        return Window(1e9 * self.scale, log["busy"]).of(tenant) if log else 0

    def assert_goes_on(self, tenant, what, seconds=0.05, bound=BOUND, index=0):
        """The tenant gets so many more seconds of the card within the bound."""
        before = self.card_time(tenant, index)
        wait_until(lambda: self.card_time(tenant, index) >= before + seconds,
                   f"{what}: {seconds} s of the card", bound)

    def judge(self, wrong, seconds, index=0):
        """The first window in which wrong(window) finds nothing, within a bound. Other load on the machine disturbs some
        windows; a fault of Divvy is in each. Windows without processors for the product count towards a bound of their own."""
        counted = {False: 0.0, True: 0.0}
        limits = {False: BOUND, True: 3 * BOUND}
        found = []
        while not found or all(counted[starved] < limits[starved] for starved in counted):
            begin, waited = time.monotonic(), processor_wait()
            window = self.window(seconds, index)
            wall = time.monotonic() - begin
            starved = (processor_wait() - waited) / wall
            window.starved = min(starved, LOST) if starved > STARVED else 0.0
            found = wrong(window)
            if not found:
                return window
            counted[starved > STARVED] += wall
        self.fail("; ".join(found) + f" ({counted[True]:.0f} s of {sum(counted.values()):.0f} s lacked processors)" + self.told())

    def told(self):
        """What Divvy says of the tenants, for whoever reads of a failure."""
        words = ("name", "mode", "weight", "throttled_permille", "waits", "grants_per_s",
                 "unpreemptible", "distrusted", "processes")
        return "".join(f"\n  {({word: row.get(word) for word in words})}"
                       for row in self.product.rows("ls"))

    def assert_shares(self, wanted, seconds=2, total=0.8, points=5, index=0):
        """wanted: tenant -> its part of what all get together; `total`: the least of the card that
        this may be."""
        def wrong(window):
            found = []
            for tenant, part in wanted.items():
                got = window.of(tenant) / max(window.total, 1e-9)
                if abs(got - part) * 100 > points:
                    found.append(f"{tenant.name} has {got:.1%} of what all have, not {part:.0%}")
            if window.total + window.starved < total:
                found.append(f"all have {window.total:.1%} of the card, not {total:.0%}")
            return found

        return self.judge(wrong, seconds, index)

    def assert_part(self, tenant, least, most=1.01, what="", seconds=1):
        """The part of the card that the tenant has, 0..1."""
        def wrong(window):
            got = window.of(tenant)
            good = least <= got + window.starved and got <= most
            return [] if good else [f"{tenant.name} has {got:.1%} of the card {what}, not "
                                    f"{least:.0%} to {most:.0%}"]

        return self.judge(wrong, seconds)

    def divvy(self, *words):
        """A command about the simulated card: its error output. Succeeds."""
        status, _, err = self.product.divvy(*words, *self.product.sim)
        self.assertEqual(status, 0, err)
        return err
