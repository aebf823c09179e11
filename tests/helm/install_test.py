"""What goes with the chart, and has to say the same: its notes and page, the systemd unit of nodes
without a cluster, values that are made of HAMi's. Usage: install_test.py HELM CHART MANIFESTS DIVVY"""
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

from rendered import CHART, DIVVY, helm, key, of_deploy, one_of, page, pod_of, render


class Tells(unittest.TestCase):
    def notes(self, *words):
        """Helm shows them to who installs only."""
        with tempfile.TemporaryDirectory() as folder:
            chart = pathlib.Path(folder, "divvy")
            shutil.copytree(CHART, chart)
            (chart / "templates" / "NOTES.txt").rename(chart / "notes.txt")
            (chart / "templates" / "notes.yaml").write_text(
                'kind: Notes\nmetadata: {name: notes}\ntext: {{ tpl (.Files.Get "notes.txt") . | toJson }}\n')
            done = helm("template", "divvy", str(chart), "--kube-version", "v1.34.4", "-s", "templates/notes.yaml", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return yaml.safe_load(done.stdout)["text"]

    # Regression: shells ate the backslashes, and each node had <none>.
    def test_a_command_of_the_notes_is_what_a_shell_makes_of_it(self):
        line = next(l for l in self.notes().splitlines() if l.startswith("Shares, by node:"))
        self.assertEqual(shlex.split(line.split(":", 1)[1])[-1],
                         r"custom-columns=NODE:.metadata.name,SHARES:.status.allocatable.nvidia\.com/gpu")

    def test_notes_tell_of_a_scheduler_where_there_is_one(self):
        self.assertIn("Lease", self.notes())
        self.assertNotIn("Lease", self.notes("--set", "scheduler.enabled=false"))

    def test_notes_tell_what_network_policies_leave_open(self):
        opened, bare, off = "webhook's port is open to all", "NetworkPolicies do not apply to the host network: ", "networkPolicy.enabled is false"

        def told(*words):
            notes = self.notes("--set", *words) if words else self.notes()
            return [text in notes for text in (opened, bare, off)]
        self.assertEqual(told(), [True, False, False])
        self.assertEqual(told("networkPolicy.controlPlane={10.0.0.0/24}"), [False, False, False])
        self.assertEqual(told("scheduler.hostNetwork=true"), [False, True, False])
        self.assertEqual(told("networkPolicy.enabled=false"), [False, False, True])
        self.assertIn("## Network policies", page("install.md"))

    def test_notes_tell_how_the_console_is_opened(self):
        def line(start, *words):
            notes = self.notes("--set", ",".join(words)) if words else self.notes()
            return next((l for l in notes.splitlines() if l.startswith(start)), "")
        self.assertIn("kubectl -n default port-forward svc/divvy-console 9400:80 ", line("Console:"))
        self.assertTrue(line("Console:").endswith(" http://127.0.0.1:9400/"), line("Console:"))
        told = line("Console:", "console.tls.secretName=mine", "console.basePath=/gpu")
        self.assertIn(" 9400:443 ", told)
        self.assertTrue(told.endswith(" https://127.0.0.1:9400/gpu/"), told)
        self.assertIn("kubectl create token NAME -n NAMESPACE --audience divvy-console", line("Token for it:"))
        self.assertIn("--clusterrole divvy-console-viewer", self.notes())
        ingress = ("console.ingress.enabled=true", "console.ingress.host=gpu.example")
        self.assertTrue(line("Console, by Ingress:", *ingress).endswith(" http://gpu.example/"))
        self.assertTrue(line("Console, by Ingress:", *ingress, "console.ingress.tls.secretName=c")
                        .endswith(" https://gpu.example/"))
        self.assertNotIn("console", self.notes("--set", "console.enabled=false"))

    def test_notes_warn_of_tokens_in_clear_text(self):
        def warned(*words):
            return "tokens pass in clear text" in self.notes("--set", ",".join(words))
        for words, there in ((("console.enabled=true",), False), (("console.ingress.enabled=true",), True),
                             (("console.service.type=NodePort",), True),
                             (("console.service.type=NodePort", "console.tls.secretName=c"), False),
                             (("console.ingress.enabled=true", "console.ingress.host=h",
                               "console.ingress.tls.secretName=c"), False)):
            self.assertEqual(warned(*words), there, words)

    def test_notes_tell_that_use_needs_api_servers_to_reach_agents(self):
        def told(*words):
            return "networkPolicy.controlPlane has the addresses" in self.notes(*words)
        self.assertTrue(told())
        for words in ("networkPolicy.controlPlane={10.0.0.0/24}", "networkPolicy.nodes={10.0.0.0/24}",
                      "networkPolicy.enabled=false", "console.enabled=false", "agent.hostNetwork=true"):
            self.assertFalse(told("--set", words), words)

    # Regression: the page said half of what the chart asks for.
    def test_the_page_says_how_much_memory_the_test_asks_for(self):
        limits = one_of(render(), "Pod", "divvy-test-share")["spec"]["containers"][0]["resources"]["limits"]
        self.assertIn(f"a pod requests {limits['nvidia.com/gpumem'] // 1024} GiB of a GPU", page("install.md"))


class Service(unittest.TestCase):
    # Regression: an agent that was to write there ended at its start; and it is not ours to take away.
    def test_it_may_write_where_runtimes_look_for_devices(self):
        lines = [l.split("=", 1) for l in of_deploy("systemd", "divvy-agent.service").splitlines() if "=" in l]
        said = {}
        for name, value in lines:
            said.setdefault(name, []).append(value)
        self.assertIn("-/run/cdi", said["ReadWritePaths"][0].split())
        self.assertEqual(said["ExecStartPre"], ["+/bin/mkdir -p -m 755 /run/cdi"])
        self.assertEqual(said["RuntimeDirectory"], ["divvy"])


# As their owners have them: what they write as text would be a boolean, or a number, without quotes.
HAMIS = """
devicePlugin:
  deviceSplitCount: 20
  deviceMemoryScaling: 1.5
  runtimeClassName: nvidia
  nvidiaNodeSelector: {gpu: "on", nvidia.com/gpu.present: "true"}
  podAnnotations: {prometheus.io/scrape: "true", prometheus.io/port: "9394"}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}
  tolerations: [{key: gpu, operator: Equal, value: "true", effect: NoSchedule}]
  nodeConfiguration:
    config: |
      {"nodeconfig": [{"name": "n", "devicememoryscaling": 1.8, "devicesplitcount": 3}]}
scheduler:
  replicas: 3
  defaultSchedulerPolicy: {nodeSchedulerPolicy: spread, gpuSchedulerPolicy: binpack}
  tolerations: [{key: a, operator: Exists}]
imagePullSecrets: [{name: mine}]
legacyMetrics: true
"""


class FromHami(unittest.TestCase):
    # Regression: the chart refused what `divvy migrate values` had made.
    def test_what_is_made_of_its_values_is_accepted(self):
        made = subprocess.run([DIVVY, "migrate", "values", "-f", "-"], input=HAMIS, capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as values:
            values.write(made.stdout)
            values.flush()
            documents = render("-f", values.name)
        pod = pod_of(documents, "DaemonSet", "divvy-agent")
        self.assertIn("--per-device=20", pod["containers"][0]["args"])
        self.assertIn("--overcommit=1.5", pod["containers"][0]["args"])
        self.assertEqual(pod["nodeSelector"]["nvidia.com/gpu.present"], "true")
        self.assertEqual(one_of(documents, "DaemonSet", "divvy-agent")["spec"]["template"]["metadata"]["annotations"]
                         ["prometheus.io/scrape"], "true")
        self.assertEqual(one_of(documents, "Deployment", "divvy-scheduler")["spec"]["replicas"], 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
