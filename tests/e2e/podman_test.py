#!/usr/bin/env python3
"""Containers of a real podman in shares: `divvy run --podman`."""
import contextlib
import ctypes
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess

from contained import HARDENED, PodmanTest
from containers import IMAGE, Podman, User, ended, fields, skip_unless_possible
from product import (BOUND, BUILD, DIVVY, GIB, MIB, OUT_OF_MEMORY, SUCCESS, line_of, main,
                     wait_until)

UNKNOWN_TENANT, BAD_SLOT = 1, 2  # what the registrar answers
CLONE_NEWNS = 0x20000


class Limits(PodmanTest):
    def assert_limited(self, said, total):
        self.assertEqual((said["devices"], said["total"], said["nvml"]), (1, total, total))
        self.assertEqual((said["above"], said["exact"], said["full"]),
                         (OUT_OF_MEMORY, SUCCESS, OUT_OF_MEMORY), said)

    def test_a_container_sees_its_share_and_gets_not_one_granule_more(self):
        status, out, err = self.contain("4Gi", "/bin/share_probe", "expect", 4 * GIB)
        self.assertEqual(status, 0, err)
        self.assert_limited(fields(out), 4 * GIB)

    def test_whoever_it_runs_as_and_whatever_it_may_not(self):
        status, out, err = self.contain("3Gi", "/bin/share_probe", options=HARDENED)
        self.assertEqual(status, 0, err)
        self.assert_limited(fields(out), 3 * GIB)

    def test_without_divvy_it_sees_the_whole_card(self):
        """The negative control: the same image and card, and nothing of ours."""
        neighbour = self.tenant("neighbour", "1Gi")  # makes the card
        self.assertEqual(neighbour.hands[0].ask("open"), [SUCCESS])
        folder = self.product.runtime / f"sim-{self.profile}" / "card"
        out = self.podman.must("run", "--rm", "--network", "none", "-v",
                               f"{BUILD / 'simgpu'}:/simgpu:ro", "-v", f"{folder}:/card", "-e",
                               "LD_LIBRARY_PATH=/simgpu", "-e", f"SIMGPU_PROFILE={self.profile}",
                               "-e", "SIMGPU_DIR=/card", IMAGE, "/bin/share_probe")
        self.assertGreater(fields(out)["total"], 64 * GIB)
        self.assertEqual(neighbour.end(), 0)

    def test_a_neighbours_memory_is_not_touched(self):
        neighbour = self.tenant("neighbour", "4Gi")
        hand = neighbour.hands[0]
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.assertEqual(hand.ask("alloc", 2 * GIB)[0], SUCCESS)
        free = hand.ask("info")[1]
        run, other = self.hand("8Gi", "other")
        self.assertEqual(other.ask("open"), [SUCCESS])
        self.assertEqual(other.ask("alloc", other.ask("info")[1])[0], SUCCESS)
        self.assertEqual(other.ask("check", 0, 3 * MIB), [SUCCESS])
        self.assertEqual(hand.ask("info")[1], free, "a neighbour moved our free")
        self.assertEqual(hand.ask("check", 0, 3 * MIB), [SUCCESS])
        other.exit()
        self.assertEqual(run.wait(BOUND), 0)
        self.assertEqual(neighbour.end(), 0)

    def test_all_processes_of_a_container_share_its_limit(self):
        run, hand = self.hand("4Gi", "web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.assertEqual(hand.ask("alloc", 2 * GIB)[0], SUCCESS)
        said = fields(self.podman.must("exec", "web", "/bin/share_probe"))
        self.assertEqual(said["total"], 4 * GIB)
        self.assertLess(said["free"], 2 * GIB)
        hand.exit()
        self.assertEqual(run.wait(BOUND), 0)


class Swapped(PodmanTest):
    """Where memory is promised more than once, containers take turns like everybody."""

    def setUp(self):
        super().setUp()
        self.product.environment |= {"DIVVY_OVERCOMMIT": "2.0", "DIVVY_DEVICE_BUDGET": "3Gi"}

    def test_two_containers_have_more_than_there_is(self):
        hands = []
        for name in ("first", "second"):
            hands.append(self.hand("2Gi", name, HARDENED, ("--guaranteed", "600Mi")))
            self.assertEqual(hands[-1][1].ask("open"), [SUCCESS])
            self.assertEqual(hands[-1][1].ask("alloc", 1400 * MIB)[0], SUCCESS)
        for _, hand in hands * 2:
            self.assertEqual(hand.ask("check", 0, 3 * MIB), [SUCCESS])
        for run, hand in hands:
            hand.exit()
            self.assertEqual(run.wait(BOUND), 0)


class Identity(PodmanTest):
    def test_processes_are_known_whoever_they_are(self):
        for name, options in {"root": (), "nobody": HARDENED, "elsewhere": ("--cgroup-parent", "/elsewhere"),
                              "hostly": ("--pid", "host")}.items():
            with self.subTest(name):
                run, hand = self.hand("2Gi", name, options)
                self.assertEqual(hand.ask("open"), [SUCCESS])
                self.registered(name)
                self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
                used = self.row(name)["shares"][0]["used"]
                self.assertEqual(used, 2 * GIB - hand.ask("info")[1])
                hand.exit()
                self.assertEqual(run.wait(BOUND), 0)
                self.gone(name)

    def ask_registrar(self, inside, tenant):
        """What the registrar answers a process that lives among the mounts of process `inside` and
        says that it is of `tenant`."""
        packet = struct.pack("<II32sIIQQ", 0x47525644, 1, tenant.encode(), 7, 1, 1, 0)
        ours, childs = os.pipe()
        child = os.fork()
        if child == 0:
            status = 99
            with contextlib.suppress(Exception):
                namespace = os.open(f"/proc/{inside}/ns/mnt", os.O_RDONLY)
                if ctypes.CDLL(None).setns(namespace, CLONE_NEWNS) == 0:
                    asker = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    asker.settimeout(BOUND)
                    asker.connect("/run/divvy/reg/register.sock")
                    asker.send(packet)
                    status = struct.unpack("<IIII", asker.recv(16))[1]
            os._exit(status)
        os.close(ours)
        os.close(childs)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def test_no_other_container_registers_as_this_tenant(self):
        first, hand = self.hand("2Gi", "first")
        second, other = self.hand("2Gi", "second")
        tenant = self.row("first")["id"]
        insider, stranger = self.podman.pid("first"), self.podman.pid("second")
        self.assertEqual(self.ask_registrar(stranger, tenant), UNKNOWN_TENANT)
        # One of its own is believed who he is, though not that he has that slot.
        self.assertEqual(self.ask_registrar(insider, tenant), BAD_SLOT)
        for one in (hand, other):
            one.exit()
        self.assertEqual((first.wait(BOUND), second.wait(BOUND)), (0, 0))


class Endings(PodmanTest):
    def all_gone(self):
        wait_until(lambda: self.product.rows("ls") == [], "no share is left")

    def test_the_status_is_the_commands(self):
        for status in (0, 7):
            self.assertEqual(self.contain("1Gi", "/bin/sh", "-c", f"exit {status}")[0], status)
        self.assertEqual(self.contain("1Gi", "/bin/none")[0], 127)
        self.all_gone()

    def test_what_podman_cannot_run_costs_no_share(self):
        status, _, err = self.product.divvy("run", *self.product.sim, "--memory", "1Gi", "--podman",
                                            "--pull", "never", "divvy.test/none:1")
        self.assertEqual(status, 125, err)
        self.all_gone()

    def test_the_terminal_is_the_commands(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        script = "test -t 0 && test -t 1 && echo both; exit 5"
        run = self.product.start(*self.words("1Gi", ("--rm", "-it"), ("/bin/sh", "-c", script)),
                                 stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.assertEqual(run.wait(BOUND), 5)
        said = b""
        while b"both" not in said:  # a terminal hands on what it has so far; at its end that is an error
            said += os.read(ours, 4096)

    def test_an_agent_that_is_stopped_by_force_ends_containers(self):
        run, hand = self.hand("1Gi", "web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        init = self.podman.pid("web")
        self.assertEqual(self.product.divvy("stop", "--force", *self.product.sim)[0], 0)
        wait_until(lambda: ended(init), "the container's process ends")
        self.assertNotEqual(run.wait(BOUND), 0)

    def test_signals_reach_the_command(self):
        script = 'trap "echo heard" USR1; trap "exit 9" TERM; echo up; while :; do sleep 1 & wait $!; done'
        run = self.product.start(*self.words("1Gi", ("--rm",), ("/bin/sh", "-c", script)))
        self.assertEqual(line_of(run, "the container runs"), "up\n")
        # Until podman forwards signals it ends by SIGTERM itself, with any status. SIGUSR1 it ignores then.
        podman = self.podman_of(run)

        def heard():
            os.kill(podman, signal.SIGUSR1)
            return select.select([run.stdout], [], [], 0.5)[0]

        wait_until(heard, "podman forwards signals")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(BOUND), 9)
        self.all_gone()

    def podman_of(self, run):
        children = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        return int(children[0])

    def kept_until_the_container_ends(self, hand, name):
        """The container lives on: so does its share, with its limit, and no longer."""
        self.assertEqual(hand.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
        self.assertEqual(self.row(name)["state"], "running")
        self.registered(name)
        hand.exit()
        self.gone(name)

    def test_podman_killed_leaves_no_share_when_the_container_has_ended(self):
        run, hand = self.hand("2Gi", "web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        os.kill(self.podman_of(run), signal.SIGKILL)
        self.assertEqual(run.wait(BOUND), -signal.SIGKILL)
        self.kept_until_the_container_ends(hand, "web")

    def test_divvy_killed_leaves_no_share_when_the_container_has_ended(self):
        run, hand = self.hand("2Gi", "web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        run.kill()
        run.wait(BOUND)
        self.kept_until_the_container_ends(hand, "web")

    def test_all_killed_leaves_nothing(self):
        run, hand = self.hand("2Gi", "web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        init = self.podman.pid("web")
        for pid in (self.podman_of(run), run.pid, init):
            os.kill(pid, signal.SIGKILL)
        run.wait(BOUND)
        wait_until(lambda: ended(init), "the container's process ends")
        self.gone("web")

    def test_a_detached_container_has_its_share_as_long_as_it_lives(self):
        listener = self.listen("web")
        status, _, err = self.product.divvy(*self.words(
            "2Gi", ("-d", "--rm", "--name", "web", "-v", f"{self.sockets}:/sockets"),
            ("/bin/hand", "/sockets/web")))
        self.assertEqual(status, 0, err)
        hand = self.accept(listener)
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.registered("web")
        self.assertEqual(self.row("web")["state"], "running")
        self.podman.must("kill", "web")
        self.gone("web")

    def test_an_agent_that_dies_is_not_noticed(self):
        run, hand = self.hand("4Gi", "web", HARDENED)
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.registered("web")
        agent = self.product.agent_pid()
        os.kill(agent, signal.SIGKILL)
        self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        self.assertEqual(hand.ask("alloc", 4 * GIB)[0], OUT_OF_MEMORY)
        wait_until(lambda: self.product.agent_pid() != agent, "another agent is there")
        self.registered("web")
        # Who comes now is known to the new one, too.
        self.assertEqual(fields(self.podman.must("exec", "web", "/bin/share_probe"))["total"],
                         4 * GIB)
        hand.exit()
        self.assertEqual(run.wait(BOUND), 0)
        self.gone("web")


class Rootless(PodmanTest):
    """As a user without rights, whose containers have no control groups of their own here."""

    def make_podman(self):
        user = User(self.product.root / "user")
        self.addCleanup(user.close)
        why = user.why_not()
        if why:
            self.skipTest(why)
        self.product.prefix = user.prefix
        user.own(self.product.root)
        return Podman(self.product.root / "pm", user)

    def test_its_containers_are_known_and_limited_whoever_they_run_as(self):
        for name, options in {"root": (), "other": HARDENED}.items():
            with self.subTest(name):
                run, hand = self.hand("2Gi", name, options)
                self.assertEqual(hand.ask("open"), [SUCCESS])
                self.registered(name)
                self.assertEqual(hand.ask("info")[2], 2 * GIB)
                self.assertEqual(hand.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
                self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
                run.kill()
                run.wait(BOUND)
                self.assertEqual(self.row(name)["processes"], 1)
                hand.exit()
                self.gone(name)


class Refusals(PodmanTest):
    def without_podman(self, *words):
        nowhere = self.product.root / "nowhere"
        nowhere.mkdir(exist_ok=True)
        return subprocess.run([str(DIVVY), *words], capture_output=True, text=True, check=False,
                              env=self.product.environment | {"PATH": str(nowhere)})

    def test_without_podman_nothing_is_taken(self):
        done = self.without_podman("run", *self.product.sim, "--podman", IMAGE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("podman is not installed", done.stderr)
        self.assertFalse(self.product.runtime.exists())

    def test_a_remote_podman_is_told_from_this_machines(self):
        environment = self.product.environment | {"CONTAINER_HOST": "ssh://elsewhere"}
        status, _, err = self.product.divvy(*self.words("1Gi", (), ()), env=environment)
        self.assertEqual(status, 1)
        self.assertIn("remote", err)

    def test_another_way_to_a_card_is_refused(self):
        for options in (("--gpus", "all"), ("--privileged",), ("--device", "/dev/nvidia0")):
            status, _, err = self.contain("1Gi", "/bin/sh", options=options)
            self.assertEqual(status, 2, options)
            self.assertIn("accepted: ", err)

    def test_our_files_cannot_be_hidden_by_folders_above_them(self):
        for options in (("--tmpfs", "/run"), ("--tmpfs", "/etc"), ("-v", "/var:/run")):
            status, out, err = self.contain("1Gi", "/bin/share_probe", options=options)
            self.assertEqual(status, 0, err)
            self.assertEqual(fields(out)["total"], GIB, options)

    def test_which_options_take_a_value_is_what_podman_says(self):
        text = self.podman.must("run", "--help")
        options = re.findall(r"^ +(?:-\w, )?--([\w-]+)( \S+)?(?:  |$)", text, re.MULTILINE)
        self.assertGreater(len(options), 90)
        for name, kind in options:
            if name in ("privileged", "device", "mount", "volume", "help"):
                continue
            said = self.without_podman("run", *self.product.sim, "--podman", f"--{name}", "1").stderr
            # A flag leaves the next word for the image; nobody is asked for it then.
            self.assertIn("no image" if kind else "podman is not installed", said, name)


if __name__ == "__main__":
    skip_unless_possible()
    main()
