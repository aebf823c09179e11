"""Which values the chart refuses, and by which words. Usage: values_test.py HELM CHART MANIFESTS DIVVY"""
import sys
import tempfile
import unittest

from rendered import CHART, helm, pod_of, refusal, render


class Refuses(unittest.TestCase):
    def test_what_it_does_not_know(self):
        for words, named in ((["--set", "schedulerName=x"], "schedulerName"),
                             (["--set", "agent.devicePlugin=x"], "devicePlugin"),
                             (["--set", "image.registry=https://x"], "registry"),
                             (["--set", "agent.perDevice=0"], "perDevice"),
                             (["--set", "agent.node=sim"], "node"),
                             (["--set", "agent.probes=on"], "probes"),
                             (["--set", "scheduler.compat=volcano"], "compat"),
                             (["--set", "agent.kubeletDir=var/lib"], "kubeletDir"),
                             (["--set", "agent.podResourcesDir=var/lib"], "podResourcesDir"),
                             (["--set", "webhook.url=http://x/webhook"], "url"),
                             (["--set-string", "scheduler.replicas=2"], "replicas")):
            said = refusal(*words)
            self.assertIn(named, said, words)
            self.assertIn("schema", said, words)

    # Regression: they were let through, and then the scheduler did not begin.
    def test_times_that_the_scheduler_does_not_understand(self):
        for name in ("minRuntime", "idle.notice", "idle.extension", "bypassNotice"):
            for time in ("1d", "0s", "0", "00ms", "1.5h", "-1s", "h"):
                self.assertIn(name.split(".")[-1], refusal("--set-string", f"scheduler.{name}={time}"), time)
            for time in ("", "500ms", "30", "30s", "10m", "02h"):
                self.assertEqual(refusal("--set-string", f"scheduler.{name}={time}"), "", time)

    # Regression: a number, which it is in HAMi's chart, was refused.
    def test_overcommitment_is_a_number_or_text_and_the_same(self):
        def said(text):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(f"agent: {{overcommit: {text}}}\n")
                file.flush()
                args = pod_of(render("--values", file.name), "DaemonSet", "divvy-agent")["containers"][0]["args"]
            return [a.split("=", 1)[1] for a in args if a.startswith("--overcommit=")]
        for number in ("1.3", "2", "1.125"):
            self.assertEqual((said(number), said(f'"{number}"')), ([number], [number]))
        self.assertEqual(said('"1.3,0=2"'), ["1.3,0=2"])
        self.assertEqual(said('""'), [])
        for number in ("0.5", "5"):
            self.assertIn("overcommit", refusal("--set-json", "agent.overcommit=" + number))

    # Regression: agents, and the scheduler, ended at their start.
    def test_what_goes_together_and_is_said_in_part(self):
        said = refusal("--set", "agent.injection=cdi,agent.cdiDir=")
        self.assertIn("agent.cdiDir, which is empty; accepted", said)
        self.assertEqual(refusal("--set", "agent.cdiDir="), "")
        said = refusal("--set", "agent.probes=always,agent.metrics.enabled=false")
        self.assertIn("agent.metrics.enabled is false; accepted", said)
        self.assertEqual(refusal("--set", "agent.probes=never,agent.metrics.enabled=false"), "")
        said = refusal("--set-string", "scheduler.idle.ca=PEM")
        self.assertIn("scheduler.idle.url, which is empty; accepted", said)
        self.assertEqual(refusal("--set-string", "scheduler.idle.ca=PEM,scheduler.idle.url=https://x.example"), "")

    def test_addresses_that_are_none(self):
        for address in ("", "::", "localhost", "[::]:80"):
            self.assertIn("listenAddress", refusal("--set-string", "listenAddress=" + address), address)

    def test_kubernetes_without_admission_policies(self):
        done = helm("template", "divvy", CHART, "--kube-version", "v1.29.9")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("incompatible with Kubernetes", done.stderr)

    def test_a_webhook_without_whom_to_call(self):
        self.assertIn("generated.webhook", refusal("--set-string", "generated.webhook=kind: X"))

    def test_nothing_that_it_says_itself(self):
        done = helm("lint", "--strict", CHART)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
