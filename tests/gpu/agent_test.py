#!/usr/bin/env python3
"""What the agent sees of a real card: its figures, programs past what limits them, devices in containers."""
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.request

from card import GIB, MIB, CardTest, named, total, wait_until
from product import HAND, SUCCESS, Hand, Tenant, main


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Agent(CardTest):
    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def test_inventory_is_the_drivers(self):
        card = self.product.rows("gpus")[0]
        print(card, file=sys.stderr)
        self.assertEqual([card["uuid"], card["model"]], named())
        self.assertLessEqual(abs(card["physical"] - total()), 2048 * MIB)

    def test_metrics_tell_of_card_and_tenant(self):
        port = free_port()
        self.agent("--metrics-listen", f"127.0.0.1:{port}")
        tenant = self.tenant("one", "4Gi")
        self.assertEqual(tenant.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(tenant.hands[0].ask("alloc", GIB)[0], SUCCESS)
        def figures():
            seen = {line.split("{")[0]: float(line.split()[-1]) for line in self.metrics(port).splitlines()
                    if not line.startswith("#")}
            return seen if seen.get("divvy_tenant_memory_used_bytes", 0) >= GIB else None

        seen = wait_until(figures, "its figures")
        self.assertEqual(seen["divvy_tenant_memory_limit_bytes"], 4 * GIB)
        self.assertEqual(seen["divvy_device_hardware_healthy"], 1)
        self.assertLessEqual(abs(seen["divvy_device_memory_total_bytes"] - total()), 2048 * MIB)
        self.assertGreaterEqual(seen["divvy_device_memory_used_bytes"], GIB)
        tenant.end()

    def test_who_goes_around_his_limit_is_found(self):
        self.agent()
        cheat = Tenant(self.product, "cheat", "4Gi", environment=("-u", "LD_PRELOAD"), hand=HAND,
                       patience=30)
        self.assertEqual(cheat.hands[0].ask("open"), [SUCCESS])
        self.assertEqual(cheat.hands[0].ask("alloc", GIB)[0], SUCCESS)
        begun = time.monotonic()
        wait_until(lambda: [event for event in self.events() if event["kind"] == "bypass"],
                   "it is found", 20)
        print(f"found after {time.monotonic() - begun:.1f} s: {self.events()}", file=sys.stderr)
        self.assertLess(time.monotonic() - begun, 10)
        cheat.end()

    def test_what_nobody_of_ours_holds_is_not_offered(self):
        self.agent()
        before = self.product.rows("gpus")[0]
        ours, theirs = socket.socketpair()
        stranger = subprocess.Popen([str(HAND)], stdin=theirs, stdout=theirs)
        hand = Hand(ours.makefile("r"), ours.makefile("w"))
        self.assertEqual(hand.ask("open"), [SUCCESS])
        for _ in range(8):
            self.assertEqual(hand.ask("alloc", GIB)[0], SUCCESS)
        after = wait_until(
            lambda: (row := self.product.rows("gpus")[0])["budget"] <= before["budget"] - 8 * GIB
            and row, "the budget is smaller", 20)
        print(before, after, file=sys.stderr)
        hand.exit()
        ours.close(), theirs.close()
        self.assertEqual(stranger.wait(30), 0)

    def test_devices_of_a_share_for_containers_are_there(self):
        if not pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there are no device nodes of NVIDIA's here")
        folder = self.product.root / "cdi"
        folder.mkdir()
        status, out, err = self.product.divvy("share", "create", "web", "--memory", "4Gi", "--cdi-dir",
                                              folder)
        print(out + err, file=sys.stderr)
        self.assertEqual(status, 0, out + err)
        spec = json.loads(next(folder.glob("*.json")).read_text())
        print(json.dumps(spec, indent=1), file=sys.stderr)
        edits = spec["devices"][0]["containerEdits"]
        for node in edits["deviceNodes"]:
            self.assertTrue(pathlib.Path(node.get("hostPath", node["path"])).exists(), node)
        for mount in edits["mounts"]:
            self.assertTrue(pathlib.Path(mount["hostPath"]).exists(), mount)
        self.assertTrue(any("libcuda.so" in mount["containerPath"] for mount in edits["mounts"]))

    def test_doctor_knows_this_machine(self):
        if not pathlib.Path("/proc/driver/nvidia/version").exists():
            self.skipTest("there is no kernel module of NVIDIA's here")
        status, out, err = self.product.divvy("doctor", "--node", "-v", "-o", "json")
        print(status, out, err, file=sys.stderr)
        states = {one["id"]: one["state"] for one in json.loads(out)["findings"]}
        for check in ("driver-loaded", "driver-libraries", "driver-versions", "driver-devices",
                      "interposer-libraries"):
            self.assertEqual(states[check], "ok", check)


if __name__ == "__main__":
    main()
