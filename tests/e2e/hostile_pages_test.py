#!/usr/bin/env python3
"""A tenant that writes what it likes into the pages it shares with the agent, at any moment: the agent
lives, tells what can be, says little, and no other tenant notices."""
import contextlib
import math
import mmap
import os
import pathlib
import random
import signal
import threading
import time

from metrics_test import Served, parse
from product import GIB, MIB, OUT_OF_MEMORY, SUCCESS, main, wait_until

# What arithmetic trips over: nothing, the largest, signs, and what looks like a count of them.
EXTREMES = [0, 1, 2**16 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
# Seconds of a processor that the agent may take in a second and a half, in which it is asked all the time: 0.7 where it
# looks at all processes once, 3.5 where it did for each slot (of 74 processes).
MOST_WORK = 1.5
LINES = 60  # in the log: what is wrong is said, not each time that it is seen
SEED = int(os.environ.get("DIVVY_SEED", "7"))


class Hostile(Served):
    """A tenant that lies beside one that does not, and what has to stay true."""

    writable = ("report", "work")

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.honest = self.tenant("honest", "8Gi")
        self.assertEqual(self.honest.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(self.honest.hands[0].ask("alloc", 3 * GIB)[0], SUCCESS)
        self.liar = self.tenant("liar", "4Gi")
        self.assertEqual(self.liar.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(self.liar.hands[0].ask("alloc", GIB)[0], SUCCESS)
        self.folder = self.agent_folder() / "tenants" / self.product.tenant_row("liar")["id"]
        self.agent_pid = self.product.agent_pid()
        self.own = [self.folder / name for name in self.writable]
        self.used = self.row("honest")["shares"][0]["used"]
        self.assertGreaterEqual(self.used, 3 * GIB)
        # It writes; its library, which would get SIGBUS or mend what it finds, has no turn.
        self.liar.hands[0].stop()

    def agent_folder(self):
        return self.product.runtime / f"sim-{self.product.profile}"

    def row(self, name):
        row = self.product.tenant_row(name)
        self.assertIsNotNone(row, f"{name} is not there any more")
        return row

    def assert_named(self):
        self.assertIn("report", self.row("liar")["note"])
        self.doctor_names("(liar): report: ", check="agent-tenants")
        wait_until(lambda: "the report of a tenant is implausible" in self.log(), "the agent's log names it")

    def log(self):
        return (self.agent_folder() / "agent.log").read_text()

    def holds(self):
        """All that has to be true whatever it wrote."""
        for name, samples in parse(self.scrape()).items():
            for labels, value in samples:
                self.assertTrue(math.isfinite(value) and value >= 0, f"{name} {labels} {value}")
        self.assertIsNone(self.agent.poll(), "the agent lives: no other one has its port")
        used = {row["name"]: row["shares"][0]["used"] for row in self.product.rows("ls")}
        self.assertIn("liar", used, f"divvy run ended with {self.liar.run.poll()}; the agent's log: {self.log()}")
        self.assertEqual(used["honest"], self.used)
        self.assertLessEqual(used["liar"], 80 * GIB)

    def others_are_served(self):
        hand = self.honest.hands[0]
        self.assertEqual(hand.ask("alloc", 6 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(hand.ask("alloc", 64 * MIB)[0], SUCCESS)
        self.used = self.row("honest")["shares"][0]["used"]
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)

    def ends(self):
        """It is killed, and nothing of what it wrote is left."""
        log = self.log()
        self.assertLessEqual(log.count("\n"), LINES, log)
        self.liar.hands[0].kill(signal.SIGKILL)
        self.liar.run.wait()
        wait_until(lambda: self.product.tenant_row("liar") is None, "its share ends with it")
        wait_until(lambda: not self.folder.exists(), "nothing is left of it")
        self.assertEqual(self.product.run("70Gi", "true")[0], 0, "its memory is everybody's again")

    @staticmethod
    @contextlib.contextmanager
    def opened(path):
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as page:
            yield page


class HostilePages(Hostile):
    def test_every_word_may_be_anything(self):
        for path in self.own:
            self.doctor_is_silent_of(path, check="agent-state")
            with self.opened(path) as page:
                for value in EXTREMES:
                    page[:] = value.to_bytes(8, "little") * (len(page) // 8)
                    self.holds()
            self.doctor_names(path, check="agent-state")
            if path.name == "report":
                self.assert_named()
        self.others_are_served()
        self.ends()

    def test_one_word_may_be_anything(self):
        """The rest is as it should be, so that more of it is believed."""
        for path in self.own:
            with self.opened(path) as page:
                kept = page[:]
                for turn in range(120):
                    for at in self.random.sample(range(0, 32 * 1024, 8), 4):
                        if at < len(page):
                            page[at:at + 8] = self.random.choice(EXTREMES).to_bytes(8, "little")
                    if turn % 10 == 9:
                        self.holds()
                        page[:] = kept
        self.others_are_served()
        self.ends()

    def test_it_may_write_while_it_is_read(self):
        ended = threading.Event()
        writes = [0]

        def scribble():
            with contextlib.ExitStack() as stack:
                pages = [stack.enter_context(self.opened(path)) for path in self.own]
                while not ended.is_set():
                    page = self.random.choice(pages)
                    at = self.random.randrange(0, min(len(page), 64 * 1024) - 4096)
                    page[at:at + 4096] = self.random.randbytes(4096)
                    writes[0] += 1

        writer = threading.Thread(target=scribble)
        writer.start()
        try:
            for _ in range(15):
                self.holds()
            self.others_are_served()
        finally:
            ended.set()
            writer.join()
        self.assertGreater(writes[0], 100)
        self.ends()

    def test_they_may_be_cut_and_grow_at_any_moment(self):
        for path in self.own:
            whole = path.stat().st_size
            for size in (0, 1, 4096, 8192, whole // 2, 4 * whole, 8191, whole, 0):
                os.truncate(path, size)
                self.holds()
            self.doctor_names(path, check="agent-state")
        self.others_are_served()
        self.ends()

    def test_they_may_be_gone_or_something_else(self):
        for path in self.own:
            path.unlink()
            self.holds()
            if path.name != "swap":  # not every tenant has one: nobody sees that it is gone
                self.doctor_names(path, check="agent-state")
            os.mkfifo(path)
            self.holds()
            self.doctor_names(path, check="agent-state")
            path.unlink()
            path.symlink_to("/dev/zero")
            self.holds()
        self.others_are_served()
        self.ends()


class HostileOwners(Hostile):
    def agent_work(self):
        """Seconds that it has had a processor for: other busy processes have no part in that."""
        words = pathlib.Path(f"/proc/{self.agent_pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def test_owners_who_are_nobody_keep_nobody_waiting(self):
        """Each slot of it may name another owner to look for, once a second."""
        with self.opened(self.folder / "report") as page:
            for value in EXTREMES:
                page[:] = value.to_bytes(8, "little") * (len(page) // 8)
                # Where the machine stands still that may last longer, and be more work, and not each time.
                for _ in range(3):
                    began = self.agent_work()
                    ends = time.monotonic() + 1.5  # at least one look of the agent's
                    while time.monotonic() < ends:
                        self.holds()
                    work = self.agent_work() - began
                    if work < MOST_WORK:
                        break
                self.assertLess(work, MOST_WORK, f"{value:#x} of its report")
        self.others_are_served()
        self.ends()


class HostileSwapPages(HostilePages):
    variables = {"DIVVY_OVERCOMMIT": "1.5"}
    writable = ("report", "work", "swap")


if __name__ == "__main__":
    main()
