#!/usr/bin/env python3
"""Shares that are kept under a name, and devices of a real podman by CDI: `podman run --device divvy.dev/share=NAME`."""
import json
import os
import pathlib
import signal
import subprocess

from contained import HARDENED, PodmanTest
from containers import IMAGE, fields, skip_unless_possible
from product import BOUND, GIB, OUT_OF_MEMORY, SUCCESS, main, wait_until


class Devices(PodmanTest):
    def setUp(self):
        super().setUp()
        self.name = f"divvy-test-{os.getpid()}"
        # Debian's podman reads there and in /etc/cdi, and can be told no other folder.
        self.file = pathlib.Path(f"/run/cdi/divvy.dev-share-{self.name}.json")
        self.device = f"divvy.dev/share={self.name}"
        self.addCleanup(self.file.unlink, missing_ok=True)

    def create(self, memory):
        return self.product.divvy("share", "create", self.name, *self.product.sim, "--memory", memory)

    def created(self, memory):
        status, out, err = self.create(memory)
        self.assertEqual((status, out), (0, self.device + "\n"), err)

    def remove(self):
        return self.product.divvy("share", "rm", self.name)

    def removed(self):
        self.assertEqual(self.remove()[0], 0)
        self.assertIsNone(self.row(self.name))
        self.assertFalse(self.file.exists())

    def probe(self, *options):
        return self.podman.run("run", "--rm", "--network", "none", "--device", self.device, *options,
                               IMAGE, "/bin/share_probe")

    def device_hand(self, name):
        listener = self.listen(name)
        words = ("podman", "run", "--rm", "--name", name, "--network", "none", "--device", self.device,
                 "-v", f"{self.sockets}:/sockets", IMAGE, "/bin/hand", f"/sockets/{name}")
        run = subprocess.Popen(words, env=self.product.environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.product.started.append(run)
        return run, self.accept(listener, run)

    def test_a_share_is_a_device_until_it_is_given_back(self):
        self.created("3Gi")
        spec = json.loads(self.file.read_text())
        self.assertEqual((spec["cdiVersion"], spec["kind"]), ("0.5.0", "divvy.dev/share"))
        self.assertEqual([device["name"] for device in spec["devices"]], [self.name])
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o644)
        self.assertEqual(self.row(self.name)["state"], "reserved")
        for options in ((), HARDENED, ("--tmpfs", "/run")):
            status, out, err = self.probe(*options)
            self.assertEqual(status, 0, err)
            said = fields(out)
            self.assertEqual((said["total"], said["nvml"], said["above"], said["exact"], said["full"]),
                             (3 * GIB, 3 * GIB, OUT_OF_MEMORY, SUCCESS, OUT_OF_MEMORY), options)
            # Who died before the agent could look at it is found within a second.
            wait_until(lambda: self.row(self.name)["shares"][0]["used"] == 0, "its memory is back")
        self.removed()
        # Who asks for it then is not run, rather than run without a limit.
        status, out, err = self.probe()
        self.assertNotEqual(status, 0)
        self.assertIn(self.device, err)
        self.assertEqual(out, "")

    def test_containers_share_its_limit_and_keep_it_from_being_given_back(self):
        self.created("4Gi")
        first, hand = self.device_hand("first")
        second, other = self.device_hand("second")
        for one in (hand, other):
            self.assertEqual(one.ask("open"), [SUCCESS])
        self.registered(self.name, 2)
        self.assertEqual(self.row(self.name)["state"], "running")
        self.assertEqual(hand.ask("alloc", 2 * GIB)[0], SUCCESS)
        self.assertEqual(other.ask("alloc", 2 * GIB)[0], OUT_OF_MEMORY)
        status, _, err = self.remove()
        self.assertEqual(status, 1)
        self.assertIn("in use", err)
        hand.exit()
        self.assertEqual(first.wait(BOUND), 0)
        self.registered(self.name, 1)
        self.assertEqual(other.ask("alloc", 2 * GIB)[0], SUCCESS)
        other.exit()
        self.assertEqual(second.wait(BOUND), 0)
        self.registered(self.name, 0)
        self.removed()

    def test_it_is_kept_by_whatever_agent(self):
        self.created("2Gi")
        agent = self.product.agent_pid()
        os.kill(agent, signal.SIGKILL)
        wait_until(lambda: self.product.agent_pid() != agent, "another agent is there")
        self.assertEqual(self.row(self.name)["state"], "reserved")
        run, hand = self.device_hand("web")
        self.assertEqual(hand.ask("open"), [SUCCESS])
        self.registered(self.name)
        self.assertEqual(hand.ask("info")[2], 2 * GIB)
        hand.exit()
        self.assertEqual(run.wait(BOUND), 0)
        self.removed()

    def test_what_is_not_ours_is_left_alone(self):
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text("somebody's")
        status, _, err = self.create("1Gi")
        self.assertEqual(status, 2)
        self.assertIn("was not written by Divvy", err)
        self.assertEqual(self.file.read_text(), "somebody's")
        self.assertEqual(self.product.rows("ls"), [])

    def test_a_name_is_given_once(self):
        self.created("1Gi")
        self.assertEqual(self.create("2Gi")[0], 2)
        self.assertEqual(self.row(self.name)["shares"][0]["limit"], GIB)
        tenant = self.tenant("plain", "1Gi")
        status, _, err = self.product.divvy("share", "rm", "plain")
        self.assertEqual(status, 2)
        self.assertIn("ends with its command", err)
        self.assertEqual(tenant.end(), 0)
        self.removed()

    def test_an_agent_that_is_stopped_by_force_leaves_none(self):
        self.created("1Gi")
        self.assertEqual(self.product.divvy("stop", *self.product.sim)[0], 1)
        self.assertEqual(self.product.divvy("stop", "--force", *self.product.sim)[0], 0)
        self.assertFalse(self.file.exists())


if __name__ == "__main__":
    skip_unless_possible()
    main()
