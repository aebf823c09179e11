#!/usr/bin/env python3
"""A node's agent is there before the driver is: it waits, whoever looks after it is told that it lives,
and it serves the cards when they come."""
import shutil
import signal
import urllib.error
import urllib.request

from product import BOUND, BUILD, ProductTest, free_port, main, wait_until

KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
"""


class LateDriver(ProductTest):
    profile = ""  # the machine's own cards

    def setUp(self):
        super().setUp()
        root = self.product.root
        self.driver = root / "driver"
        self.driver.mkdir()
        for name in ("kubelet/device-plugins", "kubelet/pod-resources"):
            (root / name).mkdir(parents=True)
        (root / "kubeconfig").write_text(KUBECONFIG)
        self.product.environment |= {"LD_LIBRARY_PATH": str(self.driver), "SIMGPU_PROFILE": "h100",
                                     "SIMGPU_DIR": str(root / "card")}
        self.port = free_port()
        self.log = root / "agent.log"
        with self.log.open("w") as log:
            self.agent = self.product.start(
                "agent", "--node", "gpu", "--node-name", "n", "--kubeconfig", root / "kubeconfig",
                "--kubelet-dir", root / "kubelet", "--cdi-dir", "none", "--metrics-listen",
                f"127.0.0.1:{self.port}", stdout=log, stderr=log)

    def asked(self, path):
        """Status and text; nothing: nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as fault:
            return fault.code, fault.read().decode()
        except OSError:
            return None

    def waits(self):
        return wait_until(lambda: self.asked("/healthz"), "somebody is told that it lives")

    def test_it_waits_and_then_serves(self):
        status, text = self.waits()
        self.assertEqual(status, 200)
        self.assertIn("waiting for devices", text)
        self.assertEqual(self.asked("/readyz")[0], 200)
        self.assertEqual(self.asked("/metrics")[0], 404)
        self.assertIn("agent waits", self.log.read_text())
        for name in ("libnvidia-ml.so.1", "libcuda.so.1", "libsimgpu-rm.so"):
            shutil.copy(BUILD / "simgpu" / name, self.driver / name)
        metrics = wait_until(lambda: (self.asked("/metrics") or (0, ""))[0] == 200 and
                             self.asked("/metrics")[1], "it has the cards")
        self.assertIn("divvy_device_memory_total_bytes", metrics)
        self.assertEqual(self.asked("/healthz"), (200, "ok\n"))
        # There is no kubelet yet.
        status, text = self.asked("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("nvidia.com/gpu", text)
        self.assertEqual(self.log.read_text().count("agent waits"), 1)

    def test_it_ends_when_it_is_told_to(self):
        self.waits()
        self.agent.send_signal(signal.SIGTERM)
        self.assertEqual(self.agent.wait(BOUND), 0)
        self.assertIsNone(self.asked("/healthz"))


if __name__ == "__main__":
    main()
