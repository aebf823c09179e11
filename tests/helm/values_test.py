"""Which values the chart refuses, and by which words. Usage: values_test.py HELM CHART MANIFESTS DIVVY"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

from rendered import CHART, DIVVY, helm, pod_of, refusal, render


KUBECONFIG = """clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
"""


def divvy_says(command, option):
    """What the program says at its start of an option that it does not understand."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "config").write_text(KUBECONFIG)
        return subprocess.run([DIVVY, command, option], capture_output=True, text=True, timeout=20,
                              env={"KUBECONFIG": folder + "/config", "DIVVY_RUNTIME_DIR": folder}).stderr


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

    # Regression: they were let through, and then no agent began, or the scheduler did not.
    def test_words_that_the_programs_do_not_understand(self):
        for value, option, wrong, right in (
                ("agent.overcommit", "agent --overcommit", ("9", "1.2345", "1.3,", "=2"),
                 ("1.3", "2", "1.3,0=2", "GPU-5c2e=1.25", "4.000")),
                ("agent.idleReclaim", "agent --idle-reclaim", ("8x", "urgent=1h", "normal="),
                 ("8h", "off", "normal=8h,low=off", "30")),
                ("agent.idleStop", "agent --idle-stop", ("1d", "low=6hours"), ("low=6h", "off", "90m")),
                ("agent.metrics.labels", "agent --metrics-labels", ("a b", "team,"),
                 ("team,example.com/project",)),
                ("scheduler.nodePolicy", "scheduler --node-policy", ("none", "binpack,spread"), ()),
                ("scheduler.devicePolicy", "scheduler --device-policy", ("none", "binpack,", "nic="),
                 ("numa-strict,binpack", "nic=mlx5_0"))):
            command, word = option.split()
            for text in wrong:
                set_to = f"{value}=" + text.replace(",", "\\,")
                self.assertIn(value.split(".")[-1], refusal("--set-string", set_to), text)
                self.assertIn(word + ":", divvy_says(command, f"{word}={text}"), text)
            for text in right:
                set_to = f"{value}=" + text.replace(",", "\\,")
                self.assertEqual(refusal("--set-string", set_to), "", text)
            self.assertEqual(refusal("--set-string", f"{value}="), "", value)

    # Regression: half-written text was let through, and then no agent began.
    def test_settings_of_nodes_with_which_no_agent_would_begin(self):
        def theirs(text):
            return yaml.safe_dump({"kind": "ConfigMap", "data": {"config.json": text}})
        no_config = "is a ConfigMap without config.json; accepted: a ConfigMap"
        for text, named in (('settings:\n- nodes: ["*"\n  cores: 80\n', "is not YAML: line 2: "),
                            ("settings:\n- nodes: [a]\n  cores: : 8\n", "is not YAML: line 3: "),
                            ("- nodes: [a]\n", "is not a map; accepted: a map with settings"),
                            ("settings", "is not a map; accepted: a map with settings"),
                            ("setings: []\n", "has no settings; accepted: "),
                            ("# nothing yet\n", "has no settings; accepted: "),
                            ("kind: ConfigMap\ndata: 3\n", no_config),
                            ("kind: ConfigMap\ndata: {config.json: {}}\n", no_config),
                            (theirs('{\n"nodeconfig": [{"name": "a"},\n'), "(config.json): is not YAML: line 2: ")):
            self.assert_agents_begin(text, False)
            said = self.refused_settings(text)
            self.assertIn("agent.nodeSettings", said, text)
            self.assertIn(named, said, text)
        for text in ("settings: []\n", "Error: x\nsettings:\n- nodes: [a]\n  cores: 80\n",
                     '{"nodeconfig": [{"name": "a", "devicesplitcount": 4}]}', theirs('{"nodeconfig": []}')):
            self.assert_agents_begin(text, True)
            self.assertEqual(self.refused_settings(text), "", text)

    def refused_settings(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return refusal("--set-file", "agent.nodeSettings=" + file.name)

    def assert_agents_begin(self, text, would):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            words = ["doctor", "--node", "--only", "node-settings", "--node-settings", file.name]
            done = subprocess.run([DIVVY, *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0 if would else 3, text + done.stdout)

    def test_every_policy_that_the_scheduler_knows(self):
        schema = json.loads(pathlib.Path(CHART, "values.schema.json").read_text())
        known = schema["properties"]["scheduler"]["properties"]
        for value, word in (("nodePolicy", "--node-policy"), ("devicePolicy", "--device-policy")):
            said = divvy_says("scheduler", f"{word}=none")
            words = re.search("accepted: (.*)", said)[1].replace("NAME", "mlx5_0").split(", ")
            self.assertGreater(len(words), 5, said)
            for each in words:
                self.assertTrue(re.search(known[value]["pattern"], each), each)

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
