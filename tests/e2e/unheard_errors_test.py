#!/usr/bin/env python3
"""Memory errors of a card that happen while no agent is there: the next one finds them in what the driver
counts, tells of them once, and gives the card to nobody until it was quiet for as long as after any fault."""
import datetime
import os
import re
import signal
import subprocess
import sys
import time

from product import BOUND, BUILD, MIB, ProductTest, main, wait_until

# A program that knows nothing of Divvy; its first allocation suffers what SIMGPU_FAULTS says.
PROGRAM = f"""
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
context, address = ctypes.c_void_p(), ctypes.c_uint64()
made = (cuda.cuInit(0), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
print(*made, cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t({MIB})))
"""
ECC_UNCORRECTABLE = 214
INSTANT = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
AWAY = re.compile(f"Xid (\\d+) while no agent ran, between {INSTANT} and {INSTANT}")
# Simulated cards' time is so much faster, and so are the five minutes that a card has to be quiet.
QUICK = 20
QUIET = 300 / QUICK


def instant(word):
    return datetime.datetime.strptime(word, "%Y-%m-%dT%H:%M:%S%z").timestamp()


class UnheardErrors(ProductTest):
    def setUp(self):
        super().setUp()
        self.agent, self.log = None, self.product.root / "agent.log"
        self.use(self.profile)
        self.addCleanup(self.end_agent)

    def use(self, profile):
        """Cards of that kind, before anything runs."""
        self.product.profile, self.product.sim = profile, ("--sim", profile)
        self.node = self.product.runtime / f"sim-{profile}"

    def begin(self):
        """An agent of the test's own, which has looked at its cards when this returns."""
        with self.log.open("w") as log:
            self.agent = self.product.start("agent", "--node", f"sim-{self.product.profile}", stdout=log,
                                            stderr=log)
        wait_until(lambda: self.agent.poll() is not None or "agent is ready " in self.said(), "it is ready")
        self.assertIsNone(self.agent.poll(), self.said())

    def end_agent(self, signum=signal.SIGKILL):
        if self.agent and self.agent.poll() is None:
            self.agent.send_signal(signum)
            self.agent.wait(BOUND)

    def succeed(self, signum=signal.SIGKILL):
        self.end_agent(signum)
        self.begin()

    def said(self):
        return self.log.read_text(errors="replace")

    def strike(self, faults, answer=ECC_UNCORRECTABLE):
        environment = dict(self.product.environment, SIMGPU_PROFILE=self.product.profile, SIMGPU_FAULTS=faults,
                           SIMGPU_DIR=str(self.node / "card"))
        for folder in (self.product.runtime, self.node, self.node / "card"):
            folder.mkdir(mode=0o700, exist_ok=True)
        done = subprocess.run([sys.executable, "-c", PROGRAM, str(BUILD / "simgpu" / "libcuda.so.1")],
                              env=environment, capture_output=True, text=True, timeout=BOUND, check=True)
        self.assertEqual(done.stdout.split(), ["0", "0", str(answer)], done.stderr)

    def fault(self, card=0):
        """What is said against that card; empty: it is in order."""
        return self.product.rows("gpus")[card]["fault"]

    def told(self):
        return [event["reason"] for event in self.events() if event["kind"] == "device-fault"]

    def looks(self, count=3):
        """Returns when this agent has looked at its cards so many times more."""
        watched = self.node / "watched"
        for _ in range(2 * count):  # it looks each other time that it marks that it is there
            before = watched.stat().st_mtime_ns
            wait_until(lambda old=before: watched.stat().st_mtime_ns != old, "it looks again")

    def is_away(self, xid, struck):
        """The card is out of service since something that happened at that time, and for no other reason."""
        words = AWAY.fullmatch(self.fault())
        self.assertTrue(words, f"{self.fault()!r}: {self.said()}")
        self.assertEqual(words[1], str(xid))
        self.assertLessEqual(instant(words[2]), struck + 1)
        self.assertGreaterEqual(instant(words[3]), int(struck))
        return words[0]

    def refuses(self):
        status, _, err = self.product.run("1Gi", "true")
        self.assertEqual(status, 1, err)
        self.assertIn("out of service", err)

    def test_an_error_while_no_agent_was_there_is_found_by_the_next_and_told_once(self):
        self.begin()
        self.end_agent()
        struck = time.time()
        self.strike("ecc=2")
        self.begin()
        why = self.is_away(48, struck)
        self.assertRegex(self.said(), rf'device is not allocatable device=\d+ reason="{re.escape(why)}')
        self.assertEqual(len(self.told()), 1, self.told())
        self.assertIn("2 uncorrected memory errors, memory that is remapped at the next reset of the device while no agent",
                      self.told()[0])
        self.refuses()
        for _ in range(2):
            self.succeed()
            self.assertEqual(self.fault(), why, "the same one")
            self.looks()
            self.assertEqual((self.told(), self.fault()), ([], why), "told again")
        # The next one is another one.
        self.end_agent()
        struck = time.time()
        self.strike("ecc=1")
        self.begin()
        self.assertNotEqual(self.is_away(48, struck), why)
        self.assertIn("1 uncorrected memory error while no agent", self.told()[0])

    def test_without_an_error_nothing_happens(self):
        self.begin()
        self.end_agent()
        self.strike("slow=1", answer=0)
        before = (self.node / "faults").stat()
        self.begin()
        self.looks()
        self.assertEqual((self.fault(), self.told()), ("", []), self.said())
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)
        after = (self.node / "faults").stat()
        self.assertEqual((after.st_ino, after.st_mtime_ns), (before.st_ino, before.st_mtime_ns),
                         "written although nothing changed")

    def test_what_was_heard_is_told_once_whoever_counts_it(self):
        self.begin()
        self.strike("ecc=2")
        wait_until(lambda: self.fault() == "Xid 48", "it is heard")
        self.looks()
        self.assertEqual(self.told(), ["Xid 48"])
        for _ in range(2):
            self.succeed()
            self.looks()
            self.assertEqual((self.fault(), self.told()), ("Xid 48", []), self.said())

    def test_it_recovers_by_the_same_rule(self):
        self.product.environment["SIMGPU_TIME_SCALE"] = str(QUICK)
        self.begin()
        self.end_agent()
        self.strike("ecc=1")
        begun = time.monotonic()
        self.begin()
        wait_until(lambda: ' reason="Xid 48 while' in self.said(), "it is out of service")
        wait_until(lambda: not self.fault(), "it is quiet again", bound=QUIET + BOUND)
        self.assertGreaterEqual(time.monotonic() - begun, QUIET)
        self.assertEqual(self.product.run("1Gi", "true")[0], 0)
        self.succeed()
        self.assertEqual((self.fault(), self.told()), ("", []), "that is over")

    def test_what_was_there_before_the_first_agent_is_old(self):
        self.strike("ecc=3")
        self.begin()
        self.looks()
        self.assertEqual((self.fault(), self.told()), ("", []), self.said())
        self.assertEqual(self.said().count("they count as old"), 1, self.said())
        self.assertIn("3 uncorrected memory errors", self.said())
        self.succeed()
        self.assertNotIn("they count as old", self.said())
        self.end_agent()
        self.strike("ecc=1")
        self.begin()
        self.assertIn("1 uncorrected memory error while", self.told()[0])

    def test_an_agent_that_is_told_to_end_leaves_what_it_knew(self):
        self.begin()
        self.end_agent(signal.SIGTERM)
        self.assertEqual([path.name for path in self.node.iterdir()], ["faults"])
        struck = time.time()
        self.strike("ecc=1")
        self.begin()
        self.is_away(48, struck)

    def test_memory_that_could_not_be_replaced_is_a_fault_of_its_own(self):
        self.begin()
        self.end_agent()
        struck = time.time()
        self.strike("xid=64", answer=0)
        self.begin()
        self.is_away(64, struck)
        self.assertIn("memory that could not be remapped while no agent", self.told()[0])

    def test_a_record_that_is_damaged_is_named_and_written_anew(self):
        self.begin()
        self.end_agent()
        file = self.node / "faults"
        whole = file.read_text()
        self.assertIn("errors GPU-", whole)
        for broken, what in (("", "no boot"), (whole[:-5], "cut short"), (whole[:50], "cut short"),
                             (whole.replace("errors", "errers"), "line 3"), ("\0\n" * 9, "no boot")):
            file.write_text(broken)
            self.begin()
            self.assertIn(f"file={file} ", self.said())
            self.assertIn(what, self.said())
            self.looks(1)
            self.assertEqual((self.fault(), self.told()), ("", []), self.said())
            self.assertEqual(file.read_text(), whole)
            self.end_agent()
        struck = time.time()
        self.strike("ecc=1")
        self.begin()
        self.assertNotIn("is damaged", self.said())
        self.is_away(48, struck)

    def test_the_driver_that_was_loaded_anew_counts_from_nothing(self):
        self.strike("ecc=2")
        self.begin()
        self.end_agent()
        file = self.node / "faults"
        now = file.read_text()
        self.assertIn(" 2 1 0\n", now)
        # As if it had counted more, before it was loaded anew.
        file.write_text(now.replace(" 2 1 0\n", " 7 1 0\n"))
        self.begin()
        self.assertIn("2 uncorrected memory errors while", self.told()[0])

    def test_cards_that_count_nothing_are_as_they_were(self):
        self.use("rtx4090")
        self.begin()
        self.looks(1)
        self.assertFalse((self.node / "faults").exists())
        self.end_agent()
        self.strike("xid=31", answer=700)
        self.begin()
        self.looks(1)
        self.assertEqual((self.fault(), self.told()), ("", []), self.said())

    def test_cards_that_retire_pages_are_told_of_too(self):
        self.use("v100")
        self.begin()
        self.assertIn(" 0 0 -\n", (self.node / "faults").read_text())
        self.end_agent()
        struck = time.time()
        self.strike("ecc=1")
        self.begin()
        self.is_away(48, struck)
        self.assertIn(" 1 1 -\n", (self.node / "faults").read_text())

    def test_an_instance_is_told_of_its_own(self):
        self.use("h100-mig")
        self.begin()
        self.end_agent()
        self.strike("ecc=1")
        self.begin()
        bad = [row["fault"] for row in self.product.rows("gpus")]
        self.assertEqual([bool(AWAY.fullmatch(one)) for one in bad], [True, False, False, False], bad)


if __name__ == "__main__":
    main(at_once=3)
