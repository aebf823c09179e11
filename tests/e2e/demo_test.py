#!/usr/bin/env python3
"""The demo: it passes, it speaks at once, and it leaves nothing behind, also when interrupted."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from product import BUILD, main, private_directory, wait_until

DEMO = pathlib.Path(__file__).resolve().parents[2] / "demo" / "run"


def processes_of(folder):
    """Living processes that carry the folder in their environment."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder).encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


QUIET_P99_MS = 6  # of requests that have a card alone


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = private_directory()
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, *words):
        return subprocess.Popen([sys.executable, DEMO, BUILD, *words], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=dict(os.environ, TMPDIR=str(self.folder)))

    def assert_nothing_left(self):
        try:
            wait_until(lambda: not processes_of(self.folder), "all processes end")
        except AssertionError as error:
            left = [(pid, pathlib.Path(f"/proc/{pid}/cmdline").read_bytes())
                    for pid in processes_of(self.folder)]
            raise AssertionError(f"{error}: {left}") from None
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_passes_within_a_minute_and_eighty_columns(self):
        started = time.monotonic()
        process = self.start("--sim", "h100")
        first = process.stdout.readline()
        self.assertLess(time.monotonic() - started, 30, "silent at first")
        out, _ = process.communicate(timeout=250)
        # Milliseconds are for benches and for who watches; here they only must not be absurd.
        self.assertIn(process.returncode, (0, 3), first + out)
        self.assert_shares_are_roughly_right(out)
        if process.returncode == 3:
            for line in re.findall(r"^.*FAIL$", out, re.M):
                print(f"skipped: this machine was too busy to show: {' '.join(line.split())}")
        self.assertIn("bytes over, by the card's own books  0 B", out)
        for what in ("hugo's part of the card's time", "furthest off in any second",
                     "p99 beside a training, with Divvy", "of the gaps, the training got",
                     "lara's memory came back"):
            self.assertIn(f"\n{what}", out)
        self.assertEqual([line for line in out.splitlines() if len(line) > 80], [])
        self.assert_nothing_left()

    def test_scene_without_divvy_plays_before_the_product_is_built(self):
        build = self.folder / "build"
        build.mkdir()
        for part in ("demo", "simgpu"):  # no bin, no lib
            (build / part).symlink_to(BUILD / part)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        for profile in ("h100", "4090x2", "swap"):
            done = subprocess.run([sys.executable, DEMO, build, "--prologue", "--sim", profile], text=True,
                                  capture_output=True, env=dict(os.environ, TMPDIR=str(scratch)), check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("error 2, out of memory", done.stdout)
        self.assertEqual(list(scratch.iterdir()), [])

    def assert_shares_are_roughly_right(self, out):
        for name, percent in (("gina", 30), ("hugo", 70), ("ines", 10), ("jack", 20), ("kate", 70)):
            line = re.search(rf"^{name}'s part of the card's time .*? ([\d.]+) % +(?:pass|FAIL)$",
                             out, re.M)
            self.assertIsNotNone(line, out)
            self.assertAlmostEqual(float(line[1]), percent, delta=10, msg=out)
        seen = {what: float(number) for what, number in
                re.findall(r"^(p99 .*?|of the time, the card worked|furthest off in any second) {2,}"
                           r"\S.*? ([\d.]+) (?:ms|%|points) +(?:pass|FAIL)$", out, re.M)}
        alone, divvy, plain = (seen[name] for name in (
            "p99 alone", "p99 beside a training, with Divvy", "p99 beside a training, without"))
        # A request takes 2 ms of the card. Where even alone its p99 is several times that, the machine's own delays
        # are what was measured.
        if alone < QUIET_P99_MS:
            self.assertLess(divvy, plain, out)
            self.assertLess(divvy, 3 * alone, out)
        else:
            print(f"skipped: this machine was too busy to show latencies: p99 alone {alone} ms")
        self.assertGreater(seen["of the time, the card worked"], 50, out)
        self.assertLess(seen["furthest off in any second"], 30, out)
        got = re.search(r"^of the gaps, the training got .*? (\d+) % +(?:pass|FAIL)$", out, re.M)
        self.assertIsNotNone(got, out)
        self.assertGreater(int(got[1]), 40, out)

    def test_interrupt_leaves_nothing_behind(self):
        for moment, signum in (("start", signal.SIGINT), ("erin holds", signal.SIGTERM),
                               ("to fight for", signal.SIGINT), ("three simulated", signal.SIGTERM)):
            process = self.start("--sim", "h100")
            for line in process.stdout:
                if moment in line or moment == "start":
                    break
            process.send_signal(signum)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, out)
            self.assert_nothing_left()

    def test_unknown_profile_is_an_error_and_not_a_traceback(self):
        process = self.start("--sim", "potato")
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, out)
        self.assertIn("potato", out)
        self.assertNotIn("Traceback", out)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
