"""A pod with a share that allocates, computes and frees all the time, counts its rounds (share_probe.c), and ends
at the first error."""
import json
import os
import pathlib
import re
import signal
import time

from world import SHARE, pod

PROGRAM = "/opt/divvy/bin/share-probe"
# Seconds; a round is done in well under a millisecond, and told once a second. Who is stopped tells nothing for long.
ROUNDS_BOUND, FROZEN_FOR = 20, 5


class Tenant:
    """Made at once, on the host's network; it has begun when this returns."""

    def __init__(self, world):
        self.world = world
        made = json.loads(pod("working", SHARE, "divvy:0.1.0"))
        made["spec"].update(hostNetwork=True)
        made["spec"]["containers"][0].update(command=[PROGRAM, "work"], imagePullPolicy="Never")
        world.kubectl("create", "-n", "default", "-f", "-", text=json.dumps(made))
        self.first = world.until("a pod with a share runs", self.same)
        world.until("it works", self.rounds)

    def same(self):
        found = self.world.get("pod", "working", "-n", "default")
        counts = found["status"].get("containerStatuses", [{}])[0]
        # Where no plugin is left it is not started again.
        running = found["status"]["phase"] == "Running" and "running" in counts.get("state", {})
        assert running and counts["restartCount"] == 0, found["status"]
        return found["metadata"]["uid"], counts["containerID"]

    def rounds(self):
        log = pathlib.Path(self.world.told.cluster, "pods-log", f"default_working_{self.first[0]}", "c", "0.log")
        told = re.findall(r"rounds=(\d+)\n", log.read_text() if log.exists() else "")
        assert told, "it has told of no round"
        return int(told[-1])

    def works(self, bound=ROUNDS_BOUND):
        """it saw no error, was not started again, and does more and more"""
        assert self.same() == self.first, "it is another"
        first, end = self.rounds(), time.monotonic() + bound
        while self.rounds() == first:
            assert time.monotonic() < end, f"it has done nothing for {bound} s: it is at round {first}"
            time.sleep(0.05)
        # What ended it meanwhile is told a moment later.
        assert self.same() == self.first, "it is another"

    def fails(self, words):
        """how it does not work: that is in these words"""
        try:
            self.works(FROZEN_FOR)
        except AssertionError as fault:
            assert words in str(fault), f"not by {words!r}: {fault}"
            return
        raise AssertionError("it works on")

    def noticed(self, folder):
        """Control, and the end of it: who does nothing is noticed, and so is who loses its pages in FOLDER."""
        program = [int(p.parent.name) for p in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                   if command_of(p)[:2] == [PROGRAM.encode(), b"work"]]
        assert len(program) == 1, program
        os.kill(program[0], signal.SIGSTOP)
        try:
            # What it told before is on its way into its log yet.
            self.world.until("it is seen to do nothing", lambda: self.fails("it has done nothing"))
        finally:
            os.kill(program[0], signal.SIGCONT)
        self.works()
        pages = list(pathlib.Path(folder, "sim-h100", "tenants").glob("pod-*"))
        assert len(pages) == 1, pages
        os.truncate(pages[0] / "control", 0)
        self.world.until("it ends without its pages", lambda: self.fails("restartCount"))
        self.world.kubectl("delete", "pod", "working", "-n", "default", "--now")


def command_of(path):
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended
        return []
